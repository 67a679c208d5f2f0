import { assert, describe, layer } from "@effect/vitest"
import { Cause, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Deliveries } from "../../src/delivery/Deliveries.ts"
import { Connections } from "../../src/delivery/Connections.ts"
import { Erasures } from "../../src/people/Erasures.ts"
import { Intake } from "../../src/intake/Intake.ts"
import { Organizations } from "../../src/organizations/Organizations.ts"
import { AddressKeys } from "../../src/suppressions/AddressKeys.ts"
import type { SuppressionReason } from "../../src/domain/SuppressionReason.ts"
import { Suppressions } from "../../src/suppressions/Suppressions.ts"
import { Templates } from "../../src/templates/Templates.ts"
import { receiver } from "../delivery/receiver.ts"
import { deliveriesOf, enqueue, furnish, layerQueue, layerSending, untilDone } from "../delivery/support.ts"
import { decide, makeOrg, org, receive } from "../intake/support.ts"
import { temporaryEnvironment } from "../support/stores.ts"

const suppress = Effect.fnUntraced(function* (
  slug: string,
  address: string,
  reason: SuppressionReason = "unsubscribe",
  at = Date.now(),
) {
  return yield* (yield* Suppressions).add([{ org: org(slug), address, reason, source: "test", at }])
})

/** The list of an organization as `address reason`, sorted. */
const listed = Effect.fnUntraced(function* (slug: string) {
  const entries = yield* (yield* Suppressions).list(org(slug), { limit: 100 })
  return entries.map(({ address, reason }) => `${address} ${reason}`).sort()
})

const takeIn = Effect.fnUntraced(function* (slug: string, body: unknown, source?: string) {
  yield* receive(slug, body, source)
  yield* (yield* Intake).drain
})

describe("the suppression list", () => {
  const environment = temporaryEnvironment
  layer(Layer.unwrap(Effect.map(environment, (env) => layerQueue(env))), { excludeTestServices: true })((it) => {
    it.effect("has one entry for each reason of an address in any spelling, until the entry is removed", () =>
      Effect.gen(function* () {
        yield* makeOrg("entries")
        const list = yield* Suppressions
        const at = Date.parse("2026-01-02T03:04:05Z")
        assert.strictEqual(yield* suppress("entries", "Ada@Example.com", "unsubscribe", at), 1)
        assert.strictEqual(yield* suppress("entries", " ADA@example.COM ", "unsubscribe"), 0, "it is there already")
        assert.strictEqual(yield* suppress("entries", "ada@example.com", "complaint"), 1)
        assert.strictEqual(yield* suppress("entries", "no address"), 0)
        yield* suppress("entries", "ada+news@example.com", "manual")
        const found = yield* list.find(org("entries"), "ADA@EXAMPLE.COM")
        assert.deepStrictEqual(found.map(({ reason }) => reason), ["complaint", "unsubscribe"])
        assert.deepInclude(found[1], { address: "ada@example.com", source: "test", suppressedAt: new Date(at) })
        assert.deepStrictEqual(yield* list.find(org("elsewhere"), "ada@example.com"), [])
        assert.strictEqual(yield* list.remove(org("entries"), "Ada@example.com", "complaint"), 1)
        assert.deepStrictEqual(yield* listed("entries"), ["ada+news@example.com manual", "ada@example.com unsubscribe"])
        assert.strictEqual(yield* list.remove(org("entries"), "ada@example.com"), 1)
        assert.strictEqual(yield* list.remove(org("entries"), "ada@example.com"), 0)
      }))

    it.effect("blocks messages to an address with an unreadable entry, and reports the entry", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* furnish("unread")
        yield* suppress("unread", "ann@example.com")
        const [{ id } = { id: 0 }] = yield* sql<{ id: number }>`
          UPDATE suppressions s SET reason = 'whim' WHERE s.org_slug = 'unread' RETURNING s.id::float8 AS id`
        const list = Effect.asVoid((yield* Suppressions).list(org("unread"), { limit: 9 }))
        for (const use of [list, Effect.asVoid(enqueue("unread", "ann@example.com"))]) {
          const fault = yield* Effect.flip(Effect.sandbox(use))
          assert.include(Cause.pretty(fault), `The row of suppressions with id ${id} cannot be read: reason: `)
        }
        assert.deepStrictEqual(yield* deliveriesOf("unread"), [])
        yield* enqueue("unread", "bob@example.com")
        assert.lengthOf(yield* deliveriesOf("unread"), 1)
      }))

    it.effect("is listed page by page, newest first, also by reason", () =>
      Effect.gen(function* () {
        yield* makeOrg("pages")
        const list = yield* Suppressions
        for (let i = 0; i < 5; i++) yield* suppress("pages", `p${i}@example.com`, i % 2 === 0 ? "manual" : "complaint")
        const first = yield* list.list(org("pages"), { limit: 3 })
        const second = yield* list.list(org("pages"), { limit: 3, cursor: first.at(-1)!.id })
        assert.deepStrictEqual(
          [...first, ...second].map(({ address }) => address),
          [4, 3, 2, 1, 0].map((i) => `p${i}@example.com`),
        )
        const complaints = yield* list.list(org("pages"), { limit: 9, reason: "complaint" })
        assert.deepStrictEqual(complaints.map(({ address }) => address), ["p3@example.com", "p1@example.com"])
      }))

    it.effect("is updated by events: for their address, the address of their message, and the address of the profile", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* makeOrg("events")
        yield* decide("events", "d-1", { user: "Message@example.com" })
        yield* decide("events", "d-2", { user: "u-2" })
        yield* sql`
          INSERT INTO profiles (org_slug, user_id, email, traits, reported_at, updated_at)
          VALUES ('events', 'u-2', 'profile@example.com', '{}', '{}', now())`
        yield* takeIn("events", [
          { event: "unsubscribe", tracking_id: "d-1" },
          { event: "spam", tracking_id: "d-2" },
          { event: "bounce", tracking_id: "no-such-1", user_id: "Named@example.com" },
          { event: "unsubscribe", tracking_id: "no-such-2", user_id: "u-9", email: "beside@example.com" },
          { event: "open", tracking_id: "d-1" },
          { event: "failed", tracking_id: "no-such-3", user_id: "failed@example.com" },
        ])
        assert.deepStrictEqual(yield* listed("events"), [
          "beside@example.com unsubscribe",
          "message@example.com unsubscribe",
          "named@example.com hard_bounce",
          "profile@example.com complaint",
        ])
        const [entry] = yield* (yield* Suppressions).find(org("events"), "named@example.com")
        assert.strictEqual(entry!.source, "events")
      }))

    it.effect("is updated by an early event once its decision is stored", () =>
      Effect.gen(function* () {
        yield* makeOrg("early")
        yield* takeIn("early", { event: "unsubscribe", tracking_id: "later" })
        assert.deepStrictEqual(yield* listed("early"), [])
        yield* decide("early", "later", { user: "late@example.com" })
        yield* (yield* Intake).drain
        assert.deepStrictEqual(yield* listed("early"), ["late@example.com unsubscribe"])
      }))

    it.effect("does not add an address again for a repeated event or an event of another channel", () =>
      Effect.gen(function* () {
        yield* makeOrg("again")
        yield* decide("again", "d", { user: "ada@example.com" })
        const event = { event: "unsubscribe", event_id: "e-1", tracking_id: "d" }
        yield* takeIn("again", event)
        assert.strictEqual(yield* (yield* Suppressions).remove(org("again"), "ada@example.com"), 1)
        yield* takeIn("again", event)
        yield* takeIn("again", { event: "bounce", channel: "push", tracking_id: "d" })
        yield* takeIn("again", {
          events: [{
            id: "b-1",
            event_type: "users.messages.sms.Rejection",
            user: { external_user_id: "bob@example.com" },
          }],
        }, "provider_a")
        assert.deepStrictEqual(yield* listed("again"), [])
      }))

    it.effect("keeps the address of an opt-out from a group, unless the organization lists the group", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* makeOrg("groups")
        const optOut = (id: string, more: object) => ({
          event: "unsubscribe",
          event_id: id,
          email: `${id}@x.example`,
          timestamp: Date.now() - 60_000,
          ...more,
        })
        yield* takeIn("groups", [optOut("one", { group_id: "grp-1" }), optOut("all", {})])
        assert.deepStrictEqual(yield* listed("groups"), ["all@x.example unsubscribe"])
        assert.deepStrictEqual(
          yield* sql`SELECT e.event_key AS key, e.opt_out_group AS group FROM events e WHERE e.org_slug = 'groups' ORDER BY 1`,
          [{ key: "id:all", group: null }, { key: "id:one", group: "grp-1" }],
        )
        yield* (yield* Organizations).update(org("groups"), { group_opt_outs: ["GRP-1", "News, deals"] })
        yield* takeIn("groups", [
          optOut("two", { group_id: "grp-1" }),
          optOut("three", { list: ["grp-2", "grp-1"] }),
          optOut("four", { topic: "News, deals" }),
          optOut("five", { list_id: 7 }),
          { event: "group_resubscribe", event_id: "again", email: "all@x.example", group_id: "grp-9" },
          { event: "spam", event_id: "six", email: "six@x.example", group_id: "grp-2" },
        ])
        assert.deepStrictEqual(yield* listed("groups"), [
          "all@x.example unsubscribe",
          "four@x.example unsubscribe",
          "six@x.example complaint",
          "three@x.example unsubscribe",
          "two@x.example unsubscribe",
        ])
        yield* (yield* Organizations).update(org("groups"), { group_opt_outs: ["*"] })
        yield* takeIn("groups", [
          optOut("seven", { message_type: "offers" }),
          { event: "group_resubscribe", event_id: "again-2", email: "all@x.example", group_id: "grp-9" },
        ])
        assert.includeMembers([...yield* listed("groups")], ["seven@x.example unsubscribe"])
        assert.notInclude(yield* listed("groups"), "all@x.example unsubscribe")
      }))

    it.effect("adds an address after the organization's number of consecutive soft bounces", () =>
      Effect.gen(function* () {
        yield* makeOrg("soft")
        yield* (yield* Organizations).update(org("soft"), { soft_bounce_limit: 3 })
        const bounce = (id: string, at: number) => ({
          event: id === "typed" ? "bounce" : "soft_bounce",
          bounce_type: "soft",
          event_id: id,
          tracking_id: "no-such",
          user_id: "Ada@example.com",
          timestamp: at,
        })
        const start = Date.now() - 10_000
        yield* takeIn("soft", [bounce("1", start), bounce("2", start + 1)])
        yield* takeIn("soft", bounce("2", start + 1))
        assert.deepStrictEqual(yield* listed("soft"), [], "an event that comes again counts once")
        yield* takeIn("soft", {
          event: "delivered",
          tracking_id: "no-such",
          user_id: "ADA@example.com",
          timestamp: start + 2,
        })
        yield* takeIn("soft", [bounce("3", start + 3), bounce("4", start + 4)])
        assert.deepStrictEqual(yield* listed("soft"), [], "a delivery begins the count anew")
        yield* takeIn("soft", bounce("typed", start + 5))
        assert.deepStrictEqual(yield* listed("soft"), ["ada@example.com soft_bounce"])
        yield* (yield* Suppressions).remove(org("soft"), "ada@example.com")
        yield* takeIn("soft", bounce("6", start + 6))
        assert.deepStrictEqual(yield* listed("soft"), [], "whoever is taken off the list has all of them again")
        yield* (yield* Organizations).update(org("soft"), { soft_bounce_limit: null })
        yield* takeIn("soft", Array.from({ length: 10 }, (_, i) => bounce(`more-${i}`, start + 7 + i)))
        assert.deepStrictEqual(yield* listed("soft"), [])
      }))

    it.effect("stops Deliver before a decision, with the most serious reason", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* furnish("deliver")
        yield* suppress("deliver", "ada@example.com", "unsubscribe")
        yield* suppress("deliver", "ada@example.com", "complaint")
        const refused = yield* Effect.flip(enqueue("deliver", "ADA@Example.com"))
        assert.deepInclude(refused, { _tag: "RecipientSuppressed", reason: "complaint" })
        assert.deepStrictEqual(yield* sql`SELECT 1 FROM decisions d WHERE d.org_slug = 'deliver'`, [])
        yield* enqueue("deliver", "ada+news@example.com")
        assert.strictEqual(
          (yield* Effect.flip(enqueue("deliver", "ada@example.com", {
            templateId: "no-such" as never,
          })))._tag,
          "TemplateNotFound",
        )
        const idempotency = { key: "k", digest: "d" }
        const queued = yield* enqueue("deliver", "bob@example.com", { idempotency })
        yield* suppress("deliver", "bob@example.com")
        const repeated = yield* enqueue("deliver", "bob@example.com", { idempotency })
        assert.deepStrictEqual(repeated, { id: queued.id, repeated: true }, "a repetition is answered as before")
      }))

    it.effect("lets a transactional template ignore only unsubscribes", () =>
      Effect.gen(function* () {
        yield* furnish("receipts")
        yield* (yield* Templates).update(org("receipts"), "t", { ignore_unsubscribes: true })
        yield* enqueue("receipts", "queued@example.com")
        for (const reason of ["complaint", "hard_bounce", "soft_bounce", "manual"] as const) {
          yield* suppress("receipts", `${reason}@example.com`, reason)
          assert.deepInclude(yield* Effect.flip(enqueue("receipts", `${reason}@example.com`)), { reason })
        }
        yield* suppress("receipts", "queued@example.com", "unsubscribe")
        yield* enqueue("receipts", "queued@example.com")
        assert.deepStrictEqual((yield* deliveriesOf("receipts")).map(({ state }) => state), ["queued", "queued"])
        yield* suppress("receipts", "queued@example.com", "hard_bounce")
        assert.deepStrictEqual((yield* deliveriesOf("receipts")).map(({ state }) => state), ["cancelled", "cancelled"])
      }))

    it.effect("cancels queued messages with the reason", () =>
      Effect.gen(function* () {
        yield* furnish("cancel")
        yield* enqueue("cancel", "Ada@example.com")
        yield* enqueue("cancel", "ada@EXAMPLE.com", { sendAt: Date.now() + 86_400_000 })
        yield* enqueue("cancel", "bob@example.com")
        yield* suppress("cancel", "ada@example.com", "unsubscribe", Date.parse("2026-03-04T05:06:07Z"))
        const rows = yield* deliveriesOf("cancel")
        assert.deepStrictEqual(rows.map(({ state }) => state), ["cancelled", "cancelled", "queued"])
        assert.strictEqual(rows[0]!.reason, "Suppressed: the recipient unsubscribed on 2026-03-04 (unsubscribe)")
        assert.isNotNull(rows[0]!.finishedAt)
        assert.strictEqual((yield* (yield* Deliveries).summary(org("cancel"))).cancelled, 2)
      }))

    it.effect("blocks nothing if the organization has disabled it", () =>
      Effect.gen(function* () {
        yield* furnish("off")
        yield* (yield* Organizations).update(org("off"), { suppression: false })
        yield* enqueue("off", "ada@example.com")
        yield* suppress("off", "ada@example.com", "complaint")
        yield* enqueue("off", "ada@example.com")
        assert.deepStrictEqual((yield* deliveriesOf("off")).map(({ state }) => state), ["queued", "queued"])
        assert.lengthOf(yield* listed("off"), 1)
      }))

    it.effect("keeps a digest of an erased person's address, which still blocks messages", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* furnish("erased")
        yield* suppress("erased", "Lovelace@example.com", "unsubscribe")
        yield* suppress("erased", "bob@example.com", "manual")
        yield* takeIn("erased", { event: "soft_bounce", tracking_id: "no-such", user_id: "lovelace@example.com" })
        const erasure = yield* (yield* Erasures).eraseNow({
          org: "erased",
          user: undefined,
          email: "LOVELACE@example.com",
        })
        assert.deepInclude(erasure.kept.map(({ count, kind }) => ({ kind, count })), { kind: "suppressions", count: 1 })
        assert.deepStrictEqual(yield* listed("erased"), ["bob@example.com manual", "null unsubscribe"])
        const rows = yield* sql<{ text: string }>`
          SELECT row_to_json(s)::text AS text FROM suppressions s WHERE s.org_slug = 'erased'
          UNION ALL SELECT row_to_json(b)::text FROM soft_bounces b WHERE b.org_slug = 'erased'`
        // A name with letters that no hexadecimal digest has.
        assert.notMatch(rows.map(({ text }) => text).join(), /lovelace/i)
        assert.deepInclude(yield* Effect.flip(enqueue("erased", "lovelace@EXAMPLE.com")), { reason: "unsubscribe" })
        const list = yield* Suppressions
        assert.deepInclude((yield* list.find(org("erased"), "lovelace@example.com"))[0], { address: null })
        yield* suppress("erased", "lovelace@example.com", "unsubscribe")
        yield* (yield* Erasures).eraseNow({ org: "erased", user: undefined, email: "lovelace@example.com" })
        assert.lengthOf(yield* listed("erased"), 2, "erased again, the person has one entry")
        assert.strictEqual(yield* list.remove(org("erased"), "Lovelace@Example.com"), 1)
      }))
  })

  layer(Layer.unwrap(Effect.map(environment, (env) => layerSending(env))), { excludeTestServices: true })((it) => {
    it.effect("is checked right before each attempt, even for messages not found in the queue", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const server = yield* receiver()
        yield* furnish("attempt", { url: server.url })
        const pause = (paused: boolean) =>
          Effect.flatMap(Connections, (connections) => connections.put(org("attempt"), "main", { paused }))
        yield* pause(true)
        yield* enqueue("attempt", "ada@example.com")
        yield* enqueue("attempt", "bob@example.com")
        // As an earlier release has queued them.
        yield* sql`UPDATE deliveries d SET address_key = NULL WHERE d.org_slug = 'attempt'`
        yield* suppress("attempt", "ADA@example.com", "complaint", Date.parse("2026-03-04T05:06:07Z"))
        assert.deepStrictEqual((yield* deliveriesOf("attempt")).map(({ state }) => state), ["queued", "queued"])
        yield* pause(false)
        yield* untilDone("attempt")
        const rows = yield* deliveriesOf("attempt")
        assert.deepStrictEqual(rows.map(({ state }) => state), ["cancelled", "sent"])
        assert.deepInclude(rows[0], {
          reason: "Suppressed: the recipient complained about spam on 2026-03-04 (complaint)",
          connection: null,
          attempts: 0,
        })
        assert.deepStrictEqual(server.requests.map(({ json }) => json.data.email), ["bob@example.com"])
        assert.deepInclude(yield* (yield* Deliveries).summary(org("attempt")), { sent: 1, cancelled: 1, failed: 0 })
      }))

    it.effect("blocks the next attempt of a message that is being retried", () =>
      Effect.gen(function* () {
        let suppressing: Promise<unknown> | undefined
        const context = yield* Effect.context<Suppressions>()
        const server = yield* receiver({
          fault: () => ({ status: 500 }),
          before: () => suppressing ??= Effect.runPromiseWith(context)(suppress("retry", "ada@example.com")),
        })
        yield* furnish("retry", { url: server.url })
        yield* enqueue("retry", "ada@example.com")
        yield* untilDone("retry")
        assert.deepStrictEqual((yield* deliveriesOf("retry")).map(({ state }) => state), ["cancelled"])
        assert.lengthOf(server.requests, 1, "the attempt during which the recipient unsubscribed")
      }))
  })
})

describe("digests of addresses", () => {
  const [first, second] = ["a1".repeat(32), "b2".repeat(32)]

  const keysWith = (env: Parameters<typeof layerQueue>[0], secretKey: string) =>
    Effect.scoped(Effect.gen(function* () {
      const context = yield* Layer.build(layerQueue(env, { SECRET_KEY: secretKey }))
      const keys = yield* Effect.provideContext(AddressKeys, context)
      return { all: yield* keys.of("Ada@example.com"), digest: yield* keys.digestOf("ada@EXAMPLE.com") }
    }))

  layer(Layer.empty, { excludeTestServices: true })((it) => {
    it.effect(
      "are created with the first key of the installation, and found with each of its keys",
      () =>
        Effect.scoped(Effect.gen(function* () {
          const env = yield* temporaryEnvironment
          const before = yield* keysWith(env, first)
          assert.match(before.digest!, /^hmac:[0-9a-f]{8}:[A-Za-z0-9_-]{43}$/)
          assert.include(before.all, "ada@example.com")
          assert.include(before.all, before.digest!)
          const rotated = yield* keysWith(env, `${second},${first}`)
          assert.notStrictEqual(rotated.digest, before.digest)
          assert.include(rotated.all, before.digest!)
          const without = yield* keysWith(env, "")
          assert.match(without.digest!, /^hmac:/)
        })),
      60_000,
    )
  })
})
