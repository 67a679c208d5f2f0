import { assert, it } from "@effect/vitest"
import { adminToken } from "../support/service.ts"
import { suiteOnSending } from "./deliverySuite.ts"
import { assertProblem, type Json, pointersOf, read } from "./harness.ts"

suiteOnSending("The suppression list over HTTP", (bench) => {
  const message = { template_id: "t", email: "ada@example.com", fields: { name: "Ada" } }

  const event = async (slug: string, key: string, body: unknown) => {
    const answer = await read(
      await bench.service.request(`/api/webhook/events/${slug}`, {
        method: "POST",
        headers: { "x-api-key": key, "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    )
    assert.strictEqual(answer.status, 200, answer.text)
  }

  const csv = async (slug: string, body: string) =>
    read(
      await bench.service.request(`/console/api/organizations/${slug}/suppressions/import`, {
        method: "POST",
        headers: { authorization: `Bearer ${adminToken}`, "content-type": "text/csv" },
        body,
      }),
    )

  const lookup = (email: string) => `/suppressions/lookup?email=${encodeURIComponent(email)}`

  it("answers Deliver to an address that unsubscribed, bounced or complained with reason and date", async () => {
    const org = await bench.sender("refused", { scopes: ["deliver", "events"] })
    const reasons = { unsubscribe: "unsubscribe", bounce: "hard_bounce", spam: "complaint" }
    for (const [name, reason] of Object.entries(reasons)) {
      const email = `${name}@example.com`
      assert.strictEqual((await org.deliver({ ...message, email })).status, 200)
      const [delivery] = await org.deliveries(`?email=${email}`)
      const timestamp = new Date(Date.now() - 60_000).toISOString()
      await event("refused", org.key, { event: name, tracking_id: delivery.id, timestamp })
      await bench.service.untilStored(
        "it is on the list",
        ["suppressions"],
        async () => (await org.manage("GET", lookup(email))).json.suppressed,
      )
      const refused = await org.deliver({ ...message, email: email.toUpperCase() })
      assertProblem(refused, 422, "recipient-suppressed")
      assert.deepInclude(refused.json, { reason, since: timestamp, suppressed_at: timestamp })
      const after = (await org.deliveries(`?email=${email}`))[0]
      assert.strictEqual(after.state, "cancelled")
      assert.include(after.reason, `(${reason})`)
    }
    assert.lengthOf(await org.deliveries(), 3, "nothing was queued after the refusals")
  })

  it("is added to, looked up, listed page by page and removed from, which the audit log shows", async () => {
    const org = await bench.sender("managed")
    const added = await org.manage("POST", "/suppressions", { email: " Ada@Example.com " })
    assert.strictEqual(added.status, 201, added.text)
    assert.deepInclude(added.json.suppressions[0], { email: "ada@example.com", reason: "manual", source: "api" })
    for (const reason of ["complaint", "unsubscribe"]) {
      await org.manage("POST", "/suppressions", { email: "ada@example.com", reason })
    }
    const seen: Array<Json> = []
    let next: string | null = ""
    while (next !== null) {
      const { json } = await org.manage("GET", `/suppressions?limit=2${next === "" ? "" : `&cursor=${next}`}`)
      seen.push(...json.suppressions)
      next = json.next
    }
    assert.deepStrictEqual(seen.map(({ reason }) => reason), ["unsubscribe", "complaint", "manual"])
    const complaints = await org.manage("GET", "/suppressions?reason=complaint")
    assert.lengthOf(complaints.json.suppressions, 1)

    const at = "/suppressions?email=ADA%40example.com"
    const looked = lookup("ADA@example.com")
    assert.strictEqual((await org.manage("GET", looked)).json.suppressions.length, 3)
    assert.strictEqual((await org.manage("DELETE", `${at}&reason=manual`)).status, 204)
    assertProblem(await org.manage("DELETE", `${at}&reason=manual`), 404, "suppression-not-found")
    assert.strictEqual((await org.manage("DELETE", at)).status, 204)
    assert.deepStrictEqual((await org.manage("GET", looked)).json, { suppressed: false, suppressions: [] })
    assert.strictEqual((await org.deliver(message)).status, 200)

    const { json: { entries } } = await org.manage("GET", "/audit")
    const actions = entries.map(({ action, subject }: Json) => `${action}: ${subject}`)
    assert.include(actions, "suppression removed: ADA@example.com")
    assert.lengthOf(actions.filter((text: string) => text === "address suppressed: ada@example.com"), 2)

    const faulty = await org.manage("POST", "/suppressions", { email: "no address", reason: "because" })
    assertProblem(faulty, 400, "invalid-request")
    assert.sameMembers(pointersOf(faulty) as Array<string>, ["/email", "/reason"])
    assertProblem(await org.manage("GET", "/suppressions?reason=x&limit=0&cursor=y"), 400, "invalid-request")
  })

  it("looks up and removes valid addresses only, and explains how to escape a +", async () => {
    const org = await bench.sender("lookup")
    await org.manage("POST", "/suppressions", { email: "ada+news@example.com" })
    assert.isTrue((await org.manage("GET", lookup("ada+news@example.com"))).json.suppressed)
    for (const query of ["", "?email=", "?email=ada", "?email=%00@example.com", "?email=ada+news@example.com"]) {
      for (const [method, path] of [["GET", "/suppressions/lookup"], ["DELETE", "/suppressions"]] as const) {
        const refused = await org.manage(method, `${path}${query}`)
        assertProblem(refused, 400, "invalid-request")
        assert.deepStrictEqual(pointersOf(refused), ["email"])
        assert.strictEqual(refused.text.includes("%2B"), query.includes("+"))
      }
    }
    const warned = await org.manage("GET", `${lookup("ada+news@example.com")}&adress=x`)
    assert.include(warned.headers.get("parlance-warnings"), '"adress"')
    assert.isTrue(warned.json.suppressed)
  })

  it("accepts the earlier member and paths of an address", async () => {
    const org = await bench.sender("earlier")
    const added = await org.manage("POST", "/suppressions", { address: "Ada@Example.com", reason: "complaint" })
    assert.strictEqual(added.status, 201, added.text)
    assert.isNull(added.headers.get("parlance-warnings"))
    const both = { email: "ada@example.com", address: "ada@example.com" }
    assert.deepInclude(added.json.suppressions[0], both)
    const named = await org.manage("POST", "/suppressions", { address: "bob@example.com", email: "cy@example.com" })
    assert.deepStrictEqual(named.json.suppressions.map(({ email }: Json) => email), ["cy@example.com"])
    assert.include(named.headers.get("parlance-warnings"), "/address")
    const at = "/suppressions/ADA%40example.com"
    assert.deepInclude((await org.manage("GET", at)).json.suppressions[0], { reason: "complaint", ...both })
    assert.strictEqual((await org.manage("DELETE", `${at}?reason=complaint`)).status, 204)
    assertProblem(await org.manage("DELETE", at), 404, "suppression-not-found")
    assert.deepStrictEqual((await org.manage("GET", at)).json, { suppressed: false, suppressions: [] })
  })

  it("appears in the history of a person", async () => {
    const org = await bench.sender("told", { scopes: ["events"] })
    await org.manage("POST", "/suppressions", { email: "ada@example.com", reason: "complaint" })
    const { json } = await org.manage("GET", "/stories?email=Ada@Example.com")
    assert.deepStrictEqual(json.suppressions.map(({ address, reason }: Json) => [address, reason]), [
      ["ada@example.com", "complaint"],
    ])
    assert.deepStrictEqual((await org.manage("GET", "/stories?email=bob@example.com")).json.suppressions, [])
    await event("told", org.key, [{ event: "bounce", email: "cat@example.com" }])
    await bench.service.untilStored("the event of a person is told", ["events"], async () => {
      const { json } = await org.manage("GET", "/stories?email=cat@example.com")
      return json.loose.length === 1 && json.loose[0].event === "bounce" && json.loose[0].value === null
    })
  })

  it("imports CSV atomically, and exports it", async () => {
    const org = await bench.sender("csv")
    const file = "\ufeffE-mail;Reason;suppressed_at\r\n" +
      "Ann@example.com;Unsubscribed;2026-01-02T03:04:05Z\r\n" +
      '"bob@example.com";;\r\n' +
      "ANN@example.com;unsubscribe;\r\n" +
      ";bounce;\r\n"
    const done = await csv("csv", file)
    assert.deepStrictEqual(done.json, { added: 2, present: 1, skipped: 1 }, done.text)
    assert.strictEqual((await org.deliver({ ...message, email: "ann@example.com" })).status, 422)

    const faulty = await csv("csv", "address,reason\nnew@example.com,\nno address,\nx@example.com,because\n")
    assertProblem(faulty, 400, "invalid-request")
    assert.deepStrictEqual(pointersOf(faulty), ["/line/3", "/line/4"])
    assert.isFalse((await org.manage("GET", lookup("new@example.com"))).json.suppressed)

    const answer = await bench.service.request("/console/api/organizations/csv/suppressions/export", {
      headers: { authorization: `Bearer ${adminToken}` },
    })
    assert.match(answer.headers.get("content-type") ?? "", /^text\/csv/)
    const lines = (await answer.text()).trim().split("\r\n")
    assert.strictEqual(lines[0], "address,reason,source,suppressed_at")
    assert.include(lines, "ann@example.com,unsubscribe,import,2026-01-02T03:04:05.000Z")
    assert.lengthOf(lines, 3)
    const again = await csv("csv", lines.join("\n"))
    assert.deepStrictEqual(again.json, { added: 0, present: 2, skipped: 0 })
  })
})
