import { Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { recordset } from "../../store/Recordset.ts"
import { emptyBodies } from "./Bodies.ts"
import { changed, chunks, learnSpellings, maybeNamed, pages, repeated, type Work } from "../../erasure/Work.ts"

// Erases people from records about messages: decisions, events, and the ids that platforms assigned.

/** Maximum number of tracking ids that one pass over the platforms' message ids searches for. */
const linkedAtOnce = 20_000

interface EventKey {
  readonly inboxId: number
  readonly source: string
  readonly eventKey: string
  readonly templateId: string
}

/**
 * Removes name, link and message id from events that were attributed to these decisions. Returns the ids of their
 * bodies.
 */
const eraseEventsOf = Effect.fnUntraced(function* (work: Work, trackingIds: ReadonlyArray<string>) {
  const { org, sizes, sql } = work
  const rows = yield* sql<{ inboxId: number }>`
    SELECT DISTINCT e.inbox_id::float8 AS inbox_id FROM (
      SELECT e.inbox_id FROM events e WHERE e.org_slug = ${org} AND e.tracking_id = ANY(${trackingIds}::text[])
      LIMIT ${4 * sizes.rows}) e`
  const found = yield* sql<{ count: number }>`
    SELECT count(*)::int AS count FROM (
      SELECT FROM events e WHERE e.org_slug = ${org} AND e.tracking_id = ANY(${trackingIds}::text[])
      LIMIT ${4 * sizes.rows}) e`
  work.keep("events", found[0]!.count)
  yield* repeated(
    sizes.changes,
    work.step(Effect.gen(function* () {
      const freed = yield* changed(sql`
        UPDATE events e SET user_id = NULL, email = NULL, link = NULL, message_key = NULL
        FROM (
          SELECT f.source, f.event_key, f.template_id, f.received_at FROM events f
          WHERE f.org_slug = ${org} AND f.tracking_id = ANY(${trackingIds}::text[])
            AND (f.user_id IS NOT NULL OR f.email IS NOT NULL OR f.link IS NOT NULL OR f.message_key IS NOT NULL)
          LIMIT ${sizes.changes}) f
        WHERE e.org_slug = ${org} AND e.source = f.source AND e.event_key = f.event_key AND e.template_id = f.template_id
          AND e.received_at = f.received_at`)
      work.count("events", freed)
      return freed
    })),
  )
  return rows.map(({ inboxId }) => inboxId)
})

/**
 * Deletes the platforms' ids of the messages of these decisions, because such an id may contain the recipient's name.
 */
const eraseLinks = (work: Work, trackingIds: ReadonlySet<string>): Effect.Effect<void, SqlError> => {
  const { org, sizes, sql } = work
  return pages<{ readonly source: string; readonly messageKey: string; readonly trackingId: string }>(
    (after) =>
      sql`
        SELECT l.source, l.message_key, l.tracking_id FROM attribution_links l
        WHERE l.org_slug = ${org} AND (l.source, l.message_key) > (${after?.source ?? ""}, ${after?.messageKey ?? ""})
        ORDER BY l.org_slug, l.source, l.message_key LIMIT ${sizes.rows}`,
    (rows) =>
      Effect.gen(function* () {
        const mine = rows.filter(({ trackingId }) => trackingIds.has(`#${trackingId}`))
        for (const some of chunks(mine, sizes.changes)) {
          const keys = some.map(({ messageKey, source }) => ({ source, message_key: messageKey }))
          work.count(
            "message_links",
            yield* work.step(changed(sql`
              DELETE FROM attribution_links l
              USING ${recordset(keys, { source: "text", message_key: "text" })}
              WHERE l.org_slug = ${org} AND l.source = r.source AND l.message_key = r.message_key`)),
          )
        }
      }),
  )
}

/** Removes the names from decisions, and from events that were attributed to them. */
export const eraseDecisions = Effect.fnUntraced(function* (work: Work): Effect.fn.Return<void, SqlError> {
  const { names, org, sizes, sql } = work
  let trackingIds = new Set<string>()
  for (const some of chunks(names.spellings(), 100)) {
    yield* repeated(
      sizes.changes,
      Effect.gen(function* () {
        const rows = yield* sql<{ trackingId: string; templateId: string; decidedAt: Date }>`
          SELECT d.tracking_id, d.template_id, d.decided_at FROM decisions d
          WHERE d.org_slug = ${org} AND d.user_id = ANY(${some}::text[]) LIMIT ${sizes.changes}`
        if (rows.length === 0) return 0
        const ids = [...new Set(rows.map(({ trackingId }) => trackingId))]
        for (const id of ids) trackingIds.add(`#${id}`)
        const bodies = yield* eraseEventsOf(work, ids)
        const keys = rows.map(({ templateId, trackingId }) => ({ tracking_id: trackingId, template_id: templateId }))
        const times = rows.map(({ decidedAt }) => decidedAt.getTime())
        const freed = yield* work.step(changed(sql`
          UPDATE decisions d SET user_id = NULL, further = NULL
          FROM ${recordset(keys, { tracking_id: "text", template_id: "text" })}
          WHERE d.org_slug = ${org} AND d.tracking_id = r.tracking_id AND d.template_id = r.template_id
            AND d.decided_at >= ${new Date(times.reduce((a, b) => Math.min(a, b)))}
            AND d.decided_at < ${new Date(times.reduce((a, b) => Math.max(a, b)) + 1)}
            AND d.user_id = ANY(${some}::text[])`))
        work.count("decisions", freed)
        work.keep("decisions", freed)
        if (work.isReported) work.keep("tracking_ids", ids.filter((id) => names.isIn(id)).length)
        yield* emptyBodies(work, bodies)
        if (trackingIds.size >= linkedAtOnce) {
          yield* eraseLinks(work, trackingIds)
          trackingIds = new Set()
        }
        // Ends the loop if no row changed, because unchanged rows would be found again forever.
        return freed === 0 ? 0 : rows.length
      }),
    )
  }
  if (trackingIds.size > 0) yield* eraseLinks(work, trackingIds)
})

/** Removes the names from events that name one of the people directly. Reads all events page by page. */
export const eraseEvents = (work: Work): Effect.Effect<void, SqlError> => {
  const { names, org, sizes, sql } = work
  const first: EventKey = { inboxId: 0, source: "", eventKey: "", templateId: "" }
  return pages<
    EventKey & { readonly receivedAt: Date; readonly user: string | null; readonly email: string | null }
  >(
    (after) => {
      const { eventKey, inboxId, source, templateId } = after ?? first
      return sql`
        SELECT q.inbox_id::float8 AS inbox_id, q.source, q.event_key, q.template_id, q.received_at, q.user_id AS "user",
          q.email
        FROM (
          SELECT p.*, row_number() OVER (ORDER BY p.inbox_id, p.source, p.event_key, p.template_id)
            = count(*) OVER () AS is_last
          FROM (
            SELECT e.inbox_id, e.source, e.event_key, e.template_id, e.received_at, e.user_id, e.email FROM events e
            WHERE e.org_slug = ${org}
              AND (e.inbox_id, e.source, e.event_key, e.template_id) > (${inboxId}, ${source}, ${eventKey}, ${templateId})
            ORDER BY e.org_slug, e.inbox_id, e.source, e.event_key, e.template_id LIMIT ${sizes.rows}) p) q
        WHERE q.is_last OR ${maybeNamed(work, "q.user_id")} OR ${maybeNamed(work, "q.email")}
        ORDER BY q.inbox_id, q.source, q.event_key, q.template_id`
    },
    (rows) =>
      Effect.gen(function* () {
        const isNamed = (name: string | null) => name !== null && names.has(name)
        const mine = rows.filter(({ email, user }) => isNamed(user) || isNamed(email))
        for (const some of chunks(mine, sizes.changes)) {
          const keys = some.map(({ eventKey, receivedAt, source, templateId }) => ({
            source,
            event_key: eventKey,
            template_id: templateId,
            received_at: receivedAt.getTime(),
          }))
          const freed = yield* work.step(changed(sql`
            UPDATE events e SET user_id = NULL, email = NULL, link = NULL, message_key = NULL
            FROM ${recordset(keys, { source: "text", event_key: "text", template_id: "text", received_at: "float8" })}
            WHERE e.org_slug = ${org} AND e.source = r.source AND e.event_key = r.event_key
              AND e.template_id = r.template_id AND e.received_at >= to_timestamp(r.received_at / 1000.0)
              AND e.received_at < to_timestamp((r.received_at + 1) / 1000.0)`))
          work.count("events", freed)
          work.keep("events", freed)
          yield* emptyBodies(work, [...new Set(some.map(({ inboxId }) => inboxId))])
        }
      }),
  )
}

/** Collects the spellings of the people's addresses in decisions. */
export const learnDecisionNames = (work: Work) =>
  learnSpellings(work, "decisions", "user_id", work.sql`t.user_id IS NOT NULL`)
