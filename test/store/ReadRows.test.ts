import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Schema } from "effect"
import { rowReader, UnreadableRow } from "../../src/store/ReadRows.ts"

const Row = Schema.Struct({
  id: Schema.Natural,
  dueAt: Schema.Date,
  formats: Schema.Record(Schema.String, Schema.Literals(["text", "html"])),
})
const read = rowReader("letters", Row, ({ id }: { readonly id: unknown }) => `id ${id}`)
const row = { id: 7, dueAt: new Date(0), formats: { subject: "text" } }

const faultOf = async (faulty: { readonly id: unknown }) => {
  const exit = await Effect.runPromiseExit(read(faulty))
  return Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
}

describe("rowReader", () => {
  it("reads a row that is as the schema has it", async () =>
    assert.deepStrictEqual<unknown>(await Effect.runPromise(read(row)), row))

  it("dies with table, column and row of an unreadable value, also within JSON", async () => {
    const cases = [
      [{ ...row, dueAt: null }, "due_at"],
      [{ ...row, dueAt: new Date(NaN) }, "due_at"],
      [{ ...row, formats: { subject: "pdf" } }, "formats"],
      [{ ...row, formats: "{}" }, "formats"],
    ] as const
    for (const [faulty, column] of cases) {
      const fault = await faultOf(faulty)
      assert.instanceOf(fault, UnreadableRow)
      assert.deepInclude(fault, { table: "letters", column, row: "id 7" })
      assert.include(String(fault), `The row of letters with id 7 cannot be read: ${column}: `)
    }
  })
})
