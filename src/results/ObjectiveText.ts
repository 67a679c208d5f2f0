import { weightsOf } from "../domain/ObjectiveWeights.ts"
import type { Objective } from "../domain/Template.ts"

// An objective in words, for the console and commands. Pure.

/** Whether an objective is revenue alone, in units of currency. */
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

/** `click rate`, `revenue per decision`, or the worth of a decision by a mix. */
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
 * How often intervals of rates and gains hold the true value, by simulations (`bench/honesty.ts`). With revenue, whose values
 * differ much, they had 93.8 and 95.1 % for rates, 94.7 and 96.0 % for gains. Where people tire of one of two variants, rates had
 * 92.2 %, and where the effects of segments have a standard deviation of 0.6, gains and lifts over a random split had 93 %.
 */
export const coverageText = (objective: Objective): string =>
  `${
    weightsOf(objective).revenue === 0 ? "95 % or more" : "about 94 %"
  } of the cases, and less often where people tire ` +
  "of variants or segments differ very much"

/** Decimals of rates up to `largest` with three digits, at most 6: in percent, or plain for the value per decision of a mix. */
export const rateDecimals = (inPercent: boolean, largest: number): number => {
  const size = Math.abs(largest) * (inPercent ? 100 : 1)
  return size === 0 ? 2 : Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(size))))
}

/** Conversions that count without value, in a sentence; empty without any. */
export const otherCurrencyText = (count: number): ReadonlyArray<string> =>
  count === 0 ? [] : [
    `${count} ${count === 1 ? "conversion is" : "conversions are"} in another currency than the organization's and ` +
    `${count === 1 ? "counts" : "count"} without value.`,
  ]
