import { Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { SignIn } from "../../accounts/SignIn.ts"
import { Card } from "../components/Card.tsx"
import { Field } from "../components/Field.tsx"
import { Form, Submit } from "../components/Form.tsx"
import { formFields, typed } from "../FormReaders.ts"
import { alone, ownPath, redirect, type View } from "../Routes.tsx"
import { queryOf, signedOutPages, Title } from "./SignedOut.tsx"

const minutesOf = (seconds: number) => {
  const minutes = Math.ceil(seconds / 60)
  return `${minutes} ${minutes === 1 ? "minute" : "minutes"}`
}

const codeView = ({ error, next, status = 200 }: {
  readonly error?: string
  readonly next: string | undefined
  readonly status?: number
}): View => ({
  title: "Enter your code",
  status,
  body: (
    <Card>
      <Title lead="Open your authenticator app and enter the code it shows for Parlance.">Enter your code</Title>
      <div class="stack">
        {error !== undefined && <div class="note bad" role="alert" tabIndex={-1} data-focus>{error}</div>}
        <Form action="/console/sign-in/code">
          {next !== undefined && <input type="hidden" name="next" value={next} />}
          <Field
            name="code"
            label="Code"
            autocomplete="one-time-code"
            hint="Six digits. Without your app, enter one of your recovery codes."
          />
          <Submit wide>Sign in</Submit>
        </Form>
        <p class="muted small">
          App and recovery codes lost? An administrator of this installation can reset your second factor.
        </p>
        <p class="small">
          <a href="/console/sign-in">Sign in with another account</a>
        </p>
      </div>
    </Card>
  ),
})

const codeFields = formFields({ code: typed, next: ownPath })

/** The second step of signing in with a password. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const signIn = yield* SignIn
  const { cookie, enter, get, post } = yield* Effect.provideService(signedOutPages, HttpRouter.HttpRouter, router)

  const startOver = (next: string | undefined) =>
    redirect({
      to: `/console/sign-in${next === undefined ? "" : `?next=${encodeURIComponent(next)}`}`,
      cookies: [cookie.clearPending],
      done: "sign-in-expired",
    })

  yield* get("/console/sign-in/code", (request) => {
    const next = ownPath(queryOf(request).get("next"))
    const pending = cookie.readPending(request)
    return Effect.succeed(pending === undefined ? startOver(next) : alone(request, codeView({ next })))
  })

  yield* post("/console/sign-in/code", (request, fields) => {
    const { code, next } = codeFields(fields)
    const again = (status: number, error: string) => alone(request, codeView({ error, next, status }))
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
        WrongCode: ({ message }) => Effect.succeed(again(401, message)),
        SignInExpired: () => Effect.succeed(startOver(next)),
        TooManyAttempts: ({ retryAfterSeconds }) =>
          Effect.succeed(HttpServerResponse.setHeader(
            again(429, `Too many wrong codes. Try again in ${minutesOf(retryAfterSeconds)}.`),
            "retry-after",
            String(retryAfterSeconds),
          )),
        SecretUnreadable: () => Effect.succeed(again(422, unreadable)),
        SecretFileFaulty: () => Effect.succeed(again(422, unreadable)),
      }),
    )
  })
}))

const unreadable =
  "The service cannot read the secret of your second factor, since its SECRET_KEY has changed. Enter a " +
  "recovery code, or ask an administrator to reset your second factor."
