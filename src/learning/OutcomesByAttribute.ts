import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import {
  AttributeOutcomes,
  type AttributeOutcomesRow,
  firstPeriod,
  type OutcomesByVariant,
} from "../bandit/AttributeOutcomes.ts"
import { decodeContext, ownNames } from "../bandit/Contexts.ts"
import { valuedOutcomes } from "../domain/ObjectiveWeights.ts"
import { noMessage } from "../journal/decisions/Decision.ts"
import type { StoredEvent } from "../journal/events/DecisionEvents.ts"
import { recordset } from "../store/Recordset.ts"
import { settledCounts } from "./SettledDecisions.ts"

// Decisions with their outcomes by attribute, value and variant. `Settling` counts each decision once, when it is four
// days old.

/** The recorded fields of a decision from which it is counted. */
interface AttributedDecision {
  readonly templateId: string
  readonly copyId: string
  readonly propensity: number | null
  readonly segment: string
  readonly further: string | null
  readonly decidedAt: Date
}

/** Returns the recorded attributes of a decision's request. */
const attributesOf = ({ further, segment }: Pick<AttributedDecision, "further" | "segment">) => {
  const values = new Map(decodeContext(segment))
  for (const name of ownNames) values.delete(name)
  // The context may contain an attribute as `other`. The value recorded outside the context replaces it.
  if (further !== null) { for (const [name, value] of decodeContext(further)) values.set(name, value) }
  return values
}

/** Sums the counts of many decisions, by template. */
export class AttributeOutcomesSum {
  readonly #templates = new Map<string, AttributeOutcomes>()

  /** Adds a decision with its events, earliest first. */
  add(decision: AttributedDecision, events: ReadonlyArray<StoredEvent>): void {
    const { copyId, decidedAt, propensity, templateId } = decision
    if (propensity === null || copyId === noMessage) return
    const counted = settledCounts(decidedAt, events)
    if ((counted.voided ?? 0) > 0) return
    const amounts = [1, ...valuedOutcomes.map((outcome) => (counted[outcome] ?? 0) > 0 ? 1 : 0)]
    this.of(templateId).add(attributesOf(decision), copyId, decidedAt.getTime(), amounts)
  }

  /** Returns the counts of a template. */
  of(templateId: string): AttributeOutcomes {
    return this.#templates.getOrInsertComputed(templateId, () => new AttributeOutcomes())
  }

  templates(): ReadonlyArray<string> {
    return [...this.#templates.keys()]
  }
}

const columns = {
  template_id: "text",
  period: "float8",
  name: "text",
  is_rounded: "boolean",
  counts: "text",
} as const

interface StoredRow {
  readonly templateId: string
  readonly period: Date
  readonly name: string
  readonly isRounded: boolean
  readonly counts: OutcomesByVariant | null
}

const toCounted = ({ counts, isRounded, name, period }: StoredRow): AttributeOutcomesRow => ({
  start: period.getTime(),
  name,
  isRounded,
  counts,
})

const add = (sql: SqlClient.SqlClient, org: string, template: string, counted: AttributeOutcomes) => {
  const rows = counted.rows().map(({ counts, isRounded, name, start }) => ({
    template_id: template,
    period: start,
    name,
    is_rounded: isRounded,
    counts: counts === null ? null : JSON.stringify(counts),
  }))
  return rows.length === 0 ? Effect.void : sql`
    INSERT INTO attribute_outcomes (org_slug, template_id, period, name, is_rounded, counts)
    SELECT ${org}, r.template_id, to_timestamp(r.period / 1000.0), r.name, r.is_rounded, r.counts::json
    FROM ${recordset(rows, columns)}`
}

/** Locks the counts of settled decisions against writers until the transaction ends. */
export const stopCounting = (sql: SqlClient.SqlClient) => sql`LOCK TABLE attribute_outcomes IN SHARE ROW EXCLUSIVE MODE`

/**
 * Fails at once with a `LockTimeoutError` while a rebuild holds the lock of `stopCounting`. Call it first in a
 * transaction.
 */
export const whileCounting = (sql: SqlClient.SqlClient) =>
  sql`LOCK TABLE attribute_outcomes IN ROW EXCLUSIVE MODE NOWAIT`

/** Replaces the counts of a template by recomputed ones. */
export const replaceAttributeOutcomes = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  template: string,
  truth: AttributeOutcomes,
): Effect.fn.Return<void, SqlError> {
  yield* sql`DELETE FROM attribute_outcomes a WHERE a.org_slug = ${org} AND a.template_id = ${template}`
  yield* add(sql, org, template, truth)
})

/** Reads the counts of a template in the periods that count at `now` (Unix milliseconds). */
export const readAttributeOutcomes = (
  sql: SqlClient.SqlClient,
  org: string,
  template: string,
  now: number,
): Effect.Effect<ReadonlyArray<AttributeOutcomesRow>, SqlError> =>
  Effect.map(
    sql<StoredRow>`
      SELECT a.template_id, a.period, a.name, a.is_rounded, a.counts FROM attribute_outcomes a
      WHERE a.org_slug = ${org} AND a.template_id = ${template} AND a.period >= ${new Date(firstPeriod(now))}
      ORDER BY a.period, a.name`,
    (rows) => rows.map(toCounted),
  )

/** Counts decisions with their events. Call it inside the transaction that settles them. */
export const countAttributeOutcomes = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  decisions: ReadonlyArray<AttributedDecision>,
  events: ReadonlyArray<ReadonlyArray<StoredEvent>>,
  nowMillis: number,
): Effect.fn.Return<void, SqlError> {
  const sum = new AttributeOutcomesSum()
  decisions.forEach((decision, place) => {
    if (decision.decidedAt.getTime() >= firstPeriod(nowMillis)) sum.add(decision, events[place]!)
  })
  for (const template of sum.templates()) {
    const counted = sum.of(template)
    const periods = [...new Set(counted.rows().map(({ start }) => start))]
    if (periods.length === 0) continue
    // Read and written as a whole, because all counts together decide which attributes are left out.
    const stored = yield* sql<StoredRow>`
      DELETE FROM attribute_outcomes a
      WHERE a.org_slug = ${org} AND a.template_id = ${template}
        AND (a.period = ANY(${periods.map((start) => new Date(start))}::timestamptz[])
          OR a.period < ${new Date(firstPeriod(nowMillis))})
      RETURNING a.template_id, a.period, a.name, a.is_rounded, a.counts`
    counted.merge(stored.map(toCounted))
    counted.prune(nowMillis)
    yield* add(sql, org, template, counted)
  }
})
