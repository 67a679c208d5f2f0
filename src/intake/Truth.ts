import type { MemberFault } from "../domain/Event.ts"
import { type EventLevel, memberFault, type ReadValue } from "./Given.ts"

/** Texts of truth values, lowercase: JSON, Python, Liquid, SQL exports, and forms. */
const truths: ReadonlyMap<string, boolean> = new Map([
  ...["true", "1", "1.0", "yes", "y", "on", "t"].map((text): [string, boolean] => [text, true]),
  ...["false", "0", "0.0", "no", "n", "off", "f"].map((text): [string, boolean] => [text, false]),
])

/** Longest text that is compared. */
const maxText = 20

/** A boolean, or its text or number in common notations: `True`, `yes`, `1`, `"0"`. */
export const readTruth = (value: unknown): ReadValue<boolean> => {
  if (typeof value === "boolean") return { value }
  const text = typeof value === "number" ? String(value) : typeof value === "string" ? value : ""
  const truth = text.length > maxText ? undefined : truths.get(text.trim().toLowerCase())
  return truth === undefined ? { wrong: "is neither true nor false: send true or false" } : { value: truth }
}

/** Under any of these, a truth value says whether a machine did it. */
export const automatedKeys: ReadonlyArray<string> = [
  "automated",
  "is_bot",
  "isBot",
  "bot",
  "machine_open",
  "is_suspected_bot_click",
  "prefetched",
  "machine",
]

/** Names that business data has as well, such as the machine that was ordered. */
const ambiguousKeys: ReadonlySet<string> = new Set(["bot", "machine"])

/**
 * Whether one of the keys is true on any level. If none is, the fault of the first value that is neither true nor false. Below
 * the item itself, `bot` and `machine` may be anything, so other values have no fault there.
 */
export const flagIn = (
  levels: ReadonlyArray<EventLevel>,
  keys: ReadonlyArray<string> = automatedKeys,
): { readonly automated: boolean; readonly fault?: MemberFault } => {
  let fault: MemberFault | undefined
  for (const { at, item } of levels) {
    for (const key of keys) {
      const value = item[key]
      if (value === undefined || value === null) continue
      const truth = readTruth(value)
      if ("wrong" in truth) {
        if (at === "" || !ambiguousKeys.has(key)) {
          fault ??= memberFault(`${at}/${key}`, value, truth.wrong, "The event counts as a person's")
        }
      } else if (truth.value) return { automated: true }
    }
  }
  return { automated: false, ...(fault === undefined ? {} : { fault }) }
}
