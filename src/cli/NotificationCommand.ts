import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { kindWords, MailMode, notificationKinds } from "../notifications/Kinds.ts"
import { CommandFailed, ManagementClient } from "./Connection.ts"
import { organization, print } from "./Root.ts"
import { table } from "./Table.ts"

const member = Flag.String("member").pipe(Flag.withDescription("E-mail address or account id of the member"))

const list = Command.make(
  "list",
  {
    member,
    unread: Flag.Boolean("unread").pipe(Flag.withDescription("Unread notifications only"), Flag.withDefault(false)),
    kind: Flag.Literals("kind", notificationKinds).pipe(Flag.withDescription("One kind only"), Flag.optional),
    limit: Flag.Int("limit").pipe(Flag.withDescription("1 to 200. Default: 50"), Flag.withDefault(50)),
  },
  Effect.fnUntraced(function* ({ kind, limit, member, unread }) {
    const client = yield* ManagementClient
    const page = yield* client.notifications.listNotifications({
      params: { org: yield* organization },
      query: {
        member,
        limit: String(limit),
        ...(unread ? { unread: "true" } : {}),
        ...(Option.isSome(kind) ? { kind: kind.value } : {}),
      },
    })
    yield* print(
      page,
      page.notifications.length === 0 ? "No notifications." : table(
        ["id", "time", "kind", "notification", "read"],
        page.notifications.map(({ created_at, id, kind, read_at, title }) => [id, created_at, kind, title, read_at]),
      ),
    )
  }),
).pipe(Command.withDescription("List notifications of a member, newest first"))

const read = Command.make(
  "read",
  {
    member,
    ids: Argument.Int("id").pipe(
      Argument.withDescription("Ids of notifications. Default: all"),
      Argument.variadic(),
    ),
  },
  Effect.fnUntraced(function* ({ ids, member }) {
    const client = yield* ManagementClient
    const result = yield* client.notifications.readNotifications({
      params: { org: yield* organization },
      payload: { member, ...(ids.length === 0 ? {} : { ids }) },
    })
    yield* print(result, `Marked ${result.read} as read. ${result.unread} are unread.`)
  }),
).pipe(Command.withDescription("Mark notifications of a member as read"))

/** The preferences of flags such as `winner.found=digest`. */
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

const preferences = Command.make(
  "preferences",
  {
    member,
    mail: Flag.String("mail").pipe(
      Flag.withDescription("Change a kind, such as winner.found=digest. Modes: immediate, digest, off"),
      Flag.atLeast(0),
    ),
  },
  Effect.fnUntraced(function* ({ mail, member }) {
    const client = yield* ManagementClient
    const params = { org: yield* organization }
    const chosen = yield* chosenOf(mail)
    const found = yield* mail.length === 0
      ? client.notifications.getNotificationPreferences({ params, query: { member } })
      : client.notifications.updateNotificationPreferences({ params, payload: { member, mail: chosen } })
    yield* print(
      found,
      [
        table(["kind", "mail"], Object.entries(found.mail)),
        ...(found.mail_server ? [] : ["", "No mail is sent: MAIL_URL is not set."]),
      ].join("\n"),
    )
  }),
).pipe(Command.withDescription("Show or change the notifications that a member gets by mail"))

/** `parlance notification …` */
export const notificationCommand = Command.make("notification").pipe(
  Command.withDescription("Notifications of members"),
  Command.withSubcommands([list, read, preferences]),
)
