import { Schema } from "effect"

/** The names of verdicts on the variants of a template. */
export const VerdictName = Schema.Literals(["undecided", "winner", "firm_winner", "no_difference"])
export type VerdictName = typeof VerdictName.Type

/**
 * The verdict on the variants of a template, stored with its model from one evaluation to the next:
 *
 *     undecided ──▶ winner ──▶ firm_winner
 *        ▲ │          │            │   another variant is more probably the best, the winner is stopped,
 *        │ │          ▼            ▼   or a new variant has not been compared
 *        │ └──────◀ undecided ◀────┘
 *        └──▶ no_difference             at any time, while it holds
 */
export const VerdictState = Schema.Struct({
  verdict: VerdictName,
  /** The winning variant. Null unless the verdict is `winner` or `firm_winner`. */
  winner: Schema.NullOr(Schema.String),
  /** Ids of the compared variants. */
  contenders: Schema.Array(Schema.String),
  /** Time of the verdict. Unit: Unix milliseconds. */
  since: Schema.Finite,
  /**
   * Only sends from this time on are evidence. Null: all sends. Set to the start of the next hour when another variant
   * becomes more probably the best than the winner. Unit: Unix milliseconds.
   */
  evidenceFrom: Schema.NullOr(Schema.Finite),
  /** Time of the last evaluation. Unit: Unix milliseconds. 0 before the first. */
  lookedAt: Schema.Finite,
  /** Probability of the leader to be best, at the last evaluation. Absent before seven days of data. */
  leaderBest: Schema.optionalKey(Schema.Finite),
  /** The objective of the verdict. Evidence starts again if the objective changes. */
  objective: Schema.String,
})
export type VerdictState = typeof VerdictState.Type
