import { Clock, Deferred, Duration, Effect, Exit, Layer, type Scope } from "effect"
import { ClusterError, RunnerStorage } from "effect/cluster"
import { SqlClient } from "effect/sql"
import type { Fragment } from "effect/sql/Statement"
import { randomUUID } from "node:crypto"
import { bounded } from "../store/bounded.ts"
import type { Seen } from "./Shards.ts"

/** Interval of the renewals of the node's lease. */
const renewEvery = "1500 millis"

/** A node stops using its lease this long before it expires, because stopping takes time. Unit: milliseconds. */
const marginMillis = 1000

/** Rows of nodes that have been dead for this long are deleted. */
const forgottenAfter = "1 day"

/** Shards that are released within this time are released by one statement. */
const gathering = "5 millis"

/** Shards that one statement releases, and its result. */
interface Release {
  readonly shardIds: Array<string>
  readonly done: Deferred.Deferred<void, ClusterError.PersistenceError>
}

/** Acquires the shards that have no live owner. Returns the acquired shards and the shards that the node already owned. */
const acquireShards = (
  sql: SqlClient.SqlClient,
  session: string,
  alive: Fragment,
  shardIds: ReadonlyArray<string>,
) =>
  sql<{ shardId: string }>`
    INSERT INTO cluster_shards AS s (shard_id, session)
    SELECT r.shard_id, n.session
    FROM unnest(${shardIds}::text[]) AS r (shard_id) CROSS JOIN cluster_nodes n
    WHERE n.session = ${session} AND n.seen_at > ${alive} ORDER BY r.shard_id
    ON CONFLICT (shard_id) DO UPDATE SET session = EXCLUDED.session
    WHERE s.session = EXCLUDED.session OR NOT EXISTS (
      SELECT FROM cluster_nodes n WHERE n.session = s.session AND n.seen_at > ${alive})
    RETURNING s.shard_id`

/** Returns a function that releases a shard. Shards that are released at about the same time share one `remove`. */
const makeGiveUp = (
  remove: (shardIds: ReadonlyArray<string>) => Effect.Effect<unknown, ClusterError.PersistenceError>,
  scope: Scope.Scope,
) => {
  let release: Release | undefined
  const removeGathered = Effect.suspend(() => {
    const { done, shardIds } = release!
    release = undefined
    return remove(shardIds).pipe(
      Effect.exit,
      Effect.flatMap((exit) => Deferred.done(done, Exit.asVoid(exit))),
    )
  })
  return Effect.fnUntraced(function* (shardId: string) {
    if (release === undefined) {
      release = { shardIds: [], done: Deferred.makeUnsafe() }
      yield* Effect.forkIn(Effect.delay(removeGathered, gathering), scope)
    }
    const { done, shardIds } = release!
    shardIds.push(shardId)
    yield* Deferred.await(done)
  })
}

/**
 * Stores the live nodes and the owners of shards in two tables. Each node renews one row. If the row is older than
 * `leaseSeconds`, all nodes consider the node dead, and its shards are free. All times are the database's. Keeps
 * neither connections nor locks between statements.
 *
 * Replaces the storage of effect/cluster, which runs two statements for every released shard, one after another on one
 * connection: with a slow database, a joining node made the other nodes lose all their shards. Here a renewal may take
 * nearly as long as the lease.
 */
export const layer = (leaseSeconds: number, seen: Seen) =>
  Layer.effect(
    RunnerStorage.RunnerStorage,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const scope = yield* Effect.scope
      const session = randomUUID()
      const alive = sql`now() - make_interval(secs => ${leaseSeconds}::float8)`
      const monotonic = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
      /** Shards that this process owns, and the time of their acquisition. */
      let held = new Map<string, number>()
      /** When the current lease was requested, on the monotonic clock. Unit: milliseconds. */
      let renewedAt = -Infinity

      /** Renews the lease. Also continues an expired lease if no other node has noticed the expiry. */
      const renew = Effect.gen(function* () {
        const at = monotonic()
        const nodes = yield* sql`
          UPDATE cluster_nodes n SET seen_at = now() WHERE n.session = ${session} RETURNING n.session`
        const rows = nodes.length === 0
          ? []
          : yield* sql<{ shardId: string }>`SELECT s.shard_id FROM cluster_shards s WHERE s.session = ${session}`
        // The rows may not contain shards that were acquired during the query.
        const since = [...held].filter(([, takenAt]) => takenAt >= at)
        held = new Map([...rows.map(({ shardId }) => [shardId, at] as const), ...since])
        renewedAt = at
      })

      const inTime = <A, E>(effect: Effect.Effect<A, E>) =>
        effect.pipe(bounded(Duration.seconds(leaseSeconds / 2)), ClusterError.PersistenceError.refail)

      yield* inTime(renew).pipe(
        Effect.catchCause((cause) => Effect.logDebug("The lease of this node was not renewed", cause)),
        Effect.andThen(Effect.sleep(renewEvery)),
        Effect.forever,
        Effect.forkIn(scope),
      )

      const refresh = (shardIds: ReadonlyArray<string>) =>
        Effect.suspend(() =>
          monotonic() - renewedAt < leaseSeconds * 1000 - marginMillis
            ? Effect.succeed(shardIds.filter((shardId) => held.has(shardId)))
            : Effect.fail(new Error("The lease of this node has run out, the database did not renew it"))
        )

      const giveUp = makeGiveUp(
        (shardIds) =>
          inTime(sql`DELETE FROM cluster_shards s WHERE s.session = ${session} AND s.shard_id = ANY(${shardIds})`),
        scope,
      )

      const idsOf = (rows: ReadonlyArray<{ readonly shardId: string }>) => rows.map(({ shardId }) => shardId)

      return RunnerStorage.makeEncoded({
        getRunners: sql<{ runner: string }>`
          SELECT n.runner FROM cluster_nodes n WHERE n.seen_at > ${alive} ORDER BY n.address`.pipe(
          Effect.map((rows) => {
            seen.runners = rows.length
            seen.at = clock.currentTimeMillisUnsafe()
            return rows.map(({ runner }) => [runner, true] as const)
          }),
          inTime,
        ),
        register: (address, runner) =>
          sql<{ machineId: number }>`
            INSERT INTO cluster_nodes AS n (address, session, runner, seen_at)
            VALUES (${address}, ${session}, ${runner}, now())
            ON CONFLICT (address) DO UPDATE
            SET session = EXCLUDED.session, runner = EXCLUDED.runner, seen_at = EXCLUDED.seen_at
            RETURNING n.machine_id`.pipe(Effect.map(([row]) => row!.machineId), inTime),
        unregister: () =>
          sql`
            DELETE FROM cluster_nodes n
            WHERE n.session = ${session} OR n.seen_at < now() - ${forgottenAfter}::interval`.pipe(
            Effect.asVoid,
            inTime,
          ),
        // A node that renews its lease counts as healthy.
        setRunnerHealth: () => Effect.void,
        acquire: (_, shardIds) =>
          acquireShards(sql, session, alive, shardIds).pipe(
            Effect.map((rows) => {
              const ids = idsOf(rows)
              for (const id of ids) held.set(id, monotonic())
              return ids
            }),
            inTime,
          ),
        refresh: (_, shardIds) => ClusterError.PersistenceError.refail(refresh(shardIds)),
        release: (_, shardId) => giveUp(shardId),
        releaseAll: () => sql`DELETE FROM cluster_shards s WHERE s.session = ${session}`.pipe(Effect.asVoid, inTime),
      })
    }),
  )
