import { assert, it } from "@effect/vitest"
import { assertProblem, type Json } from "./harness.ts"
import { braze, type Headers, seconds, segment, signStandard, whsec } from "./platformSenders.ts"
import { organizationOf, suiteOnPlatforms } from "./platformSuite.ts"

suiteOnPlatforms("Custom events of all shapes", (server) => {
  const organization = organizationOf(server)

  it("accepts custom events signed with Standard Webhooks without an API key", async () => {
    const org = await organization("standard")
    await org.decide("trk", "u")
    const body = JSON.stringify({ type: "mail.click.v1", data: { tracking_id: "trk" } })
    assertProblem(await org.post("events", body, signStandard(whsec("a"), body)), 401)
    await org.put("events", { secret: whsec("a") })
    await org.put("events", { secret: whsec("b") })
    for (const letter of ["a", "b", "b"]) {
      const answer = await org.post("events", body, signStandard(whsec(letter), body, `msg_${letter}`))
      assert.strictEqual(answer.status, 200, answer.text)
      assert.deepInclude(answer.json, { status: "ok", received: 1 })
    }
    assertProblem(await org.post("events", body, signStandard(whsec("c"), body)), 401)
    assertProblem(await org.post("events", `${body} `, signStandard(whsec("a"), body)), 401)
    assertProblem(await org.post("events", body, signStandard(whsec("a"), body, "m", Date.now() - 400_000)), 401)
    // If a request has an API key, its signature is ignored.
    assertProblem(
      await org.post("events", body, { ...signStandard(whsec("a"), body), "x-api-key": `${org.key}x` }),
      401,
    )
    assert.strictEqual(
      (await org.post("events", body, { ...signStandard(whsec("c"), body), "x-api-key": org.key })).status,
      200,
    )
    await org.put("events", { enabled: false })
    assertProblem(await org.post("events", body, signStandard(whsec("b"), body)), 401)
    await org.taken()
    assert.strictEqual((await org.outcomes()).click, 1)
    const listed = await org.events()
    assert.deepStrictEqual(listed.map(({ event_id }) => event_id).toSorted(), ["msg_1", "msg_a", "msg_b"])
  })

  it("accepts CloudEvents: structured, in batches, binary, and with a preceding OPTIONS request", async () => {
    const org = await organization("cloud")
    for (let n = 1; n <= 4; n++) await org.decide(`trk-${n}`, `u-${n}`)
    const event = (n: number) => ({
      specversion: "1.0",
      id: `ce-${n}`,
      source: "/shop",
      type: "com.shop.mail.click",
      time: new Date().toISOString(),
      data: { tracking_id: `trk-${n}` },
    })
    const auth = { authorization: `Bearer ${org.key}` }
    const structured = { ...auth, "content-type": "application/cloudevents+json; charset=utf-8" }
    const post = async (body: unknown, headers: Headers, received: number) => {
      const answer = await org.post("events", JSON.stringify(body), headers)
      assert.strictEqual(answer.status, 200, answer.text)
      assert.deepInclude(answer.json, { status: "ok", received })
      assert.strictEqual(answer.json.items.length, received)
    }
    await post(event(1), structured, 1)
    await post(event(1), structured, 1)
    await post([event(2), event(3)], { ...auth, "content-type": "application/cloudevents-batch+json" }, 2)
    const { data, ...attributes } = event(4)
    await post(
      data,
      { ...auth, ...Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`ce-${name}`, value])) },
      1,
    )
    await org.taken()
    assert.strictEqual((await org.outcomes()).click, 4)
    assert.deepInclude(await org.source("events"), { events: 4, duplicates: 1, not_understood: 0 })
    const { service } = server()
    const asked = await service.request("/api/webhook/events/cloud", {
      method: "OPTIONS",
      headers: { "webhook-request-origin": "eventemitter.example.com", "webhook-request-rate": "120" },
    })
    await asked.body?.cancel()
    assert.strictEqual(asked.status, 204)
    assert.strictEqual(asked.headers.get("webhook-allowed-origin"), "eventemitter.example.com")
    assert.strictEqual(asked.headers.get("webhook-allowed-rate"), "*")
  })

  it("reads custom events by the mapping that was set up, and tries one without keeping anything", async () => {
    const org = await organization("mapped")
    await org.decide("trk", "u")
    const mapping = {
      version: 1,
      items: "$.hits[*]",
      event: { from: ["$.kind"], table: { Read: "open", Gone: "unsubscribe" } },
      tracking_id: "$.ref",
      event_id: "$.uid",
      occurred_at: "$.at",
    }
    const at = new Date().toISOString()
    const sample = {
      hits: [{ kind: "Read", ref: "trk", uid: 1, at }, { kind: "Gone", ref: "trk", uid: 2, at }, { uid: 3, at }],
    }
    const tried = await org.manage("POST", "/webhooks/events/dry-run", { mapping, body: sample })
    assert.strictEqual(tried.status, 200, JSON.stringify(tried.body))
    assert.include(JSON.stringify(tried.body), "unsubscribe")
    const text = await org.manage("POST", "/webhooks/events/dry-run", { mapping, body: JSON.stringify(sample) })
    assert.deepStrictEqual(text, tried)
    const wrong = await org.manage("POST", "/webhooks/events/dry-run", {
      mapping: { items: 5, event: "x" },
      body: "{}",
    })
    assert.strictEqual(wrong.status, 400)
    assert.isTrue(
      wrong.body.errors.length >= 2 && wrong.body.errors.every(({ pointer }: Json) => pointer.startsWith("/mapping/")),
    )
    assert.deepStrictEqual(await org.stored(), [])
    const items = [{ type: "track", event: "Email Opened", userId: "u", messageId: "m" }, {
      type: "page",
      messageId: "p",
    }]
    const read = await org.manage("POST", "/webhooks/segment/dry-run", { body: { batch: items } })
    assert.strictEqual(read.status, 200, JSON.stringify(read.body))
    assert.strictEqual(read.body.items, 2)
    assert.deepInclude(read.body.explained[0].event, { event: "open", user: "u" })
    assert.strictEqual(read.body.explained[1].skipped.expected, true)
    const unread = await org.manage("POST", "/webhooks/provider_d/dry-run", { body: "<xml>" })
    assert.hasAllKeys(unread.body, ["reason"])
    const foreign = await org.manage("POST", "/webhooks/segment/dry-run", { mapping, body: sample })
    assert.deepStrictEqual(foreign.body.errors.map(({ pointer }: Json) => pointer), ["/mapping"])
    assert.strictEqual((await org.manage("POST", "/webhooks/nothing/dry-run", { body: "{}" })).status, 404)
    assert.deepStrictEqual(await org.stored(), [])
    const set = await org.put("events", { settings: { mapping } })
    assert.deepStrictEqual(set.settings.mapping, mapping)
    assert.strictEqual((await org.post("events", JSON.stringify(sample), { "x-api-key": org.key })).status, 200)
    await org.taken()
    assert.deepInclude(await org.outcomes(), { open: 1, unsubscribe: 1 })
    assert.deepStrictEqual((await org.events()).map(({ event_id }) => event_id), ["1", "2"])
    const again = await org.manage("POST", "/webhooks/events/dry-run", { body: sample })
    assert.deepStrictEqual(again.body.explained[0].found, tried.body.explained[0].found, "by the stored mapping")
    await org.put("events", { settings: {} })
    await org.post("events", JSON.stringify({ event: "click", tracking_id: "trk" }), { "x-api-key": org.key })
    await org.taken()
    assert.strictEqual((await org.outcomes()).click, 1)
  })

  it("counts business events as conversions by the names that were set up", async () => {
    const org = await organization("names")
    await org.decide("trk", "u")
    const track = (event: string, messageId: string) => ({
      type: "track",
      event,
      userId: "u",
      messageId,
      timestamp: new Date().toISOString(),
      properties: {},
    })
    const purchase = (name: string, id: string) => ({
      event_type: "users.behaviors.CustomEvent",
      id,
      time: seconds(Date.now()),
      user: { external_user_id: "u", user_id: "b" },
      properties: { name, custom_properties: {} },
    })
    for (const conversions of [[], ["Booked a Room"]]) {
      await org.put("segment", { secret: segment.secret("a"), settings: { conversions } })
      await org.put("braze", { secret: braze.secret("a"), settings: { conversions } })
      await org.put("events", { settings: { conversions } })
      const n = conversions.length
      await org.send(segment, [track("Booked a room", `s${n}`), track("Looked", `l${n}`)])
      await org.send(braze, [purchase("booked a ROOM", `b${n}`)])
      await org.post("events", JSON.stringify({ event: "booked a room", user_id: "u", event_id: `e${n}` }), {
        "x-api-key": org.key,
      })
      await org.taken()
      assert.strictEqual((await org.events()).length, n * 3, JSON.stringify(await org.events()))
    }
    assert.deepStrictEqual((await org.events()).map(({ event, tracking_id }) => [event, tracking_id]), [
      ["conversion", "trk"],
      ["conversion", "trk"],
      ["conversion", "trk"],
    ])
    assert.strictEqual((await org.outcomes()).conversion, 1)
  })
})
