import type { PgConnection } from "@effect/sql-pg"
import { Context, type Effect, type Queue, type Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"

/** Properties of this process's database. All other code uses SQL through `SqlClient`. */
export class Store extends Context.Service<Store, {
  /** `embedded`: this service's own server, with its files in `DATA_DIR`. `postgres`: the server of `DATABASE_URL`. */
  readonly kind: "embedded" | "postgres"
  /** Location for messages: a folder, or host, port and database. Never contains a password. */
  readonly address: string
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
   * connection breaks. Fails with `SqlError` if the database does not respond.
   */
  readonly listen: (
    channel: string,
  ) => Effect.Effect<Queue.Dequeue<PgConnection.Notification, SqlError>, SqlError, Scope.Scope>
  /** Explains why the database cannot be used and how to fix it. Undefined for other errors. */
  readonly explain: (error: SqlError) => Effect.Effect<string | undefined>
}>()("parlance/store/Store") {}
