import { filters } from "./Filters.ts"

/** A part that people write out of habit, and its form in Liquid. */
interface Habit {
  /** Matches the beginning of the part that is not understood. */
  readonly written: RegExp
  /**
   * The remedy, or undefined if the part is another habit. `before` is the value before the part. `inCondition` is
   * undefined where neither applies.
   */
  readonly remedy: (match: RegExpExecArray, before: string, inCondition: boolean | undefined) => string | undefined
}

const always = (remedy: string) => () => remedy

/** Filters for arithmetic and text by the sign of other languages. */
const filterOf: Readonly<Record<string, string>> = {
  "+": "plus",
  "-": "minus",
  "*": "times",
  "/": "divided_by",
  "%": "modulo",
  "~": "append",
}

/** Operators of other languages, and the operator of Liquid. */
const operatorOf: Readonly<Record<string, string>> = {
  "===": "==",
  "!==": "!=",
  "=": "==",
  "=<": "<=",
  "=>": ">=",
  "==>": ">=",
  "is not": "!=",
  "is": "==",
  "eq": "==",
  "equals": "==",
  "ne": "!=",
  "neq": "!=",
  "gt": ">",
  "gte": ">=",
  "ge": ">=",
  "lt": "<",
  "lte": "<=",
  "le": "<=",
  "in": "contains, with the list first",
  "includes": "contains",
  "has": "contains",
  "matches": "contains",
  "startswith": "contains",
  "like": "contains",
  "&&": "and",
  "&": "and",
  "||": "or",
  "and": "and",
  "or": "or",
  "not": 'not before the first value, as in not tags contains "vip"',
  "contains": "contains",
}

const entities: Readonly<Record<string, string>> = {
  "&quot;": '"',
  "&#34;": '"',
  "&#39;": "'",
  "&apos;": "'",
  "&lt;": "<",
  "&gt;": ">",
  "&amp;": "and",
  "&nbsp;": "a space",
  "&#160;": "a space",
}

/** In the order in which they are tried. */
const habits: ReadonlyArray<Habit> = [
  {
    written: /^&(?:#?\w+);/,
    remedy: ([entity]) => `${entity} is a sign of HTML: write ${entities[entity.toLowerCase()] ?? "the sign itself"}`,
  },
  { written: /^(?:%\s+\}|\}\s+\})/, remedy: always("write the end of the tag without spaces between its signs") },
  {
    written: /^\|\|/,
    remedy: (_, before, inCondition) =>
      inCondition === true ? "write or" : `write ${before === "" ? "name" : before} | default: "there"`,
  },
  { written: /^(?:then|do)\b/i, remedy: always("delete it") },
  {
    written: /^(?:exists|present)\b/i,
    remedy: always("delete it, because a name alone holds if it has a value"),
  },
  {
    written: /^(?:[<>=!]=|[<>]|contains\b)/,
    remedy: (_, before, inCondition) =>
      before.startsWith("|") && inCondition !== false
        ? "assign the filtered value first, as in {% assign length = name | size %}, and compare length"
        : undefined,
  },
  {
    written: /^or\b/i,
    remedy: (_, before, inCondition) =>
      inCondition === false && before.startsWith("|")
        ? 'write another filter, as in name | default: nickname | default: "there"'
        : undefined,
  },
  {
    written: /^&/,
    remedy: (_, _before, inCondition) =>
      inCondition === false ? "write a filter, as in first | append: second" : undefined,
  },
  {
    written: /^(?:\?|if\b|unless\b|else\b)/,
    remedy: always("write {% if … %}…{% else %}…{% endif %}"),
  },
  {
    written:
      /^(?:===|!==|==>|=>|=<|&&|&|(?:is not|is|eq|equals|neq?|gte?|ge|lte?|le|in|includes|has|matches|startswith|like|and|or|not|contains)\b)/i,
    remedy: ([operator]) => `write ${operatorOf[operator.toLowerCase().replace(/\s+/g, " ")]}`,
  },
  {
    written: /^!(?!=)/,
    remedy: (_, before, inCondition) =>
      inCondition === false && before !== "" ? "delete it" : "write not, or != between two values",
  },
  {
    written: /^=/,
    remedy: (_, before, inCondition) =>
      inCondition === true
        ? "write == to compare"
        : before.startsWith("|")
        ? "write a colon before the argument"
        : "a tag assigns one value, and only {% assign name = value %} assigns",
  },
  {
    written: /^[-+*/%~]/,
    remedy: ([sign]) => `write a filter, as in price | ${filterOf[sign]}: 1`,
  },
  {
    written: /^\(/,
    remedy: (_, before) =>
      before.startsWith("|")
        ? `write ${before}: and then the arguments without parentheses`
        : "Liquid has filters instead of calls, as in name | upcase, and parentheses only for ranges such as (1..5)",
  },
  { written: /^\.\./, remedy: always("write a range in parentheses, as in (1..5)") },
  { written: /^\.\d/, remedy: always("write a digit before the point, as in 0.5") },
  {
    written: /^[{}]/,
    remedy: always(
      "an output begins with {{ and ends with }}, a tag begins with {% and ends with %}, without further braces",
    ),
  },
  { written: /^\\/, remedy: always("delete the backslash") },
  { written: /^:\/\//, remedy: always("put a text, such as an address, in quotes") },
  { written: /^<\/?[a-z]/i, remedy: always("move the tag of HTML out of the braces") },
  { written: /^;/, remedy: always("delete the semicolon") },
  {
    written: /^,\s*("[^"]*"|'[^']*')?/,
    remedy: ([, text], before, inCondition) =>
      text !== undefined && inCondition === false && before !== ""
        ? `write ${before} | default: ${text}`
        : "a tag has one value here. In the text, write one output for each value",
  },
  { written: /^\|\s*\|/, remedy: always("write one | before a filter") },
  {
    written: /^\|/,
    remedy: (_, before) =>
      before === "|"
        ? "write one | before a filter"
        : "a filter cannot be used here: write {% assign list = items | slice: 0, 3 %} before this tag",
  },
  { written: /^[[\]]/, remedy: always('brackets follow a name directly, as in items[0] or user["first name"]') },
  { written: /^:/, remedy: always("a colon follows only a filter or the name of an argument") },
  { written: /^[$@#^>.]/, remedy: ([sign]) => `delete ${sign} before the name` },
  {
    written: /^[\p{L}\p{M}]+(["'])(\1?)/u,
    remedy: ([, quote, second]) =>
      second !== ""
        ? 'write one double quotation mark (") instead of two single ones'
        : quote === "'"
        ? 'put a text with an apostrophe in double quotes, as in "it\'s"'
        : "put a text with double quotation marks in single ones, as in 'the \"best\" one'",
  },
  {
    written: /^["']/,
    remedy: (_, before) =>
      before.startsWith("|")
        ? before.endsWith(":") ? "write a comma between arguments" : `write ${before}: with a colon before the argument`
        : "write a filter between two values, as in first | append: second",
  },
  {
    written: /^([\w-]+)/,
    remedy: ([word], before) =>
      filters.has(word!) && !before.startsWith("|")
        ? `write | before the filter ${word}`
        : before.startsWith("|")
        ? before.endsWith(":") ? "write a comma between arguments" : `write ${before}: with a colon before the argument`
        : 'write a name with spaces in brackets and quotes, as in ["first name"], or an operator between two values',
  },
]

/** A part of a tag or output that is not understood. */
interface Unknown {
  readonly rest: string
  /** Undefined where neither a condition nor a value can be. */
  readonly purpose: "condition" | "value" | undefined
  /** The value before the part, or a filter with `|` before its name. */
  readonly before: string
  /** Whether a value is expected in place of the part. */
  readonly isValueNext: boolean
}

const operator = /^(?:(?!<\/?[a-z])[<>]=?|==|!=|<>|(?:and|or|contains)\b)/i

/** Returns what to write instead of a part that Liquid does not have. Undefined without a known habit. */
export const remedyOf = ({ before, isValueNext, purpose, rest }: Unknown): string | undefined => {
  if (isValueNext && operator.test(rest)) return "write a value also before this operator, as in a > 1 and a < 5"
  if (isValueNext && rest.startsWith("|")) return "write a value before the filter"
  const inCondition = purpose === undefined ? undefined : purpose === "condition"
  for (const { remedy, written } of habits) {
    const match = written.exec(rest)
    const found = match === null ? undefined : remedy(match, before, inCondition)
    if (found !== undefined) return found
  }
  return undefined
}

const compact = (name: string): string => name.toLowerCase().replace(/[_-]/g, "")

/** Whether two names differ by one sign that is missing, additional or another. */
const isNear = (left: string, right: string): boolean => {
  let same = 0
  while (same < left.length && left[same] === right[same]) same++
  const [rest, other] = [left.slice(same), right.slice(same)]
  return rest.slice(1) === other.slice(1) || rest.slice(1) === other || rest === other.slice(1)
}

/** Returns what to write for a filter that does not exist, with a colon before it. Empty without a similar filter. */
export const filterRemedy = (name: string): string => {
  const written = compact(name)
  const names = [...filters.keys()]
  const known = names.find((one) => compact(one) === written) ??
    (written.length < 4 ? undefined : names.find((one) => isNear(compact(one), written)))
  return known === undefined ? "" : `: write ${known}`
}
