import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { execFile } from "node:child_process"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { describe } from "vitest"
import { freePort, makeOrganization, run, type Running, scopedProcess, waitUntil } from "../support/service.ts"
import { embeddedEnvironment, layerMigrated, temporaryEnvironment, temporaryFolder } from "../support/stores.ts"
import { decisionsIn, makeTemplate, scopedLoad, targetAt, terminate } from "./support.ts"

/** Runs a command that must end by itself. Kills it after 2 minutes: a start waits 1 minute for its database. */
const runToEnd = async (args: ReadonlyArray<string>, environment: Record<string, string>, running?: Running) => {
  const { child, ended, output } = run(args, environment, running)
  const timer = setTimeout(() => child.kill("SIGKILL"), 120_000)
  const { code, signal } = await ended
  clearTimeout(timer)
  return { code, signal, output: output() }
}

const assertClear = (output: string) => {
  assert.notMatch(output, /^\s+at .+:\d+/m, "no stack trace")
  assert.notMatch(output, /file:\/\/|node_modules/)
}

describe("SIGTERM under load", () => {
  const environment = temporaryEnvironment
  for (const keepAlive of [true, false]) {
    it.live(`loses no answer on connections that are ${keepAlive ? "kept" : "made for each call"}, and exits with status 0`, () =>
      Effect.scoped(Effect.gen(function* () {
        const env = yield* environment
        const load = yield* scopedLoad("term", 32, { keepAlive })
        const service = yield* scopedProcess({ ...env, SHUTDOWN_TIMEOUT: "10 seconds" })
        const before = yield* Effect.promise(async () => {
          const key = await makeOrganization(service, "acme")
          await makeTemplate(service, "acme", "offer")
          load.aim(targetAt(service, key))
          await load.until(() => load.calls.length > 300)
          const before = load.calls.length
          const start = Date.now()
          const end = await terminate(service)
          const millis = Date.now() - start
          load.aim(undefined)
          await load.stop()
          assert.deepStrictEqual(end, { code: 0, signal: null })
          assert.isBelow(millis, 12_000)
          return { calls: before, millis }
        })
        const rows = yield* decisionsIn(env)
        const recorded = (call: { readonly trackingId: string }) => rows.has(call.trackingId)
        const answered = load.calls.filter((call) => call.status === 200)
        const unavailable = load.calls.filter((call) => call.status === 503)
        const unanswered = load.calls.filter((call) => call.status === 0)
        console.info(
          `SIGTERM (${keepAlive ? "kept" : "new"} connections): ended after ${before.millis} ms; ` +
            `${answered.length} answered, of them ${
              load.calls.slice(before.calls).filter((c) => c.status === 200).length
            } ` +
            `after the signal, ${unavailable.length} × 503, ${unanswered.length} not accepted, ${rows.size} recorded`,
        )
        // Each call was either answered in full or not processed. Processed calls are in the table.
        assert.deepStrictEqual(
          unanswered.filter((call) => call.cut),
          [],
          "cut off within an answer",
        )
        assert.deepStrictEqual(unanswered.filter(recorded), [], "recorded, but the answer was dropped")
        assert.deepStrictEqual(answered.filter((call) => !recorded(call)), [], "answered, but not recorded")
        assert.strictEqual(answered.length + unavailable.length + unanswered.length, load.calls.length)
      })))
  }

  it.live("keeps its data over a restart", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* environment
      const key = yield* Effect.scoped(Effect.gen(function* () {
        const service = yield* scopedProcess(env)
        return yield* Effect.promise(async () => {
          const key = await makeOrganization(service, "acme")
          await makeTemplate(service, "acme", "offer")
          assert.strictEqual((await terminate(service)).code, 0)
          return key
        })
      }))
      const service = yield* scopedProcess(env)
      const { body, status } = yield* Effect.promise(() =>
        service.generate("acme", key, { template_id: "offer", tracking_id: "x", fields: { name: "Ann" } })
      )
      assert.strictEqual(status, 200)
      assert.match(body.copy.vars.subject, /^(left|right) for Ann$/)
    })))
})

describe("a data directory", () => {
  it.live("is shared by a second process, which continues when the first stops", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* embeddedEnvironment
      const first = yield* scopedProcess(env)
      const second = yield* scopedProcess(env)
      yield* Effect.promise(async () => {
        const key = await makeOrganization(first, "acme")
        await makeTemplate(first, "acme", "offer")
        const ask = (trackingId: string) =>
          second.generate("acme", key, { template_id: "offer", tracking_id: trackingId })
        await waitUntil("the second knows the template", async () => (await ask("x")).status === 200)
        assert.strictEqual((await terminate(first)).code, 0)
        await waitUntil("the second is ready", async () => (await second.request("/readyz")).ok)
        const { headers, status } = await ask("y")
        assert.deepStrictEqual([status, headers.get("decision-durable")], [200, null])
        assert.strictEqual((await terminate(second)).code, 0)
      })
      assert.deepStrictEqual([...(yield* decisionsIn(env)).keys()].sort(), ["x", "y"])
    })))

  it.live("is taken over after its process was killed", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* embeddedEnvironment
      const first = yield* scopedProcess(env)
      yield* Effect.promise(async () => {
        await makeOrganization(first, "acme")
        first.kill("SIGKILL")
        await first.ended
      })
      const second = yield* scopedProcess(env)
      const { body } = yield* Effect.promise(() => second.manage("GET", "/organizations/acme"))
      assert.strictEqual(body.slug, "acme")
    })))

  it.live("is named in the error if it cannot be created", () =>
    Effect.scoped(Effect.gen(function* () {
      const folder = yield* temporaryFolder
      // A file has the name of the folder, so that creating the folder fails for the superuser too.
      const dataDir = join(folder, "file", "data")
      yield* Effect.promise(async () => {
        await Deno.writeTextFile(join(folder, "file"), "")
        const { code, output } = await runToEnd(["serve"], { DATA_DIR: dataDir, PORT: String(await freePort()) })
        assert.strictEqual(code, 1)
        assert.include(output, dataDir)
        assertClear(output)
      })
    })))
})

describe("--log-level", () => {
  it.live("overrides LOG_LEVEL", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* embeddedEnvironment
      const service = yield* scopedProcess({ ...env, LOG_LEVEL: "Debug" }, { flags: ["--log-level", "error"] })
      // The service prints its whole start-up text before it ends.
      assert.strictEqual((yield* Effect.promise(() => terminate(service))).code, 0)
      assert.notMatch(service.output(), /DEBUG|INFO|WARN/)
    })))
})

describe("the first start", () => {
  it.live("prints a curl command that works, unlike the second start", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* embeddedEnvironment
      const lineOf = (output: string) => /^curl .*$/m.exec(output)?.[0]
      yield* Effect.scoped(Effect.gen(function* () {
        const service = yield* scopedProcess(env)
        yield* Effect.promise(async () => {
          await service.printed(() => lineOf(service.output()) !== undefined)
          const { stdout } = await promisify(execFile)("sh", ["-c", lineOf(service.output())!])
          const answer = JSON.parse(stdout)
          assert.include(Object.values(answer.copy.vars).join(" "), "Ann")
          assert.strictEqual((await terminate(service)).code, 0)
        })
      }))
      const again = yield* scopedProcess(env)
      yield* Effect.promise(async () => {
        const { body } = await again.manage("GET", "/organizations")
        assert.deepStrictEqual(body.organizations.map(({ slug }: { slug: string }) => slug), ["demo"])
        const keys = await again.manage("GET", "/organizations/demo/keys")
        assert.lengthOf(keys.body.keys ?? keys.body, 1)
        // The service prints its whole start-up text before it ends.
        await terminate(again)
        assert.isUndefined(lineOf(again.output()))
      })
    })))

  it.live("creates no demo with DATABASE_URL", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* temporaryEnvironment
      const service = yield* scopedProcess(env)
      yield* Effect.promise(async () => {
        await service.printed(() => service.output().includes("Parlance answers at"))
        const { body } = await service.manage("GET", "/organizations")
        assert.deepStrictEqual(body.organizations, [])
        await terminate(service)
        assert.notMatch(service.output(), /curl|demo/i)
      })
    })))
})

describe("a database of a newer release that has removed something", () => {
  const environment = temporaryEnvironment
  it.live("is rejected with a message, and left unchanged", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* environment
      const migrations = (change: (sql: SqlClient.SqlClient) => Effect.Effect<unknown, unknown>) =>
        Effect.scoped(Effect.gen(function* () {
          const context = yield* Layer.build(layerMigrated(Effect.succeed(env)))
          yield* change(yield* Effect.provideContext(SqlClient.SqlClient, context))
        }))
      yield* migrations((sql) =>
        Effect.andThen(
          sql`INSERT INTO schema_migrations (migration_id, name) VALUES (9999, 'drop_the_past')`,
          sql`UPDATE schema_compatibility SET works_from = 9999`,
        )
      )
      const { code, output } = yield* Effect.promise(async () =>
        await runToEnd(["serve"], { ...env, PORT: String(await freePort()) })
      )
      assert.strictEqual(code, 1)
      assert.include(output, "9999")
      assert.match(output, /newer release/)
      assertClear(output)
    })))
})

describe("a faulty setting", () => {
  const faulty = (
    name: string,
    environment: Record<string, string>,
    expected: ReadonlyArray<string | RegExp>,
    running?: Running,
  ) =>
    it.live(`stops the start with a message for ${name}`, () =>
      Effect.scoped(Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const dataDir = join(folder, "data")
        mkdirSync(dataDir)
        const { code, output } = yield* Effect.promise(async () =>
          await runToEnd(["serve"], { DATA_DIR: dataDir, PORT: String(await freePort()), ...environment }, running)
        )
        assert.strictEqual(code, 1, output)
        for (const part of expected) {
          if (typeof part === "string") assert.include(output, part)
          else assert.match(output, part)
        }
        assertClear(output)
        assert.notInclude(output, "s3cret")
      })))

  faulty("PORT=abc", { PORT: "abc" }, ["PORT"])
  faulty("LOG_LEVEL=loud", { LOG_LEVEL: "loud" }, ["LOG_LEVEL"])
  faulty("REQUEST_TIMEOUT=soon", { REQUEST_TIMEOUT: "soon" }, ["REQUEST_TIMEOUT"])
  faulty("in two places at once", { PORT: "abc", REQUEST_TIMEOUT: "soon" }, ["PORT", "REQUEST_TIMEOUT"])
  // The minute of the start's patience passes within two seconds.
  const faster = fileURLToPath(new URL("shiftedClock.preload.ts", import.meta.url))
  faulty(
    "DATABASE_URL of a server that is not there",
    { DATABASE_URL: "postgres://someone:s3cret@127.0.0.1:1/nothing", CLOCK_SPEED: "40" },
    ["DATABASE_URL", "127.0.0.1:1", "cannot be used for 60 s"],
    { denoFlags: ["--preload", faster] },
  )
  faulty("DATABASE_URL that is empty", { DATABASE_URL: "" }, ["DATABASE_URL: is set and empty"])
  faulty("STORE=external without DATABASE_URL", { STORE: "external" }, ["STORE: is external", "STORE=embedded"])
  faulty("STORE=external without DATABASE_URL, with PARLANCE_URL for commands", {
    STORE: "external",
    PARLANCE_URL: "http://127.0.0.1:1",
  }, ["STORE: is external", "STORE=embedded"])
  faulty("DATABASE_URL that is no URL", { DATABASE_URL: "someone:s3cret@nowhere" }, ["DATABASE_URL"])

  it.live("a PORT in use by another program stops the start with a message", () =>
    Effect.scoped(Effect.gen(function* () {
      const first = yield* scopedProcess(yield* embeddedEnvironment)
      const port = new URL(first.url).port
      const second = yield* embeddedEnvironment
      const { code, output } = yield* Effect.promise(() => runToEnd(["serve"], { ...second, PORT: port }))
      assert.strictEqual(code, 1, output)
      assert.include(output, `127.0.0.1:${port}`)
      assert.include(output, "set another PORT")
      assertClear(output)
    })))
})
