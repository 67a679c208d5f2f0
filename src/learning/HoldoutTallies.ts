import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { peopleGroups, placeOf } from "../bandit/Holdout.ts"
import { valuedOutcomes } from "../domain/ObjectiveWeights.ts"
import { type FullRow, recordset } from "../store/Recordset.ts"
import type { StoredEvent } from "../journal/events/DecisionEvents.ts"
import { outcomesOf } from "../journal/events/Outcomes.ts"
import { dayOf, outcomesIn } from "./SettledDecisions.ts"
import { Sums } from "./Sums.ts"

// Outcomes of people on both sides of a holdout. `Settling` writes them once per decision, four days after it.

/** The fields of a settled decision from which its holdout is counted. */
interface HoldoutDecision {
  readonly trackingId: string
  readonly templateId: string
  readonly userId: string | null
  readonly mode: string
  readonly holdout: string | null
  readonly decidedAt: Date
}

/**
 * Counts of one group of people on one side: the number of decisions, then the numbers of decisions with each of
 * `valuedOutcomes`.
 */
export type PeopleCounts = ReadonlyArray<number>

/** Both sides of one holdout, each with its 32 groups of people. */
export interface HoldoutCounts {
  /** In the format of `holdoutText`. */
  readonly holdout: string
  /** First and last day (UTC) with decisions. */
  readonly first: Date
  readonly last: Date
  readonly treated: ReadonlyArray<PeopleCounts>
  readonly control: ReadonlyArray<PeopleCounts>
}

const columns = ["decisions", ...valuedOutcomes] as const

const keyColumns = {
  org_slug: "text",
  template_id: "text",
  day: "float8",
  holdout: "text",
  control: "boolean",
  people: "smallint",
} as const
const tallyColumns = {
  ...keyColumns,
  decisions: "int",
  open: "int",
  click: "int",
  conversion: "int",
  negative: "int",
} as const

/** Counts decisions under a holdout with their events. Call it inside the transaction that settles them. */
export const countHoldouts = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  decisions: ReadonlyArray<HoldoutDecision>,
  events: ReadonlyArray<ReadonlyArray<StoredEvent>>,
): Effect.fn.Return<void, SqlError> {
  const sums = new Sums<FullRow<typeof keyColumns>, typeof columns[number]>(columns)
  decisions.forEach(({ decidedAt, holdout, mode, templateId, trackingId, userId }, place) => {
    if (holdout === null) return
    const { people } = placeOf({ org, userId: userId ?? undefined, trackingId })
    const { learned } = outcomesOf(decidedAt.getTime(), events[place]!)
    sums.add(
      { org_slug: org, template_id: templateId, day: dayOf(decidedAt), holdout, control: mode === "control", people },
      { decisions: 1, ...Object.fromEntries(outcomesIn(learned).map((outcome) => [outcome, 1])) },
    )
  })
  const tallies = sums.rows()
  if (tallies.length === 0) return
  yield* sql`
    INSERT INTO holdout_tallies (org_slug, template_id, day, holdout, control, people,
      ${sql.literal(columns.join(", "))})
    SELECT r.org_slug, r.template_id, to_timestamp(r.day / 1000.0), r.holdout, r.control, r.people,
      ${sql.literal(columns.map((column) => `r.${column}`).join(", "))}
    FROM ${recordset(tallies, tallyColumns)}
    ON CONFLICT (org_slug, template_id, day, holdout, control, people) DO UPDATE SET
      ${sql.literal(columns.map((column) => `${column} = holdout_tallies.${column} + EXCLUDED.${column}`).join(", "))}`
})

/** Reads the counts of a template's decisions made in [from, to), by whole days (UTC), latest holdout first. */
export const readHoldouts = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  template: string,
  from: Date,
  to: Date,
): Effect.fn.Return<ReadonlyArray<HoldoutCounts>, SqlError> {
  const rows = yield* sql<
    {
      readonly holdout: string
      readonly control: boolean
      readonly people: number
      readonly first: Date
      readonly last: Date
    } & { readonly [column in typeof columns[number]]: number }
  >`
    SELECT t.holdout, t.control, t.people, min(t.day) AS first, max(t.day) AS last,
      ${sql.literal(columns.map((column) => `sum(t.${column})::float8 AS ${column}`).join(", "))}
    FROM holdout_tallies t
    WHERE t.org_slug = ${org} AND t.template_id = ${template} AND t.day >= ${from} AND t.day < ${to}
    GROUP BY t.holdout, t.control, t.people`
  const none = () => Array.from({ length: peopleGroups }, (): PeopleCounts => columns.map(() => 0))
  return Array.from(Map.groupBy(rows, ({ holdout }) => holdout), ([holdout, own]): HoldoutCounts => {
    const sides = { treated: none(), control: none() }
    for (const row of own) sides[row.control ? "control" : "treated"][row.people] = columns.map((name) => row[name])
    return {
      holdout,
      first: new Date(Math.min(...own.map(({ first }) => first.getTime()))),
      last: new Date(Math.max(...own.map(({ last }) => last.getTime()))),
      ...sides,
    }
  }).sort((a, b) => b.last.getTime() - a.last.getTime() || b.first.getTime() - a.first.getTime())
})
