import { Buffer } from "node:buffer"
import { assert, describe, it } from "@effect/vitest"
import { type Cursor, decode, encode } from "../../src/exports/Cursor.ts"

const at = "2026-05-04T09:30:00.123456Z"
const cursor: Cursor = { stream: "decisions", main: [at, "x", "t"], late: { at, id: "7" }, stepMillis: 60_000 }

describe("the cursor of an export", () => {
  it("round-trips", () => {
    for (const one of [cursor, { ...cursor, main: [at, "\u00fc \ud83d\ude00", ""] }]) {
      assert.deepStrictEqual(decode(encode(one), "decisions"), one)
    }
    assert.match(encode(cursor), /^[\w-]+$/)
  })

  it("is rejected by another export, and if it was forged", () => {
    assert.isUndefined(decode(encode(cursor), "events"))
    assert.isUndefined(decode("", "decisions"))
    assert.isUndefined(decode("%%%", "decisions"))
    const parts = [1, "decisions", [at, "x", "t"], at, "7", 60_000]
    const text = (change: (copy: Array<unknown>) => void) => {
      const copy = [...parts]
      change(copy)
      return Buffer.from(JSON.stringify(copy)).toString("base64url")
    }
    assert.isDefined(decode(text(() => {}), "decisions"))
    const changes: ReadonlyArray<(copy: Array<unknown>) => void> = [
      (copy) => copy[0] = 2,
      (copy) => copy[2] = [at, "x"],
      (copy) => copy[2] = ["yesterday", "x", "t"],
      (copy) => copy[2] = [at, "x\0", "t"],
      (copy) => copy[3] = "2026-99-04T09:30:00.123456Z",
      (copy) => copy[4] = "7; DROP",
      (copy) => copy[5] = -1,
      (copy) => copy.push(1),
    ]
    for (const change of changes) assert.isUndefined(decode(text(change), "decisions"), String(change))
  })
})
