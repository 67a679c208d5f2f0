import { JsonPointer, Result, Schema } from "effect"
import { isStorable } from "../domain/Attributes.ts"
import type { Fault } from "../domain/Errors.ts"
import { decoder } from "../domain/Faults.ts"
import * as Json from "../json/Json.ts"
import { LocaleTag, maxLocales } from "../domain/Locale.ts"
import type { Season } from "../domain/Season.ts"
import { decimalOf, operands, type Operator } from "../domain/Targeting.ts"
import {
  Format,
  type Formats,
  type Locales,
  sourceLength,
  type Variant,
  VariantPatch,
  type Vars,
} from "../domain/Template.ts"
import { t } from "../languages/Language.ts"
import type { Components } from "../domain/VariantComponents.ts"

// Converts a variant to the editor's form, and back. A form can be invalid in many ways.

const storable = Schema.makeFilter<string>((value) =>
  isStorable(value) ? undefined : "must be well-formed Unicode without NUL"
)

/** A text as written. It is validated when the variant is saved. */
const written = (most: number) => Schema.String.check(storable, Schema.isMaxLength(most))

const VariableDraft = Schema.Struct({ name: written(1_000), format: written(100), source: written(2 * sourceLength) })
export type VariableDraft = typeof VariableDraft.Type

/** The texts in another locale. An empty text is not translated. */
const LocaleDraft = Schema.Struct({
  locale: written(100),
  texts: Schema.Array(Schema.Struct({ name: written(1_000), source: written(2 * sourceLength) }))
    .check(Schema.isMaxLength(101)),
})
export type LocaleDraft = typeof LocaleDraft.Type

/** `values`: one value per line. A line that is a JSON string represents that string. */
const ConditionDraft = Schema.Struct({ attribute: written(1_000), op: written(100), values: written(200_000) })
export type ConditionDraft = typeof ConditionDraft.Type

const moment = written(100)

const SeasonDraft = Schema.Struct({
  starts_at: moment,
  ends_at: moment,
  annual_from: moment,
  annual_to: moment,
  days: Schema.Array(moment).check(Schema.isMaxLength(20)),
  hours_from: moment,
  hours_to: moment,
})
export type SeasonDraft = typeof SeasonDraft.Type

/** A variant as typed so far, in the rows of the editor's form. It may be invalid. */
export const VariantForm = Schema.Struct({
  id: written(1_000).annotate({ description: "Only for a new variant; empty: made from the name" }),
  name: written(1_000),
  active: Schema.Boolean,
  variables: Schema.Array(VariableDraft).check(Schema.isMaxLength(101)),
  locales: Schema.optionalKey(Schema.Array(LocaleDraft).check(Schema.isMaxLength(maxLocales + 1))).annotate({
    description: "Texts in other locales. A text that is empty is not translated. Default: none",
  }),
  conditions: Schema.Array(ConditionDraft).check(Schema.isMaxLength(51)).annotate({
    description: "`values`: one a line",
  }),
  seasons: Schema.Array(SeasonDraft).check(Schema.isMaxLength(51)),
  components: written(20_000).annotate({ description: "One a line: its kind, a colon, its value" }),
}).annotate({ identifier: "VariantForm" })
export type VariantForm = typeof VariantForm.Type

/**
 * The form with `updated_at` of the variant when the form was opened, to detect a concurrent save. Empty for a new
 * variant.
 */
export interface Draft extends VariantForm {
  readonly base: string
}

/** Returns a value as a line of the form. */
export const line = (value: string | number | boolean): string => {
  const text = String(value)
  return text === "" || text.trim() !== text || /^"|[\r\n]/.test(text) ? JSON.stringify(text) : text
}

const seasonDraft = ({ annual, days, ends_at, hours, starts_at }: Season): SeasonDraft => ({
  starts_at: starts_at ?? "",
  ends_at: ends_at ?? "",
  annual_from: annual?.from ?? "",
  annual_to: annual?.to ?? "",
  days: days ?? [],
  hours_from: hours === undefined ? "" : String(hours.from),
  hours_to: hours === undefined ? "" : String(hours.to),
})

/** An empty row for a season. */
export const emptySeason: SeasonDraft = seasonDraft({})
/** An empty row for a condition. */
export const emptyCondition: ConditionDraft = { attribute: "", op: "is", values: "" }

/** Returns the form of a stored variant. */
export const ofVariant = (variant: Variant): Draft => ({
  id: variant.id,
  name: variant.name,
  active: variant.active,
  variables: Object.entries(variant.vars).map(([name, source]) => ({
    name,
    source,
    format: Object.hasOwn(variant.formats, name) ? variant.formats[name]! : "text",
  })),
  ...(Object.keys(variant.locales).length === 0 ? {} : {
    locales: Object.entries(variant.locales).map(([locale, texts]) => ({
      locale,
      texts: Object.entries(texts).map(([name, source]) => ({ name, source })),
    })),
  }),
  conditions: variant.targeting.map(({ attribute, op, values }) => ({
    attribute,
    op,
    values: values.map(line).join("\n"),
  })),
  seasons: variant.seasons.map(seasonDraft),
  components: Object.entries(variant.components).map(([kind, value]) => `${kind}: ${value}`).join("\n"),
  base: variant.updated_at,
})

/** Returns the values that an operator accepts. Undefined for text that is not an operator. */
const operandsOf = (op: string) => Object.hasOwn(operands, op) ? operands[op as Operator] : undefined

/** Maximum number of lines of values, including blank ones. More are refused as too many values. */
const maxLines = 2_000

/** A JSON string. Any other text in quotation marks is a literal value. */
// deno-lint-ignore no-control-regex
const jsonText = /^"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*"$/

const valuesOf = ({ op, values }: ConditionDraft) => {
  const lines = values.split("\n", maxLines + 1)
  if (lines.length > maxLines) return lines
  return lines.flatMap((text): ReadonlyArray<string | number> => {
    const value = text.trim()
    if (value === "") return []
    if (jsonText.test(value)) return [Json.parse(value) as string]
    return operandsOf(op) === "number" && String(decimalOf(value)) === value ? [Number(value)] : [value]
  })
}

const isBlankCondition = ({ attribute, values }: ConditionDraft) => attribute === "" && values.trim() === ""
const isBlankSeason = (season: SeasonDraft) => Object.values(season).every((value) => value.length === 0)
const isBlankVariable = ({ name, source }: VariableDraft) => name.trim() === "" && source === ""

const seasonOf = (season: SeasonDraft) => ({
  ...(season.starts_at === "" ? {} : { starts_at: season.starts_at }),
  ...(season.ends_at === "" ? {} : { ends_at: season.ends_at }),
  ...(season.annual_from === "" && season.annual_to === ""
    ? {}
    : { annual: { from: season.annual_from, to: season.annual_to } }),
  ...(season.days.length === 0 ? {} : { days: season.days }),
  ...(season.hours_from === "" && season.hours_to === ""
    ? {}
    : { hours: { from: Number(season.hours_from || "0"), to: Number(season.hours_to || "24") } }),
})

/** Reads components from lines such as `subject: question`, and returns the faults of the other lines. */
const componentsOf = (text: string): { readonly components: Components; readonly faults: ReadonlyArray<Fault> } => {
  const components = new Map<string, string>()
  const faults: Array<Fault> = []
  const lines = text.split("\n").map((line) => line.trim())
  lines.forEach((line, index) => {
    if (line === "") return
    const at = line.indexOf(":")
    const kind = line.slice(0, Math.max(0, at)).trim()
    const wrong = at < 0
      ? t`line ${index + 1} has no colon`
      : components.has(kind)
      ? t`line ${index + 1} has the kind ${kind} again`
      : undefined
    if (wrong === undefined) components.set(kind, line.slice(at + 1).trim())
    else faults.push({ pointer: "/components", detail: wrong })
  })
  return { components: Object.fromEntries(components), faults }
}

const decodePatch = decoder(VariantPatch)
const isFormat = Schema.is(Format)
const isTag = Schema.is(LocaleTag)

/** Returns the faults of a variant with pointers to the controls of the form. */
export const placed = (draft: Draft, faults: ReadonlyArray<Fault>): ReadonlyArray<Fault> => {
  const conditions = draft.conditions.flatMap((row, index) => isBlankCondition(row) ? [] : [index])
  const seasons = draft.seasons.flatMap((row, index) => isBlankSeason(row) ? [] : [index])
  return faults.map((fault) => {
    const [, head, key = "", member = "", part = ""] = fault.pointer.split("/")
    const at = (pointer: string): Fault => ({ pointer, detail: fault.detail })
    switch (head) {
      case "vars":
      case "formats": {
        const name = JsonPointer.unescapeToken(key)
        const index = draft.variables.findIndex((row) => row.name.trim() === name)
        if (index < 0) return fault
        if (fault.detail.startsWith("must be a name")) return at(`/var_${index}_name`)
        return at(`/var_${index}_${head === "vars" ? "source" : "format"}`)
      }
      case "locales": {
        const index = draft.locales?.findIndex(({ locale }) => locale.trim() === key) ?? -1
        if (index < 0) return fault
        if (member === "") return at(`/locale_${index}_tag`)
        const name = JsonPointer.unescapeToken(member)
        return at(`/locale_${index}_text_${draft.variables.findIndex((row) => row.name.trim() === name)}`)
      }
      case "targeting":
        return conditions[Number(key)] === undefined || key === ""
          ? fault
          : at(`/condition_${conditions[Number(key)]}_${member === "" ? "attribute" : member}`)
      case "seasons":
        return seasons[Number(key)] === undefined || key === ""
          ? fault
          : at(`/season_${seasons[Number(key)]}_${member}${part === "" || member === "days" ? "" : `_${part}`}`)
      case "components":
        return key === "" ? fault : { pointer: "/components", detail: `${key}: ${fault.detail}` }
      default:
        return fault
    }
  })
}

/** Returns the texts of a draft by locale, without empty texts. `faults` receives locales that occur twice. */
export const localesOf = ({ locales = [] }: Pick<VariantForm, "locales">, faults: Array<Fault> = []): Locales => {
  const all: Record<string, Vars> = Object.create(null)
  for (const [index, { locale, texts }] of locales.entries()) {
    const tag = locale.trim()
    const own = Object.fromEntries(texts.filter(({ source }) => source !== "").map((one) => [one.name, one.source]))
    if (tag === "" && texts.every(({ source }) => source === "")) continue
    if (tag in all) faults.push({ pointer: `/locale_${index}_tag`, detail: t`is another locale of this variant` })
    else all[tag] = own
  }
  return { ...all }
}

/** Returns the sources and formats of a draft, each variable once, regardless of its other faults. */
export const sourcesOf = (
  draft: Draft,
): { readonly vars: Vars; readonly formats: Formats; readonly locales: Locales } => {
  const rows = new Map<string, VariableDraft>()
  for (const row of draft.variables) {
    const name = row.name.trim()
    if (name !== "" && !rows.has(name)) rows.set(name, row)
  }
  return {
    vars: Object.fromEntries([...rows].map(([name, { source }]) => [name, source])),
    formats: Object.fromEntries(
      [...rows].map(([name, { format }]) => [name, isFormat(format) ? format : "text"] as const),
    ),
    locales: Object.fromEntries(Object.entries(localesOf(draft)).filter(([tag]) => isTag(tag))),
  }
}

/** Returns the variant of a draft, or every fault with a pointer to its control. Does not check Liquid. */
export const read = (draft: Draft): Result.Result<Required<VariantPatch>, ReadonlyArray<Fault>> => {
  const vars: Record<string, string> = Object.create(null)
  const formats: Record<string, string> = Object.create(null)
  const faults: Array<Fault> = []
  for (const [index, row] of draft.variables.entries()) {
    const name = row.name.trim()
    if (isBlankVariable(row)) continue
    if (name === "") faults.push({ pointer: `/var_${index}_name`, detail: t`is missing` })
    else if (name in vars) {
      faults.push({ pointer: `/var_${index}_name`, detail: t`is the name of another variable of this variant` })
    } else {
      vars[name] = row.source
      if (row.format !== "text") formats[name] = row.format
    }
  }
  const { components, faults: misread } = componentsOf(draft.components)
  faults.push(...misread)
  const decoded = decodePatch({
    name: draft.name.trim(),
    active: draft.active,
    vars: { ...vars },
    locales: localesOf(draft, faults),
    formats: { ...formats },
    targeting: draft.conditions.filter((row) => !isBlankCondition(row)).map((row) => ({
      attribute: row.attribute,
      op: row.op,
      values: operandsOf(row.op) === "none" ? [] : valuesOf(row),
    })),
    seasons: draft.seasons.filter((row) => !isBlankSeason(row)).map(seasonOf),
    components,
  })
  if (Result.isFailure(decoded)) faults.push(...placed(draft, decoded.failure))
  return faults.length > 0 || Result.isFailure(decoded)
    ? Result.fail(faults)
    : Result.succeed(decoded.success as Required<VariantPatch>)
}
