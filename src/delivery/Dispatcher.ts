import { Duration, Effect, FiberMap, Latch, Layer, Metric, Queue, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import type { OrgSlug } from "../domain/Ids.ts"
import { Settings } from "../settings/Settings.ts"
import { AnswerValidity } from "./AnswerValidity.ts"
import { Connections } from "./Connections.ts"
import { DeliveryQueue } from "./DeliveryQueue.ts"
import { endExpired } from "./Expiry.ts"
import * as Lane from "./Lane.ts"
import { Outbox } from "./Outbox.ts"

/** Interval of the search for lanes without an owner and for expired messages. */
const lookEvery = Duration.seconds(1)

/** Maximum number of expired idempotency keys that one statement removes. */
const removedAtOnce = 10_000

/**
 * Sends queued messages. Each organization has one lane, which one process of the installation owns at a time. Any
 * process that finds a lane without an owner may claim it. If the owner dies, another process claims the lane after its
 * lease has expired.
 */
export const layer = Layer.effectDiscard(Effect.gen(function* () {
  const outbox = yield* Outbox
  const connections = yield* Connections
  const answers = yield* AnswerValidity
  const queue = yield* DeliveryQueue
  const settings = yield* Settings
  const sql = yield* SqlClient.SqlClient
  const due = new Map<OrgSlug, Latch.Latch>()
  yield* Lane.showCounters

  const surroundings: Lane.Surroundings = {
    outbox,
    connections,
    settings,
    answers,
  }

  const lanes = yield* FiberMap.make<OrgSlug, void>()
  const carried = (org: OrgSlug) => {
    const active = connections.active(org)
    return active !== undefined && !active.paused && active.refusing !== true
  }

  const start = Effect.fnUntraced(function* (org: OrgSlug) {
    if (!carried(org)) return
    let latch = due.get(org)
    if (latch === undefined) due.set(org, latch = yield* Latch.make(false))
    latch.openUnsafe()
    yield* FiberMap.run(
      lanes,
      org,
      Lane.run(org, latch, surroundings).pipe(
        Effect.catch((error) => Effect.logWarning("A lane stopped and will be restarted", error.message)),
      ),
      { onlyIfMissing: true },
    )
  })

  // Also finds messages that were queued before this process started.
  yield* outbox.idle.pipe(
    Effect.flatMap((orgs) => Effect.forEach(orgs, start, { discard: true })),
    Effect.catch((error) => Effect.logDebug("Due lanes could not be looked up", error.message)),
    Effect.repeat(Schedule.spaced(lookEvery)),
    Effect.forkScoped,
  )
  yield* Effect.forkScoped(Effect.forever(Effect.flatMap(Queue.take(queue.due), start)))

  yield* endExpired(sql).pipe(
    Effect.flatMap((ended) => ended === 0 ? Effect.void : Metric.update(Lane.failed, ended)),
    Effect.catch((error) => Effect.logDebug("Expired messages were not marked as failed", error.message)),
    Effect.repeat(Schedule.spaced(lookEvery)),
    Effect.forkScoped,
  )

  yield* sql`
    DELETE FROM idempotency_keys k WHERE (k.org_slug, k.key) IN (
      SELECT o.org_slug, o.key FROM idempotency_keys o WHERE o.created_at < now() - interval '24 hours'
      ORDER BY o.created_at LIMIT ${removedAtOnce})`.pipe(
    Effect.catch((error) => Effect.logDebug("Expired idempotency keys were not removed", error.message)),
    Effect.repeat(Schedule.spaced("1 minute")),
    Effect.forkScoped,
  )
}))
