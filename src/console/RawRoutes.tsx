import { Context, Effect, Layer, Record } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { ComponentChildren } from "preact"
import { type Actor, CurrentActor } from "../accounts/Actor.ts"
import { sameCsrfToken } from "../accounts/CsrfToken.ts"
import { refusal } from "../accounts/Access.ts"
import { accessTable } from "../api/AccessTable.ts"
import { SessionCookie } from "../accounts/SessionCookie.ts"
import type { SignedIn } from "../accounts/Sessions.ts"
import { ChecksBusy } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import type { Organization } from "../domain/Organization.ts"
import { compressed } from "../api/http/Compression.ts"
import { lookedUp } from "../api/http/Requests.ts"
import { inLanguageOf, t } from "../languages/Language.ts"
import { Organizations } from "../organizations/Organizations.ts"
import { assets } from "./Assets.ts"
import { toHtml } from "./components/Document.tsx"
import { Console, type Fields, queryOf, redirect } from "./Routes.tsx"
import { fieldsOf } from "./SentForms.ts"

// Responses that are frames within a page or downloads: no navigation around it, its own policy.

type Response = HttpServerResponse.HttpServerResponse

/** The request with its session and organization. */
export interface PageRequest {
  readonly request: HttpServerRequest.HttpServerRequest
  readonly actor: Actor
  /** The organization of the path. Pages without an organization must not read it. */
  readonly org: Organization
  /** Of the path, such as can be looked up (see `lookedUp`). */
  readonly params: Readonly<Record<string, string | undefined>>
  /** Of the address, such as can be looked up. */
  readonly query: URLSearchParams
  /** Fields of the form; empty for GET. */
  readonly fields: Fields
}

const common = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
}

/**
 * The policy of a message: it may load pictures and style itself, and nothing else. It has an origin of its own, in which
 * no script runs.
 */
const messagePolicy = "default-src 'none'; img-src 'self' data: https:; style-src 'unsafe-inline'; sandbox; " +
  "frame-ancestors 'self'"

/**
 * The policy of the console's own text around a message: no script runs. The frame has the origin of the console, so that
 * the surrounding page can read error messages in it. The messages themselves are inner frames with another origin.
 */
const framePolicy =
  "default-src 'none'; img-src 'self' data: https:; style-src 'self' 'unsafe-inline'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'self'; sandbox allow-same-origin"

/**
 * Lets links of a message ask for a new window, which a sandbox refuses. Without this element, a link would lead its frame to a page
 * that the policy blocks.
 */
const inertLinks = '<base target="_blank">'

/** The font of text without a font of its own, as in most mail programs. The default font of browsers has serifs. */
const plainFont = "<style>:where(body){font-family:Arial,Helvetica,sans-serif}</style>"

/**
 * Elements that a frame appends to a message. Text before the document type would change how browsers lay out the message.
 */
export const frameEnd = plainFont + inertLinks

/** Answers with the HTML of a message, in the font of mail programs. */
export const message = (html: string): Response =>
  HttpServerResponse.text(html + frameEnd, {
    contentType: "text/html; charset=utf-8",
    headers: { ...common, "content-security-policy": messagePolicy },
  })

/** The content security policy of a sandbox message. It loads nothing remote, so that viewing cannot count as an open. */
const isolatedPolicy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; sandbox; frame-ancestors 'self'"

/** A message's HTML without what it would load. */
export const isolatedMessage = (html: string): Response =>
  HttpServerResponse.text(html + frameEnd, {
    contentType: "text/html; charset=utf-8",
    headers: { ...common, "content-security-policy": isolatedPolicy },
  })

/** A document for a frame of a page of ours. */
export const framed = (
  request: HttpServerRequest.HttpServerRequest,
  title: string,
  body: ComponentChildren,
  status = 200,
): Response => {
  const theme = request.cookies["parlance_theme"]
  return HttpServerResponse.text(
    toHtml(
      <html lang="en" {...(theme === "dark" || theme === "light" ? { "data-theme": theme } : {})}>
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <title>{title}</title>
          <link rel="stylesheet" href={assets.stylesheet} />
        </head>
        <body class="preview-frame">{body}</body>
      </html>,
    ),
    { status, contentType: "text/html; charset=utf-8", headers: { ...common, "content-security-policy": framePolicy } },
  )
}

/** A file to be saved. */
export const download = (text: string, name: string, contentType: string): Response =>
  HttpServerResponse.text(text, {
    contentType,
    headers: { ...common, "content-disposition": `attachment; filename="${name}"` },
  })

/** Why something is not shown. */
export const refused = (request: HttpServerRequest.HttpServerRequest, status: number, detail: string): Response =>
  framed(request, t`Not shown`, <p class="note warn">{detail}</p>, status)

/** Makes such routes; who may ask is said by `policy`, as for pages. The audit log records nothing of them. */
export class RawRoutes extends Context.Service<RawRoutes, {
  readonly route: <E, R>(
    method: "GET" | "POST",
    path: `/console${string}`,
    endpoint: string,
    run: (ask: PageRequest) => Effect.Effect<Response, E, R>,
  ) => HttpRouter.Route<never, R>
}>()("parlance/console/RawRoutes") {
  static readonly layer = Layer.effect(
    RawRoutes,
    Effect.gen(function* () {
      const { signedIn } = yield* Console
      const cookie = yield* SessionCookie
      const organizations = yield* Organizations

      const handle = <E, R>(
        method: "GET" | "POST",
        endpoint: string,
        run: (ask: PageRequest) => Effect.Effect<Response, E, R>,
      ) =>
        Effect.gen(function* () {
          const request = yield* HttpServerRequest.HttpServerRequest
          const session = yield* signedIn(request)
          if (session === undefined) {
            return method === "GET" ? redirect({ to: "/console/sign-in" }) : refused(request, 403, t`Sign in again.`)
          }
          return yield* handleSignedIn(method, endpoint, run, request, session).pipe(
            inLanguageOf(session.account.language),
          )
        })

      const handleSignedIn = <E, R>(
        method: "GET" | "POST",
        endpoint: string,
        run: (ask: PageRequest) => Effect.Effect<Response, E, R>,
        request: HttpServerRequest.HttpServerRequest,
        session: SignedIn,
      ) =>
        Effect.gen(function* () {
          const params = Record.map(yield* HttpRouter.params, (value) => lookedUp(value ?? ""))
          const actor = { kind: "session" as const, session }
          const reason = refusal(actor, accessTable.get(endpoint), params)
          if (reason !== undefined) return refused(request, 403, `${reason}.`)
          const org = params["org"] === undefined ? undefined : yield* organizations.get(params["org"] as OrgSlug).pipe(
            Effect.catchTag("OrganizationNotFound", () => Effect.succeed(undefined)),
          )
          if (params["org"] !== undefined && org === undefined) {
            return refused(request, 404, t`This organization does not exist.`)
          }
          const fields = method === "GET"
            ? Object.create(null) as Fields
            : yield* Effect.catch(fieldsOf(request), () => Effect.succeed(undefined))
          if (fields === undefined) {
            return refused(request, 413, t`The form has more than 12 MiB or 2,000 fields, or is not UTF-8. Shorten it.`)
          }
          if (
            method === "POST" &&
            !(cookie.isSameOrigin(request) && sameCsrfToken(fields["_csrf"], session.csrfToken))
          ) {
            return refused(request, 403, t`The form is out of date. Open the page again.`)
          }
          return yield* run({ request, actor, org: org as Organization, params, query: queryOf(request), fields }).pipe(
            Effect.provideService(CurrentActor, actor),
            Effect.catch((error: unknown) =>
              error instanceof Error && "_tag" in error && error.message !== ""
                ? Effect.succeed(refused(request, error instanceof ChecksBusy ? 503 : 404, error.message))
                : Effect.die(error)
            ),
            Effect.flatMap((response) => compressed(request, response)),
          )
        })

      return RawRoutes.of({
        route: (method, path, endpoint, run) => HttpRouter.route(method, path, handle(method, endpoint, run)),
      })
    }),
  )
}
