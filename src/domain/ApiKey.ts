import { Schema } from "effect"
import { KeyId } from "./Ids.ts"

/**
 * Permissions of a key. `generate` covers Generate, Batch generate and Delay; `deliver` also covers reading, listing
 * and cancelling deliveries of the organization.
 */
export const Scope = Schema.Literals(["generate", "deliver", "events"])
export type Scope = typeof Scope.Type

/** Whether a key affects production data. Requests with a test key affect only the sandbox of its organization. */
export const KeyKind = Schema.Literals(["live", "test"]).annotate({
  description:
    "`test`: decisions, events and messages of the key are kept in the sandbox of the organization and never " +
    "counted, learned from or sent. The key starts with `plt_`",
})
export type KeyKind = typeof KeyKind.Type

/** Default scopes of a key. */
export const defaultScopes: ReadonlyArray<Scope> = ["generate", "deliver"]

/** Windows over which a limit counts, and their length in milliseconds. */
export const windowMillis = { second: 1000, minute: 60_000 }

/** How often a key may be used: so many requests in every sliding window, 1 to 1,000,000. */
export const RateLimit = Schema.Struct({
  requests: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 })),
  per: Schema.Literals(["second", "minute"]),
})
export type RateLimit = typeof RateLimit.Type

/** Parses a rate limit such as `100/second`; undefined for invalid text. */
export const parseRateLimit = (text: string): RateLimit | undefined => {
  const [, requests, per] = /^([1-9]\d{0,6})\s*\/\s*(second|minute)$/.exec(text.trim()) ?? []
  return requests === undefined || Number(requests) > 1_000_000
    ? undefined
    : { requests: Number(requests), per: per as RateLimit["per"] }
}

/** The text of a limit, such as `100/second`. */
export const formatRateLimit = ({ per, requests }: RateLimit): string => `${requests}/${per}`

/**
 * A stored key without its secret, times as ISO 8601 UTC. `last_used_at` is exact to a minute; without a `rate_limit` of its
 * own a key has the installation's default.
 */
export const ApiKey = Schema.Struct({
  id: KeyId,
  name: Schema.String,
  kind: KeyKind,
  scopes: Schema.Array(Scope),
  created_at: Schema.String,
  expires_at: Schema.NullOr(Schema.String),
  revoked_at: Schema.NullOr(Schema.String),
  last_used_at: Schema.NullOr(Schema.String),
  rate_limit: Schema.NullOr(RateLimit),
}).annotate({ identifier: "ApiKey" })
export type ApiKey = typeof ApiKey.Type
