import { Clock, Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { Buffer } from "node:buffer"
import { randomBytes, randomUUID } from "node:crypto"
import { type NoSecretKey, SecretBox, type SecretFileFaulty } from "../store/SecretBox.ts"
import type { SealedColumn } from "../store/SecretKeys.ts"
import { EndpointNotFound, InvalidInput } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { AddressGuard, requireAllowed } from "../settings/AddressGuard.ts"
import { lockOrganization } from "../organizations/Existing.ts"
import type { ChosenType, EventType } from "./EventTypes.ts"
import { type BatchRange, syncFeeds } from "./Feeds.ts"

/** A server of an organization that receives events. */
export interface StoredEndpoint {
  readonly id: string
  readonly url: string
  readonly description: string
  /** Types of events that the endpoint receives; empty for all types of single events. */
  readonly events: ReadonlyArray<ChosenType>
  readonly enabled: boolean
  /** Why the service disabled the endpoint; null if it did not. */
  readonly disabledReason: string | null
  /** Time of the first failure since the last success; null if the last attempt succeeded. */
  readonly failingSince: Date | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** Editable fields of an endpoint. */
interface EndpointInput {
  readonly url: string
  readonly description: string
  readonly events: ReadonlyArray<ChosenType>
  readonly enabled: boolean
}

/** An attempt to send an event. */
export interface WebhookAttempt {
  /** ISO 8601. */
  readonly at: string
  /** The status of the response; null without one. */
  readonly status: number | null
  /** Why it failed; null if it succeeded. */
  readonly reason: string | null
  /** Duration of the attempt. Unit: milliseconds. */
  readonly milliseconds: number
}

/** An event for an endpoint, or a batch of events. */
export interface OutgoingWebhook {
  readonly id: string
  readonly type: EventType | ChosenType
  /** The body as it is signed; null for a batch, whose rows are read for each attempt. */
  readonly body: string | null
  /** The rows of a batch; null for a single event. */
  readonly batch: BatchRange | null
  readonly state: "pending" | "delivered" | "failed"
  readonly createdAt: Date
  readonly dueAt: Date
  readonly finishedAt: Date | null
  /** The last 20 attempts, earliest first. */
  readonly log: ReadonlyArray<WebhookAttempt>
}

/** An encrypted secret. It signs events until `until`; null for the current secret. */
export interface StoredSecret {
  readonly sealed: string
  readonly until: string | null
}

/** Maximum number of endpoints of an organization. */
export const maxEndpoints = 10

/** How long the previous secret still signs after a rotation. Unit: hours. */
export const rotationHours = 24

/** Returns the purpose that binds an encrypted secret to its endpoint. */
export const purposeOf = (org: string, id: string): string => `webhook endpoint ${org}/${id}`

/** Secrets that sign events. */
export const sealedEndpoints: SealedColumn = {
  table: "webhook_endpoints",
  column: "secrets",
  type: "json",
  key: ["org_slug", "id"],
  purposeOf: ([org, id]) => purposeOf(org!, id!),
}

const newSecret = (): string => `whsec_${Buffer.from(randomBytes(32)).toString("base64")}`

type Sealing = NoSecretKey | SecretFileFaulty

/** Turns a `SqlError` into a defect. */
const withoutSqlError = <A, E>(effect: Effect.Effect<A, E | SqlError>) =>
  Effect.catchIf(
    effect,
    (error): error is Extract<E | SqlError, SqlError> => (error as { readonly _tag?: string })._tag === "SqlError",
    Effect.die,
  ) as Effect.Effect<A, Exclude<E, SqlError>>

/** Operations on the events of an endpoint. */
const makeEvents = (
  sql: SqlClient.SqlClient,
  find: (org: OrgSlug, id: string) => Effect.Effect<StoredEndpoint, EndpointNotFound | SqlError>,
) => {
  const ping = Effect.fn("WebhookEndpoints.ping")(function* (org: OrgSlug, id: string) {
    yield* find(org, id)
    const message = `evt_${randomUUID().replaceAll("-", "")}`
    const timestamp = new Date(yield* Clock.currentTimeMillis).toISOString()
    yield* sql`
      INSERT INTO outgoing_webhooks (org_slug, endpoint_id, id, type, body, created_at, state, due_at)
      VALUES (${org}, ${id}, ${message}, 'ping',
        ${JSON.stringify({ type: "ping", timestamp, data: { org, endpoint_id: id } })}, now(), 'pending', now())`
    return message
  }, withoutSqlError)

  const messages = Effect.fn("WebhookEndpoints.messages")(function* (
    org: OrgSlug,
    id: string,
    { before, limit }: { readonly before: string | undefined; readonly limit: number },
  ) {
    yield* find(org, id)
    return yield* sql<OutgoingWebhook>`
      SELECT w.id, w.type, nullif(w.body, '') AS body, w.batch, w.state, w.created_at, w.due_at, w.finished_at, w.log FROM outgoing_webhooks w
      WHERE w.org_slug = ${org} AND w.endpoint_id = ${id} AND ${
      before === undefined ? sql`TRUE` : sql`(w.created_at, w.id) < (
        SELECT b.created_at, b.id FROM outgoing_webhooks b
        WHERE b.org_slug = ${org} AND b.endpoint_id = ${id} AND b.id = ${before})`
    }
      ORDER BY w.created_at DESC, w.id DESC LIMIT ${limit}`
  }, withoutSqlError)

  const replay = Effect.fn("WebhookEndpoints.replay")(function* (
    org: OrgSlug,
    id: string,
    which: { readonly message: string } | { readonly since: Date },
  ) {
    yield* find(org, id)
    const chosen = "message" in which ? sql`w.id = ${which.message}` : sql`w.created_at >= ${which.since}`
    const rows = yield* sql`
      UPDATE outgoing_webhooks w SET state = 'pending', attempts = 0, first_failed_at = NULL, due_at = now(),
        finished_at = NULL
      WHERE w.org_slug = ${org} AND w.endpoint_id = ${id} AND w.state <> 'pending' AND ${chosen} RETURNING w.id`
    return rows.length
  }, withoutSqlError)

  return { messages, ping, replay }
}

/** Manages endpoints, their secrets and their events. A database failure is a defect. */
export class WebhookEndpoints extends Context.Service<WebhookEndpoints, {
  readonly list: (org: OrgSlug) => Effect.Effect<ReadonlyArray<StoredEndpoint>>
  /** Fails with `EndpointNotFound` for an unknown endpoint. */
  readonly get: (org: OrgSlug, id: string) => Effect.Effect<StoredEndpoint, EndpointNotFound>
  /**
   * Creates an endpoint and returns its signing secret, which is never shown again. Fails with `InvalidInput` if the
   * organization has ten endpoints, or if the address is forbidden.
   */
  readonly create: (
    org: OrgSlug,
    input: EndpointInput,
  ) => Effect.Effect<{ readonly endpoint: StoredEndpoint; readonly secret: string }, InvalidInput | Sealing>
  /**
   * Changes an endpoint. Absent members stay unchanged. Enabling resets the record of failures. Fails with
   * `EndpointNotFound` for an unknown endpoint, and with `InvalidInput` if a new address is forbidden.
   */
  readonly update: (
    org: OrgSlug,
    id: string,
    change: Partial<EndpointInput>,
  ) => Effect.Effect<StoredEndpoint, EndpointNotFound | InvalidInput>
  /** Removes an endpoint with its events. Fails with `EndpointNotFound` for an unknown endpoint. */
  readonly remove: (org: OrgSlug, id: string) => Effect.Effect<void, EndpointNotFound>
  /**
   * Creates and returns a new secret. Both secrets sign events for 24 hours, so that receivers can switch. Fails with
   * `EndpointNotFound` for an unknown endpoint.
   */
  readonly rotate: (org: OrgSlug, id: string) => Effect.Effect<string, EndpointNotFound | Sealing>
  /** Queues a `ping` event and returns its id. Fails with `EndpointNotFound` for an unknown endpoint. */
  readonly ping: (org: OrgSlug, id: string) => Effect.Effect<string, EndpointNotFound>
  /** Lists events of an endpoint, latest first. Fails with `EndpointNotFound` for an unknown endpoint. */
  readonly messages: (
    org: OrgSlug,
    id: string,
    page: { readonly before: string | undefined; readonly limit: number },
  ) => Effect.Effect<ReadonlyArray<OutgoingWebhook>, EndpointNotFound>
  /**
   * Queues events again: one event, or all events since a time. Returns their number. Fails with `EndpointNotFound` for
   * an unknown endpoint.
   */
  readonly replay: (
    org: OrgSlug,
    id: string,
    which: { readonly message: string } | { readonly since: Date },
  ) => Effect.Effect<number, EndpointNotFound>
}>()("parlance/webhooks/WebhookEndpoints") {
  static readonly layer = Layer.effect(
    WebhookEndpoints,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const box = yield* SecretBox
      const guard = yield* AddressGuard
      const columns = sql.literal(
        "e.id, e.url, e.description, e.events, e.enabled, e.disabled_reason, e.failing_since, e.created_at, e.updated_at",
      )
      const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))

      const list = Effect.fn("WebhookEndpoints.list")(function* (org: OrgSlug) {
        return yield* Effect.orDie(sql<StoredEndpoint>`
          SELECT ${columns} FROM webhook_endpoints e WHERE e.org_slug = ${org} ORDER BY e.created_at, e.id`)
      })

      const find = Effect.fnUntraced(function* (org: OrgSlug, id: string) {
        const [found] = yield* sql<StoredEndpoint>`
          SELECT ${columns} FROM webhook_endpoints e WHERE e.org_slug = ${org} AND e.id = ${id}`
        return found ?? (yield* new EndpointNotFound({ id }))
      })

      const seal = (org: OrgSlug, id: string, secret: string) => box.seal(purposeOf(org, id), Redacted.make(secret))

      const create = Effect.fn("WebhookEndpoints.create")(function* (org: OrgSlug, input: EndpointInput) {
        yield* requireAllowed(guard, "/url", input.url)
        const id = randomUUID().slice(0, 8)
        const secret = newSecret()
        const stored: ReadonlyArray<StoredSecret> = [{ sealed: yield* seal(org, id, secret), until: null }]
        const at = yield* now
        const endpoint = yield* sql.withTransaction(Effect.gen(function* () {
          yield* lockOrganization(sql, org)
          const [{ count }] = (yield* sql<{ count: number }>`
            SELECT count(*)::int AS count FROM webhook_endpoints e WHERE e.org_slug = ${org}`) as [{ count: number }]
          if (count >= maxEndpoints) {
            return yield* new InvalidInput({
              faults: [{
                pointer: "",
                detail: `would be endpoint ${count + 1}, and an organization has at most ${maxEndpoints}. Delete one`,
              }],
            })
          }
          const [row] = yield* sql<StoredEndpoint>`
            INSERT INTO webhook_endpoints AS e (org_slug, id, url, description, events, enabled, secrets, created_at, updated_at)
            VALUES (${org}, ${id}, ${input.url}, ${input.description}, ${[...input.events]}::text[], ${input.enabled},
              ${JSON.stringify(stored)}::text::json, ${at}, ${at})
            RETURNING ${columns}`
          yield* syncFeeds(sql, org, row!, true)
          return row!
        }))
        return { endpoint, secret }
      }, withoutSqlError)

      const update = Effect.fn("WebhookEndpoints.update")(
        function* (org: OrgSlug, id: string, change: Partial<EndpointInput>) {
          const at = yield* now
          return yield* sql.withTransaction(Effect.gen(function* () {
            yield* lockOrganization(sql, org)
            const before = yield* find(org, id)
            const after = { ...before, ...change }
            // An endpoint with an address that is no longer allowed can still be disabled.
            if (after.url !== before.url) yield* requireAllowed(guard, "/url", after.url)
            const forgets = change.enabled === true || change.url !== undefined
            const [row] = yield* sql<StoredEndpoint>`
            UPDATE webhook_endpoints e SET url = ${after.url}, description = ${after.description},
              events = ${[...after.events]}::text[], enabled = ${after.enabled}, updated_at = ${at},
              disabled_reason = CASE WHEN ${forgets} THEN NULL ELSE e.disabled_reason END,
              failing_since = CASE WHEN ${forgets} THEN NULL ELSE e.failing_since END
            WHERE e.org_slug = ${org} AND e.id = ${id} RETURNING ${columns}`
            yield* syncFeeds(sql, org, row!, after.enabled && !before.enabled)
            return row!
          }))
        },
        withoutSqlError,
      )

      const remove = Effect.fn("WebhookEndpoints.remove")(function* (org: OrgSlug, id: string) {
        yield* find(org, id)
        yield* sql`DELETE FROM webhook_endpoints e WHERE e.org_slug = ${org} AND e.id = ${id}`
      }, withoutSqlError)

      const rotate = Effect.fn("WebhookEndpoints.rotate")(function* (org: OrgSlug, id: string) {
        const secret = newSecret()
        const sealed = yield* seal(org, id, secret)
        const at = yield* Clock.currentTimeMillis
        const until = new Date(at + rotationHours * 3_600_000).toISOString()
        yield* sql.withTransaction(Effect.gen(function* () {
          yield* lockOrganization(sql, org)
          yield* find(org, id)
          const [row] = yield* sql<{ secrets: ReadonlyArray<StoredSecret> }>`
            SELECT e.secrets FROM webhook_endpoints e WHERE e.org_slug = ${org} AND e.id = ${id}`
          const before = row!.secrets[0]!
          const stored: ReadonlyArray<StoredSecret> = [{ sealed, until: null }, { sealed: before.sealed, until }]
          yield* sql`
            UPDATE webhook_endpoints e SET secrets = ${JSON.stringify(stored)}::text::json, updated_at = ${new Date(at)}
            WHERE e.org_slug = ${org} AND e.id = ${id}`
        }))
        return secret
      }, withoutSqlError)

      const get = (org: OrgSlug, id: string) => withoutSqlError(find(org, id))

      return WebhookEndpoints.of({ create, get, list, remove, rotate, update, ...makeEvents(sql, find) })
    }),
  )
}
