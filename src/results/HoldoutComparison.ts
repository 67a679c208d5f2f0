import { countOf, differenceOf, type TimingCount } from "../sendtime/Timing.ts"

// Compares the outcomes of treated people with the outcomes of people who are held out. Pure.

/** Number of decisions of a group of people, and of its decisions with the outcome. */
export interface GroupCount {
  readonly decisions: number
  readonly outcomes: number
}

/** One side of a holdout. `interval` is the 95 % interval of `rate`. Both are null without decisions. */
interface SideRate {
  readonly outcomes: number
  readonly rate: number | null
  readonly interval: readonly [number, number] | null
}

/** The comparison of the two sides of a holdout by one outcome. */
interface Comparison {
  readonly treated: SideRate
  readonly control: SideRate
  /** The treated rate minus the control rate, with its 95 % interval. Null if a side has no decisions. */
  readonly difference: number | null
  readonly interval: readonly [number, number] | null
  /** Ratio of the variance to the variance of independent decisions. 1 or more. */
  readonly design_effect: number
  /** Number of decisions still needed to detect a difference of this size. Null without a difference. */
  readonly needed: number | null
}

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
export const compare = (treated: ReadonlyArray<GroupCount>, control: ReadonlyArray<GroupCount>): Comparison => {
  const sides = [sumOf(treated), sumOf(control)] as const
  const effects = [designEffectOf(treated), designEffectOf(control)].filter((effect) => effect !== undefined)
  const mean = effects.reduce((sum, effect) => sum + effect, 0) / Math.max(1, effects.length)
  const designEffect = Math.max(1, mean)
  const [a, b] = [effective(sides[0], designEffect), effective(sides[1], designEffect)]
  const difference = differenceOf(a, b)
  const sideOf = ({ outcomes }: GroupCount, { interval, rate }: TimingCount): SideRate => ({ outcomes, rate, interval })
  return {
    treated: sideOf(sides[0], a),
    control: sideOf(sides[1], b),
    difference: difference?.difference ?? null,
    interval: difference?.interval ?? null,
    design_effect: designEffect,
    needed: difference === null ? null : neededFor(sides[0], sides[1], designEffect),
  }
}
