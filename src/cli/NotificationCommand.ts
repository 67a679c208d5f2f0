import { Effect } from "effect"
import { Argument, Flag } from "effect/cli"
import { kindWords, MailMode, notificationKinds } from "../accounts/notifications/Kinds.ts"
import { call, commandGroup, steps } from "./ApiCommand.ts"
import { CommandFailed } from "./Connection.ts"
import { choice, orAbsent, texts, toggle, whole } from "./Flags.ts"
import { organization } from "./Root.ts"
import { table, tableOf } from "./Table.ts"

const member = Flag.String("member").pipe(Flag.withDescription("E-mail address or account id of the member"))

/**
 * Parses flags such as `winner.found=digest` into modes by kind. Fails with `CommandFailed` for an unknown kind or
 * mode.
 */
const chosenOf = Effect.fnUntraced(function* (texts: ReadonlyArray<string>) {
  const chosen: Record<string, MailMode> = {}
  for (const text of texts) {
    const [kind = "", mode = ""] = text.split("=")
    const known = MailMode.literals.find((one) => one === mode)
    if (!Object.hasOwn(kindWords, kind) || known === undefined) {
      return yield* new CommandFailed({
        message: `--mail ${text}: write KIND=MODE. The kinds are ${notificationKinds.join(", ")}; the modes are ${
          MailMode.literals.join(", ")
        }.`,
      })
    }
    chosen[kind] = known
  }
  return chosen
})

/** `parlance notification …` */
export const notificationCommand = commandGroup("notification", "Notifications of members", {
  list: call("listNotifications", "List notifications of a member, newest first", {
    member,
    unread: toggle("unread", "Unread notifications only"),
    kind: choice("kind", notificationKinds, "One kind only"),
    limit: whole("limit", "1 to 200. Default: 50", 50),
  }).text(({ notifications }) =>
    notifications.length === 0 ? "No notifications." : tableOf(
      { id: "id", time: "created_at", kind: "kind", notification: "title", read: "read_at" },
      notifications,
    )
  ),

  read: call("readNotifications", "Mark notifications of a member as read", {
    member,
    ids: Argument.Int("id").pipe(
      Argument.withDescription("Ids of notifications. Default: all"),
      Argument.variadic(),
      Argument.map(orAbsent),
    ),
  }).text(({ read, unread }) => `Marked ${read} as read. ${unread} are unread.`),

  preferences: steps("Show or change the notifications that a member gets by mail", {
    member,
    mail: texts("mail", "Change a kind, such as winner.found=digest. Modes: immediate, digest, off"),
  }, function* (client, { mail, member }) {
    const chosen = mail === undefined ? undefined : yield* chosenOf(mail)
    const params = { org: yield* organization }
    return yield* chosen === undefined
      ? client.getNotificationPreferences({ params, query: { member } })
      : client.updateNotificationPreferences({ params, payload: { member, mail: chosen } })
  }).text(({ mail, mail_server }) =>
    [
      table(["kind", "mail"], Object.entries(mail)),
      ...(mail_server ? [] : ["", "No mail is sent: MAIL_URL is not set."]),
    ].join("\n")
  ),
})
