import { Effect } from "effect"
import { chmodSync, statSync } from "node:fs"
import { join } from "node:path"

/** Names of the service's own entries in its data directory. Other entries are not changed. */
const ownEntries = ["postgres", "address", "admin-token", "first-run.txt", "secret-key"]

const forOthers = 0o077

/**
 * Makes new files of this process readable only by their owner. Changing the mask requires all of `--allow-sys`, which
 * the container image does not have. Without this permission, only the mode of the data directory protects the files.
 */
export const keepNewFilesPrivate = Effect.sync(() => {
  try {
    Deno.umask(forOthers)
  } catch (error) {
    if (!(error instanceof Deno.errors.NotCapable || error instanceof Deno.errors.NotSupported)) throw error
  }
})

const modeOf = (path: string): number | undefined => {
  try {
    return statSync(path).mode & 0o777
  } catch {
    return undefined
  }
}

/**
 * Removes other users' rights to the service's own entries in `dataDir`. Logs a warning for entries that cannot be
 * changed.
 */
export const tighten = (dataDir: string): Effect.Effect<void> =>
  Effect.forEach(ownEntries, (name) =>
    Effect.suspend(() => {
      const path = join(dataDir, name)
      const mode = modeOf(path)
      if (mode === undefined || (mode & forOthers) === 0) return Effect.void
      try {
        chmodSync(path, mode & ~forOthers)
        return Effect.logInfo(`${path} was open to other users of this machine and is private now`)
      } catch (error) {
        return Effect.logWarning(
          `${path} is open to other users of this machine (mode ${mode.toString(8)}) and cannot be changed: ` +
            `${error instanceof Error ? error.message : String(error)}. Run chmod -R go= on it as its owner`,
        )
      }
    }), { discard: true })
