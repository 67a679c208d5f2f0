import { weightsOf } from "../domain/ObjectiveWeights.ts"
import type { Objective } from "../domain/Template.ts"

// An objective in words, for the console and commands. Pure.

/** Whether the objective is revenue alone, in units of currency. */
const isRevenue = (objective: Objective): boolean => {
  const { click, conversion, negative, open, revenue } = weightsOf(objective)
  return revenue === 1 && click === 0 && conversion === 0 && negative === 0 && open === 0
}

const outcomes: Readonly<Record<string, string>> = {
  click: "clicks",
  open: "opens",
  conversion: "conversions",
  negative: "negative signals",
  revenue: "revenue",
}

/** The goal of a template: `clicks`, `revenue up to 200`, or a mix such as `clicks × 1, conversions × 5`. */
export const objectiveText = (objective: Objective): string => {
  if (typeof objective === "string") return outcomes[objective]!
  const { revenue_cap: cap, ...weights } = objective
  if (isRevenue(objective)) return `revenue up to ${cap}`
  return Object.keys(outcomes).flatMap((outcome) => {
    const weight = weights[outcome as keyof typeof weights]
    if (weight === undefined || weight === 0) return []
    const name = outcome === "revenue" ? `revenue up to ${cap}` : outcomes[outcome]
    return [`${name} × ${String(weight).replace("-", "−")}`]
  }).join(", ")
}

/** `click rate`, `revenue per decision`, or the value of a decision by a mix. */
export const rateName = (objective: Objective): string =>
  typeof objective === "string"
    ? `${objective} rate`
    : isRevenue(objective)
    ? "revenue per decision"
    : "value per decision"

/** Unit of a gain: `clicks`, `units of revenue`, or `points of value`. */
export const unitName = (objective: Objective): string =>
  typeof objective === "string" ? `${objective}s` : isRevenue(objective) ? "units of revenue" : "points of value"

/**
 * Returns how often intervals of rates and gains contain the true value, according to simulations (`bench/honesty.ts`).
 * With revenue, whose values differ much, coverage was 93.8 and 95.1 % for rates, 94.7 and 96.0 % for gains. If people
 * tire of one of two variants, coverage of rates was 92.2 %. If the effects of segments have a standard deviation of
 * 0.6, coverage of gains and of lifts over a random split was 93 %.
 */
export const coverageText = (objective: Objective): string =>
  `${
    weightsOf(objective).revenue === 0 ? "95 % or more" : "about 94 %"
  } of the cases, and less often where people tire ` +
  "of variants or segments differ very much"

/**
 * Number of decimals that shows rates up to `largest` with three digits, at most 6. Rates are in percent, or plain for
 * the value per decision of a mix.
 */
export const rateDecimals = (inPercent: boolean, largest: number): number => {
  const size = Math.abs(largest) * (inPercent ? 100 : 1)
  return size === 0 ? 2 : Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(size))))
}

/** Describes the conversions that count without value in a sentence. Empty without such conversions. */
export const otherCurrencyText = (count: number): ReadonlyArray<string> =>
  count === 0 ? [] : [
    `${count} ${count === 1 ? "conversion is" : "conversions are"} in another currency than the organization's and ` +
    `${count === 1 ? "counts" : "count"} without value.`,
  ]
