import { Effect, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { complaintAddressOf } from "../../tracking/BounceAddress.ts"
import { decoder } from "../../domain/Faults.ts"
import { ConnectionChange, Connections, type ConnectionSetup } from "../../delivery/Connections.ts"
import { testConnection } from "../../delivery/testConnection.ts"
import { Deliveries } from "../../delivery/Deliveries.ts"
import { type Delivery, type DeliveryDetail, DeliveryState } from "../../delivery/Delivery.ts"
import { decodeMembers, type FilterMembers, filterOf } from "../../delivery/DeliveryFilter.ts"
import { DeliveryRates } from "../../delivery/DeliveryRates.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { TemplateCache } from "../../templates/TemplateCache.ts"
import { Tracking } from "../../tracking/Tracking.ts"
import { ServedApi } from "../Api.ts"
import type * as Wire from "./DeliveryApi.ts"
import type { DeliveryResource } from "./DeliveryResource.ts"
import * as Parameters from "../server/Parameters.ts"
import { keptHours } from "../../delivery/DeliveryRates.ts"
import type { Fault } from "../../domain/Errors.ts"
import { body, existing, lookedUp, query, toProblems } from "../server/Requests.ts"

const decodeChange = decoder(ConnectionChange)

/** A delivery as the API shows it. */
export const deliveryToWire = (delivery: Delivery): DeliveryResource => ({
  id: delivery.id,
  template_id: delivery.templateId,
  copy_id: delivery.copyId,
  email: delivery.email,
  state: delivery.state,
  priority: delivery.priority,
  due_at: delivery.dueAt.toISOString(),
  queued_at: delivery.queuedAt.toISOString(),
  expires_at: delivery.expiresAt?.toISOString() ?? null,
  attempts: delivery.attempts,
  connection: delivery.connection,
  message_id: delivery.messageId,
  reason: delivery.reason,
  finished_at: delivery.finishedAt?.toISOString() ?? null,
})

/** Members of a filter that a query may have beside the state and the address. */
const filterNames = ["since", "until", "reason", "template_id", "connection"] as const

/** Members of a filter are read together. */
const filterText: Parameters.Parameter<string | undefined> = (text) => Result.succeed(text)

const membersIn = (asked: URLSearchParams): Result.Result<FilterMembers, ReadonlyArray<Fault>> =>
  Result.mapError(
    decodeMembers(Object.fromEntries(filterNames.flatMap((name) => {
      const text = asked.get(name)
      return text === null ? [] : [[name, text]]
    }))),
    (faults) => faults.map(({ detail, pointer }) => ({ pointer: pointer.slice(1), detail })),
  )

/** The page of deliveries that a request's query asks for. */
export const listDeliveries = Effect.fnUntraced(function* (
  deliveries: Deliveries["Service"],
  org: OrgSlug,
  request: HttpServerRequest.HttpServerRequest,
) {
  const members = membersIn(query(request))
  const { cursor, email, limit, state } = yield* Parameters.parameters(request, {
    limit: Parameters.limit(500, 50),
    state: Parameters.oneOf(DeliveryState.literals),
    email: Parameters.ofAddress(Parameters.text("must be an address")),
    cursor: Parameters.cursor(),
    ...Object.fromEntries(filterNames.map((name) => [name, filterText])),
  }, Result.isFailure(members) ? members.failure : [])
  const filter = Result.getOrThrow(members)
  const found = yield* deliveries.list(org, { ...filterOf(filter), state, email, cursor, limit: limit + 1 })
  const page = found.slice(0, limit)
  return { deliveries: page.map(deliveryToWire), next: found.length > page.length ? page.at(-1)!.id : null }
})

/** A delivery with its words as the API shows it. */
export const detailToWire = (delivery: DeliveryDetail) => ({
  ...deliveryToWire(delivery),
  vars: delivery.vars,
  formats: delivery.formats,
})

export const layer = HttpApiBuilder.group(
  ServedApi,
  "delivery",
  Effect.fnUntraced(function* (handlers) {
    const organizations = yield* Organizations
    const connections = yield* Connections
    const deliveries = yield* Deliveries
    const rates = yield* DeliveryRates
    const templateCache = yield* TemplateCache
    const tracking = yield* Tracking

    const connectionToWire = (
      org: OrgSlug,
      setup: ConnectionSetup,
      complaintMailbox: string,
    ): Wire.ConnectionResource => ({
      name: setup.name,
      platform: setup.platform,
      settings: setup.settings,
      secrets: setup.secrets,
      enabled: setup.enabled,
      paused: setup.paused,
      default: setup.isDefault,
      in_use: connections.active(org)?.name === setup.name,
      trouble: setup.trouble,
      complaint_address: complaintAddressOf(complaintMailbox, setup.settings),
      created_at: setup.createdAt.toISOString(),
      updated_at: setup.updatedAt.toISOString(),
    })
    const complaintMailbox = (org: OrgSlug) => Effect.orDie(tracking.complaintMailbox(org))

    return handlers
      .handle("listConnections", ({ params }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const mailbox = yield* complaintMailbox(org)
          return { connections: (yield* connections.list(org)).map((setup) => connectionToWire(org, setup, mailbox)) }
        }).pipe(toProblems))
      .handleRaw("putConnection", ({ params, request }) =>
        Effect.gen(function* () {
          const change = yield* body(request, decodeChange)
          const org = yield* existing(organizations, params)
          const setup = yield* connections.put(org, lookedUp(params.connection), change)
          return connectionToWire(org, setup, yield* complaintMailbox(org))
        }).pipe(toProblems))
      .handle("deleteConnection", ({ params }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          yield* connections.remove(org, lookedUp(params.connection))
        }).pipe(toProblems))
      .handle("resumeConnection", ({ params }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const setup = yield* connections.resume(org, lookedUp(params.connection))
          return connectionToWire(org, setup, yield* complaintMailbox(org))
        }).pipe(toProblems))
      .handle("testConnection", ({ params }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          return yield* testConnection(connections, templateCache, org, lookedUp(params.connection))
        }).pipe(toProblems))
      .handleRaw(
        "listDeliveries",
        ({ params, request }) =>
          Effect.flatMap(existing(organizations, params), (org) => listDeliveries(deliveries, org, request)).pipe(
            toProblems,
          ),
      )
      .handle("deliverySummary", ({ params }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const { oldestDueSeconds, sentPerSecond, ...counts } = yield* deliveries.summary(org)
          return { ...counts, oldest_due_seconds: oldestDueSeconds, sent_per_second: sentPerSecond }
        }).pipe(toProblems))
      .handleRaw("deliverySeries", ({ params, request }) =>
        Effect.gen(function* () {
          const { hours } = yield* Parameters.parameters(request, {
            hours: Parameters.whole(1, keptHours, 1, " of hours"),
          })
          const org = yield* existing(organizations, params)
          const { points, stepMinutes } = yield* rates.series(org, hours)
          return {
            hours,
            step_minutes: stepMinutes,
            points: points.map(({ end, oldestDueSeconds, start, ...point }) => ({
              start: start.toISOString(),
              end: end.toISOString(),
              ...point,
              oldest_due_seconds: oldestDueSeconds,
            })),
          }
        }).pipe(toProblems))
      .handle("getDelivery", ({ params }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          return detailToWire(yield* deliveries.get(org, lookedUp(params.delivery)))
        }).pipe(toProblems))
      .handle("cancelDelivery", ({ params }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          return deliveryToWire(yield* deliveries.cancel(org, lookedUp(params.delivery)))
        }).pipe(toProblems))
      .handle("retryDelivery", ({ params }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          return deliveryToWire(yield* deliveries.retry(org, lookedUp(params.delivery)))
        }).pipe(toProblems))
  }),
)
