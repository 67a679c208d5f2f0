import { english } from "../languages/Language.ts"
import { Schema } from "effect"
import { RateLimit } from "../text/RateLimit.ts"
import { KeyId } from "./Ids.ts"

/** Scopes of the management API under `/console/api`, with the access that each of them grants. */
export const managementScopes = {
  "templates:read": english("Read templates and variants"),
  "templates:write": english("Create, import, change and delete templates and variants"),
  "templates:publish": english("As templates:write, and changes go live without approval"),
  "results:read": english("Read results and decisions"),
  "deliveries:read": english("Read deliveries and the suppression list"),
  "deliveries:write": english("Cancel and retry deliveries, and suppress addresses"),
  "events:read": english("Read received events and the messages of a person"),
  "admin": english("Everything in the organization, settings and keys included"),
} as const
/** A scope of the management API. */
export type ManagementScope = keyof typeof managementScopes

/** The scopes of the management API. */
export const managementScopeNames = Object.keys(managementScopes) as ReadonlyArray<ManagementScope>

/** Scopes for systems that send messages and report events. */
const dataScopes = ["generate", "deliver", "events"] as const

/**
 * Permissions of a key. `generate` covers Generate, Batch generate and Delay; `deliver` also covers reading, listing
 * and cancelling deliveries of the organization. Other scopes open the management API, see `managementScopes`.
 */
export const Scope = Schema.Literals([...dataScopes, ...managementScopeNames])
export type Scope = typeof Scope.Type

/** All scopes. The scopes of the management API come last. */
export const scopeNames: ReadonlyArray<Scope> = Scope.literals

/** Whether a scope opens the management API. */
export const isManagementScope = (scope: Scope): scope is ManagementScope => Object.hasOwn(managementScopes, scope)

/** Scopes any of which grants `needed`: `admin` includes the other management scopes, `write` includes `read`, and
 * `publish` includes `write`.
 */
export const grantedBy = (needed: ManagementScope): ReadonlyArray<ManagementScope> => {
  const writing = needed.replace(/:read$/, ":write")
  const publishing = writing.replace(/:write$/, ":publish")
  return managementScopeNames.filter((scope) =>
    scope === needed || scope === writing || scope === publishing || scope === "admin"
  )
}

/** Whether a key affects production data. Requests with a test key affect only the sandbox of its organization. */
export const KeyKind = Schema.Literals(["live", "test"]).annotate({
  description:
    "`test`: decisions, events and messages of the key are kept in the sandbox of the organization and never " +
    "counted, learned from or sent. The key starts with `plt_`",
})
export type KeyKind = typeof KeyKind.Type

/** Default scopes of a key. */
export const defaultScopes: ReadonlyArray<Scope> = ["generate", "deliver"]

/**
 * A stored key without its secret. Times are ISO 8601 in UTC, and `last_used_at` is accurate to a minute. A key without
 * `rate_limit` has the default of the installation.
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
