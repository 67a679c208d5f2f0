import { Effect, type Scope } from "effect"
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const fileIn = (dataDir: string) => join(dataDir, "address")

/** Returns the address of the service that runs on `dataDir` of this machine, or that ran there last and was killed. */
export const read = (dataDir: string): string | undefined => {
  try {
    return readFileSync(fileIn(dataDir), "utf8")
  } catch {
    return undefined
  }
}

/** Publishes the address of the service on `dataDir` to commands on this machine, until the scope closes. */
export const announce = (dataDir: string, url: string): Effect.Effect<void, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      try {
        writeFileSync(fileIn(dataDir), url, { mode: 0o600 })
      } catch {
        // If the disk is full, commands print the address of their settings instead.
      }
    }),
    () =>
      Effect.sync(() => {
        // Another service on the folder may have published its address in the meantime.
        if (read(dataDir) === url) rmSync(fileIn(dataDir), { force: true })
      }),
  )
