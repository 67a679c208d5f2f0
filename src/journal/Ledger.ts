import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { TallyCounts, Track } from "../bandit/Tally.ts"
import { SeededMap } from "../domain/SeededMap.ts"
import { carried } from "../telemetry/Tracing.ts"

// The append-only rows through which everything reaches the tallies. They are written in the transaction of what caused
// them and taken by the template's actor, which alone adds them up: so that nothing is lost, counted twice, or fought over.

/** Outcomes whose delay is learned. */
export const timedOutcomes = ["open", "click", "conversion"] as const
export type TimedOutcome = (typeof timedOutcomes)[number]

/** Number of first outcomes by `outcome:class`, such as `click:7` (see `delayClass`). */
export type DelayCounts = { readonly [outcomeAndClass: string]: number }

/** A change of the counts of one variant in one segment, for the decisions of one hour. */
export interface LedgerEntry {
  readonly org: string
  readonly templateId: string
  readonly copyId: string
  readonly segment: string
  /** Start of the hour of the decision, Unix milliseconds. */
  readonly hour: number
  readonly track: Track
  readonly counts: TallyCounts
  readonly delays: DelayCounts | undefined
}

const add = (into: Record<string, number>, counts: { readonly [name: string]: number | undefined }) => {
  for (const [name, count] of Object.entries(counts)) if (count !== undefined) into[name] = (into[name] ?? 0) + count
}

interface Sum extends LedgerEntry {
  readonly counts: Record<string, number>
  readonly delays: Record<string, number>
}

/** Adds entries up, so that a group of changes is a few rows. */
export class LedgerSum {
  readonly #sums = new SeededMap<string, Sum>()

  add(entry: LedgerEntry): void {
    const { copyId, hour, org, segment, templateId, track } = entry
    const key = `${org}\0${templateId}\0${copyId}\0${segment}\0${hour}\0${track}`
    let sum = this.#sums.get(key)
    if (sum === undefined) this.#sums.set(key, sum = { ...entry, counts: {}, delays: {} })
    add(sum.counts, entry.counts)
    if (entry.delays !== undefined) add(sum.delays, entry.delays)
  }

  entries(): ReadonlyArray<LedgerEntry> {
    return [...this.#sums.values()]
  }
}

const withoutZeros = (counts: { readonly [name: string]: number }): string | null => {
  const left = Object.entries(counts).filter(([, count]) => count !== 0)
  return left.length === 0 ? null : JSON.stringify(Object.fromEntries(left))
}

/** Appends what `sum` holds, with the trace that it is part of; call it inside the transaction that causes it. */
export const append = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  sum: LedgerSum,
): Effect.fn.Return<void, SqlError> {
  const rows = sum.entries().flatMap((entry) => {
    const counts = withoutZeros(entry.counts as Record<string, number>)
    const delays = withoutZeros(entry.delays ?? {})
    return counts === null && delays === null ? [] : [{
      org_slug: entry.org,
      template_id: entry.templateId,
      copy_id: entry.copyId,
      segment: entry.segment,
      hour: entry.hour,
      track: entry.track,
      counts: counts ?? "{}",
      delays,
    }]
  })
  if (rows.length === 0) return
  const traceparent = yield* carried
  const isTraced = traceparent !== undefined
  yield* sql`
    INSERT INTO tally_ledger (org_slug, template_id, copy_id, segment, hour, track, counts, delays
      ${sql.literal(isTraced ? ", traceparent" : "")})
    SELECT r.org_slug, r.template_id, r.copy_id, r.segment, to_timestamp(r.hour / 1000.0), r.track, r.counts::json,
      r.delays::json${isTraced ? sql`, ${traceparent}::text` : sql.literal("")}
    FROM json_to_recordset(${JSON.stringify(rows)}::text::json) AS r(org_slug text, template_id text, copy_id text,
      segment text, hour float8, track text, counts text, delays text)`
})
