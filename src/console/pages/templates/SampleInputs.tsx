import { Option, Schema } from "effect"
import { hash } from "node:crypto"
import * as Json from "../../../json/Json.ts"
import type { Template, Vars } from "../../../domain/Template.ts"
import { english, t } from "../../../languages/Language.ts"
import { type Draft, sourcesOf } from "../../../templates/VariantForm.ts"
import type { Sample } from "./Draft.ts"
import { samplesOf } from "./NewDraft.ts"
import { sampleFields } from "./SampleFields.ts"
import { textOf, valueAt, valueOf, type ValuePath, withValue } from "./SampleValues.ts"

// The sample of the preview as inputs: one for each field that the Liquid uses, and each attribute of the targeting.

type Values = Readonly<Record<string, unknown>>

/** A value of the sample that a person can change. */
export interface SampleInput {
  readonly part: "fields" | "attrs"
  readonly path: ValuePath
  /** The path as written in Liquid, such as `cart.items[0].title`. */
  readonly label: string
  readonly text: string
  readonly isNumber: boolean
}

/** Maximum number of inputs. Further values are in the JSON only. */
const maxInputs = 100

/** The place of an input's value, as its hidden field holds it: part, whether it is a number, and path. */
const Place = Schema.TupleWithRest(Schema.Tuple([Schema.Literals(["fields", "attrs"]), Schema.Boolean]), [
  Schema.String,
]).check(Schema.isMaxLength(30))
const decodePlace = Schema.decodeUnknownOption(Place)

/** Reads the place of an input. None for a text that no page of the service contains. */
const placeOf = (text: string) => {
  try {
    return decodePlace(Json.parse(text))
  } catch {
    return Option.none()
  }
}

const objectOf = (text: string): Values | undefined => {
  try {
    const value: unknown = Json.parse(text.trim() || "{}")
    return value !== null && typeof value === "object" && !Array.isArray(value) ? value as Values : undefined
  } catch {
    return undefined
  }
}

/** Returns the paths of the values of an example, with their examples. Lists have one element. */
const leavesOf = (example: unknown, path: ValuePath = []): ReadonlyArray<readonly [ValuePath, unknown]> =>
  example === null || typeof example !== "object"
    ? [[path, example]]
    : Object.entries(example).flatMap(([name, value]) => leavesOf(value, [...path, name]))

/** Whether Deliver sets the value itself. */
const isMade = (path: ValuePath): boolean => path.length === 1 && path[0] === "unsubscribe_url"

const labelOf = (path: ValuePath): string =>
  path.map((part, at) => /^\d+$/.test(part) ? `[${part}]` : at === 0 ? part : `.${part}`).join("")

/** Returns the inputs of a draft. `missing`: names without a value that the rendering found. */
export const inputsOf = (
  draft: Draft,
  sample: Sample,
  missing: ReadonlyArray<string> = [],
): ReadonlyArray<SampleInput> => {
  const [fields, attrs] = [objectOf(sample.fields), objectOf(sample.attrs)]
  if (fields === undefined || attrs === undefined) return []
  const used = leavesOf(sampleFields([sourcesOf(draft).vars])).filter(([path]) => path.length > 0 && !isMade(path))
  const known = new Set(used.flatMap(([path]) => path.map((_, at) => labelOf(path.slice(0, at + 1)))))
  const others = missing.filter((name) => /^[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*$/.test(name) && !known.has(name))
  const tested = draft.conditions.flatMap(({ attribute }) => attribute === "" ? [] : [attribute])
  const inputs = [
    ...[...used, ...others.map((name): readonly [ValuePath, unknown] => [name.split("."), ""])].map((
      [path, example],
    ): SampleInput => {
      const value = valueAt(fields, path)
      const isNumber = typeof (value ?? example) === "number"
      return { part: "fields", path, label: labelOf(path), text: textOf(value), isNumber }
    }),
    ...[...new Set([...tested, ...Object.keys(attrs)])].map((name): SampleInput => ({
      part: "attrs",
      path: [name],
      label: name,
      text: textOf(attrs[name]),
      isNumber: typeof attrs[name] === "number",
    })),
  ]
  return inputs.slice(0, maxInputs)
}

const digestOf = ({ attrs, fields }: Sample): string =>
  hash("sha256", JSON.stringify([fields, attrs].map((text) => text.replaceAll("\r\n", "\n").trim())))

/**
 * Returns the sample with the inputs of a form. The inputs count only if the JSON of the form is as it was when the page
 * was made: a script keeps both alike, and without it, somebody has changed one of them.
 */
const withInputs = (sample: Sample, get: (name: string) => string | null | undefined): Sample => {
  if (get("sample_was") !== digestOf(sample)) return sample
  const values: { fields: unknown; attrs: unknown } = { fields: objectOf(sample.fields), attrs: objectOf(sample.attrs) }
  let isChanged = false
  for (let at = 0; at < maxInputs; at++) {
    const pointer = get(`sample_${at}_at`)
    if (typeof pointer !== "string") break
    const place = placeOf(pointer)
    if (Option.isNone(place)) continue
    const [part, isNumber, ...path] = place.value
    const text = get(`sample_${at}`) ?? ""
    if (textOf(valueAt(values[part], path)) === text) continue
    values[part] = withValue(values[part], path, valueOf(text, isNumber))
    isChanged = true
  }
  const json = (value: unknown) => JSON.stringify(value, null, 2)
  return isChanged ? { ...sample, fields: json(values.fields), attrs: json(values.attrs) } : sample
}

/** Reads a sample person. Absent members have the values of `otherwise`. */
export const sampleOf = (get: (name: string) => string | null | undefined, otherwise: Sample): Sample =>
  withInputs({
    fields: get("fields") ?? otherwise.fields,
    attrs: get("attrs") ?? otherwise.attrs,
    at: get("at") ?? otherwise.at,
  }, get)

const Group = ({ first, inputs, legend }: {
  readonly legend: string
  readonly first: number
  readonly inputs: ReadonlyArray<SampleInput>
}) =>
  inputs.length === 0 ? null : (
    <fieldset class="sample-inputs">
      <legend>{legend}</legend>
      {inputs.map(({ isNumber, label, part, path, text }, index) => {
        const id = `sample_${first + index}`
        const place = JSON.stringify([part, isNumber, ...path])
        return (
          <div class="field">
            <input type="hidden" name={`${id}_at`} value={place} />
            <label for={id} class="mono">{label}</label>
            <input
              type="text"
              id={id}
              name={id}
              value={text}
              placeholder={t`not given`}
              autocomplete="off"
              dir="auto"
              data-sample={place}
            />
          </div>
        )
      })}
    </fieldset>
  )

/** The names of the inputs, by which the script finds out whether there are others. */
export const namesOf = (inputs: ReadonlyArray<SampleInput>): string =>
  JSON.stringify(inputs.map(({ label, part }) => [part, label]))

/** The inputs of a sample, within the form of the editor. */
export const SampleInputs = ({ inputs, sample }: {
  readonly inputs: ReadonlyArray<SampleInput>
  readonly sample: Sample
}) => {
  const fields = inputs.filter(({ part }) => part === "fields")
  return (
    <>
      <input type="hidden" name="sample_was" value={digestOf(sample)} />
      <Group legend={t`Fields of the Liquid`} first={0} inputs={fields} />
      <Group legend={t`Attributes of the audience`} first={fields.length} inputs={inputs.slice(fields.length)} />
    </>
  )
}

/** People that are made up for a template. */
export const madeUpPeople = {
  all: english("Everything given"),
  none: english("Nothing given"),
  long: english("Long and foreign values"),
} as const

const longText =
  "Maximiliane-Friederike Donaudampfschifffahrtsgesellschaftskapitän Οικονόμου عبد الرحمن 李小龍 “O'Neill & <Söhne>”"

/** Returns an example with long and foreign texts, large numbers and long lists. Addresses and dates stay readable. */
const lengthened = (example: unknown): unknown =>
  typeof example === "number"
    ? 1_234_567.89
    : typeof example === "string"
    ? /^\d{4}-\d\d-\d\d/.test(example)
      ? example
      : /^https?:/.test(example)
      ? `${example}?${"a-very-long-parameter=".padEnd(120, "x")}`
      : example.includes("@")
      ? `${"a.very.long.name.".repeat(3)}${example}`
      : longText
    : Array.isArray(example)
    ? Array.from({ length: 12 }, () => lengthened(example[0]))
    : example !== null && typeof example === "object"
    ? Object.fromEntries(Object.entries(example).map(([name, value]) => [name, lengthened(value)]))
    : example

/** Returns the sample of a person who is made up for the sources of a draft and its template. */
export const madeUpSample = (kind: string, template: Template, draft: Vars, sample: Sample): Sample => {
  if (kind === "none") return { ...sample, fields: "{}", attrs: "{}" }
  const all = sampleFields([draft, ...template.variants.map(({ vars }) => vars)])
  const { attrs } = samplesOf(template)
  return { ...sample, attrs, fields: JSON.stringify(kind === "long" ? lengthened(all) : all, null, 2) }
}
