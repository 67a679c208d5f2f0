import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { forgetHistories } from "../delay/Histories.ts"
import { People } from "../delay/People.ts"
import { lockEvents } from "./EventLock.ts"
import { Profiles } from "../profiles/Profiles.ts"

/** Whom to forget: a user by the caller's id, an e-mail address, or both. */
export interface Person {
  readonly org: string
  readonly user: string | undefined
  readonly email: string | undefined
}

/** What was erased of a person. */
export interface Erased {
  readonly profiles: number
  readonly decisions: number
  readonly events: number
  readonly deliveries: number
  readonly bodies: number
}

/** How a name may stand in a body: as a text, or as a number. A bare search for a short name would find everything. */
const needlesOf = (name: string): ReadonlyArray<string> =>
  /^\d+$/.test(name) ? [JSON.stringify(name), `:${name},`, `:${name}}`, `: ${name},`] : [JSON.stringify(name)]

/**
 * Forgets a person: the profile goes, decisions and events lose the identifier (and events the link), received bodies that
 * held an event of theirs lose their content, deliveries their address and words; what is queued does not leave. Counts
 * stay, which name nobody. A body that is pending is not touched: what is in it comes after.
 */
export class Erasures extends Context.Service<Erasures, {
  /** Inside a transaction that holds the lock of the organization's events. */
  readonly erase: (person: Person) => Effect.Effect<Erased, SqlError>
  /** The same in a transaction of its own. */
  readonly eraseNow: (person: Person) => Effect.Effect<Erased>
}>()("parlance/events/Erasures") {
  static readonly layer = Layer.effect(
    Erasures,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const profiles = yield* Profiles
      const people = yield* People
      const clock = yield* Clock.Clock

      const erase = Effect.fnUntraced(function* ({ email, org, user }: Person) {
        // The profile tells the other name of the same person.
        const known = yield* sql<{ userId: string; email: string | null }>`
          SELECT p.user_id, p.email FROM profiles p WHERE p.org_slug = ${org}
            AND (p.user_id = ${user ?? null}::text OR p.email = ${email ?? null}::text)`
        const names = [
          ...new Set([user, email, ...known.flatMap((row) => [row.userId, row.email])].filter((name) => name != null)),
        ] as Array<string>
        if (names.length === 0) return { profiles: 0, decisions: 0, events: 0, deliveries: 0, bodies: 0 }
        const count = (rows: unknown) => (rows as { readonly rowCount: number }).rowCount
        const gone = count(
          yield* sql`DELETE FROM profiles p WHERE p.org_slug = ${org} AND p.user_id IN ${sql.in(names)}`.raw,
        )
        yield* sql`DELETE FROM sticky_choices s WHERE s.org_slug = ${org} AND s.user_id IN ${sql.in(names)}`
        yield* forgetHistories(sql, org, names)
        // Events are found by their user, and by the decisions made for the person.
        const bodies = yield* sql<{ inboxId: number }>`
          SELECT DISTINCT e.inbox_id::float8 AS inbox_id FROM events e WHERE e.org_slug = ${org} AND (
            e.user_id IN ${sql.in(names)} OR e.tracking_id IN (
              SELECT d.tracking_id FROM decisions d WHERE d.org_slug = ${org} AND d.user_id IN ${sql.in(names)}))`
        const ids = bodies.map(({ inboxId }) => inboxId)
        const events = count(
          yield* sql`
            UPDATE events e SET user_id = NULL, link = NULL, message_key = NULL WHERE e.org_slug = ${org} AND (
              e.user_id IN ${sql.in(names)} OR e.tracking_id IN (
                SELECT d.tracking_id FROM decisions d WHERE d.org_slug = ${org} AND d.user_id IN ${sql.in(names)}))`
            .raw,
        )
        // A platform's name of a message can hold the name of its recipient.
        yield* sql`
          DELETE FROM attribution_links l WHERE l.org_slug = ${org} AND l.tracking_id IN (
            SELECT d.tracking_id FROM decisions d WHERE d.org_slug = ${org} AND d.user_id IN ${sql.in(names)})`
        const decisions = count(
          yield* sql`
            UPDATE decisions d SET user_id = NULL WHERE d.org_slug = ${org} AND d.user_id IN ${sql.in(names)}`.raw,
        )
        // What has not left does not leave; of what has, only that it did is kept.
        const messages = count(
          yield* sql`
            UPDATE deliveries d SET email = NULL, vars = NULL, message_id = NULL,
              state = CASE WHEN d.state = 'queued' THEN 'cancelled' ELSE d.state END,
              finished_at = CASE WHEN d.state = 'sending' THEN NULL ELSE COALESCE(d.finished_at, now()) END, reason = CASE WHEN d.reason IS NULL THEN NULL ELSE 'Erased' END
            WHERE d.org_slug = ${org} AND d.email IN ${sql.in(names)}`.raw,
        )
        const note = JSON.stringify([{
          pointer: "",
          reason: `Erased at ${new Date(clock.currentTimeMillisUnsafe()).toISOString()}`,
        }])
        // Bodies are also searched for the names as JSON has them: what only described the person became no event.
        const emptied = count(
          yield* sql`
            UPDATE inbox i SET body = '', headers = '{}', faults = ${note}::text::json
            WHERE i.org_slug = ${org} AND i.status <> 'pending' AND octet_length(i.body) > 0 AND (
              i.id = ANY(${ids}::bigint[]) OR EXISTS (
                SELECT 1 FROM unnest(${names.flatMap(needlesOf)}::text[]) AS n(text)
                WHERE position(convert_to(n.text, 'UTF8') IN i.body) > 0))`.raw,
        )
        for (const name of names) profiles.forget(org, name)
        people.forget(org, names)
        return { profiles: gone, decisions, events, deliveries: messages, bodies: emptied }
      })

      const eraseNow = Effect.fn("Erasures.eraseNow")(
        (person: Person) => sql.withTransaction(Effect.andThen(lockEvents(sql, [person.org]), erase(person))),
        Effect.catch((error: SqlError) => Effect.die(error)),
      )

      return Erasures.of({ erase, eraseNow })
    }),
  )
}
