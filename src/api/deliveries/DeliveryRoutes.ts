import { Effect } from "effect"
import { Connections, type ConnectionSetup } from "../../delivery/Connections.ts"
import { Deliveries } from "../../delivery/Deliveries.ts"
import { filterOf } from "../../delivery/DeliveryFilter.ts"
import { DeliveryRates } from "../../delivery/DeliveryRates.ts"
import { testConnection } from "../../delivery/testConnection.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { TemplateCache } from "../../templates/TemplateCache.ts"
import { complaintAddressOf } from "../../tracking/BounceAddress.ts"
import { Tracking } from "../../tracking/Tracking.ts"
import { managed } from "../http/Managed.ts"
import { pageOf } from "../http/Paging.ts"
import type { ValuesOf } from "../http/Parameters.ts"
import type { listQuery } from "./DeliveryApi.ts"

/** Returns the page of deliveries that a query selects. */
export const listDeliveries = Effect.fnUntraced(function* (
  deliveries: Deliveries["Service"],
  org: OrgSlug,
  { cursor, limit, state, ...filter }: ValuesOf<typeof listQuery>,
) {
  const { next, page } = yield* pageOf(
    limit,
    (limit) => deliveries.list(org, { ...filterOf(filter), state, cursor, limit }),
  )
  return { deliveries: page, next }
})

/** Serves `DeliveryGroup`. */
export const layer = managed(
  "delivery",
  Effect.gen(function* () {
    const connections = yield* Connections
    const deliveries = yield* Deliveries
    const rates = yield* DeliveryRates
    const templateCache = yield* TemplateCache
    const tracking = yield* Tracking

    const shown = Effect.fnUntraced(function* (org: OrgSlug, setups: ReadonlyArray<ConnectionSetup>) {
      const mailbox = yield* Effect.orDie(tracking.complaintMailbox(org))
      return setups.map((setup) => ({
        ...setup,
        default: setup.isDefault,
        inUse: connections.active(org)?.name === setup.name,
        complaintAddress: complaintAddressOf(mailbox, setup.settings),
      }))
    })
    const shownOne = (org: OrgSlug, setup: ConnectionSetup) => Effect.map(shown(org, [setup]), ([only]) => only!)

    return {
      listConnections: Effect.fnUntraced(function* ({ org }) {
        return { connections: yield* shown(org, yield* connections.list(org)) }
      }),
      putConnection: ({ body, org, params }) =>
        Effect.flatMap(connections.put(org, params.connection, body), (setup) => shownOne(org, setup)),
      deleteConnection: ({ org, params }) => connections.remove(org, params.connection),
      resumeConnection: ({ org, params }) =>
        Effect.flatMap(connections.resume(org, params.connection), (setup) => shownOne(org, setup)),
      testConnection: ({ org, params }) => testConnection(connections, templateCache, org, params.connection),
      listDeliveries: ({ org, query }) => listDeliveries(deliveries, org, query),
      deliverySummary: ({ org }) => deliveries.summary(org),
      deliverySeries: {
        inSteps: Effect.fnUntraced(function* ({ org, query }) {
          const { hours } = yield* query
          return yield* rates.series(yield* org, hours)
        }),
      },
      getDelivery: ({ org, params }) => deliveries.get(org, params.delivery),
      cancelDelivery: ({ org, params }) => deliveries.cancel(org, params.delivery),
      retryDelivery: ({ org, params }) => deliveries.retry(org, params.delivery),
    }
  }),
  "after the body",
)
