import { PgClient } from "@effect/sql-pg"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { readdirSync, readFileSync } from "node:fs"
import { adminToken, freePort, serviceAt } from "../../test/support/service.ts"
import { cpuMicrosOf, type Measured, runLoad, type ServerProcess, startServer } from "./Bench.ts"

/**
 * The work of a database so far, from its own statistics. `micros` is the processor time of all processes named
 * postgres on this machine.
 */
export interface Work {
  readonly at: number
  readonly commits: number
  readonly written: number
  readonly read: number
  readonly micros: ReadonlyMap<number, number>
  readonly sessions: number
}

/** Returns the processor time of running processes with this name. Unit: microseconds. */
const cpuMicrosNamed = (name: string): ReadonlyMap<number, number> => {
  const times = new Map<number, number>()
  for (const pid of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    try {
      if (readFileSync(`/proc/${pid}/comm`, "utf8").trim() === name) {
        times.set(Number(pid), cpuMicrosOf(Number(pid)) || 0)
      }
    } catch {
      // The process has just ended.
    }
  }
  return times
}

/** Returns the processor time between two readings, without processes that have ended since the first. */
const usedBetween = (from: ReadonlyMap<number, number>, to: ReadonlyMap<number, number>): number =>
  [...to].reduce((sum, [pid, micros]) => sum + micros - (from.get(pid) ?? 0), 0)

export const workOf = (url: string): Promise<Work> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [row] = yield* sql<Omit<Work, "at" | "micros">>`
        SELECT s.xact_commit::float8 AS commits, (s.tup_inserted + s.tup_updated + s.tup_deleted)::float8 AS written,
          (s.tup_returned + s.tup_fetched)::float8 AS read, s.numbackends::int - 1 AS sessions
        FROM pg_stat_database s WHERE s.datname = current_database()`
      return { ...row!, at: performance.now(), micros: cpuMicrosNamed("postgres") }
    }).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 })), Effect.orDie),
  )

/** Returns the work per second between two readings. */
export const perSecond = (from: Work, to: Work) => {
  const seconds = (to.at - from.at) / 1000
  return {
    commits: (to.commits - from.commits) / seconds,
    written: (to.written - from.written) / seconds,
    read: (to.read - from.read) / seconds,
    /** Number of busy cores. */
    cores: usedBetween(from.micros, to.micros) / seconds / 1e6,
  }
}

export type Rates = ReturnType<typeof perSecond>

/** Starts processes on one core and one database. */
export const startNodes = async (
  url: string,
  count: number,
): Promise<ReadonlyArray<ServerProcess>> => {
  const servers: Array<ServerProcess> = []
  for (let i = 0; i < count; i++) {
    servers.push(
      await startServer(["src/main.ts", "serve"], await freePort(), {
        ADMIN_TOKEN: adminToken,
        DATABASE_URL: url,
        LOG_LEVEL: "Error",
      }),
    )
  }
  for (;;) {
    const views = await Promise.all(servers.map(async ({ url }) => {
      const { body } = await serviceAt(url).request("/readyz").then(async (response) => ({
        body: await response.json(),
      }))
      return body.cluster
    }))
    if (views.every((view) => view?.runners === count && view.shards > 0)) return servers
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

/** Loads all servers at once, each over its share of the connections, and with its own key or the only key. */
export const loadAll = async (
  name: string,
  servers: ReadonlyArray<ServerProcess>,
  ask: { readonly path: string; readonly keys: ReadonlyArray<string>; readonly body: unknown },
  options: { readonly seconds: number; readonly connections: number; readonly rate: number },
): Promise<Measured> => {
  const before = servers.map(({ pid }) => cpuMicrosOf(pid))
  const parts = await Promise.all(
    servers.map(({ url }, i) =>
      runLoad<Omit<Measured, "name" | "cpuMicros">>(name, "bench/support/load.ts", {
        url: `${url}${ask.path}`,
        headers: { "X-Api-Key": ask.keys[i % ask.keys.length]! },
        body: JSON.stringify(ask.body),
        seconds: options.seconds,
        connections: Math.ceil(options.connections / servers.length),
        rate: options.rate / servers.length,
      })
    ),
  )
  const micros = servers.reduce((sum, { pid }, i) => sum + cpuMicrosOf(pid) - before[i]!, 0)
  const requests = parts.reduce((sum, part) => sum + part.requests, 0)
  const statuses: Record<string, number> = {}
  for (const part of parts) {
    for (const [status, count] of Object.entries(part.statuses)) statuses[status] = (statuses[status] ?? 0) + count
  }
  return {
    name,
    requests,
    perSecond: parts.reduce((sum, part) => sum + part.perSecond, 0),
    p50: Math.max(...parts.map(({ p50 }) => p50)),
    p99: Math.max(...parts.map(({ p99 }) => p99)),
    cpuMicros: micros / requests,
    statuses,
  }
}
