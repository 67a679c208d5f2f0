import { Effect } from "effect"
import type { Actor } from "../../accounts/Actor.ts"
import { ReportNotFound } from "../../domain/Errors.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { ReportChannel } from "../../domain/ReportSubscription.ts"
import { MailQueue } from "../../mail/MailQueue.ts"
import { WeeklyReports } from "../../mailing/WeeklyReports.ts"
import { NotificationTexts } from "../../mailing/NotificationTexts.ts"
import { Notifications } from "../../accounts/notifications/Notifications.ts"
import { makeMemberOf } from "../accounts/MemberOf.ts"
import { managed } from "../http/Managed.ts"
import { pageOf } from "../http/Paging.ts"
import { invalid, lookedUp } from "../http/Requests.ts"

/** Serves `NotificationsGroup`. */
export const layer = managed(
  "notifications",
  Effect.gen(function* () {
    const memberOf = yield* makeMemberOf
    const mail = yield* MailQueue
    const notifications = yield* Notifications
    const reports = yield* WeeklyReports
    const texts = yield* NotificationTexts

    /** Finds the account of a request: the caller's own account, or the named account if the caller has no account. */
    const accountOf = Effect.fnUntraced(function* (org: OrgSlug, actor: Actor, name: string | undefined) {
      return (yield* memberOf(org, actor, name, "notifications")) ?? (yield* invalid([{
        pointer: "/member",
        detail: "is required without a session: the e-mail address or account id of a member",
      }]))
    })

    const preferencesOf = (org: OrgSlug, account: string) =>
      Effect.map(
        notifications.preferences(org, account),
        (chosen) => ({ mail: { ...chosen }, mail_server: mail.isOn }),
      )

    /** Finds the report that a path names for the member. */
    const reportOf = Effect.fnUntraced(function* (
      org: OrgSlug,
      actor: Actor,
      { channel: name, template }: { readonly channel: string; readonly template: string },
      member: string | undefined,
    ) {
      const channel = ReportChannel.literals.find((one) => one === name)
      if (channel === undefined) return yield* new ReportNotFound({ id: `${template}/${name}`.slice(0, 300) })
      return { org, template: lookedUp(template), account: yield* accountOf(org, actor, member), channel }
    })

    return {
      listNotifications: Effect.fnUntraced(function* ({ actor, org, query }) {
        const { cursor, kind, limit, member, unread } = query
        const account = yield* accountOf(org, actor, member)
        const { next, page } = yield* pageOf(
          limit,
          (limit) => notifications.list(org, account, { kind, unread, cursor, limit }),
        )
        return {
          notifications: yield* texts.of(org, page),
          unread: yield* notifications.unread(org, account),
          next,
        }
      }),
      readNotifications: Effect.fnUntraced(function* ({ actor, body, org }) {
        const account = yield* accountOf(org, actor, body.member)
        return {
          read: yield* notifications.read(org, account, body.ids),
          unread: yield* notifications.unread(org, account),
        }
      }),
      getNotificationPreferences: ({ actor, org, query }) =>
        Effect.flatMap(accountOf(org, actor, query.member), (account) => preferencesOf(org, account)),
      updateNotificationPreferences: Effect.fnUntraced(function* ({ actor, body, org }) {
        const account = yield* accountOf(org, actor, body.member)
        yield* notifications.prefer(org, account, body.mail)
        return yield* preferencesOf(org, account)
      }),
      listReports: Effect.fnUntraced(function* ({ actor, org, query }) {
        return { reports: yield* reports.list(org, yield* accountOf(org, actor, query.member)) }
      }),
      putReport: Effect.fnUntraced(function* ({ actor, body, org, params }) {
        return yield* reports.subscribe(yield* reportOf(org, actor, params, body.member), body.url)
      }),
      deleteReport: Effect.fnUntraced(function* ({ actor, org, params, query }) {
        yield* reports.unsubscribe(yield* reportOf(org, actor, params, query.member))
      }),
      sendReport: Effect.fnUntraced(function* ({ actor, body, org, params }) {
        const failure = yield* reports.send(yield* reportOf(org, actor, params, body.member))
        return { sent: failure === undefined, failure: failure ?? null }
      }),
    }
  }),
)
