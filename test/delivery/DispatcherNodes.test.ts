import { assert, it } from "@effect/vitest"
import { Effect, Exit, Layer, Scope } from "effect"
import { describe } from "vitest"
import { org } from "../intake/support.ts"
import { Deliveries } from "../../src/delivery/Deliveries.ts"
import { Connections } from "../../src/delivery/Connections.ts"
import { Changes } from "../../src/organizations/Changes.ts"
import { scopedProcess, type ServiceProcess, waitUntil } from "../support/service.ts"
import { startSmtp } from "../support/platformServers/SmtpReceiver.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { receiver } from "./receiver.ts"
import {
  assertArrived,
  deliveryEnvironment,
  densestSecond,
  enqueueMany,
  furnish,
  layerQueue,
  layerSending,
  statesOf,
  until,
  untilDone,
} from "./support.ts"

describe("Two dispatchers on one Postgres", () => {
  it.live(
    "send each message once and stay below the rate limit, also across a handover",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const env = yield* temporaryEnvironment
        const server = yield* receiver({ before: (n) => new Promise((resolve) => setTimeout(resolve, (n * 7) % 60)) })
        const scopes = yield* Effect.all([Scope.make(), Scope.make()])
        const [one, two] = yield* Effect.all(
          scopes.map((scope) => Scope.provide(Layer.build(layerSending(env)), scope)),
          { concurrency: 2 },
        )
        yield* Effect.addFinalizer(() => Effect.forEach(scopes, (scope) => Scope.close(scope, Exit.void)))
        const ids = yield* Effect.provideContext(
          Effect.gen(function* () {
            yield* furnish("pair", { url: server.url })
            return yield* enqueueMany("pair", 250)
          }),
          one!,
        )
        // The other node would learn of the connection with its next poll.
        const more = yield* Effect.provideContext(
          Effect.flatMap(Changes, ({ refresh }) => Effect.andThen(refresh, enqueueMany("pair", 250))),
          two!,
        )
        yield* Effect.promise(() => server.until(() => server.arrivals.length >= 150))
        // The one that sends now ends (or the one that does not): the other goes on.
        yield* Scope.close(scopes[0]!, Exit.void)
        yield* Effect.provideContext(untilDone("pair"), two!)
        assertArrived(server, [...ids, ...more])
        assert.strictEqual(server.repeated.size, 0)
        assert.isAtMost(densestSecond(server.arrivals), 100)
        const summary = yield* Effect.provideContext(
          Effect.flatMap(Deliveries, (deliveries) => deliveries.summary(org("pair"))),
          two!,
        )
        assert.deepInclude(summary, { queued: 0, sending: 0, sent: 500 })
      })),
    120_000,
  )

  it.live(
    "send every message and stay below the rate limit after one process is killed",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const env = { ...(yield* temporaryEnvironment), ...deliveryEnvironment, LOG_LEVEL: "Warn" }
        // The first one is kept waiting until the second one is up.
        let goOn = () => {}
        const both = new Promise<void>((resolve) => goOn = resolve)
        const server = yield* receiver({ before: (n) => n < 30 ? undefined : both })
        const context = yield* Layer.build(layerQueue(env))
        const ids = yield* Effect.provideContext(
          Effect.gen(function* () {
            yield* furnish("killed", { url: server.url })
            return yield* enqueueMany("killed", 400)
          }),
          context,
        )
        const first = yield* scopedProcess(env)
        yield* Effect.promise(() => server.until(() => server.arrivals.length >= 30))
        yield* scopedProcess(env)
        goOn()
        yield* Effect.promise(() => server.until(() => server.arrivals.length >= 80))
        const beforeKill = server.arrivals.length
        yield* Effect.promise(async () => {
          first.kill("SIGKILL")
          await first.ended
          await waitUntil("the other has gone on", () => server.arrivals.length > beforeKill + 30)
        })
        yield* Effect.provideContext(untilDone("killed"), context)
        assertArrived(server, ids)
        const repeated = [...server.repeated.values()].reduce((sum, n) => sum + n, 0)
        console.info(`kill -9 of a dispatcher: ${beforeKill} had arrived, ${repeated} arrived again`)
        assert.isAtMost(repeated, 40, "only what was under way at that moment, or not recorded yet")
        assert.isAtMost(densestSecond(server.arrivals), 100)
      })),
    180_000,
  )

  it.live(
    "lose at most 20 messages to a platform that refuses everything, also if a process is killed, and stay paused",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const env = { ...(yield* temporaryEnvironment), ...deliveryEnvironment, LOG_LEVEL: "Error" }
        const reply = "554 5.7.1 Blocked"
        let isKilled = false
        let hanging = 0
        const server = yield* Effect.acquireRelease(
          Effect.promise(() =>
            startSmtp({
              plain: true,
              fault: (n) => {
                if (isKilled || n < 12) return { at: "recipient", reply }
                hanging++
                return { at: "recipient", hang: true }
              },
            })
          ),
          ({ close }) => Effect.promise(close),
        )
        const settings = { host: "127.0.0.1", port: server.port, tls: "none", from: "news@shop.example" }
        const context = yield* Layer.build(layerQueue(env))
        const trouble = Effect.gen(function* () {
          return (yield* (yield* Connections).get(org("refused"), "mail")).trouble
        })
        yield* Effect.provideContext(
          Effect.gen(function* () {
            yield* furnish("refused")
            yield* (yield* Connections).put(org("refused"), "mail", { platform: "smtp", settings, default: true })
            yield* enqueueMany("refused", 100)
          }),
          context,
        )
        const kill = (service: ServiceProcess) =>
          Effect.promise(async () => {
            service.kill("SIGKILL")
            await service.ended
          })
        const first = yield* scopedProcess(env)
        yield* Effect.promise(() => server.until(() => hanging === 5))
        yield* Effect.provideContext(
          until("12 are recorded", Effect.map(statesOf("refused"), ({ failed }) => failed === 12)),
          context,
        )
        isKilled = true
        yield* kill(first)
        const second = yield* scopedProcess(env)
        yield* Effect.provideContext(
          until("it refuses", Effect.map(trouble, (one) => one?.state === "refusing")),
          context,
        )
        yield* kill(second)
        const { failed } = yield* Effect.provideContext(statesOf("refused"), context)
        console.info(`kill -9 after 12 refusals, with 5 messages under way: ${failed} failed in all`)
        assert.isAtMost(failed!, 20)
        const sessions = server.sessions()
        const third = yield* scopedProcess(env)
        const connections = yield* Effect.promise(() => third.manage("GET", "/organizations/refused/connections"))
        const mail = connections.body.connections.find(({ name }: { name: string }) => name === "mail")
        assert.strictEqual(mail.trouble.state, "refusing")
        yield* Effect.promise(() => third.manage("POST", "/organizations/refused/connections/mail/resume"))
        yield* Effect.promise(() => waitUntil("it is tried again", () => server.sessions() > sessions))
      })),
    180_000,
  )
})
