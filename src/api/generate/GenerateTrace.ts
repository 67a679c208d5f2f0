import { Schema } from "effect"
import { described } from "../../domain/described.ts"

const Candidate = Schema.Struct({
  id: Schema.String,
  eligible: Schema.Literal(true),
  sends: described(Schema.Finite, "Messages that count in the window"),
  effective_sends: described(Schema.Finite, "Discounted by age if the window is adaptive"),
  clicks: described(Schema.Finite, "The successes among them; for a weighted objective, their weighted sum"),
  rate: described(Schema.Finite, "The estimate for the segment: successes per message"),
  interval: described(Schema.Tuple([Schema.Finite, Schema.Finite]), "The credible interval of `rate`"),
  p_best: described(Schema.Finite, "Probability of being the best"),
  weight: described(Schema.Finite, "Probability of being chosen. The candidates sum to 1"),
})

const Excluded = Schema.Struct({
  id: Schema.String,
  eligible: Schema.Literal(false),
  reason: described(Schema.String, "The condition or season that excludes it"),
})

const Trace = Schema.Struct({
  mode: described(
    Schema.Literals(["bandit", "epsilon", "single", "forced", "control", "sticky", "retry", "fallback", "none"]),
    "`single`: the only candidate; `forced`: by `copy_id`; `control`: the user is held out; `sticky`: the user had " +
      "it before; `retry`: chosen under this tracking id before; `fallback`: drawn in place of variants that could not be " +
      "rendered; `none`: no candidate",
  ),
  policy_version: described(Schema.String, "The model that decided"),
  cell: described(
    Schema.Record(Schema.String, Schema.String),
    "The segment: the attributes that the model learns from",
  ),
  window: described(
    Schema.Struct({
      mode: Schema.Literals(["adaptive", "window"]),
      lookback_days: Schema.NullOr(Schema.Finite),
      offset_days: Schema.NullOr(Schema.Finite),
      from: Schema.NullOr(Schema.String),
      to: Schema.NullOr(Schema.String),
    }),
    "Decisions that count, by when they were served",
  ),
  cache_used: described(Schema.Boolean, "False if `use_cache: false` had the model refitted"),
  epsilon: described(Schema.NullOr(Schema.Finite), "Probability of a uniform choice; null if it did not apply"),
  kappa: described(Schema.NullOr(Schema.Finite), "Tempering of the estimates, 0 to 1; null if it did not apply"),
  floor: described(Schema.NullOr(Schema.Finite), "Share that is split randomly; null if it did not apply"),
  runner_up_floor: described(
    Schema.NullOr(Schema.Finite),
    "Minimum share of the runner-up, divided by the number of candidates; null if it did not apply",
  ),
  half_life_days: described(
    Schema.NullOr(Schema.Finite),
    "Days after which an outcome has half its weight; null for a fixed window",
  ),
  base_rate: described(Schema.Finite, "Successes per message in the segment for an average variant on an average day"),
  candidates: Schema.Array(Schema.Union([Candidate, Excluded])),
  chosen: Schema.NullOr(Schema.String),
  propensity: described(
    Schema.NullOr(Schema.Finite),
    "The probability with which `chosen` was drawn; null if it was not drawn, or in place of another variant",
  ),
  failed: Schema.optionalKey(described(
    Schema.Array(Schema.Struct({
      id: Schema.String,
      faults: Schema.Array(Schema.Struct({ variable: Schema.String, detail: Schema.String })),
    })),
    "Variants that were chosen before `chosen` and could not be rendered, the first choice first; absent without any",
  )),
})

const example: typeof Trace.Type = {
  mode: "bandit",
  policy_version: "welcome:42/14/3",
  cell: { daypart: "evening", plan: "pro", weekend: "weekday" },
  window: {
    mode: "window",
    lookback_days: 14,
    offset_days: 3,
    from: "2026-01-17T18:20:37.789Z",
    to: "2026-01-31T18:20:37.789Z",
  },
  cache_used: true,
  epsilon: null,
  kappa: 0.4,
  floor: 0.01,
  runner_up_floor: null,
  half_life_days: null,
  base_rate: 0.031,
  candidates: [
    {
      id: "short",
      eligible: true,
      sends: 5120,
      effective_sends: 5120,
      clicks: 189,
      rate: 0.036,
      interval: [0.032, 0.041],
      p_best: 0.93,
      weight: 0.72,
    },
    {
      id: "friendly",
      eligible: true,
      sends: 4980,
      effective_sends: 4980,
      clicks: 147,
      rate: 0.031,
      interval: [0.027, 0.035],
      p_best: 0.07,
      weight: 0.28,
    },
    { id: "winter", eligible: false, reason: "season: ended 2026-01-01" },
  ],
  chosen: "short",
  propensity: 0.72,
}

/** The data behind a decision. Never contains data about another single user. */
export const GenerateTrace = Trace.annotate({
  description: "With `trace: true`: the data behind the decision",
  examples: [example],
})
