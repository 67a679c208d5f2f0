import { Effect } from "effect"
import type { Statement } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { OrgSlug, TemplateId } from "../domain/Ids.ts"
import { report } from "./Outbox.ts"
import { changed, chunks, maybeNamed, pages, repeated, type Work } from "../erasure/Work.ts"

// What is stored by a person's name: profiles, queued and sent messages, sticky choices, and when to send.

/** Names looked up by one statement. */
const lookedUp = 200

interface ProfileRow {
  readonly userId: string
  readonly email: string | null
}

/** Profiles that may be of these people, by pages of all profiles, so that addresses are found in any spelling. */
const profilePage = (work: Work) => (after: ProfileRow | undefined) =>
  work.sql<ProfileRow>`
    SELECT q.user_id, q.email FROM (
      SELECT p.*, row_number() OVER (ORDER BY p.user_id) = count(*) OVER () AS is_last FROM (
        SELECT p.user_id, p.email FROM profiles p
        WHERE p.org_slug = ${work.org} AND p.user_id > ${after?.userId ?? ""}
        ORDER BY p.org_slug, p.user_id LIMIT ${work.sizes.rows}) p) q
    WHERE q.is_last OR ${maybeNamed(work, "q.user_id")} OR ${maybeNamed(work, "q.email")}
    ORDER BY q.user_id`

/**
 * Deletes the profiles of the people, and learns from them what else they are called. A profile of another user that has the
 * address of somebody who is erased by the user id stays.
 */
export const eraseProfiles = Effect.fnUntraced(function* (work: Work): Effect.fn.Return<void, SqlError> {
  const { names, org, sql } = work
  const users: Array<string> = []
  const found: Array<ProfileRow> = []
  yield* pages(profilePage(work), (rows) =>
    Effect.sync(() => {
      for (const row of rows) {
        if (!names.has(row.userId) && (row.email === null || !names.has(row.email))) continue
        users.push(row.userId)
        found.push(row)
      }
    }))
  for (const { email, userId } of found) {
    names.add(userId)
    names.add(email)
  }
  for (const some of chunks(users, lookedUp)) {
    work.count(
      "profiles",
      yield* work.step(changed(sql`
        DELETE FROM profiles p WHERE p.org_slug = ${org} AND p.user_id = ANY(${some}::text[])`)),
    )
  }
  for (const some of chunks(names.addresses(), lookedUp)) {
    const [row] = yield* sql<{ count: number }>`
      SELECT count(*)::int AS count FROM profiles p
      WHERE p.org_slug = ${org} AND p.email IS NOT NULL AND lower(p.email) = ANY(${some}::text[])`
    work.keep("other_profiles", row!.count)
  }
})

/** Adds the spellings of the names that a column has, by pages of an index of it. */
const learnSpellings = (work: Work, table: string, column: string, where: Statement.Fragment) => {
  const { names, org, sizes, sql } = work
  const [from, name] = [sql.literal(table), sql.literal(column)]
  return pages<{ readonly name: string }>(
    (after) =>
      sql`
        SELECT DISTINCT q.name FROM (
          SELECT p.name, row_number() OVER (ORDER BY p.name) = count(*) OVER () AS is_last FROM (
            SELECT t.${name} AS name FROM ${from} t
            WHERE t.org_slug = ${org} AND ${where} AND t.${name} > ${after?.name ?? ""}
            ORDER BY t.org_slug, t.${name} LIMIT ${sizes.rows}) p) q
        WHERE q.is_last OR ${maybeNamed(work, "q.name")}
        ORDER BY q.name`,
    (rows) =>
      Effect.sync(() => {
        for (const { name } of rows) if (names.has(name)) names.add(name)
      }),
  )
}

/** Finds every spelling of the addresses that decisions, messages and send times have. Ids have one spelling. */
export const findSpellings = Effect.fnUntraced(function* (work: Work): Effect.fn.Return<void, SqlError> {
  const { names, sql } = work
  if (names.addresses().length === 0) return
  yield* learnSpellings(work, "deliveries", "email", sql`t.email IS NOT NULL`)
  yield* learnSpellings(work, "decisions", "user_id", sql`t.user_id IS NOT NULL`)
  yield* learnSpellings(work, "send_times", "person", sql`t.kind = 'user'`)
  yield* learnSpellings(work, "send_advice", "person", sql`TRUE`)
})

/** Cancels messages to the people that are queued, and takes address and content out of the others. */
export const eraseDeliveries = Effect.fnUntraced(function* (work: Work): Effect.fn.Return<void, SqlError> {
  const { names, org, sizes, sql } = work
  for (const some of chunks(names.spellings().filter((name) => name.includes("@")), lookedUp)) {
    yield* repeated(
      sizes.changes,
      work.step(Effect.gen(function* () {
        const rows = yield* sql<{ id: string; templateId: TemplateId; before: string }>`
          WITH was AS MATERIALIZED (
            SELECT d.id, d.state FROM deliveries d WHERE d.org_slug = ${org} AND d.email = ANY(${some}::text[])
            LIMIT ${sizes.changes} FOR UPDATE)
          UPDATE deliveries d SET email = NULL, address_key = NULL, vars = NULL, links = NULL, message_id = NULL,
            state = CASE WHEN d.state = 'queued' THEN 'cancelled' ELSE d.state END,
            finished_at = CASE WHEN d.state = 'sending' THEN NULL ELSE COALESCE(d.finished_at, now()) END,
            reason = CASE WHEN d.state = 'queued' THEN 'Cancelled: the recipient was erased'
              WHEN d.reason IS NULL THEN NULL ELSE 'Erased' END
          FROM was WHERE d.org_slug = ${org} AND d.id = was.id
          RETURNING d.id, d.template_id, was.state AS before`
        const cancelled = rows.filter(({ before }) => before === "queued")
        if (cancelled.length > 0) {
          yield* sql`
            INSERT INTO delivery_counts AS c (org_slug, hour, state, count)
            VALUES (${org}, date_bin('1 hour', now(), 'epoch'), 'cancelled', ${cancelled.length})
            ON CONFLICT (org_slug, hour, state) DO UPDATE SET count = c.count + EXCLUDED.count`
          yield* report(
            sql,
            org as OrgSlug,
            cancelled.map(({ id, templateId }) => ({ id, templateId, _tag: "cancelled" })),
          )
        }
        work.count("deliveries", rows.length)
        work.count("cancelled", cancelled.length)
        work.keep("deliveries", rows.length)
        work.keep("deliveries_leaving", rows.filter(({ before }) => before === "sending").length)
        const [keys] = yield* sql<{ count: number }>`
          SELECT count(*)::int AS count FROM idempotency_keys k
          WHERE k.org_slug = ${org} AND k.delivery_id = ANY(${rows.map(({ id }) => id)}::text[])`
        work.keep("idempotency_keys", keys!.count)
        return rows.length
      })),
    )
  }
})

interface StickyRow {
  readonly templateId: string
  readonly userId: string
}

/** Deletes what templates remember for the people, so that they get the same variant again. */
export const eraseStickyChoices = (work: Work): Effect.Effect<void, SqlError> => {
  const { names, org, sizes, sql } = work
  return pages<StickyRow>(
    (after) =>
      sql`
        SELECT q.template_id, q.user_id FROM (
          SELECT p.*, row_number() OVER (ORDER BY p.template_id, p.user_id) = count(*) OVER () AS is_last FROM (
            SELECT s.template_id, s.user_id FROM sticky_choices s
            WHERE s.org_slug = ${org}
              AND (s.template_id, s.user_id) > (${after?.templateId ?? ""}, ${after?.userId ?? ""})
            ORDER BY s.org_slug, s.template_id, s.user_id LIMIT ${sizes.rows}) p) q
        WHERE q.is_last OR ${maybeNamed(work, "q.user_id")}
        ORDER BY q.template_id, q.user_id`,
    (rows) =>
      Effect.gen(function* () {
        for (const some of chunks(rows.filter(({ userId }) => names.has(userId)), sizes.changes)) {
          const keys = some.map(({ templateId, userId }) => ({ template_id: templateId, user_id: userId }))
          work.count(
            "sticky_choices",
            yield* work.step(changed(sql`
              DELETE FROM sticky_choices s
              USING json_to_recordset(${JSON.stringify(keys)}::text::json) AS r(template_id text, user_id text)
              WHERE s.org_slug = ${org} AND s.template_id = r.template_id AND s.user_id = r.user_id`)),
          )
        }
      }),
  )
}

/** Deletes when the people looked at messages, and what was advised about them. After decisions and events, which make it. */
export const eraseSendTimes = Effect.fnUntraced(function* (work: Work): Effect.fn.Return<void, SqlError> {
  const { names, org, sizes, sql } = work
  for (const some of chunks(names.spellings(), lookedUp)) {
    work.count(
      "send_times",
      yield* work.step(changed(sql`
        DELETE FROM send_times s
        WHERE s.org_slug = ${org} AND s.kind = 'user' AND s.person = ANY(${some}::text[])`)),
    )
    yield* repeated(
      sizes.changes,
      work.step(Effect.gen(function* () {
        const gone = yield* changed(sql`
          DELETE FROM send_advice a USING (
            SELECT f.person, f.copy_id, f.id FROM send_advice f
            WHERE f.org_slug = ${org} AND f.person = ANY(${some}::text[]) LIMIT ${sizes.changes}) f
          WHERE a.org_slug = ${org} AND a.person = f.person AND a.copy_id = f.copy_id AND a.id = f.id`)
        work.count("send_advice", gone)
        return gone
      })),
    )
  }
})
