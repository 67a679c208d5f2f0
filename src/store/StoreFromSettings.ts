import { Effect, Layer, Option } from "effect"
import { Settings } from "../Settings.ts"
import * as Embedded from "./Embedded.ts"
import * as Migrations from "./Migrations.ts"
import * as Postgres from "./Postgres.ts"

/** The store that the settings name: Postgres with `DATABASE_URL`, the embedded one without. Not yet migrated. */
export const layer = Layer.unwrap(
  Effect.map(Settings, ({ databaseUrl }) => Option.isSome(databaseUrl) ? Postgres.layer : Embedded.layer),
)

/** The same, migrated. */
export const layerMigrated = Migrations.layer.pipe(Layer.provideMerge(layer))
