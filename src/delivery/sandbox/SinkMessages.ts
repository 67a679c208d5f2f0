import { Clock, Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { Message } from "../Connection.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { isSandbox, liveOf, sandboxOf } from "../../domain/Sandbox.ts"
import { reportOwn } from "../../journal/inbox/ownReports.ts"
import { simulatedHeaders } from "../../domain/Source.ts"
import { ensureSandbox } from "../../organizations/Sandboxes.ts"
import { itemsOf } from "./Magic.ts"

/** Maximum number of stored messages of an organization, and of its sandbox. */
export const keptMessages = 200

/** Maximum age of a stored message. Unit: days. */
export const keptDays = 7

/** Maximum number of stored links of a message. */
const keptLinks = 100

/** A line of an e-mail's header, unfolded. */
export interface HeaderLine {
  readonly name: string
  readonly value: string
}

/** The e-mail that an SMTP connection would have sent. */
export interface SunkEmail {
  readonly sender: string
  readonly subject: string | null
  readonly html: string | null
  readonly plain: string | null
  readonly headers: ReadonlyArray<HeaderLine>
  readonly links: ReadonlyArray<string>
  /** Why the variables form no e-mail; null if an e-mail was composed. */
  readonly fault: string | null
}

/** The columns of a message in lists. */
export interface SinkSummary extends Pick<SunkEmail, "fault" | "sender" | "subject"> {
  /** Id of the delivery, which is also its tracking id. */
  readonly id: string
  readonly isTest: boolean
  readonly templateId: string
  readonly copyId: string
  readonly email: string
  readonly receivedAt: Date
}

/** A message with its content. */
export interface SinkMessage extends SinkSummary, SunkEmail {
  /** The rendered variables. */
  readonly vars: Readonly<Record<string, string>>
}

/** Messages that sinks accepted, for display: the latest 200 messages of an organization, for 7 days. */
export class SinkMessages extends Context.Service<SinkMessages, {
  /**
   * Stores a message once, even if it arrives several times, and reports the events of its magic recipient. Fails with
   * `SqlError` if the database does not respond.
   */
  readonly take: (message: Message, email: SunkEmail) => Effect.Effect<void, SqlError>
  /** The messages of an organization and of its sandbox, latest first. */
  readonly list: (org: OrgSlug) => Effect.Effect<ReadonlyArray<SinkSummary>>
  readonly get: (org: OrgSlug, id: string) => Effect.Effect<SinkMessage | undefined>
  /** Removes all messages of an organization and of its sandbox. Returns their number. */
  readonly clear: (org: OrgSlug) => Effect.Effect<number>
}>()("parlance/delivery/sandbox/SinkMessages") {
  static readonly layer = Layer.effect(
    SinkMessages,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock

      const simulate = Effect.fnUntraced(function* (message: Message, links: SunkEmail["links"], now: number) {
        const items = itemsOf({ ...message, links, isTest: isSandbox(message.org) }, now)
        if (items.length === 0) return
        yield* ensureSandbox(sql, message.org)
        yield* reportOwn(sql, {
          org: sandboxOf(message.org),
          source: "events",
          headers: simulatedHeaders,
          items,
          receivedAt: new Date(now),
        })
      })

      const insert = Effect.fnUntraced(function* (message: Message, email: SunkEmail, now: number) {
        const { fault, headers, html, links, plain, sender, subject } = email
        const inserted = yield* sql`
          INSERT INTO sink_messages (org_slug, id, template_id, copy_id, email, sender, subject, html, plain, headers, links,
            vars, fault, received_at)
          VALUES (${message.org}, ${message.id}, ${message.templateId}, ${message.copyId}, ${message.email}, ${sender},
            ${subject}, ${html}, ${plain}, ${JSON.stringify(headers)}::text::json,
            ${JSON.stringify(links.slice(0, keptLinks))}::text::json, ${JSON.stringify(message.vars)}::text::json,
            ${fault}, ${new Date(now)})
          ON CONFLICT DO NOTHING RETURNING id`
        if (inserted.length === 0) return false
        yield* sql`
          DELETE FROM sink_messages m WHERE m.org_slug = ${message.org} AND m.id IN (
            SELECT o.id FROM sink_messages o WHERE o.org_slug = ${message.org}
            ORDER BY o.received_at DESC, o.id DESC OFFSET ${keptMessages})`
        return true
      })

      const take = Effect.fn("SinkMessages.take")(function* (message: Message, email: SunkEmail) {
        const now = clock.currentTimeMillisUnsafe()
        yield* sql.withTransaction(Effect.gen(function* () {
          if (yield* insert(message, email, now)) yield* simulate(message, email.links, now)
        }))
      })

      const orgs = (org: OrgSlug) => sql`m.org_slug IN (${liveOf(org)}, ${sandboxOf(org)})`
      const summary = (org: OrgSlug) =>
        sql`m.id, m.org_slug = ${sandboxOf(org)} AS is_test, m.template_id, m.copy_id, m.email, m.sender,
          m.subject, m.fault, m.received_at`

      const list = Effect.fn("SinkMessages.list")((org: OrgSlug) =>
        Effect.orDie(sql<SinkSummary>`
          SELECT ${summary(org)} FROM sink_messages m WHERE ${orgs(org)} ORDER BY m.received_at DESC, m.id DESC`)
      )

      const get = Effect.fn("SinkMessages.get")((org: OrgSlug, id: string) =>
        Effect.orDie(Effect.map(
          sql<SinkMessage>`
            SELECT ${summary(org)}, m.html, m.plain, m.headers, m.links, m.vars FROM sink_messages m
            WHERE ${orgs(org)} AND m.id = ${id}`,
          ([row]) => row,
        ))
      )

      const clear = Effect.fn("SinkMessages.clear")((org: OrgSlug) =>
        Effect.orDie(
          Effect.map(sql`DELETE FROM sink_messages m WHERE ${orgs(org)} RETURNING m.id`, ({ length }) => length),
        )
      )

      return SinkMessages.of({ take, list, get, clear })
    }),
  )

  /** Removes messages older than `keptDays` every hour. */
  static readonly layerRunning = Layer.effectDiscard(Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`DELETE FROM sink_messages m WHERE m.received_at < now() - ${keptDays} * interval '1 day'`.pipe(
      Effect.catch((error) => Effect.logDebug("Expired sandbox messages were not removed", error.message)),
      Effect.repeat(Schedule.spaced("1 hour")),
      Effect.forkScoped,
    )
  }))
}
