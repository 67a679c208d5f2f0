import { candidateName, nothing } from "../domain/SendNothing.ts"
import { t } from "../languages/Language.ts"
import type { TemplateResults } from "./TemplateResults.ts"

// Sending nothing in words, for the console and commands. Pure.

interface Formats {
  readonly nameOf: (id: string) => string
  readonly percent: (share: number) => string
}

const signed = (value: number): string => `${value < 0 ? "−" : "+"}${Math.abs(value).toPrecision(2)}`

/** Compares the best variant with sending nothing in sentences. Undefined without a comparison. */
export const sendNothingText = (
  { send_nothing: found }: Pick<TemplateResults, "send_nothing">,
  { nameOf, percent }: Formats,
): string | undefined => {
  if (found === undefined) return undefined
  const { copy_id, difference, difference_interval: [low, high], interval, probability, share, value } = found
  const signedShare = (one: number) => `${one < 0 ? "−" : "+"}${percent(Math.abs(one))}`
  const name = nameOf(copy_id)
  return [
    value === null || interval === null
      ? t`Against sending nothing, ${name} is worth ${signed(difference)} per send (95\u00a0% interval ${
        signed(low)
      } to ${signed(high)}).`
      : t`Against sending nothing, ${name} is worth ${signed(difference)} per send (95\u00a0% interval ${
        signed(low)
      } to ${signed(high)}), a lift of ${signedShare(value)} (${signedShare(interval[0])} to ${
        signedShare(interval[1])
      }).`,
    t`It is better than nothing with a probability of ${percent(probability)}.`,
    t`${percent(share)} of the requests send nothing now.`,
  ].join(" ")
}

/** Whether sending nothing is the winner. */
export const nothingWins = ({ winner }: Pick<TemplateResults, "winner">): boolean => winner.copy_id === nothing

/** The choices that are about equally good if the verdict is `no_difference`, such as `All 3 variants`. */
export const equalChoices = ({ variants }: Pick<TemplateResults, "variants">): string => {
  const active = variants.filter(({ status }) => status === "active")
  return active.some(({ copy_id }) => copy_id === nothing)
    ? active.length === 2
      ? t`Both choices, sending nothing included,`
      : t`All ${active.length} choices, sending nothing included,`
    : active.length === 2
    ? t`Both variants`
    : t`All ${active.length} variants`
}

/** The name of a variant in results. */
export const nameIn = ({ variants }: Pick<TemplateResults, "variants">, id: string): string =>
  id === nothing ? candidateName(id) : variants.find(({ copy_id }) => copy_id === id)?.name ?? id
