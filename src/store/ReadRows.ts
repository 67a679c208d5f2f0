import { Effect, Result, Schema } from "effect"
import { fromIssue } from "../domain/Faults.ts"

/** A row of the database does not have the format of this release. */
export class UnreadableRow extends Schema.TaggedError<UnreadableRow>()("UnreadableRow", {
  table: Schema.String,
  column: Schema.String,
  /** Identifies the row by its key columns. */
  row: Schema.String,
  detail: Schema.String,
}) {
  override get message() {
    return `The row of ${this.table} with ${this.row} cannot be read: ${this.column}: ${this.detail}. ` +
      "Correct it in the database, or run the release that wrote it."
  }
}

const columnOf = (field: string): string => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/**
 * Returns a decoder for rows of `table`. The fields of `schema` are the columns in camel case. `nameOf` identifies a
 * row in messages, such as `id 7`. Dies with `UnreadableRow` at the first column that does not match, because no
 * decision may depend on a row that is not understood.
 */
export const rowReader = <S extends Schema.ConstraintDecoder<unknown>, Row>(
  table: string,
  schema: S,
  nameOf: (row: Row) => string,
) => {
  const decode = Schema.decodeUnknownResult(schema)
  return (row: Row): Effect.Effect<S["Type"]> => {
    const read = decode(row)
    if (Result.isSuccess(read)) return Effect.succeed(read.success)
    const [fault] = fromIssue(read.failure.issue)
    const column = columnOf(fault?.pointer.split("/")[1] ?? "")
    return Effect.die(new UnreadableRow({ table, column, row: nameOf(row), detail: fault?.detail ?? "" }))
  }
}
