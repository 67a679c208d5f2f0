import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readdirSync } from "node:fs"
import { connectionSettings, makeTarget } from "./Target.ts"
import type { Attack } from "./Attack.ts"
import { type Probe, startProbe, type Waits } from "./Probe.ts"
import { aroundTests } from "../support/aroundTests.ts"
import { hasHaproxy, scopedHaproxy } from "../support/haproxy.ts"
import { makeOrganization, scopedProcess } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { makeTemplate } from "../process/support.ts"

// All attacks go to one running service, while another organization calls Generate. Attacks that open their own
// connections go through HAProxy. `HOSTILE` picks attacks by name.

/** The most time of the main thread that one request may use while another tenant waits. Unit: milliseconds. */
const mostWorkMillis = 250
const mostMemory = 256 * 1024 * 1024
/** A collection of garbage, or the compilation of code at its first use, can fall into one try. */
const tries = 3
/** Requests of the bystander after an attack, in which late effects must show. */
const afterwards = 40

const attacksByArea: ReadonlyArray<ReadonlyArray<Attack>> = (await Promise.all(
  readdirSync(new URL("attacks/", import.meta.url)).sort().map((file) => import(`./attacks/${file.slice(0, -3)}.ts`)),
)).map((module: { readonly attacks: ReadonlyArray<Attack> }) => module.attacks)
/** Attacks of each area, spread over its list. The trial carries out all of them. */
const perArea = Number(process.env.HOSTILE_PER_AREA ?? 3)
const wanted = new RegExp(process.env.HOSTILE ?? "", "i")

const isPicked = (index: number, of: number) =>
  process.env.HOSTILE !== undefined || Math.floor(index * perArea / of) !== Math.floor((index - 1) * perArea / of)
const attacks = attacksByArea.flatMap((all) => all.filter((_, index) => isPicked(index, all.length)))

interface Row extends Waits {
  readonly name: string
  readonly bytes: number
  readonly statuses: ReadonlyArray<number>
}

const rows: Array<Row> = []
const round = (value: number) => Number.isFinite(value) ? String(Math.round(value)) : "–"

afterAll(() => {
  const lines = rows.map((row) => {
    const counts = Object.entries(Object.groupBy(row.statuses, String)).map(([status, of]) =>
      `${of!.length} × ${status}`
    )
    const grown = (row.memoryPeak - row.memoryBefore) / 1024 / 1024
    return `| ${row.name} | ${row.bytes} | ${round(row.longestMillis)} | ${round(row.longestWorkMillis)} | ${
      round(grown)
    } | ${counts.join(", ")} |`
  })
  console.info([
    "",
    "| attack | bytes | longest wait, ms | work in it, ms | memory, MiB | answers |",
    "| --- | ---: | ---: | ---: | ---: | --- |",
    ...lines,
  ].join("\n"))
})

describe("While one organization attacks the service", () => {
  let probe: Probe
  let target: Awaited<ReturnType<typeof makeTarget>>

  aroundTests(
    Effect.gen(function* () {
      const env = yield* temporaryEnvironment
      const service = yield* scopedProcess({ ...env, ...connectionSettings })
      const key = yield* Effect.promise(async () => {
        const key = await makeOrganization(service, "bystander")
        await makeTemplate(service, "bystander", "offer")
        return key
      })
      const hasProxy = hasHaproxy("slow clients behind the proxy")
      const front = hasProxy ? (yield* scopedHaproxy([service.url])).url : service.url
      const target = yield* Effect.promise(() => makeTarget(service, front))
      const options = { url: service.url, pid: service.pid, org: "bystander", key, templateId: "offer" }
      const probe = yield* Effect.acquireRelease(
        Effect.sync(() => startProbe(options)),
        (probe) => Effect.promise(probe.stop),
      )
      // The first requests of every kind compile code.
      yield* Effect.promise(() => probe.next(200))
      return { probe, target }
    }),
    (started) => ({ probe, target } = started),
  )

  const attempt = async ({ bytes, name, run }: Attack): Promise<Row> => {
    await probe.next(1)
    const statuses = await run(target)
    await target.drained()
    return { name, bytes, statuses, ...await probe.next(afterwards) }
  }

  for (const attack of attacks) {
    if (!wanted.test(attack.name)) continue
    it(`another one is answered in time: ${attack.name}`, async () => {
      let row = await attempt(attack)
      for (let more = 1; more < tries && row.longestWorkMillis > mostWorkMillis; more++) row = await attempt(attack)
      rows.push(row)
      assert.deepStrictEqual(row.failed, [], "answers to the other organization")
      assert.deepStrictEqual(
        row.statuses.filter((status) => status >= 500 && status !== 503),
        [],
        "errors of the service",
      )
      assert.isAtMost(row.memoryPeak - row.memoryBefore, mostMemory, "growth of memory")
      if (!Number.isNaN(row.longestWorkMillis)) {
        assert.isAtMost(row.longestWorkMillis, mostWorkMillis, "work of the main thread while the other one waited")
      }
    })
  }
})
