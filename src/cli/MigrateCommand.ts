import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import { migrate } from "../store/Migrations.ts"
import * as StoreFromSettings from "../store/StoreFromSettings.ts"

/** `parlance migrate` */
export const migrateCommand = Command.make("migrate", {}, () =>
  migrate.pipe(
    Effect.flatMap((applied) =>
      Console.log(
        applied.length === 0
          ? "The database is up to date"
          : applied.map(([id, name]) => `Applied ${String(id).padStart(4, "0")} ${name}`).join("\n"),
      )
    ),
    Effect.provide(StoreFromSettings.layer),
  )).pipe(Command.withDescription("Apply pending migrations to the database; `serve` does this too"))
