import { assert, describe, it } from "@effect/vitest"
import { memberOf, pathOf } from "../../src/decide/UnfilledCount.ts"

describe("the count of unfilled values", () => {
  it("groups by member of the request, for every notation of the position", () => {
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

  it("shows positions as readable paths", () => {
    for (
      const [at, path] of [
        ["/attrs/tier", "attrs.tier"],
        ["/attrs/tier/0", "attrs.tier.0"],
        ["/attrs/a~1b~0c", "attrs.a/b~c"],
        ["/fields/user/first name", "fields.user.first name"],
        ["/fields/requests/1", "fields.requests.1"],
        ["attrs[tier]", "attrs.tier"],
        ["fields[a[0]]", "fields.a[0]"],
        ["fields[a/b]", "fields.a/b"],
        ["/user_id", "user_id"],
        ["email", "email"],
        ["/requests/3/tracking_id", "tracking_id"],
      ] as const
    ) {
      assert.strictEqual(pathOf({ at, text: "null" }), path, at)
    }
  })
})
