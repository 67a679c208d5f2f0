import { Effect, type Scope } from "effect"
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Lock from "./bundled/Lock.ts"

// Two files in `DATA_DIR` lead commands on this machine to the service that runs on the embedded store: its address, and
// an admin token.

const addressFile = (dataDir: string) => join(dataDir, "address")

/** The file of the admin token that the service on `dataDir` accepts. */
export const tokenFile = (dataDir: string): string => join(dataDir, "admin-token")

const read = (file: string): string | undefined => {
  try {
    return readFileSync(file, "utf8").trim()
  } catch {
    return undefined
  }
}

/** Reads the admin token next to an embedded store. Undefined without one. */
export const readToken = (dataDir: string): string | undefined => read(tokenFile(dataDir))

/** The service on the embedded store in a folder. */
interface LocalService {
  readonly url: string
  readonly token: string
  /** The file with the address. */
  readonly file: string
  /** False after the service was killed, which leaves the file behind. True on Node.js, which cannot check the lock. */
  readonly isRunning: boolean
}

/** Finds the service that published its address in `dataDir`. Undefined if none did, or the files are not readable. */
export const find = (dataDir: string): LocalService | undefined => {
  const file = addressFile(dataDir)
  const url = read(file)
  const token = readToken(dataDir)
  return url === undefined || token === undefined
    ? undefined
    : { url, token, file, isRunning: typeof Deno === "undefined" || Lock.isHeld(join(dataDir, "postgres")) }
}

/** Publishes the address of the service on `dataDir` to commands on this machine, until the scope closes. */
export const announce = (dataDir: string, url: string): Effect.Effect<void, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      try {
        writeFileSync(addressFile(dataDir), url, { mode: 0o600 })
      } catch {
        // If the disk is full, commands open the database themselves.
      }
    }),
    () =>
      Effect.sync(() => {
        // Another service on the folder may have published its address in the meantime.
        if (read(addressFile(dataDir)) === url) rmSync(addressFile(dataDir), { force: true })
      }),
  )
