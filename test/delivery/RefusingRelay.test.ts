import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Exit, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { Connections } from "../../src/delivery/Connections.ts"
import { Changes } from "../../src/organizations/Changes.ts"
import { org } from "../intake/support.ts"
import { type SmtpFault, startSmtp } from "../support/platformServers/SmtpReceiver.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { receiver } from "./receiver.ts"
import { enqueue, enqueueMany, furnish, layerQueue, layerSending, statesOf, until, untilDone } from "./support.ts"

const blocked: SmtpFault = { at: "data", reply: "554 5.7.1 Blocked: your account is suspended" }

/** An organization whose messages go to an SMTP server on this machine, and wait at first. */
const furnishSmtp = Effect.fnUntraced(function* (
  slug: string,
  fault: (n: number) => SmtpFault | undefined,
  connections = 5,
) {
  const server = yield* Effect.acquireRelease(
    Effect.promise(() => startSmtp({ plain: true, fault })),
    ({ close }) => Effect.promise(close),
  )
  yield* furnish(slug)
  const settings = { host: "127.0.0.1", port: server.port, tls: "none", from: "news@shop.example", connections }
  yield* (yield* Connections).put(org(slug), "mail", { platform: "smtp", settings, default: true, paused: true })
  return { server, settings }
})

const start = (slug: string) => Effect.flatMap(Connections, (connections) => connections.resume(org(slug), "mail"))

const setupOf = (slug: string) => Effect.flatMap(Connections, (connections) => connections.get(org(slug), "mail"))

const isRefusing = (slug: string) => Effect.map(setupOf(slug), ({ trouble }) => trouble?.state === "refusing")

/** Waits until the connection has braked and nothing is under way. */
const untilBraked = (slug: string) =>
  Effect.andThen(
    until(`${slug} refuses`, isRefusing(slug)),
    until(`nothing of ${slug} is under way`, Effect.map(statesOf(slug), ({ sending = 0 }) => sending === 0)),
  )

describe("Dispatcher with a platform that refuses everything", () => {
  layer(Layer.unwrap(Effect.map(temporaryEnvironment, (env) => layerSending(env))), { excludeTestServices: true })(
    (it) => {
      for (const sessions of [1, 5, 20]) {
        it.effect(`pauses the connection after 20 messages, with ${sessions} sessions`, () =>
          Effect.gen(function* () {
            const slug = `relay-${sessions}`
            const { server } = yield* furnishSmtp(slug, () => blocked, sessions)
            yield* enqueueMany(slug, 120)
            yield* start(slug)
            yield* untilBraked(slug)
            const { failed = 0, queued } = yield* statesOf(slug)
            assert.strictEqual(failed, 20, "messages under way that are refused later go back")
            assert.strictEqual(queued, 100)
            assert.lengthOf(server.mails, 0)
            const { paused, trouble } = yield* setupOf(slug)
            assert.isFalse(paused)
            assert.deepInclude(trouble, { state: "refusing", until: null })
            assert.match(trouble!.reason, /^20 messages in a row were refused for one reason\. .*account is suspended/)
          }))
      }

      for (
        const [slug, replies] of [
          ["alternating", ["554 5.7.1 Blocked", "554 5.6.0 Bad content"]],
          ["unknown", ["550 5.1.1 No such user"]],
        ] as const
      ) {
        it.effect(`pauses the connection after 50 messages, with ${replies.join(" and ")}`, () =>
          Effect.gen(function* () {
            yield* furnishSmtp(slug, (n) => ({ at: "recipient", reply: replies[n % replies.length]! }))
            yield* enqueueMany(slug, 120)
            yield* start(slug)
            yield* untilBraked(slug)
            assert.deepStrictEqual(yield* statesOf(slug), { failed: 50, queued: 70 })
            assert.match((yield* setupOf(slug)).trouble!.reason, /^50 of the last \d+ messages were refused/)
          }))
      }

      it.effect("continues after a manual resume, and pauses again if the refusals continue", () =>
        Effect.gen(function* () {
          let isBlocked = true
          yield* furnishSmtp("resumed", () => isBlocked ? blocked : undefined)
          yield* enqueueMany("resumed", 100)
          yield* start("resumed")
          yield* untilBraked("resumed")
          yield* start("resumed")
          yield* until("20 more are lost", Effect.map(statesOf("resumed"), ({ failed }) => failed === 40))
          yield* untilBraked("resumed")
          isBlocked = false
          assert.isNull((yield* start("resumed")).trouble)
          yield* untilDone("resumed")
          assert.deepStrictEqual(yield* statesOf("resumed"), { failed: 40, sent: 60 })
          assert.isNull((yield* setupOf("resumed")).trouble)
        }))

      it.effect("continues after settings or secrets change, and stays paused if they are saved unchanged", () =>
        Effect.gen(function* () {
          let isBlocked = true
          const { settings } = yield* furnishSmtp("changed", () => isBlocked ? blocked : undefined)
          yield* enqueueMany("changed", 40)
          yield* start("changed")
          yield* untilBraked("changed")
          isBlocked = false
          const connections = yield* Connections
          for (
            const change of [{ settings }, { paused: false }, { enabled: false }, { enabled: true, default: true }]
          ) {
            const { trouble } = yield* connections.put(org("changed"), "mail", change)
            assert.strictEqual(trouble?.state, "refusing", JSON.stringify(change))
          }
          const other = { ...settings, from: "other@shop.example" }
          assert.isNull((yield* connections.put(org("changed"), "mail", { settings: other })).trouble)
          yield* untilDone("changed")
          assert.deepStrictEqual(yield* statesOf("changed"), { failed: 20, sent: 20 })
        }))

      it.effect("keeps the count of refusals when another node takes the lane", () =>
        Effect.gen(function* () {
          yield* furnishSmtp("handed", () => blocked)
          yield* start("handed")
          const sql = yield* SqlClient.SqlClient
          for (const count of [7, 14, 20]) {
            const { failed: before = 0 } = yield* statesOf("handed")
            yield* enqueueMany("handed", count - before)
            yield* until(`${count} have failed`, Effect.map(statesOf("handed"), ({ failed }) => failed === count))
            // Take the lane from its owner.
            yield* sql`UPDATE dispatch_lanes l SET fence = l.fence + 1, lease_until = now() WHERE l.org_slug = 'handed'`
          }
          yield* untilBraked("handed")
        }))

      it.effect("continues to send while single recipients are refused", () =>
        Effect.gen(function* () {
          const unknown = { at: "recipient", reply: "550 5.1.1 No such user" } as const
          // Sorted by domain: 25 addresses of one that is gone in a row, and each tenth of the others.
          yield* furnishSmtp("sorted", (n) => (n >= 60 && n < 85) || n % 10 === 0 ? unknown : undefined)
          yield* enqueueMany("sorted", 120)
          yield* start("sorted")
          yield* untilDone("sorted")
          const { failed } = yield* statesOf("sorted")
          assert.strictEqual(failed, 25 + 9)
          assert.isNull((yield* setupOf("sorted")).trouble)
        }))

      it.effect("pauses the connection of an HTTP platform after 20 refusals", () =>
        Effect.gen(function* () {
          const server = yield* receiver({
            fault: (n) => ({ status: 422, body: { error: `campaign 7 is gone (${n})` } }),
          })
          yield* furnish("http", { url: server.url })
          const connections = yield* Connections
          yield* connections.put(org("http"), "main", { paused: true })
          yield* enqueueMany("http", 120)
          yield* connections.resume(org("http"), "main")
          yield* until(
            "it is braked",
            Effect.map(connections.get(org("http"), "main"), ({ trouble }) => trouble !== null),
          )
          yield* until("nothing is under way", Effect.map(statesOf("http"), ({ sending = 0 }) => sending === 0))
          assert.strictEqual((yield* statesOf("http")).failed, 20)
        }))
    },
  )

  it.live("keeps the pause on every node and after a restart", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* temporaryEnvironment
      const first = yield* Scope.make()
      const one = yield* Scope.provide(Layer.build(layerSending(env)), first)
      const server = yield* Effect.provideContext(
        Effect.gen(function* () {
          const { server } = yield* furnishSmtp("nodes", () => blocked)
          yield* enqueueMany("nodes", 60)
          yield* start("nodes")
          yield* untilBraked("nodes")
          return server
        }),
        one,
      )
      yield* Scope.close(first, Exit.void)
      // A node that knows of the state sends nothing, so this node must learn of it at its start.
      const two = yield* Layer.build(layerSending(env))
      const sessions = server.sessions()
      yield* Effect.provideContext(
        Effect.gen(function* () {
          yield* (yield* Changes).refresh
          assert.isTrue((yield* Connections).active("nodes")?.refusing)
          yield* enqueue("nodes", "later@example.com")
          assert.deepStrictEqual(yield* statesOf("nodes"), { failed: 20, queued: 41 })
        }),
        two,
      )
      // A third node resumes it; the second one learns of that and sends.
      const three = yield* Layer.build(layerQueue(env))
      yield* Effect.provideContext(start("nodes"), three)
      yield* Effect.provideContext(
        until("it was tried again", Effect.map(statesOf("nodes"), ({ failed }) => failed === 40)),
        two,
      )
      yield* Effect.provideContext(untilBraked("nodes"), two)
      assert.isAbove(server.sessions(), sessions)
    })))
})
