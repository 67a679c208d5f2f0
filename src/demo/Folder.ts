import { Effect, Schema } from "effect"
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Lock from "../store/bundled/Lock.ts"
import { removeDatabase } from "../store/bundled/Folders.ts"

/** The demo cannot use the folder, because it contains other data, or a running demo uses it. */
class FolderTaken extends Schema.TaggedError<FolderTaken>()("FolderTaken", {
  folder: Schema.String,
  reason: Schema.String,
}) {
  override get message() {
    return `${this.folder} cannot be used for a demo: ${this.reason}. Choose another folder with --data-dir.`
  }
}

/** Marks a folder that the demo has created, and so may empty. */
const marker = "made-by-the-demo"

const isEmpty = (folder: string) => !existsSync(folder) || readdirSync(folder).length === 0

/**
 * Returns an empty folder for the store of a demo: a new one, or the folder of an earlier demo after deleting its
 * content. Fails with `FolderTaken` for any other folder that is not empty.
 */
export const prepare = (folder: string): Effect.Effect<void, FolderTaken> =>
  Effect.suspend(() => {
    const taken = (reason: string) => new FolderTaken({ folder, reason })
    try {
      if (Lock.isHeld(join(folder, "postgres"))) return taken("another process is using it")
      if (!isEmpty(folder) && !existsSync(join(folder, marker))) {
        return taken("it contains files that no demo created, and a demo empties its folder")
      }
      removeDatabase(folder)
      rmSync(folder, { recursive: true, force: true })
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      writeFileSync(join(folder, marker), "The next demo deletes everything in this folder.\n")
      // Keeps the database out of version control.
      writeFileSync(join(folder, ".gitignore"), "*\n")
      return Effect.void
    } catch (cause) {
      return taken(cause instanceof Error ? cause.message : String(cause))
    }
  })
