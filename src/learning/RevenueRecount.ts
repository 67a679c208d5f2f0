import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { ContextKey } from "../bandit/Contexts.ts"
import type { RevenueRule } from "../bandit/Revenue.ts"
import { type RevenueMeasure, revenueMeasures, type TallyCounts, type Track } from "../bandit/Tally.ts"
import { dayMillis, hourMillis } from "../bandit/Window.ts"
import { contributionOf, readEvents } from "../journal/events/DecisionEvents.ts"
import { lockEvents } from "../journal/events/EventLock.ts"
import { difference } from "../journal/events/Outcomes.ts"
import { putInForce, rulesIn, valuedDecisionsAfter, type ValuedPage } from "../journal/events/RevenueRules.ts"
import * as Ledger from "../journal/Ledger.ts"
import { contextSql } from "./ContextColumns.ts"
import * as Tallies from "./Tallies.ts"

/** Age after which no bucket contains a decision. Unit: days. */
const countedDays = 190

/** Maximum number of decisions read at once. */
const page = 2000

const only = (counts: TallyCounts): TallyCounts =>
  Object.fromEntries(revenueMeasures.flatMap((measure) => {
    const count = counts[measure]
    return count === undefined ? [] : [[measure, count]]
  }))

/** Reads the revenue in the tallies and the ledger of a template, in the buckets of `now`. */
const countedRevenue = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  template: string,
  now: number,
): Effect.fn.Return<Tallies.TallySum, SqlError> {
  type Row = { readonly copyId: string; readonly context: ContextKey; readonly start: Date; readonly track: Track } & {
    readonly revenue: number
    readonly revenueSquare: number
    readonly otherCurrency: number
  }
  // Reads both tables in one statement, because a fold moves counts from one to the other.
  const rows = yield* sql<Row>`
    SELECT t.copy_id, ${sql.literal(contextSql)} AS context, t.bucket_start AS start, t.track,
      t.revenue::float8 AS revenue, t.revenue_square::float8 AS revenue_square, t.other_currency::float8 AS other_currency
    FROM tallies t
    WHERE t.org_slug = ${org} AND t.template_id = ${template} AND (t.revenue <> 0 OR t.other_currency <> 0)
    UNION ALL
    ${Ledger.countsIn(sql, org, template, revenueMeasures)}`
  const sum = new Tallies.TallySum()
  for (const { context, copyId, otherCurrency, revenue, revenueSquare, start, track } of rows) {
    const counts: Record<RevenueMeasure, number> = {
      revenue,
      revenue_square: revenueSquare,
      other_currency: otherCurrency,
    }
    sum.add({ copyId, context, decidedHour: start.getTime(), track }, counts, undefined, now)
  }
  return sum
})

/** Computes the revenue of a template from its decisions and events. */
const trueRevenue = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  template: string,
  rule: RevenueRule,
  now: number,
): Effect.fn.Return<Tallies.TallySum, SqlError> {
  const sum = new Tallies.TallySum()
  const since = new Date(now - countedDays * dayMillis)
  let after: string | undefined = ""
  while (after !== undefined) {
    const { decisions, last }: ValuedPage = yield* valuedDecisionsAfter(sql, org, template, {
      after,
      since,
      limit: page,
    })
    const events = yield* readEvents(sql, decisions)
    decisions.forEach((decision, place) => {
      const { context, copyId, decidedAt, forced } = decision
      const at = { copyId, context, decidedHour: Math.floor(decidedAt / hourMillis) * hourMillis }
      const { learned } = contributionOf(decision, events[place]!, rule)
      sum.add({ ...at, track: forced ? "forced" : "learned" }, only(learned), undefined, now)
    })
    after = last
  }
  return sum
})

/** Appends the difference between `truth` and `counted`, of either sign, to the ledger. */
const appendDifference = (
  sql: SqlClient.SqlClient,
  org: string,
  templateId: string,
  counted: Tallies.TallySum,
  truth: Tallies.TallySum | undefined,
) => {
  const missing = new Tallies.TallySum()
  const sum = new Ledger.LedgerSum()
  const keyOf = ({ context, copyId, start, track }: ReturnType<Tallies.TallySum["tallies"]>[number]) =>
    `${copyId}\0${context}\0${start}\0${track}`
  const is = new Map((truth ?? missing).tallies().map((tally) => [keyOf(tally), tally]))
  const was = new Map(counted.tallies().map((tally) => [keyOf(tally), tally]))
  for (const key of new Set([...is.keys(), ...was.keys()])) {
    const { context, copyId, start, track } = (is.get(key) ?? was.get(key))!
    const counts = difference(was.get(key)?.counts ?? {}, is.get(key)?.counts ?? {})
    if (counts === undefined) continue
    sum.add({ org, templateId, copyId, context, hour: start, track, counts, delays: undefined })
  }
  return Ledger.append(sql, sum)
}

/**
 * Applies a new revenue rule to a template: counts the revenue of its past decisions by `rule`. Does nothing if the
 * rule applies already. Undefined: revenue is not counted. Runs in one transaction, which delays the counting of the
 * organization's events. The cost is proportional to the number of decisions with a valued conversion. `now` is in Unix
 * milliseconds. Fails with `SqlError`, for which `isLocked` is true during a rebuild.
 */
export const followRule = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  template: string,
  rule: RevenueRule | undefined,
  now: number,
): Effect.fn.Return<void, SqlError> {
  const isInForce = Effect.map(rulesIn(sql, org), (rules) => {
    const current = rules.of({ org, templateId: template })
    return current?.cap === rule?.cap && current?.currency === rule?.currency
  })
  if (yield* isInForce) return
  yield* sql.withTransaction(Effect.gen(function* () {
    yield* lockEvents(sql, [org])
    // Another node may have applied the rule first.
    if (yield* isInForce) return
    // Fails during a rebuild, which recomputes the tallies by the rule that it read at its start.
    yield* sql`LOCK TABLE tallies IN ROW EXCLUSIVE MODE NOWAIT`
    yield* putInForce(sql, org, template, rule)
    const counted = yield* countedRevenue(sql, org, template, now)
    const truth = rule === undefined ? undefined : yield* trueRevenue(sql, org, template, rule, now)
    yield* appendDifference(sql, org, template, counted, truth)
  }))
})
