import type { Schema } from "effect"
import type { Fault } from "../../domain/Errors.ts"
import { Field, SelectField } from "./Field.tsx"
import { TextAreaField } from "./TextAreaField.tsx"

// Fields of a form made from the schema that the API decodes the same settings with, so that neither knows what the other
// does not.

/** Texts of a setting: its name, and what it is for and when left empty. */
export interface Words {
  readonly label: string
  readonly hint?: string
  /** Several lines. */
  readonly long?: boolean
  /** Rarely needed: shown among further settings. */
  readonly further?: boolean
}

/** One setting as a field. */
export interface SchemaField extends Words {
  /** Where it stands in the settings. */
  readonly path: ReadonlyArray<string>
  /** Of the field in the form, and its id. */
  readonly name: string
  readonly kind: "text" | "number" | "number-or-any" | "boolean" | "choice"
  readonly options: ReadonlyArray<string>
  readonly optional: boolean
}

/** The part of a schema's syntax tree that fields are made of. */
interface Ast {
  readonly _tag: string
  readonly context?: { readonly isOptional?: boolean } | undefined
  readonly literal?: unknown
  readonly types?: ReadonlyArray<Ast>
  readonly propertySignatures?: ReadonlyArray<{ readonly name: PropertyKey; readonly type: Ast }>
}

const kindOf = ({ _tag, types = [] }: Ast): Pick<SchemaField, "kind" | "options"> => {
  if (_tag === "Boolean") return { kind: "boolean", options: [] }
  if (_tag === "Number") return { kind: "number", options: [] }
  if (_tag === "Union" && types.every((type) => type._tag === "Literal")) {
    return { kind: "choice", options: types.map(({ literal }) => String(literal)) }
  }
  if (_tag === "Union" && types.some((type) => type._tag === "Null")) return { kind: "number-or-any", options: [] }
  return { kind: "text", options: [] }
}

/** The fields of a schema's members, members of members too. `words` are by path, joined with full stops. */
export const fieldsOf = (
  members: Readonly<Record<string, Schema.Constraint>>,
  words: Readonly<Record<string, Words>>,
  prefix: string,
): ReadonlyArray<SchemaField> => {
  const walk = (path: ReadonlyArray<string>, ast: Ast, optional: boolean): ReadonlyArray<SchemaField> => {
    if (ast._tag === "Objects") {
      return (ast.propertySignatures ?? []).flatMap(({ name, type }) =>
        walk([...path, String(name)], type, optional || type.context?.isOptional === true)
      )
    }
    return [{
      path,
      name: [prefix, ...path].join("-"),
      optional: optional || ast.context?.isOptional === true,
      ...kindOf(ast),
      ...(words[path.join(".")] ?? { label: path.join(" ") }),
    }]
  }
  return Object.entries(members).flatMap(([name, { ast }]) => walk([name], ast as unknown as Ast, false))
}

const numberOf = (text: string): unknown => text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text

const read = ({ kind }: SchemaField, text: string): unknown => {
  if (kind === "boolean") return text === "true" ? true : text === "false" ? false : text
  if (kind === "number") return numberOf(text)
  if (kind === "number-or-any") return text.trim().toLowerCase() === "any" ? null : numberOf(text)
  return text
}

/** The settings that a form sent, as JSON; what was left empty is left out. */
export const settingsFrom = (
  fields: ReadonlyArray<SchemaField>,
  sent: Readonly<Record<string, string>>,
): Readonly<Record<string, unknown>> => {
  const settings: Record<string, unknown> = {}
  for (const field of fields) {
    const text = sent[field.name] ?? ""
    if (text.trim() === "") continue
    let place = settings
    for (const step of field.path.slice(0, -1)) place = (place[step] ??= {}) as Record<string, unknown>
    place[field.path.at(-1)!] = read(field, field.kind === "text" && field.long !== true ? text.trim() : text)
  }
  return settings
}

/** The text of a stored setting in its field. */
export const textIn = ({ path }: SchemaField, settings: unknown): string => {
  let value = settings
  for (const step of path) {
    if (value === null || typeof value !== "object" || !Object.hasOwn(value, step)) return ""
    value = (value as Record<string, unknown>)[step]
  }
  return value === null ? "any" : value === undefined ? "" : typeof value === "object" ? "" : String(value)
}

/** Faults of settings, each at its field: `/settings/unsubscribe/url` becomes `/settings-unsubscribe-url`. */
export const faultsIn = (
  fields: ReadonlyArray<SchemaField>,
  faults: ReadonlyArray<Fault>,
  prefix: string,
): ReadonlyArray<Fault> =>
  faults.map((fault) => {
    const [root, ...path] = fault.pointer.split("/").slice(1)
    if (root !== prefix) return fault
    const at = path.join("/")
    const field = fields.find((one) => one.path.join("/") === at) ??
      fields.find((one) => one.path.join("/").startsWith(`${at}/`) || at.startsWith(`${one.path.join("/")}/`))
    return field === undefined ? fault : { ...fault, pointer: `/${field.name}` }
  })

/** The names that people read, by the names of the fields. */
export const labelsOf = (fields: ReadonlyArray<SchemaField>): Readonly<Record<string, string>> =>
  Object.fromEntries(fields.map(({ label, name }) => [name, label]))

/** Fields that are rarely needed, behind a summary that is open where one of them says something. */
export const FurtherFields = ({ faults, fields, values }: {
  readonly fields: ReadonlyArray<SchemaField>
  readonly values: Readonly<Record<string, string>>
  readonly faults: ReadonlyArray<Fault>
}) => {
  const further = fields.filter((field) => field.further === true)
  if (further.length === 0) return null
  const isUsed = further.some(({ name }) =>
    (values[name] ?? "") !== "" || faults.some(({ pointer }) => pointer === `/${name}`)
  )
  return (
    <details class="why" open={isUsed}>
      <summary>Further settings</summary>
      <div class="further">
        <SchemaFields fields={further.map(({ further: _, ...field }) => field)} values={values} faults={faults} />
      </div>
    </details>
  )
}

/** The fields themselves, but for further ones; `values` are texts by the names of the fields. */
export const SchemaFields = ({ faults, fields, values }: {
  readonly fields: ReadonlyArray<SchemaField>
  readonly values: Readonly<Record<string, string>>
  readonly faults: ReadonlyArray<Fault>
}) => (
  <>
    {fields.filter(({ further }) => further !== true).map((field) => {
      const { hint, kind, label, long, name, optional, options } = field
      const value = values[name] ?? ""
      const common = { name, label, faults, ...(hint === undefined ? {} : { hint }) }
      const unset: ReadonlyArray<readonly [string, string]> = optional ? [["", "Not set"]] : []
      if (kind === "choice") {
        return (
          <SelectField
            {...common}
            value={value}
            options={[...unset, ...options.map((one) => [one, one] as const)]}
          />
        )
      }
      if (kind === "boolean") {
        return <SelectField {...common} value={value} options={[...unset, ["true", "Yes"], ["false", "No"]]} />
      }
      if (long === true) return <TextAreaField {...common} value={value} required={!optional} rows={4} code />
      return (
        <Field
          {...common}
          label={optional ? `${label} (optional)` : label}
          value={value}
          required={!optional}
          type={kind === "number" ? "number" : "text"}
        />
      )
    })}
  </>
)
