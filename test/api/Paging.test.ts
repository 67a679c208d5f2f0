import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { cursorOf, positionIn } from "../../src/api/http/Cursors.ts"
import { pageBy, pageOf } from "../../src/api/http/Paging.ts"

const rows = [{ id: 5 }, { id: 4 }, { id: 3 }, { id: 2 }]

/** Rows below a cursor, as a store returns them. */
const below = (cursor: number) => (limit: number) =>
  Effect.succeed(rows.filter(({ id }) => id < cursor).slice(0, limit))

describe("the cursor of a list", () => {
  it("contains the position of a row", () => {
    const cursor = cursorOf("comments", 17)
    assert.match(cursor, /^[\w-]+$/)
    assert.strictEqual(positionIn("comments", cursor), "17")
    assert.strictEqual(positionIn("templates", cursorOf("templates", "größe/1")), "größe/1")
  })

  it("is refused by another list, and after any damage", () => {
    const cursor = cursorOf("comments", 17)
    assert.isUndefined(positionIn("proposals", cursor))
    for (
      const damaged of [
        "",
        "17",
        cursor.slice(1),
        cursor.slice(0, -1),
        `${cursor}=`,
        ` ${cursor}`,
        cursor.toUpperCase(),
      ]
    ) {
      assert.isUndefined(positionIn("comments", damaged), damaged)
    }
  })
})

describe("pages of a list", () => {
  it.effect("lead with the id of the last row to the following page", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* pageOf(3, below(9)), { page: rows.slice(0, 3), next: 3 })
      assert.deepStrictEqual(yield* pageOf(3, below(3)), { page: rows.slice(3), next: null })
    }))

  it.effect("have no following page if the last page is full", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* pageOf(2, below(4)), { page: rows.slice(2), next: null })
      assert.deepStrictEqual(yield* pageOf(4, below(9)), { page: rows, next: null })
    }))

  it.effect("are empty without a following page if no row is left", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* pageOf(2, below(2)), { page: [], next: null })
    }))

  it.effect("can have a cursor other than the id", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* pageBy(1, below(9), ({ id }) => `row-${id}`)).next, "row-5")
    }))
})
