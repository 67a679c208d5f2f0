import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AccountInput, Role } from "../accounts/Account.ts"
import type { InvitationBody } from "../api/accounts/AccountsApi.ts"
import { CommandFailed, ManagementClient } from "./Connection.ts"
import { bodyOf, decodeInput } from "./Inputs.ts"
import { linkTo } from "./Links.ts"
import { organization, print } from "./Root.ts"
import { table } from "./Table.ts"

/** What follows a link that was mailed as well. */
const mailedText = (mailed: boolean) => mailed ? "\n\nA mail with the link is on its way to the person." : ""

const email = Argument.String("email").pipe(Argument.withDescription("E-mail address"))

/** The account of an e-mail address, or of an id. */
const accountOf = Effect.fnUntraced(function* (name: string) {
  const client = yield* ManagementClient
  const { accounts } = yield* client.accounts.listAccounts()
  const found = accounts.find(({ email, id }) => id === name || email === name.trim().toLowerCase())
  return found ?? (yield* new CommandFailed({
    message: `There is no account ${JSON.stringify(name)}. \`parlance account list\` lists all accounts.`,
  }))
})

const create = Command.make(
  "create",
  {
    email,
    name: Flag.String("name").pipe(
      Flag.withDescription("The person's name. Default: the e-mail address"),
      Flag.optional,
    ),
    administrator: Flag.Boolean("administrator").pipe(
      Flag.withDescription("Can do everything in every organization and manage accounts"),
      Flag.withDefault(false),
    ),
  },
  Effect.fnUntraced(function* ({ administrator, email, name }) {
    const client = yield* ManagementClient
    const payload = yield* decodeInput(AccountInput, {
      email,
      name: Option.getOrElse(name, () => email),
      administrator,
    })
    const account = yield* client.accounts.createAccount({ payload })
    const link = account.link === null ? "" : yield* linkTo(account.link.path)
    yield* print(
      { ...account, link },
      `Created ${account.email}. With this link the person chooses a password, once, within one hour:\n\n${link}` +
        mailedText(account.link?.mailed === true),
    )
  }),
).pipe(Command.withDescription("Create an account of the console; prints a link to choose its password"))

const list = Command.make(
  "list",
  {},
  Effect.fnUntraced(function* () {
    const client = yield* ManagementClient
    const { accounts } = yield* client.accounts.listAccounts()
    yield* print(
      accounts,
      table(
        ["id", "e-mail", "name", "administrator", "password", "second factor", "created"],
        accounts.map((one) => [
          one.id,
          one.email,
          one.name,
          one.administrator,
          one.has_password,
          one.second_factor,
          one.created_at,
        ]),
      ),
    )
  }),
).pipe(Command.withDescription("List all accounts"))

const invite = Command.make(
  "invite",
  {
    email,
    role: Flag.Literals("role", Role.literals).pipe(
      Flag.withDescription("Role of the person in the organization. Default: viewer"),
      Flag.withDefault("viewer" as const),
    ),
  },
  Effect.fnUntraced(function* ({ email, role }) {
    const client = yield* ManagementClient
    const payload = bodyOf<typeof InvitationBody.Type>({ email, role })
    const { path, ...invitation } = yield* client.accounts.createInvitation({
      params: { org: yield* organization },
      payload,
    })
    const link = yield* linkTo(path)
    yield* print(
      { ...invitation, link },
      `With this link ${invitation.email} joins as ${role}, once, until ${invitation.expires_at}:\n\n${link}` +
        mailedText(invitation.mailed),
    )
  }),
).pipe(Command.withDescription("Invite a person to an organization; prints the link to send"))

const remove = Command.make(
  "remove",
  {
    account: Argument.String("account").pipe(Argument.withDescription("E-mail address or id")),
    yes: Flag.Boolean("yes").pipe(
      Flag.withDescription("Confirm the removal, which cannot be undone"),
      Flag.withDefault(false),
    ),
  },
  Effect.fnUntraced(function* ({ account, yes }) {
    if (!yes) return yield* new CommandFailed({ message: "Removing an account cannot be undone: repeat with --yes." })
    const client = yield* ManagementClient
    const { email, id } = yield* accountOf(account)
    yield* client.accounts.removeAccount({ params: { account: id } })
    yield* print({ id, removed: true }, `Removed ${email}; it is signed out everywhere`)
  }),
).pipe(Command.withDescription("Remove an account with its memberships and sessions"))

const reset = Command.make(
  "reset",
  { account: Argument.String("account").pipe(Argument.withDescription("E-mail address or id")) },
  Effect.fnUntraced(function* ({ account }) {
    const client = yield* ManagementClient
    const { email, id } = yield* accountOf(account)
    const made = yield* client.accounts.resetAccount({ params: { account: id } })
    const link = yield* linkTo(made.path)
    yield* print(
      { ...made, link },
      `With this link ${email} chooses a new password, once, until ${made.expires_at}:\n\n${link}` +
        mailedText(made.mailed),
    )
  }),
).pipe(Command.withDescription("Print a link to choose a new password"))

const resetSecondFactor = Command.make(
  "reset-second-factor",
  {
    account: Argument.String("account").pipe(Argument.withDescription("E-mail address or id")),
    yes: Flag.Boolean("yes").pipe(
      Flag.withDescription("Confirm that the owner of the account asked for this"),
      Flag.withDefault(false),
    ),
  },
  Effect.fnUntraced(function* ({ account, yes }) {
    if (!yes) {
      return yield* new CommandFailed({
        message:
          "Without a second factor, the password alone signs in to the account. Make sure that its owner asked for " +
          "this, then repeat with --yes.",
      })
    }
    const client = yield* ManagementClient
    const { email, id } = yield* accountOf(account)
    yield* client.secondFactor.resetSecondFactor({ params: { account: id } })
    yield* print({ id, second_factor: false }, `Removed the second factor of ${email}; it is signed out everywhere`)
  }),
).pipe(Command.withDescription("Remove the second factor of a person who has lost the authenticator app"))

/** `parlance account …` */
export const accountCommand = Command.make("account").pipe(
  Command.withDescription("Accounts of the console"),
  Command.withSubcommands([create, list, invite, remove, reset, resetSecondFactor]),
)
