import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { sandboxOf } from "../../../src/domain/Sandbox.ts"
import { Erasures } from "../../../src/people/Erasures.ts"
import { Intake } from "../../../src/intake/Intake.ts"
import { assertProblem, type Json } from "../../api/harness.ts"
import { adminToken } from "../../support/service.ts"
import { allLeft, rowsOf, suiteOnSandbox, type Tested } from "./support.ts"

suiteOnSandbox("A test key", (bench) => {
  const drain = () => bench.run(Effect.flatMap(Intake, ({ drain }) => drain))
  const message = (email: string, more: Json = {}) => ({ template_id: "t", email, fields: { name: "Ada" }, ...more })

  /** Delivers with the test key and processes the sink's reports. */
  const deliver = async (org: Tested, body: Json) => {
    const answer = await org.test.post("deliver", body)
    assert.strictEqual(answer.status, 200, answer.text)
    await allLeft(bench, sandboxOf(org.slug))
    await drain()
    return answer.headers.get("parlance-delivery-id")!
  }

  it("starts with plt_, is listed as a test key, and is refused as a live key", async () => {
    const org = await bench.organization("kinds")
    assert.match(org.live.key, /^plk_/)
    assert.match(org.test.key, /^plt_[a-z0-9]{16}_[0-9A-Za-z]{46}$/)
    const { json } = await org.manage("GET", "/keys")
    assert.deepStrictEqual(json.keys.map(({ kind }: Json) => kind).sort(), ["live", "test"])
    const disguised = await bench.service.generate("kinds", org.test.key.replace("plt_", "plk_"), { template_id: "t" })
    assert.strictEqual(disguised.status, 401)
    const faulty = await org.manage("POST", "/keys", { name: "x", kind: "pretend" })
    assertProblem(faulty, 400)
  })

  it("receives the same answers as a live key from every endpoint", async () => {
    const org = await bench.organization("answers", { template: { sticky_hours: 24 } })
    const asks: ReadonlyArray<readonly [string, Json]> = [
      ["generate", { template_id: "t", user_id: "ada", tracking_id: "x", fields: { name: "Ada" } }],
      ["generate", { template_id: "none" }],
      ["generate", { template_id: 5, fields: "x", attrs: { a: {} } }],
      ["batch-generate", { requests: [{ template_id: "t", copy_id: "b", tracking_id: "y" }], trace: true }],
      ["batch-generate", {
        requests: [{ template_id: "t", copy_id: "c", tracking_id: "z" }, { template_id: "no", tracking_id: "z" }],
      }],
      ["batch-generate", { requests: [] }],
      ["deliver", { template_id: "t", email: "nobody" }],
      ["deliver", { template_id: "t", email: "ada@example.com", copy_id: "a", fields: { name: "Ada" } }],
      ["deliver", { template_id: "none", email: "ada@example.com" }],
      ["webhook/events", [{ event: "clik", tracking_id: "x" }, { event: "open", event_id: "1", tracking_id: "x" }]],
      ["webhook/events", [{ event: "open", event_id: "1", tracking_id: "x" }]],
      ["webhook/events", [{ event: "clik", tracking_id: "x" }]],
    ]
    const told = async ({ post }: Tested["live"]) => {
      const answers: Array<unknown> = []
      for (const [path, body] of asks) {
        const { json, status } = await post(path, body)
        // The variant of a first choice is drawn.
        const shown = JSON.stringify(json).replaceAll(/"(a|b)( for|")/g, '"_$2').replaceAll(
          /example\/[ab]/g,
          "example/_",
        )
          .replaceAll(/\/u\/[\w-]+/g, "/u/_").replaceAll(/[0-9.:-]{8,}(Z|(?=,|}))/g, "_")
        answers.push([path, status, shown])
      }
      return answers
    }
    assert.deepStrictEqual(await told(org.test), await told(org.live))
    const delays = [
      await org.test.get("delay?delay_id=a&user_id=ada"),
      await org.live.get("delay?delay_id=a&user_id=ada"),
    ]
    assert.deepStrictEqual(delays.map(({ status }) => status), [200, 200])
    const seconds = delays.map(({ json }) => Date.parse(Object.values<Json>(json)[0].delay_time))
    assert.isAtMost(Math.abs(seconds[0]! - seconds[1]!), 60_000, "one question within an hour has one answer")
  })

  it("decides with the probabilities and holdout side of the live model", async () => {
    const org = await bench.organization("model", { template: { holdout: { share: 0.5, content: "even" } } })
    const asked = (tracking_id: string, user_id: string) => ({
      requests: [{ template_id: "t", tracking_id }],
      user_id,
      trace: true,
    })
    const sides = new Set<string>()
    for (const user of ["u1", "u2", "u3", "u4", "u5", "u6"]) {
      const [live, test] = [
        await org.live.post("batch-generate", asked(`live-${user}`, user)),
        await org.test.post("batch-generate", asked(`test-${user}`, user)),
      ].map(({ json }) => json.t.trace)
      const probabilities = ({ candidates }: Json) => candidates.map(({ copy_id, weight }: Json) => [copy_id, weight])
      assert.deepStrictEqual(probabilities(test), probabilities(live))
      assert.strictEqual(test.mode, live.mode)
      sides.add(live.mode)
    }
    assert.strictEqual(sides.size, 2)
  })

  it("keeps decisions and sticky choices apart from those under the same ids of live keys", async () => {
    const org = await bench.organization("apart", { template: { sticky_hours: 24 } })
    const stick = (key: Tested["live"]) =>
      key.post("batch-generate", { requests: [{ template_id: "t", copy_id: "a", tracking_id: "same" }] })
    await stick(org.test)
    const live = await org.live.post("batch-generate", {
      requests: [{ template_id: "t", copy_id: "b", tracking_id: "same" }],
    })
    assert.strictEqual(live.json.t.copy.id, "b")
    const again = await org.test.post("generate", { template_id: "t", tracking_id: "same" })
    assert.strictEqual(again.json.copy.id, "a", "a retry of the test decision")
    const { json } = await org.manage("GET", "/templates/t/decisions")
    assert.deepStrictEqual(json.decisions.map(({ copy_id }: Json) => copy_id), ["b"])
  })

  it("delivers into the sink with any connection of the organization, and sees only its own deliveries", async () => {
    for (const connection of [true, false]) {
      const org = await bench.organization(`sink-${connection}`, { connection, template: { list_unsubscribe: true } })
      const arrived = bench.receiver.arrivals.length
      const live = await org.live.post("deliver", message("live@example.com"))
      assert.strictEqual(live.status, connection ? 200 : 422)
      const id = await deliver(org, message("ada@example.com", { copy_id: "a" }))
      await allLeft(bench, org.slug)
      assert.strictEqual(bench.receiver.arrivals.length, arrived + (connection ? 1 : 0))
      const own = await org.test.get("deliveries")
      assert.deepStrictEqual(own.json.deliveries.map((one: Json) => [one.id, one.state]), [[id, "sent"]])
      assert.lengthOf((await org.live.get("deliveries")).json.deliveries, connection ? 1 : 0)
      const { json: { messages } } = await org.manage("GET", "/sandbox/messages")
      assert.lengthOf(messages, 1)
      assert.deepInclude(messages[0], { id, test: true, email: "ada@example.com", subject: "a for Ada", fault: null })
      const { json } = await org.manage("GET", `/sandbox/messages/${id}`)
      assert.include(json.html, "Hello Ada")
      assert.include(json.text, "Hello Ada")
      assert.strictEqual(json.links[0], "https://shop.example/a")
      const headers = Object.fromEntries(json.headers.map(({ name, value }: Json) => [name.toLowerCase(), value]))
      assert.deepInclude(headers, { "to": "ada@example.com", "subject": "a for Ada", "x-tracking-id": id })
      assert.include(headers["list-unsubscribe"], "/u/")
      assertProblem(await org.manage("GET", "/sandbox/messages/none"), 404)
      assert.deepStrictEqual((await org.manage("DELETE", "/sandbox/messages")).json, { removed: 1 })
    }
  })

  it("stores variables that make no e-mail with the reason", async () => {
    const org = await bench.organization("unfit", { template: { variants: [{ id: "a", vars: { headline: "Hi" } }] } })
    const id = await deliver(org, message("ada@example.com"))
    const { json } = await org.manage("GET", `/sandbox/messages/${id}`)
    assert.include(json.fault, "no subject")
    assert.deepStrictEqual([json.vars, json.headers, json.html], [{ headline: "Hi" }, [], null])
  })

  it("has people at magic addresses react, within the sandbox alone", async () => {
    const org = await bench.organization("magic")
    const expected: Readonly<Record<string, ReadonlyArray<string>>> = {
      "delivered@sandbox.test": ["delivered", "sent"],
      "Bounced+ann@Sandbox.test": ["bounce", "sent"],
      "soft-bounced@sandbox.test": ["sent", "soft_bounce"],
      "complained@sandbox.test": ["delivered", "sent", "spam"],
      "opened+1@sandbox.test": ["delivered", "open", "sent"],
      "clicked@sandbox.test": ["click", "delivered", "open", "sent"],
      "unsubscribed@sandbox.test": ["delivered", "open", "sent", "unsubscribe"],
      "ada@example.com": ["sent"],
    }
    for (const [email, events] of Object.entries(expected)) {
      const id = await deliver(org, message(email))
      const { json } = await org.manage("GET", `/stories?tracking_id=${id}`, undefined, "magic~test")
      assert.isTrue(json.test)
      const [decision] = json.decisions
      assert.deepStrictEqual(decision.events.map(({ event }: Json) => event).sort(), events, email)
      const click = decision.events.find(({ event }: Json) => event === "click")
      if (click !== undefined) {
        assert.match(click.link, /^https:\/\/shop\.example\/[ab]$/)
        assert.strictEqual(click.effect, "counted", "no link scanner's")
      }
    }
    const suppressed = ["bounced+ann@sandbox.test", "complained@sandbox.test", "unsubscribed@sandbox.test"]
    const { json } = await org.manage("GET", "/suppressions", undefined, "magic~test")
    assert.deepStrictEqual(json.suppressions.map(({ address }: Json) => address).sort(), suppressed)
    assert.deepStrictEqual((await org.manage("GET", "/suppressions")).json.suppressions, [])
    for (const email of suppressed) {
      assertProblem(await org.test.post("deliver", message(email)), 422, "recipient-suppressed")
      assert.strictEqual((await org.live.post("deliver", message(email))).status, 200)
    }
    const inbox = await org.manage("GET", "/webhooks/events/inbox?all=true", undefined, "magic~test")
    assert.lengthOf(inbox.json.inbox, 7)
  })

  it("has its own links, whose clicks and unsubscribes stay in the sandbox", async () => {
    const org = await bench.organization("links", { template: { tracking: { opens: true, clicks: true } } })
    const id = await deliver(org, message("ada@example.com", { copy_id: "a" }))
    const { json } = await org.manage("GET", `/sandbox/messages/${id}`)
    const [click, stop] = json.links.map((link: string) => new URL(link))
    const clicked = await bench.service.request(click.pathname, {
      redirect: "manual",
      headers: { "user-agent": "Firefox" },
    })
    assert.strictEqual(clicked.headers.get("location"), "https://shop.example/a")
    const stopped = await bench.service.request(stop.pathname, { method: "POST" })
    assert.strictEqual(stopped.status, 200)
    // The click is stored after its answer, in a group of its own.
    await bench.service.untilStored("click and unsubscribe are stored", ["events"], async () => {
      await drain()
      const { json } = await org.manage("GET", `/stories?tracking_id=${id}`, undefined, "links~test")
      const events = json.decisions[0].events.map(({ event }: Json) => event)
      return events.includes("click") && events.includes("unsubscribe")
    })
    assertProblem(await org.test.post("deliver", message("ada@example.com")), 422, "recipient-suppressed")
    assert.strictEqual((await org.live.post("deliver", message("ada@example.com"))).status, 200)
  })

  it("makes live decisions and test events for an organization whose connection is a sink", async () => {
    const org = await bench.organization("first", { connection: false })
    const put = await org.manage("PUT", "/connections/main", {
      platform: "sink",
      settings: { from: "news@shop.example", from_name: "Shop" },
    })
    assert.strictEqual(put.status, 200, put.text)
    const tested = await org.manage("POST", "/connections/main/test")
    assert.isTrue(tested.json.ok, tested.text)
    assert.strictEqual((await org.live.post("deliver", message("bounced@sandbox.test"))).status, 200)
    await allLeft(bench, org.slug)
    await drain()
    const { json: { messages } } = await org.manage("GET", "/sandbox/messages")
    assert.deepInclude(messages[0], { test: false, from: "Shop <news@shop.example>" })
    assert.deepStrictEqual((await org.manage("GET", "/suppressions")).json.suppressions, [])
    const { json, text } = await org.manage("GET", "/stories?email=bounced@sandbox.test", undefined, "first~test")
    assert.isDefined(json.loose, text)
    assert.deepStrictEqual(json.loose.map(({ event }: Json) => event), ["bounce"])
  })

  it("follows the settings of the organization", async () => {
    const org = await bench.organization("settings")
    await org.manage("PATCH", "", { suppression: false, conversion_events: ["order_paid"], retention_days: 333 })
    const rows = await bench.run(Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      return yield* sql`
        SELECT o.suppression, o.conversion_events, o.retention_days FROM organizations o WHERE o.slug = 'settings~test'`
    }))
    assert.deepStrictEqual(
      rows,
      [{ suppression: false, conversionEvents: ["order_paid"], retentionDays: 333 }] as never,
    )
    const paid = await org.test.post("webhook/events", [{ event: "order_paid", tracking_id: "x" }])
    assert.strictEqual(paid.json.items[0].status, "accepted", paid.text)
  })

  it("has a sandbox that is absent from lists and has no settings of its own", async () => {
    const org = await bench.organization("hidden")
    const all = await bench.service.manage("GET", "/organizations")
    assert.notInclude(JSON.stringify(all.body), "~")
    for (
      const [method, path, body] of [
        ["GET", ""],
        ["PATCH", "", { name: "x" }],
        ["POST", "/keys", { name: "x" }],
        ["GET", "/keys"],
        ["POST", "/templates", { name: "x" }],
        ["PUT", "/connections/main", { platform: "sink" }],
        ["GET", "/templates/t/results"],
        ["POST", "/rebuild", {}],
        ["POST", "/erasures", { user_id: "x" }],
      ] as ReadonlyArray<readonly [string, string, unknown?]>
    ) {
      assertProblem(await org.manage(method, path, body, "hidden~test"), 403, undefined, `${method} ${path}`)
    }
    for (const slug of ["hidden~test", "hidden%7Etest"]) {
      const response = await bench.service.request(`/console/api/organizations/${slug}/keys`, {
        method: "POST",
        headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
        body: JSON.stringify({ name: "x" }),
      })
      assert.strictEqual(response.status, 403, slug)
      assert.strictEqual((await bench.service.generate(slug, org.test.key, { template_id: "t" })).status, 403)
      assert.strictEqual((await bench.service.generate(slug, org.live.key, { template_id: "t" })).status, 403)
    }
    assertProblem(await org.manage("POST", "", { slug: "x~test", name: "x" }, ""), 404)
  })

  it("has a sandbox from which erased people are removed too", async () => {
    const org = await bench.organization("erased")
    await deliver(org, message("opened+ann@sandbox.test"))
    await org.test.post("generate", { template_id: "t", user_id: "opened+ann@sandbox.test" })
    await org.test.post("webhook/events", [{ event: "unsubscribe", user_id: "opened+ann@sandbox.test" }])
    await drain()
    const erased = await org.manage("POST", "/erasures", { email: "Opened+Ann@sandbox.test" })
    assert.strictEqual(erased.json.state, "done", erased.text)
    await bench.run(Effect.flatMap(Erasures, ({ drain }) => drain))
    for (const slug of [org.slug, sandboxOf(org.slug)]) {
      const { inbox, ...rows } = await bench.run(rowsOf(slug, ["audit_entries"]))
      assert.notInclude(JSON.stringify(rows), "opened+ann")
      const bodies = await bench.run(Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        return yield* sql<{ text: string }>`
          SELECT encode(i.body, 'escape') AS text FROM inbox i WHERE i.org_slug = ${slug}`
      }))
      assert.notInclude(JSON.stringify([inbox?.length, bodies]), "opened+ann")
    }
  })
})
