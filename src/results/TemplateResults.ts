import { Schema } from "effect"
import { stoppingRule } from "../bandit/Verdict.ts"
import { ResultsAnswer } from "./Answer.ts"
import { ExposureEffect } from "./ExposureEffects.ts"
import { Health } from "./Health.ts"
import { HoldoutResults } from "./HoldoutResults.ts"
import { Objective } from "../domain/Template.ts"
import { intervalPromise } from "./ObjectiveText.ts"
import { loserRule } from "./Losers.ts"
import { type ClickReason, clickReason, clickReasons } from "../domain/ClickReasons.ts"
import { described } from "../domain/described.ts"
import { WithoutModel } from "./WithoutModel.ts"
import { nothing } from "../domain/SendNothing.ts"
import { type CountedEvent, countedEvents, eventKinds } from "../domain/EventKinds.ts"

// Results of a template's variants, in the shape of the API's response.

const countOf = (event: CountedEvent) => {
  const { description } = eventKinds[event]
  return description === undefined ? Schema.Finite : described(Schema.Finite, description)
}

/** Number of decisions with each outcome. An outcome that repeats within a decision counts once. */
export const OutcomeCounts = Schema.Struct({
  ...Object.fromEntries(countedEvents.map((event) => [event, countOf(event)])) as Record<CountedEvent, Schema.Finite>,
  negative: described(Schema.Finite, "At least one of unsubscribe and spam"),
})
export type OutcomeCounts = typeof OutcomeCounts.Type

/** Value of the conversions of some decisions. */
const RevenueCounts = Schema.Struct({
  value: described(
    Schema.Finite,
    "Sum of the values of the conversions, at most `revenue_cap` for each decision, in the organization's currency",
  ),
  other_currency: described(
    Schema.Finite,
    "Conversions with a value in another currency than the organization's, which count without value",
  ),
})
type RevenueCounts = typeof RevenueCounts.Type

const counts = {
  decisions: described(
    Schema.Finite,
    "Includes decisions whose variant could not be rendered. They have no outcome, and another variant was sent",
  ),
  voided: described(
    Schema.Finite,
    "Decisions whose message bounced or failed. No recipient saw it, so they do not count in rates",
  ),
  outcomes: OutcomeCounts,
  revenue: described(Schema.NullOr(RevenueCounts), "Null unless the objective has a `revenue_cap`"),
}

const apart = {
  automated: described(OutcomeCounts, "Events of machines, such as prefetching proxies and link scanners; not learned"),
  forced: described(
    Schema.Struct(counts),
    "Decisions whose variant was not drawn, with their outcomes: the caller (`copy_id`) or a holdout (`fixed`) named it, or it " +
      "was sent in place of a variant that could not be rendered. They are reported, and the model never learns from them",
  ),
  click_rates: described(
    Schema.Struct({ people: Schema.NullOr(Schema.Finite), all: Schema.NullOr(Schema.Finite) }),
    "Share of the decisions that were not voided, forced ones included, with a click by a person (`people`), and with any " +
      "click, including clicks that were set aside (`all`). Null without such decisions",
  ),
}

/** The clicks that count as a machine's, with their reasons. */
const SetAside = Schema.Struct({
  clicks: described(
    Schema.Finite,
    "Number of clicks. Unlike `automated.click`, counts each click of a message",
  ),
  reasons: described(
    Schema.Struct(
      Object.fromEntries(
        clickReasons.map((reason) => [reason, described(Schema.Finite, clickReason[reason].rule)]),
      ) as Record<ClickReason, Schema.Finite>,
    ),
    "Number of clicks by reason. If several reasons apply to a click, the first one counts",
  ),
})

/**
 * Whether a variant may be selected now. `removed`: no longer part of the template, but with decisions in the window.
 */
export const VariantStatus = Schema.Literals(["active", "out_of_season", "stopped", "removed"])
export type VariantStatus = typeof VariantStatus.Type

/** Results of one variant, within a segment or in all. */
export const VariantResults = Schema.Struct({
  copy_id: Schema.String,
  name: Schema.String,
  status: VariantStatus,
  ...counts,
  matured_sends: described(
    Schema.Finite,
    "Decisions that no longer await outcomes. Each decision counts for the share of its outcomes that is due at its age. " +
      "Within a segment, estimated from the whole variant",
  ),
  ...apart,
  raw_rate: described(
    Schema.NullOr(Schema.Finite),
    "The counted objective per decision that was not voided. Null without such decisions. Adaptive allocation and pending " +
      "outcomes bias it downwards",
  ),
  rate: described(
    Schema.NullOr(Schema.Finite),
    "The model's estimate of the objective per decision, for the current traffic and the days of `rate_days`. This member " +
      "and the members that depend on it are null without decisions of the variant or without any outcome of the variants",
  ),
  interval: described(
    Schema.NullOr(Schema.Tuple([Schema.Finite, Schema.Finite])),
    `95 % credible interval of \`rate\`: ${intervalPromise}`,
  ),
  change: described(
    Schema.NullOr(Schema.Finite),
    "Change of the rate against the days before `rate_days`, as a share of the earlier rate. Approximate. Null unless the rate " +
      "has certainly moved, with less than a week of earlier days, and with a requested window",
  ),
  p_best: described(
    Schema.NullOr(Schema.Finite),
    "Probability of the highest rate among the active variants. Null for an inactive variant, and if `rate` is null",
  ),
  expected_loss: described(
    Schema.NullOr(Schema.Finite),
    "Expected loss from choosing this variant permanently, as a share of its rate. Null if `rate` is null or not above 0",
  ),
  share: described(
    Schema.Finite,
    "Share of the traffic that the variant gets now with this model. The shares of the active variants sum to 1",
  ),
})
export type VariantResults = typeof VariantResults.Type

/** Conditions that a winner still lacks. */
const Missing = Schema.Literals(["variants", "outcomes", "days", "sends", "certainty"])

const Interval = Schema.Tuple([Schema.Finite, Schema.Finite])

const liftFields = {
  value: described(Schema.Finite, "Relative lift: the leader's rate over the baseline's, less 1"),
  interval: described(
    Interval,
    "95 % credible interval of `value`. In simulations it contained the true lift in 92 to 100 % of the cases, and in 84 % if " +
      "the rate of each variant moves by 4 % a day",
  ),
  difference: described(Schema.Finite, "The leader's rate less the baseline's, in the unit of the rates"),
  difference_interval: described(Interval, "95 % credible interval of `difference`"),
}

/** How much better the leader is than a random split of the active variants. */
const SplitLiftResults = Schema.Struct(liftFields)

/** How much better the leader is than the next best active variant. */
const LiftResults = Schema.Struct({
  ...liftFields,
  baseline: described(Schema.String, "The active variant with the next best rate"),
})

/** The verdict on the variants, with the leader and its lifts. */
export const WinnerResults = Schema.Struct({
  state: described(
    Schema.Literals(["undecided", "winner", "firm", "no_difference"]),
    "`verdict` with the shorter name `firm` for `firm_winner`",
  ),
  verdict: described(
    Schema.Literals(["undecided", "winner", "firm_winner", "no_difference"]),
    "The verdict on all decisions, independent of the window and segment, updated once an hour. `no_difference`: all " +
      `active variants are within ${
        100 * stoppingRule.loss
      } % of each other: whichever is chosen, less of its rate can be lost (with a ` +
      "probability of 95 %), choosing by segment gains no more, and none is a firm winner. `winner`: the leader " +
      `is the best with a probability of ${100 * stoppingRule.probability.later} % ` +
      `(${
        100 * stoppingRule.probability.first
      } % in the first ${stoppingRule.probability.firstDays} days), with evidence ` +
      `against each of the others; in ${stoppingRule.simulated.runs} simulations of two equally good variants (1,000 decisions a day, 45 days, daily looks, the default \`runner_up_floor\`) ` +
      `${stoppingRule.simulated.winners} had one. ` +
      "`firm_winner`: equally good variants reach it with a " +
      "probability of at most 1 %, even if results are read often. Weaker variants soon get little traffic, so it requires a large " +
      "lift, much traffic or a higher exploration floor. Each verdict requires 7 days and 100 matured sends of the leader. " +
      "A winner stays until another variant is more probably the best, the winner is stopped, or a variant is added that it " +
      "has not been compared with",
  ),
  since: described(Schema.NullOr(Schema.String), "Time of the verdict, ISO 8601. Null while it is undecided"),
  copy_id: described(Schema.NullOr(Schema.String), "The winner; null unless the verdict names one"),
  leader: described(
    Schema.NullOr(Schema.String),
    "The active variant with the highest rate. Null without an active variant, and without outcomes",
  ),
  p_best: described(Schema.NullOr(Schema.Finite), "Of the leader"),
  expected_loss: described(Schema.NullOr(Schema.Finite), "Of the leader"),
  value_remaining: described(
    Schema.NullOr(Schema.Finite),
    "Upper bound, with 95 % probability, of the possible gain over the leader, as a share of its rate",
  ),
  lift: described(
    Schema.NullOr(LiftResults),
    "Lift of the leader over the next best active variant. Null with fewer than two active variants with data",
  ),
  lift_over_split: described(
    Schema.NullOr(SplitLiftResults),
    "Lift of the leader over a random split of the active variants, including the leader. Null if `lift` is null",
  ),
  losers: described(
    Schema.Array(Schema.String),
    "Active variants that are surely worse than the leader, the worst first. The sum of their probabilities of being best " +
      `is at most ${100 * loserRule.probability} %. Each variant has a probability below ${
        100 * loserRule.inSegments
      } % in every segment, a loss ` +
      `of ${
        100 * loserRule.loss
      } % or more if it is chosen permanently, and ${loserRule.maturedSends} matured sends of its own. ` +
      `Empty before ${stoppingRule.days} days of data, before ${stoppingRule.maturedSends} matured sends of the leader, and ` +
      "in results of a segment",
  ),
  days: described(Schema.Finite, "Days of data"),
  matured_sends: described(Schema.Finite, "Of the leader"),
  waiting_for: described(
    Schema.Array(Missing),
    "Conditions that an undecided verdict lacks: a second active variant, any outcome, 7 days of data, 100 matured sends of the " +
      "leader, or certainty about a difference",
  ),
})
export type WinnerResults = typeof WinnerResults.Type

/** The best variant, compared with sending nothing. */
const OverNothing = Schema.Struct({
  copy_id: described(Schema.String, "The active variant with the highest rate"),
  difference: described(Schema.Finite, "Its rate less the rate of sending nothing, in the unit of the rates"),
  difference_interval: described(Interval, "95 % credible interval of `difference`"),
  value: described(
    Schema.NullOr(Schema.Finite),
    "Relative lift over sending nothing. Null unless the rate of sending nothing is surely above 0",
  ),
  interval: described(Schema.NullOr(Interval), "95 % credible interval of `value`. Null if `value` is null"),
  probability: described(Schema.Finite, "Probability that this variant is better than sending nothing"),
  share: described(Schema.Finite, "Share of the decisions that send nothing now with this model"),
}).annotate({
  description: "The best variant, compared with sending nothing. Present only if the template may send nothing " +
    "(`send_nothing`), after the first outcome. In `variants`, sending nothing has an empty `copy_id`, and `winner.copy_id` " +
    "is empty if sending nothing is the winner",
})

/** Effect of a component on the rate of the variants that have it. */
const ComponentResults = Schema.Struct({
  kind: Schema.String,
  value: described(Schema.NullOr(Schema.String), "Null: variants without a component of this kind"),
  decisions: described(Schema.Finite, "Decisions for variants that have it"),
  lift: described(Schema.Finite, "Relative difference of the rate from the average over the values of the kind"),
  interval: described(
    Interval,
    "95 % interval of `lift`. In simulations it held the true effect in 95 % or more of the cases with effects of up to " +
      "about 30 %, and in 81 % with effects twice as strong",
  ),
})

const AttributeValues = Schema.Record(Schema.String, Schema.String)

const TimingCount = Schema.Struct({
  sends: Schema.Finite,
  engaged: Schema.Finite,
  rate: Schema.NullOr(Schema.Finite),
  interval: described(Schema.NullOr(Schema.Tuple([Schema.Finite, Schema.Finite])), "95 % interval of `rate`"),
})
const TimingDifference = Schema.NullOr(Schema.Struct({
  difference: Schema.Finite,
  interval: described(Schema.Tuple([Schema.Finite, Schema.Finite]), "95 % interval of `difference`"),
}))

/** Engagement with messages sent at advised send times, and at other times. */
export const TimingResults = Schema.Struct({
  followed: described(TimingCount, "Messages sent at the time that Delay advised, within minutes"),
  explored: described(
    TimingCount,
    "Messages whose advised time was drawn evenly from all allowed times, for comparison",
  ),
  missed: described(TimingCount, "Messages with advice that were sent at another time"),
  gain: described(
    TimingDifference,
    "Engagement of `followed` less the engagement of `explored`. Chance alone divided the two groups",
  ),
  followed_against_missed: described(
    TimingDifference,
    "`followed` less `missed`. Senders who follow advice may differ in other ways as well",
  ),
})

/** The results of a template. */
export const TemplateResults = Schema.Struct({
  template_id: Schema.String,
  objective: described(Objective, "The outcome that the rates measure. For a mix, rates are its value per decision"),
  segment: described(AttributeValues, "The attribute values the answer is restricted to"),
  window: Schema.Struct({
    mode: Schema.Literals(["adaptive", "window"]),
    lookback_days: Schema.NullOr(Schema.Finite),
    offset_days: Schema.NullOr(Schema.Finite),
    half_life_days: described(
      Schema.NullOr(Schema.Finite),
      "If adaptive, the age at which an outcome counts half in the choice of variants. Counts do not depend on age",
    ),
    from: described(
      Schema.String,
      "Start of the counted decisions, ISO 8601: of the first hour or, for decisions older than four days, of the first day or " +
        "week (UTC) that begins in the window",
    ),
    to: described(
      Schema.String,
      "End of the counted decisions, not included, ISO 8601: of the last hour, day or week that begins in the window",
    ),
    first_decision: described(
      Schema.NullOr(Schema.String),
      "Start of the hour or, for older decisions, of the day or week of the first decision in the window, ISO 8601. Null " +
        "without decisions",
    ),
  }),
  rate_days: described(
    Schema.Struct({ from: Schema.String, to: Schema.String }),
    "The days that `rate` describes, ISO 8601: the last 14 days, or the requested window, but none before the first decision",
  ),
  policy_version: Schema.String,
  fitted_at: Schema.String,
  ...counts,
  ...apart,
  set_aside: described(SetAside, "Clicks that were set aside as a machine's, and are not learned from"),
  variants: Schema.Array(VariantResults),
  segments: described(
    Schema.Array(
      Schema.Struct({ segment: AttributeValues, decisions: Schema.Finite, variants: Schema.Array(VariantResults) }),
    ),
    "One entry for each value of each learning attribute, most decisions first, at most 100",
  ),
  winner: WinnerResults,
  answer: described(ResultsAnswer, "Which variant people should get, in one of four answers"),
  send_nothing: Schema.optionalKey(OverNothing),
  components: described(
    Schema.Array(ComponentResults),
    "The effects of the variants' components, independent of the segment. Empty without components that variants share, and " +
      "without outcomes",
  ),
  locales: Schema.optionalKey(described(
    Schema.Array(Schema.Struct({
      locale: described(Schema.String, "The locale of the texts that were sent"),
      decisions: Schema.Finite,
      variants: Schema.Array(Schema.Struct({
        copy_id: Schema.String,
        ...counts,
        ...apart,
        raw_rate: described(Schema.NullOr(Schema.Finite), "The counted objective per decision that was not voided"),
      })),
    })),
    "Counts by locale, most decisions first. Learning and verdicts are shared by all locales. Absent for a template in one locale",
  )),
})
export type TemplateResults = typeof TemplateResults.Type

/**
 * The results with the gain of advised send times and the comparison with people held out. Both cover all segments, and
 * decisions of the window that are at least four days old.
 */
export const TimedTemplateResults = Schema.Struct({
  ...TemplateResults.fields,
  without_model: described(
    Schema.NullOr(WithoutModel),
    "The leader compared with the next best variant by the recorded probabilities alone, since the last turn of the evidence, " +
      "over all segments and independent of the window. Decisions count once they are four days old. Null with " +
      "fewer than two active variants or 20 outcomes, and with revenue in the objective",
  ),
  health: described(Health, "Whether the comparison is reliable. It covers the whole window and all segments"),
  timing: TimingResults,
  holdout: described(
    Schema.NullOr(HoldoutResults),
    "Outcomes of treated people, compared with the outcomes of people held out, over all segments. Null without a current " +
      "or past holdout",
  ),
  fatigue: described(
    Schema.Array(ExposureEffect),
    "Changes of a variant's rate by the number of a person's earlier messages with it, over all variants and segments. Empty " +
      "without evidence of a change",
  ),
}).annotate({ identifier: "TemplateResults" })
export type TimedTemplateResults = typeof TimedTemplateResults.Type

/**
 * The variants that the first line of results compares, if they have decisions: the winner, the leader and the
 * runner-up.
 */
export const comparedIn = (
  { variants, winner }: Pick<TemplateResults, "variants" | "winner">,
): ReadonlyArray<string> =>
  [...new Set([winner.copy_id, winner.leader, winner.lift?.baseline])].filter((id): id is string =>
    id !== nothing && variants.some(({ copy_id, decisions }) => copy_id === id && decisions > 0)
  )
