import { Effect } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { Accounts } from "../accounts/Accounts.ts"
import { SessionCookie } from "../accounts/SessionCookie.ts"
import { SignIn } from "../accounts/SignIn.ts"
import { sameText } from "../intake/signatures/Verdict.ts"
import { alone, problem, redirect } from "../console/Routes.tsx"

// A link that signs in to the console of the demo. Only the demo's process serves it.

const path = "/console/demo"

/** The account that the link signs in. */
const visitor = { email: "demo@example.com", name: "Demo", administrator: true }

/** Returns the link for a token. It works while the demo runs. */
export const linkOf = (url: string, token: string): string => `${url}${path}?token=${token}`

/**
 * Serves the link of a secret token: it starts a session of an administrator and redirects to the overview of `org`.
 */
export const layer = (token: string, org: string) =>
  HttpRouter.use(Effect.fnUntraced(function* (router) {
    const accounts = yield* Accounts
    const cookie = yield* SessionCookie
    const signIn = yield* SignIn

    const account = Effect.gen(function* () {
      return (yield* accounts.findByEmail(visitor.email)) ?? (yield* Effect.orDie(accounts.create(visitor)))
    })

    yield* router.add(
      "GET",
      path,
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const given = new URLSearchParams(request.url.split("?")[1] ?? "").get("token") ?? ""
        if (!sameText(given, token)) {
          return alone(request, problem(404, "This link does not work", "Open the link that the demo has printed."))
        }
        const entered = yield* signIn.asNew(yield* account, "first_run", cookie.clientOf(request))
        return redirect({ to: `/console/o/${org}`, cookies: [...cookie.of(entered)], done: "welcome" })
      }),
    )
  }))
