import { assert, describe, it } from "@effect/vitest"
import { Sums } from "../../src/learning/Sums.ts"

describe("Sums", () => {
  it("adds up amounts by key, in the order of the first amounts", () => {
    const sums = new Sums<{ readonly day: number; readonly copy_id: string }, "clicks" | "sends">(["sends", "clicks"])
    sums.add({ day: 2, copy_id: "a" }, { sends: 1, clicks: 1 })
    sums.add({ day: 1, copy_id: "a" }, { sends: 1 })
    sums.add({ day: 2, copy_id: "a" }, { sends: 3, clicks: undefined })
    assert.deepStrictEqual(sums.rows(), [
      { day: 2, copy_id: "a", sends: 4, clicks: 1 },
      { day: 1, copy_id: "a", sends: 1, clicks: 0 },
    ])
  })

  it("keeps keys apart whose texts are equal when joined", () => {
    const sums = new Sums<{ readonly first: string; readonly second: string }, "n">(["n"])
    sums.add({ first: "ab", second: "c" }, { n: 1 })
    sums.add({ first: "a", second: "bc" }, { n: 2 })
    assert.deepStrictEqual(sums.rows().map(({ n }) => n), [1, 2])
  })
})
