import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { rmSync } from "node:fs"
import { changed, replaceHistories } from "../../src/sendtime/Histories.ts"
import { encode, epochMillis, noEngagement, quarterMillis, variantCode } from "../../src/sendtime/Touch.ts"
import { chance } from "../../src/simulation/Chance.ts"
import * as StoreFromSettings from "../../src/store/StoreFromSettings.ts"
import { adminToken, freePort, makeOrganization, serviceAt } from "../../test/support/service.ts"
import { layerSettings } from "../../test/support/settings.ts"
import { openFolder, startPostgres } from "../../test/support/throwawayPostgres.ts"
import { cpuMicrosOf, measure, type Measured, printTable, runLoad, startServer } from "./Bench.ts"

const baseline = "empty Effect route"

/** Stores histories of the people u1 to u<count>, with 5 to 35 messages each. */
const storePeople = (environment: Readonly<Record<string, string>>, count: number) =>
  Effect.runPromise(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { uniform } = chance(1)
      const variant = variantCode("welcome", "v1")
      const present = Math.floor((Date.now() - epochMillis) / quarterMillis)
      const step = 5_000
      for (let at = 0; at < count; at += step) {
        const people = Array.from({ length: Math.min(step, count - at) }, (_, i) => {
          const person = `u${at + i + 1}`
          const codes = Array.from({ length: 5 + Math.floor(31 * uniform()) }, (_, n) =>
            encode({
              quarter: present - Math.floor(4 * 170 * 24 * uniform()),
              delay: uniform() < 0.3 ? Math.floor(4 * 12 * uniform() ** 2) : noEngagement,
              variant,
            }, `${person}/${n}`))
          return [{ org: "bench", kind: "user", person }, changed([], [], codes)] as const
        })
        yield* replaceHistories(sql, people)
      }
    }).pipe(Effect.provide(StoreFromSettings.layerMigrated.pipe(Layer.provide(layerSettings(environment))))),
  )

const memoryOf = (pid: number): number => {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(Deno.readTextFileSync(`/proc/${pid}/status`))![1]) / 1024
  } catch {
    return NaN
  }
}

/** Compares the cost of a Delay response with an empty Effect route, with the histories of a million people. */
export const delaySpeed = async (quick: boolean): Promise<void> => {
  const seconds = quick ? 2 : 8
  const count = quick ? 20_000 : 1_000_000
  const rows: Array<Measured> = []
  const empty = await startServer(["bench/support/baselines.ts", "effect"], await freePort(), {})
  const body = { template_id: "welcome", user_id: "u1", fields: {}, attrs: {} }
  rows.push(await measure(baseline, empty, { url: `${empty.url}/api/generate/bench`, body }, { seconds }))
  await empty.stop()
  console.error(`${baseline}: ${rows[0]!.perSecond.toFixed(0)} a second, ${rows[0]!.cpuMicros.toFixed(0)} µs each`)

  const folder = openFolder("parlance-bench-")
  const postgres = await startPostgres()
  const stores: ReadonlyArray<readonly [string, Readonly<Record<string, string>>]> = [
    ["Postgres", { DATABASE_URL: postgres.url }],
    ["embedded", { DATA_DIR: folder }],
  ]

  for (const [store, environment] of stores) {
    const serve = async () =>
      await startServer(["src/main.ts", "serve"], await freePort(), { ADMIN_TOKEN: adminToken, ...environment })
    const first = await serve()
    const service = serviceAt(first.url)
    const key = await makeOrganization(service, "bench")
    await service.manage("POST", "/organizations/bench/templates", {
      id: "welcome",
      name: "welcome",
      variants: Array.from({ length: 5 }, (_, i) => ({ id: `v${i}`, vars: { subject: "Hi" } })),
    })
    await first.stop()
    const began = performance.now()
    await storePeople(environment, count)
    console.error(`${count} people stored (${store}) after ${((performance.now() - began) / 1000).toFixed(0)} s`)

    const server = await serve()
    const ask = async (name: string, people: number, duration = seconds) => {
      const load = (time: number) =>
        runLoad<Omit<Measured, "name" | "cpuMicros">>(name, "bench/support/delayLoad.ts", {
          url: `${server.url}/api/delay/bench?delay_id=v1`,
          headers: { "X-Api-Key": key },
          seconds: time,
          connections: 64,
          people,
        })
      await load(quick ? 2 : 5)
      const before = cpuMicrosOf(server.pid)
      const measured = await load(duration)
      const cpuMicros = (cpuMicrosOf(server.pid) - before) / measured.requests
      rows.push({ name, ...measured, cpuMicros })
      console.error(`${name}: ${measured.perSecond.toFixed(0)} a second, ${cpuMicros.toFixed(0)} µs each`)
    }
    await ask(`Delay, 10,000 people in turn, ${store}`, Math.min(10_000, count))
    await ask(`Delay, ${count.toLocaleString("en")} people by chance, ${store}`, count, 2 * seconds)
    console.error(`memory ${memoryOf(server.pid).toFixed(0)} MB (${store})`)
    await server.stop()
  }
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
  printTable("Delay, closed loop, 64 connections, server on one core", rows, baseline)
}
