import { PgClient } from "@effect/sql-pg"
import type { StartedPostgreSqlContainer } from "@testcontainers/postgresql"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { freePort, waitUntil } from "../support/service.ts"
import { type Environment } from "../support/stores.ts"
import { pause } from "./deliverStorm.ts"
import { answersIn, handleOf, inContainer, ownPostgres, PostgresWithVolume } from "../support/containers.ts"
import { relayTo } from "./relay.ts"

/** A server of its own, and where its data are in the volume that all generations share. */
interface Server {
  readonly container: StartedPostgreSqlContainer
  readonly port: number
  readonly data: string
}

/** One statement at `server` itself, as its superuser. */
const ask = <A extends object = object>({ port }: Server, statement: string): Promise<ReadonlyArray<A>> =>
  Effect.runPromise(
    Effect.scoped(Effect.gen(function* () {
      const context = yield* askable(port)
      return yield* Effect.provideContext(
        Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe<A>(statement)),
        context,
      )
    })).pipe(Effect.timeout("20 seconds"), Effect.orDie),
  )

const askable = (port: number) =>
  Layer.build(
    PgClient.layer({ url: Redacted.make(`postgres://postgres:own@127.0.0.1:${port}/postgres`), maxConnections: 1 }),
  )

/**
 * Copies the data of a server that is in use, as pg_basebackup does it, which not every image has: between the
 * beginning and the end of a backup, files may be copied while they change, because the log has all changes.
 */
const copyData = ({ container, data, port }: Server, target: string): Promise<unknown> =>
  Effect.runPromise(
    Effect.scoped(Effect.gen(function* () {
      const context = yield* askable(port)
      const sql = yield* Effect.provideContext(SqlClient.SqlClient, context)
      yield* sql`SELECT b::text AS place FROM pg_backup_start('standby', TRUE) b`
      // As root, from whom the image takes what it finds. A file that has gone meanwhile is of no interest; what
      // matters is whether the standby starts.
      yield* Effect.promise(() =>
        inContainer(container.getId(), [
          "sh",
          "-c",
          `cp -a ${data} ${target} 2>/dev/null; rm -f ${target}/postmaster.pid`,
        ])
      )
      const [{ label }] = (yield* sql`SELECT b.labelfile AS label FROM pg_backup_stop() b`) as unknown as [
        { label: string },
      ]
      yield* Effect.promise(() =>
        inContainer(container.getId(), ["sh", "-c", `printf %s "$1" > ${target}/backup_label`, "sh", label])
      )
    })).pipe(Effect.orDie),
  )

/**
 * A Postgres that can be restarted, and that a standby can take over from, under one address that leads to whichever is
 * the primary. Nothing that was committed is lost: the standby is synchronous. Goes with the scope.
 */
export const replicatedPostgres = Effect.gen(function* () {
  const first = yield* ownPostgres
  const address = yield* relayTo(Number(new URL(first.url).port))
  let primary: Server = { container: first.container, port: Number(new URL(first.url).port), data: first.data }
  let standby: Server | undefined
  let generation = 1
  const made: Array<StartedPostgreSqlContainer> = []
  yield* Effect.addFinalizer(() =>
    Effect.promise(async () => {
      for (const container of made) await container.stop({ remove: true, removeVolumes: true, timeout: 0 })
    })
  )
  const url = new URL(first.url)
  url.port = String(address.port)

  const addStandby = async () => {
    if (standby !== undefined) return
    generation++
    const { container, data } = primary
    const next = { port: await freePort(), data: `${first.data}-${generation}` }
    const inside = (command: string) => inContainer(container.getId(), ["sh", "-c", command])
    await inside(`grep -q '^host replication' ${data}/pg_hba.conf || \
      echo 'host replication all all scram-sha-256' >> ${data}/pg_hba.conf`)
    await ask(primary, "SELECT pg_reload_conf()")
    await copyData(primary, next.data)
    const ip = container.getIpAddress(container.getNetworkNames()[0]!)
    // The last line of a setting counts; the one before it is of the generation before.
    await inside(`touch ${next.data}/standby.signal && \
      echo "primary_conninfo = 'host=${ip} user=postgres password=own'" >> ${next.data}/postgresql.auto.conf`)
    const started = await new PostgresWithVolume("postgres:18", next.port).withVolumeOf(container)
      .withEnvironment({ PGDATA: next.data }).start()
    made.push(started)
    // Only in the primary's settings: a promoted standby does not wait for another one.
    await ask(primary, "ALTER SYSTEM SET synchronous_standby_names = '*'")
    await ask(primary, "SELECT pg_reload_conf()")
    await waitUntil("the standby has everything", async () => {
      const rows = await ask<{ state: string }>(primary, "SELECT r.sync_state AS state FROM pg_stat_replication r")
      return rows.some(({ state }) => state === "sync")
    }, 60)
    standby = { ...next, container: started }
  }

  /**
   * The primary's machine dies: clients receive nothing any more, not even the end of the connection. Its standby is
   * made the primary and gets the address.
   */
  const failOver = async () => {
    const next = standby!
    standby = undefined
    address.block()
    await (await handleOf(primary.container)).kill({ signal: "SIGKILL" })
    await ask(next, "SELECT pg_promote()")
    primary = next
    address.redirect(next.port)
  }

  return {
    env: { DATABASE_URL: url.href, DATABASE_POOL_SIZE: "4" } as Environment,
    addStandby,
    failOver,
    /** Ends the primary as a power cut does and starts it again after `awayMillis`. */
    restart: async (awayMillis: number) => {
      const { container } = primary
      const server = await handleOf(container)
      await server.kill({ signal: "SIGKILL" })
      await pause(awayMillis)
      await server.start()
      await waitUntil("Postgres answers", answersIn(container), 60)
    },
  }
})
