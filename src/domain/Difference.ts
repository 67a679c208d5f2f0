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

/** The change of a record: the fields that differ. `omitted` names further fields whose values are not kept. */
export const Difference = Schema.Struct({ fields: Schema.Array(FieldChange), omitted: Schema.Int }).annotate({
  identifier: "Difference",
})
export type Difference = typeof Difference.Type

/** Most characters kept of one side of a field. Unit: UTF-16 code units, as for all limits here. */
const maxValue = 8_192

/** Most characters kept of all fields together. Of further fields only the name is kept, as long as names fit. */
const maxAll = 32_768
const maxNames = 8_192

/** Fields without room after which no other field is tried: comparing long texts takes milliseconds. */
const maxMisses = 8

/** Texts are kept whole up to this length. */
const wholeUpTo = 2_000

/** Lines that are kept before and after the place of a change. */
const context = 3

/** Characters that are kept before the place of a change within one long line. */
const lead = 200

/** A value as it is kept: a text as it is, something else as JSON where that is short, or else as a text of JSON. */
const kept = (value: unknown): unknown => {
  if (value === undefined || typeof value === "string") return value
  return JSON.stringify(value).length <= maxValue ? value : JSON.stringify(value, null, 1)
}

const commonStart = <A>(a: ArrayLike<A>, b: ArrayLike<A>): number => {
  let at = 0
  while (at < a.length && at < b.length && a[at] === b[at]) at++
  return at
}

/** The lines in which two texts differ with surrounding lines, and the position of their beginning. */
const excerpts = (before: string, after: string) => {
  const [a, b] = [before.split("\n"), after.split("\n")]
  const same = commonStart(a, b)
  const sameEnd = commonStart(a.slice(same).reverse(), b.slice(same).reverse())
  const from = Math.max(0, same - context)
  const cutEnd = Math.max(0, sameEnd - context)
  const part = (lines: ReadonlyArray<string>) => lines.slice(from, lines.length - cutEnd).join("\n")
  return { before: part(a), after: part(b), line: from + 1 }
}

/** A field that differs, as far as it is kept. */
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
 * The fields in which a record differs, in the order of `after`, then those that are gone; undefined stands for a record
 * that is not there. Takes up to some 40,000 characters of JSON, whatever the records: long texts are kept around the
 * place where they differ, and of what is more than that only names and a number.
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

/** The parts of a JSON pointer, as they were before they became one. */
export const pointerParts = (pointer: string): ReadonlyArray<string> =>
  pointer.split("/").slice(1).map(JsonPointer.unescapeToken)

/** Like `difference`, with every field and text whole, for one who has to judge the change. */
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
