import { PgClient, PgConnection } from "@effect/sql-pg"
import { Deferred, Effect, Layer, Schedule } from "effect"
import { Reactivity } from "effect/reactivity"
import { join } from "node:path"
import { withProgress } from "../runtime/Progress.ts"
import { Settings } from "../settings/Settings.ts"
import * as Files from "./bundled/Files.ts"
import { type Folders, prepare, sharedFolder, socketName } from "./bundled/Folders.ts"
import * as Lock from "./bundled/Lock.ts"
import { checkMachine, find, type Programs } from "./bundled/Programs.ts"
import * as ServerProcess from "./bundled/ServerProcess.ts"
import type { ServerFailed } from "./bundled/Spawn.ts"
import { makeAnswers } from "./Answers.ts"
import { clientOptions, startupParameters } from "./ClientOptions.ts"
import { explainEmbedded } from "./ConnectFailure.ts"
import { tighten } from "./PrivateFiles.ts"
import { Store } from "./Store.ts"

const connectionTo = ({ sockets }: Folders) => ({
  path: join(sockets, socketName),
  username: "postgres",
  database: "postgres",
  applicationName: "parlance",
  ssl: false,
  // A stopped server refuses connections at once, so a long wait means that the machine is busy.
  connectTimeout: "30 seconds",
} as const)

/** Whether the server accepts connections. */
const answers = (folders: Folders): Effect.Effect<boolean> =>
  PgConnection.make(connectionTo(folders)).pipe(Effect.scoped, Effect.as(true), Effect.orElseSucceed(() => false))

/** Starts the server, and creates its files if they are missing. The server ends with the scope. */
const startServer = Effect.fnUntraced(function* (folders: Folders, programs: Programs) {
  yield* ServerProcess.endLeftover(folders)
  yield* withProgress("Creating the embedded database", () => Files.ensure(folders, programs))
  const start = ServerProcess.start(folders, programs).pipe(
    Effect.retry({ while: ({ isPassing }) => isPassing, times: 50, schedule: Schedule.spaced("100 millis") }),
  )
  return yield* withProgress("Starting the embedded database", () => start)
})

/** Interval at which a process that uses another process's server checks whether that process has ended. */
const guestInterval = "250 millis"

const serverEnded = (reason: string) => Effect.logError(`The embedded database ended and will be restarted: ${reason}`)

/**
 * Keeps a server running on the folder until the scope closes. Returns after the server accepts connections. The
 * process that holds the lock runs the server, and other processes on the folder connect to it. If the holder ends,
 * another process takes the lock and starts a server. A server that ends is restarted after a pause, which grows up to
 * five seconds.
 */
const keepRunning = Effect.fnUntraced(function* (folders: Folders, programs: Programs) {
  const lock = yield* Lock.open(folders.root)
  const ready = yield* Deferred.make<
    void,
    ServerFailed | Files.OtherPostgresVersion
  >()
  let pauseMillis = 100

  const serve = Effect.scoped(Effect.gen(function* () {
    const { ended } = yield* startServer(folders, programs)
    yield* Deferred.succeed(ready, undefined)
    pauseMillis = 100
    yield* serverEnded(yield* ended)
  })).pipe(
    Effect.catch((error) =>
      Effect.flatMap(Deferred.fail(ready, error), (isFirst) => isFirst ? Effect.void : Effect.logError(error.message))
    ),
    Effect.andThen(Effect.suspend(() => Effect.sleep(pauseMillis))),
    Effect.andThen(Effect.sync(() => void (pauseMillis = Math.min(pauseMillis * 2, 5_000)))),
  )

  const visit = Effect.gen(function* () {
    if (!(yield* Deferred.isDone(ready)) && (yield* answers(folders))) yield* Deferred.succeed(ready, undefined)
    yield* Effect.sleep(guestInterval)
  })
  const turn = Effect.suspend(() => lock.take() ? serve : visit)
  yield* Effect.forkScoped(Effect.forever(turn))
  yield* withProgress("Waiting for the embedded database", () => Deferred.await(ready))
})

/**
 * `SqlClient` and `Store` for this service's own PostgreSQL server in `DATA_DIR`. Several processes may use one folder:
 * see `keepRunning`. Fails with `DataDirUnusable`, `NoPrograms`, `ServerFailed` or `OtherPostgresVersion`.
 */
export const layer = Layer.unwrap(Effect.gen(function* () {
  const { databasePoolSize, dataDir } = yield* Settings
  yield* checkMachine()
  const folders = yield* prepare(dataDir)
  yield* tighten(dataDir)
  const programs = yield* find({
    forAnotherUser: folders.user !== undefined,
    installations: folders.user === undefined ? folders.root : sharedFolder,
  })
  yield* keepRunning(folders, programs)
  const client = PgClient.layer({
    ...connectionTo(folders),
    maxConnections: databasePoolSize,
    ...clientOptions,
    startupParameters,
  })
  const answers = yield* makeAnswers(connectionTo(folders)).pipe(Effect.provide(Reactivity.layer))
  return Layer.merge(
    client,
    Layer.succeed(
      Store,
      Store.of({
        kind: "embedded",
        setting: "DATA_DIR",
        direct: undefined,
        read: (effect) => effect,
        replica: undefined,
        address: dataDir,
        answers,
        look: undefined,
        listen: (channel) =>
          Effect.flatMap(PgConnection.make(connectionTo(folders)), (connection) => connection.listen(channel)),
        explain: (error) => Effect.succeed(explainEmbedded(error, dataDir)),
      }),
    ),
  )
}))
