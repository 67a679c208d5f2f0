import type { PgConnection } from "@effect/sql-pg"
import { Context, type Effect, type Queue, type Scope } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { ReplicaNotRead } from "./ReplicaNotRead.ts"

/** An address of a database, and the setting that determines it. */
export interface StorePlace {
  readonly setting: "DATA_DIR" | "DATABASE_URL" | "DATABASE_DIRECT_URL" | "DATABASE_READ_URL"
  /** Location for messages: a folder, or host, port and database. Never contains a password. */
  readonly address: string
  /** Explains why the database cannot be used and how to fix it. Undefined for other errors. */
  readonly explain: (error: SqlError) => Effect.Effect<string | undefined>
}

/** Properties of this process's database. All other code uses SQL through `SqlClient`. */
export class Store extends Context.Service<
  Store,
  StorePlace & {
    /** `embedded`: this service's own server, with its files in `DATA_DIR`. `postgres`: the server of `DATABASE_URL`. */
    readonly kind: "embedded" | "postgres"
    /** The server of `DATABASE_DIRECT_URL`, for migrations. Undefined: they use the pool, like all statements. */
    readonly direct: StorePlace & { readonly sql: SqlClient.SqlClient } | undefined
    /**
     * Runs an effect that only reads, on the server of `DATABASE_READ_URL` if it is set: see `ReadReplica`. The effect
     * may run twice, and must not fork statements that outlive it.
     */
    readonly read: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** The server of `DATABASE_READ_URL`. Undefined if it is not set. */
    readonly replica: {
      readonly address: string
      /**
       * Stores a mark with the primary, and returns the time until the replica shows it. Unit: milliseconds. Fails with
       * `ReplicaNotRead` if the replica is behind, unreachable or another database, and with `SqlError` if the primary
       * does not respond.
       */
      readonly lag: Effect.Effect<number, ReplicaNotRead | SqlError>
    } | undefined
    /**
     * Whether the database answers within 2 seconds. Uses its own connection, so that it neither waits for the connection
     * pool nor takes a connection from it.
     */
    readonly answers: Effect.Effect<boolean>
    /**
     * Detects that the address leads to another server: see `ServerWatch`. Undefined if the address cannot lead to
     * another server.
     */
    readonly look: Effect.Effect<boolean> | undefined
    /**
     * Listens to a channel of `NOTIFY` until the scope closes, over its own connection. The queue fails if that
     * connection breaks. Fails with `SqlError` if the database does not respond. Never returns behind a pooler without
     * `DATABASE_DIRECT_URL`, because the pooler may lose notifications: callers also poll.
     */
    readonly listen: (
      channel: string,
    ) => Effect.Effect<Queue.Dequeue<PgConnection.Notification, SqlError>, SqlError, Scope.Scope>
  }
>()("parlance/store/Store") {}
