import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { formatRateLimit, managementScopes, parseRateLimit, scopeNames } from "../domain/ApiKey.ts"
import type { KeyBody, KeyPatch } from "../api/organizations/OrganizationsApi.ts"
import { CommandFailed, ManagementClient } from "./Connection.ts"
import { bodyOf } from "./Inputs.ts"
import { organization, print } from "./Root.ts"
import { table } from "./Table.ts"

const rateLimit = Flag.String("rate-limit").pipe(
  Flag.withDescription(
    "Rate limit, such as 100/second or 5000/minute; default: KEY_RATE_LIMIT",
  ),
  Flag.optional,
)

/** The limit as members of a body. */
const limitIn = Effect.fnUntraced(function* (text: Option.Option<string>) {
  if (Option.isNone(text)) return {}
  if (text.value === "default") return { rate_limit: null }
  const limit = parseRateLimit(text.value)
  return limit === undefined
    ? yield* new CommandFailed({
      message: `--rate-limit ${text.value}: must be a limit such as 100/second or 5000/minute, with 1 to 1,000,000 ` +
        "requests, or the word default.",
    })
    : { rate_limit: limit }
})

const create = Command.make(
  "create",
  {
    name: Argument.String("name").pipe(Argument.withDescription("Purpose of the key")),
    scopes: Flag.Literals("scope", scopeNames).pipe(
      Flag.withDescription(
        "Permission of the key. Repeat the option for several. Default: generate and deliver. Scopes of the management API: " +
          Object.entries(managementScopes).map(([scope, meaning]) => `${scope}: ${meaning}`).join(". "),
      ),
      Flag.between(0, scopeNames.length),
    ),
    kind: Flag.Literals("kind", ["live", "test"]).pipe(
      Flag.withDescription(
        "test: its requests stay in the sandbox and are never counted, learned from or sent. Default: live",
      ),
      Flag.optional,
    ),
    expiresAt: Flag.String("expires-at").pipe(
      Flag.withDescription("Expiry in ISO 8601, such as 2027-01-01T00:00:00Z. Default: never"),
      Flag.optional,
    ),
    rateLimit,
  },
  Effect.fnUntraced(function* ({ expiresAt, kind, name, rateLimit, scopes }) {
    const client = yield* ManagementClient
    const payload = bodyOf<typeof KeyBody.Type>({
      name,
      ...(Option.isSome(kind) ? { kind: kind.value } : {}),
      ...(scopes.length > 0 ? { scopes } : {}),
      ...(Option.isSome(expiresAt) ? { expires_at: expiresAt.value } : {}),
      ...(yield* limitIn(rateLimit)),
    })
    const key = yield* client.keys.createKey({ params: { org: yield* organization }, payload })
    yield* print(key, `${key.key}\n\nThe key is shown only this once. Its id is ${key.id}.`)
  }),
).pipe(
  Command.withDescription("Create an API key; its value is shown once"),
  Command.withExamples([
    { command: "parlance key create shop --scope generate --scope events", description: "A key for a shop" },
    { command: "parlance key create ci --scope templates:write", description: "A key that imports templates" },
  ]),
)

const list = Command.make(
  "list",
  {},
  Effect.fnUntraced(function* () {
    const client = yield* ManagementClient
    const { keys } = yield* client.keys.listKeys({ params: { org: yield* organization } })
    yield* print(
      keys,
      table(
        ["id", "name", "kind", "scopes", "created", "expires", "revoked", "last used", "limit"],
        keys.map((key) => [
          key.id,
          key.name,
          key.kind,
          key.scopes.join(" "),
          key.created_at,
          key.expires_at,
          key.revoked_at,
          key.last_used_at,
          key.rate_limit === null ? "default" : formatRateLimit(key.rate_limit),
        ]),
      ),
    )
  }),
).pipe(Command.withDescription("List API keys"))

const update = Command.make(
  "update",
  {
    id: Argument.String("id").pipe(Argument.withDescription("The key's id, not the key itself")),
    name: Flag.String("name").pipe(Flag.withDescription("Purpose of the key"), Flag.optional),
    rateLimit,
  },
  Effect.fnUntraced(function* ({ id, name, rateLimit }) {
    const client = yield* ManagementClient
    const payload = bodyOf<typeof KeyPatch.Type>({
      ...(Option.isSome(name) ? { name: name.value } : {}),
      ...(yield* limitIn(rateLimit)),
    })
    const key = yield* client.keys.updateKey({ params: { org: yield* organization, key: id }, payload })
    const limit = key.rate_limit === null ? "the default limit" : `a limit of ${formatRateLimit(key.rate_limit)}`
    yield* print(key, `${key.id} (${key.name}) has ${limit}; it applies on every node within 5 seconds`)
  }),
).pipe(Command.withDescription("Change the name or the limit of an API key"))

const revoke = Command.make(
  "revoke",
  { id: Argument.String("id").pipe(Argument.withDescription("The key's id, not the key itself")) },
  Effect.fnUntraced(function* ({ id }) {
    const client = yield* ManagementClient
    yield* client.keys.revokeKey({ params: { org: yield* organization, key: id } })
    yield* print({ id, revoked: true }, `Revoked ${id}; it stops working everywhere within 5 seconds`)
  }),
).pipe(Command.withDescription("Revoke an API key"))

/** `parlance key …` */
export const keyCommand = Command.make("key").pipe(
  Command.withDescription("API keys"),
  Command.withSubcommands([create, list, update, revoke]),
)
