import { countOf, differenceOf, type TimingCount } from "../sendtime/Timing.ts"

// How much better people do for whom the service decides than people who are held out. Pure.

/** Decisions of a group of people, and those of them with the outcome. */
export interface GroupCount {
  readonly decisions: number
  readonly outcomes: number
}

/** One side of a holdout: `interval` is the 95 % interval of `rate`; both are null without decisions. */
export interface SideRate {
  readonly outcomes: number
  readonly rate: number | null
  readonly interval: readonly [number, number] | null
}

export interface Comparison {
  readonly treated: SideRate
  readonly control: SideRate
  /** The treated rate less that of the control, with its 95 % interval; null without decisions on one of the sides. */
  readonly difference: number | null
  readonly interval: readonly [number, number] | null
  /** How many times the variance is that of decisions that are independent of each other; 1 or more. */
  readonly design_effect: number
  /** Decisions still needed to tell a difference of this size from none; null without a difference. */
  readonly needed: number | null
}

/** Standard normal quantiles: of a 95 % interval, and of a power of 80 %. */
const z95 = 1.959964
const z80 = 0.841621

const sumOf = (groups: ReadonlyArray<GroupCount>): GroupCount => ({
  decisions: groups.reduce((sum, { decisions }) => sum + decisions, 0),
  outcomes: groups.reduce((sum, { outcomes }) => sum + outcomes, 0),
})

/** The variance of a rate as groups show it, divided by that of independent decisions; undefined where that is 0. */
const designEffectOf = (groups: ReadonlyArray<GroupCount>): number | undefined => {
  const { decisions, outcomes } = sumOf(groups)
  const rate = outcomes / decisions
  const expected = outcomes * (1 - rate)
  if (!(expected > 0)) return undefined
  const found = groups.reduce((sum, group) => sum + (group.outcomes - rate * group.decisions) ** 2, 0)
  return found * groups.length / (groups.length - 1) / expected
}

/** As many decisions, with the same rate, as tell as much when they are independent. */
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
 * Compares the two sides of a holdout, each divided by chance into the same number of groups of people.
 *
 * A person decides more than once, and some people click more than others: decisions are not independent of each other,
 * and an interval that took them to be would be too narrow. The groups' rates show how much wider it must be (the
 * design effect of a cluster sample, a mean over both sides and at least 1). The interval is Newcombe's for as many
 * independent decisions as tell as much.
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
