import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { TemplateId } from "../../src/domain/Ids.ts"
import { deliverSource } from "../../src/domain/Source.ts"
import { insertAliases } from "../../src/journal/decisions/TrackingAliases.ts"
import { lockArrivals, lockEvents } from "../../src/journal/events/EventLock.ts"
import { type IncomingEvent, storeEvents } from "../../src/journal/events/EventStore.ts"
import { matchWaiting } from "../../src/journal/events/Matching.ts"
import { Profiles } from "../../src/profiles/Profiles.ts"
import { Rebuild } from "../../src/projections/Rebuild.ts"
import { digest } from "../../src/sendtime/Touch.ts"
import { shuffle } from "../process/storm.ts"
import { Suppressions } from "../../src/suppressions/Suppressions.ts"
import { decide, layerQuiet, makeOrg, org } from "../intake/support.ts"
import { seeded } from "../support/load.ts"
import { temporaryEnvironment } from "../support/stores.ts"

// Two transactions that store events of one organization. The first pauses before its commit, when it has read and
// written everything, and the second runs as far as it can.

const now = Date.now()
const minute = 60_000
const day = 24 * 60 * minute

/** An event without its organization. */
type Told = Omit<IncomingEvent, "org">

const told = (event: Told["event"], key: string, more: Partial<Told> = {}): Told => ({
  source: "events",
  event,
  key: `id:${key}`,
  trackingId: undefined,
  templateId: undefined,
  user: undefined,
  inboxId: 1,
  receivedAt: now,
  occurredAt: now - minute,
  automated: false,
  link: undefined,
  ...more,
})

type Services = Layer.Success<ReturnType<typeof layerQuiet>>
type Work = (slug: string) => Effect.Effect<unknown, unknown, Services>

/** Does several works in turn. */
const all = (...works: ReadonlyArray<Work>): Work => (slug) =>
  Effect.forEach(works, (work) => work(slug), { discard: true })

/** Makes a decision two days before now. */
const decided = (trackingId: string, options: Parameters<typeof decide>[2] = {}): Work => (slug) =>
  decide(slug, trackingId, { at: now - 2 * day, ...options })

const store = (...events: ReadonlyArray<Told>): Work => (slug) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const own = events.map((event) => ({ ...event, org: slug }))
    yield* lockArrivals(sql, [slug], own)
    yield* storeEvents(sql, own, now)
  })

/** Searches for the decisions of events that are due some minutes from now. */
const match = (minutes = 0): Work => () =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => matchWaiting(sql, now + minutes * minute, 100))

const report = (user: string, traits: Readonly<Record<string, unknown>>, email?: string): Work => (slug) =>
  Effect.gen(function* () {
    yield* lockArrivals(yield* SqlClient.SqlClient, [slug], [], [{ org: slug, user }])
    yield* (yield* Profiles).apply([{ org: slug, user, email, traits, occurredAt: now, key: "id:p" }])
  })

const suppress = (address: string): Work => (slug) =>
  Effect.flatMap(
    Suppressions,
    ({ add }) => add([{ org: org(slug), address, reason: "manual", source: "test", at: now }]),
  )

const holdAll: Work = (slug) => Effect.flatMap(SqlClient.SqlClient, (sql) => lockEvents(sql, [slug]))

const inTransaction = (work: Work, slug: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql.withTransaction(work(slug)))

/** Starts a transaction that pauses before its commit. Returns an effect that commits it. */
const paused = Effect.fnUntraced(function* (work: Work, slug: string) {
  const reached = yield* Deferred.make<void>()
  const commit = yield* Deferred.make<void>()
  const pause: Work = () => Effect.andThen(Deferred.succeed(reached, undefined), Deferred.await(commit))
  const fiber = yield* Effect.forkScoped(inTransaction(all(work, pause), slug))
  yield* Effect.raceFirst(Deferred.await(reached), Fiber.join(fiber))
  return Effect.andThen(Deferred.succeed(commit, undefined), Fiber.join(fiber))
})

/** Waits until a statement waits for a lock. The database does not signal this. */
const someoneWaits = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  while (true) {
    const waiting = yield* sql`
      SELECT 1 FROM pg_stat_activity a WHERE a.datname = current_database() AND a.wait_event_type = 'Lock'`
    if (waiting.length > 0) return "waits"
  }
})

interface Scene {
  readonly prepare: Work
  readonly first: Work
  /** Runs while the first transaction is open. */
  readonly between?: Work
  readonly second: Work
  /** Runs after both. */
  readonly last?: Work
}

const nothing: Work = () => Effect.void

/** Runs `second` while `first` is paused before its commit. Returns whether it waited for it. */
const together = (slug: string, { between = nothing, first, second }: Scene) =>
  Effect.scoped(Effect.gen(function* () {
    const commit = yield* paused(first, slug)
    yield* between(slug)
    const fiber = yield* Effect.forkScoped(inTransaction(second, slug))
    const end = yield* Effect.raceFirst(someoneWaits, Effect.as(Fiber.join(fiber), "runs beside"))
    yield* commit
    yield* Fiber.join(fiber)
    return end
  }))

const inTurn = (slug: string, { between = nothing, first, second }: Scene) =>
  Effect.gen(function* () {
    yield* inTransaction(first, slug)
    yield* between(slug)
    yield* inTransaction(second, slug)
  })

/** The rows of an organization that events change. */
const journal = Effect.fnUntraced(function* (slug: string) {
  const sql = yield* SqlClient.SqlClient
  return {
    events: yield* sql`
      SELECT e.event_key, e.template_id, e.tracking_id, e.status FROM events e WHERE e.org_slug = ${slug} ORDER BY 1, 2`,
    counts: yield* sql`
      SELECT l.track, c.key, sum(c.value::float8) AS count FROM tally_ledger l CROSS JOIN LATERAL (
        SELECT * FROM json_each_text(l.counts) UNION ALL SELECT * FROM json_each_text(coalesce(l.delays, '{}'))) c
      WHERE l.org_slug = ${slug} GROUP BY 1, 2 HAVING sum(c.value::float8) <> 0 ORDER BY 1, 2`,
    histories: yield* sql`
      SELECT s.kind, s.person, encode(s.touches, 'hex') AS touches, s.zone FROM send_times s
      WHERE s.org_slug = ${slug} ORDER BY 1, 2`,
    bounces: yield* sql`SELECT b.address_key, b.count FROM soft_bounces b WHERE b.org_slug = ${slug} ORDER BY 1`,
    suppressions: yield* sql`
      SELECT s.address_key, s.reason FROM suppressions s WHERE s.org_slug = ${slug} ORDER BY 1, 2`,
    profiles: yield* sql`SELECT p.user_id, p.email, p.traits FROM profiles p WHERE p.org_slug = ${slug} ORDER BY 1`,
  }
})

let scenes = 0

/**
 * Plays a scene with its transactions in turn, and in another organization at once. Asserts that both have the same
 * effect, which a rebuild confirms. Returns whether the second transaction waited.
 */
const play = Effect.fnUntraced(function* (scene: Scene) {
  const [one, other] = [`turn-${++scenes}`, `once-${scenes}`]
  const prepare = all(makeOrg, scene.prepare)
  yield* prepare(one)
  yield* inTurn(one, scene)
  yield* prepare(other)
  const end = yield* together(other, scene)
  if (scene.last !== undefined) { for (const slug of [one, other]) yield* inTransaction(scene.last, slug) }
  assert.deepStrictEqual(yield* journal(other), yield* journal(one))
  const { differences, sendTimes } = yield* (yield* Rebuild).run(org(other), { check: true })
  assert.deepStrictEqual([differences, sendTimes?.differences], [[], 0])
  return end
})

const opened = (key: string, trackingId: string, more: Partial<Told> = {}) => told("open", key, { trackingId, ...more })
const clicked = (key: string, trackingId: string, more: Partial<Told> = {}) =>
  told("click", key, { trackingId, ...more })

/** Returns the first tracking id of some whose decision without a user shares the history of `m`, or does not. */
const anonymous = (isShared: boolean): string => {
  const row = (trackingId: string) => digest(trackingId) % 4096
  for (let n = 0;; n++) if ((row(`m${n}`) === row("m")) === isShared) return `m${n}`
}

const waits: Readonly<Record<string, Scene>> = {
  "for events of one decision": {
    prepare: decided("m", { user: "u" }),
    first: store(opened("a", "m")),
    second: store(opened("b", "m"), clicked("c", "m")),
  },
  "for events of one decision without a user": {
    prepare: decided("m"),
    first: store(opened("a", "m")),
    second: store(opened("b", "m")),
  },
  "for decisions of one user and variant, whose repeats count": {
    prepare: all(decided("m", { user: "u" }), decided("n", { user: "u", at: now - day })),
    first: store(opened("a", "m"), clicked("b", "m")),
    second: store(opened("c", "n"), clicked("d", "n")),
  },
  "for decisions without a user that share a history": {
    prepare: all(decided("m"), decided(anonymous(true))),
    first: store(opened("a", "m")),
    second: store(opened("b", anonymous(true))),
  },
  "for an event by an alias of the decision": {
    prepare: all(
      decided("m", { user: "u" }),
      (slug) =>
        Effect.flatMap(SqlClient.SqlClient, (sql) =>
          insertAliases(
            sql,
            [{ org: org(slug), alias: "n", templateId: "t" as TemplateId, trackingId: "m" }],
            now - day,
          )),
    ),
    first: store(opened("a", "n")),
    second: store(opened("b", "m")),
  },
  "for an opt-out by an address that the profile names": {
    prepare: all(decided("m", { user: "u" }), report("u", {}, "u@example.com")),
    first: store(told("unsubscribe", "a", { user: "u@example.com" })),
    second: store(told("unsubscribe", "b", { trackingId: "m" })),
  },
  "for one event before and after its decision": {
    prepare: nothing,
    first: store(clicked("a", "m")),
    between: decided("m", { user: "u" }),
    second: store(clicked("a", "m")),
    last: match(1),
  },
  "for a link that an event waits for": {
    prepare: decided("m", { user: "u" }),
    first: store(opened("a", "m", { messageKey: "k" })),
    second: store(told("click", "b", { messageKey: "k" })),
  },
  "for an event that waits for a link": {
    prepare: decided("m", { user: "u" }),
    first: store(told("click", "b", { messageKey: "k" })),
    second: store(opened("a", "m", { messageKey: "k" })),
    last: match(1),
  },
  "for the search for the decision of a waiting event": {
    prepare: all(store(clicked("a", "m", { source: deliverSource })), decided("m", { user: "u" })),
    first: match(1),
    second: store(opened("b", "m"), clicked("a", "m", { source: deliverSource })),
  },
  "for soft bounces of one address": {
    prepare: all(decided("m", { user: "u" }), decided("n", { user: "v" })),
    first: store(told("soft_bounce", "a", { trackingId: "m", email: "x@example.com" })),
    second: store(told("soft_bounce", "b", { trackingId: "n", email: "x@example.com" })),
  },
  "for soft bounces of another address, which change the suppression list too": {
    prepare: all(decided("m", { user: "u" }), decided("n", { user: "v" })),
    first: store(told("soft_bounce", "a", { trackingId: "m", email: "x@example.com" })),
    second: store(told("soft_bounce", "b", { trackingId: "n", email: "y@example.com" })),
  },
  "to add another address to the suppression list": {
    prepare: decided("m", { user: "u" }),
    first: store(told("soft_bounce", "a", { trackingId: "m", email: "x@example.com" })),
    second: suppress("y@example.com"),
  },
  "to remove another address from the suppression list": {
    prepare: all(decided("m", { user: "u" }), suppress("y@example.com")),
    first: store(told("soft_bounce", "a", { trackingId: "m", email: "x@example.com" })),
    second: (slug) => Effect.flatMap(Suppressions, ({ remove }) => remove(org(slug), "y@example.com")),
  },
  "for traits of one user": {
    prepare: nothing,
    first: report("u", { tier: "gold" }, "u@example.com"),
    second: report("u", { city: "Oslo" }),
  },
  "for work on all events of the organization": {
    prepare: decided("m", { user: "u" }),
    first: holdAll,
    second: store(opened("a", "m")),
  },
  "as work on all events of the organization": {
    prepare: decided("m", { user: "u" }),
    first: store(opened("a", "m")),
    second: holdAll,
  },
}

const beside: Readonly<Record<string, Scene>> = {
  "events of other people": {
    prepare: all(decided("m", { user: "u" }), decided("n", { user: "v" })),
    first: store(opened("a", "m"), told("delivered", "b", { trackingId: "m" })),
    second: store(clicked("c", "n"), told("delivered", "d", { trackingId: "n", email: "v@example.com" })),
  },
  "events of other decisions without a user": {
    prepare: all(decided("m"), decided(anonymous(false))),
    first: store(opened("a", "m")),
    second: store(opened("b", anonymous(false))),
  },
  "events that wait": {
    prepare: decided("m", { user: "u" }),
    first: store(opened("a", "m", { messageKey: "k" })),
    second: store(clicked("b", "unknown"), told("click", "c", { messageKey: "l", user: "v" })),
  },
  "traits of another user": {
    prepare: nothing,
    first: report("u", { tier: "gold" }),
    second: report("v", { tier: "gold" }),
  },
}

describe("two transactions with events of one organization", () => {
  const services = Layer.unwrap(Effect.map(temporaryEnvironment, layerQuiet))

  layer(services, { excludeTestServices: true })((it) => {
    for (const [name, scene] of Object.entries(waits)) {
      it.effect(`have the effect of one after the other: the second waits ${name}`, () =>
        Effect.map(play(scene), (end) => assert.strictEqual(end, "waits")))
    }
    for (const [name, scene] of Object.entries(beside)) {
      it.effect(`run at the same time with ${name}`, () =>
        Effect.map(play(scene), (end) => assert.strictEqual(end, "runs beside")))
    }

    it.effect("count a stream with duplicates as in turn, whatever its order", () =>
      Effect.gen(function* () {
        const random = seeded(41)
        const people = ["u", "v", undefined]
        const ids = people.flatMap((user) => ["a", "b", "c"].map((name) => [`${user}-${name}`, user] as const))
        const events = ids.flatMap(([id]) => [
          opened(`o ${id}`, id),
          clicked(`c ${id}`, id, { link: "a", occurredAt: now - minute / 2 }),
          clicked(`d ${id}`, id, { link: "b", occurredAt: now - minute / 2 }),
          told("conversion", `p ${id}`, { trackingId: id }),
        ])
        const stream = shuffle([...events, ...shuffle([...events], random).slice(0, 20)], random)
        const parts = Array.from({ length: 14 }, (_, n) => stream.filter((_, i) => i % 14 === n))
        for (const slug of ["stream-turn", "stream-once"]) {
          yield* makeOrg(slug)
          for (const [n, [id, user]] of ids.entries()) {
            yield* decided(id, { ...(user === undefined ? {} : { user }), at: now - day - n * minute })(slug)
          }
        }
        for (const [slug, concurrency] of [["stream-turn", 1], ["stream-once", 4]] as const) {
          yield* Effect.forEach(parts, (part) => inTransaction(store(...part), slug), { concurrency })
        }
        assert.deepStrictEqual(yield* journal("stream-once"), yield* journal("stream-turn"))
        const { differences, sendTimes } = yield* (yield* Rebuild).run(org("stream-once"), { check: true })
        assert.deepStrictEqual([differences, sendTimes?.differences], [[], 0])
      }))
  })
})
