import { Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { Passkeys } from "../../accounts/Passkeys.ts"
import { SecondFactors } from "../../accounts/SecondFactors.ts"
import { SessionCookie } from "../../accounts/SessionCookie.ts"
import { SignIn } from "../../accounts/SignIn.ts"
import { english, t, translated } from "../../languages/Language.ts"
import { Card } from "../components/Card.tsx"
import { Field } from "../components/Field.tsx"
import { Form, Submit } from "../components/Form.tsx"
import { PasskeyForm } from "../components/PasskeyForm.tsx"
import { formFields, typed } from "../FormReaders.ts"
import { alone, ownPath, redirect, type View } from "../Routes.tsx"
import { type PageHttpRequest, queryOf, signedOutPages, Title } from "./SignedOut.tsx"

const minutesOf = (seconds: number) => {
  const minutes = Math.ceil(seconds / 60)
  return `${minutes} ${minutes === 1 ? "minute" : "minutes"}`
}

/** Parameters of the page of the second step. */
interface CodeStep {
  readonly error?: string
  readonly next: string | undefined
  readonly status?: number
}

const codeView = ({ error, hasApp, hasPasskey, next, status = 200 }: CodeStep & {
  readonly hasApp: boolean
  readonly hasPasskey: boolean
}): View => {
  const title = hasApp ? t`Enter your code` : t`Use your passkey`
  return {
    title,
    status,
    live: true,
    body: (
      <Card>
        <Title
          lead={hasApp
            ? t`Open your authenticator app and enter the code it shows for Parlance.`
            : t`Your account needs a passkey or a recovery code after the password.`}
        >
          {title}
        </Title>
        <div class="stack">
          {error !== undefined && <div class="note bad" role="alert" tabIndex={-1} data-focus>{error}</div>}
          {hasPasskey && (
            <PasskeyForm
              action="/console/sign-in/passkey"
              fields={{ next, step: "code" }}
              kind={hasApp ? "wide" : "primary wide"}
              label={t`Use your passkey`}
            />
          )}
          <Form action="/console/sign-in/code">
            {next !== undefined && <input type="hidden" name="next" value={next} />}
            <Field
              name="code"
              label={hasApp ? t`Code` : t`Recovery code`}
              autocomplete="one-time-code"
              hint={hasApp
                ? t`Six digits. Without your app, enter one of your recovery codes.`
                : t`Four groups of four.`}
            />
            <Submit kind={hasApp ? "primary" : "plain"} wide>{t`Sign in`}</Submit>
          </Form>
          <p class="muted small">
            {t`${
              hasApp ? t`App` : t`Passkey`
            } and recovery codes lost? An administrator of this installation can reset your second
              factor.`}
          </p>
          <p class="small">
            <a href="/console/sign-in">{t`Sign in with another account`}</a>
          </p>
        </div>
      </Card>
    ),
  }
}

/** How the second step is shown, by the second factors of the account. Without a first step, the sign-in starts over. */
export const codePage = Effect.gen(function* () {
  const signIn = yield* SignIn
  const cookie = yield* SessionCookie
  const factors = yield* SecondFactors
  const passkeys = yield* Passkeys

  const startOver = (next: string | undefined) =>
    redirect({
      to: `/console/sign-in${next === undefined ? "" : `?next=${encodeURIComponent(next)}`}`,
      cookies: [cookie.clearPending],
      done: "sign-in-expired",
    })

  const show = (request: PageHttpRequest, step: CodeStep) =>
    Effect.gen(function* () {
      const { id } = yield* signIn.awaiting(cookie.readPending(request) ?? "")
      const hasApp = (yield* factors.state(id)).enabled
      const hasPasskey = (yield* passkeys.list(id)).length > 0
      return alone(request, codeView({ ...step, hasApp, hasPasskey }))
    }).pipe(Effect.catch(() => Effect.succeed(startOver(step.next))))

  return { show, startOver }
})

const codeFields = formFields({ code: typed, next: ownPath })

/** The second step of signing in with a password. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const signIn = yield* SignIn
  const { cookie, enter, get, post } = yield* Effect.provideService(signedOutPages, HttpRouter.HttpRouter, router)
  const { show, startOver } = yield* codePage

  yield* get("/console/sign-in/code", (request) => show(request, { next: ownPath(queryOf(request).get("next")) }))

  yield* post("/console/sign-in/code", (request, fields) => {
    const { code, next } = codeFields(fields)
    const again = (status: number, error: string) => show(request, { error, next, status })
    return signIn.withCode(cookie.readPending(request) ?? "", code, cookie.clientOf(request)).pipe(
      Effect.flatMap((entered) =>
        enter(
          request,
          entered,
          { to: next, done: entered.proof === "recovery_code" ? "recovery-code-used" : undefined },
          [cookie.clearPending],
        )
      ),
      Effect.catchTags({
        WrongCode: ({ message }) => again(401, message),
        SignInExpired: () => Effect.succeed(startOver(next)),
        TooManyAttempts: ({ retryAfterSeconds }) =>
          Effect.map(
            again(429, t`Too many wrong codes. Try again in ${minutesOf(retryAfterSeconds)}.`),
            HttpServerResponse.setHeader("retry-after", String(retryAfterSeconds)),
          ),
        SecretUnreadable: () => again(422, translated(unreadable)),
        SecretFileFaulty: () => again(422, translated(unreadable)),
      }),
    )
  })
}))

const unreadable = english(
  "The service cannot read the secret of your second factor, since its SECRET_KEY has changed. Enter a " +
    "recovery code, or ask an administrator to reset your second factor.",
)
