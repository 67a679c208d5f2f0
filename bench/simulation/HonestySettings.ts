import type { ResultsAnswer } from "../../src/results/Answer.ts"
import type { ComponentSetting } from "./ComponentHonesty.ts"
import { failingSettings } from "./FailingVariants.ts"
import { curvedAges, hiddenPlans, type HonestyWorld } from "./HonestyWorld.ts"

// Settings of worlds with known rates, by name.

const base = { variants: 4, decisionsPerDay: 500, days: 28, rate: 0.03, sd: 0 }
/**
 * Returns people who get one message each, and heavy users who get 100 messages each and the share `heavy` of all mail.
 */
const crowdOf = (heavy: number, sends: number) => ({
  people: Math.round(sends * (1 - heavy)),
  heavy,
  keenness: 0.5,
  taste: 1.5,
})
const fatigue = { people: 8000, effects: [0, -0.3, -0.6, -1] }
/** The settings of `deno task bench honesty`. */
export const settings: ReadonlyArray<HonestyWorld> = [
  { ...base, name: "identical" },
  { ...base, name: "sd 0.1", sd: 0.1 },
  { ...base, name: "sd 0.25", sd: 0.25 },
  { ...base, name: "sd 0.25 at 5000", sd: 0.25, decisionsPerDay: 5000 },
  { ...base, name: "segments", sd: 0.1, segmentSd: 0.3, decisionsPerDay: 2000 },
  { ...base, name: "weak segments", sd: 0.1, segmentSd: 0.1, decisionsPerDay: 2000 },
  { ...base, name: "strong segments", sd: 0.1, segmentSd: 0.6, decisionsPerDay: 2000 },
  { ...base, name: "segments A/A", variants: 2, segmentSd: 0, days: 45, decisionsPerDay: 1000 },
  { ...base, name: "segments lift 30 %", variants: 2, segmentSd: 0, days: 45, decisionsPerDay: 1000, lift: 0.3 },
  { ...base, name: "fatigue", sd: 0.25, decisionsPerDay: 3000, fatigue },
  { ...base, name: "fatigue A/A", variants: 2, decisionsPerDay: 3000, fatigue },
  { ...base, name: "fatigue lift 30 %", variants: 2, decisionsPerDay: 3000, lift: 0.3, fatigue },
  { ...base, name: "A/A 500", variants: 2, days: 30 },
  { ...base, name: "A/A 1000", variants: 2, days: 45, decisionsPerDay: 1000 },
  { ...base, name: "lift 30 %", variants: 2, days: 45, decisionsPerDay: 1000, lift: 0.3 },
  { ...base, name: "lift 30 % of 4", days: 45, decisionsPerDay: 1000, lift: 0.3 },
  { ...base, name: "1 % to heavy users", variants: 2, crowd: crowdOf(0.01, 14_000) },
  { ...base, name: "10 % to heavy users", variants: 2, crowd: crowdOf(0.1, 14_000) },
  { ...base, name: "50 % to heavy users", variants: 2, crowd: crowdOf(0.5, 14_000) },
  { ...base, name: "heavy users A/A", variants: 2, days: 45, decisionsPerDay: 1000, crowd: crowdOf(0.5, 45_000) },
  {
    ...base,
    name: "heavy users lift 30 %",
    variants: 2,
    days: 45,
    decisionsPerDay: 1000,
    lift: 0.3,
    crowd: crowdOf(0.1, 45_000),
  },
  { ...base, name: "walk 4 %", sd: 0.15, days: 42, decisionsPerDay: 1000, moves: { walk: 0.04 } },
  {
    ...base,
    name: "fall",
    sd: 0.15,
    days: 42,
    decisionsPerDay: 1000,
    moves: { fall: { day: 21, log: Math.log(0.65) } },
  },
  {
    ...base,
    name: "launch",
    sd: 0.15,
    days: 42,
    decisionsPerDay: 1000,
    moves: { rise: { day: 35, log: Math.log(1.5) } },
  },
  { ...base, name: "one busy person", variants: 2, crowd: { ...crowdOf(0.2, 14_000), isSingle: true } },
  { ...base, name: "slow reactions", sd: 0.25, delay: { medianHours: 48, sigma: 1.2 } },
  { ...base, name: "fast reactions", sd: 0.25, delay: { medianHours: 0.05, sigma: 1 } },
  { ...base, name: "missing plans", sd: 0.1, attribute: hiddenPlans, decisionsPerDay: 2000 },
  { ...base, name: "curved ages", sd: 0.1, attribute: curvedAges, decisionsPerDay: 2000 },
  { ...base, name: "revenue", values: { median: 40, sigma: 1, cap: 300, sd: 0 } },
  { ...base, name: "revenue sd 0.25", sd: 0.1, values: { median: 40, sigma: 1, cap: 300, sd: 0.25 } },
  { ...base, name: "revenue skewed", sd: 0.1, values: { median: 40, sigma: 1.5, cap: 1000, sd: 0.25 } },
]
const people = { ...base, variants: 3, segmentSd: 0, rate: 0.06, decisionsPerDay: 1000 }
const opens = { ...people, rate: 0.3, decisionsPerDay: 3000, days: 45 }
/** Three plans with equally many people, so that variants with fans are equally good over all people. */
const thirds = { name: "plan", values: [["free", 1], ["pro", 1], ["team", 1]] as const, sd: 0 }
/** Worlds of the four answers of results, each with its right answer. */
export const answerWorlds: ReadonlyArray<HonestyWorld & { readonly right: ResultsAnswer["kind"] }> = [
  { ...people, name: "answer undecided", right: "undecided", days: 14, sd: 0.05, segmentSd: 0.05 },
  { ...people, name: "answer one", right: "one_for_all", lift: 0.5, decisionsPerDay: 2000 },
  { ...people, name: "answer different", right: "different_people", fans: Math.log(1.5), decisionsPerDay: 2000 },
  { ...people, name: "answer none", right: "no_difference", variants: 2, rate: 0.5, decisionsPerDay: 15_000 },
  { ...opens, name: "answer none of 3", right: "no_difference" },
  { ...opens, name: "answer one by 10 %", right: "one_for_all", lift: 0.1 },
  { ...opens, name: "answer different by 15 %", right: "different_people", fans: Math.log(1.15), attribute: thirds },
]
/**
 * Intervals are checked at 700 outcomes, as in the other settings. Shares are checked at six times as many outcomes,
 * which show the true differences.
 */
export const failingWorlds = failingSettings.map(({ failing, name }) => {
  const world = { ...base, name, failing, variants: failing.below.length }
  return { name, few: { ...world, rate: 0.05 }, many: { ...world, days: 21, decisionsPerDay: 2000, rate: 0.1 } }
})
const made = { days: 20, decisionsPerDay: 1000 }
/** Settings that check the effects of components. */
export const componentSettings: ReadonlyArray<ComponentSetting> = [
  { ...made, name: "components", effects: 0.15, variants: 0.05 },
  { ...made, name: "strong components", effects: 0.3, variants: 0 },
  { ...made, name: "idle components", effects: 0, variants: 0.25 },
  { ...made, name: "very strong components", effects: 0.6, variants: 0.05 },
]
