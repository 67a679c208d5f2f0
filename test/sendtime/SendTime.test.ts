import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { AdviceLog } from "../../src/sendtime/AdviceLog.ts"
import { Groups } from "../../src/sendtime/Groups.ts"
import { changed, fromBytes, holderOf, replaceHistories } from "../../src/sendtime/Histories.ts"
import { People } from "../../src/sendtime/People.ts"
import { SendTime } from "../../src/sendtime/SendTime.ts"
import { Settling } from "../../src/sendtime/Settling.ts"
import * as Timing from "../../src/sendtime/Timing.ts"
import {
  delayOf,
  epochMillis,
  isHourly,
  noEngagement,
  quarterMillis,
  quarterOf,
  touchOf,
} from "../../src/sendtime/Touch.ts"
import type { AllowedDays } from "../../src/domain/Organization.ts"
import { Erasures } from "../../src/people/Erasures.ts"
import { Rebuild } from "../../src/projections/Rebuild.ts"
import { Organizations } from "../../src/organizations/Organizations.ts"
import { SendTimes } from "../../src/results/SendTimes.ts"
import { Profiles } from "../../src/profiles/Profiles.ts"
import { decide, layerQuiet, makeOrg, org, receive } from "../intake/support.ts"
import { day, hour, makeTemplate } from "../learning/support.ts"
import { seeded } from "../support/load.ts"
import { waitUntil } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { shuffle } from "../process/storm.ts"
import { advise, around, dayAt, drain, iso, oneTemplate, plantHabit, settled } from "./habits.ts"

/** A user's history as text, one entry per message: the hour it was sent and the hours to the engagement. */
const history = Effect.fnUntraced(function* (slug: string, user?: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ touches: Uint8Array }>`
    SELECT s.touches FROM send_times s WHERE s.org_slug = ${slug}
      AND ${user === undefined ? sql`s.kind = 'anonymous'` : sql`s.kind = 'user' AND s.person = ${user}`}
    ORDER BY s.person`
  return rows.flatMap(({ touches }) =>
    Array.from(fromBytes(touches), (code) => {
      const sent = iso(epochMillis + quarterOf(code) * quarterMillis).slice(0, 13)
      return delayOf(code) === noEngagement ? sent : `${sent}+${delayOf(code) / 4}`
    })
  )
})

describe("SendTime", () => {
  const environment = temporaryEnvironment
  layer(Layer.unwrap(Effect.map(environment, layerQuiet)), { excludeTestServices: true })((it) => {
    it.effect("stores the times of sending and first engagement of each message, for any order of events", () =>
      Effect.gen(function* () {
        const at = dayAt(2, 9)
        const events = [
          { event: "sent", tracking_id: "m1", occurred_at: iso(at + hour), event_id: "1" },
          { event: "open", automated: true, tracking_id: "m1", occurred_at: iso(at + 2 * hour), event_id: "2" },
          { event: "open", tracking_id: "m1", occurred_at: iso(at + 5 * hour), event_id: "3" },
          { event: "click", tracking_id: "m1", occurred_at: iso(at + 6 * hour), event_id: "4" },
          { event: "delivered", tracking_id: "m2", occurred_at: iso(at + hour), event_id: "5" },
          { event: "bounce", tracking_id: "m3", occurred_at: iso(at + hour), event_id: "6" },
          { event: "conversion", tracking_id: "m4", occurred_at: iso(at + 30 * hour), event_id: "7" },
          { event: "open", tracking_id: "m5", occurred_at: iso(at + 4 * hour), event_id: "8" },
        ]
        const expected = [at, at + hour, at + hour].map((time) => iso(time).slice(0, 13))
        const random = seeded(3)
        for (const [n, slug] of ["in-order", "shuffled-1", "shuffled-2", "shuffled-3"].entries()) {
          yield* makeOrg(slug)
          // Two of them are decided only after their events have come in.
          for (const id of ["m1", "m2", "m3"]) yield* decide(slug, id, { user: "ann", at })
          const mixed = n === 0 ? events : shuffle([...events, ...events], random)
          for (const event of mixed) {
            yield* receive(slug, event)
            yield* drain
          }
          for (const id of ["m4", "m5"]) yield* decide(slug, id, { ...(id === "m5" ? {} : { user: "ann" }), at })
          yield* drain
          assert.deepStrictEqual(yield* history(slug, "ann"), [
            `${expected[0]}+30`,
            `${expected[1]}+4`,
            expected[2],
          ], slug)
          assert.deepStrictEqual(yield* history(slug), [`${expected[0]}+4`], slug)
          const rebuild = yield* Rebuild
          assert.deepStrictEqual((yield* rebuild.run(org(slug), { check: true })).sendTimes, {
            people: 1,
            differences: 0,
          })
        }
      }))

    it.effect("records messages without reports after four days, and corrects them after a late event", () =>
      Effect.gen(function* () {
        yield* makeOrg("quiet")
        const old = dayAt(6, 10)
        yield* decide("quiet", "old", { user: "ann", at: old })
        const { run } = yield* Settling
        assert.strictEqual(yield* run, 1)
        assert.strictEqual(yield* run, 0)
        assert.deepStrictEqual(yield* history("quiet", "ann"), [iso(old).slice(0, 13)])
        const check = Effect.flatMap(Rebuild, (rebuild) => rebuild.run(org("quiet"), { check: true }))
        assert.deepStrictEqual((yield* check).sendTimes, { people: 1, differences: 0 })
        yield* receive("quiet", { event: "click", tracking_id: "old", occurred_at: iso(old + 3 * hour) })
        yield* drain
        assert.deepStrictEqual(yield* history("quiet", "ann"), [`${iso(old).slice(0, 13)}+3`])
        assert.deepStrictEqual((yield* check).sendTimes, { people: 1, differences: 0 })
      }))

    it.effect("records the events that a release without send times has stored", () =>
      Effect.gen(function* () {
        yield* makeOrg("upgraded")
        const ages = [6 * day, 2 * day, hour / 2]
        for (const [n, age] of ages.entries()) {
          yield* decide("upgraded", `m${n}`, { user: `u${n}`, at: Date.now() - age })
          yield* receive("upgraded", { event: "click", tracking_id: `m${n}`, event_id: `e${n}` })
        }
        yield* decide("upgraded", "young", { user: "unread", at: Date.now() })
        yield* drain
        const sql = yield* SqlClient.SqlClient
        yield* sql`DELETE FROM send_times s WHERE s.org_slug = 'upgraded'`
        const check = Effect.flatMap(Rebuild, (rebuild) => rebuild.run(org("upgraded"), { check: true }))
        assert.deepStrictEqual((yield* check).sendTimes, { people: 4, differences: 3 })
        yield* (yield* Settling).run
        assert.deepStrictEqual((yield* check).sendTimes, { people: 4, differences: 0 })
        assert.deepStrictEqual(yield* history("upgraded", "unread"), [])
      }))

    it.effect("counts messages without reports after an hour as not yet engaged with", () =>
      Effect.gen(function* () {
        yield* makeOrg("young")
        const at = Date.now() - 6 * hour
        yield* decide("young", "young", { user: "ann", at })
        yield* decide("young", "opened", { user: "bob", at })
        yield* decide("young", "fresh", { user: "cy", ago: hour / 2 })
        const opened = { event: "open", tracking_id: "opened", occurred_at: iso(at + 2 * hour) }
        yield* receive("young", opened)
        yield* drain
        const { run } = yield* Settling
        assert.strictEqual(yield* run, 0, "nothing is four days old")
        const sent = iso(at).slice(0, 13)
        assert.deepStrictEqual(yield* history("young", "ann"), [sent])
        assert.deepStrictEqual(yield* history("young", "bob"), [`${sent}+2`])
        assert.deepStrictEqual(yield* history("young", "cy"), [])
        const check = Effect.flatMap(Rebuild, (rebuild) => rebuild.run(org("young"), { check: true }))
        assert.deepStrictEqual((yield* check).sendTimes, { people: 3, differences: 0 })
        yield* receive("young", { event: "sent", tracking_id: "young", occurred_at: iso(at + hour) })
        yield* drain
        assert.deepStrictEqual(yield* history("young", "ann"), [iso(at + hour).slice(0, 13)])
        assert.deepStrictEqual((yield* check).sendTimes, { people: 3, differences: 0 })
      }))

    it.effect("reads histories of earlier releases in hours, and converts them to quarters with new events", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* makeOrg("hourly")
        const at = dayAt(6, 10) + hour / 4
        const decisions = ["h1", "h2"].map((trackingId) => ({
          templateId: "t",
          copyId: "a",
          trackingId,
          decidedAt: at,
        }))
        for (const { trackingId } of decisions) yield* decide("hourly", trackingId, { user: "ann", at })
        yield* (yield* Settling).run
        const former = changed([], [], decisions.map((decision) => touchOf(decision, [])!.hourly))
        yield* replaceHistories(sql, [[holderOf("hourly", "ann", ""), former]])
        const rebuild = yield* Rebuild
        assert.deepStrictEqual((yield* rebuild.run(org("hourly"), { check: true })).sendTimes, {
          people: 1,
          differences: 0,
        })
        yield* receive("hourly", { event: "open", tracking_id: "h1", occurred_at: iso(at + 3 * hour) })
        yield* drain
        const sent = iso(at).slice(0, 13)
        assert.deepStrictEqual((yield* history("hourly", "ann")).sort(), [sent, `${sent}+3`])
        yield* rebuild.run(org("hourly"), { check: false })
        const [row] = yield* sql<{ touches: Uint8Array }>`
          SELECT s.touches FROM send_times s WHERE s.org_slug = 'hourly' AND s.person = 'ann'`
        const codes = Array.from(fromBytes(row!.touches))
        assert.strictEqual(codes.length, 2)
        assert.isFalse(codes.some(isHourly))
      }))

    it.effect("skips organizations without decisions, and misses no decision", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { run } = yield* Settling
        for (const slug of ["idle", "busy"]) yield* makeOrg(slug)
        yield* run
        const marks = sql<{ orgSlug: string; settledUntil: Date }>`
          SELECT m.org_slug, m.settled_until FROM send_time_marks m WHERE m.org_slug IN ('idle', 'busy') ORDER BY 1`
        const before = yield* marks
        assert.strictEqual(before.length, 2)
        yield* sql`
          UPDATE send_time_marks m SET settled_until = m.settled_until - interval '30 hours'
          WHERE m.org_slug IN ('idle', 'busy')`
        for (let n = 0; n < 3; n++) {
          yield* decide("busy", `b${n}`, { user: "ann", at: before[0]!.settledUntil.getTime() - (1 + 12 * n) * hour })
        }
        assert.strictEqual(yield* run, 3)
        assert.deepStrictEqual((yield* marks).map(({ settledUntil }) => settledUntil >= before[0]!.settledUntil), [
          true,
          true,
        ])
        assert.strictEqual((yield* history("busy", "ann")).length, 3)
        assert.strictEqual(yield* run, 0)
      }))

    it.effect("is corrected by a rebuild, which reports the number of wrong histories", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const rebuild = yield* Rebuild
        yield* makeOrg("wrong")
        for (const user of ["ann", "bob", "cy"]) yield* plantHabit("wrong", user, 20, { days: 3 })
        const before = yield* history("wrong", "ann")
        yield* sql`DELETE FROM send_times s WHERE s.org_slug = 'wrong' AND s.person = 'ann'`
        yield* sql`
          UPDATE send_times s SET touches = (SELECT b.touches FROM send_times b WHERE b.org_slug = 'wrong' AND b.person = 'cy')
          WHERE s.org_slug = 'wrong' AND s.person = 'bob'`
        yield* sql`
          INSERT INTO send_times (org_slug, kind, person, spot, touches)
          SELECT s.org_slug, s.kind, 'nobody', 1, s.touches FROM send_times s WHERE s.org_slug = 'wrong' AND s.person = 'cy'`
        assert.deepStrictEqual((yield* rebuild.run(org("wrong"), { check: true })).sendTimes, {
          people: 3,
          differences: 3,
        })
        assert.deepStrictEqual((yield* rebuild.run(org("wrong"), { check: false })).sendTimes, {
          people: 3,
          differences: 3,
        })
        assert.deepStrictEqual((yield* rebuild.run(org("wrong"), { check: true })).sendTimes, {
          people: 3,
          differences: 0,
        })
        assert.deepStrictEqual(yield* history("wrong", "ann"), before)
        assert.deepStrictEqual(yield* history("wrong", "nobody"), [])
        assert.isNull((yield* rebuild.run(org("wrong"), { check: true, template: "t" })).sendTimes)
      }))

    it.effect("advises the hour at which a person reads, for the user id and the address", () =>
      Effect.gen(function* () {
        yield* oneTemplate("habits")
        yield* (yield* Profiles).apply([{
          org: "habits",
          user: "ann",
          email: "Ann@example.com",
          traits: { first_name: "Ann" },
          occurredAt: Date.now(),
          key: "1",
        }])
        yield* plantHabit("habits", "ann", 20)
        yield* plantHabit("habits", "bob", 7)
        const now = dayAt(-1, 10)
        const ann = yield* settled({ org: "habits", userId: "ann", now })
        around(ann, 20)
        assert.strictEqual(ann.basis, "user")
        assert.deepStrictEqual(ann.trace.levels.map(({ level }) => level), [
          "user",
          "variant",
          "template",
          "organization",
        ])
        assert.isAbove(ann.trace.levels[0]!.weight, 0.5)
        assert.strictEqual(ann.trace.levels[0]!.touches, 40)
        assert.strictEqual(ann.trace.levels[3]!.touches, 80)
        assert.isAtLeast(ann.trace.curve.length, 24)
        around(yield* settled({ org: "habits", email: "ann@example.com", now }), 20)
        around(yield* settled({ org: "habits", userId: "bob", now }), 7)
        // The user id wins.
        around(yield* settled({ org: "habits", userId: "bob", email: "ann@example.com", now }), 7)
        const stranger = yield* settled({ org: "habits", userId: "new", now })
        assert.strictEqual(stranger.basis, "variant")
        assert.strictEqual((yield* settled({ org: "habits", copyId: "b", userId: "new", now })).basis, "template")
        assert.strictEqual((yield* settled({ org: "habits", now })).basis, "variant", "nobody in particular")
      }))

    it.effect("advises to send at once, or in the day after quiet hours, without data", () =>
      Effect.gen(function* () {
        yield* oneTemplate("blank")
        const now = dayAt(0, 22) + 1234
        const blank = yield* settled({ org: "blank", userId: "ann", now })
        assert.strictEqual(blank.basis, "default")
        assert.isNull(blank.trace.tau_hours)
        assert.isBelow(blank.at - now, 30_000)
        const organizations = yield* Organizations
        yield* organizations.update(org("blank"), { quiet_hours: { from: "21:00", to: "08:00" } })
        const morning = yield* settled({ org: "blank", userId: "ann", now })
        assert.isTrue(morning.at >= dayAt(-1, 8) && morning.at < dayAt(-1, 15), iso(morning.at))
        // Five minutes of the day before yesterday's weekday are all that is left, beyond the horizon.
        const weekday =
          (["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const)[new Date(now - 2 * day).getUTCDay()]!
        yield* organizations.update(org("blank"), {
          quiet_hours: { from: "12:05", to: "12:00" },
          allowed_days: [weekday] as AllowedDays,
          delay_horizon_hours: 12,
        })
        const late = yield* settled({ org: "blank", userId: "ann", now })
        assert.isTrue(late.trace.after_horizon)
        assert.isTrue(late.at >= dayAt(-5, 12) && late.at < dayAt(-5, 12) + 5 * 60_000, iso(late.at))
        yield* organizations.update(org("blank"), { quiet_hours: null, allowed_days: null })
        assert.isBelow((yield* settled({ org: "blank", userId: "ann", now })).at - now, 30_000)
      }))

    it.effect("returns the week of a template, its blocked hours, and the fallback without data", () =>
      Effect.gen(function* () {
        const sendTimes = yield* SendTimes
        const organizations = yield* Organizations
        yield* oneTemplate("week")
        yield* makeTemplate("week", "new", ["x"])
        const nothing = yield* sendTimes.of(org("week"), "t")
        assert.deepInclude(nothing, { basis: "default", tau_hours: null, hours: [], best: null, variants: [] })

        yield* plantHabit("week", "ann", 20)
        yield* plantHabit("week", "bob", 20)
        yield* (yield* Groups).refresh("week", "UTC")
        const known = yield* sendTimes.of(org("week"), "t")
        assert.strictEqual(known.basis, "template")
        assert.deepStrictEqual(known.hours.map(({ day, hour }) => (day - 1) * 24 + hour), [...Array(168).keys()])
        assert.include([19, 20], known.best!.hour)
        assert.strictEqual(known.best!.engaged, Math.max(...known.hours.map(({ engaged }) => engaged)))
        const evening = known.hours.find(({ day, hour }) => day === 2 && hour === 20)!
        const morning = known.hours.find(({ day, hour }) => day === 2 && hour === 5)!
        assert.isAbove(evening.attention, 2 * morning.attention)
        assert.isTrue(known.hours.every(({ allowed, engaged }) => allowed === 1 && engaged > 0 && engaged < 1))
        assert.deepInclude(known.levels[0]!, { level: "template", touches: 80, engagements: 80 })
        assert.deepStrictEqual(
          known.variants.map(({ copy_id, touches }) => [copy_id, touches]),
          [["a", 80], ["b", 0]],
        )
        assert.strictEqual(known.variants[1]!.weight, 0)
        assert.deepStrictEqual(known.variants[1]!.best, known.best, "of which nothing is known it is its template's")

        yield* organizations.update(org("week"), {
          quiet_hours: { from: "18:30", to: "21:00" },
          allowed_days: ["mon", "tue"],
        })
        const limited = yield* sendTimes.of(org("week"), "t")
        const at = (day: number, hour: number) => limited.hours[(day - 1) * 24 + hour]!.allowed
        assert.deepStrictEqual([at(1, 17), at(1, 18), at(2, 20), at(2, 21), at(3, 12)], [1, 0.5, 0, 1, 0])
        assert.isTrue(limited.best!.day <= 2 && (limited.best!.hour < 19 || limited.best!.hour > 20))
        assert.deepStrictEqual(
          limited.hours.map(({ engaged }) => engaged),
          known.hours.map(({ engaged }) => engaged),
          "what may be used changes nothing of what is known",
        )

        const other = yield* sendTimes.of(org("week"), "new")
        assert.strictEqual(other.basis, "organization")
        assert.strictEqual(other.levels[0]!.touches, 0)
        assert.strictEqual(other.levels[1]!.touches, 80)
        assert.strictEqual(other.best!.hour, limited.best!.hour)
      }))

    it.effect("advises no time before the requested start, and an allowed one before the expiry", () =>
      Effect.gen(function* () {
        yield* oneTemplate("before")
        const now = dayAt(0, 10)
        const notBefore = dayAt(-3, 15) + 500
        const { at } = yield* advise({ org: "before", userId: "ann", now, notBefore })
        assert.isTrue(at >= notBefore && at < notBefore + day)
        const { at: other } = yield* advise({ org: "before", userId: "bob", now, notBefore: now - day })
        assert.isAtLeast(other, now)
        const organizations = yield* Organizations
        yield* organizations.update(org("before"), { quiet_hours: { from: "20:00", to: "08:00" } })
        const night = dayAt(0, 22)
        const expiring = yield* advise({ org: "before", userId: "ann", now: night, before: dayAt(-1, 9) })
        assert.isTrue(expiring.at >= dayAt(-1, 8) && expiring.at < dayAt(-1, 9), iso(expiring.at))
        const tooLate = yield* advise({ org: "before", userId: "ann", now: night, before: dayAt(-1, 7) })
        assert.isAtLeast(tooLate.at, dayAt(-1, 7))
      }))

    it.effect("repeats its advice within an hour, and explores once in fifty", () =>
      Effect.gen(function* () {
        yield* oneTemplate("chance")
        yield* plantHabit("chance", "ann", 20)
        const now = dayAt(-1, 10)
        const sendTime = yield* SendTime
        yield* (yield* Groups).refresh("chance", "UTC")
        const ask = (userId: string, at = now) =>
          sendTime.advise({
            org: "chance",
            templateId: undefined,
            copyId: "a",
            userId,
            email: undefined,
            trace: false,
            now: at,
          })
        assert.deepStrictEqual(yield* ask("ann"), yield* ask("ann", now + 60_000))
        const people = Array.from({ length: 2000 }, (_, n) => `p${n}`)
        const answers = yield* Effect.forEach(people, (user) => ask(user), { concurrency: 100 })
        const explored = answers.filter((answer) => answer.explored)
        assert.isTrue(explored.length > 15 && explored.length < 75, String(explored.length))
        const seconds = new Set(answers.filter((answer) => !answer.explored).map(({ at }) => at))
        assert.isAbove(seconds.size, 1000, "spread over the hour")
        const log = yield* AdviceLog
        yield* Effect.promise(() => waitUntil("the advice is written", () => log.pending() === 0))
        const sql = yield* SqlClient.SqlClient
        const [row] = yield* sql<{ count: number; explored: number }>`
          SELECT count(*)::int AS count, count(*) FILTER (WHERE a.explored)::int AS explored FROM send_advice a
          WHERE a.org_slug = 'chance' AND a.person LIKE 'p%'`
        assert.deepStrictEqual(row, { count: 2000, explored: explored.length })
      }))

    it.effect("reports the gain of followed advice, each message once", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* oneTemplate("gain")
        yield* (yield* Profiles).apply([{
          org: "gain",
          user: "f0",
          email: "f0@example.com",
          traits: { a: 1 },
          occurredAt: Date.now(),
          key: "1",
        }])
        const at = dayAt(7, 9)
        const events: Array<unknown> = []
        const rows: Array<unknown> = []
        const plant = Effect.fnUntraced(function* (id: string, sentAfter: number, explored: boolean, opened: boolean) {
          yield* decide("gain", id, { user: id, at })
          const advised = at + 5 * hour
          rows.push({ person: id === "f0" ? "f0@example.com" : id, given: at + 1000, advised, explored })
          const sent = advised + sentAfter
          events.push({ event: "sent", tracking_id: id, occurred_at: iso(sent), event_id: `s${id}` })
          if (opened) {
            events.push({ event: "open", tracking_id: id, occurred_at: iso(sent + hour), event_id: `o${id}` })
          }
        })
        for (let n = 0; n < 40; n++) yield* plant(`f${n}`, 60_000, false, n < 20)
        for (let n = 0; n < 10; n++) yield* plant(`x${n}`, 20 * 60_000, true, n < 1)
        for (let n = 0; n < 20; n++) yield* plant(`m${n}`, -5 * hour, false, n < 4)
        yield* sql`
          INSERT INTO send_advice (org_slug, person, copy_id, given_at, advised_at, explored, basis)
          SELECT 'gain', r.person, 'a', to_timestamp(r.given / 1000.0), to_timestamp(r.advised / 1000.0), r.explored, 'user'
          FROM json_to_recordset(${JSON.stringify(rows)}::text::json) AS r(person text, given float8, advised float8,
            explored boolean)`
        yield* receive("gain", events)
        yield* drain
        const { run } = yield* Settling
        yield* run
        yield* run
        const results = yield* Timing.timing(sql, "gain", "t", new Date(dayAt(20, 0)), new Date())
        const { explored, followed, gain, missed } = results
        assert.deepStrictEqual([followed.sends, followed.engaged, followed.rate], [40, 20, 0.5])
        assert.deepStrictEqual([explored.sends, explored.engaged], [10, 1])
        assert.deepStrictEqual([missed.sends, missed.engaged, missed.rate], [20, 4, 0.2])
        assert.closeTo(gain!.difference, 0.4, 1e-9)
        assert.isTrue(gain!.interval[0] > 0 && gain!.interval[1] < 0.6, JSON.stringify(gain))
        const nothing = yield* Timing.timing(sql, "gain", "t", new Date(dayAt(5, 0)), new Date())
        assert.deepStrictEqual([nothing.followed.rate, nothing.gain], [null, null])
      }))

    it.effect("deletes the history of an erased person", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* oneTemplate("gone")
        yield* plantHabit("gone", "ann", 20, { days: 3 })
        yield* advise({ org: "gone", userId: "ann" })
        const log = yield* AdviceLog
        yield* Effect.promise(() => waitUntil("the advice is written", () => log.pending() === 0))
        yield* (yield* Erasures).eraseNow({ org: "gone", user: "ann", email: undefined })
        ;(yield* People).forget("gone", ["ann"])
        assert.deepStrictEqual(yield* history("gone", "ann"), [])
        assert.strictEqual((yield* sql`SELECT 1 FROM send_advice a WHERE a.org_slug = 'gone'`).length, 0)
        assert.deepStrictEqual((yield* (yield* Rebuild).run(org("gone"), { check: true })).sendTimes, {
          people: 0,
          differences: 0,
        })
      }))

    it.effect("rejects a variant that the organization does not have", () =>
      Effect.gen(function* () {
        yield* oneTemplate("refuse")
        const error = yield* Effect.flip(advise({ org: "refuse", copyId: "zzz" }))
        assert.strictEqual((error as { _tag: string })._tag, "VariantNotFound")
        const other = yield* Effect.flip(advise({ org: "refuse", templateId: "other" }))
        assert.strictEqual((other as { _tag: string })._tag, "VariantNotFound")
      }))
  })
})
