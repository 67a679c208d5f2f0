import { Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { OpenId } from "../../accounts/OpenId.ts"
import { SignIn } from "../../accounts/SignIn.ts"
import { MailQueue } from "../../mail/MailQueue.ts"
import { formFields, typed } from "../FormReaders.ts"
import { alone, ownPath } from "../Routes.tsx"
import { codePage } from "./SignInCodePages.tsx"
import { signInView } from "./SignInPages.tsx"
import { signedOutPages } from "./SignedOut.tsx"

/** `step`: `code` if the passkey is the second factor after a password. */
const passkeyFields = formFields({ next: ownPath, response: typed, step: typed })

/** Signing in with a passkey, alone or after a password. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const signIn = yield* SignIn
  const { label: openId } = yield* OpenId
  const { isOn: hasMail } = yield* MailQueue
  const { cookie, enter, post } = yield* Effect.provideService(signedOutPages, HttpRouter.HttpRouter, router)
  const { show } = yield* codePage

  yield* post("/console/sign-in/passkey/options", (request, fields) =>
    Effect.gen(function* () {
      const { step } = passkeyFields(fields)
      const site = yield* cookie.siteOf(request)
      const pending = step === "code" ? cookie.readPending(request) ?? "" : undefined
      return HttpServerResponse.jsonUnsafe({
        options: yield* signIn.beginPasskey(site, cookie.clientOf(request), pending),
      })
    }).pipe(
      Effect.catch((error) =>
        Effect.succeed(HttpServerResponse.jsonUnsafe({ message: error.message }, { status: 400 }))
      ),
      Effect.map(HttpServerResponse.setHeader("cache-control", "no-store")),
    ))

  yield* post("/console/sign-in/passkey", (request, fields) => {
    const { next, response, step } = passkeyFields(fields)
    const again = (error: string) =>
      step === "code"
        ? show(request, { error, next, status: 401 })
        : Effect.succeed(alone(request, signInView({ error, next, openId, hasMail, status: 401 })))
    return Effect.gen(function* () {
      const site = yield* cookie.siteOf(request)
      const pending = step === "code" ? cookie.readPending(request) ?? "" : undefined
      const entered = yield* signIn.withPasskey(site, response, cookie.clientOf(request), pending)
      return yield* enter(request, entered, { to: next }, [cookie.clearPending])
    }).pipe(Effect.catch((error) => again(error.message)))
  })
}))
