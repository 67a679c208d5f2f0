/** @jsxImportSource preact */
import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { refusal } from "../../../accounts/Policy.ts"
import { Deliveries } from "../../../delivery/Deliveries.ts"
import type { DeliveryDetail } from "../../../delivery/Delivery.ts"
import type { OrgSlug } from "../../../domain/Ids.ts"
import { lookedUp } from "../../../http/Requests.ts"
import { Console } from "../../Routes.tsx"
import { deliveriesPath } from "./DeliveryViews.tsx"

// The HTML of a message is a stranger's: it is shown in a frame that may run nothing, from a route of its own whose policy
// says the same once more, for whoever opens the frame alone.

const headers = {
  "content-security-policy":
    "default-src 'none'; img-src data: https:; style-src 'unsafe-inline'; frame-ancestors 'self'; sandbox",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
}

const answer = (status: number, html: string) =>
  HttpServerResponse.text(html, { status, contentType: "text/html; charset=utf-8", headers })

/** The words of a message: html in frames, text as it is. */
export const Message = ({ delivery, org }: { readonly delivery: DeliveryDetail; readonly org: OrgSlug }) => (
  <div class="stack">
    {Object.entries(delivery.vars ?? {}).map(([name, text]) => (
      <section class="message-part" aria-label={name}>
        <h3>{name}</h3>
        {delivery.formats[name] === "html"
          ? (
            <iframe
              class="message-frame"
              sandbox=""
              loading="lazy"
              title={`${name} of the message`}
              src={`${deliveriesPath(org)}/${delivery.id}/message?part=${encodeURIComponent(name)}`}
            />
          )
          : <p class="message-text">{text}</p>}
      </section>
    ))}
  </div>
)

/** One html part of a delivered message. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const { signedIn } = yield* Console
  const deliveries = yield* Deliveries

  yield* router.add(
    "GET",
    "/console/o/:org/deliveries/:delivery/message",
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const params = yield* HttpRouter.params
      const session = yield* signedIn(request)
      if (session === undefined) return answer(403, "You are not signed in.")
      if (refusal({ kind: "session", session }, "getDelivery", params) !== undefined) {
        return answer(403, "Your account does not open this.")
      }
      const part = new URLSearchParams(request.url.split("?")[1] ?? "").get("part") ?? ""
      const found = yield* deliveries.get(
        lookedUp(params["org"] ?? "") as OrgSlug,
        lookedUp(params["delivery"] ?? ""),
      ).pipe(Effect.catchTag("DeliveryNotFound", () => Effect.succeed(undefined)))
      const vars = found?.vars ?? {}
      return Object.hasOwn(vars, part) && found?.formats[part] === "html"
        ? answer(200, vars[part]!)
        : answer(404, "There is no such part of the message.")
    }),
  )
}))
