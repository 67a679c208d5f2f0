import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Connections } from "../../src/delivery/Connections.ts"
import { Deliveries } from "../../src/delivery/Deliveries.ts"
import type { DeliverRequest } from "../../src/delivery/DeliverRequest.ts"
import type { TemplateId } from "../../src/domain/Ids.ts"
import { Templates } from "../../src/templates/Templates.ts"
import { org } from "../intake/support.ts"
import { type RecipientOptions, startRecipientServer } from "../support/platformServers/RecipientServer.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { deliveriesOf, enqueue, furnish, layerSending, statesOf, until, untilDone } from "./support.ts"

/** A server that ends with the test, and an organization whose deliveries leave through it. */
const connected = Effect.fnUntraced(function* (
  slug: string,
  options: RecipientOptions = {},
  settings: Readonly<Record<string, unknown>> = {},
) {
  const server = yield* Effect.acquireRelease(
    Effect.promise(() => startRecipientServer(options)),
    (server) => Effect.promise(() => server.close()),
  )
  yield* furnish(slug)
  yield* (yield* Connections).put(org(slug), "relay", {
    platform: "smtp",
    settings: {
      host: "127.0.0.1",
      port: server.port,
      tls: "none",
      from: "shop@example.com",
      connections: 5,
      ...settings,
    },
    default: true,
    paused: true,
  })
  const reached = () =>
    new Set(server.attempts.filter(({ outcome }) => outcome === "accepted").map(({ email }) => email))
  const isReached = (emails: ReadonlyArray<string>) => {
    const all = reached()
    return emails.every((email) => all.has(email))
  }
  return {
    server,
    /** Queues messages in this order while nothing leaves, then lets them leave. */
    send: Effect.fnUntraced(function* (emails: ReadonlyArray<string>, more: Partial<DeliverRequest> = {}) {
      // Nearly in this order.
      yield* Effect.forEach(emails, (email) => enqueue(slug, email, more), { concurrency: 10 })
      yield* (yield* Connections).put(org(slug), "relay", { paused: false })
    }),
    /** Waits until all of these have been accepted. */
    untilReached: (emails: ReadonlyArray<string>) => Effect.promise(() => server.until(() => isReached(emails))),
    attemptsAt: (domain: string) => server.attempts.filter(({ email }) => email.endsWith(`@${domain}`)),
  }
})

/** `count` addresses at a domain. */
const people = (count: number, domain: string) => Array.from({ length: count }, (_, n) => `p${n}@${domain}`)

describe("Recipients", () => {
  // More messages a second than these tests send: what they show does not depend on the limit.
  const services = Effect.map(temporaryEnvironment, (env) => layerSending(env, { DELIVERY_RATE: "2000" }))
  layer(Layer.unwrap(services), { excludeTestServices: true })((it) => {
    it.effect("receive mail at once although 40 greylisted recipients come first", () =>
      Effect.gen(function* () {
        const { attemptsAt, send, untilReached } = yield* connected("greylisted", { greyMillis: Infinity })
        const good = people(120, "good.example")
        yield* send([...people(40, "grey.example"), ...good])
        yield* untilReached(good)
        assert.isTrue(attemptsAt("grey.example").every(({ outcome }) => outcome === "451"))
        assert.isNull((yield* (yield* Connections).get(org("greylisted"), "relay")).trouble)
      }))

    it.effect("share several sessions at a greylisting domain while no other message waits", () =>
      Effect.gen(function* () {
        const { send, server } = yield* connected("grey-alone", { greyMillis: Infinity, greyReplyMillis: 50 })
        const emails = people(120, "grey.example")
        yield* send(emails)
        const tried = () => new Set(server.attempts.map(({ email }) => email))
        yield* Effect.promise(() => server.until(() => tried().size === emails.length))
        // The first ones leave before the domain is known to greylist.
        const later = server.attempts.slice(40)
        assert.isAbove(later.filter(({ pending }) => pending > 1).length, later.length / 2)
        assert.isAtMost(server.mostSessions(), 5)
      }))

    it.effect("receive mail although ten domains that never answer come first", () =>
      Effect.gen(function* () {
        const { attemptsAt, send, server, untilReached } = yield* connected("tarpits", { tarMillis: 3_600_000 })
        const good = people(100, "good.example")
        yield* send([...Array.from({ length: 10 }, (_, n) => `p@tar${n}.example`), ...good])
        yield* untilReached(good)
        assert.strictEqual(attemptsAt("good.example").length, 100)
        assert.isAtMost(server.mostSessions(), 5)
        // Sessions that were given up cost their messages no attempt.
        assert.isTrue((yield* deliveriesOf("tarpits")).every(({ attempts }) => attempts === 0))
      }))

    it.effect("receive mail at once although 40 greylisted recipients of their domain come first", () =>
      Effect.gen(function* () {
        const { send, untilReached } = yield* connected("same-domain", { greyMillis: Infinity })
        const good = people(60, "shop.example")
        yield* send([...Array.from({ length: 40 }, (_, n) => `grey${n}@shop.example`), ...good])
        yield* untilReached(good)
      }))

    for (const place of [0, 200]) {
      it.effect(`receive mail although 150 refused addresses of one domain come after ${place} of them`, () =>
        Effect.gen(function* () {
          const slug = `gone-${place}`
          const { attemptsAt, send, untilReached } = yield* connected(slug)
          const good = people(220, "good.example")
          yield* send([...good.slice(0, place), ...people(150, "unknown.example"), ...good.slice(place)])
          yield* untilReached(good)
          yield* untilDone(slug)
          // The server may see one more when a slow reply was not waited for, which costs the message no attempt.
          const refused = (yield* deliveriesOf(slug)).filter(({ email }) => email.endsWith("@unknown.example"))
          assert.lengthOf(refused, 150)
          assert.deepStrictEqual(refused.filter(({ attempts, state }) => attempts !== 1 || state !== "failed"), [])
          assert.strictEqual(new Set(attemptsAt("unknown.example").map(({ email }) => email)).size, 150)
          assert.isNull((yield* (yield* Connections).get(org(slug), "relay")).trouble)
        }))
    }

    it.effect("pause the connection if recipients at several domains are refused", () =>
      Effect.gen(function* () {
        const slug = "all-refused"
        const { send, server } = yield* connected(slug)
        const words = Array.from({ length: 12 }, (_, n) => `unknown${n}.example`)
        yield* send(words.flatMap((domain) => people(15, domain)))
        yield* until(
          "it refuses",
          Effect.map((yield* Connections).get(org(slug), "relay"), ({ trouble }) => trouble?.state === "refusing"),
        )
        yield* until("nothing is under way", Effect.map(statesOf(slug), ({ sending = 0 }) => sending === 0))
        const { failed = 0 } = yield* statesOf(slug)
        assert.isAtMost(failed, 120)
        assert.isAtMost(server.attempts.length, 120)
      }))

    it.effect("receive transactional messages before bulk messages that were queued earlier", () =>
      Effect.gen(function* () {
        const { send, server, untilReached } = yield* connected("priorities")
        const bulk = people(200, "bulk.example")
        const urgent = people(20, "urgent.example")
        yield* send(bulk)
        yield* Effect.promise(() => server.until(() => server.attempts.length >= 10))
        yield* send(urgent, { priority: "transactional" })
        yield* untilReached([...bulk, ...urgent])
        const emails = server.attempts.map(({ email }) => email)
        const last = Math.max(...urgent.map((email) => emails.indexOf(email)))
        assert.isBelow(last, 180, "bulk messages that were queued first left after the last of them")
      }))

    it.effect("receive messages with the priority of the template, unless the request sets one", () =>
      Effect.gen(function* () {
        const slug = "by-template"
        yield* furnish(slug)
        yield* (yield* Connections).put(org(slug), "main", { paused: true })
        yield* enqueue(slug, "a@example.com")
        yield* (yield* Templates).update(org(slug), "t" as TemplateId, { ignore_unsubscribes: true })
        yield* enqueue(slug, "b@example.com")
        yield* enqueue(slug, "c@example.com", { priority: "bulk" })
        const listing = { state: undefined, email: undefined, cursor: undefined, limit: 10 }
        const listed = yield* (yield* Deliveries).list(org(slug), listing)
        assert.deepStrictEqual(listed.map(({ email, priority }) => [email, priority]).sort(), [
          ["a@example.com", "bulk"],
          ["b@example.com", "transactional"],
          ["c@example.com", "bulk"],
        ])
      }))

    it.effect("receive all mail at the first attempt from a server that grants fewer sessions than configured", () =>
      Effect.gen(function* () {
        const slug = "few-sessions"
        const options = { maxSessions: 3, acceptMillis: 20 }
        const { send, server, untilReached } = yield* connected(slug, options, { connections: 20 })
        const all = [...people(50, "good.example"), ...people(50, "fine.example")]
        yield* send(all)
        yield* untilReached(all)
        yield* untilDone(slug)
        const stored = yield* deliveriesOf(slug)
        // No message has a failed attempt.
        assert.deepStrictEqual(stored.filter(({ attempts, state }) => attempts > 0 || state !== "sent"), [])
        // Nor was any message moved to the end of the queue.
        assert.deepStrictEqual(stored.filter(({ dueAt, queuedAt }) => dueAt.getTime() !== queuedAt.getTime()), [])
        assert.lengthOf(server.attempts, 100)
        assert.isNull((yield* (yield* Connections).get(org(slug), "relay")).trouble)
      }))

    it.effect("receive mail over three granted sessions although ten domains never answer", () =>
      Effect.gen(function* () {
        const options = { maxSessions: 3, tarMillis: 3_600_000 }
        const { send, untilReached } = yield* connected("few-and-tarpits", options, { connections: 20 })
        const good = people(100, "good.example")
        yield* send([...Array.from({ length: 10 }, (_, n) => `p@tar${n}.example`), ...good])
        yield* untilReached(good)
        const reached = (yield* deliveriesOf("few-and-tarpits")).filter(({ email }) => email.endsWith("@good.example"))
        assert.lengthOf(reached, 100)
        assert.isTrue(reached.every(({ attempts }) => attempts === 0))
      }))

    it.effect("are sent or failed according to the answers of their own server", () =>
      Effect.gen(function* () {
        const { send } = yield* connected("mixed", { greyMillis: 10, busyMillis: 10, tarMillis: 10 })
        const words = ["grey", "busy", "unknown", "spam", "cut", "tar", "good"]
        yield* send(words.flatMap((word) => people(3, `${word}.example`)))
        yield* untilDone("mixed")
        const ended = (yield* deliveriesOf("mixed")).map(({ email, state }) => `${email.slice(3)} ${state}`)
        assert.deepStrictEqual([...new Set(ended)].sort(), [
          "busy.example sent",
          "cut.example sent",
          "good.example sent",
          "grey.example sent",
          "spam.example failed",
          "tar.example sent",
          "unknown.example failed",
        ])
      }))
  })
})
