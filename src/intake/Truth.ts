import type { MemberFault } from "../domain/Event.ts"
import type { ReadValue } from "../text/ReadValue.ts"
import { type EventLevel, memberFault } from "./Given.ts"

/** Texts of boolean values, lowercase, as in JSON, Python, Liquid, SQL exports and forms. */
const truths: ReadonlyMap<string, boolean> = new Map([
  ...["true", "1", "1.0", "yes", "y", "on", "t"].map((text): [string, boolean] => [text, true]),
  ...["false", "0", "0.0", "no", "n", "off", "f"].map((text): [string, boolean] => [text, false]),
])

/** Maximum length of a text that is compared. Unit: characters. */
const maxText = 20

/** Reads a boolean, or its text or number in common notations: `True`, `yes`, `1`, `"0"`. */
export const readTruth = (value: unknown): ReadValue<boolean> => {
  if (typeof value === "boolean") return { value }
  const text = typeof value === "number" ? String(value) : typeof value === "string" ? value : ""
  const truth = text.length > maxText ? undefined : truths.get(text.trim().toLowerCase())
  return truth === undefined ? { wrong: "is neither true nor false: send true or false" } : { value: truth }
}

/** Keys whose boolean value says whether a machine caused the event. */
export const automatedKeys: ReadonlyArray<string> = [
  "automated",
  "is_automated",
  "is_bot",
  "isBot",
  "bot",
  "machine_open",
  "sg_machine_open",
  "is_suspected_bot_click",
  "prefetched",
  "machine",
]

/** Keys that also occur in business data, such as a machine that was ordered. */
const ambiguousKeys: ReadonlySet<string> = new Set(["bot", "machine"])

/** Names of machines, which Braze may send as the value of `machine_open`. */
const machineNames = /apple|google|gmail|yahoo|microsoft|proxy|prefetch|scanner|\bbot\b/i

/**
 * Whether one of the keys is true on any level. If none is true, also returns the fault of the first value that is no
 * boolean. Below the item itself, other values of `bot` and `machine` are no faults.
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
        if (key === "machine_open" && typeof value === "string" && machineNames.test(value)) return { automated: true }
        if (at === "" || !ambiguousKeys.has(key)) {
          fault ??= memberFault(`${at}/${key}`, value, truth.wrong, "The event counts as a person's")
        }
      } else if (truth.value) return { automated: true }
    }
  }
  return { automated: false, ...(fault === undefined ? {} : { fault }) }
}
