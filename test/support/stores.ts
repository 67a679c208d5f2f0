import { Effect, Layer, type Scope } from "effect"
import { execFileSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { readdirSync, rmSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { inject } from "vitest"
import { endLeftover } from "../../src/store/bundled/ServerProcess.ts"
import * as StoreFromSettings from "../../src/store/StoreFromSettings.ts"
import type { TestDatabases } from "./globalSetup.ts"
import { onServer } from "./onServer.ts"
import { type Environment, layerSettings } from "./settings.ts"
import { openFolder } from "./throwawayPostgres.ts"

export { type Environment, layerSettings } from "./settings.ts"

/**
 * Returns the data folders of database servers below a folder, or an empty list if a server removes its files during
 * the search.
 */
const serversBelow = (folder: string): ReadonlyArray<string> => {
  try {
    return readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((file) => basename(file) === "postmaster.pid").map((file) => join(folder, dirname(file)))
  } catch {
    return []
  }
}

/**
 * A new folder. When the scope closes, ends the database servers of killed services, which still write there, and
 * deletes the folder.
 */
export const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => openFolder("parlance-test-")),
  (folder) =>
    Effect.gen(function* () {
      for (const data of serversBelow(folder)) yield* endLeftover({ data })
      rmSync(folder, { recursive: true, force: true })
    }),
)

/** The databases of the test run. Their server starts at the first request. */
const testDatabases = Effect.promise(async (): Promise<TestDatabases> => {
  const response = await fetch(inject("testDatabases"))
  if (!response.ok) throw new Error(`The database server of the tests did not start: ${await response.text()}`)
  return await response.json()
})

/**
 * Creates a database on the server of the test run: a copy of the migrated database, or an empty database. Drops it
 * when the scope closes.
 */
const databaseFrom = (source: "migrated" | "empty"): Effect.Effect<Environment, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { server, template } = yield* testDatabases
    const name = `test_${randomUUID().replaceAll("-", "")}`
    const run = (statement: string) => Effect.promise(() => onServer(server, statement))
    yield* Effect.acquireRelease(
      // FILE_COPY needs less processor time than the default strategy, which writes the copy to the write-ahead log.
      run(`CREATE DATABASE ${name}${source === "empty" ? "" : ` TEMPLATE ${template}`} STRATEGY FILE_COPY`),
      () => run(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
    )
    return { DATABASE_URL: new URL(`/${name}`, server).href, DATABASE_POOL_SIZE: "4" }
  })

/** The environment of a service on a migrated database of its own, which is dropped when the scope closes. */
export const temporaryEnvironment = databaseFrom("migrated")

/** An empty database, without tables. */
export const emptyEnvironment = databaseFrom("empty")

/**
 * The environment of a service with an embedded, migrated database in a folder of its own, which is deleted when the
 * scope closes.
 */
export const embeddedEnvironment: Effect.Effect<Environment, never, Scope.Scope> = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  const dataDir = join(folder, "data")
  const { seed } = yield* testDatabases
  execFileSync("cp", ["-a", seed, dataDir])
  return { DATA_DIR: dataDir }
})

/** Provides a migrated store on the database of `environment`. */
export const layerMigrated = (environment: Effect.Effect<Environment, never, Scope.Scope>) =>
  Layer.unwrap(
    Effect.map(environment, (env) => StoreFromSettings.layerMigrated.pipe(Layer.provideMerge(layerSettings(env)))),
  )
