import { describe } from "@effect/vitest"
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Redacted, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { cpSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inject } from "vitest"
import type {} from "./globalSetup.ts"
import { type Environment, layerSettings } from "./settings.ts"

export { type Environment, layerSettings } from "./settings.ts"
import * as StoreFromSettings from "../../src/store/StoreFromSettings.ts"

/** The stores a service can run on. */
export type StoreName = "embedded" | "postgres"

/** A new folder that goes with the scope. */
export const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "parlance-test-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true })),
)

const serverUrl = () => inject("postgresUrl")

/** A new database on the throwaway server that goes with the scope; answers its URL. */
export const temporaryDatabase = Effect.gen(function* () {
  const url = serverUrl()
  if (url === undefined) return yield* Effect.die("No throwaway Postgres; guard the suite with `hasPostgres`")
  const name = `test_${randomUUID().replaceAll("-", "")}`
  const admin = Layer.build(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 }))
  const run = (statement: string) =>
    Effect.scoped(
      Effect.flatMap(admin, (context) =>
        Effect.provideContext(
          Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(statement)),
          context,
        )),
    )
  yield* Effect.acquireRelease(
    run(`CREATE DATABASE ${name}`),
    () => Effect.orDie(run(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)),
  )
  const own = new URL(url)
  own.pathname = `/${name}`
  return own.href
}).pipe(Effect.orDie)

/** Whether tests on Postgres can run; the global set-up has printed the reason where they cannot. */
export const hasPostgres = (): boolean => serverUrl() !== undefined

/** The environment of a service on a store of its own, which goes with the scope. */
export const temporaryEnvironment = (name: StoreName) =>
  name === "embedded"
    ? Effect.map(temporaryFolder, (folder): Environment => {
      cpSync(inject("embeddedSeed"), join(folder, "data", "db"), { recursive: true })
      return { DATA_DIR: join(folder, "data") }
    })
    : Effect.map(temporaryDatabase, (url): Environment => ({ DATABASE_URL: url, DATABASE_POOL_SIZE: "4" }))

/** Runs a suite on the embedded store and on Postgres, each with an environment to build its layers from. */
export const describeOnStores = (
  name: string,
  suite: (
    store: StoreName,
    environment: Effect.Effect<Environment, never, Scope.Scope>,
  ) => void,
) => {
  describe(`${name} (embedded)`, () => suite("embedded", temporaryEnvironment("embedded")))
  describe.runIf(hasPostgres())(`${name} (postgres)`, () => suite("postgres", temporaryEnvironment("postgres")))
}

/** A migrated store of its own. */
export const layerMigrated = (environment: Effect.Effect<Environment, never, Scope.Scope>) =>
  Layer.unwrap(
    Effect.map(environment, (env) => StoreFromSettings.layerMigrated.pipe(Layer.provideMerge(layerSettings(env)))),
  )
