import { Clock, Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { Accounts } from "../accounts/Accounts.ts"
import { Signatures } from "../accounts/Signatures.ts"
import { mostItems, notificationLetter } from "../mail/Letters.ts"
import { MailQueue } from "../mail/MailQueue.ts"
import { type MailGroup, type MailPreferences, Notifications } from "../accounts/notifications/Notifications.ts"
import { notificationKinds } from "../accounts/notifications/Kinds.ts"
import { Organizations } from "../organizations/Organizations.ts"
import { asJob } from "../telemetry/LoopWork.ts"
import { digestDueAt } from "./Digest.ts"
import { NotificationTexts } from "./NotificationTexts.ts"
import * as Json from "../json/Json.ts"

/**
 * Notifications that could not be mailed for this long are left out, because old news is useless. Unit: milliseconds.
 */
const staleMillis = 48 * 3_600_000

const purpose = "notification mail"

/** The person that a link in a mail belongs to. */
interface MailedPerson {
  readonly org: string
  readonly account: string
}

/** Mails notifications according to the preferences of members. */
export class NotificationMail extends Context.Service<NotificationMail, {
  /**
   * Queues due mails. If several nodes run this, one node queues each mail. Fails with `SqlError` if the database does
   * not respond.
   */
  readonly queue: Effect.Effect<void, SqlError>
  /** Returns the person of a link in a mail; undefined for a link that was not created by this service. */
  readonly personOf: (token: string) => Effect.Effect<MailedPerson | undefined>
  /** Turns off all notification mail for a person. */
  readonly turnOff: (person: MailedPerson) => Effect.Effect<void>
}>()("parlance/mailing/NotificationMail") {
  static readonly layer = Layer.effect(
    NotificationMail,
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const mail = yield* MailQueue
      const notifications = yield* Notifications
      const organizations = yield* Organizations
      const signatures = yield* Signatures
      const sql = yield* SqlClient.SqlClient
      const texts = yield* NotificationTexts

      const queueGroup = Effect.fnUntraced(function* (group: MailGroup, orgName: string, now: number) {
        const { accountId, orgSlug } = group
        const taken = yield* notifications.takeToMail(group)
        const fresh = taken.filter(({ createdAt }) => now - createdAt.getTime() < staleMillis)
        if (fresh.length === 0) return
        const account = yield* Effect.orElseSucceed(accounts.get(accountId), () => undefined)
        if (account === undefined) return
        const items = yield* texts.of(orgSlug, fresh.slice(0, mostItems))
        const token = yield* signatures.sign(purpose, JSON.stringify([orgSlug, accountId]))
        yield* mail.queue(
          "notification",
          account.email,
          notificationLetter({
            org: orgName,
            items: items.map(({ path, text, title }) => ({ title, text, url: mail.urlOf(path) })),
            all: fresh.length,
            isDigest: group.mail === "digest",
            preferences: mail.urlOf(`/console/o/${orgSlug}/notifications/preferences`),
            unsubscribe: mail.urlOf(`/console/notification-mail?token=${encodeURIComponent(token)}`),
          }),
        )
      })

      const queue = Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        for (const group of yield* notifications.toMail) {
          const org = yield* Effect.orElseSucceed(organizations.get(group.orgSlug), () => undefined)
          const isDue = group.mail === "immediate" || org === undefined ||
            digestDueAt(group.since.getTime(), org.time_zone) <= now
          if (isDue) yield* sql.withTransaction(queueGroup(group, org?.name ?? group.orgSlug, now))
        }
      }).pipe(Effect.withSpan("NotificationMail.queue"))

      const personOf = Effect.fn("NotificationMail.personOf")(function* (token: string) {
        const text = yield* signatures.open(purpose, token)
        if (text === undefined) return undefined
        const [org, account] = Json.parseStored(text) as [string, string]
        return { org, account }
      })

      const turnOff = Effect.fn("NotificationMail.turnOff")(({ account, org }: MailedPerson) =>
        Effect.asVoid(notifications.prefer(
          org as MailGroup["orgSlug"],
          account,
          Object.fromEntries(notificationKinds.map((kind) => [kind, "off"])) as unknown as MailPreferences,
        ))
      )

      return NotificationMail.of({ queue, personOf, turnOff })
    }),
  )

  /** Queues notification mails every 5 seconds, on every node with a mail server. */
  static readonly layerRunning = Layer.effectDiscard(Effect.gen(function* () {
    const { queue } = yield* NotificationMail
    if (!(yield* MailQueue).isOn) return
    yield* queue.pipe(
      asJob("notification mail"),
      Effect.catchCause((cause) => Effect.logWarning("Notifications could not be mailed and will be retried", cause)),
      Effect.repeat(Schedule.spaced("5 seconds")),
      Effect.forkScoped,
    )
  }))
}
