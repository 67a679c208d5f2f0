import { assert, layer } from "@effect/vitest"
import { Clock, Context, Duration, Effect, Fiber, Layer, Logger, Metric } from "effect"
import { SqlClient } from "effect/sql"
import * as StoreFromSettings from "../../src/store/StoreFromSettings.ts"
import { Store } from "../../src/store/Store.ts"
import { relayTo } from "../process/relay.ts"
import { onServer } from "../support/onServer.ts"
import { adminToken, buildInProcess, freePort, makeOrganization } from "../support/service.ts"
import { embeddedEnvironment, type Environment, layerSettings } from "../support/stores.ts"
import { scopedReplicas } from "../support/throwawayPostgres.ts"

/** A migrated primary and its standby, which all tests share. */
class Replicas extends Context.Service<Replicas, Effect.Success<ReturnType<typeof scopedReplicas>>>()("test/Replicas") {
  static readonly layer = Layer.effect(
    Replicas,
    Effect.flatMap(embeddedEnvironment, ({ DATA_DIR: seed }) => scopedReplicas(seed!)),
  )
}

/** The store of an environment, and what it logs. */
const storeOf = Effect.fnUntraced(function* (environment: Environment) {
  const context = yield* Layer.build(
    Layer.fresh(StoreFromSettings.layer.pipe(Layer.provide(layerSettings(environment)))),
  )
  const logs: Array<string> = []
  const sql = Context.get(context, SqlClient.SqlClient)
  yield* sql`DROP TABLE IF EXISTS notes`
  yield* sql`CREATE TABLE notes (note int)`
  let stored = 0
  /** Writes a note and reads all notes at once. Returns whether the standby answered. */
  const writeAndRead = Effect.gen(function* () {
    yield* sql`INSERT INTO notes VALUES (${++stored})`
    const [row] = yield* Context.get(context, Store).read(
      sql<{ count: number; standby: boolean }>`
        SELECT count(*)::int AS count, pg_is_in_recovery() AS standby FROM notes`,
    )
    assert.strictEqual(row!.count, stored)
    return row!.standby
  }).pipe(
    Effect.provide(Logger.layer([Logger.make(({ message }) => void logs.push(String(message)))])),
  )
  return { logs, ...Context.get(context, Store), sql, writeAndRead }
})

/** A clock that a test can move ahead. */
const movableClock = Effect.map(Clock.Clock, (live) => {
  let ahead = 0n
  const now = () => live.monotonicTimeNanosUnsafe() + ahead
  const clock: Clock.Clock = {
    currentTimeMillisUnsafe: () => live.currentTimeMillisUnsafe(),
    currentTimeMillis: live.currentTimeMillis,
    currentTimeNanosUnsafe: () => live.currentTimeNanosUnsafe(),
    currentTimeNanos: live.currentTimeNanos,
    monotonicTimeNanosUnsafe: now,
    monotonicTimeNanos: Effect.sync(now),
    sleep: (duration) => live.sleep(duration),
  }
  return { clock, move: (millis: number) => void (ahead += BigInt(millis) * 1_000_000n) }
})

layer(Replicas.layer, { excludeTestServices: true })("Reads on a replica", (it) => {
  it.effect("show every write that was acknowledged before them", () =>
    Effect.gen(function* () {
      const { primary, standby } = yield* Replicas
      const store = yield* storeOf({
        DATABASE_URL: primary.url,
        DATABASE_READ_URL: standby.url,
        DATABASE_READ_MAX_LAG: "1 minute",
      })
      const answered = yield* Effect.replicateEffect(store.writeAndRead, 20)
      assert.deepStrictEqual(answered, new Array<boolean>(20).fill(true))
      assert.isAtLeast(yield* store.replica!.lag, 0)
      assert.deepStrictEqual(store.logs, [])
    }))

  it.effect("pass failures of the reader on, and join within each other", () =>
    Effect.gen(function* () {
      const { primary, standby } = yield* Replicas
      const { read, sql } = yield* storeOf({
        DATABASE_URL: primary.url,
        DATABASE_READ_URL: standby.url,
        DATABASE_READ_MAX_LAG: "1 minute",
      })
      assert.strictEqual(yield* Effect.flip(read(Effect.fail("not found"))), "not found")
      const place = Effect.map(
        sql<{ place: string }>`SELECT pg_backend_pid() || ' ' || pg_is_in_recovery() AS place`,
        ([row]) => row!.place,
      )
      const [outer, inner] = yield* read(Effect.all([place, read(place)]))
      assert.strictEqual(outer, inner)
      assert.match(outer, / true$/)
    }))

  it.effect("are answered by the primary if a statement fails on the replica", () =>
    Effect.gen(function* () {
      const { primary, standby } = yield* Replicas
      const { logs, read, sql, writeAndRead } = yield* storeOf({
        DATABASE_URL: primary.url,
        DATABASE_READ_URL: standby.url,
        DATABASE_READ_MAX_LAG: "1 minute",
      })
      const write = sql<{ standby: boolean }>`INSERT INTO notes VALUES (0) RETURNING pg_is_in_recovery() AS standby`
      assert.deepStrictEqual(yield* read(Effect.orDie(write)), [{ standby: false }])
      assert.deepStrictEqual(yield* read(sql.withTransaction(write)), [{ standby: false }])
      yield* sql`DELETE FROM notes`
      assert.isTrue(yield* writeAndRead)
      assert.deepStrictEqual(logs, [])
    }))

  it.effect("are answered by the primary while the replica is behind, with one log line", () =>
    Effect.gen(function* () {
      const { primary, standby } = yield* Replicas
      const { logs, writeAndRead } = yield* storeOf({
        DATABASE_URL: primary.url,
        DATABASE_READ_URL: standby.url,
        DATABASE_READ_MAX_LAG: "100 millis",
      })
      const { clock, move } = yield* movableClock
      const answered = Effect.provideService(writeAndRead, Clock.Clock, clock)
      const onStandby = (call: string) => Effect.promise(() => onServer(standby.url, `SELECT ${call}`))
      yield* onStandby("pg_wal_replay_pause()")
      assert.isFalse(yield* answered)
      move(4_000)
      assert.isFalse(yield* answered)
      move(2_000)
      assert.isFalse(yield* answered)
      assert.deepStrictEqual(logs.length, 1)
      assert.match(logs[0]!, /^DATABASE_READ_URL: the primary answers in place of 127.0.0.1:\d+\/postgres: it is more/)
      yield* onStandby("pg_wal_replay_resume()")
      // Each attempt waits 100 ms for the replica.
      yield* Effect.sync(() => move(5_000)).pipe(
        Effect.andThen(answered),
        Effect.repeat({ until: (byStandby) => byStandby }),
      )
      assert.deepStrictEqual(logs.slice(1), ["The read replica of DATABASE_READ_URL answers again"])
    }))

  it.effect("do not hold up the replica that they wait for", () =>
    Effect.gen(function* () {
      const { primary, standby } = yield* Replicas
      const { logs, read, sql } = yield* storeOf({
        DATABASE_URL: primary.url,
        DATABASE_READ_URL: standby.url,
        DATABASE_READ_MAX_LAG: "1 minute",
      })
      const place = read(sql<{ standby: boolean }>`SELECT pg_is_in_recovery() AS standby`)
      for (let round = 0; round < 5; round++) {
        yield* Effect.promise(() => onServer(standby.url, "SELECT pg_wal_replay_pause()"))
        // The replica replays the removal of a row version, which conflicts with transactions, before the marks.
        yield* sql`UPDATE read_mark SET marked_at = clock_timestamp()`
        yield* sql`VACUUM read_mark`
        const reads = yield* Effect.forkChild(Effect.replicateEffect(place, 8, { concurrency: "unbounded" }))
        yield* Effect.promise(() => onServer(standby.url, "SELECT pg_wal_replay_resume()"))
        assert.isTrue((yield* Fiber.join(reads)).flat().every(({ standby }) => standby))
      }
      assert.deepStrictEqual(logs, [])
    }))

  it.effect("wait once for a replica that does not answer, and then pause", () =>
    Effect.gen(function* () {
      const { primary, standby } = yield* Replicas
      const relay = yield* relayTo(Number(new URL(standby.url).port))
      const url = new URL(standby.url)
      url.port = String(relay.port)
      const { logs, writeAndRead } = yield* storeOf({
        DATABASE_URL: primary.url,
        DATABASE_READ_URL: url.href,
        DATABASE_READ_MAX_LAG: "1 minute",
      })
      const { clock, move } = yield* movableClock
      let waits = 0
      // The timeout of a read passes at once.
      const sleep = (duration: Duration.Duration) =>
        Duration.toMillis(duration) < 10_000 ? clock.sleep(duration) : Effect.sync(() => {
          waits++
          move(10_000)
        })
      const answered = Effect.provideService(writeAndRead, Clock.Clock, { ...clock, sleep })
      assert.isTrue(yield* writeAndRead)
      relay.block()
      const byStandby = yield* Effect.replicateEffect(answered, 2)
      relay.unblock()
      assert.deepStrictEqual(byStandby, [false, false])
      assert.strictEqual(waits, 1)
      assert.match(logs.join(), /^DATABASE_READ_URL: the primary answers .*: it did not answer in time$/)
      move(5_000)
      assert.isTrue(yield* Effect.provideService(writeAndRead, Clock.Clock, clock))
    }))

  it.effect("are answered by the primary if nothing, or another database, answers at the address", () =>
    Effect.gen(function* () {
      const { primary } = yield* Replicas
      yield* Effect.promise(() => onServer(primary.url, "CREATE DATABASE bare"))
      yield* Effect.promise(() => onServer(primary.url, "CREATE DATABASE other"))
      const databaseOf = (name: string) => new URL(`/${name}`, primary.url).href
      const tables = [
        "CREATE TABLE read_mark AS SELECT now() + interval '1 day' AS marked_at",
        "CREATE TABLE signing_keys AS SELECT 'tracking' AS name, 'of another installation' AS key",
      ]
      for (const table of tables) yield* Effect.promise(() => onServer(databaseOf("other"), table))
      const closed = `postgres://postgres@127.0.0.1:${yield* Effect.promise(freePort)}/postgres`
      const reasons: ReadonlyArray<readonly [url: string, reason: RegExp]> = [
        [databaseOf("other"), /not a replica of the database of DATABASE_URL: its signing keys differ/],
        [databaseOf("bare"), /relation "read_mark" does not exist/],
        [closed, /nothing accepts connections at port/],
      ]
      for (const [url, reason] of reasons) {
        const { logs, replica, writeAndRead } = yield* storeOf({
          DATABASE_URL: primary.url,
          DATABASE_READ_URL: url,
          DATABASE_READ_MAX_LAG: "100 millis",
        })
        assert.isFalse(yield* writeAndRead)
        assert.match(logs.join(), reason)
        assert.match((yield* Effect.flip(replica!.lag)).message, reason)
      }
    }))

  it.effect("answer exports, results, and lists of the management API", () =>
    Effect.gen(function* () {
      const { primary, standby } = yield* Replicas
      const { context, service } = yield* buildInProcess(
        Effect.succeed({
          DATABASE_URL: primary.url,
          DATABASE_READ_URL: standby.url,
          DATABASE_READ_MAX_LAG: "1 minute",
          SECRET_KEY: "0".repeat(64),
        }),
      )
      const attributes = { outcome: "replica" }
      const reads = Metric.counter("parlance_replica_reads_total", { incremental: true, attributes })
      const replicaReads = async () => (await Effect.runPromiseWith(context)(Metric.value(reads))).count
      yield* Effect.promise(async () => {
        const key = await makeOrganization(service, "shop", ["generate", "events"])
        const variants = ["a", "b"].map((id) => ({ id, vars: { subject: id } }))
        await service.manage("POST", "/organizations/shop/templates", { id: "offer", name: "Offer", variants })
        await service.generate("shop", key, { template_id: "offer", tracking_id: "t", user_id: "u" })
        for (
          const path of [
            "templates/offer/results",
            "templates/offer/series",
            "exports/decisions",
            "exports/events",
            "exports/deliveries",
            "deliveries",
            "audit",
            "stories?user_id=u",
          ]
        ) {
          const before = await replicaReads()
          const response = await service.request(`/console/api/organizations/shop/${path}`, {
            headers: { authorization: `Bearer ${adminToken}` },
          })
          const text = await response.text()
          assert.strictEqual(response.status, 200, `${path}: ${text}`)
          assert.isAbove(await replicaReads(), before, path)
          if (path.startsWith("stories")) assert.include(text, `"tracking_id":"t"`)
        }
      })
    }))
})
