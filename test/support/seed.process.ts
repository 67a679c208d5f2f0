// Makes the databases that those of tests are copies of: in the folder it is given an embedded one without tables and a
// migrated one, and with the URL of a Postgres database the tables there. A process of its own, since PGlite leaves its own exit
// code behind, which hid from whoever ran the tests that some had failed.
import "../../src/runtime/leakGuard.ts"
import { PGlite } from "@electric-sql/pglite"
import { Effect, Layer } from "effect"
import { cpSync } from "node:fs"
import { join } from "node:path"
import * as StoreFromSettings from "../../src/store/StoreFromSettings.ts"
import { type Environment, layerSettings } from "./settings.ts"

const migrate = (environment: Environment) =>
  Effect.runPromise(
    Effect.scoped(Layer.build(Layer.provide(StoreFromSettings.layerMigrated, layerSettings(environment)))),
  )

const [folder, databaseUrl] = Deno.args
const db = await PGlite.create({ dataDir: join(folder!, "empty") })
await db.close()
cpSync(join(folder!, "empty"), join(folder!, "migrated", "db"), { recursive: true })
await migrate({ DATA_DIR: join(folder!, "migrated") })
if (databaseUrl !== undefined) await migrate({ DATABASE_URL: databaseUrl })
Deno.exit(0)
