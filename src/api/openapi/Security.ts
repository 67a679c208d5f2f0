import { OpenApi } from "effect/http-api"
import { type Rule, scopesFor } from "../../accounts/Access.ts"
import type { Scope } from "../../domain/ApiKey.ts"

// The security requirements of the OpenAPI document. Each requirement on an API key lists one scope. The key needs the
// scope of one of the requirements (OpenAPI 3.1 allows scopes for every scheme).

/** Returns the name of an operation without its group. */
export const operationName = (operationId: string): string => operationId.slice(operationId.indexOf(".") + 1)

/** Requires an API key with the scope, in either header. */
export const withKey = (scope: Scope) =>
  OpenApi.annotations({ override: { security: [{ ApiKeyHeader: [scope] }, { ApiKeyBearer: [scope] }] } })

/** The schemes by which requests send API keys. */
export const keySchemes = {
  ApiKeyHeader: { type: "apiKey", in: "header", name: "X-Api-Key", description: "An API key of the organization" },
  ApiKeyBearer: { type: "http", scheme: "bearer", description: "An API key of the organization" },
} as const

/** The schemes by which management requests authenticate, in addition to API keys. */
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

/** Requires the admin token, a session of the console, or an API key with one of the rule's scopes. */
export const managementSecurity = (rule: Rule) => {
  const byKey = scopesFor(rule).flatMap((scope) => [{ ApiKeyHeader: [scope] }, { ApiKeyBearer: [scope] }])
  return OpenApi.annotations({ override: { security: [{ AdminToken: [] }, { ConsoleSession: [] }, ...byKey] } })
}

/** Returns a sentence about the scopes that an operation requires. Undefined for operations without authentication. */
export const accessOf = (security: Requirements): string | undefined => {
  if (security.length === 0) return undefined
  const scopes = security.flatMap((schemes) => schemes["ApiKeyHeader"] ?? [])
  if (scopes.length === 0) return "API keys are refused."
  return `An API key needs ${scopes.length === 1 ? "the scope" : "one of the scopes"} ${
    scopes.map((scope) => `\`${scope}\``).join(", ")
  }.`
}
