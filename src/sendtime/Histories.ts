import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { profileOfUser, profilesOfEmail } from "../profiles/ProfileRows.ts"
import { lockHistories } from "../journal/events/EventLock.ts"
import type { ZoneReport } from "../journal/Projection.ts"
import { SeededMap } from "../json/SeededMap.ts"
import { recordset } from "../store/Recordset.ts"
import { ianaZone } from "../domain/ZoneNames.ts"
import { type Coded, digest } from "./Touch.ts"

// Storage of touches: one row per person, so that a first request for a person costs one look-up.

/** Maximum number of touches stored for one person. The latest are kept. */
const kept = 200

/** Number of rows per organization for the touches of decisions without a user. */
const anonymousRows = 4096

/** The owner of a row of touches. */
export interface Holder {
  readonly org: string
  readonly kind: "user" | "anonymous"
  readonly person: string
}

/** Returns the owner of a decision's touch. */
export const holderOf = (org: string, user: string | undefined, trackingId: string): Holder =>
  user === undefined
    ? { org, kind: "anonymous", person: String(digest(trackingId) % anonymousRows) }
    : { org, kind: "user", person: user }

/** Converts codes of touches to bytes, and back. */
export const toBytes = (codes: Float64Array): Uint8Array =>
  new Uint8Array(codes.buffer, codes.byteOffset, codes.byteLength)
/** Converts bytes to codes of touches. Ignores an incomplete code at the end. */
export const fromBytes = (bytes: Uint8Array): Float64Array =>
  new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength - bytes.byteLength % 8))

const none = new Float64Array(0)

/** Whether two histories contain equal touches. */
export const isEqual = (a: Float64Array, b: Float64Array): boolean =>
  a.length === b.length && a.every((code, i) => code === b[i])

/** Applies changes to a history: removes and adds touches, each at most once, sorts, and keeps the latest 200. */
export const changed = (
  codes: Iterable<number>,
  remove: ReadonlyArray<number>,
  add: ReadonlyArray<number>,
): Float64Array => {
  const all = new Set(codes)
  for (const code of remove) all.delete(code)
  for (const code of add) all.add(code)
  const sorted = Float64Array.from(all).sort()
  return sorted.length <= kept ? sorted : sorted.slice(sorted.length - kept)
}

/** Changes that the events of one decision make to a person's history. */
export interface TouchChange {
  readonly holder: Holder
  readonly remove: Coded | undefined
  readonly add: Coded | undefined
  /** Whether the touch to remove was added before. If not, adds `add` even if it equals `remove`. */
  readonly known: boolean
}

const keyOf = ({ kind, org, person }: Holder) => `${org}\0${kind}\0${person}`

const write = (
  sql: SqlClient.SqlClient,
  histories: ReadonlyArray<readonly [holder: Holder, codes: Float64Array]>,
) => {
  const rows = histories.map(([{ kind, org, person }, codes]) => ({
    org_slug: org,
    kind,
    person,
    spot: digest(`${kind}\0${person}`),
    touches: Buffer.from(toBytes(codes)).toString("base64"),
  }))
  return sql`
    INSERT INTO send_times (org_slug, kind, person, spot, touches)
    SELECT r.org_slug, r.kind, r.person, r.spot, decode(r.touches, 'base64')
    FROM ${recordset(rows, { org_slug: "text", kind: "text", person: "text", spot: "bigint", touches: "text" })}
    ON CONFLICT (org_slug, kind, person) DO UPDATE SET touches = EXCLUDED.touches`
}

interface Row {
  readonly place: number
  readonly touches: Uint8Array
}

/** Reads the histories of holders, by their indexes. Holders without a history are left out. */
const read = (sql: SqlClient.SqlClient, holders: ReadonlyArray<Holder>) => {
  const rows = holders.map(({ kind, org, person }, place) => ({ place, org_slug: org, kind, person }))
  return sql<Row>`
    SELECT r.place, s.touches
    FROM ${recordset(rows, { place: "int", org_slug: "text", kind: "text", person: "text" })}
    CROSS JOIN LATERAL (
      SELECT * FROM send_times s WHERE s.org_slug = r.org_slug AND s.kind = r.kind AND s.person = r.person
      ORDER BY s.org_slug, s.kind, s.person LIMIT 1) s`.withoutTransform
}

/**
 * Updates histories, inside a transaction that holds the locks of the users (see `lockPeople`), because each row is
 * read, changed and written. Locks the rows that decisions without a user share. Idempotent: an existing touch is not
 * added again, and a missing touch is not an error.
 */
export const applyTouches = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  changes: ReadonlyArray<TouchChange>,
): Effect.fn.Return<void, SqlError> {
  const byHolder = new SeededMap<string, { readonly holder: Holder; remove: Array<number>; add: Array<number> }>()
  for (const { add, holder, known, remove } of changes) {
    if (add?.code === remove?.code && (known || add === undefined)) continue
    const key = keyOf(holder)
    let entry = byHolder.get(key)
    if (entry === undefined) byHolder.set(key, entry = { holder, remove: [], add: [] })
    if (remove !== undefined) entry.remove.push(remove.code, remove.hourly)
    if (add !== undefined) {
      entry.remove.push(add.hourly)
      entry.add.push(add.code)
    }
  }
  if (byHolder.size === 0) return
  const entries = [...byHolder.values()]
  const shared = entries.flatMap(({ holder: { kind, org, person } }) => kind === "user" ? [] : [`${org} ${person}`])
  yield* lockHistories(sql, shared)
  const known = new Map(
    (yield* read(sql, entries.map(({ holder }) => holder))).map(({ place, touches }) => [place, fromBytes(touches)]),
  )
  const differing = entries.flatMap(({ add, holder, remove }, place) => {
    const before = known.get(place) ?? none
    const after = changed(before, remove, add)
    return isEqual(before, after) ? [] : [[holder, after] as const]
  })
  if (differing.length > 0) yield* write(sql, differing)
})

/**
 * Stores time zones named by events: for each person the IANA name of the latest valid time zone. Runs inside the transaction of
 * the events.
 */
export const applyZones = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  reports: ReadonlyArray<ZoneReport>,
): Effect.fn.Return<void, SqlError> {
  const latest = new SeededMap<string, ZoneReport>()
  for (const report of reports) {
    const key = `${report.org}\0${report.person}`
    const known = latest.get(key)
    const zone = ianaZone(report.zone)
    if (zone !== undefined && (known === undefined || known.occurredAt <= report.occurredAt)) {
      latest.set(key, { ...report, zone })
    }
  }
  if (latest.size === 0) return
  const rows = [...latest.values()].map(({ org, person, zone }) => ({
    org_slug: org,
    person,
    spot: digest(`user\0${person}`),
    zone,
  }))
  // Most events repeat known data and cause no write.
  yield* sql`
    INSERT INTO send_times AS s (org_slug, kind, person, spot, touches, zone)
    SELECT r.org_slug, 'user', r.person, r.spot, '', r.zone
    FROM ${recordset(rows, { org_slug: "text", person: "text", spot: "bigint", zone: "text" })}
    LEFT JOIN LATERAL (
      SELECT k.zone FROM send_times k WHERE k.org_slug = r.org_slug AND k.kind = 'user' AND k.person = r.person
      ORDER BY k.org_slug, k.kind, k.person LIMIT 1) k ON true
    WHERE k.zone IS DISTINCT FROM r.zone
    ON CONFLICT (org_slug, kind, person) DO UPDATE SET zone = EXCLUDED.zone`
})

/** Replaces stored histories. An empty history deletes the row. */
export const replaceHistories = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  histories: ReadonlyArray<readonly [holder: Holder, codes: Float64Array]>,
): Effect.fn.Return<void, SqlError> {
  const full = histories.filter(([, codes]) => codes.length > 0)
  const empty = histories.filter(([, codes]) => codes.length === 0).map(([{ kind, org, person }]) => ({
    org_slug: org,
    kind,
    person,
  }))
  if (full.length > 0) yield* write(sql, full)
  if (empty.length > 0) {
    yield* sql`
      DELETE FROM send_times s
      USING ${recordset(empty, { org_slug: "text", kind: "text", person: "text" })}
      WHERE s.org_slug = r.org_slug AND s.kind = r.kind AND s.person = r.person AND s.zone IS NULL`
    yield* sql`
      UPDATE send_times s SET touches = ''
      FROM ${recordset(empty, { org_slug: "text", kind: "text", person: "text" })}
      WHERE s.org_slug = r.org_slug AND s.kind = r.kind AND s.person = r.person`
  }
})

/** The person for whom a send time is requested. */
export interface PersonQuery {
  readonly org: string
  readonly user: string | undefined
  readonly email: string | undefined
}

/** The data about a person. */
export interface PersonHistory {
  /** The person's own time zone. Undefined if unknown. */
  readonly zone: string | undefined
  /** All touches under all identifiers of the person. */
  readonly codes: Float64Array
}

/** Traits that may contain a time zone. The first one set takes precedence, then the zone named by events. */
const zoneTraits = ["timezone", "time_zone", "tz", "timeZone"]
const zonesOf = (sql: SqlClient.SqlClient, alias: string) =>
  sql.literal(`ARRAY[${zoneTraits.map((name) => `${alias}.traits ->> '${name}'`).join(", ")}]`)

const zoneOf = (zones: ReadonlyArray<string | null> | null): string | undefined =>
  zones?.map((zone) => zone === null ? undefined : ianaZone(zone)).find((zone) => zone !== undefined)

const joined = (a: Uint8Array | null, b: Uint8Array | null): Float64Array => {
  if (b === null) return a === null ? none : fromBytes(a)
  return a === null ? fromBytes(b) : changed(fromBytes(a), [], Array.from(fromBytes(b)))
}

/**
 * Reads the data about each person in `queries`, in their order, with one statement. A user id takes precedence over an
 * e-mail address. The profile names the person's other identifier, whose data counts too.
 */
export const readPeople = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  queries: ReadonlyArray<PersonQuery>,
): Effect.fn.Return<ReadonlyArray<PersonHistory>, SqlError> {
  const wanted = queries.map(({ email, org, user }, place) => ({
    place,
    org_slug: org,
    user_id: user ?? null,
    email: email ?? null,
  }))
  interface Found {
    readonly place: number
    readonly zones: ReadonlyArray<string | null> | null
    readonly first: Uint8Array | null
    readonly second: Uint8Array | null
  }
  const rows = yield* sql<Found>`
    SELECT n.place, n.zones || ARRAY[a.zone, b.zone] AS zones, a.touches AS first, b.touches AS second
    FROM (
      SELECT r.place, r.org_slug, coalesce(r.user_id, m.user_id) AS user_id, coalesce(u.email, m.email, r.email) AS email,
        CASE WHEN r.user_id IS NULL THEN ${zonesOf(sql, "m")} ELSE ${zonesOf(sql, "u")} END AS zones
      FROM ${recordset(wanted, { place: "int", org_slug: "text", user_id: "text", email: "text" })}
      LEFT JOIN LATERAL (
        ${profileOfUser(sql, sql`r.org_slug`, "r.user_id")}) u ON r.user_id IS NOT NULL
      LEFT JOIN LATERAL (
        ${profilesOfEmail(sql, "r.org_slug", "r.email", 1)}) m ON r.user_id IS NULL
    ) n
    LEFT JOIN LATERAL (
      SELECT s.touches, s.zone FROM send_times s
      WHERE s.org_slug = n.org_slug AND s.kind = 'user' AND s.person = n.user_id
      ORDER BY s.org_slug, s.kind, s.person LIMIT 1) a ON n.user_id IS NOT NULL
    LEFT JOIN LATERAL (
      SELECT s.touches, s.zone FROM send_times s
      WHERE s.org_slug = n.org_slug AND s.kind = 'user' AND s.person = n.email
      ORDER BY s.org_slug, s.kind, s.person LIMIT 1) b ON n.email IS NOT NULL`
  const people = queries.map((): PersonHistory => ({ zone: undefined, codes: none }))
  for (const { first, place, second, zones } of rows) {
    people[place] = { zone: zoneOf(zones), codes: joined(first, second) }
  }
  return people
})

/** One row of the sample. */
export interface Sampled {
  readonly zone: string | undefined
  readonly codes: Float64Array
}

/** Reads a page of an organization's people in the order of their digests, which is a random order. */
export const readSample = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  after: number,
  limit: number,
): Effect.fn.Return<{ readonly people: ReadonlyArray<Sampled>; readonly last: number | undefined }, SqlError> {
  const rows = yield* sql<
    { readonly spot: number; readonly touches: Uint8Array; readonly zones: ReadonlyArray<string | null> | null }
  >`
    SELECT s.spot::float8 AS spot, s.touches, ${zonesOf(sql, "p")} || ARRAY[s.zone] AS zones
    FROM (
      SELECT * FROM send_times s WHERE s.org_slug = ${org} AND s.spot > ${after} ORDER BY s.spot LIMIT ${limit}
    ) s
    LEFT JOIN LATERAL (
      ${profileOfUser(sql, sql`s.org_slug`, "s.person")}) p ON s.kind = 'user'
    ORDER BY s.spot`
  return {
    people: rows.map(({ touches, zones }) => ({ zone: zoneOf(zones), codes: fromBytes(touches) })),
    last: rows.length < limit ? undefined : rows[rows.length - 1]!.spot,
  }
})
