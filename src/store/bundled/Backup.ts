import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { Buffer } from "node:buffer"
import { createWriteStream, existsSync, mkdirSync, renameSync, rmSync } from "node:fs"
import { type FileHandle, open, readdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Readable } from "node:stream"
import { buffer } from "node:stream/consumers"
import { pipeline } from "node:stream/promises"
import * as Archive from "./Archive.ts"
import { restoreFault, writeFault } from "./BackupFault.ts"
import { type Folders, prepare, restoring, versionIn } from "./Folders.ts"
import * as Lock from "./Lock.ts"

/** A backup could not be written or restored. */
class BackupFailed extends Schema.TaggedError<BackupFailed>()("BackupFailed", { reason: Schema.String }) {
  override get message() {
    return this.reason
  }
}

/**
 * Whether a file is excluded: files that the server creates again, and the write-ahead log, which is added separately.
 */
const isLeftOut = (name: string): boolean =>
  /^(?:postmaster\.(?:pid|opts)|current_logfiles|backup_label.*|tablespace_map.*)$/.test(name) ||
  /^(?:pg_wal|pg_replslot|pg_dynshmem|pg_notify|pg_serial|pg_snapshots|pg_stat_tmp|pg_subtrans)\/./.test(name) ||
  /(?:^|\/)(?:pgsql_tmp.*|pg_internal\.init.*)$/.test(name)

/** Files outside of the database that a restored installation needs. */
const besides = ["secret-key", "admin-token"]

/** Reads an open file up to its current size. The server may change the file in the meantime. */
async function* chunksOf(file: FileHandle, size: number): AsyncGenerator<Uint8Array> {
  let at = 0
  while (at < size) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(Math.min(1 << 18, size - at)), 0, null, at)
    if (bytesRead === 0) break
    yield buffer.subarray(0, bytesRead)
    at += bytesRead
  }
  // Fills up a file that was truncated in the meantime. The write-ahead log restores its content.
  if (at < size) yield Buffer.alloc(size - at)
}

async function* fileOf(path: string, name: string): AsyncGenerator<Archive.Entry> {
  const file = await open(path).catch((error) => {
    // The table was dropped in the meantime.
    if (error.code === "ENOENT") return undefined
    throw error
  })
  if (file === undefined) return
  try {
    const { size } = await file.stat()
    yield { name, content: { size, chunks: chunksOf(file, size) } }
  } finally {
    await file.close()
  }
}

async function* treeOf(data: string, folder = ""): AsyncGenerator<Archive.Entry> {
  for (const entry of await readdir(join(data, folder), { withFileTypes: true })) {
    const name = folder === "" ? entry.name : `${folder}/${entry.name}`
    if (isLeftOut(name)) continue
    if (entry.isDirectory()) {
      yield { name: `data/${name}` }
      yield* treeOf(data, name)
    } else if (entry.isFile()) yield* fileOf(join(data, name), `data/${name}`)
  }
}

interface Stopped {
  readonly labelFile: string
  /** Name of the last segment of the write-ahead log that the backup needs. */
  readonly last: string
  readonly showsAt: Date
}

/** The server's side of a backup. */
interface Session {
  /** Name of the first segment of the write-ahead log that the backup needs. */
  readonly first: string
  /** Returns the name of the segment that the server is writing. */
  readonly current: () => Promise<string>
  readonly stop: () => Promise<Stopped>
}

const isSegment = (name: string): boolean => /^[0-9A-F]{24}$/.test(name)

async function* segmentsOf(data: string, isWanted: (name: string) => boolean): AsyncGenerator<Archive.Entry> {
  for (const name of (await readdir(join(data, "pg_wal"))).filter(isSegment).sort()) {
    if (isWanted(name)) yield* fileOf(join(data, "pg_wal", name), `data/pg_wal/${name}`)
  }
}

/** The entries of a backup. After the last one, `Stopped` is returned. */
async function* entriesOf(
  dataDir: string,
  { data }: Folders,
  { current, first, stop }: Session,
): AsyncGenerator<Archive.Entry, Stopped> {
  for (const name of besides) if (existsSync(join(dataDir, name))) yield* fileOf(join(dataDir, name), name)
  yield { name: "data" }
  yield* treeOf(data)
  // Full segments are copied while the backup still runs, so that little is left to copy after the moment it shows.
  const next = await current()
  yield* segmentsOf(data, (name) => name >= first && name < next)
  const stopped = await stop()
  yield* segmentsOf(data, (name) => name >= next && name <= stopped.last)
  const label = Buffer.from(stopped.labelFile)
  yield { name: "data/backup_label", content: { size: label.length, chunks: Readable.from([label]) } }
  return stopped
}

/**
 * Writes an archive under a temporary name and renames it after it is complete and on disk. Returns what `entries`
 * return.
 */
const write = async <A>(entries: AsyncGenerator<Archive.Entry, A>, file: string): Promise<A> => {
  const unfinished = `${file}.unfinished`
  let returned: A | undefined
  try {
    await Archive.write(
      (async function* () {
        returned = yield* entries
      })(),
      unfinished,
    )
    await rename(unfinished, file)
    return returned!
  } finally {
    await rm(unfinished, { force: true })
  }
}

/**
 * Writes a backup of the embedded database of `dataDir` to `file` while the server runs: its files, and the write-ahead
 * log of the time during which they are copied. Returns the moment that the backup shows: it contains everything that
 * was committed before. Fails with `BackupFailed`, or with `SqlError` if the database does not respond.
 */
export const backup = (
  dataDir: string,
  file: string,
): Effect.Effect<Date, BackupFailed | SqlError, SqlClient.SqlClient> =>
  Effect.scoped(Effect.gen(function* () {
    const folders = yield* prepare(dataDir).pipe(
      Effect.mapError(({ message }) => new BackupFailed({ reason: message })),
    )
    const sql = yield* SqlClient.SqlClient
    // Uses one session throughout, because the server aborts the backup if its session ends.
    const session = yield* sql.reserve
    const ask = <Row>(statement: string) =>
      Effect.map(
        session.executeUnprepared(statement, [], undefined) as Effect.Effect<ReadonlyArray<Row>, SqlError>,
        ([row]) => row!,
      )
    // The slot retains the log, and is dropped with the session.
    yield* ask(
      "SELECT s.slot_name::text FROM pg_create_physical_replication_slot('parlance_backup_' || pg_backend_pid(), true, true) s",
    )
    const { segment: first } = yield* ask<{ readonly segment: string }>(
      "SELECT pg_walfile_name(pg_backup_start('parlance', true)) AS segment",
    )
    const current = Effect.map(
      ask<{ readonly segment: string }>("SELECT pg_walfile_name(pg_current_wal_lsn()) AS segment"),
      ({ segment }) => segment,
    )
    const stop = Effect.gen(function* () {
      const { at } = yield* ask<{ readonly at: Date }>("SELECT clock_timestamp() AS at")
      const { label, last } = yield* ask<{ readonly label: string; readonly last: string }>(
        "SELECT s.labelfile AS label, pg_walfile_name(s.lsn) AS last FROM pg_backup_stop(false) s",
      )
      return { labelFile: label, last, showsAt: at }
    })
    const entries = entriesOf(dataDir, folders, {
      first,
      current: () => Effect.runPromise(current),
      stop: () => Effect.runPromise(stop),
    })
    const { showsAt } = yield* Effect.tryPromise({
      try: () => write(entries, file),
      catch: (cause) => new BackupFailed({ reason: `The backup was not written: ${writeFault(cause, file)}` }),
    })
    return showsAt
  }))

/**
 * Stores when the last backup was made, for `parlance_backup_age_seconds`. Fails with `SqlError` if the database does
 * not respond or was not migrated to this release.
 */
export const record = Effect.fnUntraced(function* (showsAt: Date, isVerified: boolean) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    INSERT INTO backups AS b (is_last, shows_at, verified_at)
    VALUES (true, ${showsAt}, CASE WHEN ${isVerified} THEN now() END)
    ON CONFLICT (is_last) DO UPDATE SET shows_at = EXCLUDED.shows_at,
      verified_at = coalesce(EXCLUDED.verified_at, b.verified_at)`
})

/**
 * Reads every page of every table, so that the server compares its checksum. Fails with `SqlError` if a page is
 * damaged.
 */
export const readEveryPage = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql<{ readonly name: string }>`
    SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'm', 't') AND c.relpersistence = 'p' ORDER BY 1`
  // No index contains `ctid`, so the table itself is read.
  for (const { name } of tables) yield* sql`SELECT count(t.ctid) FROM ${sql.literal(name)} t`
  return tables.length
})

/** Unpacks the files of the database to `target`. Returns the other files of the installation by name. */
const unpack = async (file: string, target: string): Promise<ReadonlyMap<string, Buffer>> => {
  const others = new Map<string, Buffer>()
  let hasLabel = false
  for await (const { content, name } of Archive.read(file)) {
    const isBeside = besides.includes(name)
    if (!isBeside && name !== "data" && !name.startsWith("data/")) throw new Error(`It holds the name ${name}`)
    hasLabel ||= name === "data/backup_label"
    const path = join(target, name.slice("data".length))
    if (isBeside && content !== undefined) others.set(name, await buffer(content.chunks))
    else if (content === undefined) mkdirSync(path, { recursive: true, mode: 0o700 })
    else await pipeline(content.chunks, createWriteStream(path, { mode: 0o600, flush: true }))
  }
  if (!hasLabel) throw new Error("It is not complete")
  return others
}

/**
 * Restores the embedded database of `dataDir` from a backup. `dataDir` must not contain a database. Fails with
 * `BackupFailed` and then leaves no file of the backup.
 */
export const restore = (dataDir: string, file: string): Effect.Effect<void, BackupFailed> =>
  Effect.scoped(Effect.gen(function* () {
    const { data, root } = yield* prepare(dataDir)
    const lock = yield* Lock.open(root)
    if (!lock.take()) return yield* new BackupFailed({ reason: `A service runs on ${dataDir}. Stop it first` })
    if (versionIn(data) !== undefined) {
      return yield* new BackupFailed({
        reason: `${dataDir} holds a database. Set DATA_DIR to a new folder, or move this one away`,
      })
    }
    const unfinished = restoring(root)
    yield* Effect.tryPromise({
      try: async () => {
        rmSync(unfinished, { recursive: true, force: true })
        const others = await unpack(file, unfinished)
        // Checked first, so that a file that is not a backup is refused.
        await readFile(join(unfinished, "PG_VERSION"))
        for (const [name, content] of others) {
          await writeFile(join(dataDir, name), content, { mode: 0o600, flush: true })
        }
        renameSync(unfinished, data)
      },
      catch: (cause) => new BackupFailed({ reason: `${file} was not restored: ${restoreFault(cause, file, dataDir)}` }),
    }).pipe(Effect.tapError(() => Effect.sync(() => rmSync(unfinished, { recursive: true, force: true }))))
  })).pipe(
    Effect.catchTag("DataDirUnusable", ({ message }) => new BackupFailed({ reason: message })),
  )
