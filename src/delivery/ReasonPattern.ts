/** Maximum length of a pattern. Unit: characters. */
const maxLength = 200

/** Matches e-mail addresses and words that differ between messages: queue ids, UUIDs, dates and long numbers. */
const varying = /[^\s<>"'(),;:]+@[^\s<>"'(),;:]+|\b(?=[\w-]*\d)[\w-]{8,}\b|\b\d{4,}\b/g

/**
 * Returns the reason of a delivery without the parts that differ between messages: `…` replaces any characters.
 * Deliveries whose reasons have one pattern failed for one cause. The pattern has at most 200 characters and matches
 * the reason that it is made from.
 */
export const reasonPattern = (reason: string): string =>
  [...reason.replace(varying, "…").replace(/…(?:[\s…]*…)+/g, "…")].slice(0, maxLength).join("").trim()

/** Returns the operand of SQL's ILIKE that matches texts containing `text`. `…` in `text` matches any characters. */
export const containing = (text: string): string => `%${text.replace(/[\\%_]/g, "\\$&").replaceAll("…", "%")}%`
