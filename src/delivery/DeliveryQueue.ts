import { Clock, Context, Duration, Effect, Layer, Metric, Queue } from "effect"
import { SqlClient } from "effect/sql"
import { Decider } from "../decide/Decider.ts"
import { countStored } from "../journal/decisions/DecisionLog.ts"
import { StickyChoices } from "../decide/StickyChoices.ts"
import { SendTime } from "../sendtime/SendTime.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { Settings } from "../settings/Settings.ts"
import * as GroupCommit from "../store/GroupCommit.ts"
import * as SharedLookUp from "../store/SharedLookUp.ts"
import { AddressKeys } from "../suppressions/AddressKeys.ts"
import { TemplateCache } from "../templates/TemplateCache.ts"
import { Targets } from "../tracking/Targets.ts"
import { Tracking } from "../tracking/Tracking.ts"
import { Connections } from "./Connections.ts"
import type { DeliverRequest, Queued } from "./DeliverRequest.ts"
import { enqueue, type EnqueueServices } from "./Enqueue.ts"
import type { EnqueueError } from "./EnqueueErrors.ts"
import { findKnown, type RequestKeys } from "./KnownRequests.ts"
import { insertMessages, type NewMessage, type StoreResult } from "./NewMessages.ts"

/** Counts the messages that this process queued. */
const queued = Metric.counter("parlance_deliveries_queued_total", { incremental: true })

/** Commits messages that are queued at the same time together. */
const makeCommit = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const clock = yield* Clock.Clock
  const settings = yield* Settings
  const targets = yield* Targets
  return yield* GroupCommit.make<NewMessage, StoreResult>({
    write: (messages) =>
      sql.withTransaction(insertMessages(sql, targets, messages, clock.currentTimeMillisUnsafe())).pipe(
        Effect.tap(() => targets.remember(messages)),
        Effect.tap((results) =>
          countStored(
            messages.filter(({ decision }, place) => decision !== undefined && results[place] === "queued").length,
          )
        ),
      ),
    maxGroup: 500,
    beside: { most: 1, from: 32 },
    maxWaiting: settings.storeQueueSize,
    maxWeight: {
      limit: 8 * 1024 * 1024,
      held: 64 * 1024 * 1024,
      of: ({ vars }) => Object.values(vars).reduce((n, v) => n + v.length, 0),
    },
    // A refused message must not be sent later, so no message is kept for a later commit.
    bufferSize: 0,
    bufferAge: Duration.seconds(1),
    timeout: settings.storeTimeout,
    drainTimeout: settings.shutdownTimeout,
  })
})

/** Accepts messages for delivery: decides, renders, and stores the decision and the message in one transaction. */
export class DeliveryQueue extends Context.Service<DeliveryQueue, {
  /** Returns after the message is committed. Fails with an `EnqueueError`; then nothing is queued. */
  readonly enqueue: (org: OrgSlug, request: DeliverRequest) => Effect.Effect<Queued, EnqueueError>
  /** Organizations with new due messages from this node. */
  readonly due: Queue.Queue<OrgSlug>
}>()("parlance/delivery/DeliveryQueue") {
  static readonly layer = Layer.effect(
    DeliveryQueue,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const services: EnqueueServices = {
        sql,
        clock: yield* Clock.Clock,
        decider: yield* Decider,
        sticky: yield* StickyChoices,
        templateCache: yield* TemplateCache,
        connections: yield* Connections,
        sendTime: yield* SendTime,
        addressKeys: yield* AddressKeys,
        tracking: yield* Tracking,
        targets: yield* Targets,
        known: yield* SharedLookUp.make({ write: (requests: ReadonlyArray<RequestKeys>) => findKnown(sql, requests) }),
        commit: yield* makeCommit,
      }
      // The dispatcher also searches for due messages at an interval, so a dropped notice only causes a delay.
      const due = yield* Queue.sliding<OrgSlug>(1000)
      yield* Metric.update(queued, 0)

      return DeliveryQueue.of({
        due,
        // `Effect.fn` would capture the call site, which takes a tenth of the call's time.
        enqueue: Effect.fnUntraced(function* (org, request) {
          const message = yield* enqueue(services, org, request)
          if (message.repeated) return message
          yield* Metric.update(queued, 1)
          const isDue = !request.optimizeSendTime &&
            (request.sendAt ?? 0) <= services.clock.currentTimeMillisUnsafe()
          if (isDue) Queue.offerUnsafe(due, org)
          return message
        }),
      })
    }),
  )
}
