import { type Effect, Record, type Schema } from "effect"
import type { ComponentChildren } from "preact"
import type { Fault, InvalidInput } from "../../domain/Errors.ts"
import { decoder } from "../../domain/Faults.ts"
import { ifSent, list, number, type Reader, readForm, text, typed } from "../FormReaders.ts"
import { decoded, type Fields } from "../Routes.tsx"
import { Card } from "./Card.tsx"
import { Choices, Field, SelectField } from "./Field.tsx"
import { Form } from "./Form.tsx"
import { ErrorSummary } from "./Note.tsx"
import { TextAreaField } from "./TextAreaField.tsx"

// Forms for inputs of the API. A member is listed once, with its words, its look and how it is read.

type Look = "text" | "email" | "number" | "password" | "lines" | "select" | "radio" | "checkboxes"

/** The field of a member. */
interface InputField {
  readonly label: string
  readonly hint?: ComponentChildren
  /** Default: `text`. */
  readonly as?: Look
  /** Values with their words, and what they mean. */
  readonly options?: ReadonlyArray<readonly [value: string, label: string, hint?: string]>
  /** The text in a new form; of boxes, the ticked values by line. */
  readonly initial?: string
  /** Default: true. */
  readonly required?: boolean
  /** Texts to choose from or to type over. */
  readonly suggested?: ReadonlyArray<string>
  readonly autocomplete?: string
  /** Default: by the look. */
  readonly read?: Reader
}

const readers: { readonly [look in Look]: Reader } = {
  text,
  email: text,
  number,
  password: typed,
  lines: list(),
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
  const { as = "text", autocomplete, hint, label, options = [], required = true, suggested } = field
  const common = { name, label, faults, ...(hint === undefined ? {} : { hint }) }
  if (as === "select") {
    return <SelectField {...common} value={value} options={options.map(([one, words]) => [one, words] as const)} />
  }
  if (as === "lines") return <TextAreaField {...common} value={value} required={required} />
  if (as === "radio" || as === "checkboxes") {
    return <Choices {...common} type={as === "radio" ? as : "checkbox"} values={value.split("\n")} options={options} />
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
interface Shown {
  readonly values: Fields | undefined
  readonly faults: ReadonlyArray<Fault>
}

/** A form for the input `schema`. Each of `fields` is read as the member of its name. */
export const inputForm = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  fields: Readonly<Record<string, InputField>>,
) => {
  const decode = decoder(schema)
  const reading = Record.map(fields, ({ as = "text", read = readers[as] }) => read)
  const valueOf = (name: string, { as, initial = "" }: InputField, values: Fields | undefined) =>
    values?.[name] ?? (values === undefined || as !== "checkboxes" ? initial : "")
  const InputFields = ({ faults, values }: Shown) => (
    <>
      {Object.entries(fields).map(([name, field]) => (
        <InputFieldView name={name} field={field} value={valueOf(name, field, values)} faults={faults} />
      ))}
    </>
  )
  const labels = Record.map(fields, ({ label }) => label)
  return {
    /** The labels of the fields, for the summary of faults. */
    labels,
    /** The members of a form that was sent. */
    read: (sent: Fields) => readForm(reading, sent),
    /** The input of a form that was sent. `more` replaces members. */
    decode: (sent: Fields, more: object = {}): Effect.Effect<S["Type"], InvalidInput> =>
      decoded(decode({ ...readForm(reading, sent), ...more })),
    /** Shows the fields with the texts that were sent, or with the initial texts of a new form. */
    Fields: InputFields,
    /** A card with the form, below the summary of its faults. */
    Card: ({ action, children, faults, submit, values }: Shown & {
      readonly action: string
      readonly submit?: string
      readonly children?: ComponentChildren
    }) => (
      <>
        <ErrorSummary faults={faults} labels={labels} />
        <Card>
          <Form action={action} {...(submit === undefined ? {} : { submit })}>
            <InputFields values={values} faults={faults} />
            {children}
          </Form>
        </Card>
      </>
    ),
  }
}
