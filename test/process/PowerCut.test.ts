import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { execFileSync } from "node:child_process"
import { closeSync, openSync, readFileSync, writeSync } from "node:fs"
import { basename, join } from "node:path"
import * as StoreFromSettings from "../../src/store/StoreFromSettings.ts"
import { embeddedEnvironment, layerSettings, temporaryFolder } from "../support/stores.ts"
import { canTrace, familyOf, readCalls, signalAll, type SystemCall, trace } from "../support/systemCalls.ts"

/** Rows that are written, and moments after an acknowledgement at which the power is cut; the trial has more. */
const rows = Number(process.env.POWER_CUT_ROWS ?? 200)
const cuts = Number(process.env.POWER_CUTS ?? 2)

const clients = 8

const layerIn = (dataDir: string) =>
  StoreFromSettings.layer.pipe(
    Layer.provide(layerSettings({ DATA_DIR: dataDir, DATABASE_POOL_SIZE: String(clients), LOG_LEVEL: "Error" })),
  )

/** Copies a folder while its processes are stopped, so that the copy is one moment of it. */
const copyAtOnce = (pids: ReadonlyArray<number>, from: string, to: string) => {
  signalAll(pids, "SIGSTOP")
  try {
    execFileSync("cp", ["-a", from, to])
  } finally {
    signalAll(pids, "SIGCONT")
  }
}

/** A row that the server acknowledged, and the number of the line in the trace where it did. */
interface Acknowledged {
  readonly row: string
  readonly line: number
}

/** The rows in the order of their acknowledgements: the server receives one, and sends `INSERT` for it. */
const acknowledgedIn = (calls: ReadonlyArray<SystemCall>): ReadonlyArray<Acknowledged> => {
  const asked = new Map<number, string>()
  return calls.flatMap(({ began, data, name, pid }) => {
    if (name === "recvfrom") {
      const row = /row-\d+\./.exec(data.toString("latin1"))?.[0]
      if (row !== undefined) asked.set(pid, row)
      return []
    }
    const row = asked.get(pid)
    if (name !== "sendto" || row === undefined || !data.includes("INSERT 0 1")) return []
    asked.delete(pid)
    // Its beginning counts: the client may have it before the call returns.
    return [{ row, line: began }]
  })
}

const isWalWrite = ({ name, path }: SystemCall) => name === "pwrite64" && path.includes("/pg_wal/")

/**
 * Writes to the write-ahead log that a sync had covered by the line: begun after the write returned, and returned
 * before.
 */
const syncedBy = (calls: ReadonlyArray<SystemCall>, line: number): ReadonlyArray<SystemCall> => {
  const syncs = calls.filter(({ ended, name, result }) => name === "fdatasync" && result === 0 && ended < line)
  const lastBegin = new Map<string, number>()
  for (const { began, path } of syncs) lastBegin.set(path, Math.max(began, lastBegin.get(path) ?? 0))
  return calls.filter((call) => isWalWrite(call) && call.ended < (lastBegin.get(call.path) ?? 0))
}

/** Repeats writes on the files of a copy. */
const apply = (writes: ReadonlyArray<SystemCall>, wal: string) => {
  for (const { data, last, path, result } of writes) {
    assert.strictEqual(data.length, result, "the trace holds the whole write")
    const file = openSync(join(wal, basename(path)), "r+")
    try {
      writeSync(file, data, 0, data.length, last)
    } finally {
      closeSync(file)
    }
  }
}

describe.runIf(process.platform === "linux" && canTrace("PowerCut"))("A power cut", () => {
  it.live(
    "loses no acknowledged row of the embedded database if only synced bytes of its log remain",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const { DATA_DIR } = yield* embeddedEnvironment
        const folder = yield* temporaryFolder
        const [base, file] = [join(folder, "base"), join(folder, "trace")]
        const calls = yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          for (const name of ["fsync", "synchronous_commit", "full_page_writes"]) {
            const [row] = yield* sql<{ value: string }>`SELECT current_setting(${name}) AS value`
            assert.strictEqual(row!.value, "on", name)
          }
          yield* sql`CREATE TABLE acknowledged (row text PRIMARY KEY)`
          // Begin a new file of the log, which all rows fit into. After the checkpoint the copy holds all earlier
          // pages.
          yield* sql`SELECT pg_switch_wal()::text`
          yield* sql`CHECKPOINT`
          const server = Number.parseInt(readFileSync(join(DATA_DIR!, "postgres", "data", "postmaster.pid"), "utf8"))
          const pids = familyOf(server)
          copyAtOnce(pids, DATA_DIR!, base)
          const stop = yield* Effect.promise(() =>
            trace(pids, ["pwrite64", "fdatasync", "fsync", "sendto", "recvfrom"], file)
          )
          yield* Effect.forEach(
            Array.from({ length: rows }, (_, n) => `row-${n}.`),
            (row) => sql`INSERT INTO acknowledged (row) VALUES (${row})`,
            { concurrency: clients, discard: true },
          )
          yield* Effect.promise(stop)
          return yield* Effect.promise(() => readCalls(file))
        }).pipe(Effect.provide(layerIn(DATA_DIR!)))

        const acknowledged = acknowledgedIn(calls)
        assert.lengthOf(acknowledged, rows)
        const written = calls.filter(isWalWrite).length
        let left = 0
        for (let cut = 1; cut <= cuts; cut++) {
          const count = Math.round(cut * rows / cuts)
          const before = acknowledged.slice(0, count)
          const image = join(folder, `image-${cut}`)
          execFileSync("cp", ["-a", base, image])
          apply(syncedBy(calls, before.at(-1)!.line), join(image, "postgres", "data", "pg_wal"))
          const found = yield* Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            return yield* sql<{ row: string }>`SELECT a.row FROM acknowledged a`
          }).pipe(Effect.provide(Layer.fresh(layerIn(image))))
          const names = new Set(found.map(({ row }) => row))
          assert.deepStrictEqual(before.filter(({ row }) => !names.has(row)), [])
          left += names.size
        }
        console.info(
          `power cut: ${rows} rows acknowledged to ${clients} clients, ${written} writes to the log, ` +
            `${calls.filter(({ name }) => name === "fdatasync").length} syncs; ${cuts} cuts, 0 of ` +
            `${acknowledged.length} lost, ${left} rows found in all`,
        )
      })),
    180_000 + cuts * 30_000,
  )
})
