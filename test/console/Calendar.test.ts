import { assert } from "@effect/vitest"
import { it } from "vitest"
import { describeShop } from "./shop.ts"

describeShop("the calendar", ({ manage, signIn }) => {
  it("names the templates with a holdout of their own, also one of the same share as the organization's", async () => {
    await manage("PATCH", "/organizations/shop", { holdout: { share: 0.1, content: "even" } })
    const create = (id: string, name: string, more: object) =>
      manage("POST", "/organizations/shop/templates", {
        id,
        name,
        variants: [{ id: `${id}-a`, name: "Warm words", vars: { subject: "Hello" } }],
        ...more,
      })
    await create("own", "Cart reminder", {})
    await manage("PATCH", "/organizations/shop/templates/own", {
      holdout: { share: 0.1, content: "fixed", copy_id: "own-a" },
    })
    await create("same", "Newsletter", {})
    const page = (await (await signIn("viewer@example.com")).get("/console/o/shop/calendar")).text
    assert.match(page, /<a href="\/console\/o\/shop\/templates\/own\/settings"[^>]*>Cart reminder<\/a>/)
    assert.include(page, "10 % of people always get own-a")
    assert.notInclude(page, "Newsletter")
  })
})
