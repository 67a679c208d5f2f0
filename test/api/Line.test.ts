import { assert, describe, it } from "@effect/vitest"
import { Line } from "../../src/api/server/Line.ts"

describe("Line", () => {
  it("serves waiters in order of arrival", () => {
    const line = new Line<string>()
    for (const name of ["a", "b", "c"]) line.enter(name, 0)
    assert.strictEqual(line.size, 3)
    assert.deepStrictEqual([line.next(), line.next(), line.next(), line.next()], ["a", "b", "c", undefined])
    assert.strictEqual(line.size, 0)
    line.enter("d", 0)
    assert.strictEqual(line.next(), "d")
  })

  it("serves only waiters up to a time of arrival, on request", () => {
    const line = new Line<string>()
    line.enter("a", 1)
    line.enter("b", 2)
    assert.strictEqual(line.next(0), undefined)
    assert.strictEqual(line.next(1), "a")
    assert.strictEqual(line.next(1), undefined)
    assert.strictEqual(line.next(2), "b")
  })

  it("lets anybody leave once, wherever in it", () => {
    const line = new Line<number>()
    const leaves = Array.from({ length: 1000 }, (_, i) => line.enter(i, i))
    for (let i = 0; i < 1000; i += 2) assert.isTrue(leaves[i]!())
    assert.isFalse(leaves[0]!())
    assert.strictEqual(line.size, 500)
    for (let i = 1; i < 1000; i += 2) {
      assert.strictEqual(line.next(), i)
      assert.isFalse(leaves[i]!())
    }
    assert.strictEqual(line.next(), undefined)
    assert.strictEqual(line.size, 0)
  })
})
