import { Record, Result, Schema } from "effect"
import * as Json from "../json/Json.ts"
import { lines, list } from "./FormReaders.ts"

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

const linesIn = list()

/** The lines of `stored` with the lines that were added to `opened` and without the lines that were removed from it. */
const combined = (opened: string, sent: string, stored: string): string => {
  const [before, typed, now] = [linesIn(opened), linesIn(sent), linesIn(stored)]
  return [
    ...now.filter((line) => typed.includes(line) || !before.includes(line)),
    ...typed.filter((line) => !before.includes(line) && !now.includes(line)),
  ].join("\n")
}

/**
 * Returns the members that `read` makes of a sent form and that differ from the stored members. A field that its user has not
 * changed has its stored text, and a field of `lists`, with an entry per line, keeps the entries that were stored meanwhile. All
 * members if the form does not say how it was opened.
 */
export const changedMembers = <A extends object, E>(
  fields: Fields,
  stored: Fields,
  lists: ReadonlyArray<string>,
  read: (fields: Fields) => Result.Result<A, E>,
): Result.Result<Partial<A>, E> => {
  const opened = openedIn(fields)
  if (opened === undefined) return read(fields)
  const merged = Object.fromEntries(
    Object.keys({ ...opened, ...fields, ...stored }).flatMap((name) => {
      const [before, sent] = [opened[name] ?? "", lines(fields[name])]
      const value = sent === before
        ? stored[name]
        : lists.includes(name)
        ? combined(before, sent, stored[name] ?? "")
        : fields[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
  const now = Result.getOrElse(read(stored), () => ({})) as Record<string, unknown>
  return Result.map(
    read(merged),
    (members) =>
      Record.filter(
        members as Record<string, unknown>,
        (value, name) => JSON.stringify(value) !== JSON.stringify(now[name]),
      ) as Partial<A>,
  )
}
