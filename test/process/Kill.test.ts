import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { seeded, seedOfRun } from "../support/load.ts"
import { makeOrganization, scopedProcess } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { decisionsIn, makeTemplate, scopedLoad, targetAt, terminate } from "./support.ts"

/** How often each service is killed; the trial uses 50. */
const kills = Number(process.env.KILLS ?? 3)

describe("a service killed under load", () => {
  const environment = temporaryEnvironment
  it.live(
    "keeps every answered decision once, and answers a retry with the same variant",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const env = yield* environment
        const seed = seedOfRun()
        const random = seeded(seed)
        const load = yield* scopedLoad("kill", 16)
        const answeredSince = (from: number) => load.calls.slice(from).filter((call) => call.status === 200).length

        let key: string | undefined
        for (let round = 0; round < kills; round++) {
          yield* Effect.scoped(Effect.gen(function* () {
            const service = yield* scopedProcess(env)
            yield* Effect.promise(async () => {
              if (key === undefined) {
                key = await makeOrganization(service, "acme")
                await makeTemplate(service, "acme", "offer")
              }
              const before = load.calls.length
              const wanted = 1 + Math.floor(random() * 400)
              load.aim(targetAt(service, key))
              await load.until(() => answeredSince(before) >= wanted)
              // Anywhere between two commits, not only right after an answer.
              await new Promise((resolve) => setTimeout(resolve, random() * 15))
              service.kill("SIGKILL")
              const { signal } = await service.ended
              load.aim(undefined)
              assert.strictEqual(signal, "SIGKILL")
            })
          }))
        }
        yield* Effect.promise(load.stop)

        const durable = load.calls.filter((call) => call.status === 200 && call.durable)
        const others = load.calls.filter((call) => call.status !== 200 && call.status !== 0)
        assert.deepStrictEqual(others, [], "every call has a decision or no answer at all")

        // Retries are asked of the service, so that they come from the store and not from this test's memory.
        yield* Effect.scoped(Effect.gen(function* () {
          const service = yield* scopedProcess(env)
          yield* Effect.promise(async () => {
            for (let i = 0; i < 50; i++) {
              const call = durable[Math.floor(random() * durable.length)]!
              const { body, status } = await service.generate("acme", key!, {
                template_id: "offer",
                tracking_id: call.trackingId,
              })
              assert.strictEqual(status, 200)
              assert.strictEqual(body.copy.id, call.copyId)
            }
            assert.deepStrictEqual(await terminate(service), { code: 0, signal: null })
          })
        }))

        const found = yield* decisionsIn(env)
        const lost = durable.filter((call) => found.get(call.trackingId) === undefined)
        const changed = durable.filter((call) => found.get(call.trackingId)?.copyId !== call.copyId)
        console.info(
          `kill -9: seed ${seed}, ${kills} kills, ${load.calls.length} calls, ${durable.length} answered, ` +
            `${durable.length - lost.length} found, ${found.size - durable.length} found that were never answered`,
        )
        assert.deepStrictEqual(lost, [])
        assert.deepStrictEqual(changed, [])
        assert.deepStrictEqual([...found.values()].filter(({ n }) => n !== 1), [])
      })),
    180_000 + kills * 15_000,
  )
})
