import { Effect } from "effect"
import { Command } from "effect/cli"
import { defaultShareDays, ResultShareInput, shareDays } from "../domain/ResultShare.ts"
import { argument, template, whole } from "./Flags.ts"
import { decodeInput } from "./Inputs.ts"
import { linkTo } from "./Links.ts"
import { organizationCommand } from "./ManagementCommand.ts"

const create = organizationCommand({
  name: "create",
  description: "Make a read-only link to the results of a template; prints it this once",
  examples: ["parlance share create abandoned-cart --days 30"],
  flags: {
    template,
    days: whole(
      "days",
      `Days until the link expires: ${shareDays.join(", ")}. Default: ${defaultShareDays}`,
      defaultShareDays,
    ),
  },
  payload: ({ days }) => decodeInput(ResultShareInput, { expires_in_days: days }),
  call: (client, { org, payload, template }) =>
    Effect.gen(function* () {
      const { path, ...share } = yield* client.results.createResultShare({ params: { org, template }, payload })
      return { ...share, link: yield* linkTo(path) }
    }),
}).text(({ expires_at, link }, { template }) =>
  `People with this link see the results of ${template} until ${expires_at}:\n\n${link}`
)

const list = organizationCommand({
  name: "list",
  description: "List the links to the results of a template",
  flags: { template },
  call: (client, { org, template }) => client.results.listResultShares({ params: { org, template } }),
  result: ({ shares }) => shares,
}).table(
  { id: "id", "created by": "created_by", created: "created_at", expires: "expires_at" },
  ({ template }) => `No link to the results of ${template}`,
)

const revoke = organizationCommand({
  name: "revoke",
  description: "Revoke a link to the results of a template at once",
  flags: { template, id: argument("link", "The link's id") },
  call: (client, { id, org, template }) => client.results.revokeResultShare({ params: { org, template, share: id } }),
  result: (_, { id }) => ({ id, revoked: true }),
}).text(({ id }) => `Revoked the link ${id}`)

/** `parlance share …` */
export const shareCommand = Command.make("share").pipe(
  Command.withDescription("Read-only links to results"),
  Command.withSubcommands([create, list, revoke]),
)
