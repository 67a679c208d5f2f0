import { assert } from "@effect/vitest"
import type { Effect } from "effect"
import { describe, it } from "vitest"
import { managed, signedIn } from "../console/furnished.ts"
import { aroundTests } from "../support/aroundTests.ts"
import { mailWorld } from "../support/mailWorld.ts"
import { runCommand } from "../support/cli.ts"
import { adminToken } from "../support/service.ts"
import { assertProblem, type Json, pointersOf, read } from "./harness.ts"

describe("test groups", () => {
  let world: Effect.Success<typeof mailWorld>
  aroundTests(mailWorld, async (started) => {
    world = started
    const manage = managed(world.service)
    await manage("POST", "/organizations", { slug: "shop", name: "Shop" })
    await manage("PUT", "/organizations/shop/connections/main", world.connection("shop.example"))
    await manage("POST", "/organizations/shop/templates", {
      id: "welcome",
      name: "Welcome",
      variants: [{ id: "warm", vars: { subject: "Hello {{ name }}", body: "<p>Hello</p>" } }],
    })
  })

  const manage = (method: string, path: string, body?: unknown) =>
    managed(world.service)(method, `/organizations/shop${path}`, body)

  const call = async (method: string, path: string, body?: unknown, key?: string) =>
    read(
      await world.service.request(`/console/api/organizations/shop${path}`, {
        method,
        headers: {
          ...(key === undefined ? { authorization: `Bearer ${adminToken}` } : { "x-api-key": key }),
          "content-type": "application/json",
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    )

  const command = (...args: ReadonlyArray<string>) =>
    runCommand([...args, "--org", "shop"], { PARLANCE_URL: world.service.url, ADMIN_TOKEN: adminToken })

  it("are saved, listed and deleted, with every fault of an invalid one", async () => {
    const saved = await call("PUT", "/test-groups/design-team", { name: "Design team", emails: ["ann@agency.example"] })
    assert.strictEqual(saved.status, 200, saved.text)
    assert.deepInclude(saved.json, { id: "design-team", name: "Design team", emails: ["ann@agency.example"] })
    const replaced = await manage("PUT", "/test-groups/design-team", {
      name: "Design team",
      emails: ["ann@agency.example", "ben@agency.example"],
    })
    assert.deepStrictEqual((await manage("GET", "/test-groups")).groups, [replaced])
    assert.deepStrictEqual(await manage("GET", "/test-groups/design-team"), replaced)

    const faulty = async (id: string, body: Json) => pointersOf(await call("PUT", `/test-groups/${id}`, body))
    const emails = ["ann@agency.example"]
    assert.deepStrictEqual(await faulty("other", { name: "Design team", emails }), ["/name"])
    assert.deepStrictEqual(await faulty("Other!", { name: "Other", emails }), ["group"])
    assert.deepStrictEqual(await faulty("other", { name: " ", emails: ["nonsense", "x@"] }), [
      "/emails/0",
      "/emails/1",
      "/name",
    ])
    assert.deepStrictEqual(await faulty("other", { name: "Other", emails: [] }), ["/emails"])
    assert.deepStrictEqual(await faulty("other", { name: "Other", emails: ["a@x.example", "A@x.example"] }), [
      "/emails",
    ])
    for (let n = 1; n < 20; n++) await manage("PUT", `/test-groups/more-${n}`, { name: `More ${n}`, emails })
    assert.deepStrictEqual(await faulty("one-more", { name: "One more", emails }), ["/name"])
    for (let n = 1; n < 20; n++) assert.strictEqual((await call("DELETE", `/test-groups/more-${n}`)).status, 204)
    assertProblem(await call("DELETE", "/test-groups/more-1"), 404, "test-group-not-found")
    assertProblem(
      await call("POST", "/test-groups/nobody/send", { template_id: "welcome" }),
      404,
      "test-group-not-found",
    )
  })

  it("receive one test message per address unless suppressed, without a result or a delivery", async () => {
    const emails = ["ann@agency.example", "gone@agency.example"]
    await manage("PUT", "/test-groups/agency", { name: "Agency", emails })
    await manage("POST", "/suppressions", { email: "gone@agency.example" })
    const before = world.mail.mails.length
    const { sent } = await manage("POST", "/test-groups/agency/send", {
      template_id: "welcome",
      fields: { name: "Zoe" },
    })
    assert.deepStrictEqual(sent.map(({ email, ok }: Json) => [email, ok]), [
      ["ann@agency.example", true],
      ["gone@agency.example", false],
    ])
    assert.include(sent[1].detail, "suppression list")
    assert.deepStrictEqual(world.mail.mails.slice(before).map(({ to }) => to), [["ann@agency.example"]])
    assert.lengthOf((await manage("GET", "/deliveries")).deliveries, 0)
    assert.strictEqual((await manage("GET", "/templates/welcome/results")).decisions, 0)
    const send = (body: Json) => call("POST", "/test-groups/agency/send", body)
    assertProblem(await send({ template_id: "none" }), 404, "template-not-found")
    await manage("PUT", "/connections/main", { ...world.connection("shop.example"), enabled: false })
    assert.deepStrictEqual(pointersOf(await send({ template_id: "welcome" })), ["/connection"])
    await manage("PUT", "/connections/main", { ...world.connection("shop.example"), enabled: true })

    const { entries } = await manage("GET", "/audit")
    const test = entries.find(({ action }: Json) => action === "test message sent")
    assert.deepStrictEqual(test.details, { template_id: "welcome", group: "agency", to: emails })
    const save = entries.find(({ action, subject }: Json) => action === "test group saved" && subject === "agency")
    assert.deepStrictEqual(save.details, {}, "addresses of a group are not in the audit log")
  })

  it("are kept and used by command, with the fields of a sample person", async () => {
    await manage("PUT", "/sample-people/zoe", { name: "Zoe", fields: { name: "Zoe" } })
    const set = await command("test-group", "set", "crew", "cid@agency.example", "--name", "Crew")
    assert.strictEqual(set.code, 0, set.output)
    assert.include((await command("test-group", "list")).output, "crew")
    const sent = await command("test-group", "send", "crew", "welcome", "--connection", "main", "--person", "zoe")
    assert.strictEqual(sent.code, 0, sent.output)
    assert.include(world.mail.mails.at(-1)!.raw, "Subject: Hello Zoe")
    assert.include((await command("test-group", "delete", "crew")).output, "Deleted crew")
  }, 60_000)

  it("are changed by admins and used by editors", async () => {
    await manage("PUT", "/test-groups/shown", { name: "Shown", emails: ["b@x.example"] })
    const at = "/console/o/shop/settings/test-groups"
    const editor = await signedIn(world.service, "editor@example.com", ["shop", "editor"])
    const list = await editor.get(at)
    assert.include(list.text, "Shown")
    assert.notInclude(list.text, "Create test group")
    for (const path of ["/-/new", "/shown", "/shown/delete"]) {
      assert.strictEqual((await editor.post(`${at}${path}`, { name: "X", emails: "x@x.example" })).status, 403, path)
    }
    const admin = await signedIn(world.service, "admin@example.com", ["shop", "admin"])
    const faulty = await admin.post(`${at}/-/new`, { name: "", emails: "b@x.example nonsense" })
    assert.strictEqual(faulty.status, 400)
    assert.include(faulty.text, "&quot;nonsense&quot; must be an address with one @")
    assert.match(faulty.text, />\s*b@x\.example nonsense</, "the text stays")
    assert.strictEqual((await admin.post(`${at}/-/new`, { name: "Über uns", emails: "b@x.example" })).status, 303)
    assert.deepInclude(await manage("GET", "/test-groups/uber-uns"), { name: "Über uns" })
    assert.strictEqual((await admin.post(`${at}/uber-uns`, { name: "About", emails: "b@x.example" })).status, 303)
    assert.strictEqual((await admin.post(`${at}/uber-uns/delete`)).status, 303)
    assert.strictEqual((await admin.get(`${at}/uber-uns`)).status, 404)

    const { key } = await manage("POST", "/keys", { name: "CI", scopes: ["templates:write"] })
    assert.strictEqual((await call("GET", "/test-groups", undefined, key)).status, 403)
  })
})

describe("sample people", () => {
  let world: Effect.Success<typeof mailWorld>
  aroundTests(mailWorld, async (started) => {
    world = started
    await managed(world.service)("POST", "/organizations", { slug: "shop", name: "Shop" })
  })

  const call = async (method: string, path: string, body?: unknown) =>
    read(
      await world.service.request(`/console/api/organizations/shop/sample-people${path}`, {
        method,
        headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    )

  it("are saved under an id, read and deleted, and the audit log does not name them", async () => {
    const ann = { name: "Ann, gold", attrs: { tier: "gold", tags: ["a"] }, fields: { order: { total: 12 } } }
    assert.deepStrictEqual((await call("PUT", "/ann", ann)).json, { id: "ann", ...ann })
    assert.deepStrictEqual((await call("GET", "/ann")).json, { id: "ann", ...ann })
    assert.deepStrictEqual((await call("PUT", "/ann", { name: "Ann" })).json, {
      id: "ann",
      name: "Ann",
      attrs: {},
      fields: {},
    })
    assert.deepStrictEqual((await call("GET", "")).json, { people: [{ id: "ann", name: "Ann" }] })
    assert.deepStrictEqual(pointersOf(await call("PUT", "/ben", { name: "Ann" })), ["/name"])
    assert.deepStrictEqual(pointersOf(await call("PUT", "/ben", { name: "", attrs: { a: {} } })), ["/attrs/a", "/name"])
    assert.deepStrictEqual(pointersOf(await call("PUT", "/B!", { name: "Ben" })), ["person"])
    assert.strictEqual((await call("DELETE", "/ann")).status, 204)
    assertProblem(await call("GET", "/ann"), 404, "sample-person-not-found")
    assertProblem(await call("DELETE", "/ann"), 404, "sample-person-not-found")
    const { entries } = await managed(world.service)("GET", "/organizations/shop/audit")
    const about = entries.filter(({ action }: Json) => action.startsWith("sample person"))
    assert.isAtLeast(about.length, 3)
    assert.notMatch(JSON.stringify(about), /ann/i)
  })

  it("are kept by command", async () => {
    const person = async (...args: ReadonlyArray<string>) => {
      const settings = { PARLANCE_URL: world.service.url, ADMIN_TOKEN: adminToken }
      const { code, output } = await runCommand(["sample-person", ...args, "--org", "shop"], settings)
      assert.strictEqual(code, 0, output)
      return output
    }
    await person("set", "gold", "--name", "Gold customer", "--attrs", '{"tier":"gold"}', "--fields", '{"name":"Zoe"}')
    assert.include(await person("list"), "Gold customer")
    assert.include(await person("show", "gold"), '{"tier":"gold"}')
    assert.include(await person("delete", "gold"), "Deleted gold")
  })
})
