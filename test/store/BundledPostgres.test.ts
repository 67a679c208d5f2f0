import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as BundledPostgres from "../../src/store/BundledPostgres.ts"
import { removeDatabase } from "../../src/store/bundled/Folders.ts"
import { layerSettings } from "../support/settings.ts"
import { temporaryFolder } from "../support/stores.ts"

/** A new data directory whose database goes with the scope, wherever it is. */
const newDataDir = Effect.gen(function* () {
  const dataDir = join(yield* temporaryFolder, "data")
  yield* Effect.addFinalizer(() => Effect.sync(() => removeDatabase(dataDir)))
  return dataDir
})

/** A process's way to the database of `dataDir`, and how to end it. */
const opened = Effect.fnUntraced(function* (dataDir: string) {
  const scope = yield* Scope.make()
  yield* Effect.addFinalizer((exit) => Scope.close(scope, exit))
  const context = yield* Scope.provide(
    Layer.build(Layer.fresh(BundledPostgres.layer).pipe(Layer.provide(layerSettings({ DATA_DIR: dataDir })))),
    scope,
  )
  return { sql: yield* Effect.provideContext(SqlClient.SqlClient, context), close: Scope.close(scope, Exit.void) }
})

const pidFileOf = (dataDir: string) => join(dataDir, "postgres", "data", "postmaster.pid")

const serverOn = (dataDir: string): number => Number.parseInt(readFileSync(pidFileOf(dataDir), "utf8"))

/** Asks until the server answers. */
const eventually = <A, E>(effect: Effect.Effect<A, E>) => Effect.eventually(Effect.andThen(Effect.sleep(20), effect))

describe("The bundled PostgreSQL", () => {
  it.live(
    "keeps committed data over a restart and after its server was killed, and calls fsync",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const dataDir = yield* newDataDir
        const first = yield* opened(dataDir)
        yield* first.sql`CREATE TABLE kept (n integer PRIMARY KEY)`
        yield* first.sql`INSERT INTO kept VALUES (1)`
        const [server] = yield* first.sql<{ fsync: string; major: number }>`
        SELECT current_setting('fsync') AS fsync, current_setting('server_version_num')::int / 10000 AS major`
        assert.deepStrictEqual(server, { fsync: "on", major: 18 })
        const pid = serverOn(dataDir)
        process.kill(pid, "SIGKILL")
        yield* eventually(first.sql`INSERT INTO kept VALUES (2)`)
        assert.notStrictEqual(serverOn(dataDir), pid)
        yield* first.close
        assert.isFalse(existsSync(pidFileOf(dataDir)))
        const second = yield* opened(dataDir)
        assert.deepStrictEqual(
          (yield* second.sql<{ n: number }>`SELECT k.n FROM kept k ORDER BY k.n`).map(({ n }) => n),
          [1, 2],
        )
      })),
    120_000,
  )

  it.live(
    "shares one server among all processes of a folder, which keeps running when the first process ends",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const dataDir = yield* newDataDir
        const [first, second] = yield* Effect.all([opened(dataDir), opened(dataDir)], { concurrency: 2 })
        const started = (one: typeof first) =>
          Effect.map(
            one.sql<{ at: string }>`SELECT pg_postmaster_start_time()::text AS at`,
            ([row]) => row!.at,
          )
        const before = yield* started(first)
        assert.strictEqual(yield* started(second), before)
        // One of the processes runs the server, so one of these ends is its server's.
        yield* first.close
        yield* eventually(started(second))
        const third = yield* opened(dataDir)
        yield* second.close
        yield* eventually(started(third))
        assert.notStrictEqual(yield* started(third), before)
      })),
    120_000,
  )

  it.live("refuses the files of another major version of PostgreSQL", () =>
    Effect.scoped(Effect.gen(function* () {
      const dataDir = yield* newDataDir
      yield* (yield* opened(dataDir)).close
      writeFileSync(join(dataDir, "postgres", "data", "PG_VERSION"), "16\n")
      const error = yield* Effect.flip(opened(dataDir))
      assert.match(
        error.message,
        /was made by PostgreSQL 16, and this release comes with 18. Start the release that made it, copy the database to a server of your own with pg_dump/,
      )
    })), 120_000)
})
