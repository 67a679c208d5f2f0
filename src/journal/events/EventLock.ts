import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"

// Locks of transactions that store or count events. Each locks the names of its events in the order of `classes`, and
// the names of one class in one statement and one order, which avoids deadlocks. Organizations are locked shared by
// these transactions and exclusively by `lockEvents`. The last lock is `lockSuppressions`.

/** Identifies these locks among the advisory locks of the database. */
const classes = { slots: 7200, organizations: 7201, arrivals: 7202, people: 7203, histories: 7204 }

/**
 * A server has locks for `max_locks_per_transaction` × `max_connections` names, which all its clients share. At most one
 * transaction for this number of locks stores events at once. A transaction with 400 events needs about 800.
 */
const locksPerTransaction = 1_600

/**
 * Locks all events of these organizations until the transaction ends, so that no other transaction stores or counts
 * them.
 */
export const lockEvents = (sql: SqlClient.SqlClient, orgs: Iterable<string>) => {
  const names = [...new Set(orgs)].sort()
  return sql`
    SELECT pg_advisory_xact_lock(${classes.organizations}, hashtext(o.name))
    FROM (SELECT unnest(${names}::text[]) AS name ORDER BY 1) o`
}

/** The identifiers of an event by which other transactions may search for it. */
interface Arrival {
  readonly org: string
  readonly source: string
  readonly key: string
  readonly messageKey?: string | undefined
}

/**
 * Locks the identities and message ids of events, and the profiles of users, until the transaction ends. It must be the
 * first lock of the transaction. Waits while another transaction holds all events of one of `orgs`, which must be the
 * organizations of all names.
 */
export const lockArrivals = (
  sql: SqlClient.SqlClient,
  orgs: Iterable<string>,
  arrivals: ReadonlyArray<Arrival>,
  profiles: ReadonlyArray<{ readonly org: string; readonly user: string }> = [],
) => {
  const names = [
    ...arrivals.map(({ key, org, source }) => `event ${org} ${source} ${key}`),
    ...arrivals.flatMap(({ messageKey, org, source }) =>
      messageKey === undefined ? [] : [`message ${org} ${source} ${messageKey}`]
    ),
    ...profiles.map(({ org, user }) => `profile ${org} ${user}`),
  ]
  const slots = sql`greatest(1, current_setting('max_locks_per_transaction')::int
    * current_setting('max_connections')::int / ${locksPerTransaction}::int)`
  // Uses a free slot. If all are in use, queues for a random one.
  return sql`
    SELECT count(CASE l.class
      WHEN ${classes.organizations}::int THEN pg_advisory_xact_lock_shared(l.class, l.key)
      ELSE pg_advisory_xact_lock(l.class, l.key) END)
    FROM (
      SELECT ${classes.slots}::int AS class, coalesce(
        (SELECT s.slot FROM generate_series(1, ${slots}) AS s(slot)
          WHERE pg_try_advisory_xact_lock(${classes.slots}::int, s.slot) LIMIT 1),
        1 + floor(random() * ${slots})::int) AS key
      UNION SELECT ${classes.organizations}::int, hashtext(o.name) FROM unnest(${[...new Set(orgs)]}::text[]) AS o(name)
      UNION SELECT ${classes.arrivals}::int, hashtext(n.name) FROM unnest(${names}::text[]) AS n(name)
      ORDER BY 1, 2) l`
}

const lockNames = (
  sql: SqlClient.SqlClient,
  lockClass: number,
  names: ReadonlyArray<string>,
): Effect.Effect<unknown, SqlError> =>
  names.length === 0 ? Effect.void : sql`
    SELECT count(pg_advisory_xact_lock(${lockClass}::int, n.key))
    FROM (SELECT DISTINCT hashtext(t.name) AS key FROM unnest(${names}::text[]) AS t(name) ORDER BY 1) n`

/** The owner of a decision's counts: its user, or its tracking id if it has no user. */
interface Owner {
  readonly org: string
  readonly user: string | undefined
  readonly trackingId: string
}

/**
 * Locks the owners of decisions until the transaction ends, so that no other transaction changes the events of these
 * decisions, or of other decisions about their users. Call it after `lockArrivals`, before events are read.
 */
export const lockPeople = (sql: SqlClient.SqlClient, owners: ReadonlyArray<Owner>) =>
  lockNames(
    sql,
    classes.people,
    owners.map(({ org, trackingId, user }) => user === undefined ? `decision ${org} ${trackingId}` : `${org} ${user}`),
  )

/** Locks histories that several owners share. Call it after `lockPeople`. */
export const lockHistories = (sql: SqlClient.SqlClient, names: ReadonlyArray<string>) =>
  lockNames(sql, classes.histories, names)
