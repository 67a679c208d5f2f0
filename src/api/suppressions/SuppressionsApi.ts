import { Result, Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "effect/http-api"
import { readAddress } from "../../text/AddressText.ts"
import { isStorable } from "../../domain/Attributes.ts"
import { validateAddress } from "../../text/Email.ts"
import { SuppressionReason } from "../../domain/SuppressionReason.ts"
import { addressKey } from "../../suppressions/AddressKey.ts"
import { reads, writes } from "../../accounts/Access.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Problems from "../Problems.ts"
import * as Cursors from "../http/Cursors.ts"
import * as Parameters from "../http/Parameters.ts"

// The part of the management API for the suppression list.

const path = { org: Schema.String }
const addressPath = {
  ...path,
  address: Schema.String.annotate({ description: "In upper or lower case, percent-encoded" }),
}
const emailQuery = Parameters.required(
  "In upper or lower case. A `+` in it is written `%2B`, as in any query",
  Parameters.ofAddress((text): Result.Result<string, string> =>
    text === undefined
      ? Result.fail("is required")
      : isStorable(text) && addressKey(text) !== undefined
      ? Result.succeed(text)
      : Result.fail("must be an address with one @, such as ada@example.com")
  ),
)
const reason = Parameters.oneOf(SuppressionReason.literals)
const reasonQuery = Parameters.described("Only for this reason. Default all", reason)

/** An entry of the suppression list: one reason why an address gets no messages. */
export const SuppressionResource = Schema.Struct({
  id: Schema.Int,
  email: Schema.NullOr(Schema.String).annotate({
    description:
      "In lowercase; null once the person has been erased: the list then has only a keyed digest of the address",
  }),
  address: Schema.NullOr(Schema.String).annotate({ description: "Earlier name of `email`, with the same value" }),
  reason: SuppressionReason,
  source: Schema.String.annotate({ description: "Origin of the entry, such as a webhook source, `api` or `import`" }),
  suppressed_at: Schema.String.annotate({
    description: "Time of the unsubscribe, complaint or bounce, or of the entry",
  }),
}).annotate({ identifier: "Suppression" })
export type SuppressionResource = typeof SuppressionResource.Type

/** An address to suppress. The route also accepts `address`, the earlier name of `email`. */
export const SuppressionInput = Schema.Struct({
  email: Schema.String.check(Schema.makeFilter<string>((email) => validateAddress(readAddress(email) ?? email.trim()))),
  reason: Schema.optionalKey(SuppressionReason).annotate({ description: "Default `manual`" }),
}).annotate({ identifier: "SuppressionInput" })

const Looked = Schema.Struct({ suppressed: Schema.Boolean, suppressions: Schema.Array(SuppressionResource) })

const Csv = Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/csv" }))

/** Endpoints of the suppression list. */
export class SuppressionsGroup extends managementGroup(
  "suppressions",
  "Addresses that get no messages",
  {
    listSuppressions: reads("viewer", "deliveries:read", { inSandbox: true }),
    addSuppression: writes("editor", "address suppressed", "deliveries:write", { inSandbox: true }),
    exportSuppressions: reads("viewer", "deliveries:read", { inSandbox: true }),
    importSuppressions: writes("editor", "suppressions imported", "deliveries:write"),
    findSuppression: reads("viewer", "deliveries:read", { inSandbox: true }),
    removeSuppression: writes("admin", "suppression removed", "admin", { inSandbox: true }),
    findSuppressionByPath: reads("viewer", "deliveries:read", { inSandbox: true }),
    removeSuppressionByPath: writes("admin", "suppression removed", "admin", { inSandbox: true }),
  },
  HttpApiEndpoint.get("listSuppressions", "/organizations/:org/suppressions", {
    params: path,
    query: {
      reason: Parameters.described(`Only these: ${SuppressionReason.literals.join(", ")}`, reason),
      ...Cursors.cursorOrNext("suppressions", Parameters.numericPosition()),
      limit: Parameters.limit(1_000, 100),
    },
    success: Schema.Struct({ suppressions: Schema.Array(SuppressionResource), ...Cursors.following(Schema.String) }),
    error: [Problems.InvalidRequest, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "The suppression list of an organization").annotate(
    OpenApi.Description,
    "Latest first. An address with several reasons has an entry for each.",
  ),
  HttpApiEndpoint.post("addSuppression", "/organizations/:org/suppressions", {
    params: path,
    payload: SuppressionInput,
    success: Schema.Struct({ suppressions: Schema.Array(SuppressionResource) }).pipe(HttpApiSchema.status(201)),
    error: [...Problems.ofBody, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "Adds an address to the suppression list").annotate(
    OpenApi.Description,
    "Cancels queued messages to the address. No message to the address begins to leave after the response, on any node. " +
      "A name or prefix around the address is left out. Returns all " +
      "entries of the address; an existing entry for this reason stays unchanged. `address` is an earlier name of `email`.",
  ),
  HttpApiEndpoint.get("exportSuppressions", "/organizations/:org/suppressions/export", {
    params: path,
    success: Csv,
    error: Problems.OrganizationNotFound,
  }).annotate(OpenApi.Summary, "The suppression list as CSV").annotate(
    OpenApi.Description,
    "The columns `address`, `reason`, `source` and `suppressed_at`, the latest first. The address of an erased person is " +
      "empty.",
  ),
  HttpApiEndpoint.post("importSuppressions", "/organizations/:org/suppressions/import", {
    params: path,
    payload: Csv,
    success: Schema.Struct({
      added: Schema.Int,
      present: Schema.Int.annotate({ description: "Rows whose address was already on the list for that reason" }),
      skipped: Schema.Int.annotate({ description: "Rows without an address" }),
    }),
    error: [Problems.InvalidRequest, Problems.PayloadTooLarge, Problems.Unavailable, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "Adds addresses from CSV").annotate(
    OpenApi.Description,
    "Imports all rows or none, at most 1 MiB and 20,000 rows. A header names the column `address` or `email`, and optionally `reason` " +
      "(default `manual`), `source` and `suppressed_at`; without a header the first column holds addresses. A fault's " +
      "pointer is `/line/` and the number of the line.",
  ),
  HttpApiEndpoint.get("findSuppression", "/organizations/:org/suppressions/lookup", {
    params: path,
    query: { email: emailQuery },
    success: Looked,
    error: [Problems.InvalidRequest, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "Whether an address is suppressed, and why"),
  HttpApiEndpoint.delete("removeSuppression", "/organizations/:org/suppressions", {
    params: path,
    query: { email: emailQuery, reason: reasonQuery },
    success: HttpApiSchema.NoContent,
    error: [Problems.InvalidRequest, Problems.OrganizationNotFound, Problems.SuppressionNotFound],
  }).annotate(OpenApi.Summary, "Removes an address from the suppression list").annotate(
    OpenApi.Description,
    "New messages to the address are sent. Cancelled messages stay cancelled. Repeated events, and events that are older " +
      "than the removal, do not put the address back.",
  ),
  HttpApiEndpoint.get("findSuppressionByPath", "/organizations/:org/suppressions/:address", {
    params: addressPath,
    success: Looked,
    error: Problems.OrganizationNotFound,
  }).annotate(OpenApi.Summary, "Whether an address in the path is suppressed").annotate(
    OpenApi.Description,
    "Use `findSuppression`: paths are kept by proxies and their logs.",
  ).annotate(OpenApi.Deprecated, true),
  HttpApiEndpoint.delete("removeSuppressionByPath", "/organizations/:org/suppressions/:address", {
    params: addressPath,
    query: { reason: reasonQuery },
    success: HttpApiSchema.NoContent,
    error: [Problems.InvalidRequest, Problems.OrganizationNotFound, Problems.SuppressionNotFound],
  }).annotate(OpenApi.Summary, "Removes an address in the path from the suppression list").annotate(
    OpenApi.Description,
    "Use `removeSuppression`.",
  ).annotate(OpenApi.Deprecated, true),
) {}
