import { Effect, Result, Schema } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { Email } from "../../accounts/Account.ts"
import { ForgottenPasswords } from "../../accounts/ForgottenPasswords.ts"
import { isStorable } from "../../domain/Attributes.ts"
import type { Fault } from "../../domain/Errors.ts"
import { decoder } from "../../domain/Faults.ts"
import { english, t, translated } from "../../languages/Language.ts"
import { Card } from "../components/Card.tsx"
import { Field } from "../components/Field.tsx"
import { Form, Submit } from "../components/Form.tsx"
import { ErrorSummary } from "../components/Note.tsx"
import { alone, problem, type View } from "../Routes.tsx"
import { signedOutPages, Title } from "./SignedOut.tsx"

const decode = decoder(Schema.Struct({ email: Email }))
const labels = { email: english("E-mail address") }

const back = <a class="button wide" href="/console/sign-in">{t`Back to sign-in`}</a>

const askView = ({ email = "", error, faults = [], status = 200 }: {
  readonly email?: string
  readonly error?: string
  readonly faults?: ReadonlyArray<Fault>
  readonly status?: number
} = {}): View => ({
  title: t`Forgot password`,
  status,
  body: (
    <Card>
      <Title lead={t`You get a mail with a link to choose a new password.`}>{t`Forgot password`}</Title>
      <div class="stack">
        {error !== undefined && <div class="note bad" role="alert" tabIndex={-1} data-focus>{error}</div>}
        <ErrorSummary faults={faults} labels={labels} />
        <Form action="/console/forgot-password">
          <Field
            name="email"
            label={translated(labels.email)}
            type="email"
            value={email}
            autocomplete="username"
            faults={faults}
          />
          <Submit wide>{t`Send link`}</Submit>
        </Form>
        {back}
      </div>
    </Card>
  ),
})

const sentView = (email: string): View => ({
  title: t`Check your mail`,
  body: (
    <Card>
      <Title>{t`Check your mail`}</Title>
      <div class="stack">
        <p>
          {t`If there is an account for ${<b dir="auto">{email}
          </b>}, a mail with a link will be sent. The link works once, for
            one hour.`}
        </p>
        <p class="muted small">
          {t`No mail after a few minutes? Check the address and your spam folder, or ask an administrator for a
            link.`}
        </p>
        {back}
      </div>
    </Card>
  ),
})

const off = problem(
  404,
  english("No mail is sent here"),
  english("This installation has no mail server. Ask an administrator for a link to choose a new password."),
)

/** Requests for a new password, from people who are not signed in. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const { cookie, get, post } = yield* Effect.provideService(signedOutPages, HttpRouter.HttpRouter, router)
  const forgotten = yield* ForgottenPasswords

  yield* get("/console/forgot-password", (request) => Effect.succeed(alone(request, forgotten.isOn ? askView() : off)))

  yield* post("/console/forgot-password", (request, fields) => {
    if (!forgotten.isOn) return Effect.succeed(alone(request, off))
    const email = (fields["email"] ?? "").trim().slice(0, 300)
    const input = decode({ email })
    if (Result.isFailure(input) || !isStorable(email)) {
      const faults = Result.isFailure(input)
        ? input.failure
        : [{ pointer: "/email", detail: t`must be an e-mail address` }]
      return Effect.succeed(alone(request, askView({ email, faults, status: 400 })))
    }
    return forgotten.request(email, cookie.clientOf(request)).pipe(
      Effect.as(alone(request, sentView(email))),
      Effect.catchTags({
        TooManyAttempts: ({ message, retryAfterSeconds }) =>
          Effect.succeed(HttpServerResponse.setHeader(
            alone(request, askView({ email, error: message, status: 429 })),
            "retry-after",
            String(retryAfterSeconds),
          )),
        SqlError: Effect.die,
      }),
    )
  })
}))
