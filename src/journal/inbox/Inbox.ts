import { Clock, Context, Duration, Effect, Layer, Metric, Queue } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { Buffer } from "node:buffer"
import { InboxEntryNotFound } from "../../domain/Errors.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { Settings } from "../../settings/Settings.ts"
import * as GroupCommit from "../../store/GroupCommit.ts"
import { recordset } from "../../store/Recordset.ts"
import { Store } from "../../store/Store.ts"

/** A received body. */
export interface Received {
  readonly org: OrgSlug
  /** Source id: `events`, or the neutral name of a platform. */
  readonly source: string
  /** The headers that normalization reads, by lowercase name. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** A received body, with the time of receipt in Unix milliseconds. */
export interface ArrivedBody extends Received {
  readonly receivedAt: number
}

/**
 * State of a webhook body. `pending`: not processed yet. `partial`: some items were not understood. `rejected`: no item
 * was understood.
 */
export type InboxStatus = "pending" | "done" | "partial" | "rejected"

/** A stored body, for display. */
export interface InboxEntry {
  readonly id: number
  readonly receivedAt: Date
  readonly status: InboxStatus
  /**
   * Number of attempts to process it alone since it was stored or replayed. 0 for a body processed with other bodies.
   */
  readonly attempts: number
  readonly headers: Readonly<Record<string, string>>
  /** Up to 10,000 characters. Invalid UTF-8 is replaced by U+FFFD. */
  readonly body: string
  /** Size of the whole body. Unit: bytes. */
  readonly bytes: number
  readonly events: number | null
  readonly duplicates: number | null
  readonly ignored: number | null
  /** Why items were ignored: at most 20 reasons. */
  readonly unused: ReadonlyArray<{ readonly reason: string; readonly count: number; readonly pointer: string }> | null
  readonly faults: ReadonlyArray<{ readonly pointer: string; readonly reason: string }> | null
}

/** Counts the bodies that this process stored. */
export const stored = Metric.counter("parlance_inbox_stored_total", { incremental: true })

const shownCharacters = 10_000

/** Maximum number of bodies that one call replays. */
export const replayedAtMost = 1_000

/**
 * Bodies of up to this size are processed in batches of up to this size. Larger bodies are processed one at a time.
 * Unit: bytes.
 */
export const batchBytes = 256 * 1024

const bodyColumns = { org_slug: "text", source: "text", received_at: "float8", headers: "text", body: "text" } as const

/** Returns the statement that stores bodies as pending. */
export const insertBodies = (sql: SqlClient.SqlClient, entries: ReadonlyArray<ArrivedBody>) => {
  const rows = entries.map(({ body, headers, org, receivedAt, source }) => ({
    org_slug: org,
    source,
    received_at: receivedAt,
    headers: JSON.stringify(headers),
    body: Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("base64"),
  }))
  return sql`
    INSERT INTO inbox (org_slug, source, received_at, headers, body, status)
    SELECT r.org_slug, r.source, to_timestamp(r.received_at / 1000.0), r.headers::json, decode(r.body, 'base64'),
      'pending'
    FROM ${recordset(rows, bodyColumns)}`
}

/** A page of up to `limit` bodies with ids below `cursor`. Without `all`, only bodies with items that were not understood. */
interface EntryPage {
  readonly cursor?: number | undefined
  readonly limit: number
  readonly all: boolean
}

/** Reads the bodies of a page, newest first. */
const readEntries = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  source: string,
  { all, cursor, limit }: EntryPage,
) {
  const rows = yield* sql<Omit<InboxEntry, "body"> & { readonly body: Uint8Array }>`
    SELECT i.id::float8 AS id, i.received_at, i.status, i.attempts, i.headers, octet_length(i.body) AS bytes,
      substring(i.body FROM 1 FOR ${4 * shownCharacters}) AS body, i.events, i.duplicates, i.ignored,
      i.unused, i.faults
    FROM inbox i
    WHERE i.org_slug = ${org} AND i.source = ${source}
      AND ${cursor === undefined ? sql`TRUE` : sql`i.id < ${cursor}`}
      AND ${all ? sql`TRUE` : sql`i.status IN ('partial', 'rejected')`}
    ORDER BY i.id DESC LIMIT ${limit}`
  return rows.map((row): InboxEntry => ({
    ...row,
    body: new TextDecoder().decode(row.body).slice(0, shownCharacters),
  }))
})

/**
 * Stores webhook bodies before the response, so that all later steps can be repeated. Bodies that arrive at the same
 * time share a commit.
 */
export class Inbox extends Context.Service<Inbox, {
  /**
   * Returns after the body is committed. Fails with `BufferFull` if the database does not accept it: then the sender
   * must retry.
   */
  readonly store: (received: Received) => Effect.Effect<void, GroupCommit.BufferFull>
  /**
   * Stores a group of bodies in one statement. Not idempotent, but an event that is stored twice counts once. Fails
   * with `SqlError` if the database does not respond.
   */
  readonly insert: (
    received: ReadonlyArray<ArrivedBody>,
  ) => Effect.Effect<void, SqlError>
  /** Receives an element after bodies were stored or made pending again on this node. */
  readonly arrived: Queue.Dequeue<void>
  /** Like `arrived`, for bodies that are processed one at a time: see `batchBytes`. */
  readonly arrivedLarge: Queue.Dequeue<void>
  /**
   * Lists bodies of a source that were not understood, completely or in part, or with `all`, all bodies. Newest first.
   */
  readonly list: (
    org: OrgSlug,
    source: string,
    page: EntryPage,
  ) => Effect.Effect<ReadonlyArray<InboxEntry>>
  /**
   * Makes a body pending again, with three attempts. Events that were counted are not counted twice. Fails with
   * `InboxEntryNotFound` for an unknown body.
   */
  readonly replay: (org: OrgSlug, source: string, id: number) => Effect.Effect<void, InboxEntryNotFound>
  /** Counts the bodies of a source that were not understood, completely or in part, up to `replayedAtMost`. */
  readonly countNotUnderstood: (org: OrgSlug, source: string) => Effect.Effect<number>
  /**
   * Makes the latest bodies of a source that were not understood pending again: up to `replayedAtMost` bodies with ids
   * up to `until`. Returns their number. Erased bodies have no content and are skipped.
   */
  readonly replayNotUnderstood: (org: OrgSlug, source: string, until: number) => Effect.Effect<number>
}>()("parlance/journal/inbox/Inbox") {
  static readonly layer = Layer.effect(
    Inbox,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const database = yield* Store
      const settings = yield* Settings
      const clock = yield* Clock.Clock
      const arrived = yield* Queue.sliding<void>(1)
      const arrivedLarge = yield* Queue.sliding<void>(1)
      // Initialises the counters to 0, so that alerts on missing traffic have a series from startup.
      yield* Metric.update(stored, 0)

      const insert = (entries: ReadonlyArray<ArrivedBody>) =>
        insertBodies(sql, entries).pipe(
          Effect.andThen(Metric.update(stored, entries.length)),
          Effect.map(() => {
            Queue.offerUnsafe(arrived, undefined)
            if (entries.some(({ body }) => body.byteLength > batchBytes)) Queue.offerUnsafe(arrivedLarge, undefined)
          }),
        )

      const commit = yield* GroupCommit.make<ArrivedBody, void>({
        write: (entries) => Effect.as(insert(entries), entries.map(() => undefined)),
        maxGroup: 500,
        maxWaiting: settings.storeQueueSize,
        maxWeight: { limit: 8 * 1024 * 1024, held: 64 * 1024 * 1024, of: ({ body }) => body.byteLength },
        // Bodies are never acknowledged before they are stored, because senders retry them.
        bufferSize: 1,
        bufferAge: Duration.seconds(1),
        timeout: settings.storeTimeout,
        drainTimeout: settings.shutdownTimeout,
      })

      const store = (received: Received) =>
        GroupCommit.commitWith(commit, { ...received, receivedAt: clock.currentTimeMillisUnsafe() })

      const list = Effect.fn("Inbox.list")(
        (org: OrgSlug, source: string, page: EntryPage) =>
          database.read(Effect.orDie(readEntries(sql, org, source, page))),
      )

      /** Announces bodies of unknown size. */
      const announce = () => {
        Queue.offerUnsafe(arrived, undefined)
        Queue.offerUnsafe(arrivedLarge, undefined)
      }

      const replay = Effect.fn("Inbox.replay")(function* (org: OrgSlug, source: string, id: number) {
        const [row] = yield* sql`
          UPDATE inbox i SET status = 'pending', attempts = 0 WHERE i.id = ${id} AND i.org_slug = ${org} AND i.source = ${source}
          RETURNING i.id`.pipe(Effect.catch((error: SqlError) => Effect.die(error)))
        if (row === undefined) return yield* new InboxEntryNotFound({ id: String(id) })
        announce()
      })

      const notUnderstood = (org: OrgSlug, source: string) =>
        sql`i.org_slug = ${org} AND i.source = ${source} AND i.status IN ('partial', 'rejected') AND octet_length(i.body) > 0`

      const countNotUnderstood = Effect.fn("Inbox.countNotUnderstood")(function* (org: OrgSlug, source: string) {
        const [row] = yield* sql<{ readonly count: number }>`
          SELECT count(*)::int AS count FROM (
            SELECT 1 FROM inbox i WHERE ${notUnderstood(org, source)} LIMIT ${replayedAtMost}
          ) i`
        return row!.count
      }, Effect.orDie)

      const replayNotUnderstood = Effect.fn("Inbox.replayNotUnderstood")(
        function* (org: OrgSlug, source: string, until: number) {
          const rows = yield* sql`
            WITH found AS MATERIALIZED (
              SELECT i.id FROM inbox i WHERE ${notUnderstood(org, source)} AND i.id <= ${until}
              ORDER BY i.id DESC LIMIT ${replayedAtMost}
            )
            UPDATE inbox i SET status = 'pending', attempts = 0 FROM found f
            WHERE i.id = f.id AND ${notUnderstood(org, source)} RETURNING 1`
          announce()
          return rows.length
        },
        Effect.orDie,
      )

      return Inbox.of({
        store,
        insert,
        arrived,
        arrivedLarge,
        list,
        replay,
        countNotUnderstood,
        replayNotUnderstood,
      })
    }),
  )
}
