import { PgConnection } from "@effect/sql-pg"
import { Context, Effect, type Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { DatabaseTarget } from "../settings/DatabaseUrl.ts"
import { bounded } from "./bounded.ts"
import { fewer, readFacts, shortage, unsuitability } from "./ServerFacts.ts"

// A pooler in transaction mode, such as PgBouncer, assigns each transaction any of its connections to the server. Settings,
// prepared statements and `LISTEN` of a session are lost, or reach another client.

/** Opens a new connection to an address. */
type Connect = Effect.Effect<PgConnection.PgConnection, SqlError, Scope.Scope>

/** The database that an address leads to. */
export interface Destination {
  /** Identifies a database on one run of a server. */
  readonly database: string
  /** The schema in which the service creates its tables. */
  readonly schema: string | null
  /** Why the service cannot use the server, and the remedy. */
  readonly unsuitability: string | undefined
  /** Whether a pooler is in front of the server. */
  readonly isPooled: boolean
  /** Whether transactions work. False behind a pooler in statement mode, which closes the connection. */
  readonly hasTransactions: boolean
}

/**
 * Finds what an address leads to, and whether the service can use it. A pooler invents the process id that clients get
 * at the start of a connection, so that it differs from the id of the server's process. A proxy that only passes bytes
 * on is no pooler. `needed` is the number of connections that this node opens to the address.
 */
export const reach = (connect: Connect, needed: number) =>
  Effect.scoped(Effect.gen(function* () {
    const connection = yield* connect
    const facts = yield* readFacts(connection)
    const reason = unsuitability(facts)
    const found = { schema: facts.schema, unsuitability: reason }
    if (reason !== undefined) return { ...found, database: "", isPooled: false, hasTransactions: true }
    // Not as text, whose form depends on the role's TimeZone and DateStyle.
    const { rows: [row] } = yield* connection.query(
      "SELECT pg_backend_pid() AS pid, date_part('epoch', pg_postmaster_start_time()) AS started",
      [],
      false,
    )
    const isPooled = row!["pid"] !== connection.processId
    return {
      ...found,
      // Clients of a pooler share the connections of its role.
      unsuitability: isPooled ? undefined : shortage(facts, needed),
      database: `${row!["started"]} ${facts.database}`,
      isPooled,
      hasTransactions: !isPooled || (yield* Effect.isSuccess(connection.query("BEGIN", [], false))),
    } satisfies Destination
  }))

/** Whether this process opens all connections of its pool, as a serving node does. Default: false, for commands. */
export const OpensWholePool = Context.Reference<boolean>("parlance/store/OpensWholePool", { defaultValue: () => false })

/**
 * Counts how many of `needed` connections answer while all of them are open. In session mode, each takes a connection of
 * the pooler to the server. Without a free one, a connection waits until another is closed.
 */
const countSimultaneous = Effect.fnUntraced(function* (connect: Connect, needed: number) {
  let answered = 0
  const one = Effect.flatMap(connect, (connection) => connection.query("SELECT 1", [], false))
  yield* Effect.forEach(
    Array.from({ length: needed }),
    () => Effect.andThen(one, Effect.sync(() => ++answered)),
    { concurrency: "unbounded", discard: true },
  ).pipe(
    Effect.scoped,
    bounded(patience),
    Effect.catchTag("TimeoutError", () => Effect.void),
  )
  return answered
})

/** Returns why a pooler provides too few connections at once to a node. Undefined if it provides `needed`. */
export const poolerShortage = (connect: Connect, needed: number) =>
  Effect.map(
    countSimultaneous(connect, needed),
    (granted) =>
      granted >= needed
        ? undefined
        : `the pooler in front of the server lets ${granted} of the ${needed} connections of this node work at once, as in ` +
          `session mode. ${
            fewer(granted)
          }. Or set pool_mode = transaction, or a larger default_pool_size, in its configuration`,
  )

/** Time for a second connection to the server. A pooler with only one connection never provides a second. */
const patience = "3 seconds"

/**
 * Whether a connection keeps its session while another one is in a transaction. Prepared statements may be kept although
 * the connection to the server changes: with `allowsChange` this counts as kept.
 */
export const keepsSession = (connect: Connect, allowsChange: boolean) =>
  Effect.scoped(Effect.gen(function* () {
    const one = yield* connect
    const other = yield* connect
    const processOf = Effect.gen(function* () {
      yield* one.query("BEGIN", [], false)
      const { rows: [row] } = yield* one.query("SELECT pg_backend_pid() AS pid", [], allowsChange)
      yield* one.query("COMMIT", [], false)
      return row!["pid"]
    })
    const before = yield* processOf
    // The pooler lends the connection that came back last.
    yield* other.query("BEGIN", [], false)
    yield* other.query("SELECT 1", [], false)
    const after = yield* processOf
    return allowsChange || before === after
  })).pipe(
    Effect.catchIf(({ reason }) => reason._tag !== "ConnectionError", () => Effect.succeed(false)),
    bounded(patience),
    Effect.catchTag("TimeoutError", () => Effect.succeed(false)),
  )

/** The remedy for a pooler in statement mode. */
export const inStatementMode =
  "the pooler in front of the server closes the connection when a transaction begins, as in statement mode. Set " +
  "pool_mode = transaction in its configuration, or DATABASE_URL to the server itself"

/** The remedy for a pooler that loses the prepared statements that `prepare=true` asks for. */
export const losesStatements =
  "the pooler in front of the server gives each transaction another connection, and loses prepared statements. Remove " +
  "prepare=true, or use PgBouncer 1.21 or later with max_prepared_statements = 100"

/** The remedy for a `DATABASE_DIRECT_URL` that leads to a pooler in transaction mode. */
export const directIsPooled =
  "a pooler that gives each transaction another connection answers there. Set DATABASE_DIRECT_URL to the server itself, " +
  "or unset it: migrations work through the pooler, and nodes then poll instead of using LISTEN"

/** The remedy for a `DATABASE_DIRECT_URL` whose migrations would create tables that `DATABASE_URL` does not show. */
export const directHasOtherSchema = (direct: Destination, pool: Destination): string =>
  `its tables are in the schema ${direct.schema}, and those of DATABASE_URL in the schema ${pool.schema}. Set the same ` +
  "search_path for both, with ALTER ROLE … SET search_path or options"

/** The remedy for a `DATABASE_DIRECT_URL` of another database. */
export const directIsOther = ({ host, port }: DatabaseTarget) =>
  `it is not the database that DATABASE_URL leads to through ${host}:${port}. Correct one of them`
