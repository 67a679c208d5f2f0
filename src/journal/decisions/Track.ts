import type { Track } from "../../bandit/Tally.ts"
import { noMessage } from "./Decision.ts"

/** The columns of a decision that determine whether the model learns from it. */
interface Chosen {
  readonly mode: string
  readonly propensity: number | null
}

/**
 * Whether the variant of a decision was not drawn: the caller or the holdout determined it, or it replaced a variant
 * that could not be rendered. Such decisions are reported, but never learned from.
 */
export const isForced = ({ mode, propensity }: Chosen): boolean =>
  mode === "forced" || mode === "fallback" || (mode === "control" && propensity === null)

/** Returns the track of a decision. */
export const trackOf = (decision: Chosen): Track => isForced(decision) ? "forced" : "learned"

/** SQL for the track of the decision `row`. */
export const trackSql = (row: string): string =>
  `CASE WHEN ${row}.mode IN ('forced', 'fallback') OR (${row}.mode = 'control' AND ${row}.propensity IS NULL)
          THEN 'forced' ELSE 'learned' END`

/**
 * SQL: whether the decision `row` is counted. A user in the holdout without a message provides no data to learn from:
 * `Settling` counts the holdout. The choice to send nothing is counted like a variant.
 */
export const countedSql = (row: string): string => `(${row}.copy_id <> '${noMessage}' OR ${trackSql(row)} = 'learned')`
