import { Effect } from "effect"
import { Deliveries } from "../../../delivery/Deliveries.ts"
import type { DeliveryDetail } from "../../../delivery/Delivery.ts"
import type { OrgSlug } from "../../../domain/Ids.ts"
import { t } from "../../../languages/Language.ts"
import { pages } from "../../Pages.ts"
import { message, refused } from "../../RawRoutes.tsx"
import { deliveriesPath } from "./DeliveryViews.tsx"

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
              title={t`${name} of the message`}
              src={`${deliveriesPath(org)}/${delivery.id}/message?part=${encodeURIComponent(name)}`}
            />
          )
          : <p class="message-text">{text}</p>}
      </section>
    ))}
  </div>
)

/** One html part of a delivered message, as a document of its own. */
export const layer = pages(({ route }) => [
  route(
    "GET",
    "/console/o/:org/deliveries/:delivery/message",
    "getDelivery",
    ({ org, params, query, request }) =>
      Effect.map(
        Deliveries.use((deliveries) => deliveries.get(org.slug, params["delivery"] ?? "")),
        ({ formats, vars }) => {
          const part = query.get("part") ?? ""
          return vars !== null && Object.hasOwn(vars, part) && formats[part] === "html"
            ? message(vars[part]!)
            : refused(request, 404, t`The message has no such part.`)
        },
      ),
  ),
])
