import { fetchFirst, sendToFewer } from "../dialects/Notation.ts"
import { filter, literal, NoEquivalent, path, type Value } from "./Expression.ts"
import { pathText } from "./Names.ts"
import { type CopyOperation, literalOf, moneyOf, orDefault } from "./Operations.ts"

// Helpers of Handlebars whose meaning is their own.

/** Operations whose meaning in Handlebars is their own. */
export const operations: Readonly<Record<string, CopyOperation>> = {
  defaultifempty: (input, [otherwise = literal("")]) => orDefault(input, otherwise, "blank"),
  capitalize: (input) => filter(input, "titlecase"),
  capitalizefully: (input) => filter(input, "titlecase"),
  propercase: (input) => filter(input, "titlecase"),
  title: (input) => filter(input, "titlecase"),
  abbreviate: (input, args) => filter(input, "truncate", ...args),
  substring: (input, [from = literal(0), to]) => {
    const begin = Number(literalOf(from, "the begin"))
    const length = to === undefined ? 1_000_000 : Number(literalOf(to, "the end")) - begin
    return filter(input, "slice", literal(begin), literal(length))
  },
  join: (input, args) => {
    if (args.length < 2) return filter(input, "join", ...args)
    // With several values, the last one is between them.
    const between = args.at(-1)!
    return { kind: "joined", parts: [input, ...args.slice(0, -1).flatMap((one) => [between, one])] }
  },
  striptags: (input) => filter(input, "strip_html"),
  urlencode: (input) => filter(input, "url_encode"),
  url: (input) => filter(input, "url_encode"),
  tojson: (input) => filter(input, "json"),
  json: (input) => filter(input, "json"),
  lookup: (input, [key = literal(0)]) => {
    if (input.kind !== "path" || key.kind === "filter") throw new NoEquivalent(fetchFirst)
    if (key.kind === "path") return path(`${input.path}[${key.path}]`)
    return path(`${input.path}${pathText(["x", literalOf(key, "the key")]).slice(1)}`)
  },
}

/** Remedies for blocks that have no equivalent. */
export const blockRemedies: Readonly<Record<string, string>> = {
  groupby: fetchFirst,
  ifcontains: 'Write {% assign found = items | where: "name", "value" | first %}{% if found != blank %}',
  ifmatchesregexstr: "Write contains, or pass the result as a field: Liquid has no patterns",
  sendskip: sendToFewer,
  sortby: 'Write {% assign sorted = items | sort: "price" %}, with | reverse for the other order',
}

/** Names that are never fields. */
export const helperNames = new Set(["fetch", "sendskip", "snippet", "eachproperty", "catalog", "collection"])

/** Helpers around a text, with the filters for the text. */
export const captures: Readonly<Record<string, string>> = {
  urlencode: "url_encode",
  breaklines: "newline_to_br",
  base64: "base64_encode",
  upper: "upcase",
  lower: "downcase",
  md5: "md5",
}

/** Writes a number in a format of `numberFormat`. */
export const formattedNumber = (input: Value, format: string, locale: Value | undefined): Value => {
  if (format === "currency") return moneyOf(input, locale)
  if (format === "integer") return filter(filter(input, "round"), "number_with_delimiter")
  if (format === "percent") {
    return filter(filter(filter(input, "times", literal(100)), "round"), "append", literal("%"))
  }
  if (format === "") return filter(input, "number_with_delimiter")
  throw new NoEquivalent('Write the number with a filter, such as money: "USD" or number_with_delimiter')
}
