import { type Clock, Duration, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { isSandbox, sandboxOf } from "../domain/Sandbox.ts"
import { sandboxesOf } from "../organizations/Sandboxes.ts"
import { maxAttempts } from "../store/Attempts.ts"
import { recordset } from "../store/Recordset.ts"
import type { PersonNames } from "./Names.ts"
import { type ErasedCounts, type Kept, noCounts } from "./Report.ts"
import { chunks } from "./Work.ts"

// The erasures that are stored, with their leases, attempts and reports.

/** The person to erase, and the organization. */
export interface PersonOf extends PersonNames {
  readonly org: string
}

/** An erasure with its report. After a failed attempt, the counts describe the last attempt. */
export interface Erasure extends ErasedCounts {
  readonly id: number
  /** `running` until the erasure is done or three attempts have failed. */
  readonly state: "running" | "done" | "failed"
  readonly requestedAt: Date
  readonly finishedAt: Date | null
  /** The remaining data, with reasons. Empty until the erasure is done. */
  readonly kept: ReadonlyArray<Kept>
  /** Reason why the last attempt failed. Null without a failed attempt. */
  readonly reason: string | null
}

/** A stored erasure. */
export interface ErasureRow {
  readonly id: number
  readonly orgSlug: string
  readonly origin: Origin
  readonly people: ReadonlyArray<PersonNames> | null
  readonly requestedAt: Date
  readonly state: "pending" | "done" | "failed"
  readonly attempts: number
  readonly counts: Partial<ErasedCounts>
  readonly kept: ReadonlyArray<Kept>
  readonly reason: string | null
  readonly finishedAt: Date | null
}

type Origin = "management" | "webhook"

/** Maximum number of people erased in one pass over the data. */
const peopleAtOnce = 1000

/**
 * Lease of an erasure: the time after which another node may claim it if its node has not renewed the lease. Unit:
 * seconds.
 */
const leaseSeconds = 60

/** Time for which the report of an erasure is kept. Unit: days. */
const reportDays = 30

/** Returns these people with the sandboxes of their organizations, to repeat the erasure there. */
const inSandboxes = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, people: ReadonlyArray<PersonOf>) {
  if (people.length === 0) return []
  const sandboxes = yield* sandboxesOf(sql, people.map(({ org }) => org))
  const slugs = new Set<string>(sandboxes.map(({ slug }) => slug))
  return people.filter(({ org }) => !isSandbox(org) && slugs.has(sandboxOf(org)))
    .map((person) => ({ ...person, org: sandboxOf(person.org) }))
})

const toErasure = ({ counts, finishedAt, id, kept, reason, requestedAt, state }: ErasureRow): Erasure => ({
  ...noCounts,
  ...counts,
  id,
  state: state === "pending" ? "running" : state,
  requestedAt,
  finishedAt,
  kept,
  reason,
})

/** The erasures in the database. Each effect fails with `SqlError` if the database does not respond. */
export const makeErasureQueue = (sql: SqlClient.SqlClient, clock: Clock.Clock) => {
  let lastOrg = ""

  const columns = sql`e.id::float8 AS id, e.org_slug, e.origin, e.people, e.requested_at, e.state, e.attempts, e.counts,
    e.kept, e.reason, e.finished_at`

  const insert = (
    rows: ReadonlyArray<{ readonly org: string; readonly people: ReadonlyArray<PersonNames> }>,
    origin: Origin,
  ) => {
    const values = rows.map(({ org, people }) => ({ org_slug: org, people: JSON.stringify(people) }))
    // The requesting node starts at once. Erasures requested by platforms are claimed by the first free node.
    const lease = origin === "management" ? leaseSeconds : 0
    return sql<ErasureRow>`
      INSERT INTO erasures AS e (org_slug, origin, people, requested_at, state, attempts, lease_until)
      SELECT r.org_slug, ${origin}, r.people::json, ${new Date(
      clock.currentTimeMillisUnsafe(),
    )}::timestamptz, 'pending',
        ${origin === "management" ? 1 : 0}::int, now() + ${lease} * interval '1 second'
      FROM ${recordset(values, { org_slug: "text", people: "text" })}
      RETURNING ${columns}`
  }

  /**
   * Stores the erasure requests of platforms, and the same requests for the sandboxes. Call it inside the transaction
   * that stores the bodies of these requests.
   */
  const request = Effect.fnUntraced(function* (people: ReadonlyArray<PersonOf>) {
    const requested = [...people, ...yield* inSandboxes(sql, people)]
    const byOrg = new Map<string, Map<string, PersonNames>>()
    for (const { email, org, user } of requested) {
      let known = byOrg.get(org)
      if (known === undefined) byOrg.set(org, known = new Map())
      known.set(`${user ?? ""}\0${email ?? ""}`, { user, email })
    }
    for (const [org, known] of byOrg) {
      for (const some of chunks([...known.values()], peopleAtOnce)) {
        yield* insert([{ org, people: some }], "webhook")
      }
    }
  })

  /** Stores the erasure of one person, which this node claims at once, and the requests for the sandbox. */
  const insertNow = Effect.fnUntraced(function* ({ email, org, user }: PersonOf) {
    yield* request(yield* inSandboxes(sql, [{ user, email, org }]))
    const [row] = yield* insert([{ org, people: [{ user, email }] }], "management")
    return row!
  })

  const leased = (rows: ReadonlyArray<ErasureRow>) =>
    sql`
    e.org_slug = ${rows[0]!.orgSlug} AND e.id = ANY(${rows.map(({ id }) => id)}::bigint[]) AND e.state = 'pending'`

  /** Stores the reason why an attempt failed. After the third failure, sets the request aside. */
  const fail = (rows: ReadonlyArray<ErasureRow>, reason: string) =>
    Effect.andThen(
      sql`
        UPDATE erasures e SET reason = ${reason}, lease_until = now(),
          state = CASE WHEN e.attempts >= ${maxAttempts}::int THEN 'failed' ELSE 'pending' END
        WHERE ${leased(rows)}`,
      Effect.logError("People could not be erased", { org: rows[0]!.orgSlug, reason }),
    )

  /** Does not count an attempt that ended for a reason outside of the erasure, such as a lost connection. */
  const release = (rows: ReadonlyArray<ErasureRow>) =>
    sql`
      UPDATE erasures e SET attempts = e.attempts - 1, lease_until = now() WHERE ${leased(rows)}`

  /** Renews a lease while `effect` runs. */
  const renewing = (rows: ReadonlyArray<ErasureRow>) => <A, E>(effect: Effect.Effect<A, E>) =>
    Effect.raceFirst(
      effect,
      Effect.sleep(Duration.seconds(leaseSeconds / 4)).pipe(
        Effect.andThen(sql`
          UPDATE erasures e SET lease_until = now() + ${leaseSeconds} * interval '1 second' WHERE ${leased(rows)}`),
        Effect.ignore,
        Effect.forever,
      ),
    )

  /**
   * Claims the due erasures of the next organization: one requested for a person, or all requested by platforms
   * together.
   */
  const claim = sql.withTransaction(Effect.gen(function* () {
    const [next] = yield* sql<{ orgSlug: string; origin: Origin; id: number }>`
      SELECT e.org_slug, e.origin, e.id::float8 AS id FROM erasures e
      WHERE e.state = 'pending' AND e.lease_until <= now()
      ORDER BY e.org_slug <= ${lastOrg}, e.org_slug, e.id LIMIT 1`
    if (next === undefined) return []
    lastOrg = next.orgSlug
    return yield* sql<ErasureRow>`
      UPDATE erasures e SET attempts = e.attempts + 1, lease_until = now() + ${leaseSeconds} * interval '1 second'
      FROM (
        SELECT d.id FROM erasures d WHERE d.org_slug = ${next.orgSlug} AND d.id IN (
          SELECT s.id FROM (
            SELECT p.id, sum(json_array_length(p.people)) OVER (ORDER BY p.id) AS total FROM erasures p
            WHERE p.org_slug = ${next.orgSlug} AND p.origin = ${next.origin} AND p.state = 'pending'
              AND p.lease_until <= now() AND p.id >= ${next.id}
            ORDER BY p.id LIMIT ${next.origin === "webhook" ? peopleAtOnce : 1}) s
          WHERE s.total <= ${peopleAtOnce} OR s.id = ${next.id})
        FOR UPDATE SKIP LOCKED) d
      WHERE e.org_slug = ${next.orgSlug} AND e.id = d.id
      RETURNING ${columns}`
  }))

  /** Stores the reports, which contain no names. */
  const finish = (rows: ReadonlyArray<ErasureRow>, counts: ErasedCounts, kept: ReadonlyArray<Kept>) =>
    rows[0]!.origin === "webhook"
      ? Effect.andThen(
        sql`DELETE FROM erasures e WHERE ${leased(rows)}`,
        Effect.logInfo("People were erased at the request of a platform", {
          org: rows[0]!.orgSlug,
          profiles: counts.profiles,
        }),
      )
      : sql`
        UPDATE erasures e SET state = 'done', people = NULL, finished_at = now(), reason = NULL,
          counts = ${JSON.stringify(counts)}::text::json, kept = ${JSON.stringify(kept)}::text::json
        WHERE ${leased(rows)}`

  const read = (org: string, id: number) =>
    Effect.map(
      sql<ErasureRow>`
        SELECT ${columns} FROM erasures e
        WHERE e.org_slug = ${org} AND e.id = ${id} AND e.origin = 'management'`,
      ([row]) => row && toErasure(row),
    )

  /** Deletes reports older than 30 days. */
  const removeOld = sql`
    DELETE FROM erasures e WHERE e.finished_at < now() - ${reportDays} * interval '1 day'`

  return { request, insertNow, claim, fail, release, renewing, finish, read, removeOld }
}
/** The erasures in the database. */
export type ErasureQueue = ReturnType<typeof makeErasureQueue>
