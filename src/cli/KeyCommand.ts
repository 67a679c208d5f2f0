import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { KeyBody } from "../http/Api.ts"
import { ManagementClient } from "./Connection.ts"
import { decodeInput } from "./Inputs.ts"
import { organization, print } from "./Root.ts"
import { table } from "./Table.ts"

const create = Command.make(
  "create",
  {
    name: Argument.String("name").pipe(Argument.withDescription("What the key is for")),
    scopes: Flag.Literals("scope", ["generate", "deliver", "events"]).pipe(
      Flag.withDescription("What it may do; repeat for several. Default: generate and deliver"),
      Flag.between(0, 3),
    ),
    expiresAt: Flag.String("expires-at").pipe(
      Flag.withDescription("When it ends, ISO 8601, such as 2027-01-01T00:00:00Z. Default: never"),
      Flag.optional,
    ),
  },
  Effect.fnUntraced(function* ({ expiresAt, name, scopes }) {
    const client = yield* ManagementClient
    const payload = yield* decodeInput(KeyBody, {
      name,
      ...(scopes.length > 0 ? { scopes } : {}),
      ...(Option.isSome(expiresAt) ? { expires_at: expiresAt.value } : {}),
    })
    const key = yield* client.keys.createKey({ params: { org: yield* organization }, payload })
    yield* print(key, `${key.key}\n\nThis is the only time the key is shown. Its id is ${key.id}.`)
  }),
).pipe(Command.withDescription("Make an API key; its value is shown once"))

const list = Command.make(
  "list",
  {},
  Effect.fnUntraced(function* () {
    const client = yield* ManagementClient
    const { keys } = yield* client.keys.listKeys({ params: { org: yield* organization } })
    yield* print(
      keys,
      table(
        ["id", "name", "scopes", "created", "expires", "revoked", "last used"],
        keys.map((key) => [
          key.id,
          key.name,
          key.scopes.join(" "),
          key.created_at,
          key.expires_at,
          key.revoked_at,
          key.last_used_at,
        ]),
      ),
    )
  }),
).pipe(Command.withDescription("List API keys"))

const revoke = Command.make(
  "revoke",
  { id: Argument.String("id").pipe(Argument.withDescription("The key's id, not the key itself")) },
  Effect.fnUntraced(function* ({ id }) {
    const client = yield* ManagementClient
    yield* client.keys.revokeKey({ params: { org: yield* organization, key: id } })
    yield* print({ id, revoked: true }, `Revoked ${id}; it stops working everywhere within 5 seconds`)
  }),
).pipe(Command.withDescription("End an API key"))

/** `parlance key …` */
export const keyCommand = Command.make("key").pipe(
  Command.withDescription("API keys"),
  Command.withSubcommands([create, list, revoke]),
)
