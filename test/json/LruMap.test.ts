import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { LruMap } from "../../src/json/LruMap.ts"

const step = fc.tuple(
  fc.constantFrom("get", "set", "set", "delete"),
  fc.constantFrom("a", "b", "c", "d", "1", "2"),
  fc.integer({ min: 1, max: 6 }),
)

describe("LruMap", () => {
  it("drops the least recently used entries beyond its weight", () => {
    const map = new LruMap<number>(10)
    for (const [key, weight] of [["a", 4], ["b", 4]] as const) map.set(key, 1, weight)
    map.get("a")
    map.set("c", 1, 4)
    assert.deepStrictEqual(["a", "b", "c"].map((key) => map.get(key)), [1, undefined, 1])
    map.set("d", 1, 11)
    assert.deepStrictEqual([map.size, map.get("d")], [0, undefined])
  })

  it("replaces a value without dropping another", () => {
    const map = new LruMap<number>(2)
    map.set("a", 1)
    map.set("b", 1)
    map.set("a", 2)
    assert.deepStrictEqual([map.get("a"), map.get("b"), map.size], [2, 1, 2])
  })

  it("equals a list in the order of use", () =>
    fc.assert(fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const map = new LruMap<number>(10)
      let list: Array<{ readonly key: string; readonly value: number; readonly weight: number }> = []
      steps.forEach(([kind, key, weight], value) => {
        const known = list.find((one) => one.key === key)
        if (kind === "get") assert.strictEqual(map.get(key), known?.value)
        list = list.filter((one) => one !== known)
        if (kind === "get" && known !== undefined) list.push(known)
        if (kind === "set") {
          map.set(key, value, weight)
          list.push({ key, value, weight })
          while (list.reduce((sum, one) => sum + one.weight, 0) > 10) list.shift()
        }
        if (kind === "delete") map.delete(key)
        assert.strictEqual(map.size, list.length)
      })
    })))
})
