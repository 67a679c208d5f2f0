import { clickReason, clickReasons } from "../domain/ClickReasons.ts"
import type { TemplateResults } from "./TemplateResults.ts"

/** Formats of numbers and lists, which differ between terminal and console. */
interface Formats {
  readonly count: (number: number) => string
  readonly percent: (share: number) => string
  readonly list: (words: ReadonlyArray<string>) => string
}

/**
 * Returns how many clicks were set aside as a machine's and why, and the click rates without and with them. Undefined
 * without such clicks.
 */
export const setAsideText = (
  { click_rates: { all, people }, set_aside: { clicks, reasons } }: Pick<TemplateResults, "click_rates" | "set_aside">,
  { count, list, percent }: Formats,
): string | undefined => {
  if (clicks === 0) return undefined
  const why = clickReasons.flatMap((reason) =>
    reasons[reason] > 0 ? [`${count(reasons[reason])} ${clickReason[reason].words}`] : []
  )
  const rates = people === null || all === null
    ? ""
    : `. Click rate: ${percent(people)} by people, ${percent(all)} with machines`
  return `${count(clicks)} ${clicks === 1 ? "click" : "clicks"} set aside: ${list(why)}${rates}`
}
