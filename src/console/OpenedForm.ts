import { Record, Result, Schema } from "effect"
import * as Json from "../json/Json.ts"

// Forms of settings change only what their user has changed, so that two windows with the same form do not undo each other.

type Fields = Readonly<Record<string, string>>

/** The field with the fields of a form when its page was opened, as JSON. */
export const openedField = "_opened"

/** Returns the value of `openedField` for a form that shows `fields`. */
export const openedText = (fields: Fields): string => fields[openedField] ?? JSON.stringify(fields)

const isFields = Schema.is(Schema.Record(Schema.String, Schema.String))

const openedIn = (fields: Fields): Fields | undefined => {
  try {
    const opened = Json.parse(fields[openedField] ?? "null")
    return isFields(opened) ? opened : undefined
  } catch {
    return undefined
  }
}

/**
 * Returns the members that `read` makes of a sent form and that differ from the members of the opened form. All members if the form
 * does not say how it was opened.
 */
export const changedMembers = <A extends object, E>(
  fields: Fields,
  read: (fields: Fields) => Result.Result<A, E>,
): Result.Result<Partial<A>, E> => {
  const opened = openedIn(fields)
  const before = opened === undefined ? undefined : read(opened)
  return before === undefined || Result.isFailure(before) ? read(fields) : Result.map(
    read(fields),
    (members) =>
      Record.filter(
        members as Record<string, unknown>,
        (value, name) => JSON.stringify(value) !== JSON.stringify((before.success as Record<string, unknown>)[name]),
      ) as Partial<A>,
  )
}
