import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { adminToken } from "../support/service.ts"
import { assertProblem, type Json, pointersOf, read } from "./harness.ts"
import { iterable, segment, whsec } from "./platformSenders.ts"
import { organizationOf, suiteOnPlatforms } from "./platformSuite.ts"

suiteOnPlatforms("The setup of webhook sources", (server) => {
  const organization = organizationOf(server)

  it("reports every fault of settings without changing anything", async () => {
    const org = await organization("faults")
    const faults = async (segment: string, input: unknown, status = [400, 422]) => {
      const { body, status: is } = await org.manage("PUT", `/webhooks/${segment}`, input)
      assert.include(status, is, JSON.stringify(body))
      return body.errors.map(({ pointer }: Json) => pointer).sort()
    }
    assert.deepStrictEqual(await faults("braze", {}), ["/secret"])
    assert.deepStrictEqual(await faults("braze", { secret: 5, settings: "x", enabled: "y" }), [
      "/enabled",
      "/secret",
      "/settings",
    ])
    assert.deepStrictEqual(
      await faults("braze", {
        secret: "has space",
        settings: { header: "No Header", conversions: ["ok", "", 5], mapping: {} },
      }),
      ["/secret", "/settings/conversions/1", "/settings/conversions/2", "/settings/header", "/settings/mapping"],
    )
    assert.deepStrictEqual(await faults("customerio", { secret: " ", settings: { tolerance_seconds: -1 } }), [
      "/secret",
      "/settings/tolerance_seconds",
    ])
    assert.deepStrictEqual(await faults("segment", { secret: "x".repeat(1001), settings: { scheme: "none" } }), [
      "/secret",
      "/settings/scheme",
    ])
    assert.include(await faults("events", { secret: "short", settings: { mapping: { event: 5 } } }), "/secret")
    assert.isTrue(
      (await faults("events", { secret: "short", settings: { mapping: { event: 5 } } })).some((pointer: string) =>
        pointer.startsWith("/settings/mapping")
      ),
    )
    const none = await org.manage("PUT", "/webhooks/none", { secret: "x" })
    assert.strictEqual(none.status, 404)
    assert.strictEqual((await server().service.manage("PUT", "/organizations/none/webhooks/braze", {})).status, 404)
    assert.isTrue((await org.manage("GET", "/webhooks")).body.webhooks.every(({ set_up }: Json) => !set_up))
  })

  it("rejects invalid options of signed custom events, with or without a new secret", async () => {
    const org = await organization("tolerance")
    await org.put("events", { secret: whsec("a") })
    for (const tolerance_seconds of ["soon", -1, 1e9]) {
      const answer = await org.manage("PUT", "/webhooks/events", { settings: { tolerance_seconds } })
      assert.include([400, 422], answer.status, JSON.stringify(answer.body))
    }
  })

  it("reports unknown settings of a platform by name, and lists the known ones", async () => {
    const org = await organization("unknown")
    const answer = await org.manage("PUT", "/webhooks/braze", {
      secret: "a".repeat(32),
      settings: { headers: "x-token", conversions: [], "a/b": 1 },
    })
    assert.strictEqual(answer.status, 400)
    assert.deepStrictEqual(
      answer.body.errors.map(({ detail, pointer }: Json) => [pointer, detail]),
      ["/settings/headers", "/settings/a~1b"].map((pointer) => [
        pointer,
        "is not a setting of provider_a (braze). Its settings are conversions, header",
      ]),
    )
    for (
      const [segment, known] of [
        ["iterable", "header"],
        ["customerio", "tolerance_seconds"],
        ["segment", "conversions, header, scheme, unsigned_items"],
        ["sfmc", "key_encoding"],
        ["events", "conversions, mapping, tolerance_seconds"],
      ] as const
    ) {
      const { body, status } = await org.manage("PUT", `/webhooks/${segment}`, { settings: { secrets: [] } })
      assert.strictEqual(status, 400)
      const { detail } = body.errors.find(({ pointer }: Json) => pointer === "/settings/secrets")
      assert.isTrue(detail.endsWith(`Its settings are ${known}`), detail)
    }
    const { body } = await org.manage("PUT", "/webhooks/postmark", { settings: { user: "ann" } })
    const { detail } = body.errors.find(({ pointer }: Json) => pointer === "/settings/user")
    assert.strictEqual(detail, "is not a setting of postmark. Its settings are header")
  })

  it("accepts a batch of which Segment signed the first item only as its settings say", async () => {
    const org = await organization("batches")
    await org.put("segment", { secret: segment.secret("a") })
    await org.decide("trk", "u")
    const times = { send: Date.now() - 60_000, open: Date.now(), click: Date.now() }
    const batch = (["send", "open", "click"] as const).map((kind) =>
      segment.item(kind, { tracking: "trk", user: "u", name: "m", at: times[kind] })
    )
    const body = JSON.stringify(batch)
    const signed = segment.sign(segment.secret("a"), JSON.stringify(batch[0]))

    const refused = await org.post("segment", body, signed)
    assertProblem(refused, 401)
    assert.match(refused.json.detail, /Only the first item.*unsigned_items/)
    await org.put("segment", { settings: { unsigned_items: true } })
    const accepted = await org.post("segment", body, signed)
    assert.deepInclude(accepted.json, { status: "ok", received: 3 })
    assertProblem(await org.post("segment", JSON.stringify(batch.toReversed()), signed), 401)
    await org.taken()
    assert.deepInclude(await org.outcomes(), { sent: 1, open: 1, click: 1 })

    await org.put("segment", { settings: { unsigned_items: false } })
    assertProblem(await org.post("segment", body, signed), 401)
    await org.put("segment", { settings: { scheme: "token" } })
    const withToken = { ...signed, authorization: `Bearer ${segment.secret("a")}` }
    assert.deepInclude((await org.post("segment", body, withToken)).json, { status: "ok", received: 3 })
    await org.taken()
    assert.deepInclude(await org.outcomes(), { sent: 1, open: 1, click: 1 })
  })

  it("lets a source be changed that has settings of an earlier release", async () => {
    const org = await organization("earlier")
    await org.put("braze", { secret: "a".repeat(32) })
    await server().run(
      Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`UPDATE webhook_sources w SET settings = '{"gone":1}' WHERE w.org_slug = 'earlier'`,
      ),
    )
    assert.deepInclude(await org.put("braze", { enabled: false }), { enabled: false, settings: { gone: 1 } })
    await org.put("braze", { settings: { gone: 1 } }, 400)
    assert.deepInclude(await org.put("braze", { settings: {} }), { settings: {} })
  })

  it("answers a change with the source's counts, as in the list", async () => {
    const org = await organization("busy")
    await org.put("iterable", { secret: iterable.secret("a") })
    const item = iterable.item("open", { tracking: "", user: "u", name: "m", at: Date.now() })
    await org.send(iterable, [item])
    await org.send(iterable, [item])
    await org.taken()
    const changed = await org.put("iterable", { settings: { header: "x-token" } })
    assert.deepInclude(changed, { bodies: 2, events: 1, duplicates: 1, pending: 0 })
    assert.deepStrictEqual(changed, await org.source("provider_b"))
  })

  it("keeps the secrets and their times when the one in use is entered once more", async () => {
    const org = await organization("again")
    const [first, second] = [iterable.secret("a"), iterable.secret("b")]
    assert.deepStrictEqual((await org.put("iterable", { secret: first })).secrets, [{ accepted_until: null }])
    assert.deepStrictEqual((await org.put("iterable", { secret: first })).secrets, [{ accepted_until: null }])
    const { secrets } = await org.put("iterable", { secret: second })
    assert.strictEqual(secrets.length, 2)
    for (const input of [{ secret: second }, { secret: second, settings: {} }, { enabled: true }]) {
      assert.deepStrictEqual((await org.put("iterable", input)).secrets, secrets)
    }
    const item = iterable.item("open", { tracking: "", user: "u", name: "m", at: Date.now() })
    await org.send(iterable, [item], "iterable", "a")
    await org.send(iterable, [item], "iterable", "b")
    // Going back is also a change: the replaced secret stays valid for 24 hours.
    const back = (await org.put("iterable", { secret: first })).secrets
    assert.deepStrictEqual(back.map(({ accepted_until }: Json) => accepted_until === null), [true, false])
    await org.send(iterable, [item], "iterable", "a")
    await org.send(iterable, [item], "iterable", "b")
  })

  it("lists sources that are set up or sent something", async () => {
    const org = await organization("sources")
    const listed = async () =>
      (await org.manage("GET", "/webhooks")).body.webhooks.map((
        { enabled, segment, set_up }: Json,
      ) => [segment, set_up, enabled])
    assert.deepStrictEqual(await listed(), [["events", false, true]])
    await org.put("iterable", { secret: iterable.secret("a") })
    assert.deepStrictEqual(await listed(), [["provider_b", true, true], ["events", false, true]])
    await org.send(iterable, [iterable.item("open", { tracking: "", user: "u", name: "m", at: Date.now() })])
    await org.taken()
    const shown = await org.source("provider_b")
    assert.deepInclude(shown, { bodies: 1, events: 1, pending: 0, lag_seconds: 0 })
    assert.isBelow(Date.now() - Date.parse(shown.last_received_at), 60_000)
    assert.deepInclude((await org.events())[0], {
      status: "waiting",
      tracking_id: null,
      template_id: null,
      copy_id: null,
    })
    await org.manage("DELETE", "/webhooks/iterable")
    assert.deepInclude(await org.source("provider_b"), { set_up: false, enabled: false, bodies: 1 })
  })

  it("pages through events, and refuses invalid cursors", async () => {
    const org = await organization("pages")
    for (let n = 0; n < 5; n++) await org.decide(`trk-${n}`, `u-${n}`)
    const events = Array.from({ length: 25 }, (_, n) => ({ event: "other-name click", name: "x", n })).map((_, n) => ({
      event: n % 2 === 0 ? "click" : "open",
      tracking_id: `trk-${n % 6}`,
      event_id: `é${String(n).padStart(2, "0")}`,
      user_id: `u-${n % 6}`,
    }))
    for (let from = 0; from < 25; from += 5) {
      await org.post("events", JSON.stringify(events.slice(from, from + 5)), { "x-api-key": org.key })
    }
    await org.taken()
    for (const limit of [1, 7, 25, 26]) {
      const seen: Array<string> = []
      let after = ""
      for (let pages = 0; pages < 40; pages++) {
        const { body } = await org.manage("GET", `/events?limit=${limit}${after}`)
        seen.push(...body.events.map((event: Json) => event.event_id))
        if (body.next === null) break
        assert.isAtMost(body.events.length, limit)
        after = `&after=${body.next}`
      }
      assert.deepStrictEqual(seen, events.map(({ event_id }) => event_id))
    }
    const own = await org.manage("GET", "/events?tracking_id=trk-1&limit=3")
    assert.strictEqual(own.body.events.length, 3)
    const rest = await org.manage("GET", `/events?tracking_id=trk-1&after=${own.body.next}`)
    assert.strictEqual(rest.body.events.length, 1)
    assert.isTrue([...own.body.events, ...rest.body.events].every(({ tracking_id }) => tracking_id === "trk-1"))
    const waiting = await org.events("?tracking_id=trk-5")
    assert.isTrue(waiting.length === 4 && waiting.every(({ status }) => status === "waiting"))
    const { service } = server()
    const bad = await read(
      await service.request("/console/api/organizations/pages/events?limit=0&after=!!&tracking_id=%00", {
        headers: { authorization: `Bearer ${adminToken}` },
      }),
    )
    assertProblem(bad, 400)
    assert.deepStrictEqual(pointersOf(bad), ["after", "limit", "tracking_id"])
    for (
      const query of [
        "limit=1001",
        "limit=x",
        "limit=",
        "limit=1.5",
        "after=",
        "after=W10",
        `after=${btoa('["1","a","b",5]')}`,
      ]
    ) {
      assert.strictEqual((await org.manage("GET", `/events?${query}`)).status, 400, query)
    }
    assert.strictEqual((await service.manage("GET", "/organizations/none/events")).status, 404)
  })

  it("lists an event once if it is attributed between two pages", async () => {
    const org = await organization("paging")
    await server().service.manage("POST", "/organizations/paging/templates", {
      id: "u",
      name: "U",
      variants: [{ id: "b", vars: { s: "b" } }],
    })
    const sent = ["e1", "e2"].map((event_id) => ({ event: "click", tracking_id: "late", event_id }))
    await org.post("events", JSON.stringify(sent), { "x-api-key": org.key })
    await org.taken()
    const page = async (query: string) => {
      const { body } = await org.manage("GET", `/events?limit=1${query}`)
      return { next: body.next, seen: body.events.map((one: Json) => [one.event_id, one.status, one.template_id]) }
    }
    const first = await page("")
    assert.deepStrictEqual(first.seen, [["e1", "waiting", null]])
    await org.decide("late", "u")
    await server().service.generate("paging", org.key, { template_id: "u", tracking_id: "late" })
    // A decision is known to the intake a moment after the answer.
    await server().service.untilStored("both events count for both decisions", ["events"], async () => {
      await org.taken()
      return (await org.events("?tracking_id=late")).length === 4
    })
    const second = await page(`&after=${first.next}`)
    assert.deepStrictEqual(second.seen, [["e2", "attributed", "t"]])
    const third = await page(`&after=${second.next}`)
    assert.deepStrictEqual(third.seen, [["e2", "attributed", "u"]])
    assert.deepStrictEqual((await page(`&after=${third.next}`)).seen, [])
    // Its new state is found before the reader's position, or by its tracking id.
    const all = await org.events("?tracking_id=late")
    assert.deepStrictEqual(all.map(({ event_id, template_id }) => [event_id, template_id]), [
      ["e1", "t"],
      ["e1", "u"],
      ["e2", "t"],
      ["e2", "u"],
    ])
  })

  it("answers 404 for sources that do not exist and 405 for other methods", async () => {
    const org = await organization("paths")
    for (const name of ["none", "Braze2", "provider_f", "__proto__", "constructor"]) {
      assertProblem(await org.post(name, "{}"), 404)
    }
    for (const name of ["provider_a", "segment", "events"]) {
      const answer = await org.post(name, "", {}, "GET")
      assertProblem(answer, 405)
      assert.include(answer.headers.get("allow") ?? "", "POST")
    }
  })

  it("requires the admin token for every operation", async () => {
    const { service } = server()
    await organization("guarded")
    for (const path of ["webhooks", "events"]) {
      const answer = await read(await service.request(`/console/api/organizations/guarded/${path}`))
      assertProblem(answer, 401)
    }
    for (
      const [method, path] of [["PUT", "webhooks/braze"], ["DELETE", "webhooks/braze"], [
        "POST",
        "webhooks/events/dry-run",
      ]] as const
    ) {
      const answer = await read(
        await service.request(`/console/api/organizations/guarded/${path}`, {
          method,
          headers: { "content-type": "application/json" },
          ...(method === "DELETE" ? {} : { body: "{}" }),
        }),
      )
      assertProblem(answer, 401)
    }
  })
})
