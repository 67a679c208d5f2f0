import { zoneNamed } from "../domain/ZoneNames.ts"
import { unknownDirective, withoutDirectives } from "./DateFormat.ts"
import * as Limits from "./Limits.ts"

// Faults of the arguments of date filters that prevent saving. Stored templates continue to render: see `Dates.ts`.

/** A literal argument. Undefined for an argument that is known only when the source is rendered. */
type Literal = string | number | undefined

/** The directives for the patterns of Java, Unicode, Moment and Day.js. Longer patterns come first. */
export const patterns: ReadonlyArray<readonly [pattern: string, directive: string]> = [
  ["yyyy", "%Y"],
  ["YYYY", "%Y"],
  ["yy", "%y"],
  ["YY", "%y"],
  ["y", "%Y"],
  ["MMMM", "%B"],
  ["LLLL", "%B"],
  ["MMM", "%b"],
  ["LLL", "%b"],
  ["MM", "%m"],
  ["M", "%-m"],
  ["Do", "%-d%q"],
  ["dddd", "%A"],
  ["ddd", "%a"],
  ["dd", "%d"],
  ["d", "%-d"],
  ["DDDD", "%j"],
  ["DDD", "%j"],
  ["DD", "%d"],
  ["D", "%-d"],
  ["EEEE", "%A"],
  ["EEE", "%a"],
  ["EE", "%a"],
  ["E", "%a"],
  ["HH", "%H"],
  ["H", "%-H"],
  ["hh", "%I"],
  ["h", "%-I"],
  ["mm", "%M"],
  ["m", "%-M"],
  ["SSSSSS", "%6N"],
  ["SSS", "%L"],
  ["ss", "%S"],
  ["s", "%-S"],
  ["ww", "%V"],
  ["WW", "%V"],
  ["A", "%p"],
  ["aa", "%p"],
  ["a", "%p"],
  ["XXX", "%:z"],
  ["xxx", "%:z"],
  ["ZZZZZ", "%:z"],
  ["ZZ", "%z"],
  ["Z", "%z"],
  ["zzzz", "%Z"],
  ["zzz", "%Z"],
  ["z", "%Z"],
]

/** The directives for the letters of PHP and Django. */
export const letters: ReadonlyArray<readonly [letter: string, directive: string]> = [
  ["d", "%d"],
  ["j", "%-d"],
  ["D", "%a"],
  ["l", "%A"],
  ["N", "%u"],
  ["S", "%q"],
  ["m", "%m"],
  ["n", "%-m"],
  ["M", "%b"],
  ["F", "%B"],
  ["Y", "%Y"],
  ["y", "%y"],
  ["a", "%P"],
  ["A", "%p"],
  ["g", "%-I"],
  ["G", "%-H"],
  ["h", "%I"],
  ["H", "%H"],
  ["i", "%M"],
  ["s", "%S"],
]

/** Replaces the parts of a pattern by directives. Undefined if it has letters without a meaning. */
const translated = (
  format: string,
  table: ReadonlyArray<readonly [part: string, directive: string]>,
): string | undefined => {
  let made = ""
  for (let at = 0; at < format.length;) {
    const quoted = /^(?:'([^']*)'|\[([^\]]*)\])/.exec(format.slice(at))
    const part = table.find(([name]) => format.startsWith(name, at))
    if (quoted !== null) made += quoted[1] ?? quoted[2]
    else if (part !== undefined) made += part[1]
    else if (/[a-z]/i.test(format[at]!) && !/^T(?![a-z]*[a-z]{4})/.test(format.slice(at))) return undefined
    else made += format[at]
    at += quoted?.[0].length ?? part?.[0].length ?? 1
  }
  return made
}

/** Returns the strftime format for a pattern of Java, Moment, PHP or Django, otherwise an example. */
const strftimeOf = (format: string): string => {
  const isPattern = /([yYMdDHhEm])\1/.test(format)
  // In dd/mm/yyyy, the minutes are meant to be months.
  const pattern = /[hHM]/.test(format) ? format : format.replaceAll("m", "M")
  const made = isPattern
    ? translated(pattern, patterns)
    : /[YymndjF]/.test(format)
    ? translated(format, letters)
    : undefined
  return made !== undefined && made.includes("%") ? `write ${JSON.stringify(made)}` : 'write one such as "%-d %B %Y"'
}

const shown = (text: string): string => JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)

/** Directives of other languages, and what to write. */
const remedies: Readonly<Record<string, string>> = {
  "%f": "write %6N for microseconds or %L for milliseconds",
  "%i": "write %M for the minute",
  "%o": "write %q for the ending of the day, as in %-d%q",
  "%Q": "write %s%L for milliseconds since 1970",
}

/** Returns why a format can never show a date, and what to write. */
export const formatFault = (format: string): string | undefined => {
  if (format.length > Limits.dateFormatLength) {
    return `the format is longer than ${Limits.dateFormatLength} characters: make it shorter`
  }
  if (!format.includes("%")) {
    return format.trim() === ""
      ? 'the format is empty: write one such as "%-d %B %Y", or no format'
      : `the format ${shown(format)} has no directive, so readers see it instead of the date: ${strftimeOf(format)}`
  }
  const unknown = unknownDirective(format)
  if (unknown === undefined) {
    const [foreign] = /\b(?:yyyy|YYYY|MM{1,3}|dd{1,3}|DD|HH)\b/.exec(withoutDirectives(format)) ?? []
    return foreign === undefined
      ? undefined
      : `the format has ${shown(foreign)}, which readers see as it is: ${strftimeOf(foreign)}`
  }
  const remedy = /^%[^a-z]*$/i.test(unknown)
    ? "write %% for a percent sign"
    : remedies[unknown] ?? "use the directives of Ruby's strftime, such as %d, %B, %Y and %H:%M"
  return `there is no directive ${shown(unknown)} in a format of dates: ${remedy}`
}

const zoneFault = (name: string): string | undefined =>
  zoneNamed(name) === undefined
    ? `there is no time zone ${shown(name)}: write an IANA name such as "Europe/Berlin", or an offset such as "+02:00"`
    : undefined

/** Returns why the literal format or zone of `date` can never work, and what to write. */
export const dateFault = ([format, zone]: ReadonlyArray<Literal>): string | undefined => {
  const fault = format === undefined ? undefined : formatFault(String(format))
  if (fault !== undefined || zone === undefined) return fault
  if (typeof zone === "string") return zoneFault(zone)
  return Math.abs(zone) <= 1440
    ? undefined
    : `there is no time zone ${zone} minutes west of UTC: write a name such as "Europe/Berlin"`
}

/** Returns why the literal zone of `time_zone` does not exist, and what to write. */
export const timeZoneFault = ([zone]: ReadonlyArray<Literal>): string | undefined =>
  zone === undefined ? undefined : typeof zone === "string" ? zoneFault(zone) : zoneFault(String(zone))
