import { Clock, Context, Duration, Effect, Layer, Random, Redacted, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"
import { Notifications } from "../accounts/notifications/Notifications.ts"
import { retryPause } from "../delivery/AttemptOutcome.ts"
import { InvalidInput, ReportNotFound, type TemplateNotFound } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import type { ReportChannel, ReportSubscription } from "../domain/ReportSubscription.ts"
import { MailQueue } from "../mail/MailQueue.ts"
import { Organizations } from "../organizations/Organizations.ts"
import { AddressGuard, requireAllowed } from "../settings/AddressGuard.ts"
import { type NoSecretKey, SecretBox, type SecretFileFaulty } from "../store/SecretBox.ts"
import { asJob } from "../telemetry/LoopWork.ts"
import { Templates } from "../templates/Templates.ts"
import { reportDueAt } from "./Digest.ts"
import { makeSending, purposeOf, type ReportKey } from "./ReportSending.ts"

/** Maximum number of reports that a node makes at a time. */
const atOnce = 5

/** How long a node may take for a report before another node makes it. Unit: milliseconds. */
const leaseMillis = 600_000

/** The pause after the first failed attempt. */
const firstPause = Duration.minutes(1)

/** Attempts until a report is left out. The last one is about four hours after the first. */
const maxAttempts = 9

/** At least this long passes between two reports, also if the time zone changes. Unit: milliseconds. */
const leastPause = 3 * 86_400_000

/** A subscription whose report is due. The node has a lease until `dueAt`. */
interface DueReport extends ReportKey {
  readonly url: string | null
  readonly attempts: number
  readonly dueAt: Date
}

/** The stored subscriptions. */
const makeSubscriptions = Effect.gen(function* () {
  const box = yield* SecretBox
  const guard = yield* AddressGuard
  const organizations = yield* Organizations
  const sql = yield* SqlClient.SqlClient
  const templates = yield* Templates

  const whichIs = ({ account, channel, org, template }: ReportKey) =>
    sql`r.org_slug = ${org} AND r.template_id = ${template} AND r.account_id = ${account} AND r.channel = ${channel}`

  const rows = (where: Fragment) =>
    sql<{
      templateId: string
      channel: ReportChannel
      createdAt: Date
      dueAt: Date
      sentAt: Date | null
      failure: string | null
    }>`
      SELECT r.template_id, r.channel, r.created_at, r.due_at, r.sent_at, r.failure FROM report_subscriptions r
      WHERE ${where} ORDER BY r.template_id, r.channel`.pipe(
      Effect.orDie,
      Effect.map((found) =>
        found.map(({ channel, createdAt, dueAt, failure, sentAt, templateId }): ReportSubscription => ({
          template_id: templateId,
          channel,
          created_at: createdAt.toISOString(),
          due_at: dueAt.toISOString(),
          sent_at: sentAt?.toISOString() ?? null,
          failure,
        }))
      ),
    )

  const list = (org: OrgSlug, account: string, template?: string) =>
    rows(
      template === undefined
        ? sql`r.org_slug = ${org} AND r.account_id = ${account}`
        : sql`r.org_slug = ${org} AND r.account_id = ${account} AND r.template_id = ${template}`,
    )

  const subscribe = Effect.fn("WeeklyReports.subscribe")(function* (key: ReportKey, url: string | undefined) {
    if ((key.channel === "mail") !== (url === undefined)) {
      return yield* new InvalidInput({
        faults: [{
          pointer: "/url",
          detail: key.channel === "mail"
            ? "is only for slack and teams"
            : "is required: the URL of the incoming webhook",
        }],
      })
    }
    yield* requireAllowed(guard, "/url", url)
    yield* templates.outline(key.org, key.template)
    const org = yield* Effect.orDie(organizations.get(key.org))
    const now = yield* Clock.currentTimeMillis
    const sealed = url === undefined ? null : yield* box.seal(purposeOf(key), Redacted.make(url))
    yield* Effect.orDie(sql`
      INSERT INTO report_subscriptions AS r (org_slug, template_id, account_id, channel, url, created_at, due_at)
      VALUES (${key.org}, ${key.template}, ${key.account}, ${key.channel}, ${sealed}, ${new Date(now)},
        ${new Date(reportDueAt(now, org.time_zone))})
      ON CONFLICT (org_slug, template_id, account_id, channel) DO UPDATE SET url = EXCLUDED.url, failure = NULL`)
    return (yield* rows(whichIs(key)))[0]!
  })

  const unsubscribe = Effect.fn("WeeklyReports.unsubscribe")(function* (key: ReportKey) {
    const gone = yield* Effect.orDie(
      sql`DELETE FROM report_subscriptions r WHERE ${whichIs(key)} RETURNING r.channel`,
    )
    if (gone.length === 0) return yield* new ReportNotFound({ id: `${key.template}/${key.channel}` })
  })

  return { list, subscribe, unsubscribe, whichIs }
})

/**
 * Reports of templates that members get each Monday, by mail or by an incoming webhook of Slack or Microsoft Teams. A
 * broken store is a defect, except in `run`.
 */
export class WeeklyReports extends Context.Service<WeeklyReports, {
  /** Returns the subscriptions of an account, of one template or of all. */
  readonly list: (
    org: OrgSlug,
    account: string,
    template?: string,
  ) => Effect.Effect<ReadonlyArray<ReportSubscription>>
  /**
   * Subscribes an account, or replaces the URL of its subscription. The first report follows on the next Monday. Fails
   * with `InvalidInput` if `url` is missing for Slack and Teams, given for mail, or at a forbidden address, with
   * `TemplateNotFound`, and with `NoSecretKey` or `SecretFileFaulty` if the URL cannot be encrypted.
   */
  readonly subscribe: (
    key: ReportKey,
    url: string | undefined,
  ) => Effect.Effect<ReportSubscription, InvalidInput | TemplateNotFound | NoSecretKey | SecretFileFaulty>
  /** Ends a subscription. Fails with `ReportNotFound` without one. */
  readonly unsubscribe: (key: ReportKey) => Effect.Effect<void, ReportNotFound>
  /**
   * Sends a report now, in addition to the reports of Mondays. Returns why it did not arrive; undefined if it did, or if its
   * mail is queued. Fails with `ReportNotFound` without a subscription.
   */
  readonly send: (key: ReportKey) => Effect.Effect<string | undefined, ReportNotFound>
  /** Returns the subscription of a link in a mail. Undefined for a link that this service did not make. */
  readonly keyOf: (token: string) => Effect.Effect<ReportKey | undefined>
  /**
   * Sends due reports until none is due. Several nodes may run this. Fails with `SqlError` if the database does not
   * respond.
   */
  readonly run: Effect.Effect<void, SqlError>
}>()("parlance/mailing/WeeklyReports") {
  static readonly layer = Layer.effect(
    WeeklyReports,
    Effect.gen(function* () {
      const mail = yield* MailQueue
      const notifications = yield* Notifications
      const organizations = yield* Organizations
      const sql = yield* SqlClient.SqlClient
      const { keyOf, post, queue, reportOf } = yield* makeSending
      const { list, subscribe, unsubscribe, whichIs } = yield* makeSubscriptions

      const send = Effect.fn("WeeklyReports.send")(function* (key: ReportKey) {
        const [row] = yield* Effect.orDie(
          sql<{ url: string | null }>`SELECT r.url FROM report_subscriptions r WHERE ${whichIs(key)}`,
        )
        if (row === undefined) return yield* new ReportNotFound({ id: `${key.template}/${key.channel}` })
        const now = yield* Clock.currentTimeMillis
        const report = yield* reportOf(key, now)
        if (report === undefined) return "The template is archived, so it has no reports"
        if (row.url === null) {
          if (!mail.isOn) return "This installation has no mail server"
          yield* Effect.orDie(queue(key, report))
        } else {
          const { failure } = yield* post(key, row.url, report)
          if (failure !== null) return failure
        }
        yield* Effect.orDie(sql`
          UPDATE report_subscriptions r SET sent_at = ${new Date(now)}, failure = NULL WHERE ${whichIs(key)}`)
        return undefined
      })

      const claim = Effect.fnUntraced(function* (now: number) {
        const end = new Date(now + leaseMillis)
        return yield* sql<DueReport>`
          UPDATE report_subscriptions r SET due_at = ${end} FROM (
            SELECT d.org_slug, d.template_id, d.account_id, d.channel FROM report_subscriptions d
            WHERE d.due_at <= ${new Date(now)} ORDER BY d.due_at LIMIT ${atOnce} FOR UPDATE SKIP LOCKED) d
          WHERE r.org_slug = d.org_slug AND r.template_id = d.template_id AND r.account_id = d.account_id
            AND r.channel = d.channel
          RETURNING r.org_slug AS org, r.template_id AS template, r.account_id AS account, r.channel, r.url, r.attempts,
            r.due_at`
      })

      /**
       * Sends one report. The time of the next one is stored with the queued mail, and before a webhook is called, so
       * that no second report is sent in the week if the node ends meanwhile. Posts that may have arrived are not
       * repeated.
       */
      const make = Effect.fnUntraced(function* (due: DueReport) {
        if (!(yield* notifications.mayBeNotified(due.org, due.account))) {
          return void (yield* sql`DELETE FROM report_subscriptions r WHERE ${whichIs(due)}`)
        }
        const now = yield* Clock.currentTimeMillis
        const report = yield* reportOf(due, now)
        const org = yield* Effect.orElseSucceed(organizations.get(due.org), () => undefined)
        const next = new Date(reportDueAt(now + leastPause, org?.time_zone ?? "UTC"))
        /** Stores the next time, if the lease of this node still holds. */
        const settle = (at: Date, attempts: number, failure: string | null, sentAt: Date | null) =>
          sql`
            UPDATE report_subscriptions r SET due_at = ${at}, attempts = ${attempts}, failure = ${failure},
              sent_at = coalesce(${sentAt}, r.sent_at)
            WHERE ${whichIs(due)} AND r.due_at = ${due.dueAt} RETURNING r.channel`
        if (report === undefined) return void (yield* settle(next, 0, null, null))
        const { attempts, url } = due
        if (url === null) {
          return yield* sql.withTransaction(Effect.gen(function* () {
            const mine = yield* settle(next, 0, null, mail.isOn ? new Date(now) : null)
            if (mine.length > 0) yield* queue(due, report)
          }))
        }
        const isMine = (yield* settle(next, attempts, "The service ended while it sent the report", null)).length > 0
        if (!isMine) return
        const outcome = yield* post(due, url, report)
        const again = outcome.failure !== null && outcome.retry && attempts + 1 < maxAttempts
          ? new Date(now + retryPause(attempts + 1, firstPause, yield* Random.next))
          : next
        yield* sql`
          UPDATE report_subscriptions r SET due_at = ${again}, attempts = ${again === next ? 0 : attempts + 1},
            failure = ${outcome.failure}, sent_at = CASE WHEN ${outcome.failure === null} THEN ${new Date(
          now,
        )} ELSE r.sent_at END
          WHERE ${whichIs(due)} AND r.due_at = ${next}`
      })

      const run: Effect.Effect<void, SqlError> = Effect.gen(function* () {
        const due = yield* claim(yield* Clock.currentTimeMillis)
        if (due.length === 0) return
        yield* Effect.forEach(due, make, { concurrency: "unbounded", discard: true })
        yield* run
      })

      return WeeklyReports.of({
        list,
        subscribe,
        unsubscribe,
        send,
        keyOf,
        run: run.pipe(Effect.withSpan("WeeklyReports.run")),
      })
    }),
  )

  /** Sends due reports every minute, on every node. */
  static readonly layerRunning = Layer.effectDiscard(Effect.gen(function* () {
    const { run } = yield* WeeklyReports
    yield* run.pipe(
      asJob("weekly reports"),
      Effect.catchCause((cause) => Effect.logWarning("Reports could not be sent and will be retried", cause)),
      Effect.repeat(Schedule.spaced("1 minute")),
      Effect.forkScoped,
    )
  }))
}
