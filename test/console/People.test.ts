import { assert, describe } from "@effect/vitest"
import { it } from "vitest"
import { aroundTests } from "../support/aroundTests.ts"
import { type LocalService, startInProcess } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { connect, deliveryEnvironment, furnish, managed, receiver, signedIn } from "./furnished.ts"

// deno-lint-ignore no-explicit-any -- what a test reads of an answer it also asserts
type Json = any

describe("people and messages", () => {
  const environment = temporaryEnvironment
  let service: LocalService
  let sink: string
  aroundTests(startInProcess(environment, deliveryEnvironment), (started) => service = started)
  aroundTests(receiver, ({ url }) => sink = url)

  const story = (org: string, query: string): Promise<Json> =>
    managed(service)("GET", `/organizations/${org}/stories?${query}`)

  it("show the decision of a tracking id with its reason, and the effect of each event", async () => {
    await furnish(service, "told")
    const found = await story("told", "tracking_id=order-1001")
    assert.strictEqual(found.decisions.length, 1)
    const [decision] = found.decisions
    assert.strictEqual(decision.template_id, "welcome")
    assert.strictEqual(decision.mode, "bandit")
    assert.closeTo(decision.weights.warm + decision.weights.brief, 1, 1e-9)
    assert.strictEqual(decision.propensity, decision.weights[decision.copy_id])
    const effects = decision.events.map(({ effect, event }: Json) => `${event} ${effect}`)
    assert.deepStrictEqual(effects, [
      "conversion out_of_time",
      "delivered counted",
      "click automated",
      "open counted",
      "open repeated",
      "click counted",
      "open repeated",
    ])
    assert.strictEqual(found.profiles[0].user_id, "u-1", "and of whom it was")
    const loose = await story("told", "tracking_id=order-unknown")
    assert.deepStrictEqual(loose.loose.map(({ effect }: Json) => effect), ["waiting"])
    assert.deepStrictEqual((await story("told", "q=nobody")).decisions, [])
  })

  it("find a person under every name, and search by any text", async () => {
    await furnish(service, "named")
    const byUser = await story("named", "user_id=u-1")
    assert.sameMembers(byUser.names, ["u-1", "ann@example.com"])
    assert.deepStrictEqual((await story("named", "email=ANN@example.com")).decisions, byUser.decisions)
    assert.strictEqual((await story("named", "q=order-1001")).found_as, "tracking_id")
    for (const q of ["u-1", "ann@example.com"]) {
      const found = await story("named", `q=${q}`)
      assert.strictEqual(found.found_as, "person")
      assert.deepStrictEqual(found.decisions, byUser.decisions)
    }
  })

  it("page through a long history with each decision once", async () => {
    const org = await furnish(service, "long")
    for (let n = 0; n < 7; n++) {
      await org.post("/api/generate/long", { template_id: "welcome", tracking_id: `more-${n}`, user_id: "u-1" })
    }
    const ids: Array<string> = []
    let after = ""
    do {
      const page: Json = await story("long", `user_id=u-1&limit=3${after === "" ? "" : `&after=${after}`}`)
      ids.push(...page.decisions.map((one: Json) => one.tracking_id))
      after = page.next ?? ""
    } while (after !== "")
    assert.sameMembers(ids, ["order-1001", ...Array.from({ length: 7 }, (_, n) => `more-${n}`)])
    assert.strictEqual(ids.at(-1), "order-1001", "the latest first")
  })

  it("reject an invalid query", async () => {
    await managed(service)("POST", "/organizations", { slug: "asked", name: "Asked" })
    for (
      const query of [
        "",
        "q=",
        "q=a&email=b",
        "user_id=a&user_id=b",
        "q=%00",
        "q=a&limit=0",
        "q=a&after=x",
        `q=${"x".repeat(401)}`,
      ]
    ) {
      const answer = await service.manage("GET", `/organizations/asked/stories?${query}`)
      assert.strictEqual(answer.status, 400, query)
    }
    assert.strictEqual((await service.manage("GET", "/organizations/nobody/stories?q=a")).status, 404)
    assert.strictEqual((await service.manage("GET", "/organizations/asked/webhooks/events/events?limit=x")).status, 400)
  })

  it("are separated by organization", async () => {
    await furnish(service, "mine")
    await managed(service)("POST", "/organizations", { slug: "theirs", name: "Theirs" })
    for (const query of ["tracking_id=order-1001", "user_id=u-1", "email=ann@example.com", "q=u-1"]) {
      const found = await story("theirs", query)
      assert.deepStrictEqual([found.decisions, found.profiles, found.loose, found.repeats], [[], [], [], []])
    }
    assert.deepStrictEqual(
      (await managed(service)("GET", "/organizations/theirs/webhooks/events/events")).events,
      [],
    )
  })

  it("show typed HTML as text", async () => {
    await furnish(service, "page")
    const viewer = await signedIn(service, "page@example.com", ["page", "viewer"])
    const at = "/console/o/page/people"
    assert.strictEqual((await viewer.get(at)).status, 200)
    const message = (await viewer.get(`${at}?q=order-1001`)).text
    for (
      const word of ["welcome", "Why this variant", "already counted", "by a machine", "out of time", "kind of day"]
    ) {
      assert.include(message, word)
    }
    assert.match(message, /dir="auto">Welcome<\/a>: <bdi>\w/, "names, not ids")
    const person = (await viewer.get(`${at}?q=u-1`)).text
    assert.include(person, "ann@example.com")
    assert.include(person, "&lt;script>document.title")
    assert.notInclude(person, "<script>document.title")
    assert.notInclude(person, "/people/erase", "a viewer erases nobody")
    assert.include(
      (await viewer.get(`${at}?q=${encodeURIComponent("<script>x")}`)).text,
      "Nothing found",
    )
    for (const query of ["q=%00", "after=x&q=u-1", `q=${"x".repeat(2000)}`, "user_id=%F0%90", "email=%40"]) {
      assert.strictEqual((await viewer.get(`${at}?${query}`)).status, 200, query)
    }
  })

  it("erase a person after a confirmation, report the erased data, and keep the name out of the audit log", async () => {
    const manage = managed(service)
    const org = await furnish(service, "erased")
    await connect(service, "erased", sink)
    await org.post("/api/deliver/erased", { template_id: "welcome", email: "ann@example.com" })
    await service.untilStored(
      "it has left",
      ["deliveries"],
      async () => (await manage("GET", "/organizations/erased/delivery-summary")).sent === 1,
    )
    const at = "/console/o/erased/people/erase"
    const editor = await signedIn(service, "erased-editor@example.com", ["erased", "editor"])
    const admin = await signedIn(service, "erased-admin@example.com", ["erased", "admin"])
    assert.strictEqual((await editor.get(at)).status, 403)
    assert.strictEqual((await editor.post(at, { user_id: "u-1" })).status, 403)
    assert.include(
      (await admin.get("/console/o/erased/people?q=u-1")).text,
      `${at}?user_id=u-1&amp;email=ann%40example.com`,
    )
    const nobody = await admin.get(`${at}?check=yes&user_id=&email=`)
    assert.strictEqual(nobody.status, 400)
    assert.include(nobody.text, `href="#user_id"`)
    const asked = await admin.get(`${at}?check=yes&user_id=u-1&email=`)
    assert.include(asked.text, "This cannot be undone.")
    assert.strictEqual((await story("erased", "user_id=u-1")).profiles.length, 1, "asking erases nothing")
    const done = await admin.post(at, { user_id: "u-1" })
    assert.strictEqual(done.status, 200)
    assert.include(done.text, "<dt>Profiles deleted</dt><dd>1</dd>")
    assert.include(done.text, "<dt>Sends without the name now</dt><dd>2</dd>")
    assert.include(done.text, "<dt>Deliveries without address and content now</dt><dd>1</dd>")
    assert.include(done.text, "<dt>Logs and backups</dt>")
    const { id } = await manage("POST", "/organizations/erased/erasures", { user_id: "u-1" })
    assert.deepInclude(await manage("GET", `/organizations/erased/erasures/${id}`), { id, state: "done", profiles: 0 })
    assert.include((await admin.get(`${at}/${id}`)).text, "No data found for this person")
    assert.strictEqual((await admin.get(`${at}/999999`)).status, 404)
    assert.strictEqual((await editor.get(`${at}/${id}`)).status, 403)
    const after = await story("erased", "user_id=u-1")
    assert.deepStrictEqual([after.profiles, after.decisions], [[], []])
    assert.strictEqual((await story("erased", "tracking_id=order-1001")).decisions[0].user_id, null)
    const { entries } = await manage("GET", "/organizations/erased/audit")
    const erasures = entries.filter(({ action }: Json) => action === "person erased")
    assert.strictEqual(erasures.length, 2)
    assert.notInclude(JSON.stringify(erasures), "u-1")
    assert.include((await admin.post(at, { user_id: "u-1" })).text, "No data found for this person")
  })
})
