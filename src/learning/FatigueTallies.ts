import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { expectedPerDecision } from "../bandit/Expectation.ts"
import { exposureClass, exposureClasses, fatigueDays, keptByDay, levelOf } from "../bandit/Fatigue.ts"
import type { ModelSnapshot } from "../bandit/Model.ts"
import { dayMillis } from "../bandit/Window.ts"
import { type ValuedOutcome, valuedOutcomes } from "../domain/ObjectiveWeights.ts"
import { noMessage } from "../journal/decisions/Decision.ts"
import { countEarlier, type PersonalDecision } from "../journal/decisions/EarlierDecisions.ts"
import type { StoredEvent } from "../journal/events/DecisionEvents.ts"
import { type FullRow, recordset } from "../store/Recordset.ts"
import type { FadedCounts, StoredFatigue } from "./Engine.ts"
import { dayOf, type Days, outcomesIn, settledCounts } from "./SettledDecisions.ts"
import { Sums } from "./Sums.ts"

// Decisions by the number of their person's earlier decisions, with their outcomes. `Settling` counts each decision
// once, when it is four days old.

/** The recorded fields of a decision from which it is counted. */
interface FatigueDecision {
  readonly templateId: string
  readonly copyId: string
  readonly userId: string | null
  readonly propensity: number | null
  readonly segment: string
  readonly decidedAt: Date
}

const keyColumns = { template_id: "text", day: "float8", copy_id: "text", level: "smallint", seen: "smallint" } as const
const tallyColumns = {
  ...keyColumns,
  decisions: "int",
  open: "int",
  click: "int",
  conversion: "int",
  negative: "int",
  expected: "float8",
} as const

const summed = ["decisions", ...valuedOutcomes, "expected"] as const

/** One row of the tallies; `day` in Unix milliseconds. */
type FatigueTally = FullRow<typeof tallyColumns>

/** A decision drawn for a known person, with its events. */
interface Drawn extends PersonalDecision {
  readonly segment: string
  readonly events: ReadonlyArray<StoredEvent>
}

/** Sums tallies of many decisions. */
export class FatigueSum {
  readonly #sums = new Sums<FullRow<typeof keyColumns>, typeof summed[number]>(summed)
  readonly #models = new Map<string, ModelSnapshot | undefined>()
  readonly #sql: SqlClient.SqlClient
  readonly #org: string

  constructor(sql: SqlClient.SqlClient, org: string) {
    this.#sql = sql
    this.#org = org
  }

  /** Adds decisions with their events. Fails with `SqlError` if the database does not respond. */
  readonly add = Effect.fnUntraced(
    { self: this as FatigueSum },
    function* (
      decisions: ReadonlyArray<FatigueDecision>,
      events: ReadonlyArray<ReadonlyArray<StoredEvent>>,
    ): Effect.fn.Return<void, SqlError> {
      const drawn = decisions.flatMap(({ userId, propensity, ...decision }, place): ReadonlyArray<Drawn> =>
        userId === null || propensity === null || decision.copyId === noMessage
          ? []
          : [{ ...decision, userId, events: events[place]! }]
      )
      if (drawn.length === 0) return
      yield* this.#readModels(drawn)
      const earlier = new Map(
        (yield* countEarlier(this.#sql, this.#org, drawn)).map(({ place, seen, total }) => [place, { seen, total }]),
      )
      drawn.forEach((decision, place) => this.#count(decision, earlier.get(place) ?? { seen: 0, total: 0 }))
    },
  )

  rows(): ReadonlyArray<FatigueTally> {
    return this.#sums.rows()
  }

  /** Reads the latest models of the decisions' templates, except models read before. */
  #readModels(decisions: ReadonlyArray<Drawn>): Effect.Effect<void, SqlError> {
    const unknown = [...new Set(decisions.map(({ templateId }) => templateId))].filter((id) => !this.#models.has(id))
    if (unknown.length === 0) return Effect.void
    return Effect.map(
      this.#sql<{ readonly templateId: string; readonly snapshot: ModelSnapshot }>`
        SELECT m.template_id, m.snapshot FROM models m
        WHERE m.org_slug = ${this.#org} AND m.template_id = ANY(${unknown}::text[])`,
      (rows) => {
        for (const id of unknown) this.#models.set(id, undefined)
        for (const { snapshot, templateId } of rows) this.#models.set(templateId, snapshot)
      },
    )
  }

  #count(
    { copyId, decidedAt, events, segment, templateId }: Drawn,
    { seen, total }: { readonly seen: number; readonly total: number },
  ): void {
    const counted = settledCounts(decidedAt, events)
    if ((counted.voided ?? 0) > 0) return
    const day = dayOf(decidedAt)
    const model = this.#models.get(templateId)
    this.#sums.add(
      { template_id: templateId, day, copy_id: copyId, level: levelOf(total), seen: exposureClass(seen) },
      {
        decisions: 1,
        // Without a model, all variants have equal expectations. The unit does not matter.
        expected: model === undefined ? 1 : expectedPerDecision(model, copyId, segment, day) / (model.worth ?? 1),
        ...Object.fromEntries(outcomesIn(counted).map((outcome) => [outcome, 1])),
      },
    )
  }
}

/** Adds tallies to the stored ones. */
const addRows = (sql: SqlClient.SqlClient, org: string, rows: ReadonlyArray<FatigueTally>) =>
  sql`
    INSERT INTO fatigue_tallies AS t (org_slug, template_id, day, copy_id, level, seen, ${
    sql.literal(summed.join(", "))
  })
    SELECT ${org}, r.template_id, to_timestamp(r.day / 1000.0), r.copy_id, r.level, r.seen,
      ${sql.literal(summed.map((column) => `r.${column}`).join(", "))}
    FROM ${recordset(rows, tallyColumns)}
    ON CONFLICT (org_slug, template_id, day, copy_id, level, seen) DO UPDATE SET
      ${sql.literal(summed.map((column) => `${column} = t.${column} + EXCLUDED.${column}`).join(", "))}`

/** Returns the start of the first day that still counts. Unit: Unix milliseconds. */
export const firstFatigueDay = (now: number): number => Math.floor(now / dayMillis - fatigueDays) * dayMillis

/** Counts decisions with their events. Call it inside the transaction that settles them. */
export const countFatigue = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  decisions: ReadonlyArray<FatigueDecision>,
  events: ReadonlyArray<ReadonlyArray<StoredEvent>>,
  nowMillis: number,
): Effect.fn.Return<void, SqlError> {
  const sum = new FatigueSum(sql, org)
  const since = firstFatigueDay(nowMillis)
  const recent = (_: unknown, place: number) => decisions[place]!.decidedAt.getTime() >= since
  yield* sum.add(decisions.filter(recent), events.filter(recent))
  const rows = sum.rows()
  if (rows.length === 0) return
  yield* addRows(sql, org, rows)
  yield* sql`
    DELETE FROM fatigue_tallies t
    WHERE t.org_slug = ${org} AND t.template_id = ANY(${[...new Set(rows.map((row) => row.template_id))]}::text[])
      AND t.day < ${new Date(since)}`
})

/** Replaces a template's tallies of settled days by recomputed ones. */
export const replaceFatigue = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  template: string,
  truth: ReadonlyArray<FatigueTally>,
  days: Days,
): Effect.fn.Return<void, SqlError> {
  yield* sql`
    DELETE FROM fatigue_tallies t
    WHERE t.org_slug = ${org} AND t.template_id = ${template}
      AND t.day >= ${new Date(days.from)} AND t.day < ${new Date(days.to)}`
  if (truth.length > 0) yield* addRows(sql, org, truth)
})

/** Reads the tallies of a template as of `now` (Unix milliseconds). */
export const readFatigue = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  template: string,
  now: number,
): Effect.fn.Return<Omit<StoredFatigue, "hour">, SqlError> {
  const rows = yield* sql<
    & { readonly copyId: string; readonly day: Date | null; readonly level: number | null; readonly seen: number }
    & {
      readonly [name in ValuedOutcome | "expected" | "decisions"]: number
    }
  >`
    SELECT w.copy_id, w.day, w.level, w.seen, sum(w.decisions)::float8 AS decisions,
      ${sql.literal([...valuedOutcomes, "expected"].map((name) => `sum(w.weight * w.${name}) AS ${name}`).join(", "))}
    FROM (
      SELECT t.*, power(${keptByDay}::float8,
        extract(epoch FROM ${new Date(Math.floor(now / dayMillis) * dayMillis)}::timestamptz - t.day)::float8 / 86400)
        AS weight
      FROM fatigue_tallies t
      WHERE t.org_slug = ${org} AND t.template_id = ${template} AND t.day >= ${new Date(firstFatigueDay(now))}) w
    GROUP BY GROUPING SETS ((w.copy_id, w.level, w.seen), (w.copy_id, w.day, w.seen))
    ORDER BY w.copy_id, w.day, w.level, w.seen`
  const days = new Map<string, { readonly variant: string; readonly day: number; readonly decisions: Array<number> }>()
  const cells: Array<FadedCounts> = []
  for (const { copyId: variant, day, decisions, level, seen, ...counts } of rows) {
    if (day === null) {
      cells.push({ ...counts, variant, level: level!, seen })
      continue
    }
    const key = `${variant}\0${day.getTime()}`
    const none = () => ({ variant, day: day.getTime(), decisions: new Array<number>(exposureClasses).fill(0) })
    days.getOrInsertComputed(key, none).decisions[seen] = decisions
  }
  return { cells, mixes: [...days.values()] }
})
