import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { SeededMap, SeededSet } from "../../src/json/SeededMap.ts"
import { integerText, seededText } from "../support/collisions.ts"

const keys = fc.oneof(
  fc.string({ unit: "binary", maxLength: 3 }),
  fc.constantFrom("", "\0", "\0\0", "__proto__", "1", "NaN", "\ud800", "x".repeat(600), `${"x".repeat(600)}\ud800`),
  fc.constantFrom(0, -0, 1, 1.5, NaN, Infinity, -Infinity, 2 ** 53),
  fc.double(),
)
const steps = fc.array(fc.tuple(fc.constantFrom("set", "set", "compute", "delete", "clear"), keys, fc.nat()), {
  maxLength: 60,
})

const behavesAsMap = (make: () => SeededMap<string | number, number>) =>
  fc.assert(fc.property(steps, (steps) => {
    const own = make()
    const native = new Map<string | number, number>()
    for (const [step, key, value] of steps) {
      if (step === "set") {
        own.set(key, value)
        native.set(key, value)
      } else if (step === "compute") {
        const compute = () => value
        assert.strictEqual(own.getOrInsertComputed(key, compute), native.getOrInsertComputed(key, compute))
      } else if (step === "delete") assert.strictEqual(own.delete(key), native.delete(key))
      else if (value % 10 === 0) {
        own.clear()
        native.clear()
      }
      assert.strictEqual(own.size, native.size)
      assert.strictEqual(own.has(key), native.has(key))
      assert.strictEqual(own.get(key), native.get(key))
    }
    assert.sameDeepMembers([...own], [...native])
    assert.sameDeepMembers([...own.values()], [...native.values()])
  }))

describe("SeededMap", () => {
  it("behaves as a Map", () => behavesAsMap(() => new SeededMap()))

  it("behaves as a Map for colliding hashes", () => {
    behavesAsMap(() => new SeededMap([], () => 1))
    behavesAsMap(() => new SeededMap([], (key) => String(key).length % 2))
  })

  it("iterates in the order of insertion", () => {
    const map = new SeededMap([["b", 1], ["a", 2], ["c", 3]])
    map.delete("b")
    map.set("b", 4).set("a", 5)
    assert.deepStrictEqual([...map], [["a", 5], ["c", 3], ["b", 4]])
    assert.deepStrictEqual([...map.keys()], ["a", "c", "b"])
  })

  it("accepts hundreds of thousands of keys that collide in a Map", () => {
    const keys = (key: (index: number) => string | number) => Array.from({ length: 300_000 }, (_, index) => key(index))
    for (const key of [integerText, seededText, (index: number) => (index + 1) * 2 ** 22]) {
      const all = keys(key)
      const set = new SeededSet(all)
      assert.strictEqual(set.size, all.length)
      assert.isTrue(all.every((one) => set.has(one)))
    }
  })
})

describe("SeededSet", () => {
  it("keeps each key once, in the order of insertion", () => {
    const set = new SeededSet<string>(["b", "a", "b"])
    assert.deepStrictEqual([...set.add("c").add("a")], ["b", "a", "c"])
    assert.strictEqual(set.size, 3)
    assert.isFalse(set.has("d"))
  })
})
