import { weightsOf } from "../domain/ObjectiveWeights.ts"
import type { Objective } from "../domain/Template.ts"
import { english, fill, plural, t, translated } from "../languages/Language.ts"

// An objective in words, for the console and commands. Pure.

/** Whether the objective is revenue alone, in units of currency. */
const isRevenue = (objective: Objective): boolean => {
  const { click, conversion, negative, open, revenue } = weightsOf(objective)
  return revenue === 1 && click === 0 && conversion === 0 && negative === 0 && open === 0
}

const outcomes: Readonly<Record<string, string>> = {
  click: english("clicks"),
  open: english("opens"),
  conversion: english("conversions"),
  negative: english("negative signals"),
  revenue: english("revenue"),
}

const rates: { readonly [outcome in Extract<Objective, string>]: string } = {
  click: english("click rate"),
  open: english("open rate"),
  conversion: english("conversion rate"),
}

/** The goal of a template: `clicks`, `revenue up to 200`, or a mix such as `clicks × 1, conversions × 5`. */
export const objectiveText = (objective: Objective): string => {
  if (typeof objective === "string") return translated(outcomes[objective]!)
  const { revenue_cap: cap, ...weights } = objective
  if (isRevenue(objective)) return t`revenue up to ${cap ?? 0}`
  return Object.keys(outcomes).flatMap((outcome) => {
    const weight = weights[outcome as keyof typeof weights]
    if (weight === undefined || weight === 0) return []
    const name = outcome === "revenue" ? t`revenue up to ${cap ?? 0}` : translated(outcomes[outcome]!)
    return [`${name} × ${String(weight).replace("-", "−")}`]
  }).join(", ")
}

/** `click rate`, `revenue per send`, or the value of a send by a mix. */
export const rateName = (objective: Objective): string =>
  typeof objective === "string"
    ? translated(rates[objective])
    : isRevenue(objective)
    ? t`revenue per send`
    : t`value per send`

/** Unit of a gain: `clicks`, `units of revenue`, or `points of the mix`. */
export const unitName = (objective: Objective): string =>
  typeof objective === "string"
    ? translated(outcomes[objective]!)
    : isRevenue(objective)
    ? t`units of revenue`
    : t`points of the mix`

/** How often 95 % intervals of rates and gains contained the true value in the settings of docs/guide/results.md. */
export const coverageText = english("in 90 to 98 of 100 simulated cases")

/** The promise of the intervals of rates, and its limit. */
export const intervalPromise =
  `95 % intervals held the true rate of these days ${coverageText}, and say nothing about later days.`

/** Says that a rate has moved by about this share, in steps of 5 points: `fell by about 35 %`. */
export const movedText = (change: number): string => {
  const points = Math.max(5, 5 * Math.round(20 * Math.abs(change)))
  return change < 0 ? t`fell by about ${points} %` : t`rose by about ${points} %`
}

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
    fill(
      plural(
        count,
        "{0} conversion is in another currency than the organization's and counts without value.",
        "{0} conversions are in another currency than the organization's and count without value.",
      ),
      [count],
    ),
  ]
