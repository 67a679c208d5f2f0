import { letters, patterns } from "../DateFaults.ts"
import { NoEquivalent } from "./Expression.ts"

/** A language of date patterns. */
export type DateStyle = "php" | "django" | "java" | "net" | "moment"

type Table = ReadonlyArray<readonly [part: string, directive: string | undefined]>

/** Parts whose meaning differs from the common table. Undefined: there is no directive. */
const own: Readonly<Record<DateStyle, Table>> = {
  php: [["T", "%Z"], ["O", "%z"], ["P", "%:z"], ["U", "%s"], ["W", "%V"], ["o", "%G"], ["w", "%w"]],
  django: [["a", undefined], ["N", undefined], ["P", undefined], ["T", "%Z"], ["O", "%z"], ["U", "%s"], ["W", "%V"]],
  java: [["YYYY", "%G"], ["YY", "%g"], ["DDD", "%j"], ["DD", "%j"], ["D", "%-j"], ["u", "%u"]],
  net: [["tt", "%p"], ["t", undefined], ["zzz", "%:z"], ["D", undefined], ["A", undefined], ["a", undefined]],
  moment: [["DDDD", "%j"], ["DDD", "%-j"], ["a", "%P"], ["dd", undefined], ["d", "%w"], ["X", "%s"], ["Z", "%:z"]],
}

/** Texts that a pattern has as they are: in quotes, in brackets, or behind a backslash. */
const quoted: Readonly<Record<DateStyle, RegExp>> = {
  php: /^\\(.)/,
  django: /^\\(.)/,
  java: /^'([^']*)'/,
  net: /^(?:'([^']*)'|"([^"]*)"|\\(.))/,
  moment: /^\[([^\]]*)\]/,
}

/** Longer parts come first, because `MMMM` begins with `M`. */
const tableOf = (style: DateStyle): Table => {
  const shared = style === "php" || style === "django" ? letters : patterns
  return [...own[style], ...shared].toSorted(([one], [other]) => other.length - one.length)
}

/**
 * Returns the strftime format of a date pattern. Fails with `NoEquivalent` if a letter of it has no directive.
 */
export const strftimeOf = (pattern: string, style: DateStyle): string => {
  const table = tableOf(style)
  if (style === "net" && /^[A-Za-z]$/.test(pattern)) {
    throw new NoEquivalent('Write the format with directives such as "%-d %B %Y": its one letter names a whole format')
  }
  let made = ""
  for (let at = 0; at < pattern.length;) {
    const rest = pattern.slice(at, at + 200)
    const text = quoted[style].exec(rest)
    const part = text === null ? table.find(([name]) => rest.startsWith(name)) : undefined
    if (text !== null) made += (text[1] ?? text[2] ?? text[3] ?? "").replaceAll("%", "%%")
    else if (part?.[1] !== undefined) made += part[1]
    else if (part !== undefined || /[A-Za-z]/.test(rest[0]!)) {
      throw new NoEquivalent(
        `Write the format with directives such as "%-d %B %Y": "${part?.[0] ?? rest[0]}" in it has none`,
      )
    } else made += rest[0] === "%" ? "%%" : rest[0]
    at += text?.[0].length ?? part?.[0].length ?? 1
  }
  return made
}
