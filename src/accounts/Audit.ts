import { Context, DateTime, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type Actor, nameOf } from "./Actor.ts"
import { policy } from "./Policy.ts"

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
})
export type AuditEntry = typeof AuditEntry.Type

/** What the handler of a request read as its body, for the audit log. */
export class AuditNote extends Context.Service<AuditNote, { body: unknown }>()("parlance/accounts/AuditNote") {}

/** Keeps the body of the management request that is being handled; does nothing elsewhere. */
export const note = (body: unknown): Effect.Effect<void> =>
  Effect.contextWith((context) => {
    const holder = Context.getOption(context as Context.Context<AuditNote>, AuditNote)
    if (holder._tag === "Some") holder.value.body = body
    return Effect.void
  })

const secretName = /secret|password|token|credential|key|authorization|dsn|_url$|^url$/i
const maxText = 300
const maxMembers = 40

/** A copy that is fit to be kept: secrets by name blanked, texts and lists cut. */
const fit = (value: unknown, depth = 0): unknown => {
  if (typeof value === "string") return value.length > maxText ? `${value.slice(0, maxText)}…` : value
  if (value === null || typeof value !== "object") return value
  if (depth >= 5) return "…"
  if (Array.isArray(value)) return value.slice(0, maxMembers).map((one) => fit(one, depth + 1))
  return Object.fromEntries(
    Object.entries(value).slice(0, maxMembers).map(([name, one]) => [
      name.slice(0, 100),
      secretName.test(name) ? "•••" : fit(one, depth + 1),
    ]),
  )
}

const storable = (text: string) => text.toWellFormed().replaceAll("\0", "\ufffd")

// Postgres takes neither NUL nor lone surrogates, not even escaped ones in JSON that is read later.
const clean = (json: string): string => json.replace(/\\u0000|\\ud[89a-f][0-9a-f]{2}/gi, "\ufffd")

/** A change that was made. */
export interface Change {
  readonly actor: Actor
  /** Name of the endpoint; one that the policy calls no action is not recorded. */
  readonly endpoint: string
  readonly params: Readonly<Record<string, string | undefined>>
  readonly body: unknown
}

/** Who changed what. Recorded after a change has succeeded, whichever way it came in. */
export class Audit extends Context.Service<Audit, {
  /** Never fails: a store that is away is told to the log. */
  readonly record: (change: Change) => Effect.Effect<void>
  /** Entries of an organization, newest first, older than `before`. */
  readonly list: (
    org: string,
    page: { readonly before?: number | undefined; readonly limit: number },
  ) => Effect.Effect<ReadonlyArray<AuditEntry>>
}>()("parlance/accounts/Audit") {
  static readonly layer = Layer.effect(
    Audit,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const record = Effect.fn("Audit.record")(function* ({ actor, body, endpoint, params }: Change) {
        const rule = policy[endpoint]
        // What the policy does not know is recorded by its name: nothing that changes something goes unseen.
        const action = rule === undefined ? endpoint : rule.action
        if (action === undefined) return
        const asked = body !== null && typeof body === "object" && !Array.isArray(body)
          ? body as Readonly<Record<string, unknown>>
          : {}
        const details = rule?.isPrivate === true ? {} : fit(asked) as Readonly<Record<string, unknown>>
        const { org, ...rest } = params
        const named = Object.values(rest).filter((value) => value !== undefined).join(" / ")
        const subject = named !== "" || rule?.isPrivate === true
          ? named
          : String(asked["slug"] ?? asked["id"] ?? asked["email"] ?? asked["name"] ?? "")
        const slug = org ?? (endpoint === "createOrganization" ? String(asked["slug"]) : undefined)
        const now = yield* DateTime.nowAsDate
        yield* sql`
          INSERT INTO audit_entries (org_slug, at, actor, actor_id, action, subject, details)
          VALUES (${slug === undefined ? null : storable(slug)}, ${now}, ${nameOf(actor)},
            ${actor.kind === "session" ? actor.session.account.id : null}, ${action},
            ${storable(subject.slice(0, 400))}, ${clean(JSON.stringify(details))}::text::json)`.pipe(
          Effect.catch((error) => Effect.logError(`The audit log did not take "${action}"`, error.message)),
        )
      })

      const list = Effect.fn("Audit.list")(function* (
        org: string,
        { before, limit }: { readonly before?: number | undefined; readonly limit: number },
      ) {
        const rows = yield* Effect.orDie(sql<Omit<AuditEntry, "at"> & { readonly at: Date }>`
          SELECT e.id::float8 AS id, e.at, e.actor, e.action, e.subject, e.details FROM audit_entries e
          WHERE e.org_slug = ${org} AND e.id < ${before ?? Number.MAX_SAFE_INTEGER}::bigint
          ORDER BY e.id DESC LIMIT ${limit}`)
        return rows.map((row) => ({ ...row, at: row.at.toISOString() }))
      })

      return Audit.of({ record, list })
    }),
  )
}
