import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { AccountNotFound } from "../../accounts/AccountErrors.ts"
import { Accounts } from "../../accounts/Accounts.ts"
import { CurrentActor } from "../../accounts/Actor.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { decoder } from "../../domain/Faults.ts"
import { MailQueue } from "../../mail/MailQueue.ts"
import { NotificationTexts, type WordedNotification } from "../../mailing/NotificationTexts.ts"
import { notificationKinds } from "../../notifications/Kinds.ts"
import { Notifications } from "../../notifications/Notifications.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { accountProblems } from "../accounts/AccountProblems.ts"
import { ServedApi } from "../Api.ts"
import * as Problems from "../Problems.ts"
import * as Parameters from "../server/Parameters.ts"
import { body, existing, invalid, lookedUp, toProblems } from "../server/Requests.ts"
import { PreferencesBody, ReadBody } from "./NotificationsApi.ts"

const readBody = decoder(ReadBody)
const preferencesBody = decoder(PreferencesBody)

const member = Parameters.text("must be an e-mail address or the id of an account")

const resourceOf = ({ createdAt, data, id, kind, path, readAt, text, title }: WordedNotification) => ({
  id,
  kind,
  title,
  text,
  path,
  data: { ...data },
  created_at: createdAt.toISOString(),
  read_at: readAt?.toISOString() ?? null,
})

export const layer = HttpApiBuilder.group(
  ServedApi,
  "notifications",
  Effect.fnUntraced(function* (handlers) {
    const accounts = yield* Accounts
    const mail = yield* MailQueue
    const notifications = yield* Notifications
    const organizations = yield* Organizations
    const texts = yield* NotificationTexts

    /** The account that a request is about: the caller's own, or for callers without an account the one they name. */
    const accountOf = Effect.fnUntraced(function* (org: OrgSlug, name: string | undefined) {
      const actor = yield* CurrentActor
      if (actor.kind === "session") {
        const { email, id } = actor.session.account
        if (name === undefined || name === id || name.trim().toLowerCase() === email) return id
        return yield* new Problems.Forbidden({ detail: "You can see and change your own notifications only" })
      }
      if (name === undefined) {
        return yield* invalid([{
          pointer: "/member",
          detail: "is required without a session: the e-mail address or account id of a member",
        }])
      }
      const id = (yield* accounts.findByEmail(name))?.id ?? lookedUp(name)
      return (yield* notifications.mayBeNotified(org, id)) ? id : yield* new AccountNotFound({ id: name.slice(0, 254) })
    })

    const preferencesOf = (org: OrgSlug, account: string) =>
      Effect.map(
        notifications.preferences(org, account),
        (chosen) => ({ mail: { ...chosen }, mail_server: mail.isOn }),
      )

    return handlers
      .handleRaw("listNotifications", ({ params, request }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const { before: cursor, kind, limit, member: named, unread } = yield* Parameters.parameters(request, {
            limit: Parameters.limit(200, 50),
            before: Parameters.numericCursor(),
            kind: Parameters.oneOf(notificationKinds),
            unread: Parameters.flag,
            member,
          })
          const account = yield* accountOf(org, named)
          const found = yield* notifications.list(org, account, { kind, unread, cursor, limit: limit + 1 })
          const page = found.slice(0, limit)
          return {
            notifications: (yield* texts.of(org, page)).map(resourceOf),
            unread: yield* notifications.unread(org, account),
            next: found.length > limit ? page.at(-1)!.id : null,
          }
        }).pipe(accountProblems(), toProblems))
      .handleRaw("readNotifications", ({ params, request }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const input = yield* body(request, readBody)
          const account = yield* accountOf(org, input.member)
          return {
            read: yield* notifications.read(org, account, input.ids),
            unread: yield* notifications.unread(org, account),
          }
        }).pipe(accountProblems(), toProblems))
      .handleRaw("getNotificationPreferences", ({ params, request }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const { member: named } = yield* Parameters.parameters(request, { member })
          return yield* preferencesOf(org, yield* accountOf(org, named))
        }).pipe(accountProblems(), toProblems))
      .handleRaw("updateNotificationPreferences", ({ params, request }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          const input = yield* body(request, preferencesBody)
          const account = yield* accountOf(org, input.member)
          yield* notifications.prefer(org, account, input.mail)
          return yield* preferencesOf(org, account)
        }).pipe(accountProblems(), toProblems))
  }),
)
