import { assert, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { describe } from "vitest"
import { seeded, seedOfRun } from "../support/load.ts"
import { type ServiceProcess, startProcess, waitUntil } from "../support/service.ts"
import { type Environment, temporaryEnvironment } from "../support/stores.ts"
import { fullestSecond, rateOf, type Sink, sinkEnvironment, type SinkKind, startSink } from "./deliverSink.ts"
import { deliveriesIn, insist, newAsked, pause, restartablePostgres, sentBy, setUp, summaryOf } from "./deliverStorm.ts"
import { hasDocker } from "../support/containers.ts"

/** Messages of the largest case; the trial sends 20,000. */
const wantedMessages = Number(process.env.DELIVER_MESSAGES ?? 300)
/** Messages that arrive between two kills, on average: at the ceiling, a hundredth of the seconds. */
const perKill = Number(process.env.DELIVER_PER_KILL ?? 60)
const ceiling = 100
/** The lane lets this many be sent and not yet recorded, half a second's worth claimed at a time. */
const unrecordedAtMost = 2 * ceiling / 2 + 20

const isDockerThere = await hasDocker("restarts of PostgreSQL in the storm of deliveries")

interface Store {
  readonly env: Environment
  readonly restart?: (how: "kill" | "stop", awayMillis: number) => Promise<void>
}

const temporary = Effect.map(temporaryEnvironment, (env): Store => ({ env }))

/** A platform in a process of its own that goes with the scope. */
const scopedSink = (kind: SinkKind) =>
  Effect.acquireRelease(Effect.promise(() => startSink(kind)), (sink) => Effect.promise(sink.stop))

/**
 * Service processes that are killed when the scope closes; `start` starts a process, and resolves when it is healthy.
 */
const scopedProcesses = (env: Environment) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const all: Array<ServiceProcess> = []
      const start = async () => {
        const service = await startProcess({
          ...env,
          ...sinkEnvironment,
          LOG_LEVEL: "Error",
          SHUTDOWN_TIMEOUT: "2 seconds",
        })
        all.push(service)
        return service
      }
      return { all, start }
    }),
    ({ all }) =>
      Effect.promise(async () => {
        for (const service of all) {
          service.kill("SIGKILL")
          await service.ended
        }
      }),
  )

const timesOf = (sink: Sink) => sink.arrivals.map(([, , at]) => at)

/** Addresses at which something was handed on. */
const reached = (sink: Sink) => new Set(sink.arrivals.map(([, email]) => email))

/** Checks that hold after every storm. Returns the ids that arrived more than once. */
const judge = (
  sink: Sink,
  accepted: ReadonlySet<string>,
  stored: ReadonlyArray<{ id: string; email: string; state: string }>,
) => {
  const arrivedAt = reached(sink)
  assert.deepStrictEqual([...accepted].filter((email) => !arrivedAt.has(email)), [], "accepted and never arrived")
  assert.deepStrictEqual([...arrivedAt].filter((email) => !accepted.has(email)), [], "arrived without being accepted")
  // One message for each request, even if the request was repeated.
  assert.strictEqual(stored.length, accepted.size)
  assert.deepStrictEqual(stored.filter(({ state }) => state !== "sent"), [])
  const emails = new Map(stored.map(({ email, id }) => [id, email]))
  assert.deepStrictEqual(sink.arrivals.filter(([id, email]) => emails.get(id) !== email), [], "of another id")
  const times = new Map<string, number>()
  for (const [id] of sink.arrivals) times.set(id, (times.get(id) ?? 0) + 1)
  assert.isAtMost(fullestSecond(timesOf(sink)), ceiling, "arrivals in the fullest sliding second")
  return [...times].filter(([, count]) => count > 1).map(([id]) => id)
}

const storm = (
  name: string,
  kind: SinkKind,
  messages: number,
  store: Effect.Effect<Store, never, Scope.Scope>,
) =>
  it.live(
    `loses no accepted message, and repeats only messages unrecorded at a crash (${name})`,
    () =>
      Effect.scoped(Effect.gen(function* () {
        const { env, restart } = yield* store
        const seed = seedOfRun()
        const random = seeded(seed)
        const sink = yield* scopedSink(kind)
        const processes = yield* scopedProcesses(env)
        yield* Effect.promise(async () => {
          let service: ServiceProcess | undefined = await processes.start()
          const key = await setUp(service, sink)
          const asked = newAsked()
          let unique = 0
          const refresh = async () => {
            await sink.refresh()
            return unique = reached(sink).size
          }
          let storming = true
          const clients = insist({
            service: () => service,
            key,
            prefix: "storm",
            messages,
            ahead: 3 * ceiling,
            arrived: () => unique,
            clients: 8,
          }, asked)

          const unrecorded = new Set<string>()
          let kills = 0
          let restarts = 0
          const controller = (async () => {
            while (storming) {
              // Permits at least one kill, for all random numbers.
              const last = kills === 0 ? Math.floor(0.9 * messages) : messages
              const target = Math.min(last, await refresh() + 1 + Math.floor(random() * 2 * perKill))
              await waitUntil(
                `${target} messages have arrived`,
                async () => await refresh() >= target,
                60 + perKill / 5,
              )
              if (unique >= messages) return
              // Anywhere between two commits, not only right after an arrival.
              await pause(random() * 30)
              if (restart !== undefined && kills > 0 && unique > (restarts + 1) * messages / 3 && restarts < 2) {
                // Once for longer than the service may take to end, and than a lane is leased.
                await (restarts++ === 0 ? restart("kill", 5000) : restart("stop", 0))
                continue
              }
              const victim = service!
              service = undefined
              victim.kill("SIGKILL")
              await victim.ended
              kills++
              // These include the messages that were sent and not recorded.
              const sending = await deliveriesIn(env, "sending")
              for (const { id } of sending) unrecorded.add(id)
              service = await processes.start()
            }
          })()
          const began = Date.now()
          await Promise.all([clients, controller]).finally(() => storming = false)
          const seconds = (Date.now() - began) / 1000
          await waitUntil("everything is recorded", async () => (await summaryOf(service!))["sent"] === messages, 60)
          const stormed = sink.arrivals.length

          // Without faults: all deliveries are queued before the first message is sent.
          const pausing = (paused: boolean) =>
            service!.manage("PUT", "/organizations/acme/connections/main", { paused })
          await pausing(true)
          const calm = Math.max(150, Math.floor(messages / 4))
          await insist({
            service: () => service,
            key,
            prefix: "calm",
            messages: calm,
            ahead: Infinity,
            arrived: () => 0,
            clients: 8,
          }, asked)
          await pausing(false)
          await waitUntil("the rest has arrived", async () => await refresh() >= messages + calm, 60 + calm / 50)
          await waitUntil(
            "the rest is recorded",
            async () => (await summaryOf(service!))["sent"] === messages + calm,
            60,
          )
          service!.kill("SIGKILL")
          await service!.ended

          const stored = await deliveriesIn(env)
          const twice = judge(sink, asked.accepted, stored)
          const repetitions = sink.arrivals.length - stored.length
          const handedOnTwice = sink.arrivals.filter(([, , , isNew]) => isNew).length - stored.length
          console.info(
            `deliver storm (${name}): seed ${seed}, ${messages} messages accepted and arrived in ${
              seconds.toFixed(0)
            } s through ${kills} kills and ${restarts} restarts of Postgres; ${asked.unanswered} calls without an ` +
              `answer, ${asked.replayed} accepted before, ${asked.refused.size} refused; ${repetitions} sent twice of ` +
              `${unrecorded.size} unrecorded at a kill${
                kind === "webhook" ? `, ${handedOnTwice} handed on twice` : ""
              }; fullest second ${fullestSecond(timesOf(sink))}; ${
                rateOf(timesOf(sink).slice(stormed)).toFixed(2)
              } messages/s without faults`,
          )
          assert.deepStrictEqual(twice.filter((id) => !unrecorded.has(id)), [], "twice although no crash explains it")
          assert.isAtMost(repetitions, kills * unrecordedAtMost)
          if (kind === "webhook") assert.strictEqual(handedOnTwice, 0)
          assert.isAbove(kills, 0)
        })
      })),
    480_000 + messages * 120,
  )

describe("a storm of messages with kills every few seconds", () => {
  const onPostgres = isDockerThere ? Effect.map(restartablePostgres, (store): Store => store) : temporary
  storm("SMTP, Postgres", "smtp", wantedMessages, onPostgres)
  storm("webhook that takes an id once, Postgres", "webhook", Math.ceil(wantedMessages / 2), onPostgres)
})

describe("two services on one Postgres", () => {
  const rounds = Number(process.env.DELIVER_TAKEOVERS ?? 2)
  // Messages of half a round: before a kill, and after it.
  const portion = Math.max(150, Math.ceil(wantedMessages / 8 / rounds))
  const messages = 2 * rounds * portion

  it.live(
    "stay below the shared rate limit, and the other continues when the sending one is killed",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const { env } = yield* temporary
        const seed = seedOfRun()
        const random = seeded(seed)
        const sink = yield* scopedSink("smtp")
        const processes = yield* scopedProcesses(env)
        yield* Effect.promise(async () => {
          const first = await processes.start()
          const key = await setUp(first, sink)
          let services = [first, await processes.start()]
          let turn = 0
          let unique = 0
          let allowed = portion
          const refresh = async () => {
            await sink.refresh()
            return unique = reached(sink).size
          }
          const asked = newAsked()
          // Clients get only so far ahead, so that there is something to send in every part of every round.
          const clients = insist({
            service: () => services[turn++ % services.length],
            key,
            prefix: "two",
            messages,
            ahead: portion,
            arrived: () => Math.min(unique, allowed - portion),
            clients: 8,
          }, asked)

          const unrecorded = new Set<string>()
          const takeovers: Array<number> = []
          const takeOver = async (round: number) => {
            const before = await Promise.all(services.map(sentBy))
            allowed = (2 * round + 1) * portion
            const share = Math.floor((2 * round + 0.1 + 0.4 * random()) * portion)
            await waitUntil(`${share} messages have arrived`, async () => await refresh() >= share, 120)
            let victim: ServiceProcess | undefined
            await waitUntil("one of them has sent", async () => {
              const now = await Promise.all(services.map(sentBy))
              victim = services.find((_, i) => now[i]! > before[i]!)
              return victim !== undefined
            })
            const survivor = services.find((service) => service !== victim)!
            services = [survivor]
            victim!.kill("SIGKILL")
            await victim!.ended
            const killed = performance.now()
            for (const { id } of await deliveriesIn(env, "sending")) unrecorded.add(id)
            const sent = await sentBy(survivor)
            allowed += portion
            await waitUntil("the other goes on", async () => await sentBy(survivor) > sent, 60)
            takeovers.push((performance.now() - killed) / 1000)
            services = [survivor, await processes.start()]
          }
          const controller = (async () => {
            for (let round = 0; round < rounds; round++) await takeOver(round)
            // Clients stay at most this far ahead of the arriving messages.
            await waitUntil("everything has arrived", async () => await refresh() >= messages, 60 + messages / 50)
          })()
          await Promise.all([clients, controller])
          await waitUntil(
            "everything is recorded",
            async () => (await summaryOf(services[0]!))["sent"] === messages,
            60,
          )
          const twice = judge(sink, asked.accepted, await deliveriesIn(env))
          console.info(
            `two services, one ceiling: seed ${seed}, ${messages} messages; the other went on ${
              takeovers.map((seconds) => seconds.toFixed(1)).join(", ")
            } s after a kill; ${twice.length} sent twice; fullest second ${fullestSecond(timesOf(sink))}`,
          )
          assert.deepStrictEqual(twice.filter((id) => !unrecorded.has(id)), [])
        })
      })),
    480_000 + messages * 120,
  )
})
