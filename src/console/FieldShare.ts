// Shares in forms, which are in percent there.

/** A share as the text of a field in percent, such as `2.5`. */
export const percentText = (share: number): string => String(Math.round(share * 100_000) / 1000)

/** The share that a field in percent says. Texts that are no number stay as they are, so that their fault is told. */
export const shareOf = (text: string): unknown => {
  const percent = text.trim() === "" ? NaN : Number(text)
  return Number.isNaN(percent) ? text : Math.round(percent * 1000) / 100_000
}
