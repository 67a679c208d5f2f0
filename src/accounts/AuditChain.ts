import { Context, DateTime, Effect, Layer, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { recordset } from "../store/Recordset.ts"
import { ChainLink, chainStart, lineOf, linkAfter, type SealedContent } from "./AuditLine.ts"
import { signedInAction } from "./SecurityTally.ts"

/**
 * The chains of an audit log: changes and sign-ins, and refused requests, which any stranger can cause and which are kept
 * for a shorter time.
 */
export const auditLogs = ["changes", "refusals"] as const
/** A chain of an audit log. */
export type AuditLog = typeof auditLogs[number]

/** The chain of an organization, or of the installation if `org` is undefined. */
export interface ChainName {
  readonly org: string | undefined
  readonly log: AuditLog
}

/** The ends of a chain. The remaining entries follow `anchor` and end with `head`. */
export const ChainEnds = Schema.Struct({
  anchor: ChainLink.annotate({
    description: "The latest entry that was deleted at the end of its retention; number 0 without one",
  }),
  head: ChainLink.annotate({ description: "The latest entry. Keep it elsewhere: it proves all entries up to it" }),
}).annotate({ identifier: "AuditChainEnds" })
export type ChainEnds = typeof ChainEnds.Type

/** Time after its minute began from which an entry with a count is final. Unit: milliseconds. */
const finalMillis = 120_000

/** Maximum number of entries that one transaction seals. */
const sealedAtOnce = 500

/** The first page includes numbers below 1, which only a forged entry has. */
const lowestSeq = Number.MIN_SAFE_INTEGER

/** Maximum number of entries that one transaction deletes. */
const expiredAtOnce = 5_000

/** The entries `e` of a chain. */
const entriesOf = (sql: SqlClient.SqlClient, { log, org }: ChainName) =>
  sql.and([
    org === undefined ? sql`e.org_slug IS NULL` : sql`e.org_slug = ${org}`,
    log === "changes" ? sql`e.refusal IS NULL` : sql`e.refusal IS NOT NULL`,
  ])

/** Entries `e` that are not sealed yet and do not change any more. Entries with a count change within their minute. */
const finalEntries = (sql: SqlClient.SqlClient, now: Date) =>
  sql`e.seq IS NULL AND (e.refusal IS NULL AND e.action <> ${signedInAction}
    OR e.at < ${new Date(now.getTime() - finalMillis)}::timestamptz)`

const contentColumns = (sql: SqlClient.SqlClient) =>
  sql`e.id::float8 AS id, e.at, e.org_slug AS org, e.actor, e.actor_id, e.action, e.subject, e.address, e.refusal,
    e.details::text AS details, e.changes::text AS changes`

/**
 * Locks a chain until the transaction ends, and returns its ends. Creates it if it is missing. If somebody deleted the
 * row of the chain or forged an entry after its head, the chain continues after the last entry, so that none is lost.
 */
const lock = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, name: ChainName) {
  const [row] = yield* sql<ChainLink & { readonly anchorSeq: number; readonly last: readonly [string, string] | null }>`
      INSERT INTO audit_chains AS c (org_slug, log, seq, hash, anchor_seq, anchor_hash)
      VALUES (${name.org ?? ""}, ${name.log}, 0, ${chainStart.hash}, 0, ${chainStart.hash})
      ON CONFLICT (org_slug, log) DO UPDATE SET seq = c.seq
      RETURNING c.seq::float8 AS seq, c.hash, c.anchor_seq::float8 AS anchor_seq, (
        SELECT ARRAY[e.seq::text, coalesce(e.hash, '')] FROM audit_entries e
        WHERE ${entriesOf(sql, name)} AND e.seq > c.seq ORDER BY e.seq DESC LIMIT 1) AS last`
  const { anchorSeq, hash, last, seq } = row!
  return last === null ? { anchorSeq, hash, seq } : { anchorSeq, hash: last[1], seq: Number(last[0]) }
})

/**
 * Appends the final entries of a chain that are not sealed yet, at most 500, in the order of their ids. Returns their
 * number. Run it in the transaction that inserts entries: no entry of a change is visible without its hash.
 */
export const seal = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, name: ChainName) {
  const now = yield* DateTime.nowAsDate
  const chain = yield* lock(sql, name)
  // A count that another transaction changes now is sealed later.
  const entries = yield* sql<SealedContent>`
    SELECT ${contentColumns(sql)} FROM audit_entries e WHERE ${entriesOf(sql, name)} AND ${finalEntries(sql, now)}
    ORDER BY e.id LIMIT ${sealedAtOnce} FOR UPDATE SKIP LOCKED`
  if (entries.length === 0) return 0
  let head: ChainLink = chain
  const links = entries.map((entry) => ({ id: entry.id, ...(head = linkAfter(head, entry)) }))
  yield* sql`
    UPDATE audit_entries e SET seq = r.seq, hash = r.hash
    FROM ${recordset(links, { id: "bigint", seq: "bigint", hash: "text" })} WHERE e.id = r.id`
  yield* sql`
    UPDATE audit_chains c SET seq = ${head.seq}, hash = ${head.hash},
      first_at = coalesce(c.first_at, ${entries[0]!.at}::timestamptz)
    WHERE c.org_slug = ${name.org ?? ""} AND c.log = ${name.log}`
  return entries.length
})

/** Seals the final entries of all chains. */
export const sealPending = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const now = yield* DateTime.nowAsDate
  const chains = yield* sql<{ readonly org: string | null; readonly isRefusal: boolean }>`
    SELECT DISTINCT e.org_slug AS org, e.refusal IS NOT NULL AS is_refusal FROM audit_entries e
    WHERE ${finalEntries(sql, now)}`
  for (const { isRefusal, org } of chains) {
    const name: ChainName = { org: org ?? undefined, log: isRefusal ? "refusals" : "changes" }
    yield* sql.withTransaction(seal(sql, name)).pipe(Effect.repeat({ until: (count) => count < sealedAtOnce }))
  }
})

/**
 * Deletes up to 5,000 entries at the beginning of a chain that were made before `until`, and anchors the chain in the
 * last of them. Returns their number.
 */
const expireChain = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, name: ChainName, until: Date) {
  const { anchorSeq } = yield* lock(sql, name)
  const [kept] = yield* sql<{ readonly seq: number; readonly at: Date }>`
    SELECT e.seq::float8 AS seq, e.at FROM audit_entries e
    WHERE ${entriesOf(sql, name)} AND e.seq IS NOT NULL
      AND (e.at >= ${until}::timestamptz OR e.seq > ${anchorSeq + expiredAtOnce})
    ORDER BY e.seq LIMIT 1`
  const gone = yield* sql<ChainLink>`
    DELETE FROM audit_entries e WHERE ${entriesOf(sql, name)} AND e.seq < ${kept?.seq ?? Number.MAX_SAFE_INTEGER}
    RETURNING e.seq::float8 AS seq, e.hash`
  const last = gone.reduce<ChainLink | undefined>((a, b) => a === undefined || b.seq > a.seq ? b : a, undefined)
  yield* sql`
    UPDATE audit_chains c SET first_at = ${kept?.at ?? null}::timestamptz,
      anchor_seq = coalesce(${last?.seq ?? null}::bigint, c.anchor_seq),
      anchor_hash = coalesce(${last?.hash ?? null}::text, c.anchor_hash)
    WHERE c.org_slug = ${name.org ?? ""} AND c.log = ${name.log}`
  return gone.length
})

/** Deletes the entries of all chains of `log` that were made before `until`. Returns their number. */
export const expire = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, log: AuditLog, until: Date) {
  yield* sealPending(sql)
  let removed = 0
  const chains = yield* sql<{ readonly org: string }>`
    SELECT c.org_slug AS org FROM audit_chains c WHERE c.log = ${log} AND c.first_at < ${until}::timestamptz`
  for (const { org } of chains) {
    const name: ChainName = { org: org === "" ? undefined : org, log }
    yield* sql.withTransaction(expireChain(sql, name, until)).pipe(
      Effect.tap((count) => Effect.sync(() => removed += count)),
      Effect.repeat({ until: (count) => count < expiredAtOnce }),
    )
  }
  return removed
})

/** A sealed entry with its line. */
export interface SealedEntry extends SealedContent, ChainLink {
  readonly previous: string
  readonly line: string
}

/** Reads the chains of audit logs, and seals entries that were not final when they were written. */
export class AuditChain extends Context.Service<AuditChain, {
  /** Returns the ends of a chain. */
  readonly ends: (name: ChainName) => Effect.Effect<ChainEnds>
  /** Returns up to `limit` sealed entries of a chain after number `after`, oldest first. */
  readonly page: (name: ChainName, after: number, limit: number) => Effect.Effect<ReadonlyArray<SealedEntry>>
  /** Seals the final entries of all chains. Fails with `SqlError` if the database does not respond. */
  readonly sealPending: Effect.Effect<void, SqlError>
}>()("parlance/accounts/AuditChain") {
  static readonly layer = Layer.effect(
    AuditChain,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const ends = Effect.fn("AuditChain.ends")(function* ({ log, org = "" }: ChainName) {
        const [row] = yield* Effect.orDie(sql<ChainLink & { readonly anchorSeq: number; readonly anchorHash: string }>`
          SELECT c.seq::float8 AS seq, c.hash, c.anchor_seq::float8 AS anchor_seq, c.anchor_hash
          FROM audit_chains c WHERE c.org_slug = ${org} AND c.log = ${log}`)
        return row === undefined ? { anchor: chainStart, head: chainStart } : {
          anchor: { seq: row.anchorSeq, hash: row.anchorHash },
          head: { seq: row.seq, hash: row.hash },
        }
      })

      const page = Effect.fn("AuditChain.page")(function* (name: ChainName, after: number, limit: number) {
        // Begins with the entry before the page, whose hash the first entry continues.
        const rows = yield* Effect.orDie(sql<SealedContent & ChainLink>`
          SELECT ${contentColumns(sql)}, e.seq::float8 AS seq, e.hash FROM audit_entries e
          WHERE ${entriesOf(sql, name)} AND e.seq >= ${after > 0 ? after : lowestSeq} ORDER BY e.seq LIMIT ${
          limit + 1
        }`)
        const before = after > 0 && rows[0]?.seq === after ? rows[0] : undefined
        let previous: ChainLink = before ?? (yield* ends(name)).anchor
        return (before === undefined ? rows.slice(0, limit) : rows.slice(1)).map((row): SealedEntry => {
          const place = { seq: row.seq - 1, hash: previous.hash }
          previous = row
          return { ...row, previous: place.hash, line: lineOf(place, row, row.hash) }
        })
      })

      return AuditChain.of({ ends, page, sealPending: sealPending(sql) })
    }),
  )

  /** Seals periodically. */
  static readonly layerRunning = Layer.effectDiscard(
    Effect.flatMap(AuditChain, ({ sealPending }) =>
      sealPending.pipe(
        Effect.catch((error) => Effect.logDebug("Entries of the audit log were not sealed", error.message)),
        Effect.repeat(Schedule.spaced("30 seconds")),
        Effect.forkScoped,
      )),
  )
}
