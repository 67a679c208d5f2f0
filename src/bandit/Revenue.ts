import type { TallyCounts } from "./Tally.ts"

// The value of a decision's conversions, and its form in tallies. Pure.

/** Rule by which the conversions of a template's decisions count as revenue. */
export interface RevenueRule {
  /** Maximum value of one decision. Above 0. */
  readonly cap: number
  /** ISO 4217 code. Conversions in another currency count without value. Null: conversions in all currencies count. */
  readonly currency: string | null
}

/** A conversion with the value that its source reports, or a refund with a value below 0. */
export interface Valued {
  readonly value?: number | undefined
  readonly currency?: string | undefined
}

/** Tallies contain revenue in this fraction of a unit of currency. */
const revenueScale = 1000

/** Tallies contain the square of a decision's revenue in this fraction of the squared cap. */
const squareScale = 1e9

/**
 * Returns the counts of revenue of one decision with these conversions and refunds, or undefined if there is nothing to
 * count.
 */
export const revenueOf = (
  { cap, currency }: RevenueRule,
  conversions: ReadonlyArray<Valued>,
): Pick<TallyCounts, "revenue" | "revenue_square" | "other_currency"> | undefined => {
  let sum = 0
  let others = 0
  for (const { currency: given = currency, value } of conversions) {
    if (value === undefined) continue
    if (currency !== null && given !== currency) others++
    // Sums whole thousandths, so that the order of the conversions does not matter.
    else sum += Math.sign(value) * Math.round(Math.abs(value) * revenueScale)
  }
  if (sum <= 0 && others === 0) return undefined
  // Refunds of unknown conversions must not make revenue negative.
  const revenue = Math.min(Math.max(0, sum), Math.round(cap * revenueScale))
  // A square is at least 1, because the model would treat revenue without squares as certain.
  const square = revenue === 0 ? 0 : Math.max(1, Math.round((revenue / revenueScale / cap) ** 2 * squareScale))
  return {
    ...(revenue === 0 ? {} : { revenue, revenue_square: square }),
    ...(others === 0 ? {} : { other_currency: others }),
  }
}

/** Converts a tally of revenue to units of currency. */
export const revenueIn = (tallied: number): number => tallied / revenueScale

/** Units of currency in one unit of the tally of revenue. */
export const revenueUnit = 1 / revenueScale

/** Squared units of currency in one unit of the tally of squares, under this cap. */
export const squareUnit = (cap: number): number => cap ** 2 / squareScale
