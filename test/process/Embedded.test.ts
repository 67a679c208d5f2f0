import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import { chmodSync, existsSync, lstatSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { removeDatabase } from "../../src/store/bundled/Folders.ts"
import { seeded, seedOfRun } from "../support/load.ts"
import { makeOrganization, run, scopedProcess, waitUntil } from "../support/service.ts"
import { embeddedEnvironment, type Environment, temporaryFolder } from "../support/stores.ts"
import { decisionsIn, makeTemplate, scopedLoad, targetAt, terminate } from "./support.ts"

/** How often the service, its server or both are killed; the trial uses 50. */
const kills = Number(process.env.KILLS ?? 3)

const dataOf = (env: Environment) => join(env["DATA_DIR"]!, "postgres", "data")

/** The number of the server's process on a folder; undefined where none runs. */
const serverOn = (env: Environment): number | undefined => {
  const file = join(dataOf(env), "postmaster.pid")
  return existsSync(file) ? Number.parseInt(readFileSync(file, "utf8")) : undefined
}

/** Processes with the folder in their arguments: servers and the shells that watch them. */
const processesOn = (env: Environment): ReadonlyArray<string> =>
  readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap((pid) => {
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ")
      return line.includes(dataOf(env)) ? [`${pid} ${line}`] : []
    } catch {
      return []
    }
  })

const noneLeft = (env: Environment) =>
  Effect.promise(() => waitUntil("no server is left", () => processesOn(env).length === 0, 30))

const isLinux = process.platform === "linux"
if (!isLinux) {
  console.warn("Skipped: processes of the embedded database (they are found in /proc, which only Linux has)")
}

describe.runIf(isLinux)("the embedded database", () => {
  it.live(
    "keeps every answered decision and leaves no process when the service, the server or both are killed",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const env = yield* embeddedEnvironment
        const seed = seedOfRun()
        const random = seeded(seed)
        const load = yield* scopedLoad("kill", 16)
        const durableSince = (from: number) =>
          load.calls.slice(from).filter(({ durable, status }) => status === 200 && durable)
        let key: string | undefined
        for (let round = 0; round < kills; round++) {
          yield* Effect.scoped(Effect.gen(function* () {
            const service = yield* scopedProcess({ ...env, LOG_LEVEL: "Error" })
            yield* Effect.promise(async () => {
              if (key === undefined) {
                key = await makeOrganization(service, "acme")
                await makeTemplate(service, "acme", "offer")
              }
              const goOn = async () => {
                const before = load.calls.length
                const wanted = 1 + Math.floor(random() * 200)
                await load.until(() => durableSince(before).length >= wanted)
                await new Promise((resolve) => setTimeout(resolve, random() * 15))
              }
              load.aim(targetAt(service, key))
              await goOn()
              const server = serverOn(env)!
              if (round % 3 !== 0) process.kill(server, "SIGKILL")
              // A server that is killed alone is started again by the service, which goes on.
              if (round % 3 === 1) {
                // Its processes for single connections may answer for a while.
                await waitUntil("another server runs", () => ![undefined, server].includes(serverOn(env)))
                await goOn()
              }
              service.kill("SIGKILL")
              await service.ended
              load.aim(undefined)
            })
          }))
          yield* noneLeft(env)
        }
        yield* Effect.promise(load.stop)
        const found = yield* decisionsIn(env)
        const durable = durableSince(0)
        const lost = durable.filter(({ copyId, trackingId }) => found.get(trackingId)?.copyId !== copyId)
        console.info(
          `kill -9 of the service, the server or both: seed ${seed}, ${kills} rounds, ${durable.length} answered, ` +
            `${lost.length} lost`,
        )
        assert.deepStrictEqual(lost, [])
        assert.deepStrictEqual([...found.values()].filter(({ n }) => n !== 1), [])
        assert.deepStrictEqual(processesOn(env), [])
      })),
    180_000 + kills * 20_000,
  )

  it.live("stops with the service", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* embeddedEnvironment
      const service = yield* scopedProcess(env)
      assert.isDefined(serverOn(env))
      assert.strictEqual((yield* Effect.promise(() => terminate(service))).code, 0)
      assert.deepStrictEqual(processesOn(env), [])
      assert.isUndefined(serverOn(env))
    })))

  it.live("restarts after it was killed together with its supervising shell", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* embeddedEnvironment
      const service = yield* scopedProcess(env)
      const server = serverOn(env)!
      const shell = processesOn(env).filter((line) => line.includes("parlance-postgres"))
      assert.isNotEmpty(shell)
      for (const line of shell) process.kill(Number.parseInt(line), "SIGKILL")
      yield* Effect.promise(async () => {
        await waitUntil("another server runs", () => ![undefined, server].includes(serverOn(env)))
        await waitUntil("the service is ready", async () => (await service.request("/readyz")).ok)
        await makeOrganization(service, "acme")
      })
      assert.deepStrictEqual(processesOn(env).filter((line) => line.startsWith(`${server} `)), [])
    })))

  it.live(
    "starts in a folder of 120 characters, and below a folder that only its owner may enter",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const long = join(folder, "d".repeat(120 - folder.length - 1))
        const closed = join(folder, "home")
        execFileSync("mkdir", ["-m", "700", closed])
        for (const dataDir of [long, join(closed, "data")]) {
          yield* Effect.addFinalizer(() => Effect.sync(() => removeDatabase(dataDir)))
          const env = { DATA_DIR: dataDir }
          const service = yield* scopedProcess(env)
          yield* Effect.promise(() => makeOrganization(service, "acme"))
          yield* Effect.promise(() => terminate(service))
          assert.deepStrictEqual([...(yield* decisionsIn(env)).keys()], [])
          const isLinked = lstatSync(join(dataDir, "postgres")).isSymbolicLink()
          assert.strictEqual(isLinked, process.getuid?.() === 0 && dataDir !== long)
        }
      })),
    120_000,
  )

  it.live("is created by a command, which prints only its result", () =>
    Effect.scoped(Effect.gen(function* () {
      const { ended, output } = run(["org", "list", "--json"], { DATA_DIR: join(yield* temporaryFolder, "data") })
      assert.deepStrictEqual(yield* Effect.promise(() => ended), { code: 0, signal: null })
      assert.strictEqual(output().trim(), "[]")
    })))

  it.live("reports problems with its files in one line", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* embeddedEnvironment
      const refused = async (): Promise<string> => {
        const { ended, output } = run(["serve"], { ...env, PORT: "0" })
        assert.deepStrictEqual(await ended, { code: 1, signal: null })
        assert.notMatch(output(), /^\s+at .+:\d+|node_modules/m)
        return output()
      }
      writeFileSync(join(dataOf(env), "PG_VERSION"), "16\n")
      assert.match(yield* Effect.promise(refused), /was made by PostgreSQL 16, and this release comes with 18/)
      writeFileSync(join(dataOf(env), "PG_VERSION"), "18\n")
      chmodSync(join(dataOf(env), "global", "pg_control"), 0o600)
      writeFileSync(join(dataOf(env), "global", "pg_control"), "")
      assert.match(yield* Effect.promise(refused), /The embedded database in .* did not start: .*pg_control/)
    })))
})
