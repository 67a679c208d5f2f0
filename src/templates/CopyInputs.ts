import type { CopyRow } from "../checking/Checks.ts"
import type { Fault } from "../domain/Errors.ts"
import { CopyId, TemplateId } from "../domain/Ids.ts"
import { formatOf, type Template, type TemplateInput, type VariantInput } from "../domain/Template.ts"
import { meaningOf } from "./CopyCsv.ts"
import { freeId, idOfName } from "./SuggestedId.ts"
import { inputOf } from "./TemplateFile.ts"

/** The templates that rows of copy describe, and the rows by template and variant. */
interface CopyInputs {
  readonly templates: ReadonlyArray<TemplateInput>
  readonly faults: ReadonlyArray<Fault>
  /** Returns a fault of the templates, such as at `/templates/0/variants/1/vars/subject`, with its row and column. */
  readonly placed: (fault: Fault) => Fault
}

/** Ids under which a template may be stored that a row names. */
export const possibleIds = (name: string): ReadonlyArray<string> => [name, idOfName(name)].filter((id) => id !== "")

/** Finds what a name means among things: by id, then by name, then by the id that is made from the name. */
const found = <A extends { readonly id: string; readonly name: string }>(all: ReadonlyArray<A>, name: string) => {
  const byId = all.find(({ id }) => id === name)
  if (byId !== undefined) return { one: byId, isUnclear: false }
  const byName = all.filter((one) => one.name === name)
  return { one: byName[0] ?? all.find(({ id }) => id === idOfName(name)), isUnclear: byName.length > 1 }
}

/** Returns the variable of a variant that a column means, such as `html` for the column `body`. */
const variableOf = (vars: VariantInput["vars"], meaning: string): string =>
  Object.hasOwn(vars, meaning) ? meaning : Object.keys(vars).find((name) => meaningOf(name) === meaning) ?? meaning

const changedVariant = (before: VariantInput, { vars }: CopyRow, locale: string | undefined): VariantInput => {
  const named = Object.entries(vars).map(([meaning, text]) => [variableOf(before.vars, meaning), text] as const)
  if (locale !== undefined) {
    const texts = { ...before.locales?.[locale], ...Object.fromEntries(named) }
    return { ...before, locales: { ...before.locales, [locale]: texts } }
  }
  const marked = named.filter(([name]) => !Object.hasOwn(before.vars, name))
    .map(([name, text]) => [name, formatOf(text)] as const).filter(([, format]) => format !== "text")
  const formats = { ...before.formats, ...Object.fromEntries(marked) }
  return {
    ...before,
    vars: { ...before.vars, ...Object.fromEntries(named) },
    ...(Object.keys(formats).length === 0 ? {} : { formats }),
  }
}

/**
 * Returns the templates with the copy of rows: variables that the rows name change, and everything else stays. New
 * variants are inactive, so that a person can read them before they are served.
 */
export const copyInputs = (rows: ReadonlyArray<CopyRow>, stored: ReadonlyArray<Template>): CopyInputs => {
  const faults: Array<Fault> = []
  const fault = ({ row }: CopyRow, detail: string) => faults.push({ pointer: "/csv", detail: `row ${row}: ${detail}` })
  const inputs = new Map<
    string,
    { input: TemplateInput; variants: Map<string, VariantInput>; rows: Map<string, CopyRow> }
  >()
  for (const row of rows) {
    const { isUnclear, one: template } = found(stored, row.template)
    if (isUnclear) {
      fault(row, `${JSON.stringify(row.template)} is the name of several templates: write the id of one`)
      continue
    }
    const key = template?.id ?? row.template
    let entry = inputs.get(key)
    if (entry === undefined) {
      const taken = (id: string) => stored.some((one) => one.id === id)
      const id = freeId(idOfName(row.template) || "template", taken)
      const input = template === undefined ? { id: TemplateId.make(id), name: row.template } : inputOf(template)
      inputs.set(key, entry = { input, variants: new Map(), rows: new Map() })
    }
    const known = (template?.variants ?? []).map((one) => ({ ...one, id: one.id as string }))
    const match = found(known, row.variant)
    if (match.isUnclear) {
      fault(row, `${JSON.stringify(row.variant)} is the name of several variants: write the id of one`)
      continue
    }
    const isTaken = (id: string) => known.some((one) => one.id === id)
    const id = match.one?.id ?? freeId(idOfName(row.variant) || "variant", isTaken)
    if (row.locale !== undefined && template?.locale == null) {
      fault(
        row,
        `the template has one locale: set where a request has the person's locale, as in locale of a template file`,
      )
      continue
    }
    const locale = row.locale === template?.locale?.default ? undefined : row.locale
    const place = `${[...entry.variants.keys(), id].indexOf(id)}/${locale ?? ""}`
    if (entry.rows.has(place)) {
      fault(row, `${row.variant} of ${row.template} is in an earlier row, too: keep one of them`)
      continue
    }
    const before = entry.variants.get(id) ?? entry.input.variants?.find((one) => one.id === id)
    const blank: VariantInput = { id: CopyId.make(id), name: row.variant, active: false, vars: {} }
    entry.variants.set(id, changedVariant(before ?? blank, row, locale))
    entry.rows.set(place, row)
  }
  const all = [...inputs.values()]
  return {
    templates: all.map(({ input, variants }) => ({ ...input, variants: [...variants.values()] })),
    faults,
    placed: ({ detail, pointer }) => {
      const [, , template = "", , variant = "0", kind, ...names] = pointer.split("/")
      const rows = all[Number(template)]?.rows
      const row = rows?.get(`${variant}/${kind === "locales" ? names[0] : ""}`) ?? rows?.values().next().value
      const name = names.at(-1) ?? ""
      if (row === undefined) return { pointer: "/csv", detail }
      const column = row.places[meaningOf(name) ?? name] ?? row.places[name]
      return { pointer: "/csv", detail: `row ${row.row}${column === undefined ? "" : `, ${column}`}: ${detail}` }
    },
  }
}
