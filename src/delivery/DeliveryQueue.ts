import { Clock, Context, Duration, Effect, Layer, Metric, Queue, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { hash } from "node:crypto"
import type { Decision } from "../journal/decisions/Decision.ts"
import { type Ask, Decider } from "../decide/Decider.ts"
import type { Outcome } from "../decide/Outcome.ts"
import { SendTime } from "../sendtime/SendTime.ts"
import { countStored, insertDecisions, Uncommitted } from "../journal/decisions/DecisionLog.ts"
import { TemplateArchived, TemplateNotFound, VariantNotFound } from "../domain/Errors.ts"
import type { CopyId, OrgSlug, UserId } from "../domain/Ids.ts"
import { Settings } from "../Settings.ts"
import * as GroupCommit from "../store/GroupCommit.ts"
import * as SharedLookUp from "../store/SharedLookUp.ts"
import { addressKey } from "../suppressions/AddressKey.ts"
import { AddressKeys } from "../suppressions/AddressKeys.ts"
import { suppressionFor } from "../suppressions/Suppression.ts"
import { carried } from "../telemetry/Tracing.ts"
import { Views } from "../templates/Views.ts"
import { Targets } from "../tracking/Targets.ts"
import { type MessageTracking, Tracking } from "../tracking/Tracking.ts"
import { linkParts } from "./connections/Content.ts"
import { Connections } from "./Connections.ts"
import type { Priority } from "./Delivery.ts"
import {
  type EnqueueError,
  HeldOut,
  KeyReused,
  MessageExpired,
  NoCandidate,
  NotEnabled,
  RecipientSuppressed,
} from "./EnqueueErrors.ts"
import { type Asked, findKnown, keptHours, type Standing } from "./KnownRequests.ts"

/** What a caller wants delivered. */
export interface DeliverAsk extends Omit<Ask, "trackingId" | "userId" | "trace"> {
  /** The recipient's address; also the user of the decision. */
  readonly email: UserId
  /** Not before then. Unix milliseconds; undefined: now. */
  readonly sendAt: number | undefined
  /** At the best time for this recipient, from `sendAt` on. */
  readonly optimizeSendTime: boolean
  /** Not after then; later than `sendAt`. Unix milliseconds; undefined: it does not expire. */
  readonly expiresAt: number | undefined
  /** At most 255 characters; the same key and body within 24 hours is the same delivery. */
  readonly idempotency: { readonly key: string; readonly digest: string } | undefined
  /** Default: transactional where the template sends to people who have unsubscribed, else bulk. */
  readonly priority?: Priority | undefined
}

/** A message that is safely queued. */
export interface Queued {
  readonly id: string
  /** It was so already: the request is a repetition of an earlier one. */
  readonly repeated: boolean
}

/** A message with its decision, to be stored together. */
interface Entry {
  readonly id: string
  readonly org: OrgSlug
  /** Undefined for the repetition of a sticky choice, which is no new decision. */
  readonly decision: Decision | undefined
  readonly templateId: string
  readonly copyId: CopyId
  readonly email: string
  readonly vars: Readonly<Record<string, string>>
  /** Targets of tracked links: those that other messages may have, by key, and those of this one alone. */
  readonly shared: ReadonlyMap<string, string>
  readonly own: ReadonlyArray<string>
  readonly formats: Readonly<Record<string, "text" | "html">>
  readonly sendAt: number | undefined
  readonly expiresAt: number | undefined
  readonly isTransactional: boolean
  readonly idempotency: DeliverAsk["idempotency"]
  /** The trace that asked for it, if that is one that is sent. */
  readonly traceparent: string | undefined
}

/** The names of a new message: its id, its trace, and the addresses that its id stands in. */
interface Named extends Pick<Entry, "id" | "traceparent"> {
  readonly message: MessageTracking
}

type Stored = "queued" | "repeated" | "reused"

/** Messages queued by this process. */
const queued = Metric.counter("parlance_deliveries_queued_total", { incremental: true })

const keyOf = ({ idempotency, org }: Pick<Entry, "idempotency" | "org">) => `${org}\0${idempotency!.key}`

/**
 * Tracking id of the decision on a recipient without a message. No message keeps the key, so a repeated request is told by the
 * decision itself, which is recorded once under one tracking id.
 */
const heldOutIdOf = ({ digest, key }: { readonly key: string; readonly digest: string }) =>
  `held-out:${hash("sha256", JSON.stringify([key, digest]))}`

/** Stores messages and decisions; call it inside a transaction. */
const insert = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  targets: Targets["Service"],
  entries: ReadonlyArray<Entry>,
) {
  const refused = yield* claimKeys(sql, entries)
  const accepted = refused.size === 0 ? entries : entries.filter((entry) => !refused.has(entry))
  const decisions = accepted.flatMap(({ decision }) => decision === undefined ? [] : [decision])
  if (decisions.length > 0) yield* insertDecisions(sql, decisions)
  if (accepted.length > 0) {
    yield* targets.save(accepted)
    const rows = accepted.map((entry) => {
      const vars = JSON.stringify(entry.vars)
      return {
        org_slug: entry.org,
        id: entry.id,
        template_id: entry.templateId,
        copy_id: entry.copyId,
        email: entry.email,
        address_key: addressKey(entry.email),
        vars,
        size: vars.length,
        formats: JSON.stringify(entry.formats),
        links: entry.own.length === 0 ? undefined : JSON.stringify(entry.own),
        send_at: entry.sendAt,
        expires_at: entry.expiresAt,
        is_transactional: entry.isTransactional,
        traceparent: entry.traceparent,
      }
    })
    const isTraced = accepted.some(({ traceparent }) => traceparent !== undefined)
    const [traceColumn, traceValue, traceField] =
      (isTraced ? [", traceparent", ", r.traceparent", ", traceparent text"] : ["", "", ""]).map((part) =>
        sql.literal(part)
      )
    // Due by the clock of the store, which is the same for all nodes.
    yield* sql`
      INSERT INTO deliveries (org_slug, id, template_id, copy_id, email, address_key, vars, size, formats, links, state,
        due_at, queued_at, expires_at, is_transactional${traceColumn})
      SELECT r.org_slug, r.id, r.template_id, r.copy_id, r.email, r.address_key, r.vars::json, r.size, r.formats::json,
        r.links::json, 'queued', GREATEST(now(), to_timestamp(r.send_at / 1000.0)), now(),
        to_timestamp(r.expires_at / 1000.0), r.is_transactional${traceValue}
      FROM json_to_recordset(${JSON.stringify(rows)}::text::json) AS r(org_slug text, id text, template_id text,
        copy_id text, email text, address_key text, vars text, size integer, formats text, links text,
        send_at float8, expires_at float8, is_transactional boolean${traceField})`
  }
  return entries.map((entry): Stored => refused.get(entry) ?? "queued")
})

/** Takes the idempotency keys of new messages, and tells which messages are no new ones. */
const claimKeys = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  entries: ReadonlyArray<Entry>,
): Effect.fn.Return<ReadonlyMap<Entry, Stored>, SqlError> {
  const refused = new Map<Entry, Stored>()
  const first = new Map<string, Entry>()
  for (const entry of entries) {
    if (entry.idempotency !== undefined && !first.has(keyOf(entry))) first.set(keyOf(entry), entry)
  }
  if (first.size === 0) return refused
  // In the order of the keys, so that two nodes that hold the same ones wait for each other instead of deadlocking.
  const rows = [...first.entries()].sort(([a], [b]) => a < b ? -1 : 1).map(([, { id, idempotency, org }]) => ({
    org_slug: org,
    key: idempotency!.key,
    digest: idempotency!.digest,
    delivery_id: id,
  }))
  const standing = yield* sql<{ orgSlug: string; key: string; digest: string; deliveryId: string }>`
    WITH given AS MATERIALIZED (
      SELECT r.* FROM json_to_recordset(${JSON.stringify(rows)}::text::json) AS r(org_slug text, key text, digest text,
        delivery_id text)
    ), taken AS (
      INSERT INTO idempotency_keys AS k (org_slug, key, digest, delivery_id, created_at)
      SELECT g.org_slug, g.key, g.digest, g.delivery_id, now() FROM given g
      ON CONFLICT (org_slug, key) DO UPDATE SET
        digest = CASE WHEN k.created_at < now() - ${keptHours} * interval '1 hour' THEN EXCLUDED.digest ELSE k.digest END,
        delivery_id = CASE WHEN k.created_at < now() - ${keptHours} * interval '1 hour' THEN EXCLUDED.delivery_id
          ELSE k.delivery_id END,
        created_at = CASE WHEN k.created_at < now() - ${keptHours} * interval '1 hour' THEN EXCLUDED.created_at
          ELSE k.created_at END
      RETURNING k.org_slug, k.key, k.digest, k.delivery_id
    )
    SELECT t.org_slug, t.key, t.digest, t.delivery_id FROM taken t`
  const byKey = new Map(standing.map((row) => [`${row.orgSlug}\0${row.key}`, row]))
  for (const entry of entries) {
    if (entry.idempotency === undefined) continue
    const row = byKey.get(keyOf(entry))!
    if (row.deliveryId === entry.id) continue
    refused.set(entry, row.digest === entry.idempotency.digest ? "repeated" : "reused")
  }
  return refused
})

/** The queue's entrance: decides, renders, and stores decision and message in one transaction. */
export class DeliveryQueue extends Context.Service<DeliveryQueue, {
  /** Answers once the message is committed. Whatever it fails with, nothing is queued. */
  readonly enqueue: (org: OrgSlug, ask: DeliverAsk) => Effect.Effect<Queued, EnqueueError>
  /** Organizations for which something was queued on this node. */
  readonly due: Queue.Queue<OrgSlug>
}>()("parlance/delivery/DeliveryQueue") {
  static readonly layer = Layer.effect(
    DeliveryQueue,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const settings = yield* Settings
      const decider = yield* Decider
      const views = yield* Views
      const connections = yield* Connections
      const sendTime = yield* SendTime
      const addressKeys = yield* AddressKeys
      const tracking = yield* Tracking
      const targets = yield* Targets
      // Whoever consumes it looks for what is due from time to time as well.
      const due = yield* Queue.sliding<OrgSlug>(1000)
      yield* Metric.update(queued, 0)

      const commit = yield* GroupCommit.make<Entry, Stored>({
        write: (entries) =>
          sql.withTransaction(insert(sql, targets, entries)).pipe(
            Effect.tap(() => targets.remember(entries)),
            Effect.tap((results) =>
              countStored(
                entries.filter(({ decision }, place) => decision !== undefined && results[place] === "queued").length,
              )
            ),
          ),
        onSettled: () => {},
        maxGroup: 500,
        maxWaiting: settings.storeQueueSize,
        maxWeight: {
          limit: 8 * 1024 * 1024,
          held: 64 * 1024 * 1024,
          of: ({ vars }) => Object.values(vars).reduce((n, v) => n + v.length, 0),
        },
        // What was refused must not leave afterwards.
        bufferSize: 0,
        bufferAge: Duration.seconds(1),
        timeout: settings.storeTimeout,
        drainTimeout: settings.shutdownTimeout,
      })

      const stored = Effect.fnUntraced(function* (entry: Entry) {
        const ticket = commit.submit(entry)
        if (ticket === undefined) return yield* new GroupCommit.BufferFull()
        const committed = yield* commit.settled(ticket)
        if (!committed.durable) return yield* new GroupCommit.BufferFull()
        return committed.value
      })

      const known = yield* SharedLookUp.make({ write: (asked: ReadonlyArray<Asked>) => findKnown(sql, asked) })

      /** The message of an idempotency key, if that was used before. */
      const messageOf = (found: Standing | undefined, { digest, key }: { key: string; digest: string }) =>
        found === undefined || found.digest === digest
          ? Effect.succeed(found?.deliveryId)
          : Effect.fail(new KeyReused({ key }))

      /**
       * What stands in the way before anything is decided: the request is a repetition, or the recipient is suppressed. People
       * who are suppressed must not be held out either, or those who get messages would be compared with them.
       */
      const earlierMessage = Effect.fnUntraced(
        function* (org: OrgSlug, { email, idempotency, templateId }: DeliverAsk) {
          yield* views.lookUp(org, templateId)
          const view = views.template(org, templateId)
          // What cannot be decided is refused for that reason.
          const isChecked = view !== undefined && !view.archived && view.org.suppression
          if (idempotency === undefined && !isChecked) return undefined
          const found = yield* known({
            org,
            key: idempotency?.key,
            addressKeys: isChecked ? yield* addressKeys.of(email) : [],
          })
          const earlier = idempotency && (yield* messageOf(found.standing, idempotency))
          if (earlier !== undefined) return earlier
          const suppression = suppressionFor(found.suppressions, view?.ignoresUnsubscribes === true)
          return suppression === undefined ? undefined : yield* new RecipientSuppressed(suppression)
        },
      )

      /** When the message is to leave. If its best time is too late, it leaves as soon as it may. */
      const sendAtOf = (
        org: OrgSlug,
        { email, expiresAt = Infinity, optimizeSendTime, sendAt, templateId }: DeliverAsk,
        copyId: CopyId,
      ) =>
        optimizeSendTime
          ? sendTime.advise({
            org,
            templateId,
            copyId,
            userId: undefined,
            email,
            trace: false,
            ...(sendAt === undefined ? {} : { notBefore: sendAt }),
          }).pipe(
            Effect.map(({ at }) => at < expiresAt ? at : sendAt),
            // The variant was removed a moment ago: there is nothing to know about it.
            Effect.catch(() => Effect.succeed(sendAt)),
          )
          : Effect.succeed(sendAt)

      /** The rendered message with its links and pixel, as template and organization ask. */
      const tracked = (
        org: OrgSlug,
        { fields, templateId }: DeliverAsk,
        message: MessageTracking,
        copyId: CopyId,
        vars: Entry["vars"],
      ): Pick<Entry, "formats" | "own" | "shared" | "vars"> => {
        const view = views.template(org, templateId)
        const variant = view?.variantsById.get(copyId)
        // Removed a moment ago.
        if (view === undefined || variant === undefined) return { formats: {}, own: [], shared: new Map(), vars }
        const { formats } = variant
        const parts = linkParts({ formats, vars }, connections.active(org)?.variables)
        return { formats, ...message.apply({ view, variant, vars, parts, kept: [fields["unsubscribe_url"]] }) }
      }

      const entryOf = (
        org: OrgSlug,
        ask: DeliverAsk,
        { id, message, traceparent }: Named,
        copyId: CopyId,
        rendered: Entry["vars"],
        sendAt: number | undefined,
        decision: Decision | undefined,
      ): Entry => ({
        ...tracked(org, ask, message, copyId, rendered),
        id,
        org,
        // The tracking id is ours, so that no event can have come in before.
        decision: decision === undefined ? undefined : { ...decision, trackingIdGiven: false },
        templateId: ask.templateId,
        copyId,
        email: ask.email,
        sendAt,
        expiresAt: ask.expiresAt,
        isTransactional: ask.priority === undefined
          ? views.template(org, ask.templateId)?.ignoresUnsubscribes === true
          : ask.priority === "transactional",
        idempotency: ask.idempotency,
        traceparent,
      })

      const refusal = (ask: DeliverAsk, outcome: Exclude<Outcome, { readonly _tag: "Chosen" }>) => {
        if (outcome._tag === "NotRendered") return outcome.error
        if (outcome._tag === "HeldOut") return new HeldOut({ templateId: ask.templateId })
        switch (outcome.reason) {
          case "no-candidate":
            return new NoCandidate({ templateId: ask.templateId })
          case "template-not-found":
            return new TemplateNotFound({ id: ask.templateId })
          case "template-archived":
            return new TemplateArchived({ id: ask.templateId })
          case "variant-not-found":
            return new VariantNotFound({ id: ask.copyId ?? "" })
        }
      }

      /** Of a template that is not sticky: the decision shares a commit with others. */
      const enqueueFresh = Effect.fnUntraced(function* (
        org: OrgSlug,
        ask: DeliverAsk,
        decided: Ask,
        named: Named,
      ) {
        let result: Stored = "queued"
        const outcome = yield* decider.decideInto(
          org,
          decided,
          (decision, vars) =>
            sendAtOf(org, ask, decision.copyId).pipe(
              Effect.flatMap((sendAt) => stored(entryOf(org, ask, named, decision.copyId, vars, sendAt, decision))),
              Effect.map((answer) => {
                result = answer
                return { copyId: decision.copyId, durable: true }
              }),
            ),
        )
        if (outcome._tag !== "Chosen") return yield* refusal(ask, outcome)
        return result
      })

      /** Of a sticky one: the choice is claimed and the message stored in a transaction of their own. */
      const enqueueSticky = (
        org: OrgSlug,
        ask: DeliverAsk,
        decided: Ask,
        named: Named,
      ) => {
        const uncommitted = { decisions: 0 }
        return sql.withTransaction(Effect.gen(function* () {
          const outcome = yield* decider.decideInto(org, decided, () => new GroupCommit.BufferFull())
          // Refused after the commit: that the recipient is held out is recorded.
          if (outcome._tag === "HeldOut") return "held-out" as const
          if (outcome._tag !== "Chosen") return yield* refusal(ask, outcome)
          if (!outcome.durable) return yield* new GroupCommit.BufferFull()
          const sendAt = yield* sendAtOf(org, ask, outcome.copyId)
          const entry = entryOf(org, ask, named, outcome.copyId, outcome.vars, sendAt, undefined)
          const [result] = yield* insert(sql, targets, [entry])
          // Rolls back: choice and alias are those of the first request.
          if (result !== "queued") return yield* new Repetition({ result: result! })
          return result
        })).pipe(
          Effect.tap(() => countStored(uncommitted.decisions)),
          Effect.provideService(Uncommitted, uncommitted),
          Effect.catchTag("Repetition", ({ result }) => Effect.succeed(result)),
          Effect.catchTag("SqlError", () => Effect.fail(new GroupCommit.BufferFull())),
        )
      }

      const enqueue = Effect.fn("DeliveryQueue.enqueue")(function* (org: OrgSlug, ask: DeliverAsk) {
        if (connections.active(org) === undefined) return yield* new NotEnabled({ org })
        const earlier = yield* earlierMessage(org, ask)
        if (earlier !== undefined) return { id: earlier, repeated: true }
        if (ask.expiresAt !== undefined && ask.expiresAt <= clock.currentTimeMillisUnsafe()) {
          return yield* new MessageExpired({ expiresAt: new Date(ask.expiresAt) })
        }
        const id = SecureRandom.uuidV7Unsafe()
        const sticky = (views.template(org, ask.templateId)?.stickyHours ?? 0) > 0 && ask.copyId === undefined
        const heldOutId = ask.idempotency && heldOutIdOf(ask.idempotency)
        const message = yield* Effect.mapError(tracking.forMessage(org, id), () => new GroupCommit.BufferFull())
        // A link that the caller has of his own goes first.
        const fields = { unsubscribe_url: message.unsubscribeUrl, ...ask.fields }
        const decided: Ask = { ...ask, fields, trackingId: id, userId: ask.email, heldOutId }
        const result = yield* (sticky ? enqueueSticky : enqueueFresh)(org, ask, decided, {
          id,
          message,
          traceparent: yield* carried,
        })
        if (result === "held-out") return yield* new HeldOut({ templateId: ask.templateId })
        if (result === "reused") return yield* new KeyReused({ key: ask.idempotency!.key })
        if (result === "repeated") {
          const { standing } = yield* known({ org, key: ask.idempotency!.key, addressKeys: [] })
          return { id: (yield* messageOf(standing, ask.idempotency!)) ?? id, repeated: true }
        }
        yield* Metric.update(queued, 1)
        if (!ask.optimizeSendTime && (ask.sendAt ?? 0) <= clock.currentTimeMillisUnsafe()) Queue.offerUnsafe(due, org)
        return { id, repeated: false }
      })

      return DeliveryQueue.of({ enqueue, due })
    }),
  )
}

/** Ends the transaction of a message that is no new one. */
class Repetition extends Schema.TaggedError<Repetition>()("Repetition", {
  result: Schema.Literals(["repeated", "reused"]),
}) {}
