import { PgClient } from "@effect/sql-pg"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { makeWorkerUtils } from "graphile-worker"
import { randomUUID } from "node:crypto"
import { freePort } from "../../test/support/service.ts"
import type { Sink } from "../../test/process/deliverSink.ts"
import { cpuMicrosOf, runLoad, startServer } from "./Bench.ts"
import type { Environment } from "./Databases.ts"
import { deliverBody } from "./deliverBody.ts"
import { enqueue, environmentOf, openServices, org, perSecond, setUp } from "./deliverStore.ts"
import type { Looped } from "./Loop.ts"

/** Measurements of stored messages, jobs or rows. */
export interface Enqueued {
  readonly name: string
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly cpuMicros: number
  readonly statuses: Looped["statuses"]
}

const plain = (name: string, perSecond: number): Enqueued => ({
  name,
  perSecond,
  p50: NaN,
  p99: NaN,
  cpuMicros: NaN,
  statuses: {},
})

/** Measures other writes on the same PostgreSQL server: single rows, and jobs of graphile-worker. */
export const measureOthers = async (url: string, seconds: number): Promise<ReadonlyArray<Enqueued>> => {
  const payload = { email: "p@example.com", vars: deliverBody.fields, template: deliverBody.template_id }
  const bare = await Effect.runPromise(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE bare (id text PRIMARY KEY, body json NOT NULL)`
      const body = JSON.stringify(payload)
      const context = yield* Effect.context<never>()
      const insert = () =>
        Effect.runPromiseWith(context)(sql`INSERT INTO bare (id, body) VALUES (${randomUUID()}, ${body}::text::json)`)
      yield* Effect.promise(() => perSecond(8, 1, insert))
      return yield* Effect.promise(() => perSecond(8, seconds, insert))
    }).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 10 }))),
  )
  const jobs = await makeWorkerUtils({ connectionString: url, maxPoolSize: 10 })
  try {
    await jobs.migrate()
    const add = () => jobs.addJob("deliver", payload)
    await perSecond(8, 1, add)
    return [
      plain("graphile-worker addJob, 8 callers", await perSecond(8, seconds, add)),
      plain("bare insert, 8 callers", bare),
    ]
  } finally {
    await jobs.release()
  }
}

/**
 * Measures Deliver over HTTP, with the service on one core and its clients on the other, and then through the service
 * in this process.
 */
export const measureEnqueue = async (
  store: Environment,
  sink: Pick<Sink, "kind" | "port">,
  seconds: number,
): Promise<ReadonlyArray<Enqueued>> => {
  const rows: Array<Enqueued> = []
  const server = await startServer(["src/main.ts", "serve"], await freePort(), environmentOf(store))
  try {
    const key = await setUp(server.url, sink)
    const load = (connections: number, keyed: boolean, seconds: number) =>
      runLoad<Looped>("Deliver", "bench/support/deliverLoad.ts", {
        url: `${server.url}/api/deliver/${org}`,
        seconds,
        connections,
        rate: 0,
        key,
        keyed,
      })
    await load(64, false, 2)
    for (const [connections, keyed] of [[8, false], [64, false], [64, true]] as const) {
      const before = cpuMicrosOf(server.pid)
      const { p50, p99, perSecond, requests, statuses } = await load(connections, keyed, seconds)
      rows.push({
        name: `HTTP, ${connections} connections${keyed ? ", Idempotency-Key" : ""}`,
        perSecond,
        p50,
        p99,
        cpuMicros: (cpuMicrosOf(server.pid) - before) / requests,
        statuses,
      })
    }
  } finally {
    await server.stop()
  }
  const services = await openServices(store)
  try {
    await perSecond(64, 2, (n) => enqueue(services, "warm", n, false))
    for (const [callers, keyed] of [[8, false], [64, false], [64, true]] as const) {
      const run = `r${callers}${keyed}`
      rows.push(plain(
        `the service alone, ${callers} callers${keyed ? ", Idempotency-Key" : ""}`,
        await perSecond(callers, seconds, (n) => enqueue(services, run, n, keyed)),
      ))
    }
  } finally {
    await services.close()
  }
  return rows
}
