import { assert, describe, it } from "@effect/vitest"
import { templateTroubles } from "../../src/console/pages/OverviewTroubles.ts"

const base = "/console/o/acme"
const templateName = (id: string) => `Name of ${id}`

describe("notices about templates that nobody receives", () => {
  it("name each template if there are a few", () => {
    const troubles = templateTroubles(
      base,
      { inactive: ["a b"], idle: [{ template: "c", variants: ["v1", "v2"] }] },
      templateName,
    )
    assert.deepStrictEqual(troubles.map(({ href, title }) => [title, href]), [
      ["Name of a b has no active variant", `${base}/templates/a%20b`],
      ["Name of c: active variants without traffic", `${base}/templates/c`],
    ])
    assert.include(troubles[1]!.detail, "v1, v2")
  })

  it("are combined for many templates with the same trouble, so that other notices stay visible", () => {
    const ids = ["a", "b", "c", "d"]
    const idle = ids.map((template) => ({ template, variants: ["v"] }))
    const troubles = templateTroubles(base, { inactive: ids, idle }, templateName)
    assert.deepStrictEqual(troubles.map(({ href, title }) => [title, href]), [
      ["4 templates have no active variant", `${base}/templates?state=inactive`],
      ["4 templates have active variants without traffic", `${base}/templates`],
    ])
    assert.include(troubles[0]!.detail, "Name of a, Name of b, Name of c and 1 more")
  })
})
