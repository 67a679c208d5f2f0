import { filters } from "./Filters.ts"

/** A part that people write out of habit, and its form in Liquid. */
interface Habit {
  /** Matches the beginning of the part that is not understood. */
  readonly written: RegExp
  /** The remedy. `before` is the value before the part. `inCondition` is undefined where neither applies. */
  readonly remedy: (match: RegExpExecArray, before: string, inCondition: boolean | undefined) => string
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
    remedy: always("write not, or != between two values"),
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
  { written: /^,/, remedy: always("a tag has one value here. In the text, write one output for each value") },
  { written: /^\|\s*\|/, remedy: always("write one | before a filter") },
  {
    written: /^\|/,
    remedy: always("a filter cannot be used here: write {% assign list = items | slice: 0, 3 %} before this tag"),
  },
  { written: /^[[\]]/, remedy: always('brackets follow a name directly, as in items[0] or user["first name"]') },
  { written: /^:/, remedy: always("a colon follows only a filter or the name of an argument") },
  { written: /^[$@#^>.]/, remedy: ([sign]) => `delete ${sign} before the name` },
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
  for (const { remedy, written } of habits) {
    const match = written.exec(rest)
    if (match !== null) return remedy(match, before, purpose === undefined ? undefined : purpose === "condition")
  }
  return undefined
}
