import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { hourMillis } from "../bandit/Window.ts"
import { anonymousDecisionsAfter, hasSentTo, userDecisionsAfter } from "../journal/decisions/DecisionPages.ts"
import { SeededMap } from "../json/SeededMap.ts"
import { lockEvents } from "../journal/events/EventLock.ts"
import { lookbackDays } from "./Attention.ts"
import { eventsOf, type SettledDecision } from "./DecisionRows.ts"
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

/**
 * Rebuilds the histories of an organization from its decisions and events. With `check`, writes nothing. New events of
 * the organization wait in the meantime. Decisions without a user are not compared, because an erasure turns decisions
 * of a user into decisions without one.
 */
export const rebuildHistories = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  { check, nowMillis }: { readonly check: boolean; readonly nowMillis: number },
): Effect.fn.Return<HistoriesRebuilt, SqlError> {
  return yield* sql.withTransaction(Effect.gen(function* () {
    yield* lockEvents(sql, [org])
    const since = nowMillis - lookbackDays * 24 * hourMillis
    const sinceQuarter = 4 * (Math.ceil((since - epochMillis) / hourMillis) + 24)
    const recent = (codes: Float64Array) => codes.filter((code) => quarterOf(code) >= sinceQuarter)
    const [mark] = yield* sql<{ readonly countedUntil: Date }>`
      SELECT greatest(m.counted_until, m.settled_until) AS counted_until FROM send_time_marks m WHERE m.org_slug = ${org}`
    const countedUntil = mark?.countedUntil.getTime() ?? -Infinity
    let people = 0
    let differences = 0

    /** Returns the touches of the decisions that count by now: they have an event or are an hour old. */
    const touchesOf = Effect.fnUntraced(function* (rows: ReadonlyArray<SettledDecision>) {
      const events = yield* eventsOf(sql, org, rows)
      return rows.map((row, place) => {
        const decidedAt = row.decidedAt.getTime()
        return events[place]!.length > 0 || decidedAt < countedUntil
          ? touchOf({ ...row, decidedAt }, events[place]!)
          : undefined
      })
    })

    const compare = Effect.fnUntraced(function* (histories: ReadonlyArray<readonly [Holder, ReadonlyArray<Coded>]>) {
      const truths = histories.map(([holder, touches]) =>
        [holder, recent(changed([], [], touches.map(({ code }) => code))), touches] as const
      )
      const wanted = truths.map(([{ person }]) => person)
      const rows = yield* sql<{ readonly person: string; readonly touches: Uint8Array }>`
        SELECT s.person, s.touches FROM send_times s
        WHERE s.org_slug = ${org} AND s.kind = 'user' AND s.person = ANY(${wanted}::text[])`
      const stored = new SeededMap(rows.map(({ person, touches }) => [person, fromBytes(touches)]))
      const storedOf = ({ person }: Holder) => recent(stored.get(person) ?? new Float64Array(0))
      people += truths.length
      differences += truths.filter(([holder, truth, touches]) =>
        !isEqual(inQuarters(storedOf(holder), touches), truth)
      ).length
      if (check) return
      yield* replaceHistories(
        sql,
        truths.flatMap(([holder, truth]) => isEqual(storedOf(holder), truth) ? [] : [[holder, truth] as const]),
      )
    })

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
      const rows: ReadonlyArray<SettledDecision> = yield* userDecisionsAfter(sql, org, after, {
        since: new Date(since),
        limit: page,
      })
      const touches = yield* touchesOf(rows)
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
      yield* compare(done)
      done = []
      if (isOver) break
      after = { user: last.userId!, at: last.decidedAt, tracking: last.trackingId, template: last.templateId }
    }

    // Histories of people without decisions.
    let person = ""
    while (true) {
      const rows: ReadonlyArray<{ readonly person: string; readonly touches: Uint8Array; readonly real: boolean }> =
        yield* sql<{ readonly person: string; readonly touches: Uint8Array; readonly real: boolean }>`
          SELECT s.person, s.touches, ${hasSentTo(sql, org, "s.person", new Date(since))} AS real
          FROM send_times s WHERE s.org_slug = ${org} AND s.kind = 'user' AND s.person > ${person}
          ORDER BY s.person LIMIT ${page}`
      const wrong = rows.filter(({ real, touches }) => !real && recent(fromBytes(touches)).length > 0)
      differences += wrong.length
      if (!check) {
        yield* replaceHistories(sql, wrong.map((row) => [holderOf(org, row.person, ""), new Float64Array(0)] as const))
      }
      const last = rows[rows.length - 1]
      if (last === undefined || rows.length < page) break
      person = last.person
    }

    if (check) return { people, differences }
    const nobodies = new SeededMap<string, { readonly holder: Holder; codes: Float64Array }>()
    let key = { tracking: "", template: "" }
    while (true) {
      const rows: ReadonlyArray<SettledDecision> = yield* anonymousDecisionsAfter(sql, org, key, {
        since: new Date(since),
        limit: page,
      })
      const touches = yield* touchesOf(rows)
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
    return { people, differences }
  }))
})
