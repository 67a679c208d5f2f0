import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Erasures } from "../../src/people/Erasures.ts"
import { Intake } from "../../src/intake/Intake.ts"
import { Rebuild } from "../../src/projections/Rebuild.ts"
import { Timelines } from "../../src/people/Timelines.ts"
import { Profiles } from "../../src/profiles/Profiles.ts"
import { shuffle } from "../process/storm.ts"
import { seeded } from "../support/load.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { decide, layerQuiet, makeOrg, org, receive, settle, tallies } from "../intake/support.ts"

// Events that name a person and no message.

const at = Date.now()
const minute = 60_000
const day = 24 * 60 * minute

/** A change of a Braze user's global subscription, which has no dispatch id. */
const brazeOptOut = (user: string, { ago = 0, email = `${user}@example.com`, id = `gsc-${user}` } = {}) => ({
  event_type: "users.behaviors.subscription.GlobalStateChange",
  id,
  time: Math.floor((at - ago) / 1000),
  user: { user_id: `bz-${user}`, external_user_id: user },
  properties: { email_address: email, subscription_status: "Unsubscribed" },
})

const customerIoOptOut = (user: string) => ({
  event_id: `cio-${user}`,
  object_type: "customer",
  metric: "unsubscribed",
  timestamp: Math.floor(at / 1000),
  data: { identifiers: { id: user, email: `${user}@example.com`, cio_id: "x" }, customer_id: user },
})

const check = Effect.fnUntraced(function* (slug: string, expected: ReadonlyArray<string>) {
  assert.deepStrictEqual(yield* tallies(slug), expected, slug)
  const { differences } = yield* (yield* Rebuild).run(org(slug), { check: true })
  assert.deepStrictEqual(differences, [], slug)
})

const rows = (slug: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      sql<{ event: string; status: string; trackingId: string | null; userId: string | null; email: string | null }>`
      SELECT e.event, e.status, e.tracking_id, e.user_id, e.email FROM events e WHERE e.org_slug = ${slug}
      ORDER BY e.event, e.event_key`,
  )

describe("events about a person without a message", () => {
  const services = Layer.unwrap(Effect.map(temporaryEnvironment, layerQuiet))

  layer(services, { excludeTestServices: true })((it) => {
    it.effect(
      "count opt-outs for the latest decision of the person, in any order of arrival",
      () =>
        Effect.gen(function* () {
          const steps = [
            (slug: string) => decide(slug, "old", { copy: "a", user: "u", at: at - 2 * day }),
            (slug: string) => decide(slug, "new", { copy: "b", user: "u", at: at - minute }),
            (slug: string) => receive(slug, { events: [brazeOptOut("u")] }, "provider_a"),
            (slug: string) => receive(slug, { events: [brazeOptOut("u"), brazeOptOut("u")] }, "provider_a"),
          ]
          for (let seed = 1; seed <= 6; seed++) {
            const slug = `order-${seed}`
            const random = seeded(seed)
            yield* makeOrg(slug)
            // The decisions are there before the event happens; only the reports may come in any order and number.
            for (const step of steps.slice(0, 2)) yield* step(slug)
            for (const step of shuffle(steps.slice(2), random)) {
              yield* step(slug)
              if (random() < 0.5) yield* (yield* Intake).drain
            }
            yield* settle(slug)
            yield* check(slug, [
              "a plan=pro learned: decisions 1",
              "b plan=pro learned: decisions 1, negative 1, unsubscribe 1",
            ])
          }
        }),
      120_000,
    )

    it.effect("wait for a decision that is stored late", () =>
      Effect.gen(function* () {
        yield* makeOrg("late")
        yield* receive("late", { event: "spam", user_id: "u", event_id: "s", occurred_at: at })
        yield* (yield* Intake).drain
        assert.deepStrictEqual((yield* rows("late")).map(({ status }) => status), ["waiting"])
        yield* decide("late", "t", { user: "u", at: at - minute })
        const sql = yield* SqlClient.SqlClient
        yield* sql`UPDATE events e SET retry_at = now() WHERE e.org_slug = 'late' AND e.status = 'waiting'`
        yield* settle("late")
        yield* check("late", ["a plan=pro learned: decisions 1, negative 1, spam 1"])
      }))

    it.effect("do not count for other people, organizations, times, or decisions without a message", () =>
      Effect.gen(function* () {
        yield* makeOrg("mine")
        yield* makeOrg("theirs")
        yield* decide("mine", "far", { user: "u", at: at - 8 * day })
        yield* decide("mine", "held", { user: "h", copy: "", mode: "control", propensity: null, at: at - minute })
        yield* decide("theirs", "t", { user: "u", at: at - minute })
        yield* receive("mine", { events: [brazeOptOut("u"), brazeOptOut("v"), brazeOptOut("h")] }, "provider_a")
        yield* settle("mine")
        yield* settle("theirs")
        assert.isFalse((yield* tallies("mine")).some((line) => line.includes("negative")))
        yield* check("theirs", ["a plan=pro learned: decisions 1"])
        assert.deepStrictEqual((yield* rows("mine")).map(({ status }) => status), ["waiting", "waiting", "waiting"])
      }))

    it.effect("attribute an opt-out that names a message to that message only", () =>
      Effect.gen(function* () {
        yield* makeOrg("named")
        yield* decide("named", "t", { user: "u", at: at - minute })
        const optOut = { ...brazeOptOut("u"), event_type: "users.messages.email.Unsubscribe" }
        const named = { ...optOut, properties: { ...optOut.properties, dispatch_id: "another" } }
        yield* receive("named", { events: [named] }, "provider_a")
        const sql = yield* SqlClient.SqlClient
        yield* (yield* Intake).drain
        // Long enough to give up the wait for a link.
        yield* sql`
          UPDATE events e SET retry_at = now(), received_at = e.received_at - interval '2 hours'
          WHERE e.org_slug = 'named'`
        yield* settle("named")
        yield* check("named", ["a plan=pro learned: decisions 1"])
      }))

    it.effect("find the person by address and by the identifiers of the profile", () =>
      Effect.gen(function* () {
        yield* makeOrg("names")
        const profiles = yield* Profiles
        yield* profiles.apply([
          { org: org("names"), user: "p", email: "P@example.com", traits: {}, occurredAt: at, key: "k" },
        ])
        // Deliver calls the person by address, Generate by id.
        yield* decide("names", "by-address", { copy: "a", user: "a@example.com", at: at - minute })
        yield* decide("names", "by-profile", { copy: "b", user: "P@example.com", at: at - minute })
        yield* decide("names", "by-id", { copy: "c", user: "p", at: at - 2 * minute })
        yield* receive("names", customerIoOptOut("a"), "provider_c")
        const { data, ...event } = customerIoOptOut("x")
        yield* receive("names", {
          ...event,
          data: { ...data, identifiers: { email: "p@example.com" }, customer_id: "" },
        }, "provider_c")
        yield* settle("names")
        yield* check("names", [
          "a plan=pro learned: decisions 1, negative 1, unsubscribe 1",
          "b plan=pro learned: decisions 1, negative 1, unsubscribe 1",
          "c plan=pro learned: decisions 1",
        ])
      }))

    it.effect("are stored once and shown in the history of the person, although no decision counts them", () =>
      Effect.gen(function* () {
        yield* makeOrg("kept")
        yield* decide("kept", "t", { user: "u", at: at - minute })
        const smsClick = {
          event_type: "users.messages.sms.ShortLinkClick",
          id: "sms",
          time: Math.floor(at / 1000),
          user: { external_user_id: "u" },
          properties: { url: "https://shop.example/" },
        }
        const bounce = { event: "bounce", email: "Ann@Example.com", event_id: "b" }
        for (let n = 0; n < 3; n++) {
          yield* receive("kept", { events: [smsClick] }, "provider_a")
          yield* receive("kept", [bounce, { event: "open", user_id: "u", event_id: "o" }])
        }
        yield* settle("kept")
        yield* check("kept", ["a plan=pro learned: decisions 1"])
        const found = (yield* rows("kept")).map(({ email, event, status, userId }) => [event, status, userId, email])
        assert.deepStrictEqual(found, [
          ["bounce", "person", "Ann@Example.com", "Ann@Example.com"],
          ["click", "person", "u", null],
          ["open", "person", "u", null],
        ])
        const timelines = yield* Timelines
        const timeline = yield* timelines.find(org("kept"), { userId: "u" }, { cursor: undefined, limit: 10 })
        assert.deepStrictEqual(timeline.loose.map(({ effect, event }) => [event, effect]), [
          ["click", "person"],
          ["open", "person"],
        ])
        const byEmail = yield* timelines.find(org("kept"), { email: "ann@example.com" }, {
          cursor: undefined,
          limit: 10,
        })
        assert.deepStrictEqual(byEmail.loose.map(({ event }) => event), ["bounce"])
        // An erasure takes every name out.
        yield* (yield* Erasures).eraseNow({ org: org("kept"), user: undefined, email: "ann@example.com" })
        const erased = yield* rows("kept")
        assert.deepStrictEqual(erased.find(({ event }) => event === "bounce"), {
          event: "bounce",
          status: "person",
          trackingId: null,
          userId: null,
          email: null,
        })
      }))

    it.effect("show the group of an opt-out in the history of the person", () =>
      Effect.gen(function* () {
        yield* makeOrg("grouped")
        yield* receive("grouped", { event: "unsubscribe", event_id: "g", user_id: "gus", group_id: "grp-7" })
        yield* receive("grouped", { event: "unsubscribe", event_id: "h", user_id: "gus" })
        yield* (yield* Intake).drain
        const { loose } = yield* (yield* Timelines).find(org("grouped"), { userId: "gus" }, {
          cursor: undefined,
          limit: 10,
        })
        const shown = new Map(loose.map(({ eventId, group, reason }) => [eventId, { group, reason }]))
        assert.strictEqual(shown.get("g")?.group, "grp-7")
        assert.include(shown.get("g")?.reason ?? "", 'only the group "grp-7"')
        assert.isNull(shown.get("h")?.group)
      }))
  })
})
