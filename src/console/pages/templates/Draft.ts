import { Result } from "effect"
import * as Attributes from "../../../domain/Attributes.ts"
import type { Fault } from "../../../domain/Errors.ts"
import { decoder } from "../../../domain/Faults.ts"
import * as Json from "../../../json/Json.ts"
import { maxLocales } from "../../../domain/Locale.ts"
import { SeasonInstant } from "../../../domain/Season.ts"
import { type Condition, operands, type Operator } from "../../../domain/Targeting.ts"
import { english, t, translated } from "../../../languages/Language.ts"
import { type Draft, emptyCondition, emptySeason, line } from "../../../templates/VariantForm.ts"
import { firstOf } from "../../Format.ts"
import type { Fields } from "../../Routes.tsx"

// The editor's form: what its fields and buttons say, and the samples of its preview.

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
  /** The locale to show. Empty: the locale of the sample person. */
  readonly locale: string
}

/** How the preview is asked to show the message; the first choice of each where nothing, or nothing known, is asked. */
export const lookOf = (get: (name: string) => string | null | undefined): PreviewLook => ({
  width: get("view_width") === "375" ? "375" : "600",
  part: get("view_part") === "text" ? "text" : "html",
  colors: get("view_colors") === "dark" ? "dark" : "light",
  locale: get("view_locale")?.trim() ?? "",
})

/** A day of the year as `MM-DD`, from its two fields, day and month, or from one text. Empty for two empty fields. */
const yearDay = (text: string): string => {
  const [day = "", month] = text.split("\n").map((part) => part.trim())
  return month === undefined ? day : day === "" && month === "" ? "" : `${month}-${day}`
}

const most = { var: 100, locale: maxLocales, condition: 50, season: 50 }

/** The draft in the fields of a form, without validation. Line breaks of forms are CR LF. */
export const ofFields = (fields: Fields): Draft => {
  const get = (name: string) => (fields[name] ?? "").replaceAll("\r\n", "\n")
  const rows = <A>(kind: keyof typeof most, marker: string, read: (at: string) => A): ReadonlyArray<A> => {
    const all: Array<A> = []
    for (let i = 0; i < most[kind] + 1 && `${kind}_${i}_${marker}` in fields; i++) all.push(read(`${kind}_${i}_`))
    return all
  }
  const variables = rows("var", "name", (at) => ({
    name: get(`${at}name`),
    format: get(`${at}format`),
    source: get(`${at}source`),
  }))
  const locales = rows("locale", "tag", (at) => ({
    locale: get(`${at}tag`).trim(),
    texts: variables.map(({ name }, i) => ({ name: name.trim(), source: get(`${at}text_${i}`) }))
      .filter(({ source }) => source !== ""),
  }))
  return {
    id: get("id").trim(),
    name: get("name"),
    active: "active" in fields,
    components: get("components"),
    base: get("base"),
    variables,
    ...(locales.length === 0 ? {} : { locales }),
    conditions: rows("condition", "attribute", (at) => ({
      attribute: get(`${at}attribute`).trim(),
      op: get(`${at}op`),
      values: get(`${at}values`),
    })),
    seasons: rows("season", "starts_at", (at) => ({
      starts_at: get(`${at}starts_at`).trim(),
      ends_at: get(`${at}ends_at`).trim(),
      annual_from: yearDay(get(`${at}annual_from`)),
      annual_to: yearDay(get(`${at}annual_to`)),
      days: get(`${at}days`).split("\n").filter((day) => day !== ""),
      hours_from: get(`${at}hours_from`),
      hours_to: get(`${at}hours_to`),
    })),
  }
}

const without = <A>(list: ReadonlyArray<A>, index: number): ReadonlyArray<A> => list.filter((_, i) => i !== index)

/** The draft after a button such as `add-condition` or `remove-var-2`; anything else changes nothing. */
export const changed = (draft: Draft, button: string): Draft => {
  const [, verb, kind, at] = /^(add|remove)-(var|locale|condition|season)(?:-(\d{1,3}))?$/.exec(button) ?? []
  const index = Number(at)
  if (verb === "add") {
    switch (kind) {
      case "var":
        return { ...draft, variables: [...draft.variables, { name: "", format: "text", source: "" }] }
      case "locale":
        return { ...draft, locales: [...draft.locales ?? [], { locale: "", texts: [] }] }
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
      case "locale":
        return { ...draft, locales: without(draft.locales ?? [], index) }
      case "condition":
        return { ...draft, conditions: without(draft.conditions, index) }
      case "season":
        return { ...draft, seasons: without(draft.seasons, index) }
    }
  }
  return draft
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
      faults.push({ pointer: `/${name}`, detail: t`must be a JSON object, such as {"name": "Ann"}` })
    } catch (error) {
      faults.push({
        pointer: `/${name}`,
        detail: t`must be a JSON object, such as {"name": "Ann"} (${
          error instanceof Error ? error.message : String(error)
        })`,
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
    faults.push({ pointer: "/at", detail: t`must be a date and a time, such as 2026-11-15T09:00` })
  }
  return faults.length > 0 || Result.isFailure(attrs)
    ? Result.fail(faults)
    : Result.succeed({ fields, attrs: attrs.success, at: at === "" ? undefined : at })
}

/** Operators in the words of the form, in the order in which it offers them. */
export const operatorWords: { readonly [op in Operator]: string } = {
  is: english("is"),
  is_not: english("is not"),
  in: english("is one of"),
  not_in: english("is none of"),
  exists: english("is there"),
  not_exists: english("is not there"),
  starts_with: english("starts with"),
  contains: english("contains"),
  gt: english("is more than"),
  gte: english("is at least"),
  lt: english("is less than"),
  lte: english("is at most"),
}

/** A condition in the words of the form: `tier is one of gold, silver`. Of more than five values the rest is counted. */
export const conditionText = ({ attribute, op, values }: Condition): string => {
  const word = translated(operatorWords[op])
  if (operands[op] === "none") return `${attribute} ${word}`
  return `${attribute} ${word} ${firstOf(values.map(line), 5)}`
}
