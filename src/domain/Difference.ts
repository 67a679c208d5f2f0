import { JsonPointer, Schema } from "effect"
import { isDeepStrictEqual } from "node:util"

/** A record's fields by JSON pointer, such as `/name` or `/vars/subject`. */
export type RecordFields = Readonly<Record<string, unknown>>

/** The change of one field. An absent side means that the field did not exist. */
export const FieldChange = Schema.Struct({
  field: Schema.String.annotate({
    description: "A JSON pointer, such as /name; variants by id: /variants/warm/active",
  }),
  before: Schema.optionalKey(Schema.Unknown),
  after: Schema.optionalKey(Schema.Unknown),
  line: Schema.optionalKey(Schema.Int).annotate({
    description: "Present where long texts are kept around the place of the change only: the line it begins with",
  }),
  cut: Schema.optionalKey(Schema.Boolean).annotate({ description: "True: too much to keep whole" }),
}).annotate({ identifier: "FieldChange" })
export type FieldChange = typeof FieldChange.Type

/**
 * The change of a record: the fields that differ. `omitted` is the number of other changed fields, which are not
 * stored.
 */
export const Difference = Schema.Struct({ fields: Schema.Array(FieldChange), omitted: Schema.Int }).annotate({
  identifier: "Difference",
})
export type Difference = typeof Difference.Type

/** Most characters that are stored of one side of a field. Unit of all limits in this file: UTF-16 code units. */
const maxValue = 8_192

/**
 * Most characters that are stored of all fields together. Of the remaining fields only names are stored, as long as
 * they fit.
 */
const maxAll = 32_768
const maxNames = 8_192

/** After this number of fields that do not fit, no other field is compared: comparing long texts takes milliseconds. */
const maxMisses = 8

/** Texts up to this length are stored in full. */
const wholeUpTo = 2_000

/** Number of lines that are stored before and after a change. */
const context = 3

/** Number of characters that are stored before a change within one long line. */
const lead = 200

/** The stored form of a value: a text or a short JSON value unchanged, a longer JSON value as a text. */
const kept = (value: unknown): unknown => {
  if (value === undefined || typeof value === "string") return value
  return JSON.stringify(value).length <= maxValue ? value : JSON.stringify(value, null, 1)
}

const commonStart = <A>(a: ArrayLike<A>, b: ArrayLike<A>): number => {
  let at = 0
  while (at < a.length && at < b.length && a[at] === b[at]) at++
  return at
}

/** The lines in which two texts differ, with surrounding lines, and the line where they begin. */
const excerpts = (before: string, after: string) => {
  const [a, b] = [before.split("\n"), after.split("\n")]
  const same = commonStart(a, b)
  const sameEnd = commonStart(a.slice(same).reverse(), b.slice(same).reverse())
  const from = Math.max(0, same - context)
  const cutEnd = Math.max(0, sameEnd - context)
  const part = (lines: ReadonlyArray<string>) => lines.slice(from, lines.length - cutEnd).join("\n")
  return { before: part(a), after: part(b), line: from + 1 }
}

/** The stored form of a changed field. */
const fieldChange = (field: string, before: unknown, after: unknown): FieldChange => {
  let [a, b] = [kept(before), kept(after)]
  let line: number | undefined
  if (typeof a === "string" && typeof b === "string" && a.length + b.length > wholeUpTo) {
    ;({ before: a, after: b, line } = excerpts(a, b))
    const start = commonStart(a as string, b as string)
    if ((a as string).length + (b as string).length > wholeUpTo && start > lead) {
      ;[a, b] = [`…${(a as string).slice(start - lead)}`, `…${(b as string).slice(start - lead)}`]
    }
  }
  const isLong = [a, b].some((text) => typeof text === "string" && text.length > maxValue)
  const cut = (value: unknown) =>
    typeof value === "string" && value.length > maxValue ? `${value.slice(0, maxValue)}…` : value
  return {
    field,
    ...(a === undefined ? {} : { before: cut(a) }),
    ...(b === undefined ? {} : { after: cut(b) }),
    ...(line === undefined ? {} : { line }),
    ...(isLong ? { cut: true } : {}),
  }
}

/**
 * Compares two states of a record: the changed fields in the order of `after`, then the removed fields. `undefined` is
 * a record that does not exist. The result has at most about 40,000 characters of JSON for records of any size: it
 * contains long texts only around their changes. Of fields that do not fit, it contains the names, and after that only
 * their number.
 */
export const difference = (before: RecordFields | undefined, after: RecordFields | undefined): Difference => {
  const names = [...new Set([...Object.keys(after ?? {}), ...Object.keys(before ?? {})])]
  const value = (fields: RecordFields | undefined, name: string) =>
    fields !== undefined && Object.hasOwn(fields, name) ? fields[name] : undefined
  const differing = names.filter((name) => !isDeepStrictEqual(value(before, name), value(after, name)))
  let [left, leftForNames, misses] = [maxAll, maxNames, 0]
  const fields: Array<FieldChange> = []
  for (const name of differing) {
    const field = name.slice(0, 400)
    if (misses < maxMisses) {
      const change = fieldChange(field, value(before, name), value(after, name))
      const length = JSON.stringify(change).length
      if (length <= left) {
        left -= length
        fields.push(change)
        continue
      }
      misses++
    }
    leftForNames -= name.length + 30
    if (leftForNames < 0) break
    fields.push({ field, cut: true })
  }
  return { fields, omitted: differing.length - fields.length }
}

/** Splits a JSON pointer into its unescaped parts. */
export const pointerParts = (pointer: string): ReadonlyArray<string> =>
  pointer.split("/").slice(1).map(JsonPointer.unescapeToken)

/** Compares like `difference`, but contains every field and text in full, for a reviewer of the change. */
export const wholeDifference = (before: RecordFields | undefined, after: RecordFields | undefined): Difference => {
  const names = [...new Set([...Object.keys(after ?? {}), ...Object.keys(before ?? {})])]
  const side = (name: "before" | "after", fields: RecordFields | undefined, field: string) =>
    fields !== undefined && Object.hasOwn(fields, field) ? { [name]: fields[field] } : {}
  return {
    fields: names.flatMap((field) => {
      const change = { ...side("before", before, field), ...side("after", after, field) }
      return isDeepStrictEqual(before?.[field], after?.[field]) ? [] : [{ field, ...change }]
    }),
    omitted: 0,
  }
}
