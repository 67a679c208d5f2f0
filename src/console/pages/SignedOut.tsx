import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { SessionCookie } from "../../accounts/SessionCookie.ts"
import { Sessions } from "../../accounts/Sessions.ts"
import type { CodeAsked, Entered } from "../../accounts/SignIn.ts"
import { Refusals } from "../../api/admission/Refusals.ts"
import { t } from "../../languages/Language.ts"
import { alone, type Fields, problem, redirect } from "../Routes.tsx"
import { fieldsOf } from "../SentForms.ts"

// Shared parts of pages that need no session.

/** A request for a page. */
export type PageHttpRequest = HttpServerRequest.HttpServerRequest

/** Forms of people who are not signed in are small: whoever sends more is not worth reading. Unit: bytes. */
const maxFormBytes = 16 * 1024

/** Returns the query of a request. */
export const queryOf = (request: PageHttpRequest) => new URLSearchParams(request.url.split("?")[1] ?? "")

/** The heading of a page, with an optional sentence below it. */
export const Title = ({ children, lead }: { readonly children: string; readonly lead?: string }) => (
  <header>
    <h1>{children}</h1>
    {lead !== undefined && <p>{lead}</p>}
  </header>
)

/** The page and message after signing in. */
interface Onwards {
  readonly to?: string | undefined
  readonly done?: string | undefined
}

/** How pages are made that work without being signed in. */
export const signedOutPages = Effect.gen(function* () {
  const router = yield* HttpRouter.HttpRouter
  const cookie = yield* SessionCookie
  const refusals = yield* Refusals
  const sessions = yield* Sessions

  const get = (
    path: `/${string}`,
    answer: (request: PageHttpRequest) => Effect.Effect<HttpServerResponse.HttpServerResponse>,
  ) => router.add("GET", path, Effect.flatMap(HttpServerRequest.HttpServerRequest, answer))

  /** A form from a page of this console before sign-in, when there is no session and no token to check. */
  const post = (
    path: `/${string}`,
    answer: (request: PageHttpRequest, fields: Fields) => Effect.Effect<HttpServerResponse.HttpServerResponse>,
  ) =>
    router.add(
      "POST",
      path,
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        if (!cookie.isSameOrigin(request)) {
          refusals.count(request, "csrf")
          return alone(
            request,
            problem(403, t`The form came from another site`, t`Open the page in the console and try again.`),
          )
        }
        return yield* Effect.matchEffect(fieldsOf(request, maxFormBytes), {
          onFailure: () =>
            Effect.succeed(alone(
              request,
              problem(413, t`The form is too large`, t`It holds more than 16 KiB. Go back and shorten your input.`),
            )),
          onSuccess: (fields) => answer(request, fields),
        })
      }),
    )

  /** The first page of a session: where the person was going, or the set-up of a second factor that is required of them. */
  const firstPage = Effect.fnUntraced(function* (token: string, to: string) {
    const session = yield* sessions.resolve(token)
    const required = [...session?.closedTo ?? []].find((org) => session?.roles.has(org as never) === true)
    return required === undefined
      ? to
      : `/console/account/second-factor?required=${encodeURIComponent(required)}&next=${encodeURIComponent(to)}`
  })

  /** Signs in anew: a session that the browser held before ends. */
  const enter = Effect.fnUntraced(function* (
    request: PageHttpRequest,
    entered: Entered,
    { done, to = "/console" }: Onwards,
    cookies: ReadonlyArray<string> = [],
  ) {
    const before = cookie.read(request)
    if (before !== undefined) yield* sessions.end(before)
    return redirect({
      to: yield* firstPage(entered.token, to),
      cookies: [...cookie.of(entered), ...cookies],
      ...(done === undefined ? {} : { done }),
    })
  })

  /** Signs in, or asks for the second factor first. */
  const proceed = (request: PageHttpRequest, result: Entered | CodeAsked, onwards: Onwards) => {
    if (result.kind === "entered") return enter(request, result, onwards)
    const next = onwards.to === undefined ? "" : `?next=${encodeURIComponent(onwards.to)}`
    return Effect.succeed(
      redirect({ to: `/console/sign-in/code${next}`, cookies: [cookie.setPending(result.pending)] }),
    )
  }

  return { cookie, refusals, sessions, get, post, enter, proceed }
})
