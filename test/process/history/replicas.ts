import { Effect, type Scope } from "effect"
import { onServer } from "../../support/onServer.ts"
import { waitUntil } from "../../support/service.ts"
import { embeddedEnvironment } from "../../support/stores.ts"
import { startPostgres, startStandby, type ThrowawayPostgres, withoutSync } from "../../support/throwawayPostgres.ts"
import { pause } from "../deliverStorm.ts"
import { relayTo } from "../relay.ts"
import { type Fault, pausedMillis, processesOf, signal, type StormDatabase } from "./stormDatabase.ts"

const portOf = ({ url }: ThrowawayPostgres) => Number(new URL(url).port)

/** Makes commits of a primary wait for its standby, as acknowledged data requires. */
const waitForStandby = async ({ url }: ThrowawayPostgres) => {
  await onServer(url, "ALTER SYSTEM SET synchronous_standby_names = '*'")
  await onServer(url, "SELECT pg_reload_conf()")
  await waitUntil("the standby has everything", async () => {
    const rows = await onServer(url, "SELECT r.sync_state AS state FROM pg_stat_replication r")
    return (rows as ReadonlyArray<{ state: string }>).some(({ state }) => state === "sync")
  })
}

/**
 * A primary and its synchronous standby under one address. Each fault moves the address to the standby and starts a new
 * standby for the next one. `kinds` is the number of faults: the machine of the primary dies; the primary shuts down;
 * the primary remains, as do its connections, while the name leads to the standby.
 */
export const replicas = (kinds: number): Effect.Effect<StormDatabase, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { DATA_DIR: seed } = yield* embeddedEnvironment
    const running = new Set<ThrowawayPostgres>()
    yield* Effect.addFinalizer(() => Effect.promise(() => Promise.all([...running].map(({ stop }) => stop()))))
    const started = async (starting: Promise<ThrowawayPostgres>) => {
      const server = await starting
      running.add(server)
      return server
    }
    const end = async (server: ThrowawayPostgres, how: "kill" | "shut down") => {
      if (how === "kill") signal(processesOf(server.data), "SIGKILL")
      await server.stop()
      running.delete(server)
    }
    let primary = yield* Effect.promise(() => started(startPostgres({ seed: seed!, settings: withoutSync })))
    const address = yield* relayTo(portOf(primary))
    const url = new URL(primary.url)
    url.port = String(address.port)

    /** Runs `before`, promotes the standby, and runs `after`. */
    const failOver = async (
      before: (old: ThrowawayPostgres) => Promise<void>,
      after: (old: ThrowawayPostgres, next: number) => Promise<void>,
    ) => {
      const old = primary
      const standby = await started(startStandby(old))
      await waitForStandby(old)
      await before(old)
      await onServer(standby.url, "SELECT pg_promote()")
      primary = standby
      await after(old, portOf(standby))
    }
    const faults: ReadonlyArray<Fault> = [
      ["machine of the primary dies", () =>
        failOver((old) => {
          address.block()
          return end(old, "kill")
        }, (_, next) => Promise.resolve(address.redirect(next)))],
      ["primary shuts down", () =>
        failOver((old) => end(old, "shut down"), (_, next) => Promise.resolve(address.move(next)))],
      ["name moves away from a primary that runs", () =>
        failOver(() =>
          Promise.resolve(), async (old, next) => {
          address.move(next)
          await pause(pausedMillis)
          await end(old, "kill")
        })],
    ]
    return { env: { DATABASE_URL: url.href, SECRET_KEY: "5e".repeat(32) }, faults: () => faults.slice(0, kinds) }
  })
