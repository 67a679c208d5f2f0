import { helperWord } from "../dialects/Handlebars.ts"
import { foreignFilters } from "../dialects/LiquidTags.ts"
import { fetchFirst } from "../dialects/Notation.ts"
import { filters } from "../Filters.ts"
import { readLocale } from "../../text/Locales.ts"
import { type DateStyle, strftimeOf } from "./DatePatterns.ts"
import {
  capitalFirst,
  compare,
  filter,
  literal,
  NoEquivalent,
  path,
  sizeOf,
  type Truth,
  type Value,
} from "./Expression.ts"

// Filters and helpers of other languages in our filters. The tables of the advice have the simple ones, and this file
// those whose exact meaning needs more than a name.

/** How a family of languages reads values. */
export interface Manner {
  readonly truth: Truth
  readonly dates: DateStyle
}

export type CopyOperation = (input: Value, args: ReadonlyArray<Value>, manner: Manner) => Value

const computed = (name: string): NoEquivalent =>
  new NoEquivalent(`Compute the value before the call, and pass it as a field: "${name}" has no equivalent`)

/** Returns the text of an argument that must be known now. */
export const literalOf = (value: Value | undefined, what: string): string => {
  if (value?.kind === "literal" && value.value !== null) return String(value.value)
  throw new NoEquivalent(`Write ${what} as a text in quotes`)
}

const numberOf = (value: Value | undefined): number | undefined =>
  value?.kind === "literal" && /^-?\d+(?:\.\d+)?$/.test(String(value.value)) ? Number(value.value) : undefined

/** Names of values that are never the number 0. */
const textLike =
  /(?:^|[._'])(?:\w*name|city|country|state|street|company|e?mail|title|greeting|salutation|language|locale|color|brand|category|url|link|image|description|plan|tier|gender|phone|code|size|status|headline|text|subject|store)(?:'\])?$/i

/** Shows another value where the first is missing. `default` of ours keeps the number 0. */
export const orDefault = (input: Value, otherwise: Value, truth: Truth): Value => {
  const inner = input.kind === "filter" ? input.input : input
  const isText = truth !== "zero" || inner.kind !== "path" || textLike.test(inner.path)
  return isText && otherwise.kind !== "joined" && otherwise.kind !== "choice"
    ? filter(input, "default", otherwise)
    : { kind: "choice", test: { kind: "truth", value: input, truth }, yes: input, no: otherwise }
}

const currencies: Readonly<Record<string, string>> = {
  US: "USD",
  CA: "CAD",
  GB: "GBP",
  AU: "AUD",
  NZ: "NZD",
  JP: "JPY",
  CH: "CHF",
  SE: "SEK",
  NO: "NOK",
  DK: "DKK",
  PL: "PLN",
  CZ: "CZK",
  BR: "BRL",
  MX: "MXN",
  IN: "INR",
  KR: "KRW",
  CN: "CNY",
}
const euro = new Set("AT BE CY DE EE ES FI FR GR HR IE IT LT LU LV MT NL PT SI SK".split(" "))

/** Shows an amount in the currency of a locale such as `de-DE`. */
export const moneyOf = (input: Value, locale: Value | undefined): Value => {
  const written = locale === undefined ? "en-US" : literalOf(locale, "the locale")
  const tag = readLocale(written.replace(/-[a-z]{2}$/, (end) => end.toUpperCase()))
  const region = "value" in tag ? new Intl.Locale(tag.value).maximize().region ?? "" : ""
  const currency = euro.has(region) ? "EUR" : currencies[region]
  if (currency === undefined || !("value" in tag)) {
    throw new NoEquivalent('Write the currency and the locale, as in money: "EUR", "de-DE"')
  }
  return filter(input, "money", literal(currency), literal(tag.value))
}

/** Adds a number of seconds to a time. */
export const addSeconds = (input: Value, count: Value, unit: number): Value => {
  const number = numberOf(count)
  if (number === undefined) throw computed("a variable number of days")
  const seconds = filter(input, "date", literal("%s"))
  return number < 0
    ? filter(seconds, "minus", literal(-number * unit))
    : filter(seconds, "plus", literal(number * unit))
}

export const dated = (input: Value, pattern: Value | undefined, style: DateStyle): Value => {
  const format = literalOf(pattern, "the format of the date")
  return filter(input, "date", literal(format.includes("%") ? format : strftimeOf(format, style)))
}

const isNamedAsText = (value: Value): boolean => value.kind === "path" && textLike.test(value.path)

/** Whether the sum of two values is their texts joined: one is certainly no number, or both have names of texts. */
export const areTexts = (one: Value, other: Value): boolean =>
  [one, other].some((value) =>
    value.kind === "joined" ||
    (value.kind === "literal" && typeof value.value === "string" && numberOf(value) === undefined)
  ) || (isNamedAsText(one) && isNamedAsText(other))

export const joinTexts = (one: Value, other: Value): Value => ({
  kind: "joined",
  parts: [...(one.kind === "joined" ? one.parts : [one]), other],
})

/** The `sort` of HubSpot: whether it is reversed, whether case matters, and the name of a member. */
const sortOf: CopyOperation = (input, [reversed, , member]) => {
  if (reversed?.kind === "literal" && typeof reversed.value === "string") return filter(input, "sort", reversed)
  const sorted = member === undefined ? filter(input, "sort") : filter(input, "sort", member)
  if (reversed === undefined) return sorted
  const isReversed = reversed.kind === "literal" ? reversed.value === true : undefined
  if (isReversed === undefined) throw computed("sort")
  return isReversed ? filter(sorted, "reverse") : sorted
}

const sliceOf: CopyOperation = (input, [first]) => {
  const [, from = "", to] = /^(\d*)(?::(\d*))?$/.exec(literalOf(first, "the part")) ?? []
  if (to === undefined) throw computed("slice")
  const begin = Number(from || 0)
  return filter(input, "slice", literal(begin), literal(to === "" ? 1_000_000 : Math.max(0, Number(to) - begin)))
}

const identity: CopyOperation = (input) => input

const days = (sign: 1 | -1): CopyOperation => (input, [count]) => {
  const number = numberOf(count)
  if (number === undefined) throw computed("a variable number of days")
  return addSeconds(input, literal(sign * number), 86_400)
}

const cannot = (name: string): CopyOperation => () => {
  throw computed(name)
}

const isOne = (input: Value) => compare(input, "==", literal(1))

/** Operations that mean something else in other languages than our filters do. Names in lower case without `_`. */
const exact: Readonly<Record<string, CopyOperation>> = {
  default: (input, [otherwise = literal("")], { truth }) => orDefault(input, otherwise, truth),
  defaultifnone: (input, [otherwise = literal("")]) => ({
    kind: "choice",
    test: compare(input, "==", path("nil")),
    yes: otherwise,
    no: input,
  }),
  capfirst: capitalFirst,
  capitalizefirst: capitalFirst,
  truncatechars: (input, [length = literal(30)]) => filter(input, "truncate", length, literal("…")),
  truncatewords: (input, [count = literal(15)]) => filter(input, "truncatewords", count, literal(" …")),
  urlencode: (input) => filter(filter(input, "url_param_escape"), "replace", literal("%2F"), literal("/")),
  floatformat: (input, [digits]) => {
    const count = digits === undefined ? -1 : numberOf(digits)
    if (count === 2) return filter(filter(input, "money"), "remove", literal(","))
    // The result is a text, which is not equal to the number.
    if (count === 0 || count === -1) return filter(filter(input, "round", literal(-count)), "append", literal(""))
    throw computed("floatformat")
  },
  pluralize: (input, [forms]) => {
    const words = forms === undefined ? "s" : literalOf(forms, "the endings")
    const [one, many] = words.includes(",") ? words.split(",", 2) : ["", words]
    return { kind: "choice", test: isOne(input), yes: literal(one!), no: literal(many!) }
  },
  yesno: (input, [words = literal("yes,no")], { truth }) => {
    const [yes = "", no = ""] = literalOf(words, "the words").split(",")
    return { kind: "choice", test: { kind: "truth", value: input, truth }, yes: literal(yes), no: literal(no) }
  },
  length: sizeOf,
  size: sizeOf,
  count: sizeOf,
  add: (input, [other = literal(0)]) => areTexts(input, other) ? joinTexts(input, other) : filter(input, "plus", other),
  subtract: (input, [other = literal(0)]) => filter(input, "minus", other),
  mod: (input, [other = literal(1)]) => filter(input, "modulo", other),
  divisibleby: (input, [other = literal(1)]) => ({
    kind: "choice",
    test: compare(filter(input, "modulo", other), "==", literal(0)),
    yes: literal(true),
    no: literal(false),
  }),
  date: (input, [pattern], { dates }) => dated(input, pattern, dates),
  time: (input, [pattern], { dates }) => dated(input, pattern, dates),
  datetimeformat: (input, [pattern = literal("%H:%M / %d-%m-%Y"), zone]) => {
    const format = literalOf(pattern, "the format").replaceAll("%e", "%-d")
    return filter(zone === undefined ? input : filter(input, "time_zone", zone), "date", literal(format))
  },
  formatdatestring: identity,
  localize: identity,
  forceescape: (input) => filter(input, "escape"),
  slice: sliceOf,
  join: (input, [between = literal(""), attribute]) =>
    filter(attribute === undefined ? input : filter(input, "map", attribute), "join", between),
  sort: sortOf,
  // The truncate of Jinja ends behind a word, unless its second argument is true.
  truncate: (input, [length = literal(255), cutsWords, end]) => {
    const cuts = cutsWords?.kind === "literal" && cutsWords.value === true && end?.kind === "literal" &&
      end.value === ""
    if (cuts) return filter(input, "truncate", length, end)
    throw new NoEquivalent("Write | truncate: 20, which ends within words, or | truncatewords: 5")
  },
  map: (input, [attribute = literal("")]) => {
    const name = literalOf(attribute, "the name")
    if (filters.has(name) || Object.hasOwn(foreignFilters, name)) throw computed(`map("${name}")`)
    return filter(input, "map", attribute)
  },
  reverse: (input) => {
    if (areTexts(input, input)) throw computed("reverse of a text")
    return filter(input, "reverse")
  },
  trim: (input) => filter(input, "strip"),
  cut: (input, args) => filter(input, "remove", ...args),
  replace: (input, [from = literal(""), to = literal(""), count]) => {
    if (count !== undefined) throw computed("replace with a count")
    return filter(input, "replace", from, to)
  },
  wordcount: (input) => filter(input, "number_of_words"),
  dictsort: (input, args) => filter(input, "sort", ...args),
  sum: (input, args) => filter(input, "sum", ...args),
  unique: (input) => filter(input, "uniq"),
  round: (input, [digits = literal(0), manner]) => {
    if (manner === undefined) return filter(input, "round", digits)
    const name = literalOf(manner, "the manner of rounding")
    if (numberOf(digits) !== 0 || !/^(?:floor|ceil)$/.test(name)) throw computed(`round("${name}")`)
    return filter(input, name)
  },
  currency: (input, [locale]) => moneyOf(input, locale),
  adddays: days(1),
  addday: days(1),
  subtractday: days(-1),
  subtractdays: days(-1),
  ...Object.fromEntries(
    [
      "addmonth",
      "addyear",
      "subtractmonth",
      "subtractyear",
      "addhour",
      "subtracthour",
      "countdown",
      "sample",
      "random",
      "linebreaks",
      "urlize",
      "truncatehtml",
      "formatdate",
      "formatdatetime",
      "formatcurrency",
      "roundedcurrency",
      "camelize",
      "moneywithoutcurrency",
      "moneywithouttrailingzeros",
      "numberwithprecision",
      "slugifyname",
      "timesince",
      "timeuntil",
      "stringformat",
      "filesizeformat",
      "unorderedlist",
      "ljust",
      "rjust",
      "center",
      "handleize",
      "handle",
      "rejectattr",
    ].map((name) => [name, cannot(name)]),
  ),
  selectattr: (input, [name = literal(""), test, value]) =>
    value === undefined
      ? filter(input, "where", name)
      : /^(?:==|eq|equalto)$/.test(literalOf(test, "the test"))
      ? filter(input, "where", name, value)
      : cannot("selectattr")(input, [], { truth: "zero", dates: "php" }),
}

/** Our filters that mean the same in the other languages. */
const same: ReadonlySet<string> = new Set(
  "first last escape abs split md5 sha256 slugify upcase downcase titlecase capitalize strip strip_html newline_to_br url_encode json plus minus times divided_by modulo at_least at_most ceil floor append prepend uniq compact where raw time_zone number_with_delimiter number_of_words money"
    .split(" "),
)

/** Uses a filter or helper of another language. Fails with `NoEquivalent` if it has no equivalent. */
export const operate = (
  name: string,
  input: Value,
  args: ReadonlyArray<Value>,
  manner: Manner,
  more: Readonly<Record<string, CopyOperation>> = {},
): Value => {
  const key = helperWord(name)
  const known = Object.hasOwn(more, key) ? more[key] : Object.hasOwn(exact, key) ? exact[key] : undefined
  if (known !== undefined) return known(input, args, manner)
  if (same.has(name)) {
    if (args.length > (filters.get(name)!.takes ?? filters.get(name)!.needs)) {
      throw computed(`${name} with ${args.length} values`)
    }
    return filter(input, name, ...args)
  }
  const advice = Object.hasOwn(foreignFilters, name) ? foreignFilters[name]!.write : undefined
  if (advice === undefined || (args.length > 0 && !advice.includes("$a"))) throw computed(name)
  return advice.split(" | ").reduce((made, part) => {
    const [, own = "", given] = /^(\w+)(?::\s*(.+))?$/.exec(part) ?? []
    if (!filters.has(own)) throw computed(name)
    if (given === undefined) return filter(made, own)
    return filter(
      made,
      own,
      ...given.split(", ").flatMap((arg) => arg === "$a" ? args : literal(arg.replaceAll("'", ""))),
    )
  }, input)
}

/** The remedy for data that a platform looks up. */
export const lookUpFirst = (): never => {
  throw new NoEquivalent(fetchFirst)
}
