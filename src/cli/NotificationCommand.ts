import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { kindWords, MailMode, notificationKinds } from "../accounts/notifications/Kinds.ts"
import { CommandFailed } from "./Connection.ts"
import { choice, given, texts, toggle, whole } from "./Flags.ts"
import { organizationCommand } from "./ManagementCommand.ts"
import { table, tableOf } from "./Table.ts"

const member = Flag.String("member").pipe(Flag.withDescription("E-mail address or account id of the member"))

const list = organizationCommand({
  name: "list",
  description: "List notifications of a member, newest first",
  flags: {
    member,
    unread: toggle("unread", "Unread notifications only"),
    kind: choice("kind", notificationKinds, "One kind only"),
    limit: whole("limit", "1 to 200. Default: 50", 50),
  },
  call: (client, { kind, limit, member, org, unread }) =>
    client.notifications.listNotifications({
      params: { org },
      query: { member, limit: String(limit), ...(unread ? { unread: "true" } : {}), ...given({ kind }) },
    }),
}).text(({ notifications }) =>
  notifications.length === 0 ? "No notifications." : tableOf(
    { id: "id", time: "created_at", kind: "kind", notification: "title", read: "read_at" },
    notifications,
  )
)

const read = organizationCommand({
  name: "read",
  description: "Mark notifications of a member as read",
  flags: {
    member,
    ids: Argument.Int("id").pipe(
      Argument.withDescription("Ids of notifications. Default: all"),
      Argument.variadic(),
    ),
  },
  call: (client, { ids, member, org }) =>
    client.notifications.readNotifications({
      params: { org },
      payload: { member, ...(ids.length === 0 ? {} : { ids }) },
    }),
}).text(({ read, unread }) => `Marked ${read} as read. ${unread} are unread.`)

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

const preferences = organizationCommand({
  name: "preferences",
  description: "Show or change the notifications that a member gets by mail",
  flags: { member, mail: texts("mail", "Change a kind, such as winner.found=digest. Modes: immediate, digest, off") },
  payload: ({ mail }) => chosenOf(mail),
  call: (client, { mail, member, org, payload }) =>
    mail.length === 0
      ? client.notifications.getNotificationPreferences({ params: { org }, query: { member } })
      : client.notifications.updateNotificationPreferences({ params: { org }, payload: { member, mail: payload } }),
}).text(({ mail, mail_server }) =>
  [
    table(["kind", "mail"], Object.entries(mail)),
    ...(mail_server ? [] : ["", "No mail is sent: MAIL_URL is not set."]),
  ].join("\n")
)

/** `parlance notification …` */
export const notificationCommand = Command.make("notification").pipe(
  Command.withDescription("Notifications of members"),
  Command.withSubcommands([list, read, preferences]),
)
