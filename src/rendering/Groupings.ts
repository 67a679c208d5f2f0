import { Refused } from "./Refused.ts"
import type { SourceFinding } from "./SourceFinding.ts"
import { readStrictly } from "./StrictReading.ts"

/** Whether the word `or` follows the word `and` somewhere. Saves the reading of most sources. */
const hasBoth = (source: string): boolean => {
  const begin = source.search(/\band\b/)
  return begin !== -1 && /\bor\b/.test(source.slice(begin))
}

/** The message of each finding. */
export const groupingMessage =
  "has or behind and, which Liquid reads from right to left: a and b or c holds if a holds, and b or c. " +
  "To show a text if a and b hold, or c, write {% if a and b %} and {% elsif c %}"

/**
 * Finds conditions such as `a and b or c`, which Liquid reads as `a and (b or c)` and other languages as
 * `(a and b) or c`.
 */
export const groupings = (source: string): ReadonlyArray<SourceFinding> => {
  if (!hasBoth(source)) return []
  try {
    return readStrictly(source).groupings.map((begin) => ({ begin, message: groupingMessage }))
  } catch (error) {
    // Reported as a fault.
    if (error instanceof Refused) return []
    throw error
  }
}
