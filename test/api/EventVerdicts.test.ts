import { assert, it } from "@effect/vitest"
import { makeOrganization } from "../support/service.ts"
import { suiteOnServer } from "../learning/support.ts"
import { type Answer, assertProblem, type Json, parallel, pointersOf, read } from "./harness.ts"

suiteOnServer("Verdicts on custom events", (server) => {
  const organization = async (slug: string) => {
    const { service } = server()
    const key = await makeOrganization(service, slug, ["generate", "events"])
    const post = async (body: unknown, query = "", headers: Record<string, string> = {}): Promise<Answer> =>
      read(
        await service.request(`/api/webhook/events/${slug}${query}`, {
          method: "POST",
          headers: { "x-api-key": key, "content-type": "application/json", ...headers },
          body: typeof body === "string" ? body : JSON.stringify(body),
        }),
      )
    const manage = (method: string, path: string, body?: unknown) =>
      service.manage(method, `/organizations/${slug}${path}`, body)
    const inbox = async (): Promise<ReadonlyArray<Json>> =>
      (await manage("GET", "/webhooks/events/inbox?all=true&limit=100")).body.inbox
    const taken = () =>
      service.untilStored(
        "the bodies have been looked at",
        ["inbox"],
        async () => (await inbox()).every(({ status }) => status !== "pending"),
      )
    return { slug, key, post, manage, inbox, taken }
  }

  const statuses = (answer: Answer): ReadonlyArray<string> => {
    assert.strictEqual(answer.status, 200, answer.text)
    assert.deepStrictEqual(answer.json.items.map(({ index }: Json) => index), [...answer.json.items.keys()])
    return answer.json.items.map(({ status }: Json) => status)
  }

  it("compares the currency of a value with the organization's currency", async () => {
    const org = await organization("currency")
    const sale = { event: "conversion", tracking_id: "t", value: 5, currency: "USD" }
    const reasons = async () =>
      (await org.post([sale, { ...sale, currency: "EUR" }], "?validate=true")).json.items.map(({ reason }: Json) =>
        reason
      )
    assert.deepStrictEqual(await reasons(), [undefined, undefined])
    await org.manage("PATCH", "", { currency: "EUR" })
    const [first, second] = await reasons()
    assert.include(first, "in USD, and revenue of this organization is in EUR")
    assert.isUndefined(second)
  })

  it("returns a verdict for each item, with a pointer and a reason", async () => {
    const org = await organization("each")
    const click = { event: "click", tracking_id: "t", event_id: "c-1" }
    const answer = await org.post({
      events: [
        click,
        click,
        { event: "clik", tracking_id: "t", event_id: "c-2" },
        { event: "deferred", tracking_id: "t" },
        { event: "open" },
        null,
        { data: { event_name: "opend", tracking_id: "t" } },
        { tracking_id: "t" },
      ],
    })
    assert.strictEqual(answer.json.received, 8)
    assert.deepStrictEqual(statuses(answer), [
      "accepted",
      "duplicate",
      "rejected",
      "ignored",
      "rejected",
      "rejected",
      "rejected",
      "rejected",
    ])
    const { items } = answer.json
    assert.deepStrictEqual(items.slice(2).map(({ pointer }: Json) => pointer), [
      "/events/2/event",
      "/events/3",
      "/events/4/tracking_id",
      "/events/5",
      "/events/6/data/event_name",
      "/events/7/event",
    ])
    assert.include(items[2].reason, "did you mean click?")
    assert.include(items[6].reason, "did you mean open")
    assert.isTrue(items.slice(1).every(({ reason }: Json) => reason.length > 0))
    assert.isUndefined(items[0].reason)
    await org.taken()
    const [body] = await org.inbox()
    assert.deepInclude(body, { status: "partial", events: 1, duplicates: 1, ignored: 1 })
    assert.strictEqual(body.faults.length, 5)
  })

  it("stores an event without its unreadable member, and reports the member in verdict, header and inbox", async () => {
    const org = await organization("incomplete")
    const sale = { event: "conversion", tracking_id: "t", event_id: "s-1", value: "1,234" }
    for (const query of ["?validate=true", ""]) {
      const answer = await org.post([sale, { event: "open", tracking_id: "t", automated: "maybe" }], query)
      assert.deepStrictEqual(statuses(answer), ["incomplete", "incomplete"])
      assert.deepStrictEqual(answer.json.items.map(({ pointer }: Json) => pointer), ["/0/value", "/1/automated"])
      assert.include(answer.json.items[0].reason, "may mean 1.234 or 1234")
      assert.strictEqual(
        answer.headers.get("parlance-warnings"),
        'the member "/0/value" could not be read, see the verdict; the member "/1/automated" could not be read, ' +
          "see the verdict",
      )
    }
    await org.taken()
    const [body] = await org.inbox()
    assert.deepInclude(body, { status: "partial", events: 2 })
    assert.deepStrictEqual(body.faults.map(({ pointer }: Json) => pointer), ["/0/value", "/1/automated"])
  })

  it("ignores events outside the counted time, in the answer, the inbox and the event list", async () => {
    const org = await organization("untimely")
    const template = { id: "t", name: "T", variants: [{ id: "a", vars: { s: "a" } }] }
    assert.strictEqual((await org.manage("POST", "/templates", template)).status, 201)
    const decided = await server().service.request(`/api/generate/${org.slug}`, {
      method: "POST",
      headers: { "x-api-key": org.key, "content-type": "application/json" },
      body: JSON.stringify({ template_id: "t", tracking_id: "early" }),
    })
    assert.strictEqual(decided.status, 200)
    const before = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString()
    const events = [
      { event: "click", tracking_id: "early", event_id: "e-1", occurred_at: before(3) },
      { event: "click", tracking_id: "early", event_id: "e-2", occurred_at: before(1) },
      { event: "unsubscribe", tracking_id: "early", event_id: "e-3", occurred_at: before(3), email: "ann@example.com" },
    ]
    for (const query of ["?validate=true", ""]) {
      const answer = await org.post(events, query)
      assert.deepStrictEqual(statuses(answer), ["ignored", "accepted", "accepted"])
      assert.match(answer.json.items[0].reason, /happened at \S+, more than 2 hours before its decision at \S+/)
    }
    await org.taken()
    const [body] = await org.inbox()
    assert.deepInclude(body, { status: "done", events: 2, ignored: 1 })
    assert.match(body.unused[0].reason, /click "e-1": It happened at/)
    const listed = (await org.manage("GET", "/events?limit=10")).body.events
    assert.deepStrictEqual(
      listed.map(({ event_id, status }: Json) => [event_id, status]).sort(),
      [["e-1", "ignored"], ["e-2", "attributed"], ["e-3", "attributed"]],
    )
  })

  it("rejects a body that contains only faulty items with all faults, and stores none of it", async () => {
    const org = await organization("faulty")
    const refused = await org.post({ event: "clik", tracking_id: "t" })
    assertProblem(refused, 400)
    assert.deepStrictEqual(pointersOf(refused), ["/event"])
    assert.include(refused.json.errors[0].detail, "did you mean click?")
    const two = await org.post([{ event: "zzzzzzzz", tracking_id: "t" }, 5])
    assertProblem(two, 400)
    assert.deepStrictEqual(pointersOf(two), ["/0/event", "/1"])
    assert.notInclude(two.text, "did you mean")
    assert.deepStrictEqual(statuses(await org.post([])), [])
    assert.strictEqual((await org.inbox()).length, 1)
  })

  it("reports ignored members and parameters without effect in Parlance-Warnings", async () => {
    const org = await organization("unread")
    const warnings = async (body: unknown, query = "", headers = {}) => {
      const answer = await org.post(body, query, headers)
      assert.strictEqual(answer.status, 200, answer.text)
      return answer.headers.get("parlance-warnings")
    }
    const click = { event: "click", tracking_id: "t", event_id: "1", is_bot: false, currency: "EUR" }
    assert.isNull(await warnings({ ...click, properties: { any: 1 }, data: { any: 1 } }))
    const member = (pointer: string) => `the member "${pointer}" is unknown and has no effect`
    assert.strictEqual(
      await warnings({ ...click, trackingID: "u", "a/b": 1 }),
      `${member("/trackingID")}; ${member("/a~1b")}`,
    )
    const first = [click, { ...click, occurredAt: 1 }, { ...click, occurredAt: 2, user: "u" }]
    assert.strictEqual(await warnings(first), `${member("/1/occurredAt")}; ${member("/2/user")}`)
    assert.strictEqual(
      await warnings({ events: first.slice(1), validate: true }, "?validate=true&dry=1"),
      `the parameter "dry" is unknown and has no effect; ${member("/validate")}; ${member("/events/0/occurredAt")}; ${
        member("/events/1/user")
      }`,
    )
    const event = { specversion: "1.0", id: "1", source: "/s", type: "click", data: { tracking_id: "t" }, more: 1 }
    assert.isNull(await warnings(event, "", { "content-type": "application/cloudevents+json" }))
    const wide = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`m${n}`, n]))
    assert.lengthOf((await warnings({ ...click, ...wide }))!.split("; "), 10)
    const large = Array.from({ length: 1_500 }, (_, n) => ({ ...click, event_id: `l${n}`, note: "x".repeat(40) }))
    assert.strictEqual(await warnings(large, "?validate=true"), member("/0/note"))
  })

  it("stores nothing if a parameter may have requested verdicts only", async () => {
    const org = await organization("separators")
    const click = { event: "click", tracking_id: "t", event_id: "1" }
    for (const query of ["?source=a&amp;validate=true", "?validate=true&validate=false", "?validate="]) {
      const refused = await org.post(click, query)
      assertProblem(refused, 400, "invalid-request", query)
      assert.deepStrictEqual(pointersOf(refused), [query.includes("amp") ? "amp;validate" : "validate"])
    }
    assert.deepStrictEqual(await org.inbox(), [])
    const noJson = await org.post("{")
    assert.isTrue(noJson.json.detail.startsWith("The body is not valid JSON"), noJson.text)
  })

  it("marks an event as a duplicate of one that is stored, waiting, or in the same request", async () => {
    const org = await organization("duplicates")
    const event = (id: string) => ({ event: "click", tracking_id: "t", event_id: id })
    assert.deepStrictEqual(statuses(await org.post([event("a"), event("b")])), ["accepted", "accepted"])
    assert.deepStrictEqual(statuses(await org.post([event("b"), event("c")])), ["duplicate", "accepted"])
    await org.taken()
    assert.deepStrictEqual(statuses(await org.post([event("c"), event("d")])), ["duplicate", "accepted"])
    const same = await parallel(8, () => org.post(event("e")))
    assert.deepStrictEqual(same.flatMap(statuses).toSorted(), ["accepted", ...Array(7).fill("duplicate")])
    // Duplicates are found by content in any order of members, and by the header of a single event.
    assert.deepStrictEqual(statuses(await org.post({ event: "open", tracking_id: "t" })), ["accepted"])
    assert.deepStrictEqual(statuses(await org.post({ tracking_id: "t", event: "open" })), ["duplicate"])
    const open = { event: "open", tracking_id: "u" }
    assert.deepStrictEqual(statuses(await org.post(open, "", { "webhook-id": "w" })), ["accepted"])
    assert.deepStrictEqual(statuses(await org.post({ ...open, event: "click" }, "", { "webhook-id": "w" })), [
      "duplicate",
    ])
    const other = await organization("duplicates-other")
    assert.deepStrictEqual(statuses(await other.post(event("a"))), ["accepted"])
    await org.taken()
    const bodies = await org.inbox()
    assert.strictEqual(bodies.reduce((sum, { events }) => sum + events, 0), 7)
  })

  it("returns the same verdicts for validate=true without storing", async () => {
    const org = await organization("validate")
    const body = [{ event: "click", tracking_id: "t", event_id: "1" }, { event: "clik", tracking_id: "t" }]
    const tried = await org.post(body, "?validate=true")
    assert.deepStrictEqual(statuses(tried), ["accepted", "rejected"])
    assert.deepStrictEqual(await org.inbox(), [])
    const sent = await org.post(body)
    assert.deepStrictEqual(sent.json, tried.json)
    assert.deepStrictEqual(statuses(await org.post(body, "?validate=true")), ["duplicate", "rejected"])
    assertProblem(await org.post({ event: "clik", tracking_id: "t" }, "?validate=true"), 400)
    assert.deepStrictEqual(pointersOf(await org.post(body, "?validate=yes")), ["validate"])
    assert.strictEqual((await org.inbox()).length, 1)
  })

  it("accepts a name declared by the organization, a template, the settings of the source or a mapping", async () => {
    const org = await organization("declared")
    const named = (name: string) => ({ event: name, tracking_id: "t", event_id: crypto.randomUUID() })
    const accepts = async (name: string) => (await org.post(named(name))).status === 200
    assert.isFalse(await accepts("trial_started"))
    await org.manage("PATCH", "", { conversion_events: ["Trial_Started"] })
    assert.isTrue(await accepts("trial_started"))
    assert.isTrue(await accepts("com.shop.TRIAL_STARTED.v2"))
    assert.include((await org.post(named("trial_start"))).text, "did you mean trial_started?")
    const { status } = await org.manage("POST", "/templates", {
      id: "t",
      name: "T",
      conversion_events: ["signed_up"],
      variants: [{ id: "a", vars: { s: "a" } }],
    })
    assert.strictEqual(status, 201)
    assert.isTrue(await accepts("signed_up"))
    await org.manage("PATCH", "/templates/t", { conversion_events: [] })
    assert.isFalse(await accepts("signed_up"))
    await org.manage("PUT", "/webhooks/events", { settings: { conversions: ["basket"] } })
    assert.isTrue(await accepts("basket"))
    const event = { from: ["$.event"], table: { Gone: "unsubscribe", Ping: "ignore" } }
    const mapping = { event, tracking_id: "$.tracking_id", event_id: "$.event_id" }
    await org.manage("PUT", "/webhooks/events", { settings: { mapping } })
    assert.isFalse(await accepts("basket"))
    assert.deepStrictEqual(
      statuses(
        await org.post([named("Gone"), named("trial_started"), named("clicked"), named("Ping"), named("clikc")]),
      ),
      ["accepted", "accepted", "accepted", "ignored", "rejected"],
    )
    await org.manage("PUT", "/webhooks/events", { settings: {} })
    await org.manage("PATCH", "", { conversion_events: ["*"] })
    assert.isTrue(await accepts("clik"))
    const wrong = await org.manage("PATCH", "", { conversion_events: ["ok", "", " x"] })
    assert.strictEqual(wrong.status, 400)
    assert.strictEqual(
      (await org.manage("PATCH", "/templates/t", { conversion_events: ["*"] })).body.errors[0].pointer,
      "/conversion_events/0",
    )
  })

  it("judges 10,000 events of one body in an answer of less than a megabyte", async () => {
    const org = await organization("many")
    const name = (n: number) => `${"n".repeat(60)}${n}`
    const events = Array.from({ length: 10_000 }, (_, n) => ({
      event: n < 5_000 ? "click" : n < 9_999 ? name(n) : "open",
      tracking_id: "t",
      event_id: `${n}`,
      x: "x".repeat(200),
    }))
    const answer = await org.post(events)
    assert.deepStrictEqual(
      statuses(answer).reduce<Record<string, number>>((counts, status) => {
        counts[status] = (counts[status] ?? 0) + 1
        return counts
      }, {}),
      { accepted: 5_001, rejected: 4_999 },
    )
    assert.isBelow(answer.text.length, 1_000_000)
    assert.isString(answer.json.items[5_000].reason)
    assert.strictEqual(answer.json.items[9_998].pointer, "/9998/event")
    await org.taken()
    assert.deepInclude((await org.inbox())[0], { events: 5_001, status: "partial" })
    const again = await org.post(events.slice(0, 5_000))
    assert.isTrue(statuses(again).every((status) => status === "duplicate"))
    const faulty = await org.post(events.slice(5_000, 9_999))
    assertProblem(faulty, 400)
    assert.isBelow(faulty.text.length, 1_000_000)
    assert.match(faulty.json.errors.at(-1).detail, /^has \d+ more items with faults$/)
  }, 60_000)
})
