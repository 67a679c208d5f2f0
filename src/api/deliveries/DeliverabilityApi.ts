import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "effect/http-api"
import { DkimKeyChange, NewDkimKey } from "../../delivery/dkim/DkimKeys.ts"
import { TestMessageRequest } from "../../delivery/receivers/TestMessages.ts"
import { reads, writes } from "../../accounts/Access.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Problems from "../Problems.ts"

// The part of the management API for signatures and test messages.

const path = { org: Schema.String, connection: Schema.String }
const keyPath = { ...path, selector: Schema.String }

/** A DNS record to publish. */
const Record = Schema.Struct({
  name: Schema.String,
  type: Schema.Literal("TXT"),
  value: Schema.String.annotate({
    description: "In a zone file, a value of more than 255 characters is written as several strings",
  }),
})

/** A DKIM key without its private half. */
export const DkimKeyResource = Schema.Struct({
  domain: Schema.String,
  selector: Schema.String,
  bits: Schema.Int.annotate({ description: "Length of the RSA key" }),
  signing: Schema.Boolean.annotate({
    description: "Whether the key signs the messages of the connection; at most one does",
  }),
  record: Record.annotate({ description: "The record to publish, with the public key" }),
  created_at: Schema.String,
}).annotate({ identifier: "DkimKey" })
export type DkimKeyResource = typeof DkimKeyResource.Type

/** The result of one check that receivers make. */
const Finding = Schema.Struct({
  check: Schema.Literals(["spf", "dkim", "dmarc", "alignment", "unsubscribe", "plain-text", "encryption"]),
  status: Schema.Literals(["ok", "missing", "wrong", "unknown"]).annotate({
    description: "`unknown` if the service cannot check, for example because DNS is unavailable",
  }),
  detail: Schema.String.annotate({ description: "The finding and its remedy, in sentences" }),
  record: Schema.NullOr(Record).annotate({ description: "The DNS record to publish; null if the check has no record" }),
}).annotate({ identifier: "Finding" })

/** The result of a test message. */
export const TestMessageReport = Schema.Struct({
  ok: Schema.Boolean.annotate({ description: "Whether the mail server accepted the message. Findings do not count" }),
  detail: Schema.String,
  message_id: Schema.NullOr(Schema.String),
  findings: Schema.Array(Finding),
}).annotate({ identifier: "TestMessageResult" })
export type TestMessageReport = typeof TestMessageReport.Type

const notFound = [Problems.OrganizationNotFound, Problems.ConnectionNotFound] as const

/** Endpoints of DKIM keys and test messages. */
export class DeliverabilityGroup extends managementGroup(
  "deliverability",
  "DKIM keys and test messages of connections",
  {
    listDkimKeys: reads("viewer", "admin"),
    createDkimKey: writes("admin", "DKIM key made", "admin"),
    updateDkimKey: writes("admin", "DKIM key changed", "admin"),
    deleteDkimKey: writes("admin", "DKIM key removed", "admin"),
    sendTestMessage: writes("admin", "test message sent", "admin"),
  },
  HttpApiEndpoint.get("listDkimKeys", "/organizations/:org/connections/:connection/dkim", {
    params: path,
    success: Schema.Struct({ keys: Schema.Array(DkimKeyResource) }),
    error: [...notFound],
  }).annotate(OpenApi.Summary, "The DKIM keys of a connection").annotate(
    OpenApi.Description,
    "The newest first, with the DNS record of each.",
  ),
  HttpApiEndpoint.post("createDkimKey", "/organizations/:org/connections/:connection/dkim", {
    params: path,
    payload: NewDkimKey,
    success: DkimKeyResource.pipe(HttpApiSchema.status(201)),
    error: [...Problems.ofBody, ...notFound, Problems.Unprocessable],
  }).annotate(OpenApi.Summary, "Creates or imports a DKIM key").annotate(
    OpenApi.Description,
    "Creates an RSA key of 2,048 bits, or imports one of 1,024 to 4,096 bits (`private_key`, PEM). Ed25519 keys are refused. " +
      "`domain` is by default the domain of the sender. The private key is stored encrypted and never shown. The key does " +
      "not sign yet: publish `record` first. Only SMTP connections have keys, at most 10 each.",
  ),
  HttpApiEndpoint.patch("updateDkimKey", "/organizations/:org/connections/:connection/dkim/:selector", {
    params: keyPath,
    payload: DkimKeyChange,
    success: DkimKeyResource,
    error: [...Problems.ofBody, ...notFound, Problems.DkimKeyNotFound, Problems.Unprocessable],
  }).annotate(OpenApi.Summary, "Turns signing with a DKIM key on or off").annotate(
    OpenApi.Description,
    "`signing: true` makes this the signing key of the connection. It is refused with 422 while the record is not found " +
      "in DNS, unless `unchecked` is true. With `signing: false`, messages are sent unsigned.",
  ),
  HttpApiEndpoint.delete("deleteDkimKey", "/organizations/:org/connections/:connection/dkim/:selector", {
    params: keyPath,
    success: HttpApiSchema.NoContent,
    error: [...notFound, Problems.DkimKeyNotFound],
  }).annotate(OpenApi.Summary, "Removes a DKIM key").annotate(
    OpenApi.Description,
    "Leave its record in DNS for some days: receivers still check messages in transit against it.",
  ),
  HttpApiEndpoint.post("sendTestMessage", "/organizations/:org/connections/:connection/test-message", {
    params: path,
    payload: TestMessageRequest,
    success: TestMessageReport,
    error: [
      ...Problems.ofBody,
      ...notFound,
      Problems.TemplateNotFound,
      Problems.VariantNotFound,
      Problems.Unprocessable,
      Problems.RecipientSuppressed,
      Problems.TooManyTestMessages,
    ],
  }).annotate(OpenApi.Summary, "Sends a test message").annotate(
    OpenApi.Description,
    "Sends a real message through an SMTP connection to `to`, and runs the checks that receivers make: SPF, DKIM and DMARC " +
      "records, alignment with the sender's domain, List-Unsubscribe, the plain-text part, and encryption. `template_id` " +
      "sends the content of a template (`copy_id`: of one variant), rendered with `fields`. The message is excluded from " +
      "results. An organization can send 100 per hour and 300 per day. Addresses on the suppression list are refused.",
  ),
) {}
