import { assert, it } from "@effect/vitest"
import type { Json } from "./harness.ts"
import { braze, customerio, seconds } from "./platformSenders.ts"
import { organizationOf, suiteOnPlatforms } from "./platformSuite.ts"

suiteOnPlatforms("Events about people without a message", (server) => {
  const organization = organizationOf(server)

  it("keeps an opt-out of Braze, of Customer.io and of custom events, and counts it against the latest decision", async () => {
    const now = Date.now()
    const sent: Readonly<Record<string, (org: Awaited<ReturnType<typeof organization>>) => Promise<unknown>>> = {
      braze: async (org) => {
        await org.put("provider_a", { secret: braze.secret("a") })
        await org.send(braze, [{
          event_type: "users.behaviors.subscription.GlobalStateChange",
          id: "gsc",
          time: seconds(now),
          user: { user_id: "bz", external_user_id: "u" },
          properties: { email_address: "u@example.com", subscription_status: "Unsubscribed" },
        }])
      },
      customerio: async (org) => {
        await org.put("provider_c", { secret: customerio.secret("a") })
        await org.send(customerio, [{
          event_id: "cio",
          object_type: "customer",
          metric: "unsubscribed",
          timestamp: seconds(now),
          data: { identifiers: { id: "u", email: "u@example.com", cio_id: "x" } },
        }])
      },
      custom: async (org) => {
        const body = { event: "unsubscribe", user_id: "u", email: "u@example.com", event_id: "own" }
        const answer = await org.post("events", JSON.stringify(body), { "x-api-key": org.key })
        assert.strictEqual(answer.status, 200, answer.text)
      },
    }
    for (const [slug, send] of Object.entries(sent)) {
      const org = await organization(slug)
      await org.decide("first", "u")
      await org.decide("last", "u")
      await org.decide("other", "v")
      await send(org)
      await send(org)
      await org.taken()
      const events = await org.events()
      assert.strictEqual(events.length, 1, slug)
      assert.deepInclude(events[0], {
        event: "unsubscribe",
        category: "negative",
        user: "u",
        email: "u@example.com",
        tracking_id: "last",
        template_id: "t",
        status: "attributed",
      })
      assert.deepInclude(await org.outcomes(), { unsubscribe: 1, negative: 1 })
      const { body } = await org.manage("GET", "/suppressions/U%40example.com")
      assert.deepStrictEqual(body.suppressions.map(({ reason }: Json) => reason), ["unsubscribe"], slug)
      const story = (await org.manage("GET", "/stories?user_id=u")).body
      const told = story.decisions.find((one: Json) => one.tracking_id === "last").events
      assert.deepStrictEqual(told.map(({ effect, event }: Json) => [event, effect]), [["unsubscribe", "counted"]])
    }
  })

  it("lists unused events of a platform with a reason", async () => {
    const org = await organization("unused")
    await org.put("provider_a", { secret: braze.secret("a") })
    const session = (n: number) => ({ event_type: "users.behaviors.app.SessionStart", id: `s${n}`, time: 1, user: {} })
    const custom = {
      event_type: "users.behaviors.CustomEvent",
      id: "c",
      user: { external_user_id: "u" },
      properties: { name: "saw" },
    }
    await org.send(braze, [session(1), session(2), custom])
    await org.taken()
    const { inbox } = (await org.manage("GET", "/webhooks/provider_a/inbox?all=true")).body
    assert.deepInclude(inbox[0], { status: "done", events: 0, ignored: 3, faults: [] })
    assert.deepStrictEqual(inbox[0].unused.map(({ count, pointer }: Json) => [count, pointer]), [
      [2, "/events/0"],
      [1, "/events/2"],
    ])
    assert.include(inbox[0].unused[0].reason, "users.behaviors.app.SessionStart")
    assert.include(inbox[0].unused[1].reason, "saw")
  })
})
