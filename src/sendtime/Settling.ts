import { Clock, Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { profileOfUser } from "../profiles/ProfileRows.ts"
import { organizationRows } from "../organizations/OrganizationRows.ts"
import { dayMillis, hourMillis } from "../bandit/Window.ts"
import { noMessage } from "../journal/decisions/Decision.ts"
import {
  decidingOrganizations,
  decisionsBetween,
  firstDecisionBefore,
  type SentDecision,
} from "../journal/decisions/DecisionPages.ts"
import { failedDraws } from "../journal/decisions/FailedRenderings.ts"
import { countAttributeOutcomes, whileCounting } from "../learning/OutcomesByAttribute.ts"
import { countFatigue } from "../learning/FatigueTallies.ts"
import { countPropensities } from "../learning/PropensityTallies.ts"
import { dayOf } from "../learning/SettledDecisions.ts"
import { Sums } from "../learning/Sums.ts"
import { lockEvents } from "../journal/events/EventLock.ts"
import { countHoldouts } from "../learning/HoldoutTallies.ts"
import { type FullRow, recordset } from "../store/Recordset.ts"
import { asJob } from "../telemetry/LoopWork.ts"
import { eventsOf } from "./DecisionRows.ts"
import { applyTouches, holderOf } from "./Histories.ts"
import { followedHours, sendingOf, touchOf } from "./Touch.ts"

/** Age at which a decision is settled: later events do not change the counts of settled decisions. Unit: hours. */
const settledAfterHours = followedHours + 24

/**
 * Age at which a message without any event counts as sent and not engaged with so far. If only messages with events
 * counted, the rates of recent messages would be too high. Unit: hours.
 */
const countedAfterHours = 1

/** Number of decisions read per page, and the interval of one search. */
const page = 1000
const spanMillis = 6 * hourMillis

/**
 * The interval around a decision in which its recommendation was made: from ten minutes before the decision to a day
 * after it.
 */
const beforeMillis = hourMillis / 6
const afterMillis = dayMillis

/**
 * The interval around the recommended time in which a message counts as sent at that time: from five minutes before to
 * half an hour after.
 */
const followedBeforeMillis = 5 * 60_000
const followedAfterMillis = 30 * 60_000

/** Time for which recommendations are kept after they were settled, or if no decision followed. Unit: days. */
const keptDays = 10

/** The progress mark of an organization that a pass advances. */
type Mark = "counted_until" | "settled_until"

const keyColumns = {
  org_slug: "text",
  template_id: "text",
  copy_id: "text",
  day: "float8",
  followed: "boolean",
  explored: "boolean",
} as const
const tallyColumns = { ...keyColumns, sends: "int", engaged: "int" } as const

/** Counts engagement with messages sent at the recommended time, and at other times. */
const makeCountTiming = (sql: SqlClient.SqlClient) => {
  const countTiming = Effect.fnUntraced(function* (
    org: string,
    decisions: ReadonlyArray<SentDecision>,
    sendings: ReadonlyArray<ReturnType<typeof sendingOf>>,
  ) {
    const wanted = decisions.flatMap(({ copyId, decidedAt, userId }, place) =>
      userId === null || sendings[place]!.sentAt === undefined || sendings[place]!.voided
        ? []
        : [{ place, user_id: userId, copy_id: copyId, decided_at: decidedAt.getTime() }]
    )
    if (wanted.length === 0) return
    // A recommendation is stored under the identifier of its request: the decision's user, or an address of that
    // person.
    const rows = yield* sql<{ readonly place: number; readonly advisedAt: Date; readonly explored: boolean }>`
      SELECT r.place, a.advised_at, a.explored
      FROM ${recordset(wanted, { place: "int", user_id: "text", copy_id: "text", decided_at: "float8" })}
      LEFT JOIN LATERAL (
        ${profileOfUser(sql, sql`${org}`, "r.user_id")}) p ON true
      CROSS JOIN LATERAL (
        SELECT * FROM send_advice a
        WHERE a.org_slug = ${org} AND a.person = ANY(ARRAY[r.user_id, p.email]) AND a.copy_id = r.copy_id
          AND a.given_at >= to_timestamp((r.decided_at - ${beforeMillis}) / 1000.0)
          AND a.given_at < to_timestamp((r.decided_at + ${afterMillis}) / 1000.0)
        ORDER BY a.id LIMIT 1) a`
    const sums = new Sums<FullRow<typeof keyColumns>, "sends" | "engaged">(["sends", "engaged"])
    for (const { advisedAt, explored, place } of rows) {
      const { copyId, decidedAt, templateId } = decisions[place]!
      const { engagedAt, sentAt } = sendings[place]!
      const off = sentAt! - advisedAt.getTime()
      const followed = off >= -followedBeforeMillis && off <= followedAfterMillis
      const isEngaged = engagedAt !== undefined && engagedAt - sentAt! < followedHours * hourMillis
      sums.add(
        { org_slug: org, template_id: templateId, copy_id: copyId, day: dayOf(decidedAt), followed, explored },
        { sends: 1, engaged: isEngaged ? 1 : 0 },
      )
    }
    const tallies = sums.rows()
    if (tallies.length === 0) return
    yield* sql`
      INSERT INTO timing_tallies (org_slug, template_id, copy_id, day, followed, explored, sends, engaged)
      SELECT r.org_slug, r.template_id, r.copy_id, to_timestamp(r.day / 1000.0), r.followed, r.explored, r.sends,
        r.engaged
      FROM ${recordset(tallies, tallyColumns)}
      ON CONFLICT (org_slug, template_id, day, copy_id, followed, explored) DO UPDATE SET
        sends = timing_tallies.sends + EXCLUDED.sends, engaged = timing_tallies.engaged + EXCLUDED.engaged`
  })
  return countTiming
}

/** Reads decisions, and records their touches. */
const makeTouches = (sql: SqlClient.SqlClient) => {
  /**
   * Reads the next decisions of an organization from `from` on, limited to a page and an interval. Returns them
   * with the time up to which it has read.
   */
  const readSpan = Effect.fnUntraced(function* (org: string, from: number, horizon: number) {
    const until = Math.max(from, Math.min(horizon, from + spanMillis))
    const rows = yield* decisionsBetween(sql, org, {
      from: new Date(from),
      until: new Date(until),
      limit: page + 1,
    })
    const last = rows[page]?.decidedAt.getTime()
    if (last === undefined) return { decisions: rows, until }
    if (last !== rows[0]!.decidedAt.getTime()) {
      return { decisions: rows.filter(({ decidedAt }) => decidedAt.getTime() < last), until: last }
    }
    // If more decisions have one time than fit on a page, all of them are read. Otherwise the next page would skip
    // some.
    const decisions = yield* decisionsBetween(sql, org, { from: new Date(last), until: new Date(last + 1) })
    return { decisions, until: last + 1 }
  })

  const putTouches = (
    org: string,
    decisions: ReadonlyArray<SentDecision>,
    events: Effect.Success<ReturnType<typeof eventsOf>>,
  ) =>
    applyTouches(
      sql,
      decisions.map((row, place) => {
        const decision = { ...row, decidedAt: row.decidedAt.getTime() }
        return {
          holder: holderOf(org, row.userId ?? undefined, row.trackingId),
          // During an upgrade, a node of an earlier release stores data only under its own code.
          remove: touchOf(decision, []),
          known: false,
          add: touchOf(decision, events[place]!),
        }
      }),
    )

  return { putTouches, readSpan }
}

/**
 * Processes every decision twice. After an hour, a message without any event is recorded as sent and not engaged with
 * so far. After four days, this is repeated, and the decision is counted for its recommendation, its holdout, the
 * propensities and fatigue. Each step happens once, in the transaction that advances the organization's mark.
 */
export class Settling extends Context.Service<Settling, {
  /**
   * Settles due decisions in all organizations. Returns their number. Fails with `SqlError` if the database does not
   * respond.
   */
  readonly run: Effect.Effect<number, SqlError>
}>()("parlance/sendtime/Settling") {
  static readonly layer = Layer.effect(
    Settling,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock

      const countTiming = makeCountTiming(sql)
      const { putTouches, readSpan } = makeTouches(sql)

      const startOf = Effect.fnUntraced(function* (org: string, mark: Mark, horizon: number) {
        const [known] = yield* sql<{ readonly at: Date }>`
          SELECT ${
          mark === "settled_until" ? sql`m.settled_until` : sql`greatest(m.counted_until, m.settled_until)`
        } AS at
          FROM send_time_marks m WHERE m.org_slug = ${org}`
        if (known !== undefined) return { from: known.at.getTime(), isNew: false }
        const oldest = yield* firstDecisionBefore(sql, org, new Date(horizon))
        return { from: oldest?.getTime() ?? horizon, isNew: true }
      })

      /** Processes one interval of an organization's decisions. Returns their number, and whether more remain. */
      const passSpan = (org: string, mark: Mark, horizon: number) =>
        sql.withTransaction(Effect.gen(function* () {
          // Locked before the events, because the lock on events must be short.
          if (mark === "settled_until") yield* whileCounting(sql)
          yield* lockEvents(sql, [org])
          const { from, isNew } = yield* startOf(org, mark, horizon)
          if (from >= horizon && !isNew) return { count: 0, more: false }
          const { decisions: found, until } = yield* readSpan(org, from, horizon)
          const foundEvents = yield* eventsOf(sql, org, found)
          // Held-out users who get no message cannot engage with it.
          const isMessage = (_: unknown, place: number) => found[place]!.copyId !== noMessage
          const decisions = found.filter(isMessage)
          const events = foundEvents.filter(isMessage)
          yield* putTouches(org, decisions, events)
          if (mark === "counted_until") {
            yield* sql`
              UPDATE send_time_marks m SET counted_until = ${new Date(until)} WHERE m.org_slug = ${org}`
          } else {
            yield* countTiming(
              org,
              decisions,
              decisions.map(({ decidedAt }, place) => sendingOf(decidedAt.getTime(), events[place]!)),
            )
            const now = clock.currentTimeMillisUnsafe()
            yield* countHoldouts(sql, org, found, foundEvents)
            // Users do not see a variant that could not be rendered, so failures do not count for fatigue.
            yield* countFatigue(sql, org, found, foundEvents, now)
            const failures = failedDraws(found)
            const drawn = [...found, ...failures]
            const drawnEvents = [...foundEvents, ...failures.map(() => [])]
            yield* countPropensities(sql, org, drawn, drawnEvents, now)
            yield* countAttributeOutcomes(sql, org, drawn, drawnEvents, now)
            yield* sql`
              INSERT INTO send_time_marks (org_slug, settled_until) VALUES (${org}, ${new Date(until)})
              ON CONFLICT (org_slug) DO UPDATE SET settled_until = EXCLUDED.settled_until`
          }
          return { count: found.length, more: until < horizon }
        }))

      /**
       * Records the touches of decisions with events from `horizon` on, for an organization without a mark: a release
       * without send times may have stored these events. Later decisions follow when they are counted.
       */
      const catchUp = Effect.fnUntraced(function* (org: string, horizon: number) {
        const now = clock.currentTimeMillisUnsafe()
        const oldest = yield* firstDecisionBefore(sql, org, new Date(now))
        let from = oldest === undefined ? now : Math.max(oldest.getTime(), horizon)
        while (from < now) {
          from = yield* sql.withTransaction(Effect.gen(function* () {
            yield* lockEvents(sql, [org])
            const { decisions, until } = yield* readSpan(org, from, now)
            const events = yield* eventsOf(sql, org, decisions)
            const isTouched = (_: unknown, place: number) =>
              events[place]!.length > 0 && decisions[place]!.copyId !== noMessage
            yield* putTouches(org, decisions.filter(isTouched), events.filter(isTouched))
            return until
          }))
        }
      })

      /** Advances a mark of all organizations to the horizon. Returns the number of decisions in between. */
      const pass = Effect.fnUntraced(function* (mark: Mark, horizon: number) {
        const due = yield* sql<{ readonly slug: string; readonly at: Date | null }>`
          SELECT * FROM (
            SELECT o.slug, ${
          mark === "settled_until" ? sql`m.settled_until` : sql`greatest(m.counted_until, m.settled_until)`
        } AS at
            FROM ${sql.literal(organizationRows("sandbox_of"))} LEFT JOIN send_time_marks m ON m.org_slug = o.slug
            WHERE o.sandbox_of IS NULL) d
          WHERE d.at IS NULL OR d.at < ${new Date(horizon)}`
        const marks = due.flatMap(({ at }) => at === null ? [] : [at.getTime()])
        const busy = marks.length === 0 ? new Set<string>() : yield* decidingOrganizations(
          sql,
          new Date(marks.reduce((a, b) => Math.min(a, b))),
          new Date(horizon),
        )
        // Most organizations have no decisions in most hours, so their marks advance together.
        const idle = due.flatMap(({ at, slug }) => at === null || busy.has(slug) ? [] : [slug])
        if (idle.length > 0) {
          yield* sql`
            UPDATE send_time_marks m SET ${sql.literal(mark)} = ${new Date(horizon)}
            WHERE m.org_slug = ANY(${idle}::text[])
              AND (m.${sql.literal(mark)} IS NULL OR m.${sql.literal(mark)} < ${new Date(horizon)})`
        }
        let count = 0
        for (const { at, slug } of due) {
          if (at !== null && !busy.has(slug)) continue
          if (at === null) yield* catchUp(slug, horizon)
          while (true) {
            const span = yield* passSpan(slug, mark, horizon)
            count += span.count
            if (!span.more) break
          }
        }
        return { count, due: due.length }
      })

      const run = Effect.gen(function* () {
        const now = clock.currentTimeMillisUnsafe()
        const hoursAgo = (hours: number) => Math.floor(now / hourMillis - hours) * hourMillis
        const horizon = hoursAgo(settledAfterHours)
        const settled = yield* pass("settled_until", horizon)
        // Runs after the other pass, because a new mark starts at the settled time.
        yield* pass("counted_until", hoursAgo(countedAfterHours))
        if (settled.due > 0) {
          yield* sql`DELETE FROM send_advice a WHERE a.given_at < ${new Date(horizon - (keptDays - 4) * dayMillis)}`
        }
        return settled.count
      }).pipe(Effect.withSpan("Settling.run"))

      return Settling.of({ run })
    }),
  )

  /** Settles decisions continuously. */
  static readonly layerRunning = Layer.effectDiscard(
    Effect.flatMap(Settling, ({ run }) =>
      run.pipe(
        asJob("settling of send times"),
        Effect.catchCause((cause) => Effect.logDebug("Send times could not be settled. They will be retried", cause)),
        Effect.repeat(Schedule.spaced("1 minute")),
        Effect.delay("5 seconds"),
        Effect.forkScoped,
      )),
  )
}
