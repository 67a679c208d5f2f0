import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { layerServices } from "../../src/service/App.ts"
import { Connections } from "../../src/delivery/Connections.ts"
import type { DeliveryState } from "../../src/delivery/Delivery.ts"
import type { DeliverRequest } from "../../src/delivery/DeliverRequest.ts"
import { DeliveryQueue } from "../../src/delivery/DeliveryQueue.ts"
import * as Dispatcher from "../../src/delivery/Dispatcher.ts"
import type { CopyId, TemplateId, UserId } from "../../src/domain/Ids.ts"
import type { VariantInput } from "../../src/domain/Template.ts"
import { Templates } from "../../src/templates/Templates.ts"
import { makeOrg, org } from "../intake/support.ts"
import { type Environment, layerSettings } from "../support/stores.ts"
import { TableChanges } from "../support/tableChanges.ts"
import { layerBriskClock } from "./briskClock.ts"
import { type Receiver, signingSecret } from "./receiver.ts"

// Shared steps of tests of delivery, on the services themselves.

/**
 * The settings of delivery, without the settings of the store: a key for secrets, and access to servers on this
 * machine.
 */
export const deliveryEnvironment: Environment = {
  SECRET_KEY: "5e".repeat(32),
  OUTBOUND_ALLOW: "127.0.0.1/32",
  LOG_LEVEL: "None",
}

/** Everything but HTTP and background jobs: nothing leaves unless a test sends it. */
export const layerQueue = (environment: Environment, more: Environment = {}) =>
  TableChanges.layer.pipe(
    Layer.provideMerge(layerServices),
    Layer.provide(layerSettings({ ...environment, ...deliveryEnvironment, ...more })),
  )

/** The layer with a dispatcher whose retries come soon. */
export const layerSending = (environment: Environment, more: Environment = {}) =>
  sendingBy(Dispatcher.layer, environment, more)

/** The layer with a dispatcher whose clock runs ten times as fast as real time. */
export const layerSendingBriskly = (environment: Environment) =>
  sendingBy(Layer.provide(Dispatcher.layer, layerBriskClock), environment, {})

const sendingBy = (layerDispatcher: typeof Dispatcher.layer, environment: Environment, more: Environment) =>
  Layer.merge(layerDispatcher, TableChanges.layer).pipe(
    Layer.provideMerge(layerServices),
    Layer.provide(
      layerSettings({ ...environment, ...deliveryEnvironment, DELIVERY_RETRY_DELAY: "20 millis", ...more }),
    ),
  )

/** Sends an organization's messages to `url`. */
export const connect = Effect.fnUntraced(function* (slug: string, url: string, name = "main") {
  return yield* (yield* Connections).put(org(slug), name, {
    platform: "webhook",
    settings: { url },
    secrets: { signing_secret: signingSecret },
    enabled: true,
    default: true,
  })
})

/** Variants that differ by their id alone. */
export const variants = (...ids: ReadonlyArray<string>): ReadonlyArray<VariantInput> =>
  ids.map((id) => ({ id: id as CopyId, vars: { subject: `${id} for {{ name }}`, body: "<p>{{ name }}</p>" } }))

/** An organization with a template `t` and a connection to `url`, or by default to a closed port. */
export const furnish = Effect.fnUntraced(function* (
  slug: string,
  options: {
    readonly url?: string
    readonly variants?: ReadonlyArray<VariantInput>
    readonly stickyHours?: number
    readonly strict?: boolean
  } = {},
) {
  yield* makeOrg(slug)
  yield* (yield* Templates).create(org(slug), {
    id: "t" as TemplateId,
    name: "t",
    variants: options.variants ?? variants("a"),
    ...(options.stickyHours === undefined ? {} : { sticky_hours: options.stickyHours }),
    ...(options.strict === undefined ? {} : { strict: options.strict }),
  })
  yield* connect(slug, options.url ?? "http://127.0.0.1:9/")
  return org(slug)
})

/** The default request. */
export const asked = (email: string, more: Partial<DeliverRequest> = {}): DeliverRequest => ({
  templateId: "t" as TemplateId,
  email: email as UserId,
  copyId: undefined,
  fields: { name: email },
  attrs: new Map(),
  window: { lookbackDays: 14, offsetDays: 3 },
  useCache: true,
  epsilon: undefined,
  sendAt: undefined,
  optimizeSendTime: false,
  expiresAt: undefined,
  idempotency: undefined,
  ...more,
})

export const enqueue = Effect.fnUntraced(function* (slug: string, email: string, more: Partial<DeliverRequest> = {}) {
  return yield* (yield* DeliveryQueue).enqueue(org(slug), asked(email, more))
})

/** Queues `count` messages to different people; answers their ids in order. */
export const enqueueMany = Effect.fnUntraced(function* (slug: string, count: number) {
  const queued = yield* Effect.forEach(
    Array.from({ length: count }, (_, i) => `p${i}@example.com`),
    (email) => enqueue(slug, email),
    { concurrency: 100 },
  )
  return queued.map(({ id }) => id)
})

/** Rows of deliveries in the order of their ids. */
export const deliveriesOf = Effect.fnUntraced(function* (slug: string) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<{
    id: string
    state: DeliveryState
    email: string
    copyId: string
    attempts: number
    reason: string | null
    messageId: string | null
    connection: string | null
    dueAt: Date
    queuedAt: Date
    finishedAt: Date | null
    vars: Record<string, string>
  }>`
    SELECT d.id, d.state, d.email, d.copy_id, d.attempts, d.reason, d.message_id, d.connection, d.due_at, d.queued_at,
      d.finished_at, d.vars
    FROM deliveries d WHERE d.org_slug = ${slug} ORDER BY d.id`
})

export const decisionsOf = Effect.fnUntraced(function* (slug: string) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<{ trackingId: string; copyId: string; mode: string; userId: string | null }>`
    SELECT d.tracking_id, d.copy_id, d.mode, d.user_id FROM decisions d WHERE d.org_slug = ${slug}
    ORDER BY d.tracking_id`
})

/** Counts of deliveries by state. */
export const statesOf = Effect.fnUntraced(function* (slug: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ state: DeliveryState; n: number }>`
    SELECT d.state, count(*)::int AS n FROM deliveries d WHERE d.org_slug = ${slug} GROUP BY d.state`
  return Object.fromEntries(rows.map(({ n, state }) => [state, n])) as { [state in DeliveryState]?: number }
})

/** Waits until an effect returns true. The effect must depend only on stored deliveries and connections. */
export const until = <E, R>(what: string, holds: Effect.Effect<boolean, E, R>) =>
  Effect.flatMap(TableChanges, (changes) => changes.until(what, ["deliveries", "connections", "dispatch_lanes"], holds))

/** Waits until nothing of an organization is on its way any more. */
export const untilDone = (slug: string) =>
  until(
    `everything of ${slug} has ended`,
    Effect.map(statesOf(slug), ({ queued = 0, sending = 0 }) => queued + sending === 0),
  )

/** The most arrivals that any second held; times have a grain of a millisecond. */
export const densestSecond = (arrivals: Receiver["arrivals"]): number => {
  const times = arrivals.map(({ at }) => at).sort((a, b) => a - b)
  let most = 0
  for (let last = 0, first = 0; last < times.length; last++) {
    while (times[last]! - times[first]! >= 1000) first++
    most = Math.max(most, last - first + 1)
  }
  return most
}

/** Makes sure that exactly these arrived, each once. */
export const assertArrived = (server: Receiver, ids: ReadonlyArray<string>) =>
  assert.deepStrictEqual(server.arrivals.map(({ id }) => id).sort(), [...ids].sort())
