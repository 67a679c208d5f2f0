import type { PgClient } from "@effect/sql-pg"
import { Cause, Clock, Context, Duration, Effect, Exit, Layer, Metric, Option, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { isSqlError } from "effect/sql/SqlError"
import { bounded } from "./bounded.ts"
import { innermost } from "./innermost.ts"
import { ReplicaNotRead } from "./ReplicaNotRead.ts"
import { Store, type StorePlace } from "./Store.ts"

// A replica shows a commit some time after the primary. To find out whether it shows everything, a read stores a mark
// with the primary and waits until the replica shows that mark. The replica must also have the signing keys of this
// installation, because another database can show a later mark.

/** Time for a read on the replica, including the time until the replica shows the mark. Unit: milliseconds. */
const patienceMillis = 10_000

/** Pause before the replica is used again after it was unreachable or behind. Unit: milliseconds. */
const pauseMillis = 5_000

const reads = (outcome: "replica" | ReplicaNotRead["outcome"]) =>
  Metric.counter("parlance_replica_reads_total", { incremental: true, attributes: { outcome } })

/** Time that the last read waited for the replica. */
const lag = Metric.gauge("parlance_replica_lag_seconds")

/** Whether the current fiber is in a read on the replica. */
const IsReading = Context.Reference<boolean>("parlance/store/IsReading", { defaultValue: () => false })

interface ReplicaOptions {
  readonly place: StorePlace
  readonly primary: SqlClient.SqlClient
  readonly replica: PgClient.PgClient
  /** Maximum time until the replica shows the mark of a read. */
  readonly maxLag: Duration.Duration
}

const monotonicMillis = Effect.map(Clock.Clock, (clock) => Number(clock.monotonicTimeNanosUnsafe()) / 1e6)

interface Mark {
  readonly markedAt: string
  /** Digest of the random keys of the installation. */
  readonly keys: string | null
}

const digestOfKeys = "(SELECT md5(string_agg(k.key, ' ' ORDER BY k.name)) FROM signing_keys k)"

/** Stores a mark with the primary. Marks increase, also after a failover to a server whose clock is behind. */
const storeMark = (primary: SqlClient.SqlClient) =>
  Effect.map(
    primary<Mark>`
      UPDATE read_mark AS m SET marked_at = greatest(clock_timestamp(), m.marked_at + interval '1 microsecond')
      RETURNING m.marked_at::text AS marked_at, ${primary.literal(digestOfKeys)} AS keys`,
    ([row]) => row!,
  )

/** What the replica shows of a mark, which another database may have stored, too. */
type Shown = "mark" | "nothing" | "other database"

const showsMark = (replica: SqlClient.SqlClient, { keys, markedAt }: Mark) =>
  Effect.map(
    replica<{ shown: Shown }>`
      SELECT CASE WHEN ${replica.literal(digestOfKeys)} IS DISTINCT FROM ${keys}::text THEN 'other database'
        WHEN m.marked_at >= ${markedAt}::timestamptz THEN 'mark' ELSE 'nothing' END AS shown
      FROM read_mark m`,
    ([row]): Shown => row?.shown ?? "nothing",
  )

/**
 * Waits until the replica shows a mark. Returns the time. Unit: milliseconds. Fails with `ReplicaNotRead` after `maxLag`. Call it outside a transaction: when the
 * replica removes row versions, it may wait for the end of open transactions before it shows the mark.
 */
const awaitMark = Effect.fnUntraced(function* ({ maxLag, replica }: ReplicaOptions, mark: Mark) {
  const began = yield* monotonicMillis
  const deadline = began + Duration.toMillis(maxLag)
  const isOver = Effect.map(monotonicMillis, (now) => now >= deadline)
  const shown = yield* Effect.repeat(showsMark(replica, mark), {
    until: (shown) => Effect.map(isOver, (over) => shown === "mark" || over),
    schedule: Schedule.spaced("10 millis"),
  })
  const lasted = (yield* monotonicMillis) - began
  yield* Metric.update(lag, lasted / 1000)
  if (shown === "mark") return lasted
  return yield* new ReplicaNotRead({
    outcome: "behind",
    reason: shown === "nothing"
      ? `it is more than ${Duration.format(maxLag)} behind`
      : "it is not a replica of the database of DATABASE_URL: its signing keys differ",
  })
})

/** Makes transactions within a read join the transaction of the read. */
const joinReads = (primary: SqlClient.SqlClient) => {
  const { withTransaction } = primary
  Object.assign(primary, {
    withTransaction: ((effect) =>
      Effect.flatMap(
        IsReading,
        (isReading) => isReading ? effect : withTransaction(effect),
      )) satisfies typeof withTransaction,
  })
}

/** Explains why the replica did not answer. */
const unreadable = (place: StorePlace, error: unknown) =>
  Effect.map(
    isSqlError(error) ? place.explain(error) : Effect.undefined,
    (reason) =>
      new ReplicaNotRead({
        outcome: "unreachable",
        reason: reason ?? (Cause.isTimeoutError(error) ? "it did not answer in time" : innermost(error)),
      }),
  )

/** Limits the time of an attempt to read, and turns its failure into `ReplicaNotRead`. */
const explained = (place: StorePlace) => <A, E, R>(attempt: Effect.Effect<A, E, R>) =>
  attempt.pipe(
    bounded(patienceMillis),
    Effect.catchDefect(Effect.fail),
    Effect.catch((error) =>
      Effect.flatMap(error instanceof ReplicaNotRead ? Effect.succeed(error) : unreadable(place, error), Effect.fail)
    ),
  )

/** Returns `Store.replica`. */
export const stateOf = (options: ReplicaOptions): NonNullable<Store["Service"]["replica"]> => ({
  address: options.place.address,
  lag: Effect.flatMap(storeMark(options.primary), (mark) => explained(options.place)(awaitMark(options, mark))),
})

/**
 * Returns the function `Store.read`. An effect runs in one transaction of the replica that shows everything that was
 * committed before the effect began, so nobody misses what they have just written. If the replica is unreachable, shows
 * it later than `maxLag`, or fails in a statement, the primary answers.
 */
export const make = (options: ReplicaOptions) => {
  const { place, primary, replica } = options
  let pausedUntil = -Infinity
  let isUsed = true
  joinReads(primary)

  const noteUse = (used: boolean, reason: string) =>
    Effect.suspend(() => {
      if (used === isUsed) return Effect.void
      isUsed = used
      return used
        ? Effect.logInfo("The read replica of DATABASE_READ_URL answers again")
        : Effect.logWarning(`${place.setting}: the primary answers in place of ${place.address}: ${reason}`)
    })

  /** Runs `effect` on the replica. The statements of the primary's client join the transaction of the replica. */
  const onReplica = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.flatMap(storeMark(primary), (mark) =>
      replica.withTransaction(Effect.gen(function* () {
        // A balancer of replicas may have chosen another one.
        if ((yield* showsMark(replica, mark)) !== "mark") return undefined
        const context = yield* Effect.context<never>()
        const connection = Context.getUnsafe(context, replica.transactionService)
        const exit = yield* effect.pipe(
          Effect.provideService(primary.transactionService, connection),
          Effect.provideService(IsReading, true),
          Effect.exit,
        )
        const broken = Exit.isFailure(exit) ? exit.cause.reasons.flatMap(brokenBy) : []
        return broken.length > 0 ? yield* new ReplicaNotRead({ outcome: "failed", reason: innermost(broken[0]) }) : exit
      })).pipe(
        (attempt) => Effect.andThen(awaitMark(options, mark), attempt),
        Effect.repeat({ until: (exit) => exit !== undefined }),
        Effect.provideService(SqlClient.BeginTransaction, "BEGIN READ ONLY"),
        explained(place),
      ))

  return <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.gen(function* () {
      if (Option.isSome(yield* Effect.serviceOption(primary.transactionService))) return yield* effect
      if ((yield* monotonicMillis) < pausedUntil) return yield* effect
      const read = yield* Effect.result(onReplica(effect))
      if (read._tag === "Success") {
        yield* Metric.update(reads("replica"), 1)
        yield* noteUse(true, "")
        return yield* read.success!
      }
      // Without a mark, the primary does not answer either, and the effect fails with its error.
      if (!(read.failure instanceof ReplicaNotRead)) return yield* effect
      const { outcome, reason } = read.failure
      yield* Metric.update(reads(outcome), 1)
      if (outcome === "failed") yield* Effect.logInfo(`A read of ${place.address} failed: ${reason}`)
      else {
        // From now on, because the read may have waited for longer than the pause.
        pausedUntil = (yield* monotonicMillis) + pauseMillis
        yield* noteUse(false, reason)
      }
      return yield* effect
    })
}

/** Reads once at the start, so that the log names a wrong `DATABASE_READ_URL` before the first user does. */
export const layerFirstRead = Layer.effectDiscard(
  Effect.flatMap(Store, ({ read }) => Effect.forkScoped(read(Effect.void))),
)

/** Returns the error of a read that concerns the database. Other failures are answers. */
const brokenBy = (reason: Cause.Reason<unknown>): ReadonlyArray<unknown> =>
  Cause.isDieReason(reason)
    ? [reason.defect]
    : Cause.isFailReason(reason) && isSqlError(reason.error)
    ? [reason.error]
    : []
