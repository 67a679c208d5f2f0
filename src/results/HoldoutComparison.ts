import { Schema } from "effect"
import { described } from "../domain/described.ts"
import { valuedOutcomes } from "../domain/ObjectiveWeights.ts"
import { countOf, differenceOf, type TimingCount } from "../sendtime/Timing.ts"

// Compares the outcomes of treated people with the outcomes of people who are held out. Pure.

/** Number of decisions of a group of people, and of its decisions with the outcome. */
export interface GroupCount {
  readonly decisions: number
  readonly outcomes: number
}

const Interval = Schema.Tuple([Schema.Finite, Schema.Finite])

const HoldoutSide = Schema.Struct({
  outcomes: described(Schema.Finite, "Decisions with the outcome"),
  rate: described(Schema.NullOr(Schema.Finite), "Share of the decisions with the outcome; null without decisions"),
  interval: described(Schema.NullOr(Interval), "95 % interval of `rate` (Wilson), widened by the design effect"),
})

/** The comparison of treated people with people held out, by one outcome. */
export const HoldoutOutcome = Schema.Struct({
  outcome: Schema.Literals(valuedOutcomes),
  treated: HoldoutSide,
  control: HoldoutSide,
  difference: described(
    Schema.NullOr(Schema.Finite),
    "The rate of `treated` less the rate of `control`. Null without decisions on one of the sides",
  ),
  interval: described(
    Schema.NullOr(Interval),
    "95 % interval of `difference` (Newcombe's hybrid of Wilson's intervals), widened by the design effect",
  ),
  design_effect: described(
    Schema.Finite,
    "Ratio of the variance to the variance of independent decisions, 1 or more, because one person has several decisions. " +
      "Estimated from 32 groups of people",
  ),
  needed: described(
    Schema.NullOr(Schema.Finite),
    "Number of additional decisions, divided as before, that detect a difference of this size with a probability of 80 %. 0 if " +
      "no more are needed. The number is uncertain, as is the difference. Null without a difference",
  ),
})
export type HoldoutOutcome = typeof HoldoutOutcome.Type

/** Standard normal quantiles: of a 95 % interval, and of a power of 80 %. */
const z95 = 1.959964
const z80 = 0.841621

const sumOf = (groups: ReadonlyArray<GroupCount>): GroupCount => ({
  decisions: groups.reduce((sum, { decisions }) => sum + decisions, 0),
  outcomes: groups.reduce((sum, { outcomes }) => sum + outcomes, 0),
})

/**
 * Returns the variance of a rate between groups, divided by the variance of independent decisions. Undefined if the
 * latter is 0.
 */
const designEffectOf = (groups: ReadonlyArray<GroupCount>): number | undefined => {
  const { decisions, outcomes } = sumOf(groups)
  const rate = outcomes / decisions
  const expected = outcomes * (1 - rate)
  if (!(expected > 0)) return undefined
  const found = groups.reduce((sum, group) => sum + (group.outcomes - rate * group.decisions) ** 2, 0)
  return found * groups.length / (groups.length - 1) / expected
}

/** Returns the number of independent decisions with equal information and an equal rate. */
const effective = ({ decisions, outcomes }: GroupCount, designEffect: number): TimingCount =>
  countOf({ sends: decisions / designEffect, engaged: outcomes / designEffect })

const neededFor = (treated: GroupCount, control: GroupCount, designEffect: number): number | null => {
  const all = treated.decisions + control.decisions
  const [a, b] = [treated.outcomes / treated.decisions, control.outcomes / control.decisions]
  if (!(a !== b)) return null
  const shareOf = ({ decisions }: GroupCount) => decisions / all
  const variance = designEffect * (a * (1 - a) / shareOf(treated) + b * (1 - b) / shareOf(control))
  return Math.max(0, Math.ceil(variance * ((z95 + z80) / (a - b)) ** 2 - all))
}

/**
 * Compares the two sides of a holdout. Both sides are divided by chance into an equal number of groups of people.
 *
 * A person can have several decisions, and some people click more than others. So decisions are not independent of each
 * other, and an interval that assumed independence would be too narrow. The groups' rates show how much wider it must
 * be (the design effect of a cluster sample, a mean over both sides and at least 1). The interval is Newcombe's, for
 * the effective number of independent decisions.
 */
export const compare = (
  treated: ReadonlyArray<GroupCount>,
  control: ReadonlyArray<GroupCount>,
): Omit<HoldoutOutcome, "outcome"> => {
  const sides = [sumOf(treated), sumOf(control)] as const
  const effects = [designEffectOf(treated), designEffectOf(control)].filter((effect) => effect !== undefined)
  const mean = effects.reduce((sum, effect) => sum + effect, 0) / Math.max(1, effects.length)
  const designEffect = Math.max(1, mean)
  const [a, b] = [effective(sides[0], designEffect), effective(sides[1], designEffect)]
  const difference = differenceOf(a, b)
  const sideOf = ({ outcomes }: GroupCount, { interval, rate }: TimingCount): typeof HoldoutSide.Type => ({
    outcomes,
    rate,
    interval,
  })
  return {
    treated: sideOf(sides[0], a),
    control: sideOf(sides[1], b),
    difference: difference?.difference ?? null,
    interval: difference?.interval ?? null,
    design_effect: designEffect,
    needed: difference === null ? null : neededFor(sides[0], sides[1], designEffect),
  }
}
