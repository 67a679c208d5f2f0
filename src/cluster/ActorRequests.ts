import { Context, Deferred, Effect, Exit, FiberSet, Layer, Queue, Schedule, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { Store } from "../store/Store.ts"
import { Cluster } from "./Cluster.ts"
import { RequestsUnderWay } from "./RequestsUnderWay.ts"

/** Channel for notifications. A lost notification only causes a delay, because the table contains all requests. */
const channel = "parlance_actors"

/** Interval at which the table is read without a notification, for connections that cannot listen. */
const lookEvery = "500 millis"

/** The sender of an older request no longer awaits its answer. Unit: seconds. */
const expirySeconds = 5

/** Interval at which rows of ended nodes are removed. */
const removeEvery = "1 minute"

/** Answers a request to an actor of this node. Null if the sender only needs to know that the request was processed. */
type Answerer = (actorId: string, request: string) => Effect.Effect<string | null, unknown>

/** The actor's node could not answer. */
export class ActorFailed extends Error {
  override readonly name = "ActorFailed"
}

/**
 * Requests to actors on other nodes. They are rows in the database, which all nodes share, so nodes need no connections
 * to each other. Counts stay correct without any of these requests: they only wake actors, or ask questions with a
 * short timeout. While an actor moves between nodes, a request may be answered twice.
 */
export class ActorRequests extends Context.Service<ActorRequests, {
  /**
   * Sends a request and returns its answer, without a timeout. Fails with `ActorFailed` if the actor fails, and with
   * `SqlError` if the database does not respond.
   */
  readonly ask: (actorId: string, request: string) => Effect.Effect<string | null, SqlError | ActorFailed>
  /** Sends a request and returns after it is stored. Fails with `SqlError` if the database does not respond. */
  readonly tell: (actorId: string, request: string) => Effect.Effect<void, SqlError>
  /** Starts answering requests of other nodes with `answer`. Call this once. */
  readonly serve: (answer: Answerer) => Effect.Effect<void>
}>()("parlance/cluster/ActorRequests") {
  /** For a single process: every actor is in this process, so no request is ever sent. */
  static readonly layerAlone = Layer.succeed(
    ActorRequests,
    ActorRequests.of({
      ask: () => Effect.die(new Error("All actors are in this process")),
      tell: () => Effect.die(new Error("All actors are in this process")),
      serve: () => Effect.void,
    }),
  )

  static readonly layer = Layer.effect(
    ActorRequests,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const store = yield* Store
      const cluster = yield* Cluster
      const scope = yield* Effect.scope
      const asked = new Map<number, Deferred.Deferred<string | null, ActorFailed>>()
      const underWay = new RequestsUnderWay()
      const oneReading = yield* Semaphore.make(1)
      const tasks = yield* FiberSet.make<void>()
      let answerer: Answerer | undefined

      const insert = (actorId: string, request: string, isAwaited: boolean) =>
        Effect.map(
          sql<{ id: number }>`
            WITH inserted AS (
              INSERT INTO actor_requests (actor_id, request, is_awaited) VALUES (${actorId}, ${request}, ${isAwaited})
              RETURNING id
            )
            SELECT i.id::float8 AS id, pg_notify(${channel}, 'request')::text AS notified FROM inserted i`,
          ([row]) => row!.id,
        )

      const remove = (id: number) => sql`DELETE FROM actor_requests r WHERE r.id = ${id}`

      /** Completes requests of this node whose answers have arrived. */
      const collect = Effect.suspend(() =>
        asked.size === 0 ? Effect.void : Effect.map(
          sql<{ id: number; answer: string | null; hasFailed: boolean }>`
            DELETE FROM actor_requests r WHERE r.id = ANY(${[...asked.keys()]}::bigint[]) AND r.answered_at IS NOT NULL
            RETURNING r.id::float8 AS id, r.answer, r.has_failed`,
          (rows) => {
            for (const { answer, hasFailed, id } of rows) {
              const exit = hasFailed
                ? Exit.fail(new ActorFailed("The actor failed, see the log of its node"))
                : Exit.succeed(answer)
              const deferred = asked.get(id)
              if (deferred !== undefined) Deferred.doneUnsafe(deferred, exit)
            }
          },
        )
      )

      const ask = (actorId: string, request: string) =>
        Effect.acquireUseRelease(
          Effect.map(insert(actorId, request, true), (id) => {
            const deferred = Deferred.makeUnsafe<string | null, ActorFailed>()
            asked.set(id, deferred)
            return { id, deferred }
          }),
          ({ deferred }) => Deferred.await(deferred),
          ({ id }, exit) => {
            asked.delete(id)
            // The caller was interrupted, or has its answer and does not need the removal of the row.
            return Exit.isSuccess(exit) ? Effect.void : Effect.forkIn(Effect.ignore(remove(id)), scope)
          },
        )

      const reply = (id: number, exit: Exit.Exit<string | null, unknown>) => {
        const answer = Exit.isSuccess(exit) ? exit.value : null
        return sql`
          WITH answered AS (
            UPDATE actor_requests r SET answered_at = now(), answer = ${answer}, has_failed = ${Exit.isFailure(exit)}
            WHERE r.id = ${id} RETURNING r.id
          )
          SELECT pg_notify(${channel}, 'answer') FROM answered`
      }

      /** Answers requests to the actors on this node. */
      const take = Effect.suspend(() => {
        const answer = answerer
        if (answer === undefined) return Effect.void
        underWay.beginReading()
        return Effect.flatMap(
          sql<{ id: number; actorId: string; request: string; isAwaited: boolean }>`
            SELECT r.id::float8 AS id, r.actor_id, r.request, r.is_awaited FROM actor_requests r
            WHERE r.answered_at IS NULL AND r.asked_at > now() - make_interval(secs => ${expirySeconds}::float8)`,
          (rows) =>
            Effect.forEach(
              rows.filter(({ actorId, id }) => cluster.isHere(actorId) && underWay.add(id)),
              (row) =>
                FiberSet.run(
                  tasks,
                  answer(row.actorId, row.request).pipe(
                    Effect.tapCause((cause) => Effect.logWarning("A request from another node failed", cause)),
                    Effect.exit,
                    Effect.flatMap((exit): Effect.Effect<unknown, SqlError> =>
                      row.isAwaited ? reply(row.id, exit) : remove(row.id)
                    ),
                    Effect.ignore,
                    Effect.ensuring(Effect.sync(() => underWay.markAnswered(row.id))),
                  ),
                ),
              { discard: true },
            ),
        )
      }).pipe(oneReading.withPermit)

      const look = Effect.andThen(take, collect)

      const listening = Effect.scoped(Effect.gen(function* () {
        const notifications = yield* store.listen(channel)
        yield* look
        yield* Effect.forever(Effect.andThen(Queue.takeAll(notifications), look))
      }))

      yield* listening.pipe(
        Effect.catchCause((cause) =>
          Effect.logDebug("Notifications of the database do not reach this node, which polls instead", cause)
        ),
        Effect.repeat(Schedule.spaced("1 second")),
        Effect.forkScoped,
      )
      yield* look.pipe(
        Effect.catchCause((cause) => Effect.logDebug("Requests from other nodes could not be read", cause)),
        Effect.repeat(Schedule.spaced(lookEvery)),
        Effect.forkScoped,
      )
      yield* sql`DELETE FROM actor_requests r WHERE r.asked_at < now() - interval '1 minute'`.pipe(
        Effect.catchCause((cause) => Effect.logDebug("Expired requests between nodes were not removed", cause)),
        Effect.repeat(Schedule.spaced(removeEvery)),
        Effect.forkScoped,
      )

      return ActorRequests.of({
        ask,
        tell: (actorId, request) => Effect.asVoid(insert(actorId, request, false)),
        serve: (answer) => Effect.sync(() => void (answerer = answer)),
      })
    }),
  )
}
