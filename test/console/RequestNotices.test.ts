import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { RequestNotices } from "../../src/decide/RequestNotices.ts"
import { suiteOnServer } from "../learning/support.ts"
import { makeOrganization } from "../support/service.ts"
import { managed, signedIn } from "./furnished.ts"

suiteOnServer("Tracking ids used for several people", (server) => {
  it("are counted on the page of the template with a remedy, and in the list of templates", async () => {
    const { service } = server()
    const manage = managed(service)
    const key = await makeOrganization(service, "shared-ids")
    for (const id of ["welcome", "offer"]) {
      const variants = ["a", "b"].map((variant) => ({ id: variant, vars: { subject: variant } }))
      await manage("POST", "/organizations/shared-ids/templates", { id, name: id, variants })
    }
    const viewer = await signedIn(service, "shared-ids@example.com", ["shared-ids", "viewer"])
    const page = async (path: string) => (await viewer.get(`/console/o/shared-ids/templates${path}`)).text
    for (const user_id of ["ann", "ann", "bob", "cid"]) {
      await service.generate("shared-ids", key, { template_id: "welcome", tracking_id: "spring", user_id })
      await service.generate("shared-ids", key, { template_id: "offer", tracking_id: `spring-${user_id}`, user_id })
    }
    await server().run(Effect.flatMap(RequestNotices, ({ flush }) => Effect.orDie(flush)))
    const text = await page("/welcome")
    assert.match(text, /<b>2 requests<\/b> in the last 24 hours repeated a tracking id for another person/)
    assert.include(text, "What differed in the latest: <code>user_id</code>")
    assert.include(text, "a tracking id of its own")
    assert.notInclude(await page("/offer"), "repeated a tracking id")
    assert.include(await page(""), "2 repeated tracking ids")
    assert.include(await page("?failing=tracking-ids"), "welcome")
    assert.notInclude(await page("?failing=tracking-ids"), "templates/offer")
    assert.notInclude(text, "a placeholder that nobody filled in")
  })
})

suiteOnServer("Unfilled placeholders of callers", (server) => {
  it("are counted on the page of the template with their member, and in the list of templates", async () => {
    const { service } = server()
    const manage = managed(service)
    const key = await makeOrganization(service, "unfilled")
    for (const id of ["welcome", "offer"]) {
      const variants = ["a", "b"].map((variant) => ({ id: variant, vars: { subject: variant } }))
      await manage("POST", "/organizations/unfilled/templates", { id, name: id, variants })
    }
    const viewer = await signedIn(service, "unfilled@example.com", ["unfilled", "viewer"])
    const page = async (path: string) => (await viewer.get(`/console/o/unfilled/templates${path}`)).text
    for (const tier of ["{{customer.tier}}", "null", "gold"]) {
      await service.generate("unfilled", key, { template_id: "welcome", attrs: { tier } })
      await service.generate("unfilled", key, { template_id: "offer", attrs: { tier: "gold" } })
    }
    await service.generate("unfilled", key, { template_id: "welcome", fields: { "<b>": "*|FNAME|*" } })
    await server().run(Effect.flatMap(RequestNotices, ({ flush }) => Effect.orDie(flush)))
    const text = await page("/welcome")
    assert.match(text, /<b>3 requests<\/b> in the last 24 hours had a placeholder that nobody filled in/)
    assert.include(text, "Where it was in the latest: <code>fields.&lt;b></code>")
    assert.include(text, "must fill the value in, or leave the member out")
    assert.notInclude(text, "repeated a tracking id")
    assert.notInclude(await page("/offer"), "a placeholder that nobody filled in")
    assert.include(await page(""), "3 requests with placeholders")
    assert.include(await page("?failing=placeholders"), "templates/welcome")
    assert.notInclude(await page("?failing=placeholders"), "templates/offer")
  })
})
