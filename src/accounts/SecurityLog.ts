import { Clock, Context, Effect, Layer, Metric, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import { organizationRows } from "../organizations/OrganizationRows.ts"
import { normalizeEmail } from "./Account.ts"
import {
  actionOf,
  type Occurrence,
  type Reason,
  reasons,
  SecurityTally,
  signedInAction,
  type Tallied,
} from "./SecurityTally.ts"

/** Number of refused requests that may be signs of an attack, by reason. */
const refusedTotal = (reason: Reason) =>
  Metric.counter("parlance_refused_total", { incremental: true, attributes: { reason } })

const byReason = new Map(reasons.map((reason) => [reason, refusedTotal(reason)]))

const process = Context.empty()

/** Flush interval: entries appear in the audit log, and their counts are updated, within this time. */
const writeEvery = "5 seconds"

/** The account and address of a refused sign-in. */
interface RefusedSignIn {
  /**
   * The address as typed. The audit log names it only if it has an account, because people type passwords into this
   * field.
   */
  readonly email: string
  readonly address: string
}

/** Time for which entries are kept in memory while the store does not accept them. Unit: milliseconds. */
const keptMillis = 10 * 60_000

const anonymous = "Not signed in"
const nobodysAddress = "An address without an account"

/** Returns a text of a request in a form that the store accepts. */
const storable = (text: string) => text.slice(0, 300).toWellFormed().replaceAll("\0", "\ufffd")

const detailsOf = (
  { addresses, count, details, fromOthers, reason }: Pick<
    Tallied,
    "addresses" | "count" | "details" | "fromOthers" | "reason"
  >,
): string =>
  JSON.stringify({
    ...(reason === undefined ? {} : { reason }),
    ...details,
    count,
    ...(addresses.size > 1 ? { addresses: [...addresses] } : {}),
    ...(fromOthers > 0 ? { from_other_addresses: fromOthers } : {}),
  })

/**
 * Sign-ins and refused requests, for the metrics and for the audit log, which gets one entry per minute, action and
 * subject with a count. Counting is synchronous and never fails.
 */
export class SecurityLog extends Context.Service<SecurityLog, {
  /** Counts a refusal. `org` may be any text. An entry belongs to it only if it is an organization. */
  readonly refused: (
    reason: Reason,
    about: {
      readonly org?: string | undefined
      readonly subject?: string | undefined
      readonly address?: string | undefined
    },
  ) => void
  readonly refusedSignIn: (reason: Reason, about: RefusedSignIn) => void
  readonly signedIn: (
    account: { readonly id: string; readonly email: string },
    details: Readonly<Record<string, unknown>>,
    address: string,
  ) => void
  /** Writes the counts since the last call to the audit log. */
  readonly write: Effect.Effect<void>
}>()("parlance/accounts/SecurityLog") {
  static readonly layer = Layer.effect(
    SecurityLog,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const oneAtATime = yield* Semaphore.make(1)
      const tally = new SecurityTally()
      /** E-mail addresses in subjects that may have no account, by the subject under which they were counted. */
      const typed = new Set<string>()

      // Registers all counters at the start, so that alerts have a series to compare with.
      yield* Effect.forEach(byReason.values(), (counter) => Metric.update(counter, 0), { discard: true })

      const count = (occurrence: Occurrence, address: string | undefined) =>
        tally.add(occurrence, address, clock.currentTimeMillisUnsafe())

      const refused: SecurityLog["Service"]["refused"] = (reason, { address, org, subject = "" }) => {
        byReason.get(reason)!.updateUnsafe(1, process)
        if (reason === "no_key") return
        const action = actionOf[reason]
        const about = { org: org === undefined ? undefined : storable(org), subject: storable(subject) }
        count({ action, reason, ...about, actor: anonymous, actorId: undefined, details: {} }, address)
      }

      /** Counts typed addresses without an account under one subject. */
      const resolveTyped = Effect.gen(function* () {
        const unresolved = tally.changed().filter(({ rowId, subject }) => rowId === undefined && typed.has(subject))
        if (unresolved.length === 0) return
        const emails = unresolved.map(({ subject }) => subject)
        const rows = yield* sql<
          { email: string }
        >`SELECT a.email FROM accounts a WHERE a.email = ANY(${emails}::text[])`
        const known = new Set(rows.map(({ email }) => email))
        for (const entry of unresolved) if (!known.has(entry.subject)) tally.rename(entry, nobodysAddress)
      })

      const insert = ({ action, actor, actorId, addresses, minuteMillis, org, reason, subject, ...more }: Tallied) =>
        sql<{ id: number }>`
          INSERT INTO audit_entries AS e (org_slug, at, actor, actor_id, action, subject, details, address, refusal)
          VALUES ((SELECT o.slug FROM ${sql.literal(organizationRows())} WHERE o.slug = ${org ?? null}), ${new Date(
          minuteMillis,
        )},
            ${actor}, ${actorId ?? null}, ${action}, ${subject},
            ${detailsOf({ ...more, addresses, reason })}::text::json,
            ${[...addresses][0]?.slice(0, 100) ?? null}, ${reason ?? null})
          RETURNING e.id::float8 AS id`

      // A late count becomes an entry of its own if its row is sealed.
      const update = (entry: Tallied) =>
        Effect.flatMap(
          sql<{ id: number }>`
            UPDATE audit_entries e SET details = ${detailsOf(entry)}::text::json
            WHERE e.id = ${entry.rowId!} AND e.seq IS NULL RETURNING e.id::float8 AS id`,
          (rows) => rows.length > 0 ? Effect.succeed(rows) : insert(entry),
        )

      const write = Effect.gen(function* () {
        tally.forgetBefore(clock.currentTimeMillisUnsafe() - keptMillis)
        yield* resolveTyped
        const changed = tally.takeChanged()
        if (changed.length === 0) return
        const rows = yield* sql.withTransaction(Effect.forEach(
          changed,
          (entry) => entry.rowId === undefined ? insert(entry) : update(entry),
        )).pipe(Effect.onError(() => Effect.sync(() => tally.restore(changed))))
        for (const [index, entry] of changed.entries()) entry.rowId = rows[index]![0]!.id
        tally.forgetWritten(clock.currentTimeMillisUnsafe())
        if (tally.size === 0) typed.clear()
      }).pipe(
        Effect.catch((error) =>
          Effect.logDebug("Refused requests could not be written to the audit log", error.message)
        ),
        oneAtATime.withPermits(1),
        Effect.withSpan("SecurityLog.write"),
      )

      yield* Effect.sleep(writeEvery).pipe(Effect.andThen(write), Effect.forever, Effect.forkScoped)
      yield* Effect.addFinalizer(() => Effect.ignore(Effect.timeout(write, "2 seconds")))

      return SecurityLog.of({
        refused,
        refusedSignIn: (reason, { address, email }) => {
          const subject = storable(normalizeEmail(email.slice(0, 254)))
          if (typed.size < 1000) typed.add(subject)
          refused(reason, { subject: typed.has(subject) ? subject : nobodysAddress, address })
        },
        signedIn: ({ email, id }, details, address) =>
          count(
            {
              action: signedInAction,
              reason: undefined,
              org: undefined,
              subject: email,
              actor: email,
              actorId: id,
              details,
            },
            address,
          ),
        write,
      })
    }),
  )
}
