import { assert, describe, it } from "@effect/vitest"
import { memberOf } from "../../src/decide/UnfilledCount.ts"

describe("The count of values that nobody filled in", () => {
  it("is by member of the request, in every notation of the place", () => {
    const of = (at: string) => memberOf({ at, text: "null" })
    assert.deepStrictEqual(["/attrs/tier", "attrs[tier]", "/fields/a/0", "fields", "/fields/attrs"].map(of), [
      "attrs",
      "attrs",
      "fields",
      "fields",
      "fields",
    ])
    assert.deepStrictEqual(["/user_id", "/requests/3/tracking_id", "email"].map(of), [
      "user_id",
      "tracking_id",
      "email",
    ])
  })
})
