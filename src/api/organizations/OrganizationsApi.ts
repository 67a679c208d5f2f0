import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "effect/http-api"
import { ApiKey, isManagementScope, KeyKind, managementScopes, Scope } from "../../domain/ApiKey.ts"
import { RateLimit } from "../../text/RateLimit.ts"
import { DisplayName } from "../../domain/Ids.ts"
import { Organization, OrganizationInput, OrganizationPatch } from "../../domain/Organization.ts"
import { Quota, Usage } from "../../domain/Usage.ts"
import { reads, writes } from "../../accounts/Access.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Problems from "../Problems.ts"

// The part of the management API for organizations and their keys.

const path = { org: Schema.String }

const lowerFirst = (text: string) => `${text.charAt(0).toLowerCase()}${text.slice(1)}`

/** Organizations: settings and usage. */
export class OrganizationsGroup extends managementGroup(
  "organizations",
  "Organizations: settings and usage",
  {
    createOrganization: writes("administrator", "organization created"),
    listOrganizations: reads("signed-in", "any"),
    getOrganization: reads("viewer", "admin"),
    updateOrganization: writes("admin", "organization changed", "admin"),
    organizationUsage: reads("viewer", "admin"),
    setOrganizationQuota: writes("administrator", "quota changed"),
  },
  HttpApiEndpoint.post("createOrganization", "/organizations", {
    payload: OrganizationInput,
    success: Organization.pipe(HttpApiSchema.status(201)),
    error: [...Problems.ofBody, Problems.Conflict],
  }).annotate(OpenApi.Summary, "Creates an organization"),
  HttpApiEndpoint.get("listOrganizations", "/organizations", {
    success: Schema.Struct({ organizations: Schema.Array(Organization) }),
  }).annotate(OpenApi.Summary, "The organizations to which the caller has access"),
  HttpApiEndpoint.get("getOrganization", "/organizations/:org", {
    params: path,
    success: Organization,
    error: Problems.OrganizationNotFound,
  }).annotate(OpenApi.Summary, "One organization"),
  HttpApiEndpoint.patch("updateOrganization", "/organizations/:org", {
    params: path,
    payload: OrganizationPatch,
    success: Organization,
    error: [...Problems.ofBody, Problems.OrganizationNotFound, Problems.Unprocessable],
  }).annotate(OpenApi.Summary, "Changes an organization's name, time zone and settings").annotate(
    OpenApi.Description,
    "`require_second_factor` can be turned on by the admin token, or by a caller with a second factor.",
  ),
  HttpApiEndpoint.get("organizationUsage", "/organizations/:org/usage", {
    params: path,
    success: Usage,
    error: Problems.OrganizationNotFound,
  }).annotate(OpenApi.Summary, "An organization's use of its daily quota of webhook bodies"),
  HttpApiEndpoint.put("setOrganizationQuota", "/organizations/:org/quota", {
    params: path,
    payload: Quota,
    success: Usage,
    error: [...Problems.ofBody, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "Sets an organization's quota").annotate(
    OpenApi.Description,
    "For administrators of the installation. If `webhook_daily_bytes` is null, WEBHOOK_DAILY_BYTES applies.",
  ),
) {}

/** A request to create a key. Defaults: `kind` live, `scopes` generate and deliver, and no expiry. */
export const KeyBody = Schema.Struct({
  name: DisplayName,
  kind: Schema.optionalKey(KeyKind),
  scopes: Schema.optionalKey(Schema.NonEmptyArray(Scope)),
  expires_at: Schema.optionalKey(Schema.NullOr(Schema.DateTimeUtcFromString)),
  rate_limit: Schema.optionalKey(Schema.NullOr(RateLimit)),
}).check(Schema.makeFilter(({ kind, scopes = [] }) => {
  const refused = kind === "test" ? scopes.filter(isManagementScope) : []
  return refused.length === 0 ? undefined : {
    path: ["scopes"],
    issue: `must be generate, deliver or events for a test key: ${refused.join(", ")} would open production data`,
  }
})).annotate({ identifier: "ApiKeyInput" })

/** A change of a key. If `rate_limit` is null, the default of the installation applies. */
export const KeyPatch = Schema.Struct({
  name: Schema.optionalKey(DisplayName),
  rate_limit: Schema.optionalKey(Schema.NullOr(RateLimit)),
}).annotate({ identifier: "ApiKeyPatch" })

/** API keys of an organization. */
export class KeysGroup extends managementGroup(
  "keys",
  "API keys",
  {
    createKey: writes("admin", "API key created", "admin"),
    listKeys: reads("viewer", "admin"),
    updateKey: writes("admin", "API key changed", "admin"),
    revokeKey: writes("admin", "API key revoked", "admin"),
  },
  HttpApiEndpoint.post("createKey", "/organizations/:org/keys", {
    params: path,
    payload: KeyBody,
    success: Schema.Struct({ ...ApiKey.fields, key: Schema.String }).pipe(HttpApiSchema.status(201)),
    error: [...Problems.ofBody, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "Creates an API key").annotate(
    OpenApi.Description,
    "`key` is the secret. Only this response contains it: the service stores a digest. Scopes of the management API: " +
      Object.entries(managementScopes).map(([scope, meaning]) => `\`${scope}\` (${lowerFirst(meaning)})`).join(", ") +
      ". `admin` includes the others, and a scope that ends with `write` includes `read`.",
  ),
  HttpApiEndpoint.get("listKeys", "/organizations/:org/keys", {
    params: path,
    success: Schema.Struct({ keys: Schema.Array(ApiKey) }),
    error: Problems.OrganizationNotFound,
  }).annotate(OpenApi.Summary, "The API keys of an organization, without their secrets"),
  HttpApiEndpoint.patch("updateKey", "/organizations/:org/keys/:key", {
    params: { ...path, key: Schema.String },
    payload: KeyPatch,
    success: ApiKey,
    error: [...Problems.ofBody, Problems.KeyNotFound],
  }).annotate(OpenApi.Summary, "Changes a key's name or limit").annotate(
    OpenApi.Description,
    "A new limit takes effect on all nodes within 5 seconds and applies to all nodes together. Every item of a batch " +
      "counts. Requests beyond the limit get 429 with Retry-After. All responses to the key have the headers " +
      "RateLimit-Policy and RateLimit. `rate_limit` null: the default of the installation.",
  ),
  HttpApiEndpoint.delete("revokeKey", "/organizations/:org/keys/:key", {
    params: { ...path, key: Schema.String },
    success: HttpApiSchema.NoContent,
    error: Problems.KeyNotFound,
  }).annotate(OpenApi.Summary, "Revokes an API key").annotate(
    OpenApi.Description,
    "The key stops working on all nodes within 5 seconds.",
  ),
) {}
