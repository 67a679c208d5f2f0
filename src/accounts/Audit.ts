import { english } from "../languages/Language.ts"
import { Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { HttpServerRequest } from "effect/http"
import { SqlClient } from "effect/sql"
import { blank, soundsSecret } from "../domain/Blanked.ts"
import { Difference } from "../domain/Difference.ts"
import { isSandbox, liveOf } from "../domain/Sandbox.ts"
import type { Changed, RecordKind, Trail } from "../store/ChangeTrail.ts"
import { recordset } from "../store/Recordset.ts"
import { Store } from "../store/Store.ts"
import { type Actor, nameOf } from "./Actor.ts"
import type { Rule } from "./Access.ts"
import { seal } from "./AuditChain.ts"
import { actionOf as refusalOf, signedInAction } from "./SecurityTally.ts"

/** An entry of the audit log. */
export const AuditEntry = Schema.Struct({
  id: Schema.Int,
  at: Schema.String,
  actor: Schema.String,
  action: Schema.String,
  subject: Schema.String,
  details: Schema.Record(Schema.String, Schema.Unknown).annotate({
    description: "What was asked for, without secrets",
  }),
  changes: Schema.NullOr(Difference).annotate({
    description: "What it did to the record, field by field, without secrets; null where that is not known",
  }),
}).annotate({ identifier: "AuditEntry" })
export type AuditEntry = typeof AuditEntry.Type

/** An entry with its network address, which only some readers may see. */
export const AddressedEntry = Schema.Struct({
  ...AuditEntry.fields,
  address: Schema.NullOr(Schema.String).annotate({
    description: "IP address the request came from; null where there was none",
  }),
}).annotate({ identifier: "InstallationAuditEntry" })
export type AddressedEntry = typeof AddressedEntry.Type

/** Network address of the current request. Null outside of a request. */
const currentAddress: Effect.Effect<string | null> = Effect.contextWith((context) =>
  Effect.succeed(
    Context.getOption(
      context as Context.Context<HttpServerRequest.HttpServerRequest>,
      HttpServerRequest.HttpServerRequest,
    )
      .pipe(Option.flatMap(({ remoteAddress }) => remoteAddress), Option.getOrNull),
  )
)

/** The body that the handler of a request has read, for the audit log. */
export class AuditNote extends Context.Service<AuditNote, { body: unknown }>()("parlance/accounts/AuditNote") {}

/** Stores the body of the current management request for its entry. Does nothing outside of one. */
export const note = (body: unknown): Effect.Effect<void> =>
  Effect.contextWith((context) => {
    const holder = Context.getOption(context as Context.Context<AuditNote>, AuditNote)
    if (holder._tag === "Some") holder.value.body = body
    return Effect.void
  })

const nothing = Symbol("nothing")

/** Declares that the current management request changes nothing, so that it is not recorded. */
export const noteNothing: Effect.Effect<void> = note(nothing)

const maxText = 300
const maxMembers = 40

/** Maximum number of characters stored of one request, including names. */
const maxAll = 16_384

/**
 * Returns a copy for storage: secrets blanked by name, texts and lists cut, and everything after the first 16,384
 * characters left out.
 */
const fit = (value: unknown, depth = 0, room = { left: maxAll }): unknown => {
  room.left -= 4
  if (typeof value === "string") {
    const kept = Math.max(0, Math.min(maxText, room.left))
    room.left -= Math.min(kept, value.length)
    return value.length > kept ? `${value.slice(0, kept)}…` : value
  }
  if (value === null || typeof value !== "object") return value
  if (depth >= 5 || room.left <= 0) return "…"
  if (Array.isArray(value)) {
    const kept: Array<unknown> = []
    for (const one of value.slice(0, maxMembers)) {
      if (room.left <= 0) break
      kept.push(fit(one, depth + 1, room))
    }
    return kept
  }
  const kept: Array<[string, unknown]> = []
  for (const [name, one] of Object.entries(value).slice(0, maxMembers)) {
    if (room.left <= 0) break
    room.left -= Math.min(100, name.length)
    kept.push([name.slice(0, 100), soundsSecret(name) ? blank : fit(one, depth + 1, room)])
  }
  return Object.fromEntries(kept)
}

const storable = (text: string) => text.toWellFormed().replaceAll("\0", "\ufffd")

// PostgreSQL accepts neither NUL nor lone surrogates, even escaped in JSON that is read later.
const clean = (json: string): string => json.replace(/\\u0000|\\ud[89a-f][0-9a-f]{2}/gi, "\ufffd")

/** A completed change. */
interface Change {
  readonly actor: Actor
  /** Name of the endpoint. */
  readonly endpoint: string
  /**
   * The access to the endpoint. A change without an action is not recorded. Without a rule, the action is the name of
   * the endpoint.
   */
  readonly rule: Rule | undefined
  readonly params: Readonly<Record<string, string | undefined>>
  readonly body: unknown
  /** The recorded part of the changed values. */
  readonly trail?: Trail | undefined
}

/** The action of a change that awaits approval, on any endpoint. */
const proposeAction = english("change proposed")

/** The actions of changes of a record, on any endpoint. */
export const recordActions = {
  account: { created: "account created", changed: "own account changed", removed: "account removed" },
  connection: { created: "connection changed", changed: "connection changed", removed: "connection removed" },
  image: { created: "image uploaded", changed: "image uploaded", removed: "image deleted" },
  organization: {
    created: "organization created",
    changed: "organization changed",
    removed: "organization changed",
  },
  proposal: { created: proposeAction, changed: proposeAction, removed: proposeAction },
  snippet: { created: "snippet saved", changed: "snippet saved", removed: "snippet deleted" },
  source: { created: "webhook source changed", changed: "webhook source changed", removed: "webhook source removed" },
  template: { created: "template created", changed: "template changed", removed: "template deleted" },
  variant: { created: "variant created", changed: "variant changed", removed: "variant deleted" },
} as const satisfies Readonly<Record<RecordKind, Readonly<Record<Changed["what"], string>>>>

/** The actions of archiving and restoring a template. */
export const archiveActions = {
  archived: english("template archived"),
  restored: english("template restored"),
} as const

/** Returns a more specific action than the endpoint's, for a change that only archives or restores a template. */
const actionOf = (action: string, changed: Changed | undefined): string => {
  if (changed?.kind === "proposal") return proposeAction
  const [first, second] = changed?.difference.fields ?? []
  if (changed?.what !== "changed" || first?.field !== "/archived" || second !== undefined) return action
  return first.after === true ? archiveActions.archived : archiveActions.restored
}

interface NewEntry {
  readonly action: string
  readonly subject: string
  readonly details: unknown
  readonly changes: Difference | null
}

/** Selects entries that match every member. */
export interface AuditFilter {
  readonly actor?: string | undefined
  readonly action?: string | undefined
  /** The subject. A template includes its variants. */
  readonly subject?: string | undefined
  /** Bounds of the time: from `since` (inclusive) to `until` (exclusive). */
  readonly since?: Date | undefined
  readonly until?: Date | undefined
}

/** A page of up to `limit` entries with ids below `cursor`. */
export interface Page extends AuditFilter {
  readonly cursor?: number | undefined
  readonly limit: number
}

/**
 * Maximum difference between the order of entries by id and by time: entries of refusals have the start of their minute
 * and wait up to ten minutes for an unavailable store, and the clocks of nodes differ. Bounds of time become bounds of
 * ids with this margin, because the indexes by actor, action and subject are in the order of ids. Unit: milliseconds.
 */
const disorderMillis = 3_600_000

/** Maximum number of entries that are counted, because larger counts are slow. */
export const countedEntries = 10_000

/** A request to a model that returned no usable answer. */
export const notSuggestedAction = english("variants not suggested")

/** Actions by a link or an identity provider during sign-in. */
const signInActions = [
  english("account created by OpenID Connect"),
  english("account created by an invitation"),
  english("first administrator created"),
  english("groups of a person unknown"),
  english("invitation accepted"),
  english("last admin kept without a group"),
  english("link for a new password mailed"),
  english("member added by a group"),
  english("member changed by a group"),
  english("member removed by a group"),
  english("password chosen by a link"),
  english("password of unproven origin removed"),
] as const
/** An action by a link or an identity provider during sign-in. */
type SignInAction = typeof signInActions[number]

/** The names of the actions that do not belong to an endpoint. */
export const otherActions: ReadonlyArray<string> = [
  ...new Set([
    ...Object.values(refusalOf),
    ...signInActions,
    signedInAction,
    archiveActions.archived,
    archiveActions.restored,
    proposeAction,
    notSuggestedAction,
  ]),
].sort()

/** Actions outside organizations: accounts, sessions, links for passwords, and the creation of organizations. */
export const installation = Symbol("installation")

/** Selects the entries of an organization, by its slug, or of the installation. */
export type AuditScope = string | typeof installation

/** An entry as stored. */
export type EntryRow = Omit<AddressedEntry, "at"> & { readonly at: Date }

/** The columns of `audit_entries e` that form an entry. */
export const entryColumns = (sql: SqlClient.SqlClient) =>
  sql`e.id::float8 AS id, e.at, e.actor, e.action, e.subject, e.details, e.changes, e.address`

const addressedOf = (row: EntryRow): AddressedEntry => ({ ...row, at: row.at.toISOString() })

/** Returns an entry without the address, for all readers who may see the change. */
export const entryOf = (row: EntryRow): AuditEntry => {
  const { address: _, ...entry } = addressedOf(row)
  return entry
}

/** Returns the id of the first entry at a time or later. Without one, returns an id above all others. */
const firstId = (sql: SqlClient.SqlClient, scope: AuditScope, at: Date, shiftMillis: number) =>
  sql`coalesce((
    SELECT f.id FROM audit_entries f
    WHERE ${scope === installation ? sql`f.org_slug IS NULL` : sql`f.org_slug = ${scope}`}
      AND f.at >= ${new Date(at.getTime() + shiftMillis)}::timestamptz
    ORDER BY f.at LIMIT 1), ${Number.MAX_SAFE_INTEGER}::bigint)`

/** The condition of the entries that a filter selects. */
const matching = (sql: SqlClient.SqlClient, scope: AuditScope, { action, actor, since, subject, until }: AuditFilter) =>
  sql.and([
    scope === installation
      ? sql`(e.org_slug IS NULL OR e.action = 'organization created')`
      : sql`e.org_slug = ${scope}`,
    ...(actor === undefined ? [] : [sql`e.actor = ${actor}`]),
    ...(action === undefined ? [] : [sql`e.action = ${action}`]),
    ...(subject === undefined ? [] : [sql`split_part(e.subject, ' / ', 1) = ${subject}`]),
    ...(since === undefined ? [] : [sql`e.at >= ${since}::timestamptz`]),
    // The first entry of an organization can be older than all entries of the installation.
    ...(since === undefined || scope === installation
      ? []
      : [sql`e.id >= ${firstId(sql, scope, since, -disorderMillis)}`]),
    ...(until === undefined
      ? []
      : [sql`e.at < ${until}::timestamptz AND e.id < ${firstId(sql, scope, until, disorderMillis)}`]),
  ])

/** Returns the entries of a change, and the organization that they belong to. */
const entriesOf = (
  { body, endpoint, params, rule, trail }: Change,
): { readonly entries: ReadonlyArray<NewEntry>; readonly org: string | undefined } => {
  // A change without a rule is recorded too, so that no change is missed.
  const action = rule === undefined ? endpoint : rule.action
  if (action === undefined || body === nothing) return { entries: [], org: undefined }
  const input = body !== null && typeof body === "object" && !Array.isArray(body)
    ? body as Readonly<Record<string, unknown>>
    : {}
  const { org, ...rest } = params
  const named = Object.values(rest).filter((value) => value !== undefined).join(" / ")
  const details = rule?.isPrivate === true ? {} : {
    ...fit(input) as Readonly<Record<string, unknown>>,
    ...(isSandbox(org ?? "") ? { sandbox: true } : {}),
    ...(trail?.subject === undefined ? {} : { id: named }),
  }
  const asCalled = named !== "" || rule?.isPrivate === true
    ? named
    : String(input["slug"] ?? input["id"] ?? input["email"] ?? input["name"] ?? "")
  const slug = org ?? (endpoint === "createOrganization" ? String(input["slug"]) : undefined)
  const { apart, changed = [] } = trail ?? {}
  const own = apart === undefined ? changed[0] : undefined
  // An account is named by its address, unless that would disclose a private action of a person.
  const subject = trail?.subject ?? (own === undefined || rule?.isPrivate === true ? asCalled : own.subject)
  const ofRecords = (some: ReadonlyArray<Changed>, details: unknown) =>
    some.map((one): NewEntry => ({
      action: actionOf(recordActions[one.kind][one.what], one),
      subject: one.subject,
      details,
      changes: one.difference,
    }))
  const entries = rule?.isMany === true ? ofRecords(changed, {}) : [
    {
      action: actionOf(action, own),
      subject,
      details,
      changes: rule?.isPrivate === true ? null : own?.difference ?? null,
    },
    ...ofRecords(apart === undefined ? changed.slice(1) : changed, apart ?? {}),
  ]
  return { entries, org: slug === undefined ? undefined : liveOf(slug) }
}

/**
 * The audit log of changes. Records a change after it has succeeded, from the console, the API and the command line.
 */
export class Audit extends Context.Service<Audit, {
  /** Records a change. Never fails: if the store is unavailable, writes to the log. */
  readonly record: (change: Change) => Effect.Effect<void>
  /**
   * Records an action by a link or an identity provider during sign-in, for its organization if it has one. Never
   * fails.
   */
  readonly recordEntry: (
    account: { readonly id: string; readonly email: string },
    action: SignInAction,
    org?: string,
    details?: Readonly<Record<string, string>>,
  ) => Effect.Effect<void>
  /** Records an action of the holder of an API key in its organization. Never fails. */
  readonly recordOfKey: (keyId: string, action: string, org: string, details: unknown) => Effect.Effect<void>
  /** Returns entries of an organization, or of the installation, older than `cursor`, newest first. */
  readonly list: (scope: AuditScope, page: Page) => Effect.Effect<ReadonlyArray<AddressedEntry>>
  /** Returns the number of matching entries, counted up to `countedEntries`. */
  readonly count: (scope: AuditScope, filter: AuditFilter) => Effect.Effect<number>
}>()("parlance/accounts/Audit") {
  static readonly layer = Layer.effect(
    Audit,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const store = yield* Store

      const insert = Effect.fnUntraced(function* (
        { accountId, actor, org }: {
          readonly actor: string
          readonly accountId: string | undefined
          readonly org: string | undefined
        },
        entries: ReadonlyArray<NewEntry>,
      ) {
        const now = yield* DateTime.nowAsDate
        const address = yield* currentAddress
        const rows = entries.map(({ action, changes, details, subject }) => ({
          action,
          subject: storable(subject.slice(0, 400)),
          details: clean(JSON.stringify(details)),
          changes: changes === null ? null : clean(JSON.stringify(changes)),
        }))
        const slug = org === undefined ? undefined : storable(org)
        const stored = sql`
          INSERT INTO audit_entries (org_slug, at, actor, actor_id, action, subject, details, changes, address)
          SELECT ${slug ?? null}::text, ${now}::timestamptz, ${actor}::text,
            ${accountId ?? null}::text, r.action, r.subject, r.details::json,
            r.changes::json, ${address?.slice(0, 100) ?? null}::text
          FROM ${recordset(rows, { action: "text", subject: "text", details: "text", changes: "text" })}`
        yield* sql.withTransaction(Effect.andThen(stored, seal(sql, { org: slug, log: "changes" }))).pipe(
          Effect.catch((error) =>
            Effect.logError(`The entry "${entries[0]!.action}" could not be written to the audit log`, error.message)
          ),
        )
      })

      const recordEntry = Effect.fn("Audit.recordEntry")((
        { email, id }: { readonly id: string; readonly email: string },
        action: SignInAction,
        org?: string,
        details: Readonly<Record<string, string>> = {},
      ) =>
        insert({ actor: email, accountId: id, org }, [{ action, subject: email, details: fit(details), changes: null }])
      )

      const recordOfKey = Effect.fn("Audit.recordOfKey")(
        (keyId: string, action: string, org: string, details: unknown) =>
          insert({ actor: `API key ${keyId}`, accountId: undefined, org }, [
            { action, subject: "", details: fit(details), changes: null },
          ]),
      )

      const record = Effect.fn("Audit.record")(function* (change: Change) {
        const { entries, org } = entriesOf(change)
        if (entries.length === 0) return
        const { actor } = change
        const accountId = actor.kind === "session" ? actor.session.account.id : undefined
        yield* insert({ actor: nameOf(actor), accountId, org }, entries)
      })

      const list = Effect.fn("Audit.list")(function* (scope: AuditScope, { cursor, limit, ...filter }: Page) {
        const rows = yield* Effect.orDie(sql<EntryRow>`
          SELECT ${entryColumns(sql)} FROM audit_entries e
          WHERE ${matching(sql, scope, filter)} AND e.id < ${cursor ?? Number.MAX_SAFE_INTEGER}::bigint
          ORDER BY e.id DESC LIMIT ${limit}`)
        return rows.map(addressedOf)
      }, store.read)

      const count = Effect.fn("Audit.count")(function* (scope: AuditScope, filter: AuditFilter) {
        const [row] = yield* Effect.orDie(sql<{ readonly count: number }>`
          SELECT count(*)::int AS count FROM (
            SELECT 1 FROM audit_entries e WHERE ${matching(sql, scope, filter)} LIMIT ${countedEntries}
          ) e`)
        return row!.count
      }, store.read)

      return Audit.of({ record, recordEntry, recordOfKey, list, count })
    }),
  )
}
