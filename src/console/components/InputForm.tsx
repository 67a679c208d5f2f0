import { type Effect, Record, type Schema } from "effect"
import type { ComponentChildren } from "preact"
import type { Fault, InvalidInput } from "../../domain/Errors.ts"
import { decoder } from "../../domain/Faults.ts"
import { t, translated } from "../../languages/Language.ts"
import { ifSent, list, number, type Reader, readForm, text, typed } from "../FormReaders.ts"
import { decoded, type Fields } from "../Routes.tsx"
import { Card } from "./Card.tsx"
import { Choices, Field, SelectField } from "./Field.tsx"
import { Form } from "./Form.tsx"
import { ErrorSummary } from "./Note.tsx"
import { TextAreaField } from "./TextAreaField.tsx"

// Forms for inputs of the API. A member is listed once, with its words, its look and how it is read.

type Look = "text" | "email" | "number" | "password" | "time" | "lines" | "code" | "select" | "radio" | "checkboxes"

/** The field of a member. */
export interface InputField {
  readonly label: string
  /** The path of the member in the input. Default: the name of the field. */
  readonly at?: ReadonlyArray<string>
  /** Whether the field is rarely needed. `FurtherFields` shows such fields. */
  readonly isFurther?: boolean
  readonly hint?: ComponentChildren
  /** Default: `text`. */
  readonly as?: Look
  /** Values with their words, and what they mean. */
  readonly options?: ReadonlyArray<readonly [value: string, label: string, hint?: string]>
  /** Whether words that equal their values are identifiers, which are not translated. Default: false. */
  readonly isVerbatim?: boolean
  /** The text in a new form; of boxes, the ticked values by line. */
  readonly initial?: string
  /** Default: true. */
  readonly required?: boolean
  /** Whether the label says that the field is optional. Default: false. */
  readonly saysOptional?: boolean
  /** Texts to choose from or to type over. */
  readonly suggested?: ReadonlyArray<string>
  readonly autocomplete?: string
  /** Rows of a text area. Default: 4 of code, else 6. */
  readonly rows?: number
  /** Whether choices are in one row, for short labels. Default: false. */
  readonly short?: boolean
  /** Default: by the look. */
  readonly read?: Reader
}

const readers: { readonly [look in Look]: Reader } = {
  text,
  email: text,
  number,
  password: typed,
  time: text,
  lines: list(),
  code: typed,
  select: ifSent(typed),
  radio: ifSent(typed),
  checkboxes: list("\n"),
}

const InputFieldView = ({ faults, field, name, value }: {
  readonly field: InputField
  readonly name: string
  readonly value: string
  readonly faults: ReadonlyArray<Fault>
}) => {
  const { as = "text", autocomplete, hint, options = [], required = true, saysOptional = false, suggested } = field
  const { isVerbatim = false, rows = as === "code" ? 4 : 6, short = false } = field
  const own = translated(field.label)
  const label = saysOptional ? t`${own} (optional)` : own
  const common = {
    name,
    label,
    faults,
    ...(hint === undefined ? {} : { hint: typeof hint === "string" ? translated(hint) : hint }),
  }
  const words = options.map(([one, label, hint]): readonly [string, string, string?] =>
    hint === undefined
      ? [one, isVerbatim && one === label ? label : translated(label)]
      : [one, translated(label), translated(hint)]
  )
  if (as === "select") {
    return (
      <SelectField
        {...common}
        value={value}
        isVerbatim={isVerbatim}
        options={words.map(([one, label]) => [one, label] as const)}
      />
    )
  }
  if (as === "lines" || as === "code") {
    return <TextAreaField {...common} value={value} required={required} rows={rows} code={as === "code"} />
  }
  if (as === "radio" || as === "checkboxes") {
    const type = as === "radio" ? as : "checkbox"
    return <Choices {...common} type={type} short={short} values={value.split("\n")} options={words} />
  }
  return (
    <Field
      {...common}
      type={as}
      required={required}
      {...(as === "password" ? {} : { value })}
      {...(autocomplete === undefined ? {} : { autocomplete })}
      {...(suggested === undefined ? {} : { list: suggested })}
    />
  )
}

/** A form as it was sent; undefined for a new one. */
export interface ShownForm {
  readonly values: Fields | undefined
  readonly faults: ReadonlyArray<Fault>
}

/** The members of an input at the paths of their fields. */
const nested = (
  fields: Readonly<Record<string, InputField>>,
  members: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> => {
  const input: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(members)) {
    const path = fields[name]?.at ?? [name]
    let place = input
    for (const step of path.slice(0, -1)) place = (place[step] ??= {}) as Record<string, unknown>
    place[path.at(-1)!] = value
  }
  return input
}

/** The text of the member at `path` in its field. */
const textIn = (path: ReadonlyArray<string>, input: unknown): string => {
  let value = input
  for (const step of path) {
    if (value === null || typeof value !== "object" || !Object.hasOwn(value, step)) return ""
    value = (value as Record<string, unknown>)[step]
  }
  if (Array.isArray(value)) return value.join("\n")
  return value === null
    ? "any"
    : value === undefined
    ? ""
    : typeof value === "object"
    ? JSON.stringify(value)
    : String(value)
}

/** The fields of a form. Each is read as the member of its name or path. */
export const inputFields = (fields: Readonly<Record<string, InputField>>) => {
  const reading = Record.map(fields, ({ as = "text", read = readers[as] }) => read)
  const paths = Object.entries(fields).map(([name, { at = [name] }]) => [name, `/${at.join("/")}`] as const)
  const valueOf = (name: string, { as, initial = "" }: InputField, values: Fields | undefined) =>
    values?.[name] ?? (values === undefined || as !== "checkboxes" ? initial : "")
  const viewsOf = (shown: ReadonlyArray<readonly [string, InputField]>, { faults, values }: ShownForm) =>
    shown.map(([name, field]) => (
      <InputFieldView name={name} field={field} value={valueOf(name, field, values)} faults={faults} />
    ))
  const further = Object.entries(fields).filter(([, { isFurther = false }]) => isFurther)
  return {
    fields,
    /** The labels of the fields, for the summary of faults. */
    labels: Record.map(fields, ({ label }) => label),
    /** The members of a form that was sent. */
    read: (sent: Fields) => nested(fields, readForm(reading, sent)),
    /** The texts of the fields for a stored input. */
    valuesOf: (input: unknown): Fields => Record.map(fields, ({ at = [] }) => textIn(at, input)),
    /** Faults of an input, each at its field: `/settings/unsubscribe/url` becomes `/settings-unsubscribe-url`. */
    placed: (faults: ReadonlyArray<Fault>): ReadonlyArray<Fault> =>
      faults.map((fault) => {
        const { pointer } = fault
        const [name] = paths.find(([, path]) => path === pointer) ??
          paths.find(([, path]) => pointer.includes("/", 1) && path.startsWith(`${pointer}/`)) ??
          paths.find(([, path]) => pointer.startsWith(`${path}/`)) ?? []
        return name === undefined ? fault : { ...fault, pointer: `/${name}` }
      }),
    /** Shows the fields with the texts that were sent, or with the initial texts of a new form. */
    Fields: (shown: ShownForm) => (
      <>{viewsOf(Object.entries(fields).filter(([, { isFurther = false }]) => !isFurther), shown)}</>
    ),
    /** Shows the fields that are rarely needed. They are folded unless one of them has a text or a fault. */
    FurtherFields: (shown: ShownForm) =>
      further.length === 0 ? null : (
        <details
          class="why"
          open={further.some(([name]) =>
            (shown.values?.[name] ?? "") !== "" || shown.faults.some(({ pointer }) => pointer === `/${name}`)
          )}
        >
          <summary>{t`Further settings`}</summary>
          <div class="further">{viewsOf(further, shown)}</div>
        </details>
      ),
  }
}

/** A form for the input `schema`. */
export const inputForm = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  fields: Readonly<Record<string, InputField>>,
) => {
  const decode = decoder(schema)
  const form = inputFields(fields)
  return {
    ...form,
    /** The input of a form that was sent. `more` replaces members. */
    decode: (sent: Fields, more: object = {}): Effect.Effect<S["Type"], InvalidInput> =>
      decoded(decode({ ...form.read(sent), ...more })),
    /** A card with the form, below the summary of its faults. */
    Card: ({ action, children, faults, submit, values }: ShownForm & {
      readonly action: string
      readonly submit?: string
      readonly children?: ComponentChildren
    }) => (
      <>
        <ErrorSummary faults={faults} labels={form.labels} />
        <Card>
          <Form action={action} {...(submit === undefined ? {} : { submit })}>
            <form.Fields values={values} faults={faults} />
            {children}
          </Form>
        </Card>
      </>
    ),
  }
}
