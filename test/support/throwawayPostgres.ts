import { Effect, Exit, Scope } from "effect"
import { chmodSync, cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
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

/**
 * Starts the bundled server with a port on loopback. `seed` is a `DATA_DIR` whose database is copied. Without it, the
 * server is empty. `settings` are settings of PostgreSQL, and `files` are written to its data folder.
 */
export const startPostgres = async (
  { files = {}, seed, settings = {} }: {
    readonly seed?: string
    readonly settings?: Readonly<Record<string, string>>
    readonly files?: Readonly<Record<string, string>>
  } = {},
): Promise<ThrowawayPostgres> => {
  const folder = openFolder("parlance-postgres-")
  const dataDir = join(folder, "data")
  if (seed !== undefined) cpSync(seed, dataDir, { recursive: true, preserveTimestamps: true })
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

/**
 * Starts a server and a standby that streams from it. Both begin with the database of `seed`, a `DATA_DIR` whose server
 * has ended, so the standby needs no backup. Ends both when the scope closes.
 */
export const scopedReplicas = Effect.fnUntraced(function* (seed: string) {
  const scoped = (options: Parameters<typeof startPostgres>[0]) =>
    Effect.acquireRelease(Effect.promise(() => startPostgres({ seed, ...options })), ({ stop }) => Effect.promise(stop))
  const primary = yield* scoped({})
  const standby = yield* scoped({
    files: { "standby.signal": "" },
    settings: { primary_conninfo: `host=127.0.0.1 port=${new URL(primary.url).port} user=postgres` },
  })
  return { primary, standby }
})
