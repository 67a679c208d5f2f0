import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { AccountInput, Role } from "../accounts/Account.ts"
import type { InvitationBody } from "../api/accounts/AccountsApi.ts"
import { CommandFailed, ManagementClient } from "./Connection.ts"
import { argument, text, toggle } from "./Flags.ts"
import { bodyOf, decodeInput } from "./Inputs.ts"
import { linkTo } from "./Links.ts"
import { installationCommand, organizationCommand } from "./ManagementCommand.ts"

/** The note after a printed link. Empty if no mail with the link was sent. */
const mailedText = (mailed: boolean) => mailed ? "\n\nA mail with the link is on its way to the person." : ""

const email = argument("email", "E-mail address")
const account = argument("account", "E-mail address or id")

/** Finds an account by its id or e-mail address. Fails with `CommandFailed` if there is no such account. */
const accountOf = Effect.fnUntraced(function* (name: string) {
  const client = yield* ManagementClient
  const { accounts } = yield* client.accounts.listAccounts()
  const found = accounts.find(({ email, id }) => id === name || email === name.trim().toLowerCase())
  return found ?? (yield* new CommandFailed({
    message: `There is no account ${JSON.stringify(name)}. \`parlance account list\` lists all accounts.`,
  }))
})

/** Fails with the consequences of a command unless it is called with `--yes`. */
const confirmed = (yes: boolean, consequences: string) =>
  yes ? Effect.void : new CommandFailed({ message: consequences })

const create = installationCommand({
  name: "create",
  description: "Create an account of the console; prints a link to choose its password",
  flags: {
    email,
    name: text("name", "The person's name. Default: the e-mail address"),
    administrator: toggle("administrator", "Can do everything in every organization and manage accounts"),
  },
  payload: ({ administrator, email, name }) =>
    decodeInput(AccountInput, { email, name: Option.getOrElse(name, () => email), administrator }),
  call: (client, { payload }) =>
    Effect.gen(function* () {
      const account = yield* client.accounts.createAccount({ payload })
      return { account, link: account.link === null ? "" : yield* linkTo(account.link.path) }
    }),
  result: ({ account, link }) => ({ ...account, link }),
}).text(({ email, link }, _, { account }) =>
  `Created ${email}. With this link the person chooses a password, once, within one hour:\n\n${link}` +
  mailedText(account.link?.mailed === true)
)

const list = installationCommand({
  name: "list",
  description: "List all accounts",
  call: (client) => client.accounts.listAccounts(),
  result: ({ accounts }) => accounts,
}).table({
  id: "id",
  "e-mail": "email",
  name: "name",
  administrator: "administrator",
  password: "has_password",
  "second factor": "second_factor",
  created: "created_at",
})

const invite = organizationCommand({
  name: "invite",
  description: "Invite a person to an organization; prints the link to send",
  flags: {
    email,
    role: Flag.Literals("role", Role.literals).pipe(
      Flag.withDescription("Role of the person in the organization. Default: viewer"),
      Flag.withDefault("viewer" as const),
    ),
  },
  call: (client, { email, org, role }) =>
    Effect.gen(function* () {
      const payload = bodyOf<typeof InvitationBody.Type>({ email, role })
      const { path, ...invitation } = yield* client.accounts.createInvitation({ params: { org }, payload })
      return { ...invitation, link: yield* linkTo(path) }
    }),
}).text(({ email, expires_at, link, mailed }, { role }) =>
  `With this link ${email} joins as ${role}, once, until ${expires_at}:\n\n${link}${mailedText(mailed)}`
)

const remove = installationCommand({
  name: "remove",
  description: "Remove an account with its memberships and sessions",
  flags: { account, yes: toggle("yes", "Confirm the removal, which cannot be undone") },
  payload: ({ yes }) => confirmed(yes, "Removing an account cannot be undone: repeat with --yes."),
  call: (client, { account }) =>
    Effect.gen(function* () {
      const { email, id } = yield* accountOf(account)
      yield* client.accounts.removeAccount({ params: { account: id } })
      return { email, id }
    }),
  result: ({ id }) => ({ id, removed: true }),
}).text((_, __, { email }) => `Removed ${email}; it is signed out everywhere`)

const reset = installationCommand({
  name: "reset",
  description: "Print a link to choose a new password",
  flags: { account },
  call: (client, { account }) =>
    Effect.gen(function* () {
      const { email, id } = yield* accountOf(account)
      const made = yield* client.accounts.resetAccount({ params: { account: id } })
      return { email, made: { ...made, link: yield* linkTo(made.path) } }
    }),
  result: ({ made }) => made,
}).text(({ expires_at, link, mailed }, _, { email }) =>
  `With this link ${email} chooses a new password, once, until ${expires_at}:\n\n${link}${mailedText(mailed)}`
)

const resetSecondFactor = installationCommand({
  name: "reset-second-factor",
  description: "Remove the second factor of a person who has lost the authenticator app",
  flags: { account, yes: toggle("yes", "Confirm that the owner of the account asked for this") },
  payload: ({ yes }) =>
    confirmed(
      yes,
      "Without a second factor, the password alone signs in to the account. Make sure that its owner asked for this, " +
        "then repeat with --yes.",
    ),
  call: (client, { account }) =>
    Effect.gen(function* () {
      const { email, id } = yield* accountOf(account)
      yield* client.secondFactor.resetSecondFactor({ params: { account: id } })
      return { email, id }
    }),
  result: ({ id }) => ({ id, second_factor: false }),
}).text((_, __, { email }) => `Removed the second factor of ${email}; it is signed out everywhere`)

/** `parlance account …` */
export const accountCommand = Command.make("account").pipe(
  Command.withDescription("Accounts of the console"),
  Command.withSubcommands([create, list, invite, remove, reset, resetSecondFactor]),
)
