import { Schema } from "effect"
import { HttpApiEndpoint, OpenApi } from "effect/http-api"
import { reads, writes } from "../../accounts/Access.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Problems from "../Problems.ts"

// The part of the management API for the messages that sinks stored.

const path = { org: Schema.String }

/** A message in a list. */
const SinkSummaryResource = Schema.Struct({
  id: Schema.String.annotate({ description: "Id of the delivery and tracking id" }),
  test: Schema.Boolean.annotate({ description: "Whether it comes from a request with a test key" }),
  template_id: Schema.String,
  copy_id: Schema.String,
  email: Schema.String.annotate({ description: "The recipient" }),
  from: Schema.String,
  subject: Schema.NullOr(Schema.String),
  fault: Schema.NullOr(Schema.String).annotate({
    description: "Why no e-mail could be composed of the variables; an SMTP connection would not send the message",
  }),
  received_at: Schema.String,
}).annotate({ identifier: "SandboxMessageSummary" })

/** A message with its complete content. */
const SinkMessageResource = Schema.Struct({
  ...SinkSummaryResource.fields,
  html: Schema.NullOr(Schema.String),
  text: Schema.NullOr(Schema.String),
  headers: Schema.Array(Schema.Struct({ name: Schema.String, value: Schema.String })),
  links: Schema.Array(Schema.String).annotate({ description: "Targets of its links, without duplicates" }),
  vars: Schema.Record(Schema.String, Schema.String).annotate({ description: "The rendered variables" }),
}).annotate({ identifier: "SandboxMessage" })

/** Endpoints of sandboxes. */
export class SandboxGroup extends managementGroup(
  "sandbox",
  "Requests with test keys affect only the sandbox of the organization. Deliveries, suppressions, stories, events " +
    "and the inbox of a sandbox are read under its own name, `SLUG~test`, in the paths of the management API.",
  {
    listSinkMessages: reads("viewer", "deliveries:read", { inSandbox: true }),
    getSinkMessage: reads("viewer", "deliveries:read", { inSandbox: true }),
    clearSinkMessages: writes("editor", "sandbox messages removed", "deliveries:write", { inSandbox: true }),
  },
  HttpApiEndpoint.get("listSinkMessages", "/organizations/:org/sandbox/messages", {
    params: path,
    success: Schema.Struct({ messages: Schema.Array(SinkSummaryResource) }),
    error: Problems.OrganizationNotFound,
  }).annotate(OpenApi.Summary, "The messages in the sandbox, newest first").annotate(
    OpenApi.Description,
    "Messages of test keys, and of live keys if the organization delivers through a connection of the platform " +
      "`sink`. The latest 200 of each are kept for 7 days.",
  ),
  HttpApiEndpoint.get("getSinkMessage", "/organizations/:org/sandbox/messages/:message", {
    params: { ...path, message: Schema.String },
    success: SinkMessageResource,
    error: [Problems.OrganizationNotFound, Problems.DeliveryNotFound],
  }).annotate(OpenApi.Summary, "A message in the sandbox: its parts, headers and links"),
  HttpApiEndpoint.delete("clearSinkMessages", "/organizations/:org/sandbox/messages", {
    params: path,
    success: Schema.Struct({ removed: Schema.Int }),
    error: Problems.OrganizationNotFound,
  }).annotate(OpenApi.Summary, "Removes all messages from the sandbox"),
).annotate(OpenApi.Title, "Sandbox") {}
