import { Effect } from "effect"
import { Flag } from "effect/cli"
import { AccountInput, Role } from "../accounts/Account.ts"
import { call, commandGroup, steps } from "./ApiCommand.ts"
import { CommandFailed, ManagementClient } from "./Connection.ts"
import { argument, text, toggle } from "./Flags.ts"
import { linkTo, withLink } from "./Links.ts"

/** The note after a printed link. Empty if no mail with the link was sent. */
const mailedText = (mailed: boolean) => mailed ? "\n\nA mail with the link will be sent to the person." : ""

const email = argument("email", "E-mail address")
const account = argument("account", "E-mail address or id")

/** Finds an account by its id or e-mail address. Fails with `CommandFailed` if there is no such account. */
const accountOf = Effect.fnUntraced(function* (name: string) {
  const client = yield* ManagementClient
  const { accounts } = yield* client.listAccounts()
  const found = accounts.find(({ email, id }) => id === name || email === name.trim().toLowerCase())
  return found ?? (yield* new CommandFailed({
    message: `There is no account ${JSON.stringify(name)}. \`parlance account list\` lists all accounts.`,
  }))
})

/** A command that changes an account if it is called with `--yes`, and otherwise fails with the consequences. */
const confirmed = (
  description: string,
  { confirms, consequences }: { readonly confirms: string; readonly consequences: string },
  change: (client: ManagementClient["Service"], account: string) => Effect.Effect<unknown, unknown>,
) =>
  steps(description, { account, yes: toggle("yes", confirms) }, function* (client, { account, yes }) {
    if (!yes) return yield* new CommandFailed({ message: consequences })
    const { email, id } = yield* accountOf(account)
    yield* change(client, id)
    return { email, id }
  })

/** `parlance account …` */
export const accountCommand = commandGroup("account", "Accounts of the console", {
  create: call("createAccount", "Create an account of the console; prints a link to choose its password", {
    email,
    name: text("name", "The person's name. Default: the e-mail address"),
    administrator: toggle("administrator", "Can do everything in every organization and manage accounts"),
  }).sends((values) => ({ ...values, name: values.name ?? values.email }))
    .checks(AccountInput)
    .andThen((account) =>
      Effect.map(account.link === null ? Effect.succeed("") : linkTo(account.link.path), (link) => ({ account, link }))
    )
    .result(({ account, link }) => ({ ...account, link }))
    .text(({ email, link }, _, { account }) =>
      `Created ${email}. With this link the person chooses a password, once, within one hour:\n\n${link}` +
      mailedText(account.link?.mailed === true)
    ),

  list: call("listAccounts", "List all accounts").result(({ accounts }) => accounts).table({
    id: "id",
    "e-mail": "email",
    name: "name",
    administrator: "administrator",
    password: "has_password",
    "second factor": "second_factor",
    created: "created_at",
  }),

  invite: call("createInvitation", "Invite a person to an organization; prints the link to send", {
    email,
    role: Flag.Literals("role", Role.literals).pipe(
      Flag.withDescription("Role of the person in the organization. Default: viewer"),
      Flag.withDefault("viewer" as const),
    ),
  }).andThen(withLink).text(({ email, expires_at, link, mailed }, { role }) =>
    `With this link ${email} joins as ${role}, once, until ${expires_at}:\n\n${link}${mailedText(mailed)}`
  ),

  remove: confirmed("Remove an account with its memberships and sessions", {
    confirms: "Confirm the removal, which cannot be undone",
    consequences: "Removing an account cannot be undone: repeat with --yes.",
  }, (client, account) => client.removeAccount({ params: { account } }))
    .result(({ id }) => ({ id, removed: true }))
    .text((_, __, { email }) => `Removed ${email}; it is signed out everywhere`),

  reset: steps("Print a link to choose a new password", { account }, function* (client, { account }) {
    const { email, id } = yield* accountOf(account)
    const made = yield* client.resetAccount({ params: { account: id } })
    return { email, made: { ...made, link: yield* linkTo(made.path) } }
  })
    .result(({ made }) => made)
    .text(({ expires_at, link, mailed }, _, { email }) =>
      `With this link ${email} chooses a new password, once, until ${expires_at}:\n\n${link}${mailedText(mailed)}`
    ),

  "reset-second-factor": confirmed("Remove the authenticator app and the passkeys of a person who has lost them", {
    confirms: "Confirm that the owner of the account asked for this",
    consequences:
      "Without a second factor, the password alone signs in to the account. Make sure that its owner asked for this, " +
      "then repeat with --yes.",
  }, (client, account) => client.resetSecondFactor({ params: { account } }))
    .result(({ id }) => ({ id, second_factor: false }))
    .text((_, __, { email }) => `Removed the second factor of ${email}; it is signed out everywhere`),
})
