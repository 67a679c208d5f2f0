import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "effect/http-api"
import { TestGroup, TestGroupInput } from "../../domain/TestGroup.ts"
import { reads, writes } from "../../accounts/Access.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Problems from "../Problems.ts"

const path = { org: Schema.String }
const groupPath = { ...path, group: Schema.String }
const at = "/organizations/:org/test-groups" as const
const notFound = [Problems.OrganizationNotFound, Problems.TestGroupNotFound] as const

/** A test of a template for all recipients of a group. */
export const GroupTestRequest = Schema.Struct({
  template_id: Schema.String,
  copy_id: Schema.optionalKey(Schema.String).annotate({
    description: "One of its variants. Default: the first active one by id",
  }),
  fields: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)).annotate({
    description: "Values for its placeholders. Default `{}`",
  }),
  connection: Schema.optionalKey(Schema.String).annotate({
    description: "The SMTP connection to send through. Default: the one that deliveries use",
  }),
}).annotate({ identifier: "GroupTestRequest" })

/** The results of a test, in the order of the addresses of the group. */
const GroupTestReport = Schema.Struct({
  sent: Schema.Array(Schema.Struct({
    email: Schema.String,
    ok: Schema.Boolean.annotate({ description: "Whether the mail server accepted the message" }),
    detail: Schema.String.annotate({ description: "The answer of the server, or why nothing was sent" }),
    message_id: Schema.NullOr(Schema.String),
  })),
}).annotate({ identifier: "GroupTestResult" })

/** Endpoints of named recipients of test messages. */
export class TestGroupsGroup extends managementGroup(
  "testGroups",
  "Named recipients of test messages",
  {
    listTestGroups: reads("viewer", "admin"),
    getTestGroup: reads("viewer", "admin"),
    // Only admins change the addresses of a group, which may belong to people outside the organization. Editors can
    // send to the group.
    putTestGroup: writes("admin", "test group saved", "admin", { isPrivate: true }),
    deleteTestGroup: writes("admin", "test group deleted", "admin"),
    sendGroupTest: writes("editor", "test message sent", "admin"),
  },
  HttpApiEndpoint.get("listTestGroups", at, {
    params: path,
    success: Schema.Struct({ groups: Schema.Array(TestGroup) }),
    error: [Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "The test groups of an organization, by name"),
  HttpApiEndpoint.get("getTestGroup", `${at}/:group`, {
    params: groupPath,
    success: TestGroup,
    error: [...notFound],
  }).annotate(OpenApi.Summary, "A test group with its addresses"),
  HttpApiEndpoint.put("putTestGroup", `${at}/:group`, {
    params: groupPath,
    payload: TestGroupInput,
    success: TestGroup,
    error: [...Problems.ofBody, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "Creates or replaces a test group").annotate(
    OpenApi.Description,
    "Named recipients of test messages, such as the design team. Editors can send tests to a group even if its addresses are " +
      "not of members. An organization has at most 20 groups.",
  ),
  HttpApiEndpoint.delete("deleteTestGroup", `${at}/:group`, {
    params: groupPath,
    success: HttpApiSchema.NoContent,
    error: [...notFound],
  }).annotate(OpenApi.Summary, "Deletes a test group"),
  HttpApiEndpoint.post("sendGroupTest", `${at}/:group/send`, {
    params: groupPath,
    payload: GroupTestRequest,
    success: GroupTestReport,
    error: [
      ...Problems.ofBody,
      ...notFound,
      Problems.ConnectionNotFound,
      Problems.TemplateNotFound,
      Problems.VariantNotFound,
      Problems.Unprocessable,
    ],
  }).annotate(OpenApi.Summary, "Sends a test message to each address of a test group").annotate(
    OpenApi.Description,
    "Sends the content of a template, rendered with `fields`. The messages are excluded from results and learning. Addresses " +
      "on the suppression list get none. An organization can send 100 test messages per hour and 300 per day.",
  ),
) {}
