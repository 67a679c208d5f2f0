import { PgClient } from "@effect/sql-pg"
import { Effect, Exit, Layer, Redacted, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { spawnSync } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { giveTo, prepare } from "../../src/store/bundled/Folders.ts"
import { find } from "../../src/store/bundled/Programs.ts"
import * as Files from "../../src/store/bundled/Files.ts"
import * as ServerProcess from "../../src/store/bundled/ServerProcess.ts"

/** A separate PostgreSQL server, and a function to end it. */
export interface ThrowawayPostgres {
  /** URL of the server for its superuser. */
  readonly url: string
  /** Its data directory. */
  readonly data: string
  readonly stop: () => Promise<unknown>
}

/**
 * Creates a folder below the temporary folder. All users of the machine may enter it, because the server runs as
 * another user.
 */
export const openFolder = (prefix: string): string => {
  const folder = mkdtempSync(join(tmpdir(), prefix))
  chmodSync(folder, 0o711)
  return folder
}

const freePort = () =>
  new Promise<number>((resolve, reject) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => typeof address === "object" && address !== null ? resolve(address.port) : reject())
    })
  })

const start = Effect.fnUntraced(function* (
  dataDir: string,
  settings: Readonly<Record<string, string>>,
  files: Readonly<Record<string, string>>,
) {
  const folders = yield* prepare(dataDir)
  const programs = yield* find({ forAnotherUser: folders.user !== undefined, installations: folders.root })
  yield* Files.ensure(folders, programs)
  for (const [name, text] of Object.entries(files)) {
    const path = join(folders.data, name)
    writeFileSync(path, text)
    chmodSync(path, 0o600)
    if (folders.user !== undefined) giveTo(folders.user, path)
  }
  yield* ServerProcess.start(folders, programs, settings)
})

/** Copies a `DATA_DIR`. Files of a server in use may vanish meanwhile, so missing files are no failure. */
const copyTo = (dataDir: string, seed: string) => spawnSync("cp", ["-a", seed, dataDir])

/**
 * Starts the bundled server with a port on loopback. `seed` is a `DATA_DIR` whose database is copied, or writes such a
 * folder. Without it, the server is empty. `settings` are settings of PostgreSQL, and `files` are written to its data
 * folder.
 */
export const startPostgres = async (
  { files = {}, seed, settings = {} }: {
    readonly seed?: string | ((dataDir: string) => Promise<unknown>)
    readonly settings?: Readonly<Record<string, string>>
    readonly files?: Readonly<Record<string, string>>
  } = {},
): Promise<ThrowawayPostgres> => {
  const folder = openFolder("parlance-postgres-")
  const dataDir = join(folder, "data")
  if (typeof seed === "string") copyTo(dataDir, seed)
  else await seed?.(dataDir)
  const port = await freePort()
  const scope = Scope.makeUnsafe()
  await Effect.runPromise(Scope.provide(
    start(dataDir, { listen_addresses: "127.0.0.1", port: String(port), max_connections: "200", ...settings }, files),
    scope,
  ))
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    data: join(dataDir, "postgres", "data"),
    stop: async () => {
      await Effect.runPromise(Scope.close(scope, Exit.void))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Settings of a server whose files need not survive a power cut. A copy of files in use starts 30 seconds earlier. */
export const withoutSync = { fsync: "off" }

/**
 * Starts a standby that streams from `primary`. Copies the files of the primary while it is in use, as `pg_basebackup`
 * does, which the bundled server does not have.
 */
export const startStandby = ({ data, url }: ThrowawayPostgres): Promise<ThrowawayPostgres> => {
  const copyInUse = (dataDir: string) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`SELECT pg_backup_start('standby', TRUE)::text AS place`
      copyTo(dataDir, dirname(dirname(data)))
      const [backup] = yield* sql<{ label: string }>`SELECT b.labelfile AS label FROM pg_backup_stop(FALSE) b`
      const copied = join(dataDir, "postgres", "data")
      rmSync(join(copied, "postmaster.pid"))
      writeFileSync(join(copied, "backup_label"), backup!.label)
      writeFileSync(join(copied, "standby.signal"), "")
    }).pipe(
      // A backup begins and ends in one session.
      Effect.provide(Layer.fresh(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 }))),
      Effect.runPromise,
    )
  const primaryInfo = `host=127.0.0.1 port=${new URL(url).port} user=postgres`
  return startPostgres({ seed: copyInUse, settings: { primary_conninfo: primaryInfo, ...withoutSync } })
}

/** Starts a server with the database of `seed`, and a standby that streams from it. Ends both when the scope closes. */
export const scopedReplicas = Effect.fnUntraced(function* (seed: string) {
  const scoped = (start: () => Promise<ThrowawayPostgres>) =>
    Effect.acquireRelease(Effect.promise(start), ({ stop }) => Effect.promise(stop))
  const primary = yield* scoped(() => startPostgres({ seed, settings: withoutSync }))
  const standby = yield* scoped(() => startStandby(primary))
  return { primary, standby }
})
