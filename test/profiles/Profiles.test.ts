import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Decider } from "../../src/decide/Decider.ts"
import type { TemplateId } from "../../src/domain/Ids.ts"
import { Erasures } from "../../src/people/Erasures.ts"
import { Inbox } from "../../src/journal/inbox/Inbox.ts"
import { Intake } from "../../src/intake/Intake.ts"
import { Rebuild } from "../../src/projections/Rebuild.ts"
import { Profiles } from "../../src/profiles/Profiles.ts"
import { Templates } from "../../src/templates/Templates.ts"
import { decide, layerQuiet, makeOrg, org, receive, settle, tallies } from "../intake/support.ts"
import { waitUntil } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"

/** Stores a body as Segment sends it. */
const segment = Effect.fnUntraced(function* (slug: string, body: unknown) {
  const bytes = new TextEncoder().encode(JSON.stringify(body))
  yield* (yield* Inbox).store({ org: org(slug), source: "provider_d", headers: {}, body: bytes })
  yield* (yield* Intake).drain
})

const identify = (userId: string, traits: unknown, timestamp: string, messageId: string) => ({
  type: "identify",
  messageId,
  userId,
  traits,
  timestamp,
  version: 2,
})

describe("Profiles", () => {
  const environment = temporaryEnvironment
  layer(Layer.unwrap(Effect.map(environment, layerQuiet)), { excludeTestServices: true })((it) => {
    const ask = (slug: string, userId: string, attrs: ReadonlyMap<string, ReadonlyArray<string>> = new Map()) =>
      Effect.flatMap(Decider, (decider) =>
        Effect.map(
          decider.decide(slug, {
            templateId: "t" as TemplateId,
            trackingId: undefined,
            userId,
            fields: {},
            attrs,
          }),
          (outcome) => outcome._tag === "Chosen" ? outcome.copyId : outcome._tag,
        ))

    /**
     * The traits of a user as a request without attributes sees them, once this node has noticed that there are any.
     */
    const traitsOf = Effect.fnUntraced(function* (slug: string, userId: string) {
      const profiles = yield* Profiles
      yield* Effect.promise(() =>
        waitUntil("the profiles are noticed", () => profiles.attributes(slug, userId, new Map()) !== undefined)
      )
      return Object.fromEntries(yield* profiles.attributes(slug, userId, new Map())!)
    })

    it.effect("keep the latest e-mail address, whatever the order of the reports", () =>
      Effect.gen(function* () {
        const slug = yield* makeOrg("addresses")
        const profiles = yield* Profiles
        const sql = yield* SqlClient.SqlClient
        const reports = [[2, "new@example.com"], [1, "old@example.com"], [2, "a@example.com"]] as const
        for (const [occurredAt, email] of reports) {
          yield* profiles.apply([{ org: slug, user: "u", email, traits: { tier: email }, occurredAt, key: "k" }])
        }
        yield* profiles.apply([{
          org: slug,
          user: "u",
          email: undefined,
          traits: { city: "Oslo" },
          occurredAt: 3,
          key: "k",
        }])
        const rows = yield* sql`SELECT p.email, p.traits FROM profiles p WHERE p.org_slug = ${slug}`
        assert.deepStrictEqual(rows, [{ email: "new@example.com", traits: { tier: "new@example.com", city: "Oslo" } }])
      }))

    it.effect("supply missing attributes of a request, but do not override those it has", () =>
      Effect.gen(function* () {
        yield* makeOrg("traits")
        yield* (yield* Templates).create(org("traits"), {
          id: "t" as TemplateId,
          name: "t",
          variants: [
            { id: "pro" as never, vars: { s: "pro" }, targeting: [{ attribute: "plan", op: "is", values: ["pro"] }] },
            {
              id: "free" as never,
              vars: { s: "free" },
              targeting: [{ attribute: "plan", op: "is", values: ["free"] }],
            },
          ],
        })
        yield* segment("traits", identify("ann", { plan: "Pro", seats: 3 }, "2026-11-20T10:00:00Z", "m1"))
        assert.deepStrictEqual(yield* traitsOf("traits", "ann"), { plan: ["pro"], seats: ["3"] })
        assert.strictEqual(yield* ask("traits", "ann"), "pro")
        assert.strictEqual(yield* ask("traits", "ann", new Map([["plan", ["free"]]])), "free")
        assert.strictEqual(yield* ask("traits", "nobody"), "None")
      }))

    it.effect("keep the latest report of each trait for any order of arrival", () =>
      Effect.gen(function* () {
        const reports = [
          identify("bob", { plan: "free", city: "Graz" }, "2026-11-18T10:00:00Z", "m1"),
          identify("bob", { plan: "pro" }, "2026-11-20T10:00:00Z", "m2"),
          identify("bob", { plan: "trial", city: null }, "2026-11-19T10:00:00Z", "m3"),
        ]
        const seen: Array<unknown> = []
        for (const [n, order] of [[0, 1, 2], [2, 1, 0], [1, 0, 2, 1]].entries()) {
          const slug = `order-${n}`
          yield* makeOrg(slug)
          for (const i of order) yield* segment(slug, reports[i])
          seen.push(yield* traitsOf(slug, "bob"))
        }
        assert.deepStrictEqual(seen, [{ plan: ["pro"] }, { plan: ["pro"] }, { plan: ["pro"] }])
      }))
  })
})

describe("the erasure of a person", () => {
  const environment = temporaryEnvironment
  layer(Layer.unwrap(Effect.map(environment, layerQuiet)), { excludeTestServices: true })((it) => {
    /** Every text the store holds about an organization, as one. */
    const everything = Effect.fnUntraced(function* (slug: string) {
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql<{ text: string }>`
        SELECT row_to_json(d)::text AS text FROM decisions d WHERE d.org_slug = ${slug}
        UNION ALL SELECT row_to_json(e)::text FROM events e WHERE e.org_slug = ${slug}
        UNION ALL SELECT row_to_json(p)::text FROM profiles p WHERE p.org_slug = ${slug}
        UNION ALL SELECT row_to_json(s)::text FROM sticky_choices s WHERE s.org_slug = ${slug}
        UNION ALL SELECT convert_from(i.body, 'UTF8') || i.headers::text || coalesce(i.faults::text, '')
          FROM inbox i WHERE i.org_slug = ${slug}`
      return rows.map(({ text }) => text).join("\n")
    })

    const prepare = Effect.fnUntraced(function* (slug: string) {
      yield* makeOrg(slug)
      yield* decide(slug, "t1", { user: "ann-secret" })
      yield* decide(slug, "t2", { user: "bob" })
      yield* segment(slug, {
        type: "identify",
        userId: "ann-secret",
        traits: { email: "ann-secret@example.com", plan: "pro" },
        messageId: "m1",
        timestamp: "2026-11-20T10:00:00Z",
      })
      yield* receive(slug, [
        { event: "click", tracking_id: "t1", user_id: "ann-secret", url: "https://x.example/?who=ann-secret" },
      ])
      yield* receive(slug, [{ event: "open", tracking_id: "t1", email: "ann-secret@example.com" }])
      yield* receive(slug, [{ event: "click", tracking_id: "t2", user_id: "bob" }])
      yield* settle(slug)
    })

    it.effect("removes every name of the person, and keeps other people's data and counts", () =>
      Effect.gen(function* () {
        yield* prepare("erase")
        const counted = yield* tallies("erase")
        assert.include(yield* everything("erase"), "ann-secret")
        const erased = yield* (yield* Erasures).eraseNow({ org: "erase", user: "ann-secret", email: undefined })
        assert.deepInclude(erased, { profiles: 1, decisions: 1, events: 2 })
        const left = yield* everything("erase")
        assert.notInclude(left, "ann-secret")
        assert.include(left, "bob")
        assert.deepStrictEqual(yield* tallies("erase"), counted)
        assert.deepStrictEqual((yield* (yield* Rebuild).run(org("erase"), { check: true })).differences, [])
      }))

    it.effect("is done on request of a platform", () =>
      Effect.gen(function* () {
        yield* prepare("asked")
        yield* segment("asked", {
          type: "delete",
          userId: "ann-secret",
          messageId: "m9",
          timestamp: "2026-11-21T10:00:00Z",
        })
        yield* (yield* Erasures).drain
        assert.notInclude(yield* everything("asked"), "ann-secret")
      }))

    it.effect("does not affect a person of the same name in another organization", () =>
      Effect.gen(function* () {
        yield* prepare("mine")
        yield* prepare("theirs")
        yield* (yield* Erasures).eraseNow({ org: "mine", user: "ann-secret", email: undefined })
        assert.include(yield* everything("theirs"), "ann-secret")
      }))
  })
})
