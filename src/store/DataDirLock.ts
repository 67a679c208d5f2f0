import { Effect, Schema } from "effect"
import { mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { tighten } from "./PrivateFiles.ts"

/** The data directory belongs to another live process: PGlite would let both write, and rows would be lost. */
export class DataDirInUse extends Schema.TaggedError<DataDirInUse>()("DataDirInUse", {
  dataDir: Schema.String,
  holder: Schema.String,
}) {
  override get message() {
    return `The data directory ${this.dataDir} is in use by another Parlance process (${this.holder}). ` +
      "Two processes on one embedded store would lose data, so this one stops. " +
      "End the other process, choose another DATA_DIR, or use Postgres through DATABASE_URL to run several."
  }
}

/** The data directory cannot be made or written. */
export class DataDirUnusable extends Schema.TaggedError<DataDirUnusable>()("DataDirUnusable", {
  dataDir: Schema.String,
  cause: Schema.Defect(),
}) {
  override get message() {
    const reason = this.cause instanceof Error ? this.cause.message : String(this.cause)
    return `The data directory ${this.dataDir} cannot be used: ${reason}. Set DATA_DIR to a folder this user may write.`
  }
}

/** What the lock file says of the process that holds it. */
export interface Holder {
  readonly pid: number
  /** Address of its HTTP server once it listens. */
  readonly url?: string
}

export interface DataDirLock {
  /** Tells other processes (the CLI) where this one answers. */
  readonly announce: (holder: Holder) => void
}

const fileOf = (dataDir: string) => join(dataDir, "lock")

/** What the lock file of `dataDir` says, whether or not that process still lives. */
export const readHolder = (dataDir: string): Holder | undefined => {
  try {
    const holder: unknown = JSON.parse(readFileSync(fileOf(dataDir), "utf8"))
    return holder !== null && typeof holder === "object" && "pid" in holder ? holder as Holder : undefined
  } catch {
    return undefined
  }
}

const write = (file: Deno.FsFile, holder: Holder) => {
  const bytes = new TextEncoder().encode(JSON.stringify(holder))
  file.truncateSync(0)
  file.seekSync(0, Deno.SeekMode.Start)
  file.writeSync(bytes)
}

/**
 * Takes the data directory for this process until the scope closes. The lock is the operating system's (`flock`), so it
 * ends with the process however that dies, and needs no heartbeat that a paused process could miss.
 */
export const acquire = (dataDir: string) =>
  Effect.acquireRelease(
    Effect.suspend((): Effect.Effect<Deno.FsFile, DataDirInUse | DataDirUnusable> => {
      let file: Deno.FsFile
      let locked: boolean
      try {
        mkdirSync(join(dataDir, "db"), { recursive: true, mode: 0o700 })
        file = Deno.openSync(fileOf(dataDir), { read: true, write: true, create: true, mode: 0o600 })
        locked = file.tryLockSync(true)
      } catch (cause) {
        return new DataDirUnusable({ dataDir, cause })
      }
      if (!locked) {
        file.close()
        const holder = readHolder(dataDir)
        return new DataDirInUse({ dataDir, holder: holder === undefined ? "starting up" : `pid ${holder.pid}` })
      }
      write(file, { pid: Deno.pid })
      return Effect.succeed(file)
    }),
    (file) => Effect.sync(() => file.close()),
  ).pipe(
    Effect.tap(tighten(dataDir)),
    Effect.map((file): DataDirLock => ({ announce: (holder) => write(file, holder) })),
  )

/** Whether a live process holds `dataDir` now. */
export const isHeld = (dataDir: string): boolean => {
  try {
    using file = Deno.openSync(fileOf(dataDir), { read: true, write: true })
    return !file.tryLockSync(true)
  } catch {
    return false
  }
}
