import { Schema } from "effect"

export const VerdictName = Schema.Literals(["undecided", "winner", "firm_winner", "no_difference"])
export type VerdictName = typeof VerdictName.Type

/**
 * The verdict on the variants of a template, kept with its model from look to look:
 *
 *     undecided ──▶ winner ──▶ firm_winner
 *        ▲ │          │            │   another variant is more probably the best, the winner is stopped,
 *        │ │          ▼            ▼   or a variant joins that has not been beaten
 *        │ └──────◀ undecided ◀────┘
 *        └──▶ no_difference             at any time, while it is true
 */
export const VerdictState = Schema.Struct({
  verdict: VerdictName,
  /** The variant that won; null unless the verdict names one. */
  winner: Schema.NullOr(Schema.String),
  /** Variants that were compared, by id. */
  contenders: Schema.Array(Schema.String),
  /** When the verdict was reached, Unix milliseconds. */
  since: Schema.Finite,
  /** Sends from then on are evidence; null for all. Moves when a winner is given up. */
  evidenceFrom: Schema.NullOr(Schema.Finite),
  /** The last evaluation, Unix milliseconds; 0 before the first. */
  lookedAt: Schema.Finite,
  /** The objective of the verdict: with another objective, evidence starts again. */
  objective: Schema.String,
})
export type VerdictState = typeof VerdictState.Type
