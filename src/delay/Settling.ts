import { Clock, Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { dayMillis, hourMillis } from "../bandit/Window.ts"
import { lockEvents } from "../events/EventLock.ts"
import { asJob } from "../telemetry/LoopWork.ts"
import { type DecisionRow, eventsOf } from "./DecisionRows.ts"
import { applyTouches, holderOf } from "./Histories.ts"
import { followedHours, sendingOf, touchOf } from "./Touch.ts"

/** Decisions are looked at once they are this old: nothing more is learned from them then. Unit: hours. */
export const settledAfterHours = followedHours + 24

/** Decisions read at once, and the span of time they are looked for in. */
const page = 1000
const spanMillis = 6 * hourMillis

/** A message belongs to advice given from ten minutes before its decision to a day after it. */
const beforeMillis = hourMillis / 6
const afterMillis = dayMillis

/** A message counts as sent at the advised time from five minutes before it to half an hour after it. */
export const followedBeforeMillis = 5 * 60_000
export const followedAfterMillis = 30 * 60_000

/** Advice whose decision has been settled, or never came, is kept for so long. Unit: days. */
const keptDays = 10

interface Tally {
  readonly org_slug: string
  readonly template_id: string
  readonly copy_id: string
  readonly day: number
  readonly followed: boolean
  readonly explored: boolean
  sends: number
  engaged: number
}

/**
 * Looks at every decision once more when it is four days old: what nobody has reported anything about is put down as sent
 * and not engaged with, and what advice was followed, and how that went, is counted. Each in the transaction that moves the
 * organization's mark on, so that it happens once.
 */
export class Settling extends Context.Service<Settling, {
  /** Settles what is due in all organizations; answers how many decisions that were. */
  readonly run: Effect.Effect<number, SqlError>
}>()("parlance/delay/Settling") {
  static readonly layer = Layer.effect(
    Settling,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock

      const countTiming = Effect.fnUntraced(function* (
        org: string,
        decisions: ReadonlyArray<DecisionRow>,
        sendings: ReadonlyArray<ReturnType<typeof sendingOf>>,
      ) {
        const wanted = decisions.flatMap(({ copyId, decidedAt, userId }, place) =>
          userId === null || sendings[place]!.sentAt === undefined || sendings[place]!.voided
            ? []
            : [{ place, user_id: userId, copy_id: copyId, decided_at: decidedAt.getTime() }]
        )
        if (wanted.length === 0) return
        // Advice is kept under the name that was asked with: the decision's user, or the address of the same person.
        const rows = yield* sql<{ readonly place: number; readonly advisedAt: Date; readonly explored: boolean }>`
          SELECT r.place, a.advised_at, a.explored
          FROM json_to_recordset(${JSON.stringify(wanted)}::text::json) AS r(place int, user_id text, copy_id text,
            decided_at float8)
          LEFT JOIN LATERAL (
            SELECT p.email FROM profiles p WHERE p.org_slug = ${org} AND p.user_id = r.user_id
            ORDER BY p.org_slug, p.user_id LIMIT 1) p ON true
          CROSS JOIN LATERAL (
            SELECT * FROM send_advice a
            WHERE a.org_slug = ${org} AND a.person = ANY(ARRAY[r.user_id, p.email]) AND a.copy_id = r.copy_id
              AND a.given_at >= to_timestamp((r.decided_at - ${beforeMillis}) / 1000.0)
              AND a.given_at < to_timestamp((r.decided_at + ${afterMillis}) / 1000.0)
            ORDER BY a.id LIMIT 1) a`
        const tallies = new Map<string, Tally>()
        for (const { advisedAt, explored, place } of rows) {
          const { copyId, decidedAt, templateId } = decisions[place]!
          const { engagedAt, sentAt } = sendings[place]!
          const off = sentAt! - advisedAt.getTime()
          const followed = off >= -followedBeforeMillis && off <= followedAfterMillis
          const day = Math.floor(decidedAt.getTime() / dayMillis) * dayMillis
          const key = `${templateId}\0${copyId}\0${day}\0${followed}\0${explored}`
          let tally = tallies.get(key)
          if (tally === undefined) {
            const at = { org_slug: org, template_id: templateId, copy_id: copyId, day, followed, explored }
            tallies.set(key, tally = { ...at, sends: 0, engaged: 0 })
          }
          tally.sends++
          if (engagedAt !== undefined && engagedAt - sentAt! < followedHours * hourMillis) tally.engaged++
        }
        if (tallies.size === 0) return
        yield* sql`
          INSERT INTO timing_tallies (org_slug, template_id, copy_id, day, followed, explored, sends, engaged)
          SELECT r.org_slug, r.template_id, r.copy_id, to_timestamp(r.day / 1000.0), r.followed, r.explored, r.sends,
            r.engaged
          FROM json_to_recordset(${JSON.stringify([...tallies.values()])}::text::json) AS r(org_slug text,
            template_id text, copy_id text, day float8, followed boolean, explored boolean, sends int, engaged int)
          ON CONFLICT (org_slug, template_id, day, copy_id, followed, explored) DO UPDATE SET
            sends = timing_tallies.sends + EXCLUDED.sends, engaged = timing_tallies.engaged + EXCLUDED.engaged`
      })

      /** Settles a span of an organization's decisions; answers how many, and whether there is more to do. */
      const settleSpan = (org: string, horizon: number) =>
        sql.withTransaction(Effect.gen(function* () {
          yield* lockEvents(sql, [org])
          const [mark] = yield* sql<{ readonly settledUntil: Date }>`
            SELECT m.settled_until FROM send_time_marks m WHERE m.org_slug = ${org}`
          let from = mark?.settledUntil.getTime()
          if (from === undefined) {
            const [oldest] = yield* sql<{ readonly decidedAt: Date | null }>`
              SELECT min(d.decided_at) AS decided_at FROM decisions d
              WHERE d.org_slug = ${org} AND d.decided_at < ${new Date(horizon)}`
            from = oldest?.decidedAt?.getTime() ?? horizon
          }
          if (from >= horizon && mark !== undefined) return { settled: 0, more: false }
          let until = Math.max(from, Math.min(horizon, from + spanMillis))
          const rows = yield* sql<DecisionRow>`
            SELECT d.tracking_id, d.template_id, d.copy_id, d.user_id, d.decided_at FROM decisions d
            WHERE d.org_slug = ${org} AND d.decided_at >= ${new Date(from)} AND d.decided_at < ${new Date(until)}
            ORDER BY d.decided_at LIMIT ${page + 1}`
          const last = rows[page]?.decidedAt.getTime()
          // More of one moment than a page holds are all taken: the rest of them would never be reached.
          const decisions = last === undefined || last === rows[0]!.decidedAt.getTime()
            ? last === undefined ? rows : yield* sql<DecisionRow>`
                SELECT d.tracking_id, d.template_id, d.copy_id, d.user_id, d.decided_at FROM decisions d
                WHERE d.org_slug = ${org} AND d.decided_at >= ${new Date(last)} AND d.decided_at < ${new Date(
              last + 1,
            )}`
            : rows.filter(({ decidedAt }) => decidedAt.getTime() < last)
          if (last !== undefined) until = last === rows[0]!.decidedAt.getTime() ? last + 1 : last
          const events = yield* eventsOf(sql, org, decisions)
          yield* applyTouches(
            sql,
            decisions.map((row, place) => ({
              holder: holderOf(org, row.userId ?? undefined, row.trackingId),
              remove: undefined,
              known: false,
              add: touchOf({ ...row, decidedAt: row.decidedAt.getTime() }, events[place]!),
            })),
          )
          yield* countTiming(
            org,
            decisions,
            decisions.map(({ decidedAt }, place) => sendingOf(decidedAt.getTime(), events[place]!)),
          )
          yield* sql`
            INSERT INTO send_time_marks (org_slug, settled_until) VALUES (${org}, ${new Date(until)})
            ON CONFLICT (org_slug) DO UPDATE SET settled_until = EXCLUDED.settled_until`
          return { settled: decisions.length, more: until < horizon }
        }))

      const run = Effect.gen(function* () {
        const horizon = Math.floor((clock.currentTimeMillisUnsafe() - settledAfterHours * hourMillis) / hourMillis) *
          hourMillis
        const due = yield* sql<{ readonly slug: string; readonly settledUntil: Date | null }>`
          SELECT o.slug, m.settled_until FROM organizations o LEFT JOIN send_time_marks m ON m.org_slug = o.slug
          WHERE m.settled_until IS NULL OR m.settled_until < ${new Date(horizon)}`
        const marks = due.flatMap(({ settledUntil }) => settledUntil === null ? [] : [settledUntil.getTime()])
        const rows = marks.length === 0 ? [] : yield* sql<{ readonly orgSlug: string }>`
          SELECT DISTINCT d.org_slug FROM decisions d
          WHERE d.decided_at >= ${new Date(marks.reduce((a, b) => Math.min(a, b)))}
            AND d.decided_at < ${new Date(horizon)}`
        const busy = new Set(rows.map(({ orgSlug }) => orgSlug))
        // Most organizations have nothing to settle in most hours: their marks move on together.
        const idle = due.filter(({ settledUntil, slug }) => settledUntil !== null && !busy.has(slug))
        if (idle.length > 0) {
          yield* sql`
            UPDATE send_time_marks m SET settled_until = ${new Date(horizon)}
            WHERE m.org_slug = ANY(${idle.map(({ slug }) => slug)}::text[]) AND m.settled_until < ${new Date(horizon)}`
        }
        let settled = 0
        for (const { settledUntil, slug } of due) {
          if (settledUntil !== null && !busy.has(slug)) continue
          while (true) {
            const span = yield* settleSpan(slug, horizon)
            settled += span.settled
            if (!span.more) break
          }
        }
        if (due.length > 0) {
          yield* sql`DELETE FROM send_advice a WHERE a.given_at < ${new Date(horizon - (keptDays - 4) * dayMillis)}`
        }
        return settled
      }).pipe(Effect.withSpan("Settling.run"))

      return Settling.of({ run })
    }),
  )

  /** Settles as time goes by. */
  static readonly layerRunning = Layer.effectDiscard(
    Effect.flatMap(Settling, ({ run }) =>
      run.pipe(
        asJob("settling of send times"),
        Effect.catchCause((cause) => Effect.logDebug("Send times could not be settled, it is tried again", cause)),
        Effect.repeat(Schedule.spaced("1 minute")),
        Effect.delay("5 seconds"),
        Effect.forkScoped,
      )),
  )
}
