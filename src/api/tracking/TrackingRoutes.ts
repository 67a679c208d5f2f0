import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Buffer } from "node:buffer"
import { isMachineClick, isMachineOpen } from "../../tracking/Machines.ts"
import { OptOuts } from "../../intake/OptOuts.ts"
import { Reactions } from "../../tracking/Reactions.ts"
import { type Target, Targets } from "../../tracking/Targets.ts"
import type { Token, TokenKind } from "../../tracking/Token.ts"
import { Tracking } from "../../tracking/Tracking.ts"
import { laterPage, unknownLinkPage, unsubscribePage } from "../../tracking/UnsubscribePage.ts"
import * as Body from "../http/Body.ts"
import { PublicCalls } from "../http/PublicCalls.ts"

/** A transparent GIF of one pixel. */
const gif = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64")

/** Maximum size of the form that a mail program posts. Its content is ignored. Unit: bytes. */
const maxFormBytes = 16 * 1024

const fresh = { "cache-control": "no-store" }

// Without an explicit length, an empty response would be chunked, which needs another write.
const noBody = { ...fresh, "content-length": "0" }

// Search engines must not list the page, and a linked site must not learn the token.
const common = { ...fresh, "x-robots-tag": "noindex, nofollow", "referrer-policy": "no-referrer" }

const html = (text: string, status: number) =>
  HttpServerResponse.text(text, {
    status,
    contentType: "text/html; charset=utf-8",
    headers: {
      ...common,
      "content-security-policy":
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    },
  })

const pixel = HttpServerResponse.uint8Array(gif, { contentType: "image/gif", headers: fresh })
const locationOf = ({ url }: Target) => ({ ...noBody, "referrer-policy": "no-referrer", location: url })
const noPixel = HttpServerResponse.empty({ status: 404, headers: noBody })
const unknownLink = html(unknownLinkPage, 404)
const later = html(laterPage, 503)

/** Serves the addresses in messages: the pixel, the redirects and the unsubscribe page. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const tracking = yield* Tracking
  const targets = yield* Targets
  const reactions = yield* Reactions
  const optOuts = yield* OptOuts
  const { add } = yield* PublicCalls

  /**
   * Returns the response to a request with a genuine token. Other tokens get `unknown`, without a query to the
   * database.
   */
  const route = <E, R>(
    kind: TokenKind,
    unknown: HttpServerResponse.HttpServerResponse,
    answer: (
      token: Token,
      request: HttpServerRequest.HttpServerRequest,
    ) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
  ) =>
    Effect.flatMap(
      HttpServerRequest.HttpServerRequest,
      (request) =>
        Effect.flatMap(HttpRouter.params, ({ token: text = "" }) =>
          tracking.open(kind, kind === "open" ? text.replace(/\.gif$/, "") : text).pipe(
            Effect.flatMap((token) =>
              token === undefined ? Effect.succeed(unknown) : answer(token, request)
            ),
            // The signing key is read once from the database. Until then, requests fail if the database is unavailable.
            Effect.catchTag("SqlError", () => Effect.succeed(later)),
          )),
    )

  const noteOpen = ({ id, org }: Token, automated: boolean) => reactions.note({ org, id, event: "open", automated })

  const noteClick = ({ id, org }: Token, { name }: Target, automated: boolean) =>
    reactions.note({ org, id, event: "click", automated, link: name })

  const open = route("open", noPixel, (token, { headers, method }) => {
    if (method !== "HEAD") noteOpen(token, isMachineOpen(headers))
    return Effect.succeed(pixel)
  })

  const click = route("click", unknownLink, (token, { headers, method }) =>
    Effect.match(targets.find(token), {
      onFailure: () => later,
      onSuccess: (target) => {
        if (target === undefined) return unknownLink
        if (method !== "HEAD") noteClick(token, target, isMachineClick(headers))
        return HttpServerResponse.empty({ status: 302, headers: locationOf(target) })
      },
    }))

  const pageOf = (
    { org }: Token,
    { headers }: HttpServerRequest.HttpServerRequest,
    state: "question" | "done" | "later",
  ) =>
    html(
      unsubscribePage(tracking.organization(org)!, headers["accept-language"], state),
      state === "later" ? 503 : 200,
    )

  const ask = route("unsubscribe", unknownLink, (token, request) => {
    const { id, org } = token
    // Link scanners request the page next to the other links: see `machineClicks`.
    if (request.method !== "HEAD") reactions.note({ org, id, event: "unsubscribe_view", automated: false })
    return Effect.succeed(pageOf(token, request, "question"))
  })

  /** Unsubscribes with one click (RFC 8058) in a mail program or on the page. */
  const unsubscribe = route("unsubscribe", unknownLink, (token, request) =>
    Effect.andThen(
      // Reads the body completely, so that the connection can be reused.
      Body.raw(request, maxFormBytes),
      Effect.map(optOuts.record(token.org, token.id), (isDone) => pageOf(token, request, isDone ? "done" : "later")),
    ))

  yield* add(router, { method: "GET", path: "/o/:token", response: open })
  yield* add(router, { method: "GET", path: "/c/:token", response: click })
  yield* router.add("GET", "/u/:token", ask)
  yield* router.add("POST", "/u/:token", unsubscribe)
}))
