import { Clock, Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { organizationPeople } from "../OrganizationPeople.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { asJob } from "../../telemetry/LoopWork.ts"
import { kindWords, type MailMode, type NotificationEvent, type NotificationKind, notificationKinds } from "./Kinds.ts"

/** Time for which notifications are kept. Unit: days. */
export const keptDays = 90

/** A notification of one person. */
export type Notification = NotificationEvent & {
  readonly id: number
  readonly createdAt: Date
  /** Null if unread. */
  readonly readAt: Date | null
}

/** Selects notifications that match every member. */
export interface NotificationFilter {
  readonly kind?: NotificationKind | undefined
  readonly unread?: boolean | undefined
}

/** A page of up to `limit` notifications with ids below `cursor`. */
interface NotificationPage extends NotificationFilter {
  readonly cursor?: number | undefined
  readonly limit: number
}

/** Notifications of one person in one organization that are not mailed yet. */
export interface MailGroup {
  readonly orgSlug: OrgSlug
  readonly accountId: string
  readonly mail: Exclude<MailMode, "off">
  /** Time at which the first of them was stored. */
  readonly since: Date
}

/** Number up to which unread notifications are counted. */
export const countedUnread = 100

/** Maximum number of groups of notifications to mail that are processed together. */
const groupsAtOnce = 200

/** Mode of mail for each kind. */
export type MailPreferences = { readonly [kind in NotificationKind]: MailMode }

/** Returns all preferences of a member, given the chosen ones. */
const preferencesOf = (chosen: Partial<MailPreferences>): MailPreferences =>
  Object.fromEntries(
    notificationKinds.map((kind) => [kind, chosen[kind] ?? kindWords[kind].mail]),
  ) as MailPreferences

/** The condition of the notifications of an account that a filter selects. */
const matching = (sql: SqlClient.SqlClient, org: OrgSlug, account: string, { kind, unread }: NotificationFilter) =>
  sql.and([
    sql`n.account_id = ${account} AND n.org_slug = ${org}`,
    ...(kind === undefined ? [] : [sql`n.kind = ${kind}`]),
    ...(unread === true ? [sql`n.read_at IS NULL`] : []),
  ])

/** The condition that an account may see an organization. */
const maySee = (sql: SqlClient.SqlClient, org: string, account: string) =>
  sql`EXISTS (
    SELECT 1 FROM ${sql.literal(organizationPeople)} WHERE p.org_slug = ${org} AND p.account_id = ${account})`

/** Deletes old notifications, and rows of people who may no longer see the organization. */
const prune = Effect.fn("Notifications.prune")(function* (sql: SqlClient.SqlClient) {
  const now = yield* Clock.currentTimeMillis
  yield* sql`DELETE FROM notifications n WHERE n.created_at < ${new Date(now - keptDays * 86_400_000)}`
  yield* sql`
    DELETE FROM notifications n WHERE NOT EXISTS (
      SELECT 1 FROM ${sql.literal(organizationPeople)} WHERE p.org_slug = n.org_slug AND p.account_id = n.account_id)`
  yield* sql`
    DELETE FROM notification_preferences f WHERE NOT EXISTS (
      SELECT 1 FROM ${sql.literal(organizationPeople)} WHERE p.org_slug = f.org_slug AND p.account_id = f.account_id)`
})

/**
 * Notifications of people in an organization, by the id of their account. A broken store is a defect in all methods.
 */
export class Notifications extends Context.Service<Notifications, {
  /** Returns notifications, newest first. */
  readonly list: (
    org: OrgSlug,
    account: string,
    page: NotificationPage,
  ) => Effect.Effect<ReadonlyArray<Notification>>
  /** Returns the number of matching notifications. With `from`, counts only ids from this one on. */
  readonly count: (
    org: OrgSlug,
    account: string,
    filter: NotificationFilter,
    from?: number,
  ) => Effect.Effect<number>
  /** Returns the number of unread notifications, counted up to `countedUnread`. */
  readonly unread: (org: OrgSlug, account: string) => Effect.Effect<number>
  /** Marks some notifications as read, or all if `ids` is undefined. Returns how many were unread. */
  readonly read: (org: OrgSlug, account: string, ids: ReadonlyArray<number> | undefined) => Effect.Effect<number>
  readonly preferences: (org: OrgSlug, account: string) => Effect.Effect<MailPreferences>
  /** Changes some preferences. */
  readonly prefer: (
    org: OrgSlug,
    account: string,
    chosen: Partial<MailPreferences>,
  ) => Effect.Effect<MailPreferences>
  /**
   * Returns people with notifications that are not mailed yet, up to 200. Fails with `SqlError` if the database does
   * not respond.
   */
  readonly toMail: Effect.Effect<ReadonlyArray<MailGroup>, SqlError>
  /**
   * Claims the notifications of a group that are not mailed yet, newest first, so that only one node mails them. Call
   * it in the transaction that queues the mail. Empty if the person may no longer see the organization. Fails with
   * `SqlError` if the database does not respond.
   */
  readonly takeToMail: (group: MailGroup) => Effect.Effect<ReadonlyArray<Notification>, SqlError>
  /** Whether the account may see the organization. */
  readonly mayBeNotified: (org: string, account: string) => Effect.Effect<boolean>
  /**
   * Deletes notifications older than 90 days, and notifications of people who may no longer see them. Fails with
   * `SqlError` if the database does not respond.
   */
  readonly prune: Effect.Effect<void, SqlError>
}>()("parlance/accounts/notifications/Notifications") {
  static readonly layer = Layer.effect(
    Notifications,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const list = Effect.fn("Notifications.list")(
        (org: OrgSlug, account: string, { cursor, limit, ...filter }: NotificationPage) =>
          Effect.orDie(sql<Notification>`
            SELECT n.id::float8 AS id, n.kind, n.data, n.created_at, n.read_at FROM notifications n
            WHERE ${matching(sql, org, account, filter)} AND n.id < ${cursor ?? Number.MAX_SAFE_INTEGER}::bigint
            ORDER BY n.id DESC LIMIT ${limit}`),
      )

      const counting = (org: OrgSlug, account: string, filter: NotificationFilter, most: number, from = 0) =>
        Effect.map(
          Effect.orDie(sql<{ count: number }>`
            SELECT count(*)::int AS count FROM (
              SELECT FROM notifications n WHERE ${
            matching(sql, org, account, filter)
          } AND n.id >= ${from}::bigint LIMIT ${most}) n`),
          ([row]) => row!.count,
        )

      const read = Effect.fn("Notifications.read")(
        function* (org: OrgSlug, account: string, ids: ReadonlyArray<number> | undefined) {
          const now = new Date(yield* Clock.currentTimeMillis)
          const some = ids === undefined ? sql`TRUE` : sql`n.id = ANY(${[...ids]}::bigint[])`
          // A mail that is not queued yet is no longer needed.
          const rows = yield* Effect.orDie(sql`
            UPDATE notifications n SET read_at = ${now}::timestamptz, mail = NULL
            WHERE ${matching(sql, org, account, { unread: true })} AND ${some} RETURNING n.id`)
          return rows.length
        },
      )

      const preferences = Effect.fn("Notifications.preferences")((org: OrgSlug, account: string) =>
        Effect.map(
          Effect.orDie(sql<{ mail: Partial<MailPreferences> }>`
            SELECT f.mail FROM notification_preferences f WHERE f.org_slug = ${org} AND f.account_id = ${account}`),
          ([row]) => preferencesOf(row?.mail ?? {}),
        )
      )

      const prefer = Effect.fn("Notifications.prefer")(
        function* (org: OrgSlug, account: string, chosen: Partial<MailPreferences>) {
          const now = new Date(yield* Clock.currentTimeMillis)
          yield* Effect.orDie(sql`
            INSERT INTO notification_preferences AS f (org_slug, account_id, mail, updated_at)
            VALUES (${org}, ${account}, ${JSON.stringify(chosen)}::text::json, ${now}::timestamptz)
            ON CONFLICT (org_slug, account_id) DO UPDATE SET mail = (f.mail::jsonb || EXCLUDED.mail::jsonb)::json,
              updated_at = EXCLUDED.updated_at`)
          return yield* preferences(org, account)
        },
      )

      const toMail = sql<MailGroup>`
        SELECT n.org_slug, n.account_id, n.mail, min(n.created_at) AS since FROM notifications n WHERE n.mail IS NOT NULL
        GROUP BY n.org_slug, n.account_id, n.mail ORDER BY since LIMIT ${groupsAtOnce}`

      const takeToMail = Effect.fn("Notifications.takeToMail")(
        function* ({ accountId, mail, orgSlug: org }: MailGroup) {
          const rows = yield* sql<Notification & { readonly isSeen: boolean }>`
          UPDATE notifications n SET mail = NULL
          WHERE n.org_slug = ${org} AND n.account_id = ${accountId} AND n.mail = ${mail}
          RETURNING n.id::float8 AS id, n.kind, n.data, n.created_at, n.read_at, ${
            maySee(sql, org, accountId)
          } AS is_seen`
          return rows.filter(({ isSeen }) => isSeen).sort((a, b) => b.id - a.id)
        },
      )

      const mayBeNotified = Effect.fn("Notifications.mayBeNotified")((org: string, account: string) =>
        Effect.map(
          Effect.orDie(sql<{ may: boolean }>`SELECT ${maySee(sql, org, account)} AS may`),
          ([row]) => row!.may,
        )
      )

      return Notifications.of({
        list,
        count: (org, account, filter, from) => counting(org, account, filter, 1_000_000, from),
        unread: (org, account) => counting(org, account, { unread: true }, countedUnread),
        read,
        preferences,
        prefer,
        toMail,
        takeToMail,
        mayBeNotified,
        prune: prune(sql),
      })
    }),
  )

  /** Deletes old notifications, on every node. */
  static readonly layerRunning = Layer.effectDiscard(
    Effect.flatMap(Notifications, ({ prune }) =>
      prune.pipe(
        asJob("old notifications"),
        Effect.catchCause((cause) => Effect.logDebug("Old notifications could not be deleted", cause)),
        Effect.repeat(Schedule.spaced("10 minutes")),
        Effect.forkScoped,
      )),
  )
}
