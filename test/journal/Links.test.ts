import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SourceId } from "../../src/domain/Source.ts"
import { Inbox } from "../../src/journal/inbox/Inbox.ts"
import { Intake } from "../../src/intake/Intake.ts"
import { Rebuild } from "../../src/projections/Rebuild.ts"
import { shuffle } from "../process/storm.ts"
import { seeded } from "../support/load.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { decide, layerQuiet, makeOrg, org, settle, tallies } from "../intake/support.ts"

// Opens and clicks that carry only the platform's own name of a message, in any order with the send that links it.

const at = Date.now()

const deliver = Effect.fnUntraced(function* (slug: string, source: SourceId, body: unknown) {
  const inbox = yield* Inbox
  yield* inbox.store({
    org: org(slug),
    source,
    headers: { "content-type": "application/json" },
    body: new TextEncoder().encode(JSON.stringify(body)),
  })
})

/** An event of Braze Currents. Only a send says which tracking id its message has. */
const braze = (type: string, dispatch: string, user: string, tracking?: string) => ({
  event_type: type,
  id: `${type}/${dispatch}/${user}`,
  // A minute apart, because a click soon after the send would be a link scanner's.
  time: Math.floor(at / 1000) - (tracking === undefined ? 0 : 60),
  user: { user_id: `bz-${user}`, external_user_id: user },
  properties: {
    dispatch_id: dispatch,
    email_address: `${user}@example.com`,
    ...(tracking === undefined ? {} : { message_extras: JSON.stringify({ tracking_id: tracking }) }),
  },
})
const send = (dispatch: string, user: string, tracking: string) =>
  braze("users.messages.email.Send", dispatch, user, tracking)
const open = (dispatch: string, user: string) => braze("users.messages.email.Open", dispatch, user)
const click = (dispatch: string, user: string) => braze("users.messages.email.Click", dispatch, user)

const permutations = <A>(items: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  items.length === 0
    ? [[]]
    : items.flatMap((item, i) => permutations(items.toSpliced(i, 1)).map((rest) => [item, ...rest]))

/** The count of a decision does not depend on how it was recorded. The variant identifies the organization. */
const check = Effect.fnUntraced(function* (slug: string, expected: ReadonlyArray<string>) {
  assert.deepStrictEqual(yield* tallies(slug), expected, slug)
  const { differences } = yield* (yield* Rebuild).run(org(slug), { check: true })
  assert.deepStrictEqual(differences, [], slug)
})

const statuses = (slug: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      Effect.map(
        sql<{ status: string; count: number }>`
        SELECT e.status, count(*)::int AS count FROM events e WHERE e.org_slug = ${slug} GROUP BY e.status`,
        (rows) => Object.fromEntries(rows.map(({ count, status }) => [status, count])),
      ),
  )

describe("links of messages", () => {
  const environment = temporaryEnvironment
  const services = Layer.unwrap(Effect.map(environment, layerQuiet))

  layer(services, { excludeTestServices: true })((it) => {
    it.effect(
      "count the same for every order of decision, send, open and click, read one at a time",
      () =>
        Effect.gen(function* () {
          const { drain } = yield* Intake
          const steps = [
            (slug: string) => decide(slug, "trk-1", { user: "u-1", at }),
            (slug: string) => deliver(slug, "provider_a", { events: [send("d-1", "u-1", "trk-1")] }),
            (slug: string) => deliver(slug, "provider_a", { events: [open("d-1", "u-1")] }),
            (slug: string) => deliver(slug, "provider_a", { events: [click("d-1", "u-1")] }),
          ]
          const orders = permutations(steps)
          for (const n of orders.keys()) yield* makeOrg(`order-${n}`)
          for (const place of steps.keys()) {
            for (const [n, order] of orders.entries()) yield* order[place]!(`order-${n}`)
            yield* drain
          }
          for (const n of orders.keys()) {
            const slug = `order-${n}`
            yield* settle(slug)
            yield* check(slug, ["a plan=pro learned: click 1, decisions 1, open 1, sent 1"])
            assert.deepStrictEqual(yield* statuses(slug), { attributed: 3 }, slug)
          }
        }),
      120_000,
    )

    it.effect("count the same for any distribution of events over bodies", () =>
      Effect.gen(function* () {
        const events = [send("d-1", "u-1", "trk-1"), open("d-1", "u-1"), click("d-1", "u-1")]
        let n = 0
        for (const order of permutations(events)) {
          for (const cuts of [[3], [1, 2], [2, 1], [1, 1, 1]]) {
            const slug = `bodies-${n++}`
            yield* makeOrg(slug)
            yield* decide(slug, "trk-1", { user: "u-1", at })
            let from = 0
            for (const length of cuts) {
              yield* deliver(slug, "provider_a", { events: order.slice(from, from += length) })
            }
            yield* settle(slug)
            yield* check(slug, ["a plan=pro learned: click 1, decisions 1, open 1, sent 1"])
          }
        }
      }), 120_000)

    it.effect("separate the users of one dispatch", () =>
      Effect.gen(function* () {
        const events = [
          ...["a", "b", "c"].map((user) => send("d-1", `u-${user}`, `trk-${user}`)),
          open("d-1", "u-a"),
          open("d-1", "u-b"),
          click("d-1", "u-b"),
          // This user got no message.
          click("d-1", "u-z"),
        ]
        for (let seed = 1; seed <= 8; seed++) {
          const slug = `users-${seed}`
          const random = seeded(seed)
          yield* makeOrg(slug)
          for (const copy of ["a", "b", "c"]) yield* decide(slug, `trk-${copy}`, { copy, user: `u-${copy}`, at })
          for (const event of shuffle(events, random)) {
            yield* deliver(slug, "provider_a", { events: [event] })
            if (random() < 0.5) yield* (yield* Intake).drain
          }
          yield* settle(slug)
          yield* check(slug, [
            "a plan=pro learned: decisions 1, open 1, sent 1",
            "b plan=pro learned: click 1, decisions 1, open 1, sent 1",
            "c plan=pro learned: decisions 1, sent 1",
          ])
          assert.deepStrictEqual(yield* statuses(slug), { attributed: 6, waiting: 1 })
        }
      }), 120_000)

    it.effect("separate equal message names of two platforms and two organizations", () =>
      Effect.gen(function* () {
        const cio = (metric: string, delivery: string, tracking?: string) => ({
          event_id: `${metric}-${delivery}`,
          object_type: "email",
          metric,
          timestamp: Math.floor(at / 1000),
          data: {
            delivery_id: delivery,
            ...(tracking === undefined ? {} : { headers: { "X-Tracking-Id": [tracking] } }),
          },
        })
        const iterable = (eventName: string, messageId: string, tracking?: string) => ({
          eventName,
          dataFields: {
            createdAt: new Date(tracking === undefined ? at : at - 60_000).toISOString(),
            messageId,
            ...(tracking === undefined ? {} : { transactionalData: { tracking_id: tracking } }),
          },
        })
        for (const slug of ["apart-1", "apart-2"]) {
          yield* makeOrg(slug)
          for (const copy of ["a", "b"]) yield* decide(slug, `trk-${copy}`, { copy, at })
        }
        yield* deliver("apart-1", "provider_c", cio("opened", "same"))
        yield* deliver("apart-2", "provider_c", cio("opened", "same"))
        yield* deliver("apart-1", "provider_b", iterable("emailClick", "same"))
        yield* (yield* Intake).drain
        yield* deliver("apart-1", "provider_c", cio("sent", "same", "trk-a"))
        yield* deliver("apart-1", "provider_b", iterable("emailSend", "same", "trk-b"))
        yield* settle("apart-1")
        yield* settle("apart-2")
        yield* check("apart-1", [
          "a plan=pro learned: decisions 1, open 1, sent 1",
          "b plan=pro learned: click 1, decisions 1, sent 1",
        ])
        yield* check("apart-2", ["a plan=pro learned: decisions 1", "b plan=pro learned: decisions 1"])
      }))

    it.effect("count the same for shuffled and repeated events of many messages", () =>
      Effect.gen(function* () {
        const people = 60
        const events = Array.from({ length: people }, (_, n) => [
          send("d-1", `u-${n}`, `trk-${n}`),
          ...(n % 2 === 0 ? [open("d-1", `u-${n}`)] : []),
          ...(n % 3 === 0 ? [click("d-1", `u-${n}`)] : []),
        ]).flat()
        for (const seed of [1, 2, 3]) {
          const slug = `many-${seed}`
          const random = seeded(seed)
          yield* makeOrg(slug)
          const shuffled = shuffle([...events, ...events.filter(() => random() < 0.3)], random)
          const decided = shuffle(Array.from({ length: people }, (_, n) => n), random)
          while (shuffled.length > 0 || decided.length > 0) {
            const body = shuffled.splice(0, Math.floor(random() * 12))
            if (body.length > 0) yield* deliver(slug, "provider_a", { events: body })
            for (const n of decided.splice(0, Math.floor(random() * 6))) {
              yield* decide(slug, `trk-${n}`, { copy: n < 30 ? "a" : "b", user: `u-${n}`, at })
            }
            if (random() < 0.3) yield* (yield* Intake).drain
          }
          yield* settle(slug)
          yield* check(slug, [
            "a plan=pro learned: click 10, decisions 30, open 15, sent 30",
            "b plan=pro learned: click 10, decisions 30, open 15, sent 30",
          ])
        }
      }), 120_000)

    it.effect("keep the first decision of a message name", () =>
      Effect.gen(function* () {
        yield* makeOrg("first")
        for (const copy of ["a", "b"]) yield* decide("first", `trk-${copy}`, { copy, at })
        yield* deliver("first", "provider_a", { events: [send("d-1", "u-1", "trk-a")] })
        yield* deliver("first", "provider_a", {
          events: [{ ...send("d-1", "u-1", "trk-b"), id: "again" }, click("d-1", "u-1")],
        })
        yield* settle("first")
        yield* check("first", [
          "a plan=pro learned: click 1, decisions 1, sent 1",
          "b plan=pro learned: decisions 1, sent 1",
        ])
      }))

    it.effect("attribute a conversion to the message that it names, in any order", () =>
      Effect.gen(function* () {
        const bought = braze("users.campaigns.Conversion", "d-1", "u-1")
        const events = [send("d-1", "u-1", "trk-old"), bought]
        for (const [n, order] of permutations(events).entries()) {
          const slug = `bought-${n}`
          yield* makeOrg(slug)
          // The platform names the message of the older decision.
          yield* decide(slug, "trk-old", { copy: "a", user: "u-1", at: at - 3_600_000 })
          yield* decide(slug, "trk-new", { copy: "b", user: "u-1", at: at - 60_000 })
          for (const event of order) {
            yield* deliver(slug, "provider_a", { events: [event] })
            yield* (yield* Intake).drain
          }
          yield* settle(slug)
          yield* check(slug, [
            "a plan=pro learned: conversion 1, decisions 1, sent 1",
            "b plan=pro learned: decisions 1",
          ])
        }
      }))
  })
})
