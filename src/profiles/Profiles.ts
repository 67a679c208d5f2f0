import { Clock, Context, Effect, Layer, Result, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { organizationRows } from "../organizations/OrganizationRows.ts"
import * as Attributes from "../domain/Attributes.ts"
import type { ProfileUpdate } from "../domain/Event.ts"
import { LruMap } from "../json/LruMap.ts"
import { SeededMap, SeededSet } from "../json/SeededMap.ts"
import { recordset } from "../store/Recordset.ts"
import { bounded } from "../store/bounded.ts"

/** Cache time of a profile. Unit: milliseconds. */
const freshMillis = 30_000

/** Maximum number of users in memory. */
const remembered = 50_000

/**
 * Maximum number of traits of one user, and maximum length of all of them as JSON. The latest reported traits are kept.
 */
const maxTraits = 200
const maxTraitCharacters = 32_768

/** Traits of a user, reported by a body of an organization. */
type Update = ProfileUpdate & { readonly org: string }

interface Traits {
  readonly [name: string]: unknown
}

interface Row {
  readonly orgSlug: string
  readonly userId: string
  readonly email: string | null
  readonly traits: Traits
  readonly reportedAt: Readonly<Record<string, number>>
}

const profileColumns = {
  org_slug: "text",
  user_id: "text",
  email: "text",
  traits: "text",
  reported_at: "text",
} as const

/** Profiles of end users, reported by platforms. Targeting and segments use traits like attributes of requests. */
export class Profiles extends Context.Service<Profiles, {
  /**
   * Merges reports, keeping the latest value of each trait. Call it in a transaction that is the only writer of
   * profiles. Fails with `SqlError` if the database does not respond.
   */
  readonly apply: (
    updates: ReadonlyArray<Update>,
  ) => Effect.Effect<void, SqlError>
  /**
   * Returns the attributes of a request's user: the request's attributes, plus traits that the request does not set.
   * Undefined if the organization has no profiles or the request no user, so that no read is needed.
   */
  readonly attributes: (
    org: string,
    user: string | undefined,
    attrs: Attributes.Attributes,
  ) => Effect.Effect<Attributes.Attributes> | undefined
  /** Drops the cached profile of a user. */
  readonly forget: (org: string, user: string) => void
}>()("parlance/profiles/Profiles") {
  static readonly layer = Layer.effect(
    Profiles,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const memory = new LruMap<{ readonly traits: Attributes.Attributes; readonly readAt: number }>(remembered)
      // Most organizations have no profiles, and need no look-ups.
      let withProfiles: ReadonlySet<string> = new Set()

      const poll = Effect.map(
        sql<{ slug: string }>`
          SELECT o.slug FROM ${
          sql.literal(organizationRows())
        } WHERE EXISTS (SELECT 1 FROM profiles p WHERE p.org_slug = o.slug)`,
        (rows) => void (withProfiles = new Set(rows.map(({ slug }) => slug))),
      )
      yield* poll
      yield* poll.pipe(
        Effect.ignore,
        Effect.repeat(Schedule.spaced("2 seconds")),
        Effect.delay("2 seconds"),
        Effect.forkScoped,
      )

      const keyOf = (org: string, user: string) => `${org}\0${user}`

      const apply = Effect.fnUntraced(function* (updates: ReadonlyArray<Update>) {
        if (updates.length === 0) return
        const keys = [...new SeededSet(updates.map(({ org, user }) => keyOf(org, user)))].map((key) => {
          const [org_slug, user_id] = key.split("\0")
          return { org_slug, user_id }
        })
        const known = yield* sql<Row>`
          SELECT p.org_slug, p.user_id, p.email, p.traits, p.reported_at
          FROM ${recordset(keys, { org_slug: "text", user_id: "text" })}
          CROSS JOIN LATERAL (
            SELECT * FROM profiles p WHERE p.org_slug = r.org_slug AND p.user_id = r.user_id
            ORDER BY p.org_slug, p.user_id LIMIT 1) p`
        const profiles = new SeededMap<string, Row>(known.map((row) => [keyOf(row.orgSlug, row.userId), row]))
        const reports = new SeededMap<string, Array<Update>>()
        for (const update of updates) {
          const key = keyOf(update.org, update.user)
          const ofUser = reports.get(key)
          if (ofUser === undefined) reports.set(key, [update])
          else ofUser.push(update)
        }
        const rows = Array.from(reports, ([key, ofUser]) => {
          const { email, orgSlug, reportedAt, traits, userId } = merged(profiles.get(key), ofUser)
          return {
            org_slug: orgSlug,
            user_id: userId,
            email,
            traits: JSON.stringify(traits),
            reported_at: JSON.stringify(reportedAt),
          }
        })
        yield* sql`
          INSERT INTO profiles (org_slug, user_id, email, traits, reported_at, updated_at)
          SELECT r.org_slug, r.user_id, r.email, r.traits::json, r.reported_at::json,
            ${new Date(clock.currentTimeMillisUnsafe())}::timestamptz
          FROM ${recordset(rows, profileColumns)}
          ON CONFLICT (org_slug, user_id) DO UPDATE SET email = EXCLUDED.email, traits = EXCLUDED.traits,
            reported_at = EXCLUDED.reported_at, updated_at = EXCLUDED.updated_at`
        for (const key of reports.keys()) memory.delete(key)
      })

      const read = Effect.fnUntraced(function* (org: string, user: string) {
        const rows = yield* sql<{ traits: Traits }>`
          SELECT p.traits FROM profiles p WHERE p.org_slug = ${org} AND p.user_id = ${user}`
        const traits = attributesOf(rows[0]?.traits ?? {})
        memory.set(keyOf(org, user), { traits, readAt: clock.currentTimeMillisUnsafe() })
        return traits
      })

      const attributes = (org: string, user: string | undefined, attrs: Attributes.Attributes) => {
        if (user === undefined || !withProfiles.has(org)) return undefined
        const known = memory.get(keyOf(org, user))
        if (known !== undefined && clock.currentTimeMillisUnsafe() - known.readAt < freshMillis) {
          return Effect.succeed(joined(known.traits, attrs))
        }
        return read(org, user).pipe(
          bounded("1 second"),
          Effect.map((traits) => joined(traits, attrs)),
          // Without the store, uses the last known traits, or the request's attributes alone.
          Effect.catchCause(() => Effect.succeed(known === undefined ? attrs : joined(known.traits, attrs))),
        )
      }

      return Profiles.of({ apply, attributes, forget: (org, user) => void memory.delete(keyOf(org, user)) })
    }),
  )
}

/** Returns the names of the traits to keep: the latest reported ones, as many as the limits allow. */
const keptOf = (traits: SeededMap<string, unknown>, reportedAt: SeededMap<string, number>): SeededSet<string> => {
  const kept = new SeededSet<string>()
  let room = maxTraitCharacters
  for (const [name] of [...reportedAt].sort(([, a], [, b]) => b - a).slice(0, maxTraits)) {
    const size = name.length + (traits.has(name) ? JSON.stringify(traits.get(name)).length : 0)
    if (size > room) continue
    room -= size
    kept.add(name)
  }
  return kept
}

/** Name of the time of the e-mail address among the times of traits, whose names are never empty. */
const emailTime = ""

/**
 * Returns a profile after more reports about one user. The latest report of the e-mail address and of each trait wins,
 * and null removes the trait.
 */
const merged = (profile: Row | undefined, reports: ReadonlyArray<Update>): Row => {
  const [{ org, user }] = reports as readonly [Update]
  const traits = new SeededMap(Object.entries(profile?.traits ?? {}))
  const reportedAt = new SeededMap(Object.entries(profile?.reportedAt ?? {}))
  let email = profile?.email ?? null
  let emailAt = reportedAt.get(emailTime) ?? -Infinity
  reportedAt.delete(emailTime)
  for (const report of reports) {
    for (const [name, value] of Object.entries(report.traits)) {
      const before = reportedAt.get(name)
      // Of two reports with one time, the greater text wins, so that their order does not matter.
      if (before !== undefined && before > report.occurredAt) continue
      if (before === report.occurredAt && JSON.stringify(traits.get(name) ?? null) >= JSON.stringify(value ?? null)) {
        continue
      }
      reportedAt.set(name, report.occurredAt)
      if (value === null || value === undefined) traits.delete(name)
      else traits.set(name, value)
    }
    if (report.email === undefined || emailAt > report.occurredAt) continue
    if (emailAt === report.occurredAt && email !== null && email >= report.email) continue
    email = report.email
    emailAt = report.occurredAt
  }
  const kept = keptOf(traits, reportedAt)
  return {
    orgSlug: org,
    userId: user,
    email,
    traits: Object.fromEntries([...traits].filter(([name]) => kept.has(name))),
    reportedAt: Object.fromEntries([
      ...[...reportedAt].filter(([name]) => kept.has(name)),
      ...(emailAt === -Infinity ? [] : [[emailTime, emailAt] as const]),
    ]),
  }
}

/** Returns traits as attributes, except traits that a request could not send. */
const attributesOf = (traits: Traits): Attributes.Attributes => {
  const attributes = new Map<string, ReadonlyArray<string>>()
  for (const [name, value] of Object.entries(traits)) {
    const parsed = Attributes.parse({ [name]: value })
    if (Result.isSuccess(parsed)) { for (const [key, values] of parsed.success) attributes.set(key, values) }
  }
  return attributes
}

const joined = (traits: Attributes.Attributes, attrs: Attributes.Attributes): Attributes.Attributes =>
  traits.size === 0 ? attrs : new Map([...traits, ...attrs])
