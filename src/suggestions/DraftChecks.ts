import { Result, Schema } from "effect"
import { isStorable } from "../domain/Attributes.ts"
import type { BrandRules } from "../domain/Suggestion.ts"
import { formatOf } from "../domain/Template.ts"
import { eachLiquid } from "../rendering/Places.ts"
import { parsed } from "./ChatEndpoint.ts"
import type { AskedVariable } from "./Prompt.ts"

// The checks of drafts that a model has written. Pure. An answer is data: nothing in it is carried out.

/** A draft as it was answered. */
export interface WrittenDraft {
  readonly name: string
  readonly vars: Readonly<Record<string, unknown>>
}

/** Maximum number of drafts of one answer that are read. */
const mostDrafts = 8
/** Maximum length of a text that a model writes. Unit: UTF-16 code units. */
const maxSource = 20_000

const decodeDrafts = Schema.decodeUnknownResult(Schema.Struct({
  drafts: Schema.Array(Schema.Struct({
    name: Schema.optionalKey(Schema.String),
    vars: Schema.Record(Schema.String, Schema.Unknown),
  })),
}))

/** Reads up to 8 drafts of an answer, also if it has text or a code fence around its JSON. Undefined for other texts. */
export const readDrafts = (text: string): ReadonlyArray<WrittenDraft> | undefined => {
  const result = decodeDrafts(parsed(text) ?? parsed(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1)))
  if (Result.isFailure(result)) return undefined
  return result.success.drafts.slice(0, mostDrafts).map(({ name = "", vars }, at) => {
    // deno-lint-ignore no-control-regex
    const line = name.toWellFormed().replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, " ").trim().slice(0, 80)
    return { name: line === "" ? `Suggestion ${at + 1}` : line.toWellFormed(), vars }
  })
}

/** Replaces the character references with which a URL may be hidden. */
const withoutReferences = (text: string): string =>
  text.replace(/&#(x[0-9a-f]+|\d+);?/gi, (whole, code: string) => {
    const point = Number(code.replace(/^x/i, "0x"))
    return point <= 0x10ffff ? String.fromCodePoint(point) : whole
  }).replace(/&colon;/gi, ":").replace(/&sol;/gi, "/").replace(/&period;/gi, ".").replace(/&(?:tab|newline);/gi, "\t")

/** Hosts in links of a text, also if the links are written like browsers accept them by mistake. In lowercase. */
export const hostsIn = (text: string): ReadonlySet<string> => {
  const plain = withoutReferences(text)
  const hosts = [...plain.matchAll(/(?:https?:[\\/]*|[\\/]{2}|\b(?=www\.))([^\s\\/"'<>?#()]+)/gi)].map(([, host]) =>
    host!
  )
  return new Set(hosts.map((host) => host.toLowerCase()).filter((host) => !/^[{%]/.test(host)))
}

// The patterns of this file take time linear in the length of a text, because a hostile answer chooses the text.

/** Tags and outputs of a text, without quoted texts. */
const liquidOf = (source: string): ReadonlyArray<string> => {
  const parts: Array<string> = []
  eachLiquid(source, (from, to) => parts.push(source.slice(from, to).replace(/"[^"]*"|'[^']*'/g, " ")))
  return parts
}

const nameStart = String.raw`[\p{L}_]`
const nameSign = String.raw`[\p{L}\p{N}_-]`
const wordPattern = new RegExp(`${nameStart}${nameSign}*`, "gu")

/** Words in the Liquid of a text, without quoted texts. */
const liquidWords = (source: string): ReadonlyArray<string> =>
  liquidOf(source).flatMap((part) => part.match(wordPattern) ?? [])

const keywords = new Set(
  "and or not contains in with for as true false nil null empty blank forloop tablerowloop reversed continue".split(
    " ",
  ),
)

const assigning = new RegExp(
  `^\\{%-?\\s*(?:assign|capture|increment|decrement|for|tablerow)\\s+(${nameStart}${nameSign}*)`,
  "u",
)
/** Names of fields: no members and no names of parameters. Also signs with which other names are hidden. */
const fieldPattern = new RegExp(
  `["']|(?<!${nameSign}|\\])\\[|(?<!${nameSign}|\\.)${nameStart}${nameSign}*(?!${nameSign}|\\s*:)`,
  "gu",
)

/** Fields that a text reads, and signs that hide their names. Names that its earlier tags assign are no fields. */
const fieldsIn = (source: string): ReadonlyArray<string> => {
  const own = new Set<string>()
  return liquidOf(source).flatMap((part) => {
    const [tag, made] = assigning.exec(part) ?? [/^\{(?:\{-?|%-?\s*[\w-]*)/.exec(part)![0]]
    const values = part.slice(tag!.length).replace(/\|\s*\w+|\.\.|-?[%}]\}$/g, " ")
    const fields = (values.match(fieldPattern) ?? []).filter((name) => !own.has(name) && !keywords.has(name))
    if (made !== undefined) own.add(made)
    return fields
  })
}

const active = new RegExp(
  [
    String.raw`<[\s/]*(?:script|iframe|object|embed|form|base|applet|frame|portal)\b`,
    String.raw`(?:[\s"']|<[a-z][^\s<>]*\/)on[a-z]+\s*=`,
    String.raw`(?:java|vb)script\s*:|data:text\/html`,
  ].join("|"),
  "i",
)

/** Whether a text has a script, a form or an embedded page. Browsers ignore tabs and line breaks within URLs. */
const isActive = (text: string): boolean =>
  active.test(text) || active.test(withoutReferences(text).replace(/[\t\r\n]+/g, ""))

/** Removes the parts between two patterns. A part without an end reaches to the next beginning. */
const without = (text: string, begin: RegExp, end: RegExp): string => {
  const [first = "", ...parts] = text.split(begin)
  return first + parts.map((part) => part.slice(end.exec(part)?.index ?? part.length)).join("")
}

/** Returns the text that a person sees of HTML, roughly. */
export const visibleText = (html: string): string =>
  without(without(html, /<!--/, /-->/), /<(?=style\b|title\b)/i, /<\/(?:style|title)/i)
    .replace(/<[^<>]*>/g, "").replace(/-->/g, "").replace(/&nbsp;/g, " ")
    .replace(/&(?:amp|lt|gt|quot|#39);/g, "_").replace(/\s+/g, " ").trim()

/** A text without differences that nobody sees. */
const bare = (texts: ReadonlyArray<string>): string =>
  texts.map((text) => text.normalize("NFKC").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ").trim()).join("\n")

/** A named text for each variable. */
export interface NamedTexts {
  readonly name: string
  readonly vars: Readonly<Record<string, string>>
}

/** The facts that checks of drafts use. */
export interface CheckContext {
  readonly variables: ReadonlyArray<AskedVariable>
  readonly rules: BrandRules
  /** All variants of the template and all earlier drafts. */
  readonly existing: ReadonlyArray<NamedTexts>
  /** All texts of the template, from which drafts may take fields and links. */
  readonly sources: ReadonlyArray<string>
}

const textFaults = (
  { format, name }: AskedVariable,
  text: string,
  known: { readonly hosts: ReadonlySet<string>; readonly words: ReadonlySet<string> },
): ReadonlyArray<string> => {
  const foreign = [...hostsIn(text)].filter((host) => !known.hosts.has(host))
  const unknown = [...new Set(fieldsIn(text))].filter((field) => !known.words.has(field))
  return [
    ...(isStorable(text) ? [] : [`${name}: contains characters that cannot be stored`]),
    ...(text.length > maxSource ? [`${name}: is longer than ${maxSource.toLocaleString("en")} characters`] : []),
    ...(isActive(text) ? [`${name}: contains a script, a form or an embedded page`] : []),
    ...(format === "text" && formatOf(text) !== "text" ? [`${name}: contains HTML, and its format is text`] : []),
    ...(formatOf(text) === "mjml" ? [`${name}: contains MJML`] : []),
    ...foreign.map((host) => `${name}: links to ${host.slice(0, 100)}, which no variant of the template links to`),
    ...unknown.map((field) =>
      /^["'[]$/.test(field)
        ? `${name}: hides the name of a field with ${field}`
        : `${name}: uses the field ${field.slice(0, 100)}, which no variant of the template uses`
    ),
  ]
}

/** Returns a draft with exactly the asked variables, or every reason why it cannot be used. */
export const checkSources = (
  { name, vars }: WrittenDraft,
  { existing, rules, sources, variables }: CheckContext,
): Result.Result<NamedTexts, ReadonlyArray<string>> => {
  const texts = variables.map((one) => Object.hasOwn(vars, one.name) ? vars[one.name] : undefined)
  const missing = variables.filter((_, at) => typeof texts[at] !== "string" || texts[at].trim() === "")
  if (missing.length > 0) return Result.fail(missing.map((one) => `${one.name}: has no text`))
  const written = texts as ReadonlyArray<string>
  const known = {
    hosts: new Set(sources.flatMap((source) => [...hostsIn(source)])),
    words: new Set(["unsubscribe_url", ...sources.flatMap(liquidWords)]),
  }
  const content = bare(written)
  const same = existing.find((one) => bare(variables.map((variable) => one.vars[variable.name] ?? "")) === content)
  const reasons = [
    ...variables.flatMap((variable, at) => textFaults(variable, written[at]!, known)),
    ...forbiddenIn(written, rules),
    ...(same === undefined ? [] : [`is the same as ${JSON.stringify(same.name)}`]),
  ]
  return reasons.length > 0
    ? Result.fail(reasons)
    : Result.succeed({ name, vars: Object.fromEntries(variables.map((one, at) => [one.name, written[at]!])) })
}

/** Returns a pattern of words and phrases. Undefined for an empty list. */
const wordsPattern = (words: ReadonlyArray<string>): RegExp | undefined => {
  if (words.length === 0) return undefined
  const any = words.map((word) => word.normalize("NFKC").replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")).join("|")
  return new RegExp(`(?<![\\p{L}\\p{N}])(?:${any})(?![\\p{L}\\p{N}])`, "giu")
}

const forbiddenIn = (texts: ReadonlyArray<string>, { forbidden_words: words }: BrandRules): ReadonlyArray<string> => {
  const pattern = wordsPattern(words)
  if (pattern === undefined) return []
  const found = texts.flatMap((text) => text.normalize("NFKC").match(pattern) ?? [])
  return [...new Set(found.map((word) => word.toLowerCase()))].slice(0, 20).map((word) =>
    `contains the forbidden ${JSON.stringify(word)}`
  )
}

/** Maximum length of a rendered draft. A longer one is dropped. Unit: UTF-16 code units. */
export const maxRendered = 40_000

/**
 * Returns the reasons against a draft as one person would see it. `vars` are the rendered variables of the model,
 * `others` the sources of the other variables, and `fields` the JSON of the person's fields, from which links may come.
 * The reasons contain no values of the person.
 */
export const checkRendered = (
  vars: Readonly<Record<string, string>>,
  { fields, others }: { readonly fields: string; readonly others: ReadonlyArray<string> },
  { rules, sources, variables }: Pick<CheckContext, "rules" | "sources" | "variables">,
): ReadonlyArray<string> => {
  const whole = Object.values(vars)
  if (whole.reduce((sum, { length }) => sum + length, 0) >= maxRendered) {
    return [`is longer than ${maxRendered.toLocaleString("en")} characters once it is rendered`]
  }
  const hosts = new Set([...sources, fields].flatMap((source) => [...hostsIn(source)]))
  const visible = variables.map(({ format, name }) => {
    const text = Object.hasOwn(vars, name) ? vars[name]! : ""
    return format === "html" ? visibleText(text) : text
  })
  const all = [...visible, ...others].map((text) => text.toLowerCase())
  const lacking = rules.required_phrases.filter((phrase) => !all.some((text) => text.includes(phrase.toLowerCase())))
  return [
    ...variables.flatMap(({ max_length: most, name }, at) => {
      const { length } = [...visible[at]!]
      const text = vars[name] ?? ""
      return [
        ...(visible[at]!.trim() === "" ? [`${name}: is empty once it is rendered`] : []),
        ...(most !== undefined && length > most
          ? [`${name}: has ${length} characters, and at most ${most} are allowed`]
          : []),
        ...(isActive(text) ? [`${name}: contains a script, a form or an embedded page once it is rendered`] : []),
        ...([...hostsIn(text)].every((host) => hosts.has(host))
          ? []
          : [`${name}: links to another site once it is rendered`]),
      ]
    }),
    ...forbiddenIn(visible, rules),
    ...lacking.map((phrase) => `lacks the required ${JSON.stringify(phrase)}`),
  ]
}
