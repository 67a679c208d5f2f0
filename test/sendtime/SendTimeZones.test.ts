import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { People } from "../../src/sendtime/People.ts"
import { Rebuild } from "../../src/projections/Rebuild.ts"
import { Profiles } from "../../src/profiles/Profiles.ts"
import { decide, layerQuiet, org, receive } from "../intake/support.ts"
import { hour } from "../learning/support.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { around, dayAt, drain, iso, oneTemplate, plantHabit, settled } from "./habits.ts"

describe("zones of send times", () => {
  const environment = temporaryEnvironment
  layer(Layer.unwrap(Effect.map(environment, layerQuiet)), { excludeTestServices: true })((it) => {
    it.effect("come from a trait of the person, or else from the organization", () =>
      Effect.gen(function* () {
        yield* oneTemplate("zones")
        const report = (user: string, traits: Record<string, unknown>) => ({
          org: "zones",
          user,
          email: undefined,
          traits,
          occurredAt: Date.now(),
          key: user,
        })
        yield* (yield* Profiles).apply([
          report("tokyo", { timezone: "Asia/Tokyo" }),
          report("odd", { timezone: "Mars/Olympus", tz: "America/Lima" }),
          report("wrong", { time_zone: "+02:00" }),
          report("rails", { time_zone: "Eastern Time (US & Canada)" }),
        ])
        // All users read at eight in the evening GMT. A stranger in Tokyo reads at other hours.
        for (const user of ["u1", "u2", "u3"]) yield* plantHabit("zones", user, 20)
        const now = dayAt(-1, 0)
        const of = (userId: string) => settled({ org: "zones", userId, now })
        const tokyo = yield* of("tokyo")
        assert.deepStrictEqual([tokyo.trace.time_zone, tokyo.trace.time_zone_of], ["Asia/Tokyo", "user"])
        around(tokyo, 11)
        assert.strictEqual((yield* of("odd")).trace.time_zone, "America/Lima")
        assert.strictEqual((yield* of("rails")).trace.time_zone, "America/New_York")
        const wrong = yield* of("wrong")
        assert.strictEqual(wrong.trace.time_zone_of, "organization")
        around(wrong, 20)
      }))

    it.effect("come from the latest event, unless a trait names a zone", () =>
      Effect.gen(function* () {
        yield* oneTemplate("roaming")
        const now = dayAt(-1, 0)
        const zoneOf = (userId: string) =>
          Effect.map(settled({ org: "roaming", userId, now }), ({ trace }) => trace.time_zone)
        for (const user of ["ann", "bob"]) yield* decide("roaming", `${user}-1`, { user, ago: 2 * hour })
        const open = (user: string, zone: string, ago: number) => ({
          event: "open",
          tracking_id: `${user}-1`,
          user_id: user,
          time_zone: zone,
          occurred_at: iso(Date.now() - ago),
        })
        yield* receive("roaming", [
          open("ann", "Asia/Tokyo", hour / 4),
          open("ann", "Europe/Paris", hour / 2),
          open("bob", "Mars/Olympus", hour / 2),
          // She has no decisions, and her zone can still be looked up.
          { event: "open", user_id: "eve", template_id: "t", timezone: "America/Lima" },
        ])
        yield* drain
        assert.deepStrictEqual(
          [yield* zoneOf("ann"), yield* zoneOf("bob"), yield* zoneOf("eve")],
          ["Asia/Tokyo", "UTC", "America/Lima"],
        )
        yield* (yield* Profiles).apply([{
          org: "roaming",
          user: "ann",
          email: undefined,
          traits: { timezone: "America/Toronto" },
          occurredAt: Date.now(),
          key: "1",
        }])
        const people = yield* People
        people.forget("roaming", ["ann"])
        assert.strictEqual(yield* zoneOf("ann"), "America/Toronto")
        const { sendTimes } = yield* (yield* Rebuild).run(org("roaming"), { check: false })
        assert.strictEqual(sendTimes?.differences, 0)
        people.forget("roaming", ["eve"])
        assert.strictEqual(yield* zoneOf("eve"), "America/Lima")
      }))
  })
})
