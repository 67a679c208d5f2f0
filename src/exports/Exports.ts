import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { dayMillis } from "../bandit/Window.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { Store } from "../store/Store.ts"
import type { Cursor, Stream } from "./Cursor.ts"

// Rows of the views `export_*` in pages. Transactions commit out of order, so a page ends at a horizon: the time before
// which no new row can appear. Rows that nevertheless appear or change before it are noted in `late_rows` by a trigger
// (schema/0197), and are listed again.

/** A cursor is older than the notes about late rows. */
class CursorExpired extends Schema.TaggedError<CursorExpired>()("CursorExpired", {}) {}

/** An exported row: values by column. */
export type ExportedRow = Readonly<Record<string, unknown>>

/** Rows of an export. */
interface ExportPage {
  readonly rows: ReadonlyArray<ExportedRow>
  /** The position after these rows. */
  readonly cursor: Cursor
  /** Whether more rows are available now. */
  readonly hasMore: boolean
}

/** The start and the size of a page. */
interface PageOptions {
  readonly after: Cursor | undefined
  readonly since: Date
  readonly limit: number
}

/** Columns of the view of a stream, in their order, without the organization. */
export const columnsOf: Readonly<Record<Stream, ReadonlyArray<string>>> = {
  decisions: [
    "tracking_id",
    "template_id",
    "copy_id",
    "user_id",
    "segment",
    "mode",
    "holdout",
    "propensity",
    "weights",
    "policy",
    "lookback_days",
    "offset_days",
    "decided_at",
    "failed",
    "locale",
  ],
  events: [
    "source",
    "event_id",
    "template_id",
    "tracking_id",
    "user_id",
    "email",
    "event",
    "status",
    "automated",
    "link",
    "value",
    "currency",
    "occurred_at",
    "received_at",
  ],
  deliveries: [
    "id",
    "template_id",
    "copy_id",
    "email",
    "state",
    "is_transactional",
    "connection",
    "message_id",
    "reason",
    "attempts",
    "queued_at",
    "due_at",
    "expires_at",
    "finished_at",
  ],
}

/** Maximum age of a cursor. Notes about late rows are kept a day longer. Unit: days. */
export const cursorDays = 30

/**
 * Returns a time before every row of an organization that is kept, in Unix milliseconds. The margins allow for different
 * clocks of nodes, and for events, which are kept a little longer than decisions.
 */
export const oldestRow = (
  { created_at, retention_days }: { readonly created_at: string; readonly retention_days: number },
  now: number,
): number => Math.max(Date.parse(created_at) - dayMillis, now - (retention_days + 70) * dayMillis)

/** The interval that the first query of an export reads, and the limits of later intervals. */
const firstStepMillis = 60_000
const leastStepMillis = 1_000
const mostStepMillis = 32 * dayMillis

/** Time after which a page ends even if it is not full: an organization may have few rows among many of others. */
const patienceMillis = 2_000

/** Rows of a page with their keys. */
interface Read {
  readonly rows: ReadonlyArray<ExportedRow & { readonly position: ReadonlyArray<string> }>
}

/** Returns SQL for a time with microseconds, in the form of the cursor. */
const timeText = (column: string) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

/** The key of a row in each view, and the condition that finds it by a late row `l`. */
const keys: Readonly<Record<Stream, { readonly parts: ReadonlyArray<string>; readonly byLate: string }>> = {
  decisions: {
    parts: ["v.decided_at", "v.tracking_id", "v.template_id"],
    byLate: "v.decided_at = l.row_at AND v.tracking_id = l.row_key[1] AND v.template_id = l.row_key[2]",
  },
  events: {
    parts: ["v.received_at", "v.source", "v.event_id", "coalesce(v.template_id, '')"],
    byLate: "v.received_at = l.row_at AND v.source = l.row_key[1] AND v.event_id = l.row_key[2] " +
      "AND coalesce(v.template_id, '') = l.row_key[3]",
  },
  deliveries: { parts: ["v.id"], byLate: "v.id = l.row_key[1]" },
}

const positionOf = (stream: Stream) =>
  `ARRAY[${keys[stream].parts.map((part) => part.endsWith("_at") ? timeText(part) : part).join(", ")}]`

const selected = (stream: Stream) => columnsOf[stream].map((column) => `v.${column}`).join(", ")

const plus = (time: string, millis: number): string => {
  // Dates have milliseconds. The end of an interval needs no better resolution, but must not be before its start.
  const end = new Date(Date.parse(time) + millis).toISOString()
  return end.replace("Z", "000Z")
}

const makeQueries = (sql: SqlClient.SqlClient) => {
  /**
   * Returns the time before which every transaction that stored a row in time has ended. A row is in time up to a
   * minute after its own time, by the clock of the store at the write. A second minute covers the delay until the
   * transaction gets its number, by which it is visible here, and the ids of deliveries, which nodes generate.
   */
  const horizon = Effect.map(
    sql<{ readonly horizon: string }>`
      SELECT ${sql.literal(timeText("h.at"))} AS horizon FROM (
        SELECT least(clock_timestamp(), (
          SELECT min(a.xact_start) FROM pg_stat_activity a
          WHERE a.datname = current_database() AND a.backend_xid IS NOT NULL)) - interval '2 minutes' AS at) h`,
    ([row]) => row!.horizon,
  )

  const lateRows = (org: OrgSlug, { late, stream }: Cursor, until: string, limit: number) =>
    sql<ExportedRow & { readonly late_at: string; readonly late_id: string; readonly found: boolean }>`
      SELECT ${sql.literal(timeText("l.noted_at"))} AS late_at, l.id::text AS late_id, v.org_slug IS NOT NULL AS found,
        ${sql.literal(selected(stream))}
      FROM (
        SELECT * FROM late_rows l WHERE l.org_slug = ${org} AND l.stream = ${stream}
          AND (l.noted_at, l.id) > (${late.at}::timestamptz, ${late.id}::bigint) AND l.noted_at < ${until}::timestamptz
        ORDER BY l.noted_at, l.id LIMIT ${limit}) l
      LEFT JOIN ${sql.literal(`export_${stream}`)} v ON v.org_slug = l.org_slug AND ${sql.literal(keys[stream].byLate)}
      ORDER BY l.noted_at, l.id`.withoutTransform

  /** Reads rows after a key and before a time, earliest first. */
  const rowsBetween = (org: OrgSlug, stream: Stream, after: ReadonlyArray<string>, until: string, limit: number) => {
    const { parts } = keys[stream]
    const order = sql.literal(parts.join(", "))
    const range = stream === "deliveries"
      ? sql`v.id > ${after[0]} AND v.id < export_first_id(${until}::timestamptz)`
      : sql`${sql.literal(parts[0]!)} >= ${after[0]}::timestamptz AND ${sql.literal(parts[0]!)} < ${until}::timestamptz
          AND (${order}) > (${after[0]}::timestamptz, ${sql.csv(after.slice(1).map((part) => sql`${part}`))})`
    return sql<Read["rows"][number]>`
      SELECT ${sql.literal(selected(stream))}, ${sql.literal(positionOf(stream))} AS position
      FROM ${sql.literal(`export_${stream}`)} v WHERE v.org_slug = ${org} AND ${range}
      ORDER BY ${order} LIMIT ${limit}`.withoutTransform
  }

  /**
   * Reads the rows of the notes after `from` up to `to`, and the rows between both positions. Rows that were noted after
   * `to` are missing: they belong to a later page.
   */
  const range = Effect.fnUntraced(function* (org: OrgSlug, from: Cursor, to: Cursor) {
    const { stream } = from
    const { byLate, parts } = keys[stream]
    const view = sql.literal(`export_${stream}`)
    const columns = sql.literal(selected(stream))
    const key = sql.literal(parts.join(", "))
    const late = yield* sql<ExportedRow>`
      SELECT ${columns} FROM late_rows l JOIN ${view} v ON v.org_slug = l.org_slug AND ${sql.literal(byLate)}
      WHERE l.org_slug = ${org} AND l.stream = ${stream} AND (l.noted_at, l.id) > (${from.late.at}::timestamptz,
        ${from.late.id}::bigint) AND (l.noted_at, l.id) <= (${to.late.at}::timestamptz, ${to.late.id}::bigint)`
      .withoutTransform
    const isTimed = stream !== "deliveries"
    const position = ({ main }: Cursor) =>
      sql.csv(main.map((part, index) => isTimed && index === 0 ? sql`${part}::timestamptz` : sql`${part}`))
    const first = sql.literal(parts[0]!)
    const within = isTimed
      ? sql`${first} >= ${from.main[0]}::timestamptz AND ${first} <= ${to.main[0]}::timestamptz`
      : sql`TRUE`
    const main = yield* sql<ExportedRow>`
      SELECT ${columns} FROM ${view} v WHERE v.org_slug = ${org} AND ${within}
        AND (${key}) > (${position(from)}) AND (${key}) <= (${position(to)})
        AND NOT EXISTS (
          SELECT 1 FROM late_rows l WHERE l.org_slug = ${org} AND l.stream = ${stream}
            AND (l.noted_at, l.id) > (${to.late.at}::timestamptz, ${to.late.id}::bigint) AND ${sql.literal(byLate)})`
      .withoutTransform
    return [...late, ...main]
  })

  /**
   * Returns the start of an export: all rows from `since` on. Rows written late are older than the horizon, so their
   * position is final.
   */
  const start = (stream: Stream, since: Date, late: string) =>
    Effect.map(
      sql<{ readonly first: string }>`SELECT export_first_id(${since}) AS first`,
      ([row]): Cursor => {
        const at = since.toISOString().replace("Z", "000Z")
        const main = { decisions: [at, "", ""], events: [at, "", "", ""], deliveries: [row!.first] }[stream]
        return { stream, main, late: { at: late, id: "0" }, stepMillis: firstStepMillis }
      },
    )
  return { horizon, lateRows, range, rowsBetween, start }
}

/** Reads decisions, events and deliveries in pages, in a stable order that skips no row. */
export class Exports extends Context.Service<Exports, {
  /**
   * Reads up to `limit` rows after the cursor, or from `since` on. A row that changed, or was stored late, is returned
   * again. Fails with `CursorExpired` if the cursor is older than 30 days, and with `SqlError` if the database does not
   * respond.
   */
  readonly page: (
    org: OrgSlug,
    stream: Stream,
    options: PageOptions,
  ) => Effect.Effect<ExportPage, CursorExpired | SqlError>
  /** Returns the position before the rows from `since` on. Fails with `SqlError` if the database does not respond. */
  readonly start: (stream: Stream, since: Date) => Effect.Effect<Cursor, SqlError>
  /**
   * Reads the rows of pages again, from the position before the first page to the position after the last. Rows that
   * were deleted since, or that a later page lists again, are missing. Fails with `SqlError` if the database does not respond.
   */
  readonly range: (org: OrgSlug, from: Cursor, to: Cursor) => Effect.Effect<ReadonlyArray<ExportedRow>, SqlError>
}>()("parlance/exports/Exports") {
  static readonly layer = Layer.effect(
    Exports,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const store = yield* Store
      const queries = makeQueries(sql)

      /** Reads intervals until the page is full, the horizon is reached or `patienceMillis` has passed. */
      const readMain = Effect.fnUntraced(function* (org: OrgSlug, cursor: Cursor, horizon: string, limit: number) {
        const { stream } = cursor
        const began = yield* Clock.currentTimeMillis
        const rows: Array<ExportedRow> = []
        let { main, stepMillis } = cursor
        while (rows.length < limit) {
          const isTimed = stream !== "deliveries"
          if (isTimed && main[0]! >= horizon) return { rows, main, stepMillis, hasMore: false }
          const end = isTimed ? plus(main[0]!, stepMillis) : horizon
          const until = end < horizon ? end : horizon
          const wanted = limit - rows.length
          const found = yield* queries.rowsBetween(org, stream, main, until, wanted)
          for (const { position: _, ...row } of found) rows.push(row)
          if (found.length === wanted) {
            return {
              rows,
              main: found.at(-1)!.position,
              stepMillis: Math.max(leastStepMillis, stepMillis / 2),
              hasMore: true,
            }
          }
          if (until === horizon) {
            // All rows before the horizon have been read. Ids are compared as texts, so that the last id serves as the
            // position.
            const end = isTimed ? [horizon, ...main.slice(1).map(() => "")] : found.at(-1)?.position ?? main
            return { rows, main: end, stepMillis: firstStepMillis, hasMore: false }
          }
          main = [until, ...main.slice(1).map(() => "")]
          stepMillis = Math.min(mostStepMillis, stepMillis * 2)
          if ((yield* Clock.currentTimeMillis) - began > patienceMillis) break
        }
        return { rows, main, stepMillis, hasMore: true }
      })

      const page = Effect.fn("Exports.page")(function* (
        org: OrgSlug,
        stream: Stream,
        { after, limit, since }: PageOptions,
      ) {
        const now = yield* Clock.currentTimeMillis
        if (after !== undefined && Date.parse(after.late.at) < now - cursorDays * dayMillis) {
          return yield* new CursorExpired()
        }
        // Read before the rows, so that a transaction that ends later is not before the horizon. Read from the primary,
        // because a replica does not show the transactions in progress.
        const horizon = yield* queries.horizon
        return yield* store.read(pageUntil(org, stream, horizon, { after, limit, since }))
      })

      const pageUntil = Effect.fnUntraced(function* (
        org: OrgSlug,
        stream: Stream,
        horizon: string,
        { after, limit, since }: PageOptions,
      ) {
        const cursor = after ?? (yield* queries.start(stream, since, horizon))
        const late = yield* queries.lateRows(org, cursor, horizon, limit)
        const again = late.flatMap(({ found, late_at: _at, late_id: _id, ...row }) => found ? [row] : [])
        const last = late.at(-1)
        if (late.length === limit) {
          const position = { at: last!.late_at, id: last!.late_id }
          return { rows: again, cursor: { ...cursor, late: position }, hasMore: true }
        }
        const { hasMore, main, rows, stepMillis } = yield* readMain(org, cursor, horizon, limit - late.length)
        // A position at the horizon does not expire while no row is late.
        const position = cursor.late.at < horizon ? { at: horizon, id: "0" } : cursor.late
        return { rows: [...again, ...rows], cursor: { stream, main, late: position, stepMillis }, hasMore }
      })

      const start = (stream: Stream, since: Date) =>
        Effect.flatMap(queries.horizon, (horizon) => queries.start(stream, since, horizon))

      return Exports.of({ page, range: queries.range, start })
    }),
  )
}
