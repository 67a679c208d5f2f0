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

/** Most bytes of the form that a mail program posts; its content is ignored. */
const maxFormBytes = 16 * 1024

const fresh = { "cache-control": "no-store" }

// An explicit length: otherwise the empty response is chunked, which takes another write.
const noBody = { ...fresh, "content-length": "0" }

// No search engine lists the page, and a site that it leads to does not learn the token.
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

/** The addresses in messages: pixel, redirect, and the page to unsubscribe. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const tracking = yield* Tracking
  const targets = yield* Targets
  const reactions = yield* Reactions
  const optOuts = yield* OptOuts
  const { add } = yield* PublicCalls

  /** A route for genuine tokens. Others are not known here, and the store is not asked about them. */
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
            // The key is read once; until then the store has to be there.
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

  const ask = route("unsubscribe", unknownLink, (token, request) => Effect.succeed(pageOf(token, request, "question")))

  /** One click (RFC 8058): by a mail program, or by the button of the page. */
  const unsubscribe = route("unsubscribe", unknownLink, (token, request) =>
    Effect.andThen(
      // Read to its end, so that the connection can be used again.
      Body.raw(request, maxFormBytes),
      Effect.map(optOuts.record(token.org, token.id), (isDone) => pageOf(token, request, isDone ? "done" : "later")),
    ))

  yield* add(router, { method: "GET", path: "/o/:token", response: open })
  yield* add(router, { method: "GET", path: "/c/:token", response: click })
  yield* router.add("GET", "/u/:token", ask)
  yield* router.add("POST", "/u/:token", unsubscribe)
}))
