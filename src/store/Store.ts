import type { PgConnection } from "@effect/sql-pg"
import { Context, type Effect, type Queue, type Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"

/** Properties of the store of this process. All other code uses SQL through `SqlClient`. */
export class Store extends Context.Service<Store, {
  /** `embedded`: a server of this service's own, with its files in `DATA_DIR`. `postgres`: that of `DATABASE_URL`. */
  readonly kind: "embedded" | "postgres"
  /** Location for messages: a folder, or host, port and database. Never a password. */
  readonly address: string
  /**
   * Whether the database answers within 2 seconds. Asks over a connection of its own, so that it neither waits for the
   * pool of requests nor takes a connection from it.
   */
  readonly answers: Effect.Effect<boolean>
  /** Follows the address to another server, see ServerWatch; undefined if the address cannot lead to another server. */
  readonly look: Effect.Effect<boolean> | undefined
  /**
   * Listens to a channel of `NOTIFY` until the scope closes, over a connection of its own. The queue fails when that
   * connection breaks. Fails with `SqlError` when the database does not respond.
   */
  readonly listen: (
    channel: string,
  ) => Effect.Effect<Queue.Dequeue<PgConnection.Notification, SqlError>, SqlError, Scope.Scope>
  /** Explains an error of a database that cannot be used, and how to fix it. Undefined for other errors. */
  readonly explain: (error: SqlError) => Effect.Effect<string | undefined>
}>()("parlance/store/Store") {}
