import { Effect } from "effect"
import { Flag } from "effect/cli"
import { managementScopes, scopeNames } from "../domain/ApiKey.ts"
import { formatRateLimit, parseRateLimit } from "../text/RateLimit.ts"
import { call, commandGroup } from "./ApiCommand.ts"
import { CommandFailed } from "./Connection.ts"
import { argument, choice, orAbsent, parsed, text } from "./Flags.ts"

/** Parses the rate limit of a key. Null is the default limit. */
const limitOf = (text: string) => {
  const limit = text === "default" ? null : parseRateLimit(text)
  return limit !== undefined ? Effect.succeed(limit) : new CommandFailed({
    message: `--rate-limit ${text}: must be a limit such as 100/second or 5000/minute, with 1 to 1,000,000 ` +
      "requests, or the word default.",
  })
}

const rate_limit = parsed(
  "rate-limit",
  "Rate limit, such as 100/second or 5000/minute; default: KEY_RATE_LIMIT",
  limitOf,
)

const key = argument("id", "The key's id, not the key itself")

/** `parlance key …` */
export const keyCommand = commandGroup("key", "API keys", {
  create: call("createKey", "Create an API key; its value is shown once", {
    name: argument("name", "Purpose of the key"),
    scopes: Flag.Literals("scope", scopeNames).pipe(
      Flag.withDescription(
        "Permission of the key. Repeat the option for several. Default: generate and deliver. Scopes of the management API: " +
          Object.entries(managementScopes).map(([scope, meaning]) => `${scope}: ${meaning}`).join(". "),
      ),
      Flag.between(0, scopeNames.length),
      Flag.map(orAbsent),
    ),
    kind: choice(
      "kind",
      ["live", "test"],
      "test: its requests stay in the sandbox and are never counted, learned from or sent. Default: live",
    ),
    expires_at: text("expires-at", "Expiry in ISO 8601, such as 2027-01-01T00:00:00Z. Default: never"),
    rate_limit,
  }).examples(
    { command: "parlance key create shop --scope generate --scope events", description: "A key for a shop" },
    { command: "parlance key create ci --scope templates:write", description: "A key that imports templates" },
  ).text(({ id, key }) => `${key}\n\nThe key is shown only this once. Its id is ${id}.`),

  list: call("listKeys", "List API keys").result(({ keys }) => keys).table({
    id: "id",
    name: "name",
    kind: "kind",
    scopes: ({ scopes }) => scopes.join(" "),
    created: "created_at",
    expires: "expires_at",
    revoked: "revoked_at",
    "last used": "last_used_at",
    limit: ({ rate_limit }) => rate_limit === null ? "default" : formatRateLimit(rate_limit),
  }),

  update: call("updateKey", "Change the name or the limit of an API key", {
    key,
    name: text("name", "Purpose of the key"),
    rate_limit,
  }).text(({ id, name, rate_limit }) => {
    const limit = rate_limit === null ? "the default limit" : `a limit of ${formatRateLimit(rate_limit)}`
    return `${id} (${name}) has ${limit}; it applies on every node within 5 seconds`
  }),

  revoke: call("revokeKey", "Revoke an API key", { key })
    .result((_, { key }) => ({ id: key, revoked: true }))
    .text(({ id }) => `Revoked ${id}; it stops working everywhere within 5 seconds`),
})
