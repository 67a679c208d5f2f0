import { Document, visit } from "yaml"
import type { SnippetFileInput } from "../domain/Snippet.ts"
import type { TemplateInput, VariantInput } from "../domain/Template.ts"

type Plain = { readonly [name: string]: unknown }

/** Returns the present members of `value` in the order of `names`. */
const ordered = <A extends object>(value: A, names: ReadonlyArray<keyof A & string>): Plain =>
  Object.fromEntries(names.filter((name) => value[name] !== undefined).map((name) => [name, value[name]]))

type Condition = NonNullable<VariantInput["targeting"]>[number]
type Season = NonNullable<VariantInput["seasons"]>[number]

const conditionOf = (condition: Condition): Plain =>
  ordered(condition, condition.values.length === 0 ? ["attribute", "op"] : ["attribute", "op", "values"])

const seasonOf = (season: Season): Plain => ({
  ...ordered(season, ["starts_at", "ends_at"]),
  ...(season.annual === undefined ? {} : { annual: ordered(season.annual, ["from", "to"]) }),
  ...ordered(season, ["days"]),
  ...(season.hours === undefined ? {} : { hours: ordered(season.hours, ["from", "to"]) }),
})

/**
 * Marks a value to be written on one line, because people read it as one: a condition, a season, a weighted mix, a list
 * of names.
 */
type Inline = (value: Plain | ReadonlyArray<string>) => unknown

const variantOf = (variant: VariantInput, inline: Inline): Plain => ({
  ...ordered(variant, ["id", "name", "active", "components", "vars", "locales", "formats"]),
  ...(variant.targeting === undefined
    ? {}
    : { targeting: variant.targeting.map((condition) => inline(conditionOf(condition))) }),
  ...(variant.seasons === undefined ? {} : { seasons: variant.seasons.map((season) => inline(seasonOf(season))) }),
})

const templateOf = (template: TemplateInput, inline: Inline): Plain => ({
  ...ordered(template, ["id", "name"]),
  ...(template.locale === undefined ? {} : {
    locale: template.locale === null ? null : inline(ordered(template.locale, ["attribute", "field", "default"])),
  }),
  ...(template.tags === undefined ? {} : { tags: inline(template.tags) }),
  ...ordered(template, ["owner", "archived", "strict", "ignore_unsubscribes", "sticky_hours", "runner_up_floor"]),
  ...(template.objective === undefined ? {} : {
    objective: typeof template.objective === "string"
      ? template.objective
      : inline(ordered(template.objective, ["click", "open", "conversion", "negative", "revenue", "revenue_cap"])),
  }),
  ...ordered(template, ["send_nothing"]),
  ...(template.holdout === undefined ? {} : {
    holdout: template.holdout === null ? null : inline(ordered(template.holdout, ["share", "content", "copy_id"])),
  }),
  ...(template.tracking === undefined ? {} : {
    tracking: template.tracking === null ? null : inline(ordered(template.tracking, ["opens", "clicks"])),
  }),
  ...ordered(template, ["list_unsubscribe"]),
  ...(template.link_domains === undefined ? {} : { link_domains: inline(template.link_domains) }),
  ...(template.conversion_events === undefined ? {} : { conversion_events: inline(template.conversion_events) }),
  ...(template.variants === undefined ? {} : { variants: template.variants.map((one) => variantOf(one, inline)) }),
})

/**
 * Whether text is written as a block. A block that is blank, or starts or ends with a line of blanks, would not be read
 * back unchanged (`" \n"` loses its space), so such text is quoted.
 */
const isBlock = (text: string): boolean =>
  text.includes("\n") && /\S/.test(text) && !/^\n*[ \t]+\n|\n[ \t]+\n*$/.test(text)

/**
 * Maximum number of values on one line. More values are written one per line, because a flow mapping is always a single
 * line.
 */
const maxInline = 8

/** The members of a file. Without snippets, it has none. */
const contentOf = (
  templates: ReadonlyArray<TemplateInput>,
  snippets: ReadonlyArray<SnippetFileInput>,
  inline: Inline,
): Plain => ({
  ...(snippets.length === 0 ? {} : {
    snippets: snippets.map((one) =>
      ordered({ ...one, ...(one.name === one.id ? { name: undefined } : {}) }, ["id", "name", "format", "text"])
    ),
  }),
  templates: templates.map((template) => templateOf(template, inline)),
})

const yaml = (templates: ReadonlyArray<TemplateInput>, snippets: ReadonlyArray<SnippetFileInput>): string => {
  const document = new Document()
  const inline: Inline = (value) => {
    const values = "values" in value ? value["values"] : value
    const long = Array.isArray(values) && values.length > maxInline
    return document.createNode(value, { flow: !long, aliasDuplicateObjects: false })
  }
  document.contents = document.createNode(contentOf(templates, snippets, inline), { aliasDuplicateObjects: false })
  visit(document, {
    Scalar: (key, scalar) => {
      // Without quotes, this key would merge a mapping.
      if (key === "key" && scalar.value === "<<") scalar.type = "QUOTE_DOUBLE"
      else if (key !== "key" && typeof scalar.value === "string" && scalar.value.includes("\n")) {
        scalar.type = isBlock(scalar.value) ? "BLOCK_LITERAL" : "QUOTE_DOUBLE"
      }
    },
  })
  return document.toString({ lineWidth: 0, blockQuote: "literal" })
}

/**
 * Writes templates in the form that `parse` reads: members in a fixed order, missing members left out, text of several
 * lines as block literals in YAML (quoted if YAML cannot represent it as a block: carriage returns, a first or last
 * line of blanks). Ends with a line break. `parse` returns the input to the last character.
 */
export const format = (
  templates: ReadonlyArray<TemplateInput>,
  as: "yaml" | "json",
  snippets: ReadonlyArray<SnippetFileInput> = [],
): string =>
  as === "yaml"
    ? yaml(templates, snippets)
    : `${JSON.stringify(contentOf(templates, snippets, (value) => value), null, 2)}\n`

const jsonList = '  "templates": [\n'
const jsonTail = "\n  ]\n}\n"

/** Joins files written by `format` into one file. Only a single file may be empty, and only the first has snippets. */
export const joined = (parts: ReadonlyArray<string>, as: "yaml" | "json"): string => {
  const [first = "", ...others] = parts
  if (others.length === 0) return first
  if (as === "yaml") return first + others.map((part) => part.slice(part.indexOf("\n") + 1)).join("")
  const headOf = (part: string) => part.slice(0, part.indexOf(jsonList) + jsonList.length)
  return headOf(first) + parts.map((part) => part.slice(headOf(part).length, -jsonTail.length)).join(",\n") + jsonTail
}
