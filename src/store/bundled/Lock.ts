import { Effect, type Scope } from "effect"
import { join } from "node:path"
import { DataDirUnusable } from "./Folders.ts"

/** The lock of a folder. */
interface Lock {
  /**
   * Acquires the lock if no process holds it. Returns whether this process holds it. Once acquired, it is held until
   * the scope closes.
   */
  readonly take: () => boolean
}

const options = { read: true, write: true, create: true, mode: 0o600 } as const

/**
 * The exclusive lock (`flock`) of a server's folder. The operating system releases it when the process ends for any
 * reason, so it needs no heartbeat that a suspended process could miss. Fails with `DataDirUnusable` if the lock file
 * cannot be created.
 */
export const open = (folder: string): Effect.Effect<Lock, DataDirUnusable, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.try({
      try: () => Deno.openSync(join(folder, "lock"), options),
      catch: (cause) => new DataDirUnusable({ dataDir: folder, reason: `${cause}` }),
    }),
    (file) => Effect.sync(() => file.close()),
  ).pipe(Effect.map((file) => {
    let isHeld = false
    return { take: () => isHeld ||= file.tryLockSync(true) }
  }))

/** Whether a live process holds the lock of `folder`. */
export const isHeld = (folder: string): boolean => {
  try {
    using file = Deno.openSync(join(folder, "lock"), { read: true, write: true })
    return !file.tryLockSync(true)
  } catch {
    return false
  }
}
