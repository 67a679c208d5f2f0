import names from "./zoneNames.json" with { type: "json" }

// The names by which people and systems call time zones. `zoneNames.json` has the names of Rails and of Windows (by the
// mapping of CLDR) with their IANA names.

/** A time zone: an IANA name such as `Europe/Berlin`, or a fixed offset. Unit: seconds east of UTC. */
export type Zone = string | number

/** Maximum length of the name of a zone. Unit: characters. */
const longestName = 80

const ianaByName: ReadonlyMap<string, string> = new Map(
  Object.entries(names).map(([name, iana]) => [name.toLowerCase(), iana]),
)

/**
 * Abbreviations with a meaning of their own in the runtime, which mostly differs from the usual one: `BST` is Bangladesh
 * and `AST` Alaska. They are no IANA names.
 */
const misread = new Set(
  "act aet agt art ast bet bst cnt ctt ect iet mit net nst plt pnt prt sst vst".split(" "),
)

const checked = new Map<string, string | undefined>()

/** Returns an IANA name in the usual case, undefined if this runtime does not know it. */
const ianaNamed = (name: string): string | undefined => {
  // Intl also accepts offsets such as +02:00, which have no daylight-saving time.
  if (!/^[a-z][\w+/-]*$/i.test(name) || misread.has(name.toLowerCase())) return undefined
  if (checked.has(name)) return checked.get(name)
  let known: string | undefined
  try {
    const { timeZone } = new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions()
    // The runtime replaces links, such as Asia/Kolkata by Asia/Calcutta.
    known = timeZone.toLowerCase() === name.toLowerCase() ? timeZone : name
  } catch {
    known = undefined
  }
  // Data may contain any name.
  if (checked.size >= 1_000) checked.clear()
  checked.set(name, known)
  return known
}

/** Whether a text is an IANA name, in any case. */
export const isIanaZone = (text: string): boolean => ianaNamed(text) !== undefined

/**
 * Returns the IANA name of a time zone, undefined if there is no such zone. Accepts IANA names in any case, also with
 * spaces (`America/New York`) and as HubSpot writes them (`us_slash_eastern`), names of Rails
 * (`Eastern Time (US & Canada)`) and names of Windows (`W. Europe Standard Time`).
 */
export const ianaZone = (text: string): string | undefined => {
  if (text.length > longestName) return undefined
  // Rails and Windows show the standard offset before the name: (GMT-05:00) Eastern Time (US & Canada).
  const name = text.trim().replace(/^\((?:GMT|UTC)[^)]*\) */i, "")
  const known = ianaByName.get(name.toLowerCase())
  if (known !== undefined) return known
  const written = name.replaceAll("_slash_", "/")
  const iana = written.includes("/") ? written.replaceAll(" ", "_") : written
  return ianaNamed(iana)
}

const offset = /^(?:UTC|GMT|UT)? ?([+\-\u2212])(\d{1,2})(?::?(\d\d))?$/i

/** Returns the seconds of an offset such as `+02:00`, `-0530`, `UTC-5` or `GMT+2`. Maximum: 15:59, as in PostgreSQL. */
const offsetNamed = (text: string): number | undefined => {
  const [whole, sign, hours, minutes = "0"] = offset.exec(text) ?? []
  if (whole === undefined || Number(hours) > 15 || Number(minutes) > 59) return undefined
  return (Number(hours) * 3600 + Number(minutes) * 60) * (sign === "+" ? 1 : -1)
}

/** Returns a time zone by any name of `ianaZone`, or by its offset; undefined if there is no such zone. */
export const zoneNamed = (text: string): Zone | undefined => {
  if (text.length > longestName) return undefined
  const name = text.trim()
  if (/^(?:Z|UTC?)$/i.test(name)) return "UTC"
  return offsetNamed(name) ?? ianaZone(name)
}

/**
 * Hours east of UTC of abbreviated zones: the zones of RFC 822, where `CST` is North America's (China's servers write it
 * as well), and others with one meaning. `IST` and `BST` have several.
 */
export const zoneAbbreviations: { readonly [zone: string]: number } = {
  EST: -5,
  EDT: -4,
  CST: -6,
  CDT: -5,
  MST: -7,
  MDT: -6,
  PST: -8,
  PDT: -7,
  AKST: -9,
  AKDT: -8,
  HST: -10,
  WET: 0,
  WEST: 1,
  CET: 1,
  CEST: 2,
  EET: 2,
  EEST: 3,
  MSK: 3,
  JST: 9,
  KST: 9,
  AEST: 10,
  AEDT: 11,
  NZST: 12,
  NZDT: 13,
}
