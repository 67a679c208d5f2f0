import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Metric, Queue, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { Decider } from "../../src/decide/Decider.ts"
import { DeliveryQueue } from "../../src/delivery/DeliveryQueue.ts"
import { Connections } from "../../src/delivery/Connections.ts"
import type { CopyId, TemplateId } from "../../src/domain/Ids.ts"
import { Inbox } from "../../src/journal/inbox/Inbox.ts"
import { Intake } from "../../src/intake/Intake.ts"
import { Organizations } from "../../src/organizations/Organizations.ts"
import { Profiles } from "../../src/profiles/Profiles.ts"
import { makeOrg, org, tallies } from "../intake/support.ts"
import { settle as learn } from "../learning/support.ts"
import { waitUntil } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import {
  asked,
  decisionsOf,
  deliveriesOf,
  enqueue,
  enqueueMany,
  furnish,
  layerQueue,
  statesOf,
  variants,
} from "./support.ts"

const key = (name: string, digest = "one body") => ({ key: name, digest })

describe("DeliveryQueue", () => {
  const environment = temporaryEnvironment
  layer(Layer.unwrap(Effect.map(environment, (env) => layerQueue(env))), { excludeTestServices: true })((it) => {
    const nothing = Effect.fnUntraced(function* (slug: string, message: string) {
      assert.deepStrictEqual(yield* deliveriesOf(slug), [], message)
      assert.deepStrictEqual(yield* decisionsOf(slug), [], message)
    })
    const refused = (slug: string, email: string, more: Parameters<typeof asked>[1] = {}) =>
      Effect.flip(enqueue(slug, email, more))

    it.effect("stores the rendered message and its decision under one id", () =>
      Effect.gen(function* () {
        yield* furnish("stored")
        const { id, repeated } = yield* enqueue("stored", "ada@example.com", { fields: { name: "Ada <3" } })
        assert.isFalse(repeated)
        const [row, ...more] = yield* deliveriesOf("stored")
        assert.deepStrictEqual(more, [])
        assert.deepInclude(row, { id, state: "queued", email: "ada@example.com", copyId: "a", attempts: 0 })
        assert.strictEqual(row!.vars["subject"], "a for Ada <3")
        const decisions = yield* decisionsOf("stored")
        assert.deepStrictEqual(decisions, [{ trackingId: id, copyId: "a", mode: "single", userId: "ada@example.com" }])
        yield* learn("stored")
        assert.match((yield* tallies("stored")).join(), /^a \S* ?learned: decisions 1$/)
      }))

    it.effect("assigns each message a unique id, in the order of queueing", () =>
      Effect.gen(function* () {
        yield* furnish("ids")
        const ids: Array<string> = []
        for (let i = 0; i < 20; i++) ids.push((yield* enqueue("ids", `p${i}@example.com`)).id)
        assert.deepStrictEqual([...ids].sort(), ids)
        assert.deepStrictEqual((yield* deliveriesOf("ids")).map(({ id }) => id), ids)
        yield* enqueueMany("ids", 200)
        assert.deepStrictEqual(yield* statesOf("ids"), { queued: 220 })
        assert.strictEqual((yield* decisionsOf("ids")).length, 220)
      }))

    it.effect("stores neither message nor decision if one message of a group is refused by the database, but stores the others", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        for (const [slug, stickyHours] of [["poison", 0], ["poison-sticky", 1]] as const) {
          yield* furnish(slug, { stickyHours })
        }
        yield* sql.unsafe(`
          CREATE OR REPLACE FUNCTION refuse_poison() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF NEW.email = 'poison@example.com' THEN RAISE EXCEPTION 'poison' USING ERRCODE = '23514'; END IF;
            RETURN NEW;
          END $$`)
        yield* sql.unsafe(
          `CREATE TRIGGER refuse_poison BEFORE INSERT ON deliveries FOR EACH ROW EXECUTE FUNCTION refuse_poison()`,
        )
        const stored = Effect.map(
          Metric.value(Metric.counter("parlance_decisions_stored_total", { incremental: true })),
          ({ count }) => count,
        )
        for (const slug of ["poison", "poison-sticky"]) {
          const before = yield* stored
          const answers = yield* Effect.all(
            Array.from(
              { length: 20 },
              (_, i) => Effect.exit(enqueue(slug, i === 7 ? "poison@example.com" : `p${i}@example.com`)),
            ),
            { concurrency: "unbounded" },
          )
          const good = answers.filter((exit) => exit._tag === "Success").length
          assert.strictEqual(good, 19, slug)
          assert.strictEqual((yield* deliveriesOf(slug)).length, good)
          const decided = yield* decisionsOf(slug)
          assert.strictEqual(decided.length, good)
          assert.strictEqual((yield* stored) - before, good, "each is counted when it is committed")
          assert.notInclude(decided.map(({ userId }) => userId), "poison@example.com")
        }
        yield* sql.unsafe(`DROP TRIGGER refuse_poison ON deliveries`)
        yield* enqueue("poison-sticky", "poison@example.com")
        assert.strictEqual((yield* decisionsOf("poison-sticky")).length, 20, "the choice was not kept either")
        const before = yield* stored
        for (const trackingId of ["one", "two"]) {
          yield* (yield* Decider).decide("poison-sticky", {
            templateId: "t" as TemplateId,
            trackingId,
            userId: "somebody",
            fields: { name: "Ada" },
            attrs: new Map(),
          })
        }
        assert.strictEqual((yield* stored) - before, 1, "the second repeats the first")
      }))

    it.effect("rejects messages while the database cannot store them, and never sends them later", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        for (const [slug, stickyHours] of [["down", 0], ["down-sticky", 1]] as const) {
          yield* furnish(slug, { stickyHours })
        }
        yield* sql`ALTER TABLE deliveries RENAME TO deliveries_away`
        const errors = yield* Effect.all(
          ["down", "down-sticky"].flatMap((slug) =>
            Array.from({ length: 5 }, (_, i) => refused(slug, `p${i}@x.example`))
          ),
          { concurrency: "unbounded" },
        )
        yield* sql`ALTER TABLE deliveries_away RENAME TO deliveries`
        assert.deepStrictEqual(new Set(errors.map(({ _tag }) => _tag)), new Set(["BufferFull"]))
        // A client tries again until the store takes messages again.
        yield* Effect.retry(enqueue("down", "back@example.com"), Schedule.spaced("20 millis"))
        assert.deepStrictEqual((yield* deliveriesOf("down")).map(({ email }) => email), ["back@example.com"])
        assert.strictEqual((yield* decisionsOf("down")).length, 1)
        yield* nothing("down-sticky", "a sticky choice is rolled back")
      }))

    it.effect("rejects a request that cannot be queued with its reason", () =>
      Effect.gen(function* () {
        yield* makeOrg("refusals-none")
        assert.strictEqual((yield* refused("refusals-none", "a@example.com"))._tag, "NotEnabled")
        assert.strictEqual((yield* refused("refusals-nobody", "a@example.com"))._tag, "NotEnabled")
        yield* furnish("refusals", {
          strict: true,
          variants: [
            {
              id: "gold" as CopyId,
              vars: { subject: "{{ name }}, {{ missing }}" },
              targeting: [{ attribute: "tier", op: "is", values: ["gold"] }],
            },
          ],
        })
        const gold = new Map([["tier", ["gold"]]])
        const cases = [
          ["NoCandidate", {}],
          ["NoCandidate", { attrs: new Map([["tier", ["silver"]]]) }],
          ["TemplateNotFound", { templateId: "none" as TemplateId }],
          ["VariantNotFound", { copyId: "none" as CopyId }],
          ["NotRendered", { attrs: gold }],
          ["NotRendered", { copyId: "gold" as CopyId }],
        ] as const
        for (const [tag, more] of cases) {
          const error = yield* refused("refusals", "a@example.com", { ...more, idempotency: key("kept free") })
          assert.strictEqual(error._tag, tag, JSON.stringify(more))
        }
        const fields = { name: "Ada", missing: "here" }
        const { repeated } = yield* enqueue("refusals", "a@example.com", {
          attrs: gold,
          fields,
          idempotency: key("kept free"),
        })
        assert.isFalse(repeated, "what was refused does not use up its key")
        yield* (yield* Connections).put(org("refusals"), "main", { enabled: false })
        assert.strictEqual((yield* refused("refusals", "b@example.com", { attrs: gold, fields }))._tag, "NotEnabled")
        yield* (yield* Connections).put(org("refusals"), "main", { enabled: true, paused: true })
        yield* enqueue("refusals", "b@example.com", { attrs: gold, fields })
        assert.deepStrictEqual(yield* statesOf("refusals"), { queued: 2 }, "what is paused still takes messages")
      }))

    it.effect("queues one message for 200 parallel requests with one idempotency key", () =>
      Effect.gen(function* () {
        yield* furnish("same", { variants: variants("a", "b", "c") })
        yield* furnish("same-sticky", { variants: variants("a", "b", "c"), stickyHours: 1 })
        for (const slug of ["same", "same-sticky"]) {
          const answers = yield* Effect.all(
            Array.from({ length: 200 }, () => enqueue(slug, "a@example.com", { idempotency: key("k") })),
            { concurrency: "unbounded" },
          )
          const [delivery, ...more] = yield* deliveriesOf(slug)
          assert.deepStrictEqual(more, [], slug)
          assert.deepStrictEqual(new Set(answers.map(({ id }) => id)), new Set([delivery!.id]))
          assert.strictEqual(answers.filter(({ repeated }) => !repeated).length, 1)
          const decisions = yield* decisionsOf(slug)
          assert.deepStrictEqual(decisions.map(({ copyId, trackingId }) => [trackingId, copyId]), [[
            delivery!.id,
            delivery!.copyId,
          ]])
          const aliases = yield* (yield* SqlClient.SqlClient)`
            SELECT a.alias FROM tracking_aliases a WHERE a.org_slug = ${slug}`
          assert.deepStrictEqual(aliases, [], "a repetition leaves nothing behind")
        }
      }))

    it.effect("rejects an idempotency key used with another body, but accepts it from another organization", () =>
      Effect.gen(function* () {
        yield* furnish("reused")
        yield* furnish("reused-other")
        const first = yield* enqueue("reused", "a@example.com", { idempotency: key("k") })
        assert.strictEqual(
          (yield* refused("reused", "b@example.com", { idempotency: key("k", "other") }))._tag,
          "KeyReused",
        )
        assert.deepStrictEqual(yield* enqueue("reused", "a@example.com", { idempotency: key("k") }), {
          id: first.id,
          repeated: true,
        })
        assert.isFalse((yield* enqueue("reused-other", "a@example.com", { idempotency: key("k") })).repeated)
        const bodies = yield* Effect.all(
          Array.from(
            { length: 40 },
            (_, i) =>
              Effect.exit(
                enqueue("reused", `p${i % 2}@example.com`, { idempotency: key("two bodies", `body ${i % 2}`) }),
              ),
          ),
          { concurrency: "unbounded" },
        )
        assert.strictEqual(
          bodies.filter((exit) => exit._tag === "Success").length,
          20,
          "those with the body that was first",
        )
        assert.strictEqual((yield* deliveriesOf("reused")).length, 2)
      }))

    it.effect("accepts an idempotency key again after 24 hours", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const aged = (hours: number) =>
          sql`UPDATE idempotency_keys k SET created_at = now() - ${hours}::float8 * interval '1 hour' WHERE k.org_slug = 'aged'`
        yield* furnish("aged")
        const first = yield* enqueue("aged", "a@example.com", { idempotency: key("k") })
        yield* aged(23.9)
        assert.isTrue((yield* enqueue("aged", "a@example.com", { idempotency: key("k") })).repeated)
        yield* aged(24.1)
        const again = yield* Effect.all(
          Array.from({ length: 10 }, () => enqueue("aged", "b@example.com", { idempotency: key("k", "another") })),
          { concurrency: "unbounded" },
        )
        const fresh = new Set(again.map(({ id }) => id))
        assert.strictEqual(fresh.size, 1)
        assert.isFalse(fresh.has(first.id))
        assert.strictEqual(again.filter(({ repeated }) => !repeated).length, 1)
        assert.strictEqual((yield* deliveriesOf("aged")).length, 2)
      }))

    it.effect("reuses the sticky variant of a person for each new message without a new decision", () =>
      Effect.gen(function* () {
        yield* furnish("sticky", { stickyHours: 24, variants: variants("a", "b", "c", "d") })
        const messages = yield* Effect.all(
          Array.from({ length: 12 }, () => enqueue("sticky", "ada@example.com")),
          { concurrency: 4 },
        )
        const rows = yield* deliveriesOf("sticky")
        assert.strictEqual(rows.length, 12)
        assert.strictEqual(new Set(messages.map(({ id }) => id)).size, 12)
        assert.strictEqual(new Set(rows.map(({ copyId }) => copyId)).size, 1, "one variant for one person")
        const [decision, ...more] = yield* decisionsOf("sticky")
        assert.deepStrictEqual(more, [])
        // Events of each of the messages are attributed to that decision.
        const inbox = yield* Inbox
        const clicks = messages.map(({ id }) => ({ event: "click", tracking_id: id, event_id: id }))
        const body = new TextEncoder().encode(JSON.stringify(clicks))
        yield* inbox.store({ org: org("sticky"), source: "events", headers: {}, body })
        yield* learn("sticky")
        const events = yield* (yield* SqlClient.SqlClient)<{ trackingId: string | null; status: string }>`
          SELECT e.tracking_id, e.status FROM events e WHERE e.org_slug = 'sticky'`
        assert.strictEqual(events.length, 12)
        assert.deepStrictEqual(new Set(events.map(({ status }) => status)), new Set(["attributed"]))
        assert.match((yield* tallies("sticky")).join(), new RegExp(`^${decision!.copyId} .*click 1, decisions 1`))
      }))

    it.effect("records a forced variant as forced, independent of targeting, also of a sticky template", () =>
      Effect.gen(function* () {
        const targeted = [
          { id: "b" as CopyId, vars: { subject: "b" }, targeting: [{ attribute: "x", op: "exists", values: [] }] },
        ] as const
        for (const [slug, stickyHours] of [["forced", 0], ["forced-sticky", 5]] as const) {
          yield* furnish(slug, { stickyHours, variants: [...variants("a"), ...targeted] })
          yield* enqueue(slug, "ada@example.com", { copyId: "b" as CopyId })
          yield* enqueue(slug, "ada@example.com")
          assert.deepStrictEqual((yield* decisionsOf(slug)).map(({ copyId, mode }) => [copyId, mode]), [
            ["b", "forced"],
            ["a", "single"],
          ])
          assert.deepStrictEqual((yield* deliveriesOf(slug)).map(({ copyId }) => copyId), ["b", "a"])
        }
      }))

    it.effect("includes traits of the recipient in the attributes", () =>
      Effect.gen(function* () {
        yield* furnish("traits", {
          variants: [{
            id: "gold" as CopyId,
            vars: { subject: "gold" },
            targeting: [{ attribute: "tier", op: "is", values: ["gold"] }],
          }],
        })
        const body = new TextEncoder().encode(JSON.stringify({
          type: "identify",
          messageId: "m1",
          userId: "ada@example.com",
          traits: { tier: "Gold" },
          timestamp: new Date().toISOString(),
          version: 2,
        }))
        yield* (yield* Inbox).store({ org: org("traits"), source: "provider_d", headers: {}, body })
        yield* (yield* Intake).drain
        const profiles = yield* Profiles
        yield* Effect.promise(() =>
          waitUntil("the profiles are noticed", () =>
            profiles.attributes("traits", "ada@example.com", new Map()) !== undefined)
        )
        yield* enqueue("traits", "ada@example.com")
        assert.strictEqual((yield* refused("traits", "bob@example.com"))._tag, "NoCandidate")
        assert.deepStrictEqual(
          (yield* deliveriesOf("traits")).map(({ email }) =>
            email
          ),
          ["ada@example.com"],
        )
      }))

    it.effect("sets the due time to now or to the requested time, and notifies the dispatcher of messages due now", () =>
      Effect.gen(function* () {
        yield* furnish(org("scheduled"))
        const { due } = yield* DeliveryQueue
        const at = Date.now() + 3_600_000
        yield* enqueue("scheduled", "later@example.com", { sendAt: at })
        yield* enqueue("scheduled", "past@example.com", { sendAt: 0 })
        const [later, past] = yield* deliveriesOf(org("scheduled"))
        assert.strictEqual(later!.dueAt.getTime(), at)
        assert.deepStrictEqual(past!.dueAt, past!.queuedAt)
        assert.include(yield* Queue.takeAll(due), org("scheduled"))
      }))

    it.effect("sets the due time to an allowed time before the expiry if the send time is optimized", () =>
      Effect.gen(function* () {
        yield* furnish(org("nightly"))
        // Quiet for 40 minutes from now on, and then for all but 20 minutes of the day.
        const minute = 60_000
        const openAt = Math.ceil(Date.now() / minute) * minute + 40 * minute
        const clock = (at: number) => new Date(at).toISOString().slice(11, 16)
        yield* (yield* Organizations).update(org("nightly"), {
          quiet_hours: { from: clock(openAt + 20 * minute), to: clock(openAt) },
        })
        const expiresAt = openAt + 10 * minute
        yield* enqueue("nightly", "ann@example.com", { optimizeSendTime: true, expiresAt })
        const [message] = yield* deliveriesOf(org("nightly"))
        assert.isTrue(message!.dueAt.getTime() >= openAt && message!.dueAt.getTime() < expiresAt)
      }))
  })
})
