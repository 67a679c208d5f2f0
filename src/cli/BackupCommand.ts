import { Console, Context, Effect, Option } from "effect"
import { Command } from "effect/cli"
import { mkdtempSync, rmSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { Settings } from "../settings/Settings.ts"
import * as Backup from "../store/bundled/Backup.ts"
import { innermost } from "../store/innermost.ts"
import * as StoreFromSettings from "../store/StoreFromSettings.ts"
import { argument, toggle } from "./Flags.ts"
import { CommandFailed, ManagementClient } from "./Connection.ts"

const file = argument("file", "The file of the backup")

/** The folder of the embedded database. Fails if `DATABASE_URL` names another database. */
const dataDir = Effect.gen(function* () {
  const { dataDir, database } = yield* Settings
  if (Option.isNone(database)) return dataDir
  return yield* new CommandFailed({
    message: "DATABASE_URL is set. Use pg_dump and pg_restore for that database: see docs/operations/backup.md",
  })
})

/**
 * Restores a backup into a new folder next to it, reads every page of it, and compares the counts of each organization
 * with its decisions and events. Deletes the folder. Fails with `BackupFailed` or `CommandFailed` if the backup cannot
 * be restored or is damaged.
 */
const verify = (file: string) =>
  Effect.scoped(Effect.gen(function* () {
    const scratch = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(dirname(resolve(file)), ".parlance-verify-"))),
      (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true })),
    )
    yield* Backup.restore(scratch, file)
    const settings = { ...(yield* Settings), dataDir: scratch }
    // Loads the whole service, which a backup without --verify does not need.
    const { inProcess } = yield* Effect.promise(() => import("./InProcess.ts"))
    yield* Effect.gen(function* () {
      yield* Backup.readEveryPage.pipe(Effect.provide(StoreFromSettings.layer))
      const client = Context.get(yield* inProcess, ManagementClient)
      const { organizations } = yield* client.listOrganizations()
      for (const { slug } of organizations) {
        const { differences, faults } = yield* client.rebuild({ params: { org: slug }, payload: { check: true } })
        if (differences.length + faults.length > 0) {
          return yield* new CommandFailed({
            message:
              `${differences.length + faults.length} counts of ${slug} differ from its decisions and events. Run ` +
              `\`parlance rebuild --org ${slug}\`, then make another backup`,
          })
        }
      }
    }).pipe(Effect.provideService(Settings, settings))
  })).pipe(
    Effect.catchTag("SqlError", (error) =>
      new CommandFailed({
        message: `${file} is damaged: ${
          innermost(error)
        }. Keep an earlier backup, check the disk, and make another one`,
      })),
    Effect.catchTag("BackupFailed", ({ message }) =>
      new CommandFailed({
        message:
          `The backup was written to ${file}, and could not be verified: ${message}. --verify needs free space of ` +
          "twice the size of the database next to the file",
      })),
  )

/** `parlance backup FILE` */
export const backupCommand = Command.make(
  "backup",
  { file, verify: toggle("verify", "Restore it into a new folder next to FILE, check it, and delete that folder") },
  Effect.fnUntraced(function* ({ file, verify: isVerified }) {
    const folder = yield* dataDir
    const showsAt = yield* Backup.backup(folder, file).pipe(Effect.provide(StoreFromSettings.layer))
    if (isVerified) yield* verify(file)
    const isRecorded = yield* Backup.record(showsAt, isVerified).pipe(
      Effect.provide(StoreFromSettings.layer),
      Effect.as(true),
      Effect.catchTag("SqlError", () => Effect.succeed(false)),
    )
    yield* Console.log(
      `The embedded database in ${folder} was written to ${file}. It shows the moment ${showsAt.toISOString()}: ` +
        "what was acknowledged before is in it",
    )
    if (isVerified) yield* Console.log("It was restored into a new folder and is complete")
    if (!isRecorded) {
      yield* Console.log(
        "Its age is not measured, because the database belongs to an earlier release or does not respond",
      )
    }
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
