import { Effect, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { complaintAddressOf } from "../../tracking/BounceAddress.ts"
import { isStorable } from "../../domain/Attributes.ts"
import type { Fault } from "../../domain/Errors.ts"
import { decoder } from "../../domain/Faults.ts"
import { ConnectionChange, Connections, type ConnectionSetup } from "../../delivery/Connections.ts"
import { testConnection } from "../../delivery/testConnection.ts"
import { Deliveries } from "../../delivery/Deliveries.ts"
import { type Delivery, type DeliveryDetail, DeliveryState } from "../../delivery/Delivery.ts"
import { decodeMembers, type FilterMembers, filterOf } from "../../delivery/DeliveryFilter.ts"
import { DeliveryRates } from "../../delivery/DeliveryRates.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { Views } from "../../templates/Views.ts"
import { Tracking } from "../../tracking/Tracking.ts"
import { ServedApi } from "../Api.ts"
import type * as Wire from "./DeliveryApi.ts"
import { body, existing, hoursOf, invalid, limitOf, lookedUp, query, toProblems } from "../server/Requests.ts"

const decodeChange = decoder(ConnectionChange)

const isState = (text: string): text is DeliveryState =>
  (DeliveryState.literals as ReadonlyArray<string>).includes(text)

/** A delivery as the API shows it. */
export const deliveryToWire = (delivery: Delivery): Wire.Delivery => ({
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
  const asked = query(request)
  const limit = limitOf(asked, 500, 50)
  const state = asked.get("state") ?? undefined
  const email = asked.get("email") ?? undefined
  const before = asked.get("cursor") ?? undefined
  const faults: Array<Fault> = Result.isFailure(limit) ? [limit.failure] : []
  if (state !== undefined && !isState(state)) {
    faults.push({ pointer: "state", detail: `must be one of ${DeliveryState.literals.join(", ")}` })
  }
  if (email !== undefined && !isStorable(email)) faults.push({ pointer: "email", detail: "must be an address" })
  if (before !== undefined && !isStorable(before)) {
    faults.push({ pointer: "cursor", detail: "must be the `next` of a page" })
  }
  const members = membersIn(asked)
  if (Result.isFailure(members)) faults.push(...members.failure)
  if (Result.isFailure(limit) || Result.isFailure(members) || faults.length > 0) return yield* invalid(faults)
  const found = yield* deliveries.list(org, {
    ...filterOf(members.success),
    state: state as DeliveryState | undefined,
    email,
    before,
    limit: limit.success + 1,
  })
  const page = found.slice(0, limit.success)
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
    const views = yield* Views
    const tracking = yield* Tracking

    const connectionToWire = (org: OrgSlug, setup: ConnectionSetup, complaintMailbox: string): Wire.Connection => ({
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
          return yield* testConnection(connections, views, org, lookedUp(params.connection))
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
          const hours = hoursOf(query(request))
          if (Result.isFailure(hours)) return yield* invalid([hours.failure])
          const org = yield* existing(organizations, params)
          const { points, stepMinutes } = yield* rates.series(org, hours.success)
          return {
            hours: hours.success,
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
