// Shares in forms, which are in percent there.

/** A share as the text of a field in percent, such as `2.5`. */
export const percentText = (share: number): string => String(Math.round(share * 100_000) / 1000)

/** Reads the share in a field in percent. A text that is not a number is returned unchanged, so that the schema refuses it. */
export const shareOf = (text: string): unknown => {
  const percent = text.trim() === "" ? NaN : Number(text)
  return Number.isNaN(percent) ? text : Math.round(percent * 1000) / 100_000
}
