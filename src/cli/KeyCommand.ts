import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { managementScopes, scopeNames } from "../domain/ApiKey.ts"
import { formatRateLimit, parseRateLimit } from "../text/RateLimit.ts"
import type { KeyBody, KeyPatch } from "../api/organizations/OrganizationsApi.ts"
import { CommandFailed } from "./Connection.ts"
import { argument, choice, given, text } from "./Flags.ts"
import { bodyOf } from "./Inputs.ts"
import { organizationCommand } from "./ManagementCommand.ts"

const rateLimit = text("rate-limit", "Rate limit, such as 100/second or 5000/minute; default: KEY_RATE_LIMIT")

/** Parses the rate limit of a key into the members of a request's body. */
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

const create = organizationCommand({
  name: "create",
  description: "Create an API key; its value is shown once",
  flags: {
    name: argument("name", "Purpose of the key"),
    scopes: Flag.Literals("scope", scopeNames).pipe(
      Flag.withDescription(
        "Permission of the key. Repeat the option for several. Default: generate and deliver. Scopes of the management API: " +
          Object.entries(managementScopes).map(([scope, meaning]) => `${scope}: ${meaning}`).join(". "),
      ),
      Flag.between(0, scopeNames.length),
    ),
    kind: choice(
      "kind",
      ["live", "test"],
      "test: its requests stay in the sandbox and are never counted, learned from or sent. Default: live",
    ),
    expiresAt: text("expires-at", "Expiry in ISO 8601, such as 2027-01-01T00:00:00Z. Default: never"),
    rateLimit,
  },
  payload: ({ expiresAt, kind, name, rateLimit, scopes }) =>
    Effect.map(limitIn(rateLimit), (limit) =>
      bodyOf<typeof KeyBody.Type>({
        name,
        ...given({ kind, expires_at: expiresAt }),
        ...(scopes.length > 0 ? { scopes } : {}),
        ...limit,
      })),
  call: (client, { org, payload }) => client.keys.createKey({ params: { org }, payload }),
}).text(({ id, key }) => `${key}\n\nThe key is shown only this once. Its id is ${id}.`).pipe(
  Command.withExamples([
    { command: "parlance key create shop --scope generate --scope events", description: "A key for a shop" },
    { command: "parlance key create ci --scope templates:write", description: "A key that imports templates" },
  ]),
)

const list = organizationCommand({
  name: "list",
  description: "List API keys",
  call: (client, { org }) => client.keys.listKeys({ params: { org } }),
  result: ({ keys }) => keys,
}).table({
  id: "id",
  name: "name",
  kind: "kind",
  scopes: ({ scopes }) => scopes.join(" "),
  created: "created_at",
  expires: "expires_at",
  revoked: "revoked_at",
  "last used": "last_used_at",
  limit: ({ rate_limit }) => rate_limit === null ? "default" : formatRateLimit(rate_limit),
})

const id = argument("id", "The key's id, not the key itself")

const update = organizationCommand({
  name: "update",
  description: "Change the name or the limit of an API key",
  flags: { id, name: text("name", "Purpose of the key"), rateLimit },
  payload: ({ name, rateLimit }) =>
    Effect.map(limitIn(rateLimit), (limit) => bodyOf<typeof KeyPatch.Type>({ ...given({ name }), ...limit })),
  call: (client, { id, org, payload }) => client.keys.updateKey({ params: { org, key: id }, payload }),
}).text((key) => {
  const limit = key.rate_limit === null ? "the default limit" : `a limit of ${formatRateLimit(key.rate_limit)}`
  return `${key.id} (${key.name}) has ${limit}; it applies on every node within 5 seconds`
})

const revoke = organizationCommand({
  name: "revoke",
  description: "Revoke an API key",
  flags: { id },
  call: (client, { id, org }) => client.keys.revokeKey({ params: { org, key: id } }),
  result: (_, { id }) => ({ id, revoked: true }),
}).text(({ id }) => `Revoked ${id}; it stops working everywhere within 5 seconds`)

/** `parlance key …` */
export const keyCommand = Command.make("key").pipe(
  Command.withDescription("API keys"),
  Command.withSubcommands([create, list, update, revoke]),
)
