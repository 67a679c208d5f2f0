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

/** Data folders of database servers below a folder. A server that ends meanwhile may remove its files. */
const serversBelow = (folder: string): ReadonlyArray<string> => {
  try {
    return readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((file) => basename(file) === "postmaster.pid").map((file) => join(folder, dirname(file)))
  } catch {
    return []
  }
}

/** A new folder that goes with the scope, and with it the database servers of killed services, which still write there. */
export const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => openFolder("parlance-test-")),
  (folder) =>
    Effect.gen(function* () {
      for (const data of serversBelow(folder)) yield* endLeftover({ data })
      rmSync(folder, { recursive: true, force: true })
    }),
)

/** The databases of the test run, whose server starts at the first request. */
const testDatabases = Effect.promise(async (): Promise<TestDatabases> => {
  const response = await fetch(inject("testDatabases"))
  if (!response.ok) throw new Error(`The database server of the tests did not start: ${await response.text()}`)
  return await response.json()
})

/** A new database on the server of the test run that goes with the scope: a copy of the migrated one, or empty. */
const databaseFrom = (source: "migrated" | "empty"): Effect.Effect<Environment, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { server, template } = yield* testDatabases
    const name = `test_${randomUUID().replaceAll("-", "")}`
    const run = (statement: string) => Effect.promise(() => onServer(server, statement))
    yield* Effect.acquireRelease(
      // Takes less processor time than writing the copy to the log, which is the default.
      run(`CREATE DATABASE ${name}${source === "empty" ? "" : ` TEMPLATE ${template}`} STRATEGY FILE_COPY`),
      () => run(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
    )
    return { DATABASE_URL: new URL(`/${name}`, server).href, DATABASE_POOL_SIZE: "4" }
  })

/** The environment of a service on a migrated database of its own, which goes with the scope. */
export const temporaryEnvironment = databaseFrom("migrated")

/** An empty database, without tables. */
export const emptyEnvironment = databaseFrom("empty")

/** The environment of a service that runs a migrated database in a folder of its own, which goes with the scope. */
export const embeddedEnvironment: Effect.Effect<Environment, never, Scope.Scope> = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  const dataDir = join(folder, "data")
  const { seed } = yield* testDatabases
  execFileSync("cp", ["-a", seed, dataDir])
  return { DATA_DIR: dataDir }
})

/** A migrated store of its own. */
export const layerMigrated = (environment: Effect.Effect<Environment, never, Scope.Scope>) =>
  Layer.unwrap(
    Effect.map(environment, (env) => StoreFromSettings.layerMigrated.pipe(Layer.provideMerge(layerSettings(env)))),
  )
