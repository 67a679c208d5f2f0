import { Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { deliverSource } from "../../domain/Source.ts"
import { type BodySearch, makeBodySearch, overlapBytes } from "../../erasure/BodySearch.ts"
import { isInParts, whole } from "../../erasure/searchParts.ts"
import { changed, chunks, pages, type Work } from "../../erasure/Work.ts"

// Erases received bodies. A body that contains a name of an erased person is emptied completely, because its other
// items are already stored as events.

/** Maximum number of bodies that one statement lists. */
const listed = 500

interface Listed {
  readonly id: number
  readonly receivedAt: Date
  readonly bytes: number
}

/** Empties bodies that have been processed. The intake empties pending bodies after it has processed them. */
export const emptyBodies = Effect.fnUntraced(function* (
  work: Work,
  ids: ReadonlyArray<number>,
): Effect.fn.Return<void, SqlError> {
  const { now, org, sizes, sql } = work
  const note = JSON.stringify([{ pointer: "", reason: `Erased at ${new Date(now).toISOString()}` }])
  for (const some of chunks(ids, sizes.bodies)) {
    work.count(
      "bodies",
      yield* work.step(changed(sql`
        UPDATE inbox i SET body = '', headers = '{}', unused = NULL, faults = ${note}::text::json
        WHERE i.org_slug = ${org} AND i.id = ANY(${some}::bigint[]) AND i.status <> 'pending'
          AND octet_length(i.body) > 0`)),
    )
  }
})

/** Whether a body contains one of the names. Reads long bodies in parts. */
const isFound = Effect.fnUntraced(function* (work: Work, search: BodySearch, body: Listed) {
  const { sizes, sql } = work
  for (let from = 0; from < body.bytes; from += sizes.bytes - overlapBytes) {
    const [row] = yield* sql<{ part: Uint8Array }>`
      SELECT substring(i.body FROM ${from + 1}::int FOR ${sizes.bytes}::int) AS part FROM inbox i
      WHERE i.id = ${body.id} AND i.received_at >= ${body.receivedAt}
        AND i.received_at < ${new Date(body.receivedAt.getTime() + 1)}`
    if (row === undefined) return false
    const part = { isFirst: from === 0, isLast: from + sizes.bytes >= body.bytes }
    if (yield* isInParts(search, row.part, part)) return true
  }
  return false
})

/** Returns the ids of bodies that contain one of the names in a short body or in their headers. */
const searchShort = Effect.fnUntraced(function* (work: Work, search: BodySearch, bodies: ReadonlyArray<Listed>) {
  const { sizes, sql } = work
  const since = bodies.reduce((least, { receivedAt }) => Math.min(least, receivedAt.getTime()), Infinity)
  const rows = yield* sql<{ id: number; body: Uint8Array | null; headers: string }>`
    SELECT i.id::float8 AS id, CASE WHEN octet_length(i.body) <= ${sizes.bytes} THEN i.body END AS body,
      i.headers::text AS headers
    FROM inbox i
    WHERE i.id = ANY(${bodies.map(({ id }) => id)}::bigint[]) AND i.received_at >= ${new Date(since)}`
  const found: Array<number> = []
  for (const { body, headers, id } of rows) {
    if (
      search.isIn(new TextEncoder().encode(headers), whole) ||
      (body !== null && (yield* isInParts(search, body, whole)))
    ) found.push(id)
  }
  return found
})

/** Searches a page of bodies and empties bodies that contain one of the names. */
const searchPage = Effect.fnUntraced(function* (work: Work, search: BodySearch, page: ReadonlyArray<Listed>) {
  let some: Array<Listed> = []
  let bytes = 0
  const flush = Effect.gen(function* () {
    if (some.length > 0) yield* emptyBodies(work, yield* searchShort(work, search, some))
    some = []
    bytes = 0
  })
  for (const body of page) {
    if (body.bytes === 0) continue
    some.push(body)
    if (body.bytes <= work.sizes.bytes) bytes += body.bytes
    else if (yield* isFound(work, search, body)) yield* emptyBodies(work, [body.id])
    if (bytes >= work.sizes.bytes) yield* flush
  }
  yield* flush
})

/** Searches all bodies that the organization has received. */
export const eraseBodies = Effect.fnUntraced(function* (work: Work): Effect.fn.Return<void, SqlError> {
  const { org, sql } = work
  const search = makeBodySearch(work.names)
  yield* pages<{ readonly source: string }>(
    (after) =>
      sql`
        SELECT i.source FROM inbox i WHERE i.org_slug = ${org} AND i.source > ${after?.source ?? ""}
        ORDER BY i.org_slug, i.source LIMIT 1`,
    (rows) =>
      Effect.forEach(rows, ({ source }) =>
        pages<Listed>(
          (after) =>
            sql`
              SELECT i.id::float8 AS id, i.received_at, CASE WHEN i.status = 'pending' THEN 0 ELSE octet_length(i.body) END
                AS bytes
              FROM inbox i WHERE i.org_slug = ${org} AND i.source = ${source} AND i.id > ${after?.id ?? 0}
              ORDER BY i.org_slug, i.source, i.id LIMIT ${listed}`,
          (page) => searchPage(work, search, page),
        ), { discard: true }),
  )
  // The service's own reports on deliveries contain no names.
  const [pending] = yield* sql<{ count: number }>`
    SELECT count(*)::int AS count FROM inbox i
    WHERE i.org_slug = ${org} AND i.status = 'pending' AND i.source <> ${deliverSource}`
  work.keep("pending_bodies", pending!.count)
})
