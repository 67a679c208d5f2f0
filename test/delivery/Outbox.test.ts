import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { ClaimChoice } from "../../src/delivery/DomainSessions.ts"
import { Deliveries } from "../../src/delivery/Deliveries.ts"
import { type Claimed, Outbox } from "../../src/delivery/Outbox.ts"
import type { CopyId } from "../../src/domain/Ids.ts"
import { Intake } from "../../src/intake/Intake.ts"
import { settle as learn } from "../learning/support.ts"
import { org, tallies } from "../intake/support.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { again, failed, leaseEnds, sent, take } from "./outboxSupport.ts"
import { deliveriesOf, enqueue, enqueueMany, furnish, layerQueue, statesOf } from "./support.ts"

describe("Outbox", () => {
  const environment = temporaryEnvironment
  layer(Layer.unwrap(Effect.map(environment, (env) => layerQueue(env))), { excludeTestServices: true })((it) => {
    const countsOf = Effect.fnUntraced(function* (slug: string) {
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql<{ state: string; count: number }>`
        SELECT c.state, sum(c.count)::float8 AS count FROM delivery_counts c WHERE c.org_slug = ${slug} GROUP BY c.state`
      return Object.fromEntries(rows.map(({ count, state }) => [state, count]))
    })
    const reports = Effect.fnUntraced(function* (slug: string) {
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql<{ body: string }>`
        SELECT convert_from(i.body, 'UTF8') AS body FROM inbox i WHERE i.org_slug = ${slug} ORDER BY i.id`
      return rows.flatMap(({ body }) => JSON.parse(body) as ReadonlyArray<Record<string, string>>)
    })
    const idle = Effect.flatMap(Outbox, (outbox) => outbox.idle)

    it.effect("assigns a lane to one of several claimants, and to the next after its release", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        yield* furnish("one-owner")
        const lane = org("one-owner")
        const all = yield* Effect.all(
          Array.from({ length: 8 }, (_, i) => outbox.take(lane, `owner ${i}`)),
          { concurrency: "unbounded" },
        )
        const [first, ...others] = all.filter((one) => one !== undefined)
        assert.deepStrictEqual(others, [])
        assert.deepStrictEqual([first!.fence, first!.quietMillis], [1, 0], "nobody has sent before")
        assert.isUndefined(yield* outbox.take(lane, "late"))
        assert.isTrue(yield* outbox.renew(first!, 3))
        assert.isUndefined(yield* outbox.take(lane, "late"))
        yield* outbox.release(first!)
        const second = yield* take("one-owner", "late")
        assert.strictEqual(second.fence, 2)
        assert.isTrue(second.quietMillis > 0 && second.quietMillis <= 1_000, "what left last may still be arriving")
        assert.isFalse(yield* outbox.renew(first!, 3))
        yield* outbox.release(first!)
        assert.isUndefined(yield* outbox.take(lane, "third"), "an owner of old releases nothing")
        // Handed over at once again and again, also within one tick of the store's clock.
        for (let lastOwner = second; lastOwner.fence < 22;) {
          yield* outbox.release(lastOwner)
          const next = yield* take("one-owner", "next")
          assert.strictEqual(next.fence, lastOwner.fence + 1)
          lastOwner = next
        }
      }))

    it.effect("takes over an expired lease with a new fence, and stays quiet until one second after expiry", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        yield* furnish("takeover")
        const first = yield* take("takeover")
        yield* leaseEnds("takeover", 1)
        assert.isUndefined(yield* outbox.take(org("takeover"), "two"))
        yield* leaseEnds("takeover", -0.4)
        const second = yield* take("takeover", "two")
        assert.strictEqual(second.fence, first.fence + 1)
        assert.isTrue(second.quietMillis > 0 && second.quietMillis <= 600, String(second.quietMillis))
        yield* leaseEnds("takeover", -2)
        assert.strictEqual((yield* take("takeover", "three")).quietMillis, 0)
        assert.deepStrictEqual([yield* outbox.renew(first, 0), yield* outbox.renew(second, 0)], [false, false])
      }))

    it.effect("claims due messages, oldest due time first", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        const sql = yield* SqlClient.SqlClient
        yield* furnish("order")
        const ids = yield* enqueueMany("order", 20)
        const shuffled = ids.map((id, i) => ({ id, ago: (i * 7) % 20 }))
        for (const { ago, id } of shuffled) {
          yield* sql`UPDATE deliveries d SET due_at = now() - ${
            ago + 1
          }::float8 * interval '1 second' WHERE d.id = ${id}`
        }
        yield* enqueue("order", "later@example.com", { sendAt: Date.now() + 3_600_000 })
        const lane = yield* take("order")
        const claimed = [
          ...yield* outbox.claim(lane, 7),
          ...yield* outbox.claim(lane, 7),
          ...yield* outbox.claim(lane, 9),
        ]
        assert.deepStrictEqual(
          claimed.map(({ id }) => id),
          shuffled.sort((a, b) => b.ago - a.ago).map(({ id }) => id),
        )
        assert.deepStrictEqual(yield* outbox.claim(lane, 10), [])
        assert.deepStrictEqual(yield* statesOf("order"), { sending: 20, queued: 1 })
        const [message] = claimed
        assert.deepInclude(message, {
          org: "order",
          templateId: "t",
          copyId: "a",
          attempt: 1,
          vars: { subject: `a for ${message!.email}`, body: `<p>${message!.email}</p>` },
        })
      }))

    it.effect("claims transactional messages first, but reserves a tenth for bulk messages", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        yield* furnish("first")
        yield* enqueueMany("first", 15)
        for (let n = 0; n < 30; n++) yield* enqueue("first", `t${n}@example.com`, { priority: "transactional" })
        const lane = yield* take("first")
        const kindsOf = (claimed: ReadonlyArray<Claimed>) => claimed.map(({ isTransactional }) => isTransactional)
        assert.deepStrictEqual(kindsOf(yield* outbox.claim(lane, 20)), [...Array(18).fill(true), false, false])
        const only = yield* outbox.claim(lane, 10, false, { isTransactional: true })
        assert.deepStrictEqual(
          only.map(({ email }) => email),
          Array.from({ length: 9 }, (_, n) => `t${n + 18}@example.com`),
        )
        assert.deepStrictEqual(kindsOf(yield* outbox.claim(lane, 20)), [
          ...Array(3).fill(true),
          ...Array(13).fill(false),
        ])
      }))

    it.effect("claims messages of one recipient domain or of all others", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        const sql = yield* SqlClient.SqlClient
        yield* furnish("domains")
        const emails = ["a@one.example", "b@Two.example", "c@three.example", "d@two.example", "e@old.example"]
        yield* Effect.forEach(emails, (email) => enqueue("domains", email))
        // A row of an earlier release.
        yield* sql`UPDATE deliveries d SET address_key = NULL WHERE d.org_slug = 'domains' AND d.email = ${emails[4]!}`
        const lane = yield* take("domains")
        const claim = (choice: ClaimChoice) =>
          Effect.map(
            outbox.claim(lane, 10, false, choice),
            (claimed) => claimed.map(({ domain, email }) => [email, domain]),
          )
        assert.deepStrictEqual(yield* claim({ without: ["two.example", "three.example"] }), [
          ["a@one.example", "one.example"],
          ["e@old.example", ""],
        ])
        assert.deepStrictEqual(yield* claim({ dueFrom: Date.now() + 60_000 }), [])
        assert.deepStrictEqual(yield* claim({ only: "two.example" }), [
          ["b@Two.example", "two.example"],
          ["d@two.example", "two.example"],
        ])
        assert.deepStrictEqual(yield* claim({ only: "two.example" }), [])
      }))

    it.effect("limits the size of a claim, but claims at least one message", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        yield* furnish("large", {
          variants: [{ id: "a" as CopyId, vars: { subject: "s", body: "{{ name }}" }, formats: {} }],
        })
        for (const n of [1, 2, 3, 4, 5, 6, 7, 8, 9]) {
          yield* enqueue("large", `p${n}@example.com`, { fields: { name: "x".repeat(1_000_000) } })
        }
        const lane = yield* take("large")
        const counts = [
          (yield* outbox.claim(lane, 50)).length,
          (yield* outbox.claim(lane, 50)).length,
          (yield* outbox.claim(lane, 50)).length,
        ]
        assert.deepStrictEqual(counts, [5, 4, 0])
      }))

    it.effect("claims each message once for concurrent claimants, and only of its own organization", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        yield* furnish("disjoint")
        yield* furnish("disjoint-other")
        const ids = yield* enqueueMany("disjoint", 100)
        const others = yield* enqueueMany("disjoint-other", 5)
        const lane = yield* take("disjoint")
        const claims = yield* Effect.all(Array.from({ length: 12 }, () => outbox.claim(lane, 10)), {
          concurrency: "unbounded",
        })
        const claimed = claims.flat().map(({ id }) => id)
        assert.strictEqual(new Set(claimed).size, claimed.length)
        claimed.push(...(yield* outbox.claim(lane, 100)).map(({ id }) => id))
        assert.deepStrictEqual(claimed.sort(), [...ids].sort())
        const foreign = yield* take("disjoint-other")
        yield* outbox.settle(foreign, claimed.map((id) => sent(id)))
        yield* outbox.giveBack(foreign, claimed)
        assert.deepStrictEqual(yield* statesOf("disjoint"), { sending: 100 })
        assert.deepStrictEqual((yield* outbox.claim(foreign, 10)).map(({ id }) => id).sort(), [...others].sort())
      }))

    it.effect("returns messages to the queue unchanged", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        yield* furnish("back")
        yield* enqueueMany("back", 4)
        const before = yield* deliveriesOf("back")
        const lane = yield* take("back")
        const claimed = yield* outbox.claim(lane, 10)
        yield* outbox.giveBack(lane, claimed.slice(1).map(({ id }) => id))
        yield* outbox.giveBack(lane, [])
        assert.deepStrictEqual(yield* statesOf("back"), { sending: 1, queued: 3 })
        yield* outbox.giveBack(lane, [claimed[0]!.id])
        assert.deepStrictEqual(yield* deliveriesOf("back"), before)
        assert.deepStrictEqual((yield* outbox.claim(lane, 10)).map(({ attempt }) => attempt), [1, 1, 1, 1])
      }))

    it.effect("prevents a previous owner from changing messages that were claimed again", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        yield* furnish("fence")
        const ids = yield* enqueueMany("fence", 6)
        const first = yield* take("fence")
        assert.strictEqual((yield* outbox.claim(first, 6)).length, 6)
        yield* leaseEnds("fence", -2)
        const second = yield* take("fence", "two")
        assert.deepStrictEqual(yield* statesOf("fence"), { queued: 6 }, "what was under way is put back")
        assert.deepStrictEqual(yield* outbox.claim(first, 6), [])
        assert.strictEqual((yield* outbox.claim(second, 6)).length, 6)
        yield* outbox.giveBack(first, ids)
        yield* outbox.settle(first, [sent(ids[0]!), failed(ids[1]!), again(ids[2]!, true)])
        assert.deepStrictEqual(yield* statesOf("fence"), { sending: 6 })
        assert.deepStrictEqual(yield* countsOf("fence"), {})
        assert.deepStrictEqual(yield* reports("fence"), [])
        yield* outbox.settle(second, ids.map((id) => sent(id)))
        assert.deepStrictEqual(yield* statesOf("fence"), { sent: 6 })
        yield* outbox.settle(first, ids.map((id) => failed(id)))
        yield* outbox.settle(second, ids.map((id) => sent(id)))
        assert.deepStrictEqual(yield* statesOf("fence"), { sent: 6 })
        assert.deepStrictEqual(yield* countsOf("fence"), { sent: 6 }, "counted once")
        assert.strictEqual((yield* reports("fence")).length, 6)
      }))

    it.effect("accepts the late result of a previous owner for a message that was not claimed again", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        yield* furnish("late")
        const ids = yield* enqueueMany("late", 3)
        const first = yield* take("late")
        yield* outbox.claim(first, 3)
        yield* leaseEnds("late", -2)
        const second = yield* take("late", "two")
        yield* outbox.settle(first, [sent(ids[0]!), failed(ids[1]!)])
        assert.deepStrictEqual((yield* outbox.claim(second, 3)).map(({ id }) => id), [ids[2]])
        assert.deepStrictEqual(yield* countsOf("late"), { sent: 1, failed: 1 })
      }))

    /** The process that holds the lane ends: the next one takes it. */
    const takeOver = (slug: string) => Effect.andThen(leaseEnds(slug, -2), take(slug, "next"))

    it.effect("fails a message after five consecutive interrupted attempts, and requeues the others", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        yield* furnish("poison")
        const ids = yield* enqueueMany("poison", 4)
        let lane = yield* take("poison")
        // Twice the process ends with all of them under way.
        for (let n = 0; n < 2; n++) {
          assert.deepStrictEqual((yield* outbox.claim(lane, 10)).map(({ id, isSuspect }) => [id, isSuspect]), [
            [ids[0], false],
            [ids[1], false],
            [ids[2], false],
            [ids[3], false],
          ])
          lane = yield* takeOver("poison")
        }
        // From then on one at a time, so that the third of them alone is there when the process ends.
        const poison = ids[2]!
        let interruptions = 2
        const order: Array<string> = []
        while (interruptions < 5) {
          const [message, ...others] = yield* outbox.claim(lane, 10)
          assert.deepStrictEqual(others, [])
          assert.isTrue(message!.isSuspect)
          assert.deepStrictEqual(yield* outbox.claim(lane, 10, true), [], "not beside another message")
          order.push(message!.id)
          if (message!.id !== poison) yield* outbox.settle(lane, [sent(message!.id)])
          else {
            lane = yield* takeOver("poison")
            interruptions++
            assert.strictEqual(lane.failed, interruptions === 5 ? 1 : 0)
          }
        }
        assert.deepStrictEqual(order, [ids[0], ids[1], poison, ids[3], poison, poison], "behind the others each time")
        assert.deepStrictEqual(yield* statesOf("poison"), { sent: 3, failed: 1 })
        const failure = (yield* deliveriesOf("poison")).find(({ id }) => id === poison)!
        assert.match(failure.reason!, /5 times in a row while it sent this message.* before you retry/)
        assert.isNotNull(failure.finishedAt)
        assert.deepStrictEqual(yield* countsOf("poison"), { sent: 3, failed: 1 })
        assert.deepInclude(yield* reports("poison"), {
          event: "failed",
          event_id: `${poison} failed`,
          tracking_id: poison,
          template_id: "t",
        })
        yield* (yield* Deliveries).retry(org("poison"), poison)
        assert.deepStrictEqual((yield* outbox.claim(lane, 10)).map(({ id, isSuspect }) => [id, isSuspect]), [
          [poison, false],
        ])
      }))

    it.effect("restarts the count of interruptions after a result, and does not count a returned message", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        yield* furnish("answered")
        const [a, b] = yield* enqueueMany("answered", 2)
        let lane = yield* take("answered")
        for (let n = 0; n < 8; n++) {
          const [message] = yield* outbox.claim(lane, 1)
          assert.deepInclude(message, { id: a!, isSuspect: false }, `attempt ${n}`)
          if (n % 2 === 0) lane = yield* takeOver("answered")
          else yield* outbox.settle(lane, [again(a!, false)])
          yield* (yield* SqlClient
            .SqlClient)`UPDATE deliveries d SET due_at = d.queued_at WHERE d.org_slug = 'answered'`
        }
        for (let n = 0; n < 6; n++) {
          yield* outbox.giveBack(lane, (yield* outbox.claim(lane, 2)).map(({ id }) => id))
          lane = yield* takeOver("answered")
        }
        assert.deepStrictEqual((yield* outbox.claim(lane, 2)).map(({ id }) => id), [a, b])
      }))

    it.effect("does not requeue an interrupted message of an erased person", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        yield* furnish("erased")
        yield* enqueueMany("erased", 1)
        yield* outbox.claim(yield* take("erased"), 1)
        yield* (yield* SqlClient.SqlClient)`
          UPDATE deliveries d SET email = NULL, vars = NULL WHERE d.org_slug = 'erased'`
        assert.strictEqual((yield* takeOver("erased")).failed, 0)
        assert.deepStrictEqual(yield* statesOf("erased"), { cancelled: 1 })
      }))

    it.effect("records state, reason, platform id, attempts and next due time of each result", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        yield* furnish("settle")
        const [a, b, c, d] = yield* enqueueMany("settle", 4)
        const lane = yield* take("settle")
        yield* outbox.claim(lane, 4)
        yield* outbox.settle(lane, [
          sent(a!),
          failed(b!, "no such mailbox"),
          again(c!, true, 3_600_000),
          again(d!, false),
        ])
        const rows = new Map((yield* deliveriesOf("settle")).map((row) => [row.id, row]))
        assert.deepInclude(rows.get(a!), { state: "sent", messageId: `m-${a}`, connection: "main", attempts: 0 })
        assert.deepInclude(rows.get(b!), { state: "failed", reason: "no such mailbox", attempts: 1, messageId: null })
        assert.deepInclude(rows.get(c!), { state: "queued", reason: "later", attempts: 1, finishedAt: null })
        assert.deepInclude(rows.get(d!), { state: "queued", reason: "later", attempts: 0, finishedAt: null })
        assert.isNotNull(rows.get(a!)!.finishedAt)
        assert.isAbove(rows.get(c!)!.dueAt.getTime(), Date.now() + 1_800_000)
        const claimed = yield* outbox.claim(lane, 4)
        assert.deepStrictEqual(claimed.map(({ attempt, id }) => [id, attempt]), [[d, 1]])
        assert.deepStrictEqual(yield* countsOf("settle"), { sent: 1, failed: 1 })
      }))

    it.effect("reports results to the inbox, so that a sent message counts and a failed one is no trial", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        yield* furnish("report")
        const [a, b, c] = yield* enqueueMany("report", 3)
        const lane = yield* take("report")
        yield* outbox.claim(lane, 3)
        yield* outbox.settle(lane, [sent(a!), failed(b!), again(c!, true)])
        assert.deepStrictEqual((yield* reports("report")).map(({ event, tracking_id }) => [event, tracking_id]), [
          ["sent", a],
          ["failed", b],
        ])
        yield* learn("report")
        const [line, ...others] = yield* tallies("report")
        assert.deepStrictEqual(others, [])
        assert.match(line!, /^a \S* ?learned: decisions 3, failed 1, sent 1, voided 1$/)
      }))

    it.effect("reports what a refusal says of the address, which is suppressed if it does not exist", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        const sql = yield* SqlClient.SqlClient
        yield* furnish("refusals")
        const { id: gone } = yield* enqueue("refusals", "gone@example.com")
        const { id: full } = yield* enqueue("refusals", "full@example.com")
        const { id: blocked } = yield* enqueue("refusals", "blocked@example.com")
        const lane = yield* take("refusals")
        yield* outbox.claim(lane, 3)
        yield* outbox.settle(lane, [
          failed(gone, "refused", "bounce"),
          failed(full, "refused", "soft_bounce"),
          failed(blocked, "refused", "failed"),
        ])
        assert.sameDeepMembers((yield* reports("refusals")).map(({ event, tracking_id }) => [event, tracking_id]), [
          ["bounce", gone],
          ["soft_bounce", full],
          ["failed", blocked],
        ])
        yield* (yield* Intake).drain
        assert.deepStrictEqual(
          yield* sql`SELECT s.address_key, s.reason FROM suppressions s WHERE s.org_slug = 'refusals'`,
          [{ addressKey: "gone@example.com", reason: "hard_bounce" }],
        )
        assert.deepStrictEqual(
          yield* sql`SELECT b.address_key, b.count FROM soft_bounces b WHERE b.org_slug = 'refusals'`,
          [{ addressKey: "full@example.com", count: 1 }],
        )
        assert.deepStrictEqual(yield* statesOf("refusals"), { failed: 3 })
      }))

    it.effect("links the platform's message id to the delivery, so that webhooks find the decision", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        const sql = yield* SqlClient.SqlClient
        yield* furnish("links")
        const [a, b] = yield* enqueueMany("links", 2)
        const lane = yield* take("links")
        yield* outbox.claim(lane, 2)
        const links = [{ source: "provider_a", messageKey: "dispatch-1" }] as const
        yield* outbox.settle(lane, [sent(a!, { links } as never), sent(b!, { links } as never)])
        const rows = yield* sql`
          SELECT l.source, l.message_key, l.tracking_id FROM attribution_links l WHERE l.org_slug = 'links'`
        assert.strictEqual(rows.length, 1, "the first one keeps a name that is given out twice")
        assert.deepInclude(rows[0], { source: "provider_a", messageKey: "dispatch-1" })
        yield* (yield* Intake).drain
        assert.deepStrictEqual(yield* statesOf("links"), { sent: 2 })
      }))

    it.effect("lists organizations that have a free lane and due or abandoned messages", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        for (const slug of ["idle-due", "idle-later", "idle-held", "idle-left", "idle-done"]) yield* furnish(slug)
        for (const slug of ["idle-due", "idle-held", "idle-left", "idle-done"]) yield* enqueueMany(slug, 1)
        yield* enqueue("idle-later", "later@example.com", { sendAt: Date.now() + 3_600_000 })
        yield* take("idle-held")
        yield* outbox.claim(yield* take("idle-left"), 1)
        yield* leaseEnds("idle-left", -2)
        const done = yield* take("idle-done")
        yield* outbox.settle(done, (yield* outbox.claim(done, 1)).map(({ id }) => sent(id)))
        yield* leaseEnds("idle-done", -2)
        assert.deepStrictEqual((yield* idle).filter((slug) => slug.startsWith("idle-")).sort(), [
          "idle-due",
          "idle-left",
        ])
      }))
  })
})
