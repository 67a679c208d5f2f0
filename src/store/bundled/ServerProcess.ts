import { Deferred, Effect, Exit, type Scope } from "effect"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import type { Folders } from "./Folders.ts"
import * as PidFile from "./PidFile.ts"
import type { Programs } from "./Programs.ts"
import * as ServerLog from "./ServerLog.ts"
import { failureOf, type ServerFailed, spawnIn } from "./Spawn.ts"

/**
 * Shell script that runs the server and ends it when standard input closes. The service holds the other end of that
 * pipe, and the operating system closes it however the service dies. The shell is the parent of the server until it has
 * ended, so it cannot signal another process with a reused number.
 */
const guardian = `
exec 3<&0 </dev/null
"$@" 3<&- &
server=$!
trap 'kill -INT $server' HUP INT TERM
(read -r _ <&3; kill -INT $server) &
watch=$!
exec 3<&-
wait $server
status=$?
while kill -0 $server 2>/dev/null; do wait $server; status=$?; done
kill $watch 2>/dev/null
exit $status
`

/**
 * Settings for a small server: one service on one machine. Safety settings such as fsync keep PostgreSQL's defaults.
 */
const settings = {
  listen_addresses: "",
  unix_socket_permissions: "0700",
  max_connections: "100",
  shared_buffers: "32MB",
  max_wal_size: "512MB",
  min_wal_size: "32MB",
  // Workers that a small machine does not need. Each would use memory.
  io_method: "sync",
  max_parallel_workers: "0",
  max_parallel_workers_per_gather: "0",
  max_logical_replication_workers: "0",
  autovacuum_worker_slots: "4",
  jit: "off",
  huge_pages: "off",
  timezone: "UTC",
  log_timezone: "UTC",
  lc_messages: "C",
  // The service itself reports failing statements.
  log_min_messages: "log",
  log_line_prefix: "",
  log_checkpoints: "off",
  log_autovacuum_min_duration: "-1",
} as const

type ServerSettings = Readonly<Record<string, string>>

const argumentsFor = ({ data, sockets }: Folders, more: ServerSettings): ReadonlyArray<string> => [
  "-D",
  data,
  ...Object.entries({ ...settings, unix_socket_directories: sockets, ...more }).flatMap(([name, value]) => [
    "-c",
    `${name}=${value}`,
  ]),
]

/** How long a server may take to shut down before it is killed. After that, its next start needs recovery. */
const patience = "60 seconds"

/**
 * Ends a server that an earlier process left running, for example while it writes its last checkpoint. Deletes the pid
 * file of a dead server if another program has its process id. The caller must hold the lock of the folder.
 */
export const endLeftover = ({ data }: Pick<Folders, "data">): Effect.Effect<void> =>
  Effect.gen(function* () {
    const found = PidFile.read(data)
    if (found === undefined) return
    // If the process is gone, PostgreSQL deletes the file itself, after it has checked that all workers have ended.
    if (found.process === "none") return
    if (found.process === "other") return rmSync(join(data, "postmaster.pid"), { force: true })
    yield* Effect.logInfo("Waiting for an earlier database server on this folder to end", { pid: found.pid })
    PidFile.signal(found.pid, "INT")
    const hasEnded = Effect.sync(() => PidFile.read(data)?.process !== "server")
    const wait: Effect.Effect<void> = Effect.flatMap(
      hasEnded,
      (yes) => yes ? Effect.void : Effect.andThen(Effect.sleep("50 millis"), wait),
    )
    yield* wait.pipe(
      Effect.timeoutOrElse({
        duration: patience,
        orElse: () => Effect.andThen(Effect.sync(() => PidFile.signal(found.pid, "QUIT")), wait),
      }),
    )
  })

/** A server that accepts connections. */
interface Running {
  readonly pid: number
  /** Succeeds with the reason after the server has ended. */
  readonly ended: Effect.Effect<string>
}

/**
 * Starts the server on the folder and returns after it accepts connections. The server ends with the scope. `more` adds
 * settings of PostgreSQL or replaces settings of this module. Fails with `ServerFailed` if the server ends before it
 * accepts connections.
 */
export const start = (
  folders: Folders,
  programs: Programs,
  more: ServerSettings = {},
): Effect.Effect<Running, ServerFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const ready = yield* Deferred.make<void, ServerFailed>()
    const ended = yield* Deferred.make<string>()
    const log = ServerLog.make()
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawnIn(folders, "/bin/sh", [
          ...["-c", guardian, "parlance-postgres", programs.postgres],
          ...argumentsFor(folders, more),
        ])
      ),
      (child) =>
        Effect.andThen(Effect.sync(() => child.stdin!.end()), Deferred.await(ended)).pipe(
          Effect.timeoutOrElse({ duration: patience, orElse: () => Effect.sync(() => child.kill("SIGQUIT")) }),
          Effect.asVoid,
        ),
    )
    // Ignores failed writes to a dead guardian, because its end is reported below.
    child.stdin!.on("error", () => {})
    const end = (lines: ReadonlyArray<string>) => {
      const failure = failureOf(folders, lines, programs.major)
      Deferred.doneUnsafe(ended, Exit.succeed(failure.reason))
      Deferred.doneUnsafe(ready, Exit.fail(failure))
    }
    const context = yield* Effect.context<never>()
    const report = Effect.runForkWith(context)
    createInterface({ input: child.stderr! }).on("line", (line) => {
      log.add(line)
      const progress = ServerLog.progressOf(line)
      if (progress !== undefined) report(Effect.logInfo(progress))
      if (ServerLog.isFault(line)) report(Effect.logWarning("The embedded database reported a problem", line))
      if (ServerLog.isReady(line)) Deferred.doneUnsafe(ready, Exit.void)
    })
    child.on("error", ({ message }) => end([message]))
    child.on("close", () => end(log.lines()))
    // If the shell was killed, its server keeps the stream open. The last lines arrive right after the end.
    child.on("exit", () => setTimeout(() => end(log.lines()), 100))
    yield* Deferred.await(ready)
    return { pid: child.pid!, ended: Deferred.await(ended) }
  })
