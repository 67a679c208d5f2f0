import { Effect } from "effect"
import { chmodSync, statSync } from "node:fs"
import { join } from "node:path"

/** Names of the service's own entries in its data directory. Other entries are left alone. */
const ownEntries = ["postgres", "address", "admin-token", "secret-key"]

const forOthers = 0o077

/**
 * Makes files that this process creates readable by their owner alone. Without the permission to change the mask (Deno asks
 * for all of `--allow-sys`, which the container image does not have) the mode of the data directory alone protects them.
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
 * Removes the rights of other users on the service's own entries in `dataDir`, and warns of those that it cannot
 * change.
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
