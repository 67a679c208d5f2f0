import { Console, Effect, Option } from "effect"
import { Command } from "effect/cli"
import { Settings } from "../settings/Settings.ts"
import * as Backup from "../store/bundled/Backup.ts"
import * as StoreFromSettings from "../store/StoreFromSettings.ts"
import { argument } from "./Flags.ts"
import { CommandFailed } from "./Connection.ts"

const file = argument("file", "The file of the backup")

/** The folder of the embedded database. Fails if `DATABASE_URL` names another database. */
const dataDir = Effect.gen(function* () {
  const { dataDir, database } = yield* Settings
  if (Option.isNone(database)) return dataDir
  return yield* new CommandFailed({
    message: "DATABASE_URL is set. Use pg_dump and pg_restore for that database: see docs/operations/backup.md",
  })
})

/** `parlance backup FILE` */
export const backupCommand = Command.make(
  "backup",
  { file },
  Effect.fnUntraced(function* ({ file }) {
    const folder = yield* dataDir
    yield* Backup.backup(folder, file).pipe(Effect.provide(StoreFromSettings.layer))
    yield* Console.log(`The embedded database in ${folder} was written to ${file}`)
  }),
).pipe(Command.withDescription("Write the embedded database to a file, while the service runs"))

/** `parlance restore FILE` */
export const restoreCommand = Command.make(
  "restore",
  { file },
  Effect.fnUntraced(function* ({ file }) {
    const folder = yield* dataDir
    yield* Backup.restore(folder, file)
    yield* Console.log(`${file} was restored to ${folder}. Start the service`)
  }),
).pipe(Command.withDescription("Restore the embedded database from a backup into an empty DATA_DIR"))
