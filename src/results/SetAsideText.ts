import { clickReason, clickReasons } from "../domain/ClickReasons.ts"
import { fill, plural, t, translated } from "../languages/Language.ts"
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
    reasons[reason] > 0 ? [`${count(reasons[reason])} ${translated(clickReason[reason].words)}`] : []
  )
  return [
    fill(plural(clicks, "{0} click set aside: {1}", "{0} clicks set aside: {1}"), [count(clicks), list(why)]),
    ...(people === null || all === null
      ? []
      : [t`Click rate: ${percent(people)} by people, ${percent(all)} with machines`]),
  ].join(". ")
}
