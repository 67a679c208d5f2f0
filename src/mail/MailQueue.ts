import { Context, Effect, Layer, Option, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { randomUUID } from "node:crypto"
import { SecretBox, type SecretFileFaulty, type SecretUnreadable } from "../store/SecretBox.ts"
import type { SealedColumn } from "../store/SecretKeys.ts"
import { Settings } from "../settings/Settings.ts"
import type { Letter } from "./Letters.ts"
import * as Json from "../json/Json.ts"

/** The kind of a mail. The link of a `forgotten` mail is created when it is sent. */
type MailKind = "invitation" | "password" | "passkey" | "forgotten" | "notification" | "report"
/** Kinds of mails of the service itself. */
export const mailKinds: ReadonlyArray<MailKind> = [
  "invitation",
  "password",
  "passkey",
  "forgotten",
  "notification",
  "report",
]

/** Duration of the lease of a mail. Unit: seconds. */
const leaseSeconds = 120

/** How long given-up mails are counted. Unit: days. */
const failedDays = 7

/** A mail to send. */
export interface DueMail {
  readonly id: string
  readonly kind: MailKind
  readonly recipient: string
  readonly content: string | null
  readonly createdAt: Date
  /** Number of earlier attempts. */
  readonly attempts: number
  /** Time since it was queued. Unit: milliseconds. */
  readonly ageMillis: number
}

/** Numbers of queued mails, and of mails that were given up in the last seven days. */
export interface MailBacklog {
  readonly pending: number
  readonly failed: number
  /** Age of the oldest queued mail; 0 without queued mails. Unit: seconds. */
  readonly oldestSeconds: number
  /** Why the last attempt of the oldest mail failed. */
  readonly reason: string | null
}

const decodeLetter = Schema.decodeUnknownSync(Schema.Struct({
  subject: Schema.String,
  text: Schema.String,
  html: Schema.String,
  unsubscribe: Schema.optionalKey(Schema.String),
}))

/** Counts mails. Fails with `SqlError` if the database does not respond. */
export const mailBacklog = (sql: SqlClient.SqlClient): Effect.Effect<MailBacklog, SqlError> =>
  Effect.map(
    sql<MailBacklog>`
      SELECT count(*) FILTER (WHERE m.state = 'pending')::int AS pending,
        count(*) FILTER (WHERE m.state = 'failed')::int AS failed,
        coalesce(extract(epoch FROM now() - min(m.created_at) FILTER (WHERE m.state = 'pending')), 0)::float8
          AS oldest_seconds,
        (array_agg(m.reason ORDER BY m.created_at) FILTER (WHERE m.reason IS NOT NULL))[1] AS reason
      FROM service_mails m`,
    ([row]) => row!,
  )

const purposeOf = (id: string) => `service mail ${id}`

/** Contents of queued service mails. */
export const sealedMails: SealedColumn = {
  table: "service_mails",
  column: "content",
  type: "text",
  key: ["id"],
  purposeOf: ([id]) => purposeOf(id!),
}

/**
 * The queue of the service's own mails. They are stored encrypted, because they contain links with tokens. A node
 * leases the mails that it sends. If the node dies, another node sends the mail after the lease has expired, with an
 * equal Message-ID.
 */
export class MailQueue extends Context.Service<MailQueue, {
  /** Whether a mail server is configured. */
  readonly isOn: boolean
  /** Returns a URL of the console, below `PUBLIC_URL`. */
  readonly urlOf: (path: string) => string
  /**
   * Stores a mail. Call this in the transaction that causes it. Stores nothing without a mail server or if the mail
   * cannot be encrypted. Fails with `SqlError` if the database does not respond.
   */
  readonly queue: (kind: MailKind, to: string, letter: Letter) => Effect.Effect<void, SqlError>
  /**
   * Stores a request for a new password, regardless of whether the address has an account. Fails with `SqlError` if the
   * database does not respond.
   */
  readonly queueForgotten: (to: string) => Effect.Effect<void, SqlError>
  /** Leases up to `limit` due mails. Fails with `SqlError` if the database does not respond. */
  readonly take: (limit: number) => Effect.Effect<ReadonlyArray<DueMail>, SqlError>
  /**
   * Renews the lease of a mail. Call this every minute while a slow server receives it. Fails with `SqlError` if the
   * database does not respond.
   */
  readonly keep: (id: string) => Effect.Effect<void, SqlError>
  /**
   * Decrypts a mail. Fails with `SecretUnreadable` without its key, and with `SecretFileFaulty` if the key file is
   * damaged.
   */
  readonly open: (id: string, content: string) => Effect.Effect<Letter, SecretUnreadable | SecretFileFaulty>
  /** Deletes a mail after it was sent. Fails with `SqlError` if the database does not respond. */
  readonly sent: (id: string) => Effect.Effect<void, SqlError>
  /** Queues a mail for another attempt. Fails with `SqlError` if the database does not respond. */
  readonly again: (id: string, delayMillis: number, reason: string) => Effect.Effect<void, SqlError>
  /** Gives up a mail and deletes its recipient and content. Fails with `SqlError` if the database does not respond. */
  readonly giveUp: (id: string, reason: string) => Effect.Effect<void, SqlError>
  /** Counts the mails. Fails with `SqlError` if the database does not respond. */
  readonly backlog: Effect.Effect<MailBacklog, SqlError>
  /**
   * Deletes the records of mails that were given up a week ago. Fails with `SqlError` if the database does not respond.
   */
  readonly prune: Effect.Effect<void, SqlError>
}>()("parlance/mail/MailQueue") {
  static readonly layer = Layer.effect(
    MailQueue,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const box = yield* SecretBox
      const { mail, publicUrl } = yield* Settings
      const isOn = Option.isSome(mail)
      const base = Option.match(publicUrl, { onNone: () => "", onSome: ({ href }) => href.replace(/\/$/, "") })

      const insert = (id: string, kind: MailKind, to: string, content: string | null) =>
        sql`
          INSERT INTO service_mails (id, kind, recipient, content, created_at, state, due_at)
          VALUES (${id}, ${kind}, ${to}, ${content}, now(), 'pending', now())`

      const queue = Effect.fn("MailQueue.queue")(function* (kind: MailKind, to: string, letter: Letter) {
        if (!isOn) return
        const id = randomUUID()
        const content = yield* box.seal(purposeOf(id), Redacted.make(JSON.stringify(letter))).pipe(
          Effect.catch((error) => Effect.as(Effect.logError("A mail was not queued", { kind }, error.message), null)),
        )
        if (content !== null) yield* insert(id, kind, to, content)
      })

      const take = (limit: number) =>
        sql<DueMail>`
          UPDATE service_mails m SET due_at = now() + ${leaseSeconds} * interval '1 second' FROM (
            SELECT d.id FROM service_mails d WHERE d.state = 'pending' AND d.due_at <= now()
            ORDER BY d.due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED) d
          WHERE m.id = d.id
          RETURNING m.id, m.kind, m.recipient, m.content, m.created_at, m.attempts,
            (extract(epoch FROM now() - m.created_at) * 1000)::float8 AS age_millis`

      const keep = (id: string) =>
        Effect.asVoid(sql`
          UPDATE service_mails m SET due_at = now() + ${leaseSeconds} * interval '1 second'
          WHERE m.id = ${id} AND m.state = 'pending'`)

      return MailQueue.of({
        isOn,
        urlOf: (path) => `${base}${path}`,
        queue,
        queueForgotten: (to) => Effect.asVoid(insert(randomUUID(), "forgotten", to, null)),
        take,
        keep,
        open: (id, content) =>
          Effect.map(
            box.open(purposeOf(id), content),
            (letter) => decodeLetter(Json.parseStored(Redacted.value(letter))),
          ),
        sent: (id) => Effect.asVoid(sql`DELETE FROM service_mails m WHERE m.id = ${id}`),
        again: (id, delayMillis, reason) =>
          Effect.asVoid(sql`
            UPDATE service_mails m SET attempts = m.attempts + 1, reason = ${reason},
              due_at = now() + ${delayMillis} * interval '1 millisecond' WHERE m.id = ${id} AND m.state = 'pending'`),
        giveUp: (id, reason) =>
          Effect.asVoid(sql`
            UPDATE service_mails m SET state = 'failed', attempts = m.attempts + 1, reason = ${reason}, recipient = '',
              content = NULL WHERE m.id = ${id} AND m.state = 'pending'`),
        backlog: mailBacklog(sql),
        prune: Effect.asVoid(sql`
          DELETE FROM service_mails m WHERE m.state = 'failed' AND m.created_at < now() - ${failedDays} * interval '1 day'`),
      })
    }),
  )
}
