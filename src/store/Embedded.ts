import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Schema, String } from "effect"
import { join } from "node:path"
import { Settings } from "../Settings.ts"
import { columnTypes } from "./ColumnTypes.ts"
import * as DataDirLock from "./DataDirLock.ts"
import { EmbeddedLink, type FromWorker, type ToWorker } from "./EmbeddedLink.ts"
import { Store } from "./Store.ts"

/** The embedded database did not start or has stopped. */
export class EmbeddedFailed extends Schema.TaggedError<EmbeddedFailed>()("EmbeddedFailed", {
  dataDir: Schema.String,
  reason: Schema.String,
}) {
  override get message() {
    return `The embedded store in ${this.dataDir} did not open: ${this.reason}`
  }
}

/** Said wherever a user may read it (start-up log, README, `/readyz`), because it is not obvious. */
export const durabilityNote =
  "The embedded store survives the death of the process (kill -9), but not a power cut or a crash " +
  "of the operating system: PGlite never calls fsync. Use Postgres through DATABASE_URL for production."

/** PGlite in a worker of its own; `exec` runs protocol messages one after another. */
const open = Effect.fnUntraced(function* (dataDir: string) {
  const worker = yield* Effect.acquireRelease(
    Effect.sync(() => new Worker(new URL("./embedded.worker.ts", import.meta.url), { type: "module" })),
    (worker) =>
      Effect.callback<void>((resume) => {
        worker.addEventListener("message", (event: MessageEvent<FromWorker>) => {
          if (event.data.type === "closed" || event.data.type === "failed") resume(Effect.void)
        })
        worker.postMessage({ type: "close" } satisfies ToWorker)
      }).pipe(Effect.timeoutOption("10 seconds"), Effect.andThen(Effect.sync(() => worker.terminate()))),
  )
  const waiting = new Map<number, { resolve: (bytes: Uint8Array) => void; reject: (error: Error) => void }>()
  let nextId = 0
  let broken: Error | undefined
  worker.addEventListener("message", ({ data }: MessageEvent<FromWorker>) => {
    if (data.type !== "result" && data.type !== "failed" || data.id === undefined) return
    const entry = waiting.get(data.id)
    waiting.delete(data.id)
    if (data.type === "result") entry?.resolve(data.bytes)
    else entry?.reject(new Error(data.reason))
  })
  worker.addEventListener("error", (event) => {
    event.preventDefault()
    broken = new Error(`The embedded database stopped: ${event.message}`)
    for (const entry of waiting.values()) entry.reject(broken)
    waiting.clear()
  })
  yield* Effect.callback<void, EmbeddedFailed>((resume) => {
    const fail = (reason: string) => resume(Effect.fail(new EmbeddedFailed({ dataDir, reason })))
    worker.addEventListener("error", (event) => fail(event.message))
    worker.addEventListener("message", ({ data }: MessageEvent<FromWorker>) => {
      if (data.type === "opened") resume(Effect.void)
      else if (data.type === "failed" && data.id === undefined) fail(data.reason)
    })
    worker.postMessage({ type: "open", dataDir } satisfies ToWorker)
  })
  return (bytes: Uint8Array<ArrayBuffer>) =>
    new Promise<Uint8Array>((resolve, reject) => {
      if (broken !== undefined) return reject(broken)
      const id = nextId++
      waiting.set(id, { resolve, reject })
      worker.postMessage({ type: "exec", id, bytes } satisfies ToWorker, [bytes.buffer])
    })
})

const simpleQuery = (text: string): Uint8Array<ArrayBuffer> => {
  const body = new TextEncoder().encode(text)
  const message = new Uint8Array(body.length + 6)
  message[0] = "Q".charCodeAt(0)
  new DataView(message.buffer).setInt32(1, body.length + 5)
  message.set(body, 5)
  return message
}

/**
 * `SqlClient` and `Store` over PGlite in `DATA_DIR`, one process, one connection. Fails with `DataDirInUse` when another
 * process holds the folder.
 */
export const layer = Layer.unwrap(Effect.gen(function* () {
  const { dataDir } = yield* Settings
  const lock = yield* DataDirLock.acquire(dataDir)
  const exec = yield* open(join(dataDir, "db"))
  let links = 0
  // A link that replaces a broken one finds the session as that left it: perhaps within a transaction, with prepared
  // statements under names the new client will use again.
  const reset = async () => {
    if (links++ > 0) {
      await exec(simpleQuery("ROLLBACK"))
      await exec(simpleQuery("DISCARD ALL"))
    }
    // A plan made while a table was small is otherwise kept, as nothing here tells the planner that it has grown.
    await exec(simpleQuery("SET plan_cache_mode = force_custom_plan"))
  }
  const client = PgClient.layer({
    username: "postgres",
    database: "postgres",
    applicationName: "parlance",
    stream: () => new EmbeddedLink(exec, reset),
    ssl: false,
    maxConnections: 1,
    minConnections: 1,
    idleTimeout: "3650 days",
    transformResultNames: String.snakeToCamel,
    transformQueryNames: String.camelToSnake,
    transformJson: false,
    types: columnTypes,
  })
  return Layer.merge(
    client,
    Layer.succeed(Store, Store.of({ kind: "embedded", address: dataDir, announce: lock.announce, look: undefined })),
  )
}))
