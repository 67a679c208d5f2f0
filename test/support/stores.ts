import { Effect, Layer, type Scope } from "effect"
import { execFileSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { inject } from "vitest"
import { endLeftover } from "../../src/store/bundled/ServerProcess.ts"
import * as StoreFromSettings from "../../src/store/StoreFromSettings.ts"
import type {} from "./globalSetup.ts"
import { onServer } from "./onServer.ts"
import { type Environment, layerSettings } from "./settings.ts"
import { openFolder } from "./throwawayPostgres.ts"

export { type Environment, layerSettings } from "./settings.ts"

/** A new folder that goes with the scope. */
export const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => openFolder("parlance-test-")),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true })),
)

/** A new database on the server of the test run that goes with the scope, a copy of `template`. */
const databaseFrom = (template: () => string | undefined): Effect.Effect<Environment, never, Scope.Scope> =>
  Effect.gen(function* () {
    const url = inject("postgresUrl")
    const name = `test_${randomUUID().replaceAll("-", "")}`
    const run = (statement: string) => Effect.promise(() => onServer(url, statement))
    const source = template()
    yield* Effect.acquireRelease(
      run(`CREATE DATABASE ${name}${source === undefined ? "" : ` TEMPLATE ${source}`}`),
      () => run(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
    )
    return { DATABASE_URL: new URL(`/${name}`, url).href, DATABASE_POOL_SIZE: "4" }
  })

/** The environment of a service on a migrated database of its own, which goes with the scope. */
export const temporaryEnvironment = databaseFrom(() => inject("postgresTemplate"))

/** The same, without tables. */
export const emptyEnvironment = databaseFrom(() => undefined)

/** The environment of a service that runs a migrated database in a folder of its own, which goes with the scope. */
export const embeddedEnvironment: Effect.Effect<Environment, never, Scope.Scope> = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  const dataDir = join(folder, "data")
  execFileSync("cp", ["-a", inject("embeddedSeed"), dataDir])
  // The server of a service that was killed still writes while it ends.
  yield* Effect.addFinalizer(() => endLeftover({ data: join(dataDir, "postgres", "data") }))
  return { DATA_DIR: dataDir }
})

/** A migrated store of its own. */
export const layerMigrated = (environment: Effect.Effect<Environment, never, Scope.Scope>) =>
  Layer.unwrap(
    Effect.map(environment, (env) => StoreFromSettings.layerMigrated.pipe(Layer.provideMerge(layerSettings(env)))),
  )
