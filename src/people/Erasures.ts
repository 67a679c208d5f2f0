import { Clock, Context, Duration, Effect, Fiber, Layer, Schedule, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { People } from "../sendtime/People.ts"
import { isSandbox, sandboxOf } from "../domain/Sandbox.ts"
import { sandboxesOf } from "../organizations/Sandboxes.ts"
import { Inflow } from "../journal/Inflow.ts"
import { Profiles } from "../profiles/Profiles.ts"
import { isByCircumstance, isSpent, maxAttempts, reasonOf, unfinishedReason } from "../store/Attempts.ts"
import { recordset } from "../store/Recordset.ts"
import { bounded } from "../store/bounded.ts"
import { AddressKeys } from "../suppressions/AddressKeys.ts"
import { eraseKeptResults } from "../results/ErasedResults.ts"
import { eraseAttributeCounts } from "../learning/ErasedAttributes.ts"
import { eraseBodies } from "../journal/erasure/Bodies.ts"
import { findKept } from "../accounts/ErasedMembers.ts"
import { eraseDecisions, eraseEvents, learnDecisionNames } from "../journal/erasure/Messages.ts"
import { Names, type PersonNames } from "../erasure/Names.ts"
import { eraseDeliveries, learnDeliveryNames } from "../delivery/ErasedDeliveries.ts"
import { eraseNotifications } from "../notifications/ErasedNotifications.ts"
import { eraseProfiles } from "../profiles/ErasedProfiles.ts"
import { eraseStickyChoices } from "../decide/ErasedChoices.ts"
import { eraseOwners } from "../templates/ErasedOwners.ts"
import { eraseAuthors, eraseSamplePeople } from "../templates/ErasedTexts.ts"
import { eraseSendTimes, learnSendTimeNames } from "../sendtime/ErasedSendTimes.ts"
import { eraseTestGroups } from "../delivery/receivers/ErasedTestGroups.ts"
import { eraseSinkMessages } from "../delivery/sandbox/ErasedSinkMessages.ts"
import { countComments } from "../team/KeptComments.ts"
import { eraseSuppressedAddresses } from "../suppressions/ErasedAddresses.ts"
import { type ErasedCounts, type Kept, type KeptKind, keptOf, noCounts } from "../erasure/Report.ts"
import { chunks, stepSizes, type Work } from "../erasure/Work.ts"
import { lockEvents } from "../journal/events/EventLock.ts"

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

interface Row {
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

/** Timeout of a caller, after which the response reports the erasure as running. */
const patience = Duration.seconds(10)

/** Maximum time that an erasure waits for bodies received before it. */
const intakePatience = Duration.seconds(5)

/**
 * Lease of an erasure: the time after which another node may claim it if its node has not renewed the lease. Unit:
 * seconds.
 */
const leaseSeconds = 60

/** Finds every spelling of the addresses in decisions, messages and send times. Ids have one spelling. */
const findSpellings = Effect.fnUntraced(function* (work: Work): Effect.fn.Return<void, SqlError> {
  if (work.names.addresses().length === 0) return
  yield* learnDeliveryNames(work)
  yield* learnDecisionNames(work)
  yield* learnSendTimeNames(work)
})

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

/** Erases people in one pass over the data of their organization, and stores the report. */
const makePass = ({ addressKeys, clock, inflow, people, profiles, sql }: {
  readonly addressKeys: AddressKeys["Service"]
  readonly clock: Clock.Clock
  readonly inflow: Inflow["Service"]
  readonly people: People["Service"]
  readonly profiles: Profiles["Service"]
  readonly sql: SqlClient.SqlClient
}) => {
  const leased = (rows: ReadonlyArray<Row>) =>
    sql`
    e.org_slug = ${rows[0]!.orgSlug} AND e.id = ANY(${rows.map(({ id }) => id)}::bigint[]) AND e.state = 'pending'`

  /**
   * Erases all people in some rows of one organization, in one pass over its data, and stores the report in each row.
   */
  const pass = Effect.fnUntraced(function* (rows: ReadonlyArray<Row>) {
    const org = rows[0]!.orgSlug
    const requested = rows.flatMap(({ people }) => people ?? [])
    const names = new Names(requested)
    const counts: { -readonly [kind in keyof ErasedCounts]: number } = { ...noCounts }
    const kept: { [kind in KeptKind]?: number } = {}
    const work: Work = {
      sql,
      org,
      names,
      sizes: stepSizes,
      now: clock.currentTimeMillisUnsafe(),
      isReported: rows[0]!.origin === "management",
      step: (step) => sql.withTransaction(Effect.andThen(lockEvents(sql, [org]), step)),
      count: (kind, rows) => void (counts[kind] += rows),
      keep: (kind, rows) => void (kept[kind] = (kept[kind] ?? 0) + rows),
    }
    yield* Effect.ignore(bounded(intakePatience)(inflow.drain))
    yield* eraseProfiles(work)
    yield* findSpellings(work)
    // Erases queued messages first, then the rows that name more identifiers of the person.
    yield* eraseDeliveries(work)
    yield* eraseSinkMessages(work)
    yield* eraseDecisions(work)
    yield* eraseEvents(work)
    yield* eraseStickyChoices(work)
    yield* eraseSendTimes(work)
    yield* eraseAttributeCounts(work)
    yield* eraseKeptResults(work)
    yield* eraseBodies(work)
    yield* eraseOwners(work)
    yield* eraseSamplePeople(work)
    yield* eraseTestGroups(work)
    yield* eraseAuthors(work)
    yield* eraseSuppressedAddresses(work, addressKeys)
    yield* countComments(work)
    yield* eraseNotifications(work)
    yield* findKept(work)
    for (const name of names.spellings()) profiles.forget(org, name)
    people.forget(org, names.spellings())
    yield* finish(rows, counts, keptOf(kept))
  })

  /** Stores the reports, which contain no names. */
  const finish = (rows: ReadonlyArray<Row>, counts: ErasedCounts, kept: ReadonlyArray<Kept>) =>
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
  return { leased, pass }
}

/**
 * Erases people. An erasure is stored first, and carried out in small steps by the node that claims it, so that it
 * neither delays other work nor is lost with a process. Deletes profiles, sticky choices and send times. Removes the
 * names from decisions, events and deliveries. Cancels queued messages. Empties received bodies with a name. Keeps a
 * digest of the address in the suppression list. Counts, which contain no names, stay. The sandbox of the organization
 * is erased soon after.
 */
export class Erasures extends Context.Service<Erasures, {
  /**
   * Stores the erasure requests of platforms, which are carried out later. Call it inside the transaction that stores
   * the bodies of these requests. Fails with `SqlError` if the database does not respond.
   */
  readonly request: (people: ReadonlyArray<PersonOf>) => Effect.Effect<void, SqlError>
  /** Erases a person now. Returns after at most 10 seconds. If the erasure is not done by then, it continues. */
  readonly eraseNow: (person: PersonOf) => Effect.Effect<Erasure>
  /**
   * Returns the report of an erasure of the last 30 days. Undefined for an unknown id and for requests of platforms.
   */
  readonly find: (org: string, id: number) => Effect.Effect<Erasure | undefined>
  /** Carries out pending erasures. Fails with `SqlError` if the database does not respond. */
  readonly drain: Effect.Effect<void, SqlError>
}>()("parlance/people/Erasures") {
  static readonly layer = Layer.effect(
    Erasures,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const profiles = yield* Profiles
      const people = yield* People
      const inflow = yield* Inflow
      const addressKeys = yield* AddressKeys
      const clock = yield* Clock.Clock
      const scope = yield* Effect.scope
      // One pass at a time for platforms, and one for people who are waiting.
      const turn = { management: yield* Semaphore.make(1), webhook: yield* Semaphore.make(1) }
      let lastOrg = ""

      const columns =
        sql`e.id::float8 AS id, e.org_slug, e.origin, e.people, e.requested_at, e.state, e.attempts, e.counts,
        e.kept, e.reason, e.finished_at`

      const insert = (
        rows: ReadonlyArray<{ readonly org: string; readonly people: ReadonlyArray<PersonNames> }>,
        origin: Origin,
      ) => {
        const values = rows.map(({ org, people }) => ({ org_slug: org, people: JSON.stringify(people) }))
        // The requesting node starts at once. Erasures requested by platforms are claimed by the first free node.
        const lease = origin === "management" ? leaseSeconds : 0
        return sql<Row>`
          INSERT INTO erasures AS e (org_slug, origin, people, requested_at, state, attempts, lease_until)
          SELECT r.org_slug, ${origin}, r.people::json, ${new Date(
          clock.currentTimeMillisUnsafe(),
        )}::timestamptz, 'pending',
            ${origin === "management" ? 1 : 0}::int, now() + ${lease} * interval '1 second'
          FROM ${recordset(values, { org_slug: "text", people: "text" })}
          RETURNING ${columns}`
      }

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

      const { leased, pass } = makePass({ addressKeys, clock, inflow, people, profiles, sql })

      /** Stores the reason why an attempt failed. After the third failure, sets the request aside. */
      const fail = (rows: ReadonlyArray<Row>, reason: string) =>
        Effect.andThen(
          sql`
            UPDATE erasures e SET reason = ${reason}, lease_until = now(),
              state = CASE WHEN e.attempts >= ${maxAttempts}::int THEN 'failed' ELSE 'pending' END
            WHERE ${leased(rows)}`,
          Effect.logError("People could not be erased", { org: rows[0]!.orgSlug, reason }),
        )

      /** Renews a lease while `effect` runs. */
      const renewing = (rows: ReadonlyArray<Row>) => <A, E>(effect: Effect.Effect<A, E>) =>
        Effect.raceFirst(
          effect,
          Effect.sleep(Duration.seconds(leaseSeconds / 4)).pipe(
            Effect.andThen(sql`
              UPDATE erasures e SET lease_until = now() + ${leaseSeconds} * interval '1 second' WHERE ${leased(rows)}`),
            Effect.ignore,
            Effect.forever,
          ),
        )

      /** Makes one attempt, which is counted already. */
      const attempt = (rows: ReadonlyArray<Row>) =>
        turn[rows[0]!.origin].withPermits(1)(pass(rows)).pipe(
          renewing(rows),
          Effect.onError((cause) =>
            Effect.ignore(
              isByCircumstance(cause)
                ? sql`
                  UPDATE erasures e SET attempts = e.attempts - 1, lease_until = now() WHERE ${leased(rows)}`
                : fail(rows, reasonOf(cause)),
            )
          ),
          Effect.withSpan("Erasures.pass"),
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
        return yield* sql<Row>`
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

      const drain = Effect.gen(function* () {
        yield* sql`
          DELETE FROM erasures e WHERE e.finished_at < now() - ${reportDays} * interval '1 day'`
        while (true) {
          const rows = yield* claim
          if (rows.length === 0) return
          const spent = rows.filter(({ attempts }) => isSpent(attempts - 1))
          if (spent.length > 0) yield* fail(spent, spent[0]!.reason ?? unfinishedReason)
          const due = rows.filter(({ attempts }) => !isSpent(attempts - 1))
          if (due.length > 0) yield* attempt(due)
        }
      })

      const eraseNow = Effect.fn("Erasures.eraseNow")(function* ({ email, org, user }: PersonOf) {
        yield* request(yield* inSandboxes(sql, [{ user, email, org }]))
        const [row] = yield* insert([{ org, people: [{ user, email }] }], "management")
        const fiber = yield* Effect.forkIn(attempt([row!]), scope)
        // A failed attempt is stored with its reason and retried later.
        yield* Effect.timeoutOption(Fiber.await(fiber), patience)
        return (yield* read(org, row!.id))!
      }, Effect.catch((error: SqlError) => Effect.die(error)))

      const read = (org: string, id: number) =>
        Effect.map(
          sql<Row>`
            SELECT ${columns} FROM erasures e
            WHERE e.org_slug = ${org} AND e.id = ${id} AND e.origin = 'management'`,
          ([row]) => row && toErasure(row),
        )

      return Erasures.of({ request, eraseNow, drain, find: (org, id) => Effect.orDie(read(org, id)) })
    }),
  ).pipe(Layer.provide(Inflow.layer))

  /** Carries out erasures as they arrive. */
  static readonly layerRunning = Layer.effectDiscard(
    Effect.flatMap(Erasures, ({ drain }) =>
      drain.pipe(
        Effect.catchCause((cause) => Effect.logWarning("Erasures could not be carried out and will be retried", cause)),
        Effect.repeat(Schedule.spaced("2 seconds")),
        Effect.forkScoped,
      )),
  )
}

const toErasure = ({ counts, finishedAt, id, kept, reason, requestedAt, state }: Row): Erasure => ({
  ...noCounts,
  ...counts,
  id,
  state: state === "pending" ? "running" : state,
  requestedAt,
  finishedAt,
  kept,
  reason,
})
