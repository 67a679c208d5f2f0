import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { hourMillis } from "../bandit/Window.ts"
import {
  anonymousDecisionsAfter,
  hasSentTo,
  type SentDecision,
  userDecisionsAfter,
} from "../journal/decisions/DecisionPages.ts"
import { SeededMap } from "../json/SeededMap.ts"
import { lockEvents } from "../journal/events/EventLock.ts"
import { lookbackDays } from "./Attention.ts"
import { eventsOf } from "./DecisionRows.ts"
import { changed, fromBytes, type Holder, holderOf, isEqual, replaceHistories } from "./Histories.ts"
import { type Coded, epochMillis, isHourly, quarterOf, touchOf } from "./Touch.ts"

/** Page size of decisions and of rows of histories. */
const page = 5000

/**
 * Result of a rebuild of histories: number of people with decisions in the look-back, and number of wrong histories.
 */
export interface HistoriesRebuilt {
  readonly people: number
  readonly differences: number
}

/** The stored history, with touches of whole hours converted to the current format. */
const inQuarters = (stored: Float64Array, touches: ReadonlyArray<Coded>): Float64Array => {
  if (!stored.some(isHourly)) return stored
  const codes = new Map(touches.map(({ code, hourly }) => [hourly, code]))
  return changed([], [], Array.from(stored, (code) => codes.get(code) ?? code))
}

/** The rebuild of an organization's histories. Times are Unix milliseconds. */
interface Course {
  readonly sql: SqlClient.SqlClient
  readonly org: string
  readonly check: boolean
  /** Start of the look-back. */
  readonly since: Date
  /** First quarter of an hour that is compared. */
  readonly sinceQuarter: number
  /** Decisions before this time count without an event. */
  readonly countedUntil: number
}

const recent = (codes: Float64Array, { sinceQuarter }: Course) =>
  codes.filter((code) => quarterOf(code) >= sinceQuarter)

/** Returns the touches of the decisions that count by now: they have an event or are an hour old. */
const touchesOf = Effect.fnUntraced(function* (
  { countedUntil, org, sql }: Course,
  rows: ReadonlyArray<SentDecision>,
) {
  const events = yield* eventsOf(sql, org, rows)
  return rows.map((row, place) => {
    const decidedAt = row.decidedAt.getTime()
    return events[place]!.length > 0 || decidedAt < countedUntil
      ? touchOf({ ...row, decidedAt }, events[place]!)
      : undefined
  })
})

/** Compares people's touches with their stored histories and replaces wrong ones. Returns the number of wrong ones. */
const compare = Effect.fnUntraced(function* (
  course: Course,
  histories: ReadonlyArray<readonly [Holder, ReadonlyArray<Coded>]>,
) {
  const { check, org, sql } = course
  const truths = histories.map(([holder, touches]) =>
    [holder, recent(changed([], [], touches.map(({ code }) => code)), course), touches] as const
  )
  const wanted = truths.map(([{ person }]) => person)
  const rows = yield* sql<{ readonly person: string; readonly touches: Uint8Array }>`
    SELECT s.person, s.touches FROM send_times s
    WHERE s.org_slug = ${org} AND s.kind = 'user' AND s.person = ANY(${wanted}::text[])`
  const stored = new SeededMap(rows.map(({ person, touches }) => [person, fromBytes(touches)]))
  const storedOf = ({ person }: Holder) => recent(stored.get(person) ?? new Float64Array(0), course)
  if (!check) {
    yield* replaceHistories(
      sql,
      truths.flatMap(([holder, truth]) => isEqual(storedOf(holder), truth) ? [] : [[holder, truth] as const]),
    )
  }
  return truths.filter(([holder, truth, touches]) => !isEqual(inQuarters(storedOf(holder), touches), truth)).length
})

/** Rebuilds the histories of people with decisions in the look-back. */
const rebuildPeople = Effect.fnUntraced(function* (course: Course): Effect.fn.Return<HistoriesRebuilt, SqlError> {
  const { org, since, sql } = course
  let people = 0
  let differences = 0
  let open: { readonly user: string; readonly touches: Array<Coded> } | undefined
  let done: Array<readonly [Holder, ReadonlyArray<Coded>]> = []
  const close = () => {
    if (open === undefined) return
    done.push([holderOf(org, open.user, ""), open.touches])
    open = undefined
  }
  let after: { readonly user: string; readonly at: Date; readonly tracking: string; readonly template: string } = {
    user: "",
    at: new Date(0),
    tracking: "",
    template: "",
  }
  while (true) {
    const rows: ReadonlyArray<SentDecision> = yield* userDecisionsAfter(sql, org, after, { since, limit: page })
    const touches = yield* touchesOf(course, rows)
    rows.forEach(({ userId }, place) => {
      if (open?.user !== userId) {
        close()
        open = { user: userId!, touches: [] }
      }
      if (touches[place] !== undefined) open!.touches.push(touches[place]!)
    })
    const last = rows[rows.length - 1]
    const isOver = last === undefined || rows.length < page
    if (isOver) close()
    people += done.length
    differences += yield* compare(course, done)
    done = []
    if (isOver) return { people, differences }
    after = { user: last.userId!, at: last.decidedAt, tracking: last.trackingId, template: last.templateId }
  }
})

/** Empties the histories of people without decisions in the look-back. Returns the number of wrong ones. */
const emptyOthers = Effect.fnUntraced(function* (course: Course): Effect.fn.Return<number, SqlError> {
  const { check, org, since, sql } = course
  let differences = 0
  let person = ""
  while (true) {
    const rows: ReadonlyArray<{ readonly person: string; readonly touches: Uint8Array; readonly real: boolean }> =
      yield* sql<{ readonly person: string; readonly touches: Uint8Array; readonly real: boolean }>`
        SELECT s.person, s.touches, ${hasSentTo(sql, org, "s.person", since)} AS real
        FROM send_times s WHERE s.org_slug = ${org} AND s.kind = 'user' AND s.person > ${person}
        ORDER BY s.person LIMIT ${page}`
    const wrong = rows.filter(({ real, touches }) => !real && recent(fromBytes(touches), course).length > 0)
    differences += wrong.length
    if (!check) {
      yield* replaceHistories(sql, wrong.map((row) => [holderOf(org, row.person, ""), new Float64Array(0)] as const))
    }
    const last = rows[rows.length - 1]
    if (last === undefined || rows.length < page) return differences
    person = last.person
  }
})

/** Replaces the histories of decisions without a user. */
const rebuildAnonymous = Effect.fnUntraced(function* (course: Course): Effect.fn.Return<void, SqlError> {
  const { org, since, sql } = course
  const nobodies = new SeededMap<string, { readonly holder: Holder; codes: Float64Array }>()
  let key = { tracking: "", template: "" }
  while (true) {
    const rows: ReadonlyArray<SentDecision> = yield* anonymousDecisionsAfter(sql, org, key, { since, limit: page })
    const touches = yield* touchesOf(course, rows)
    rows.forEach(({ trackingId }, place) => {
      const code = touches[place]?.code
      if (code === undefined) return
      const holder = holderOf(org, undefined, trackingId)
      const known = nobodies.get(holder.person)?.codes ?? new Float64Array(0)
      nobodies.set(holder.person, { holder, codes: changed(known, [], [code]) })
    })
    const last = rows[rows.length - 1]
    if (last === undefined || rows.length < page) break
    key = { tracking: last.trackingId, template: last.templateId }
  }
  yield* sql`DELETE FROM send_times s WHERE s.org_slug = ${org} AND s.kind = 'anonymous'`
  yield* replaceHistories(sql, [...nobodies.values()].map(({ codes, holder }) => [holder, codes] as const))
})

/**
 * Rebuilds the histories of an organization from its decisions and events. With `check`, writes nothing. New events of
 * the organization wait in the meantime. Decisions without a user are not compared, because an erasure turns decisions
 * of a user into decisions without one.
 */
export const rebuildHistories = (
  sql: SqlClient.SqlClient,
  org: string,
  { check, nowMillis }: { readonly check: boolean; readonly nowMillis: number },
): Effect.Effect<HistoriesRebuilt, SqlError> =>
  sql.withTransaction(Effect.gen(function* () {
    yield* lockEvents(sql, [org])
    const since = nowMillis - lookbackDays * 24 * hourMillis
    const sinceQuarter = 4 * (Math.ceil((since - epochMillis) / hourMillis) + 24)
    const [mark] = yield* sql<{ readonly countedUntil: Date }>`
      SELECT greatest(m.counted_until, m.settled_until) AS counted_until FROM send_time_marks m WHERE m.org_slug = ${org}`
    const countedUntil = mark?.countedUntil.getTime() ?? -Infinity
    const course: Course = { sql, org, check, since: new Date(since), sinceQuarter, countedUntil }
    const { differences, people } = yield* rebuildPeople(course)
    const others = yield* emptyOthers(course)
    if (!check) yield* rebuildAnonymous(course)
    return { people, differences: differences + others }
  }))
