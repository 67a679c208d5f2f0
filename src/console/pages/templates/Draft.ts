import { JsonPointer, Result } from "effect"
import * as Attributes from "../../../domain/Attributes.ts"
import type { Fault } from "../../../domain/Errors.ts"
import { decoder } from "../../../domain/Faults.ts"
import * as Json from "../../../domain/Json.ts"
import { type Season, SeasonInstant } from "../../../domain/Season.ts"
import { type Condition, decimalOf, operands, type Operator } from "../../../domain/Targeting.ts"
import { type Components, type Formats, type Variant, VariantPatch, type Vars } from "../../../domain/Template.ts"
import type { Fields } from "../../Routes.tsx"

// A variant as it stands in the editor's form, which may be wrong in every way, and back.

export interface VariableDraft {
  readonly name: string
  readonly format: string
  readonly source: string
}

/** `values`: one a line; a line that is JSON text in quotes stands for that text. */
export interface ConditionDraft {
  readonly attribute: string
  readonly op: string
  readonly values: string
}

export interface SeasonDraft {
  readonly starts_at: string
  readonly ends_at: string
  readonly annual_from: string
  readonly annual_to: string
  readonly days: ReadonlyArray<string>
  readonly hours_from: string
  readonly hours_to: string
}

export interface Draft {
  readonly id: string
  readonly name: string
  readonly active: boolean
  readonly variables: ReadonlyArray<VariableDraft>
  readonly conditions: ReadonlyArray<ConditionDraft>
  readonly seasons: ReadonlyArray<SeasonDraft>
  /** One a line: its kind, a colon, its value. */
  readonly components: string
  /** `updated_at` of the variant when the form was opened, to detect a concurrent save. */
  readonly base: string
}

/** Sample data of a preview: JSON texts, and a time on the organization's clocks, empty for now. */
export interface Sample {
  readonly fields: string
  readonly attrs: string
  readonly at: string
}

/** How the preview shows the message. */
export interface PreviewLook {
  /** Unit: CSS pixels. */
  readonly width: "600" | "375"
  readonly part: "html" | "text"
  readonly colors: "light" | "dark"
}

/** How the preview is asked to show the message; the first choice of each where nothing, or nothing known, is asked. */
export const lookOf = (get: (name: string) => string | null | undefined): PreviewLook => ({
  width: get("view_width") === "375" ? "375" : "600",
  part: get("view_part") === "text" ? "text" : "html",
  colors: get("view_colors") === "dark" ? "dark" : "light",
})

const most = { var: 100, condition: 50, season: 50 }

const line = (value: string | number | boolean): string => {
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

export const emptySeason: SeasonDraft = seasonDraft({})
export const emptyCondition: ConditionDraft = { attribute: "", op: "is", values: "" }

/** The form of a stored variant. */
export const ofVariant = (variant: Variant): Draft => ({
  id: variant.id,
  name: variant.name,
  active: variant.active,
  variables: Object.entries(variant.vars).map(([name, source]) => ({
    name,
    source,
    format: Object.hasOwn(variant.formats, name) ? variant.formats[name]! : "text",
  })),
  conditions: variant.targeting.map(({ attribute, op, values }) => ({
    attribute,
    op,
    values: values.map(line).join("\n"),
  })),
  seasons: variant.seasons.map(seasonDraft),
  components: Object.entries(variant.components).map(([kind, value]) => `${kind}: ${value}`).join("\n"),
  base: variant.updated_at,
})

/** The draft in the fields of a form, without validation. Line breaks of forms are CR LF. */
export const ofFields = (fields: Fields): Draft => {
  const get = (name: string) => (fields[name] ?? "").replaceAll("\r\n", "\n")
  const rows = <A>(kind: keyof typeof most, marker: string, read: (at: string) => A): ReadonlyArray<A> => {
    const all: Array<A> = []
    for (let i = 0; i < most[kind] + 1 && `${kind}_${i}_${marker}` in fields; i++) all.push(read(`${kind}_${i}_`))
    return all
  }
  return {
    id: get("id").trim(),
    name: get("name"),
    active: "active" in fields,
    components: get("components"),
    base: get("base"),
    variables: rows("var", "name", (at) => ({
      name: get(`${at}name`),
      format: get(`${at}format`),
      source: get(`${at}source`),
    })),
    conditions: rows("condition", "attribute", (at) => ({
      attribute: get(`${at}attribute`).trim(),
      op: get(`${at}op`),
      values: get(`${at}values`),
    })),
    seasons: rows("season", "starts_at", (at) => ({
      starts_at: get(`${at}starts_at`).trim(),
      ends_at: get(`${at}ends_at`).trim(),
      annual_from: get(`${at}annual_from`).trim(),
      annual_to: get(`${at}annual_to`).trim(),
      days: get(`${at}days`).split("\n").filter((day) => day !== ""),
      hours_from: get(`${at}hours_from`),
      hours_to: get(`${at}hours_to`),
    })),
  }
}

export const sampleOf = (get: (name: string) => string | null | undefined, otherwise: Sample): Sample => ({
  fields: get("fields") ?? otherwise.fields,
  attrs: get("attrs") ?? otherwise.attrs,
  at: get("at") ?? otherwise.at,
})

const without = <A>(list: ReadonlyArray<A>, index: number): ReadonlyArray<A> => list.filter((_, i) => i !== index)

/** The draft after a button such as `add-condition` or `remove-var-2`; anything else changes nothing. */
export const changed = (draft: Draft, button: string): Draft => {
  const [, verb, kind, at] = /^(add|remove)-(var|condition|season)(?:-(\d{1,3}))?$/.exec(button) ?? []
  const index = Number(at)
  if (verb === "add") {
    switch (kind) {
      case "var":
        return { ...draft, variables: [...draft.variables, { name: "", format: "text", source: "" }] }
      case "condition":
        return { ...draft, conditions: [...draft.conditions, emptyCondition] }
      case "season":
        return { ...draft, seasons: [...draft.seasons, emptySeason] }
    }
  }
  if (verb === "remove") {
    switch (kind) {
      case "var":
        return { ...draft, variables: without(draft.variables, index) }
      case "condition":
        return { ...draft, conditions: without(draft.conditions, index) }
      case "season":
        return { ...draft, seasons: without(draft.seasons, index) }
    }
  }
  return draft
}

/** The values that an operator takes; undefined for text of a form that is no operator. */
const operandsOf = (op: string) => Object.hasOwn(operands, op) ? operands[op as Operator] : undefined

/** Lines of values that are read: more of them, blank ones included, are refused as too many values. */
const maxLines = 2_000

/** A text in JSON. Anything else in quotation marks is a value as it stands. */
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

/** The components that lines such as `subject: question` name, and what is wrong with lines that name none. */
const componentsOf = (text: string): { readonly components: Components; readonly faults: ReadonlyArray<Fault> } => {
  const components = new Map<string, string>()
  const faults: Array<Fault> = []
  const lines = text.split("\n").map((line) => line.trim())
  lines.forEach((line, index) => {
    if (line === "") return
    const at = line.indexOf(":")
    const kind = line.slice(0, Math.max(0, at)).trim()
    const wrong = at < 0 ? "has no colon" : components.has(kind) ? `has the kind ${kind} again` : undefined
    if (wrong === undefined) components.set(kind, line.slice(at + 1).trim())
    else faults.push({ pointer: "/components", detail: `line ${index + 1} ${wrong}` })
  })
  return { components: Object.fromEntries(components), faults }
}

const decodePatch = decoder(VariantPatch)

/** Where a fault of the variant is in the form, as a pointer to the control. */
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

/** The sources and formats of a draft, each variable once, whatever else is wrong with it. */
export const sourcesOf = (draft: Draft): { readonly vars: Vars; readonly formats: Formats } => {
  const rows = new Map<string, VariableDraft>()
  for (const row of draft.variables) {
    const name = row.name.trim()
    if (name !== "" && !rows.has(name)) rows.set(name, row)
  }
  return {
    vars: Object.fromEntries([...rows].map(([name, { source }]) => [name, source])),
    formats: Object.fromEntries([...rows].map(([name, { format }]) => [name, format === "html" ? "html" : "text"])),
  }
}

/** The variant a draft means, or every fault at its control. Liquid is not looked at. */
export const read = (draft: Draft): Result.Result<Required<VariantPatch>, ReadonlyArray<Fault>> => {
  const vars: Record<string, string> = Object.create(null)
  const formats: Record<string, string> = Object.create(null)
  const faults: Array<Fault> = []
  for (const [index, row] of draft.variables.entries()) {
    const name = row.name.trim()
    if (isBlankVariable(row)) continue
    if (name === "") faults.push({ pointer: `/var_${index}_name`, detail: "is missing" })
    else if (name in vars) {
      faults.push({ pointer: `/var_${index}_name`, detail: "is the name of another variable of this variant" })
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

const isInstant = decoder(SeasonInstant)

/** Parses a sample, or lists its faults. */
export const readSample = (sample: Sample): Result.Result<
  {
    readonly fields: Readonly<Record<string, unknown>>
    readonly attrs: Attributes.Attributes
    readonly at: string | undefined
  },
  ReadonlyArray<Fault>
> => {
  const faults: Array<Fault> = []
  const json = (name: "fields" | "attrs"): Readonly<Record<string, unknown>> => {
    const text = sample[name].trim()
    if (text === "") return {}
    try {
      const value: unknown = Json.parse(text)
      if (value !== null && typeof value === "object" && !Array.isArray(value)) return value as Record<string, unknown>
      faults.push({ pointer: `/${name}`, detail: 'must be a JSON object, such as {"name": "Ann"}' })
    } catch (error) {
      faults.push({
        pointer: `/${name}`,
        detail: `must be a JSON object, such as {"name": "Ann"} (${error instanceof Error ? error.message : error})`,
      })
    }
    return {}
  }
  const fields = json("fields")
  const attrs = Attributes.parse(json("attrs"))
  if (Result.isFailure(attrs)) {
    for (const { detail, pointer } of attrs.failure) {
      faults.push({ pointer: "/attrs", detail: pointer === "" ? detail : `${pointer.slice(1)}: ${detail}` })
    }
  }
  const at = sample.at.trim()
  if (at !== "" && Result.isFailure(isInstant(at))) {
    faults.push({ pointer: "/at", detail: "must be a date and a time, such as 2026-11-15T09:00" })
  }
  return faults.length > 0 || Result.isFailure(attrs)
    ? Result.fail(faults)
    : Result.succeed({ fields, attrs: attrs.success, at: at === "" ? undefined : at })
}

/** Operators in the words of the form, in the order in which it offers them. */
export const operatorWords: { readonly [op in Operator]: string } = {
  is: "is",
  is_not: "is not",
  in: "is one of",
  not_in: "is none of",
  exists: "is there",
  not_exists: "is not there",
  starts_with: "starts with",
  contains: "contains",
  gt: "is more than",
  gte: "is at least",
  lt: "is less than",
  lte: "is at most",
}

/** A condition in the words of the form: `tier is one of gold, silver`. Of more than five values the rest is counted. */
export const conditionText = ({ attribute, op, values }: Condition): string => {
  const word = operatorWords[op]
  if (operands[op] === "none") return `${attribute} ${word}`
  const named = values.slice(0, 5).map(line).join(", ")
  return `${attribute} ${word} ${named}${values.length > 5 ? ` and ${values.length - 5} more` : ""}`
}
