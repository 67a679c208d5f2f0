import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { defaultShareDays, ResultShareInput, shareDays } from "../domain/ResultShare.ts"
import { ManagementClient } from "./Connection.ts"
import { decodeInput } from "./Inputs.ts"
import { linkTo } from "./Links.ts"
import { organization, print } from "./Root.ts"
import { table } from "./Table.ts"

const template = Argument.String("template").pipe(Argument.withDescription("The template's id"))

const create = Command.make(
  "create",
  {
    template,
    days: Flag.Int("days").pipe(
      Flag.withDescription(`Days until the link expires: ${shareDays.join(", ")}. Default: ${defaultShareDays}`),
      Flag.withDefault(defaultShareDays),
    ),
  },
  Effect.fnUntraced(function* ({ days, template }) {
    const client = yield* ManagementClient
    const payload = yield* decodeInput(ResultShareInput, { expires_in_days: days })
    const { path, ...share } = yield* client.results.createResultShare({
      params: { org: yield* organization, template },
      payload,
    })
    const link = yield* linkTo(path)
    yield* print(
      { ...share, link },
      `People with this link see the results of ${template} until ${share.expires_at}:\n\n${link}`,
    )
  }),
).pipe(
  Command.withDescription("Make a read-only link to the results of a template; prints it this once"),
  Command.withExamples([{ command: "parlance share create abandoned-cart --days 30" }]),
)

const list = Command.make(
  "list",
  { template },
  Effect.fnUntraced(function* ({ template }) {
    const client = yield* ManagementClient
    const { shares } = yield* client.results.listResultShares({ params: { org: yield* organization, template } })
    yield* print(
      shares,
      shares.length === 0 ? `No link to the results of ${template}` : table(
        ["id", "created by", "created", "expires"],
        shares.map(({ created_at, created_by, expires_at, id }) => [id, created_by, created_at, expires_at]),
      ),
    )
  }),
).pipe(Command.withDescription("List the links to the results of a template"))

const revoke = Command.make(
  "revoke",
  { template, id: Argument.String("link").pipe(Argument.withDescription("The link's id")) },
  Effect.fnUntraced(function* ({ id, template }) {
    const client = yield* ManagementClient
    yield* client.results.revokeResultShare({ params: { org: yield* organization, template, share: id } })
    yield* print({ id, revoked: true }, `Revoked the link ${id}`)
  }),
).pipe(Command.withDescription("Revoke a link to the results of a template at once"))

/** `parlance share …` */
export const shareCommand = Command.make("share").pipe(
  Command.withDescription("Read-only links to results"),
  Command.withSubcommands([create, list, revoke]),
)
