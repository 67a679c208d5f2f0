import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import type { Call } from "../support/load.ts"
import { makeOrganization, scopedProcess, waitUntil } from "../support/service.ts"
import { handleOf, hasDocker, ownPostgres } from "../support/containers.ts"
import { decisionsIn, makeTemplate, scopedLoad, targetAt, terminate } from "./support.ts"

/** How often the server goes away, each time in another way than the last; the trial uses 20. */
const outages = Number(process.env.OUTAGES ?? 3)
const bufferSize = 300

type Handle = Awaited<ReturnType<typeof handleOf>>

const ways: ReadonlyArray<{ readonly name: string } & Record<"away" | "back", (server: Handle) => Promise<unknown>>> = [
  { name: "killed", away: (server) => server.kill({ signal: "SIGKILL" }), back: (server) => server.start() },
  // A server that is there and says nothing: connections stay open, commits never end.
  { name: "paused", away: (server) => server.pause(), back: (server) => server.unpause() },
  { name: "stopped", away: (server) => server.stop({ t: 5 }), back: (server) => server.start() },
]

/**
 * Runs a command of Docker, which cannot freeze a container in which processes are just being started: tried three
 * times.
 */
const command = async (run: () => Promise<unknown>): Promise<void> => {
  for (let tries = 1;; tries++) {
    try {
      return void await run()
    } catch (error) {
      if (tries === 3 || !String(error).includes("unable to freeze")) throw error
    }
  }
}

describe.runIf(await hasDocker("a store that goes away under load"))(
  "A service whose Postgres goes away under load",
  () => {
    it.live(
      "answers from memory, then with 503, and recovers without loss",
      () =>
        Effect.scoped(Effect.gen(function* () {
          const postgres = yield* ownPostgres
          const env = { DATABASE_URL: postgres.url, DATABASE_POOL_SIZE: "4" }
          const service = yield* scopedProcess({
            ...env,
            DECISION_BUFFER_SIZE: String(bufferSize),
            STORE_TIMEOUT: "1 second",
          })
          const load = yield* scopedLoad("outage", 8, { pauseMillis: 10 })
          const since = (from: number, accept: (call: Call) => boolean) => load.calls.slice(from).some(accept)
          const ready = async () => {
            const response = await service.request("/readyz")
            return { status: response.status, body: await response.json() }
          }
          const balanced = async () => {
            const response = await service.request("/readyz?accept=memory")
            await response.body?.cancel()
            return response.status
          }
          let exited = false
          void service.ended.then(() => exited = true)

          yield* Effect.promise(async () => {
            const server = await handleOf(postgres.container)
            const key = await makeOrganization(service, "acme")
            await makeTemplate(service, "acme", "offer")
            load.aim(targetAt(service, key))
            for (let round = 0; round < outages; round++) {
              const way = ways[round % ways.length]!
              let from = load.calls.length
              await load.until(() => since(from, (call) => call.status === 200 && call.durable === true))
              // Before the command: it may end only after the buffer is full.
              from = load.calls.length
              await command(() => way.away(server))
              await load.until(() => since(from, (call) => call.status === 200 && call.durable === false))
              // Checked only while there is surely room in the buffer.
              if ((await ready()).body.decisions_pending < bufferSize / 4) assert.strictEqual(await balanced(), 200)
              await load.until(() => since(from, (call) => call.status === 503))
              const refused = load.calls.slice(from).find((call) => call.status === 503)!
              assert.match(refused.retryAfter ?? "", /^[1-9]\d*$/)
              assert.include(refused.contentType, "application/problem+json")
              const notReady = await ready()
              assert.strictEqual(notReady.status, 503)
              assert.isNotEmpty(notReady.body.reasons)
              assert.isAtMost(notReady.body.decisions_pending, bufferSize)
              const health = await service.request("/healthz")
              await health.body?.cancel()
              assert.strictEqual(health.status, 200)

              await command(() => way.back(server))
              await waitUntil(`Postgres is back (${way.name})`, postgres.answers, 60)
              await waitUntil(`the service is ready (${way.name})`, async () => (await ready()).status === 200)
            }
            const from = load.calls.length
            await load.until(() => since(from, (call) => call.status === 200 && call.durable === true))
            await load.stop()
            await waitUntil("nothing waits in memory", async () => (await ready()).body.decisions_pending === 0)
            assert.isFalse(exited)
            assert.deepStrictEqual(await terminate(service), { code: 0, signal: null })
          })

          const rows = yield* decisionsIn(env)
          const durable = load.calls.filter((call) => call.status === 200 && call.durable === true)
          const fromMemory = load.calls.filter((call) => call.status === 200 && call.durable === false)
          const refused = load.calls.filter((call) => call.status === 503)
          const missing = (calls: ReadonlyArray<Call>) =>
            calls.filter((call) => rows.get(call.trackingId)?.copyId !== call.copyId).map((call) => call.trackingId)
          console.info(
            `Outages of Postgres: ${outages}; ${durable.length} durable (${missing(durable).length} lost), ` +
              `${fromMemory.length} from memory (${missing(fromMemory).length} lost), ${refused.length} × 503`,
          )
          assert.deepStrictEqual(missing(durable), [])
          assert.deepStrictEqual(missing(fromMemory), [])
          assert.deepStrictEqual([...rows.values()].filter(({ n }) => n !== 1), [])
          assert.deepStrictEqual(load.calls.filter(({ status }) => status !== 200 && status !== 503), [])
        })),
      180_000 + outages * 60_000,
    )
  },
)
