import { assert, describe, it } from "@effect/vitest"
import { ShortLivedMap, SlotSet, type Slotted } from "../../src/domain/ShortLived.ts"

interface Item extends Slotted {
  readonly id: number
}

describe("SlotSet", () => {
  it("holds values that were added and not removed, in any order of removals", () => {
    const items = Array.from({ length: 50 }, (_, id): Item => ({ id }))
    const set = new SlotSet<Item>()
    const model = new Set<Item>()
    let seed = 7
    for (let step = 0; step < 5000; step++) {
      seed = seed * 48271 % 2147483647
      const item = items[seed % items.length]!
      if (model.has(item)) {
        assert.isTrue(set.delete(item))
        model.delete(item)
      } else {
        assert.isFalse(set.delete(item))
        set.add(item)
        model.add(item)
      }
      assert.strictEqual(set.size, model.size)
    }
    const byId = (a: Item, b: Item) => a.id - b.id
    assert.deepStrictEqual([...set.values()].sort(byId), [...model].sort(byId))
  })
})

describe("ShortLivedMap", () => {
  it("holds the last value of each key that was not removed, over many more removals than it has entries", () => {
    const map = new ShortLivedMap<number, number>()
    const model = new Map<number, number>()
    let seed = 11
    for (let step = 0; step < 20_000; step++) {
      seed = seed * 48271 % 2147483647
      const key = seed % 100
      if (seed % 3 === 0) {
        map.set(key, step)
        model.set(key, step)
      } else assert.strictEqual(map.delete(key), model.delete(key))
      assert.strictEqual(map.get(key), model.get(key))
      assert.strictEqual(map.size, model.size)
    }
  })
})
