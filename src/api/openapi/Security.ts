import { OpenApi } from "effect/http-api"
import { type Rule, scopesFor } from "../../accounts/Access.ts"
import type { Scope } from "../../domain/ApiKey.ts"

// The security requirements of the OpenAPI document. A requirement on an API key lists the scope of which the key needs one
// (OpenAPI 3.1 allows that for every scheme).

/** The name of an operation without its group. */
export const operationName = (operationId: string): string => operationId.slice(operationId.indexOf(".") + 1)

/** Requires an API key with the scope, in either header. */
export const withKey = (scope: Scope) =>
  OpenApi.annotations({ override: { security: [{ ApiKeyHeader: [scope] }, { ApiKeyBearer: [scope] }] } })

/** How the API's keys are sent. */
export const keySchemes = {
  ApiKeyHeader: { type: "apiKey", in: "header", name: "X-Api-Key", description: "An API key of the organization" },
  ApiKeyBearer: { type: "http", scheme: "bearer", description: "An API key of the organization" },
} as const

/** How management requests are authenticated. */
export const managementSchemes = {
  AdminToken: { type: "http", scheme: "bearer", description: "ADMIN_TOKEN of the installation" },
  ConsoleSession: {
    type: "apiKey",
    in: "cookie",
    name: "parlance_session",
    description: "A session of the console. Requests that change something also need the header X-CSRF-Token",
  },
} as const

type Requirements = OpenApi.OpenAPISpecOperation["security"]

/** Requires the admin token, a session of the console, or an API key with one of the scopes that a rule names. */
export const managementSecurity = (rule: Rule) => {
  const byKey = scopesFor(rule).flatMap((scope) => [{ ApiKeyHeader: [scope] }, { ApiKeyBearer: [scope] }])
  return OpenApi.annotations({ override: { security: [{ AdminToken: [] }, { ConsoleSession: [] }, ...byKey] } })
}

/** A sentence about the scopes that open an operation; undefined for operations that need no authentication. */
export const accessOf = (security: Requirements): string | undefined => {
  if (security.length === 0) return undefined
  const scopes = security.flatMap((schemes) => schemes["ApiKeyHeader"] ?? [])
  if (scopes.length === 0) return "API keys are refused."
  return `An API key needs ${scopes.length === 1 ? "the scope" : "one of the scopes"} ${
    scopes.map((scope) => `\`${scope}\``).join(", ")
  }.`
}
