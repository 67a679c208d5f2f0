import { describe } from "@effect/vitest"
import { Effect, Layer, type Scope } from "effect"
import { randomUUID } from "node:crypto"
import { chmodSync, cpSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inject } from "vitest"
import type {} from "./globalSetup.ts"
import { onServer } from "./onServer.ts"
import { type Environment, layerSettings } from "./settings.ts"

export { type Environment, layerSettings } from "./settings.ts"
import * as StoreFromSettings from "../../src/store/StoreFromSettings.ts"

/** The stores a service can run on. */
export type StoreName = "embedded" | "postgres"

/** A new folder that goes with the scope. Every user may pass through it: a database server has a user of its own. */
export const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => {
    const folder = mkdtempSync(join(tmpdir(), "parlance-test-"))
    chmodSync(folder, 0o711)
    return folder
  }),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true })),
)

const serverUrl = () => inject("postgresUrl")

/** A new database on the throwaway server that goes with the scope, a copy of `template`; answers its URL. */
const temporaryDatabase = Effect.fnUntraced(function* (template?: string) {
  const url = serverUrl()
  if (url === undefined) return yield* Effect.die("No throwaway Postgres; guard the suite with `hasPostgres`")
  const name = `test_${randomUUID().replaceAll("-", "")}`
  const run = (statement: string) => Effect.promise(() => onServer(url, statement))
  yield* Effect.acquireRelease(
    run(`CREATE DATABASE ${name}${template === undefined ? "" : ` TEMPLATE ${template}`}`),
    () => run(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  )
  return new URL(`/${name}`, url).href
})

/** Whether tests on Postgres can run; the global set-up has printed the reason where they cannot. */
export const hasPostgres = (): boolean => serverUrl() !== undefined

const environmentOf = (name: StoreName, embedded: () => string, template: () => string | undefined) =>
  name === "embedded"
    ? Effect.map(temporaryFolder, (folder): Environment => {
      cpSync(embedded(), join(folder, "data", "db"), { recursive: true })
      return { DATA_DIR: join(folder, "data") }
    })
    : Effect.map(
      Effect.suspend(() => temporaryDatabase(template())),
      (url): Environment => ({ DATABASE_URL: url, DATABASE_POOL_SIZE: "4" }),
    )

/** The environment of a service on a migrated store of its own, which goes with the scope. */
export const temporaryEnvironment = (name: StoreName) =>
  environmentOf(name, () => inject("embeddedSeed"), () => inject("postgresTemplate"))

/** The same, without tables. */
export const emptyEnvironment = (name: StoreName) => environmentOf(name, () => inject("embeddedEmpty"), () => undefined)

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
