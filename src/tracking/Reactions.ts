import { Clock, Context, Duration, Effect, Layer, Metric } from "effect"
import { Buffer } from "node:buffer"
import type { OrgSlug } from "../domain/Ids.ts"
import { Inbox } from "../journal/inbox/Inbox.ts"
import { deliverSource } from "../domain/Source.ts"
import { Settings } from "../settings/Settings.ts"
import { LruMap } from "../json/LruMap.ts"
import * as GroupCommit from "../store/GroupCommit.ts"
import { targetKey } from "./Token.ts"

const events = ["open", "click", "unsubscribe", "unsubscribe_view"] as const

/** A reaction of a recipient, or of a machine, to a message. */
export interface Reaction {
  readonly org: OrgSlug
  /** Id of the delivery. */
  readonly id: string
  readonly event: (typeof events)[number]
  readonly automated: boolean
  /** Identifies the clicked link. */
  readonly link?: string | undefined
}

const outcomes = ["recorded", "repeated", "dropped"] as const
/** Counts reactions by event and result. */
const counterOf = (event: Reaction["event"], outcome: typeof outcomes[number]) =>
  Metric.counter("parlance_tracking_events_total", { incremental: true, attributes: { event, outcome } })
const counters = Object.fromEntries(
  events.map((event) => [event, Object.fromEntries(outcomes.map((outcome) => [outcome, counterOf(event, outcome)]))]),
) as Record<Reaction["event"], Record<typeof outcomes[number], ReturnType<typeof counterOf>>>

/**
 * Clicks on one link within this interval count as one event, on all nodes, as do requests for the unsubscribe page.
 * Unit: milliseconds.
 */
const repeatMillis = 10_000

/** Maximum number of events of one message that this node stores. Counting does not read more. */
const eventsPerMessage = 200

/** Maximum number of messages whose events are kept in memory, so that repetitions need no database access. */
const rememberedMessages = 50_000

interface Entry extends Reaction {
  readonly key: string
  /** Unit: Unix milliseconds. */
  readonly at: number
}

/** Returns the name of a link, or its digest if it is long, because ids of events have at most 200 characters. */
const shortened = (link: string): string => link.length > 100 ? targetKey(link) : link

/**
 * Returns the id of a reaction's event, which is equal on every node. The first open by a person and by a machine each
 * count as one event. Clicks and views of the unsubscribe page also differ by their time, so that a scanner's click does not
 * hide a person's click on the link. Each unsubscribe is a separate event, because a person who has opted in again may use the link of an old
 * message again.
 */
export const eventIdOf = ({ automated, event, id, link }: Reaction, at: number): string => {
  const parts = [id, event, ...(automated ? ["machine"] : [])]
  switch (event) {
    case "click":
      return [...parts, Math.floor(at / repeatMillis), shortened(link ?? "")].join(" ")
    case "unsubscribe_view":
      return [...parts, Math.floor(at / repeatMillis)].join(" ")
    case "unsubscribe":
      return [...parts, at].join(" ")
    case "open":
      return parts.join(" ")
  }
}

/** Returns a reaction as an item of the inbox. `at` is in Unix milliseconds. */
export const itemOf = (reaction: Reaction, at: number) => itemWith({ ...reaction, at, key: eventIdOf(reaction, at) })

const itemWith = ({ at, automated, event, id, key, link }: Entry) => ({
  event,
  event_id: key,
  tracking_id: id,
  occurred_at: at,
  ...(automated ? { automated } : {}),
  ...(link === undefined ? {} : { link }),
})

/**
 * Stores reactions in the inbox, where they count like the events of platforms. Many reactions share a commit. While
 * the database does not respond, they are kept in memory like decisions, within the limits of `DECISION_BUFFER_SIZE`
 * and `DECISION_BUFFER_AGE`.
 */
export class Reactions extends Context.Service<Reactions, {
  /**
   * Stores a reaction without waiting for the database. If the buffer is full, drops and counts the reaction. `at`: its
   * time in Unix milliseconds, by default the present.
   */
  readonly note: (reaction: Reaction, at?: number) => void
  /** Counts a reaction that was stored by other code. */
  readonly count: (event: Reaction["event"], outcome: typeof outcomes[number]) => void
}>()("parlance/tracking/Reactions") {
  static readonly layer = Layer.effect(
    Reactions,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const inbox = yield* Inbox
      const settings = yield* Settings
      const recent = new LruMap<Set<string>>(rememberedMessages)
      for (const event of events) for (const outcome of outcomes) yield* Metric.update(counters[event][outcome], 0)

      const commit = yield* GroupCommit.make<Entry, void>({
        write: (entries) => {
          const receivedAt = clock.currentTimeMillisUnsafe()
          const bodies = [...Map.groupBy(entries, ({ org }) => org)].map(([org, some]) => ({
            org,
            source: deliverSource,
            headers: {},
            body: Buffer.from(JSON.stringify(some.map(itemWith))),
            receivedAt,
          }))
          return Effect.as(inbox.insert(bodies), entries.map(() => undefined))
        },
        maxGroup: 1000,
        gathering: Duration.millis(25),
        maxWaiting: settings.storeQueueSize,
        bufferSize: settings.decisionBufferSize,
        bufferAge: settings.decisionBufferAge,
        timeout: settings.storeTimeout,
        drainTimeout: settings.shutdownTimeout,
      })

      const count = (event: Reaction["event"], outcome: typeof outcomes[number]): void =>
        counters[event][outcome].updateUnsafe(1, Context.empty())

      const note = (reaction: Reaction, at = clock.currentTimeMillisUnsafe()): void => {
        const entry = { ...reaction, at, key: eventIdOf(reaction, at) }
        const { event, key } = entry
        const message = `${entry.org}/${entry.id}`
        const known = recent.get(message) ?? new Set()
        if (known.has(key) || known.size >= eventsPerMessage) return count(event, "repeated")
        if (commit.submit(entry) === undefined) return count(event, "dropped")
        recent.set(message, known.add(key))
        count(event, "recorded")
      }

      return Reactions.of({ note, count })
    }),
  )
}
