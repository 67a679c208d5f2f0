import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Intake } from "../../src/intake/Intake.ts"
import { Suppressions } from "../../src/suppressions/Suppressions.ts"
import { layerQueue } from "../delivery/support.ts"
import { makeOrg, org, receive } from "../intake/support.ts"
import { temporaryEnvironment } from "../support/stores.ts"

const now = Date.now()
/** A time of so many minutes ago. */
const ago = (minutes: number) => new Date(now - minutes * 60_000).toISOString()

const takeIn = Effect.fnUntraced(
  function* (slug: string, bodies: ReadonlyArray<readonly [body: unknown, source?: string]>) {
    for (const [body, source] of bodies) {
      yield* receive(slug, body, source)
      yield* (yield* Intake).drain
    }
  },
)

const reasonsOf = Effect.fnUntraced(function* (slug: string, address: string) {
  return (yield* (yield* Suppressions).find(org(slug), address)).map(({ reason }) => reason)
})

const braze = (status: string, minutes: number, type = "subscription.GlobalStateChange", channel = "email") => ({
  events: [{
    event_type: `users.behaviors.${type}`,
    id: `${type} ${status} ${minutes}`,
    time: Math.floor((now - minutes * 60_000) / 1_000),
    user: { user_id: "b-1", external_user_id: "ann@example.com" },
    properties: { email_address: "ann@example.com", subscription_status: status, channel },
  }],
})

const customerIo = (metric: string, minutes: number, objectType = "customer") => ({
  event_id: `${metric} ${minutes}`,
  object_type: objectType,
  metric,
  timestamp: Math.floor((now - minutes * 60_000) / 1_000),
  data: { identifiers: { id: "ann@example.com", email: "ann@example.com", cio_id: "c1" } },
})

const custom = (event: string, minutes: number, more = {}) => ({
  event,
  email: "ann@example.com",
  event_id: `${event} ${minutes}`,
  occurred_at: ago(minutes),
  ...more,
})

/** All orders of some values. */
const orders = <A>(values: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  values.length < 2
    ? [values]
    : values.flatMap((value, i) => orders(values.filter((_, j) => j !== i)).map((rest) => [value, ...rest]))

describe("opting in again", () => {
  layer(Layer.unwrap(Effect.map(temporaryEnvironment, (env) => layerQueue(env))), { excludeTestServices: true })(
    (it) => {
      for (
        const [name, source, optOut, optIn] of [
          ["a custom event", "events", custom("unsubscribe", 60), custom("resubscribed", 1)],
          [
            "a custom event with a dotted name",
            "events",
            custom("unsubscribe", 60),
            custom("com.shop.mail.opted_in.v2", 1),
          ],
          ["a change of state at Braze", "provider_a", braze("Unsubscribed", 60), braze("Opted In", 1)],
          ["a renewed subscription at Braze", "provider_a", braze("Unsubscribed", 60), braze("Subscribed", 1)],
          ["a metric of Customer.io", "provider_c", customerIo("unsubscribed", 60), customerIo("subscribed", 1)],
          ["a call of Segment", "provider_d", {
            type: "track",
            event: "Email Unsubscribed",
            messageId: "s-1",
            timestamp: ago(60),
            userId: "ann@example.com",
          }, {
            type: "track",
            event: "Email Resubscribed",
            messageId: "s-2",
            timestamp: ago(1),
            userId: "ann@example.com",
          }],
          ["an event of Iterable", "provider_b", {
            eventName: "emailUnSubscribe",
            email: "ann@example.com",
            dataFields: { createdAt: ago(60), messageId: "i-1" },
          }, {
            eventName: "emailSubscribe",
            email: "ann@example.com",
            dataFields: { createdAt: ago(1) },
          }],
        ] as const
      ) {
        it.effect(`lifts an older opt-out by ${name}`, () =>
          Effect.gen(function* () {
            const slug = `by-${name.replaceAll(/[^a-z]+/gi, "-").toLowerCase()}`.slice(0, 40).replace(/-$/, "")
            yield* makeOrg(slug)
            yield* takeIn(slug, [[optOut, source]])
            assert.deepStrictEqual(yield* reasonsOf(slug, "ann@example.com"), ["unsubscribe"])
            yield* takeIn(slug, [[optIn, source]])
            assert.deepStrictEqual(yield* reasonsOf(slug, "ann@example.com"), [])
          }))
      }

      it.effect(
        "is decided by the times of opt-outs and opt-ins, in any order of arrival",
        () =>
          Effect.gen(function* () {
            const events = [
              custom("unsubscribe", 50),
              custom("subscribe", 40),
              custom("unsubscribe", 30),
              custom("subscribe", 20),
            ]
            let n = 0
            for (const some of [events, events.slice(0, 3)]) {
              for (const order of orders(some)) {
                const slug = `order-${n++}`
                yield* makeOrg(slug)
                yield* takeIn(
                  slug,
                  order.map((body) => [body] as const),
                )
                const expected = some.length === 4 ? [] : ["unsubscribe"]
                const names = order.map(({ event_id }) => event_id).join(", ")
                assert.deepStrictEqual(yield* reasonsOf(slug, "ann@example.com"), expected, names)
              }
            }
          }),
        60_000,
      )

      it.effect("keeps complaints, bounces and manual entries on the list", () =>
        Effect.gen(function* () {
          yield* makeOrg("grave")
          const at = now - 3_600_000
          yield* (yield* Suppressions).add(
            (["complaint", "hard_bounce", "soft_bounce", "manual", "unsubscribe"] as const).map((reason) => ({
              org: org("grave"),
              address: "ann@example.com",
              reason,
              source: "test",
              at,
            })),
          )
          yield* takeIn("grave", [[custom("subscribe", 1)]])
          assert.notInclude(yield* reasonsOf("grave", "ann@example.com"), "unsubscribe")
          assert.lengthOf(yield* reasonsOf("grave", "ann@example.com"), 4)
        }))

      it.effect("does not lift an opt-out for another channel, one group, a declared conversion or another name", () =>
        Effect.gen(function* () {
          yield* makeOrg("others")
          yield* takeIn("others", [
            [custom("unsubscribe", 60)],
            [custom("subscribe", 1, { channel: "sms" })],
            [custom("other", 1)],
            [braze("Subscribed", 1, "subscriptiongroup.StateChange"), "provider_a"],
            [braze("Subscribed", 2, "subscription.GlobalStateChange", "push"), "provider_a"],
            [customerIo("subscribed", 1, "sms"), "provider_c"],
            [
              { type: "track", event: "Subscribed", messageId: "paid", timestamp: ago(1), userId: "ann@example.com" },
              "provider_d",
            ],
          ])
          assert.deepStrictEqual(yield* reasonsOf("others", "ann@example.com"), ["unsubscribe"])
        }))

      it.effect("keeps a removed address off the list for an older report, and adds it for a newer one", () =>
        Effect.gen(function* () {
          yield* makeOrg("removed")
          const list = yield* Suppressions
          yield* takeIn("removed", [[custom("unsubscribe", 60)], [custom("bounce", 60)]])
          assert.strictEqual(yield* list.remove(org("removed"), "ann@example.com"), 2)
          yield* takeIn("removed", [[custom("unsubscribe", 59)], [custom("bounce", 43_000)], [custom("spam", 58)]])
          assert.deepStrictEqual(yield* reasonsOf("removed", "ann@example.com"), [])
          yield* takeIn("removed", [[{ event: "unsubscribe", email: "ann@example.com", event_id: "new" }]])
          assert.deepStrictEqual(yield* reasonsOf("removed", "ann@example.com"), ["unsubscribe"])
        }))

      it.effect("reads the address in a name, a prefix or punctuation", () =>
        Effect.gen(function* () {
          yield* makeOrg("written")
          const written = [
            '"One, Ann" <a1@example.com>',
            "<a2@example.com>",
            "mailto:a3%40example.com",
            "rfc822;a4@example.com",
            "SMTP:A5@Example.com",
            "a6@example.com;",
            "Ann (shop) <a7@b\u00fccher.example>",
          ]
          yield* takeIn("written", [[written.map((email, n) => ({ event: "unsubscribe", email, event_id: `w${n}` }))]])
          yield* takeIn("written", [[{ event: "bounce", user_id: "Ann <a8@example.com>", event_id: "w8" }]])
          for (
            const email of ["a1", "a2", "a3", "a4", "a5", "a6", "a8"].map((name) => `${name}@example.com`)
          ) {
            assert.lengthOf(yield* reasonsOf("written", email), 1, email)
          }
          assert.deepStrictEqual(yield* reasonsOf("written", "a7@xn--bcher-kva.example"), ["unsubscribe"])
        }))
    },
  )
})
