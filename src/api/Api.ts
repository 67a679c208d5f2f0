import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { SnippetFileInput } from "../domain/Snippet.ts"
import { Template, TemplateInput, TemplatePatch } from "../domain/Template.ts"
import { TemplateBatchInput } from "../domain/TemplateSwitches.ts"
import { described } from "../domain/described.ts"
import { ProposedTemplate, WaitingChange } from "../domain/Proposal.ts"
import { EventVerdict } from "../intake/Verdicts.ts"
import { AccountsGroup } from "./accounts/AccountsApi.ts"
import { reads, writes } from "../accounts/Access.ts"
import { managementGroup } from "./admission/ManagementGroup.ts"
import { BulkActionsGroup } from "./deliveries/BulkActionsApi.ts"
import { CustomEventsBody } from "./webhooks/CustomEventsBody.ts"
import { DelayGroup } from "./delay/DelayApi.ts"
import { DeliverBody } from "./deliveries/DeliverWire.ts"
import { DeliverabilityGroup } from "./deliveries/DeliverabilityApi.ts"
import { DeliveriesGroup, DeliveryGroup } from "./deliveries/DeliveryApi.ts"
import { EndpointsGroup } from "./endpoints/EndpointsApi.ts"
import { BucketGroup } from "./exports/BucketApi.ts"
import { ExportsGroup } from "./exports/ExportsApi.ts"
import { withKey } from "./openapi/Security.ts"
import { finished } from "./openapi/FinishedDocument.ts"
import { GenerateTrace } from "./generate/GenerateTrace.ts"
import { BatchBody, GenerateBody } from "./generate/GenerateWire.ts"
import { LearningGroup } from "./learning/LearningApi.ts"
import { KeysGroup, OrganizationsGroup } from "./organizations/OrganizationsApi.ts"
import * as Problems from "./Problems.ts"
import { ResultsGroup } from "./results/ResultsApi.ts"
import { NotificationsGroup } from "./notifications/NotificationsApi.ts"
import { GroupRolesGroup } from "./accounts/GroupRolesApi.ts"
import { PasskeysGroup } from "./accounts/PasskeysApi.ts"
import { SecondFactorGroup } from "./accounts/SecondFactorApi.ts"
import { SandboxGroup } from "./sandbox/SandboxApi.ts"
import { SuppressionsGroup } from "./suppressions/SuppressionsApi.ts"
import { TimelinesGroup } from "./timelines/TimelinesApi.ts"
import { ViewsGroup } from "./views/ViewsApi.ts"
import { TestGroupsGroup } from "./deliveries/TestGroupsApi.ts"
import { ImagesGroup } from "./images/ImagesApi.ts"
import { SnippetsGroup } from "./templates/SnippetsApi.ts"
import { SuggestionsGroup } from "./templates/SuggestionsApi.ts"
import { SamplePeopleGroup } from "./templates/SamplePeopleApi.ts"
import { CopyGroup } from "./templates/CopyApi.ts"
import { dryRun, ImportAnswer, ProposedImport } from "./templates/ImportAnswer.ts"
import { DraftsGroup } from "./templates/DraftsApi.ts"
import { CommentsGroup } from "./comments/CommentsApi.ts"
import { waiting } from "./reviews/Proposed.ts"
import { ReviewsGroup } from "./reviews/ReviewsApi.ts"
import { archivedQuery, TemplateIndexGroup } from "./templates/TemplateIndexApi.ts"
import { VariantsGroup } from "./templates/VariantsApi.ts"
import { TrackingGroup } from "./tracking/TrackingApi.ts"
import * as Cursors from "./http/Cursors.ts"
import { SecretKeysGroup } from "./secrets/SecretKeysApi.ts"
import { TrackingKeysGroup } from "./tracking/TrackingKeysApi.ts"
import * as Parameters from "./http/Parameters.ts"
import { WebhooksManagementGroup } from "./webhooks/WebhooksApi.ts"
import { listOfSources } from "../domain/Source.ts"
import { version } from "../domain/Version.ts"

// The contract of the API. Routes, the OpenAPI document and the CLI's client derive from it. Handlers decode the bodies
// (see Body.ts), because responses list every fault and no body is read beyond its limit.

const path = { org: Schema.String }
const templatePath = { ...path, template: Schema.String }

const generated = {
  tracking_id: Schema.String,
  copy: Schema.Struct({
    id: Schema.optionalKey(Schema.String),
    vars: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  }),
  message: Schema.optionalKey(Schema.String).annotate({
    description: "Present only when no variant is found or rendered, or the user gets no message",
  }),
  held_out: Schema.optionalKey(Schema.Literal(true)).annotate({
    description:
      "Present only for a user who is held out and gets no message (holdout with the content `no_message`). " +
      "Send nothing, no fallback either: the effect of messages is measured against people who get none",
  }),
  send_nothing: Schema.optionalKey(Schema.Literal(true)).annotate({
    description:
      "Present only if the choice is to send nothing (setting `send_nothing` of the template). Send nothing, no fallback " +
      "either: the decision counts as one without a message",
  }),
}

/** Response of Generate. Without a variant for the user, `copy` is empty and `message` is present. */
const Generated = Schema.Struct(generated).annotate({ identifier: "GenerateResponse" })

/** Response of Batch generate for one item. */
export const BatchGenerated = Schema.Struct({
  ...generated,
  problem: Schema.optionalKey(Schema.Struct({
    type: Schema.Literal("/problems/tracking-id-reused"),
    status: Schema.Literal(409),
    title: Schema.String,
    detail: Schema.String,
  })).annotate({
    description: "Present only if `copy_id` forces another variant than the existing decision of the tracking id",
  }),
  trace: Schema.optionalKey(GenerateTrace),
}).annotate({ identifier: "BatchGenerateResult" })

const keyProblems = [Problems.Unauthorized, Problems.Forbidden, Problems.RateLimited, Problems.Unavailable] as const

class GenerateGroup extends HttpApiGroup.make("generate")
  .add(
    HttpApiEndpoint.post("generate", "/api/generate/:org", {
      params: path,
      payload: GenerateBody,
      success: Generated,
      error: [
        ...Problems.ofBody,
        ...keyProblems,
        Problems.TemplateNotFound,
        Problems.TemplateArchived,
        Problems.Unprocessable,
      ],
    }).annotateMerge(withKey("generate")).annotate(OpenApi.Summary, "One rendered variant of one template"),
    HttpApiEndpoint.get("generateByQuery", "/api/generate/:org", {
      params: path,
      query: {
        template_id: Schema.String.annotate({ description: "Id of the template" }),
        user_id: Schema.optionalKey(Schema.String).annotate({ description: "Your id of the recipient" }),
        tracking_id: Schema.optionalKey(Schema.String).annotate({
          description: "Your id of the message, by which events name it. Default: a new id",
        }),
        fields: Schema.optionalKey(Schema.String).annotate({
          description:
            'One JSON object, `fields={"name":"Ann"}`, or one key each, `fields[user][name]=Ann` or `fields.user.name=Ann`',
        }),
        attrs: Schema.optionalKey(Schema.String).annotate({
          description:
            'One JSON object, `attrs={"tier":"gold"}`, or one key each, `attrs[tier]=gold` or `attrs.tier=gold`',
        }),
      },
      success: Generated,
      error: [
        Problems.InvalidRequest,
        ...keyProblems,
        Problems.TemplateNotFound,
        Problems.TemplateArchived,
        Problems.Unprocessable,
      ],
    }).annotateMerge(withKey("generate")).annotate(
      OpenApi.Summary,
      "One rendered variant of one template, for platforms that support GET only",
    ),
    HttpApiEndpoint.post("batchGenerate", "/api/batch-generate/:org", {
      params: path,
      payload: BatchBody,
      success: Schema.Record(Schema.String, BatchGenerated),
      error: [...Problems.ofBody, ...keyProblems, Problems.TrackingIdReused, Problems.Unprocessable],
    }).annotateMerge(withKey("generate"))
      .annotate(OpenApi.Summary, "One rendered variant of each of up to 20 templates")
      .annotate(
        OpenApi.Description,
        "The limits of one request are divided evenly among its items: with 20 items, each can take 25 ms and 125,000 steps " +
          "to choose and render, and can render to 209,715 characters. An item that exceeds its share has an empty `copy` " +
          "and a `message` with the change to make. The other items are not affected.",
      ),
  )
  .annotate(OpenApi.Description, "Content selection") {}

/** Custom events by webhook. */
class WebhooksGroup extends HttpApiGroup.make("webhooks")
  .add(
    HttpApiEndpoint.post("receiveEvents", "/api/webhook/events/:org", {
      params: path,
      query: {
        validate: Schema.optionalKey(described(
          Schema.Literals(["true", "false"]),
          "`true`: returns the verdicts without storing the events",
        )),
      },
      payload: CustomEventsBody,
      success: Schema.Struct({
        status: Schema.Literal("ok"),
        received: Schema.Int,
        items: described(Schema.Array(EventVerdict), "The verdict on each item, in the order of the items"),
      }),
      error: [...Problems.ofBody, ...keyProblems, Problems.QuotaExceeded],
    }).annotateMerge(withKey("events")).annotate(
      OpenApi.Summary,
      "Receives events about messages and stores them before it responds",
    ).annotate(
      OpenApi.Description,
      "If some items are faulty, the body is stored and its other items count. If all items are faulty, the response is 400 " +
        "with every fault, and the body is not stored. An event name is a fault unless it is known or declared as a " +
        "conversion (`conversion_events` of the organization or a template, or the settings of the source). An event that " +
        "another node acknowledged within the last second may be reported as accepted again, but counts once. If a body has " +
        "very many verdicts, the later ones have no `reason`.",
    ),
    HttpApiEndpoint.post("receivePlatform", "/api/webhook/:segment/:org", {
      params: { segment: Schema.String, ...path },
      payload: Schema.Json.annotate({ description: "The body as the platform sends it; stored unchanged" }),
      success: Schema.Struct({ status: Schema.Literal("ok"), received: Schema.Int }),
      error: [
        Problems.InvalidRequest,
        Problems.Unauthorized,
        Problems.PayloadTooLarge,
        Problems.PathNotFound,
        Problems.QuotaExceeded,
        Problems.Unavailable,
      ],
    }).annotate(OpenApi.Summary, "Webhooks of messaging platforms").annotate(
      OpenApi.Description,
      `\`segment\` is one of ${listOfSources}; either name works. Authentication follows the signature scheme of the platform.`,
    ),
  )
  .annotate(OpenApi.Description, "Events") {}

/** Managed delivery. */
class DeliverGroup extends HttpApiGroup.make("deliver")
  .add(
    HttpApiEndpoint.post("deliver", "/api/deliver/:org", {
      params: path,
      headers: {
        "idempotency-key": Schema.optionalKey(Schema.String).annotate({
          description:
            "1 to 255 printable ASCII characters. Repeating a key with the same body within 24 hours queues no second message",
        }),
      },
      payload: DeliverBody,
      success: Schema.Struct({ status: Schema.Literal("ok") }),
      error: [
        ...Problems.ofBody,
        ...keyProblems,
        Problems.TemplateNotFound,
        Problems.TemplateArchived,
        Problems.VariantNotFound,
        Problems.IdempotencyKeyReused,
        Problems.HeldOut,
        Problems.SendNothing,
        Problems.RecipientSuppressed,
        Problems.MessageExpired,
        Problems.Unprocessable,
      ],
    }).annotateMerge(OpenApi.annotations({ override: { security: [{ ApiKeyHeader: ["deliver"] }] } }))
      .annotate(OpenApi.Summary, "Decides, renders and queues one e-mail")
      .annotate(
        OpenApi.Description,
        "Responds once the message is stored in the queue. It is sent through the organization's connection, at most 100 " +
          "messages per second. The API key is accepted in X-Api-Key only.",
      ),
  )
  .annotate(OpenApi.Description, "Managed delivery") {}

/** The templates of an import. */
export const ImportBody = Schema.Struct({
  templates: Schema.Array(TemplateInput),
  snippets: Schema.optionalKey(Schema.Array(SnippetFileInput)),
})

const ProposedBatch = Schema.Struct({ changed: Schema.Int, ...WaitingChange.fields }).annotate({
  identifier: "ProposedBatch",
})
class TemplatesGroup extends managementGroup(
  "templates",
  "Templates and their import",
  {
    createTemplate: writes("editor", "template created", "templates:write"),
    listTemplates: reads("viewer", "templates:read"),
    importTemplates: writes("editor", "templates imported", "templates:write"),
    changeTemplates: writes("editor", "template changed", "templates:write", { isMany: true }),
    getTemplate: reads("viewer", "templates:read"),
    updateTemplate: writes("editor", "template changed", "templates:write"),
    deleteTemplate: writes("editor", "template deleted", "templates:write"),
  },
  HttpApiEndpoint.post("createTemplate", "/organizations/:org/templates", {
    params: path,
    payload: TemplateInput,
    success: [Template.pipe(HttpApiSchema.status(201)), waiting(ProposedTemplate)],
    error: [...Problems.ofBody, Problems.OrganizationNotFound, Problems.Conflict],
  }).annotate(OpenApi.Summary, "Creates a template, with variants if given"),
  HttpApiEndpoint.get("listTemplates", "/organizations/:org/templates", {
    params: path,
    query: {
      ...Cursors.cursor("templates", "after", Parameters.position("must be a template's id")),
      limit: Parameters.limit(1_000, 100),
      archived: archivedQuery,
    },
    success: Schema.Struct({ templates: Schema.Array(Template), ...Cursors.following(Schema.String) }),
    error: [Problems.InvalidRequest, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "Templates with their variants").annotate(
    OpenApi.Description,
    "Sorted by id.",
  ),
  HttpApiEndpoint.post("importTemplates", "/organizations/:org/templates/import", {
    params: path,
    query: {
      dry_run: dryRun,
    },
    payload: ImportBody,
    success: [ImportAnswer, waiting(ProposedImport)],
    error: [...Problems.ofBody, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "Creates or updates many templates at once").annotate(
    OpenApi.Description,
    "Imports all templates or none, and lists all faults at once. Variants that the import does not name stay unchanged. One import has at most 1,000 " +
      "templates and 2,000 variants, and a template at most 1,000 variants. Checking an import can take up to 5 seconds. " +
      "Responds with 503 when too many checks are waiting. A template or variant without an id gets a new one at each import.",
  ),
  HttpApiEndpoint.post("changeTemplates", "/organizations/:org/templates/batch", {
    params: path,
    payload: TemplateBatchInput,
    success: [Schema.Struct({ changed: Schema.Int }), waiting(ProposedBatch)],
    error: [...Problems.ofBody, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "Changes several templates at once").annotate(
    OpenApi.Description,
    "Activates, pauses, archives, restores or tags templates, or sets their owner, all or none. `changed` counts the " +
      "templates that the request changed.",
  ),
  HttpApiEndpoint.get("getTemplate", "/organizations/:org/templates/:template", {
    params: templatePath,
    success: Template,
    error: Problems.TemplateNotFound,
  }).annotate(OpenApi.Summary, "One template with its variants"),
  HttpApiEndpoint.patch("updateTemplate", "/organizations/:org/templates/:template", {
    params: templatePath,
    payload: TemplatePatch,
    success: [Template, waiting(ProposedTemplate)],
    error: [...Problems.ofBody, Problems.TemplateNotFound],
  }).annotate(OpenApi.Summary, "Updates a template; absent members stay unchanged"),
  HttpApiEndpoint.delete("deleteTemplate", "/organizations/:org/templates/:template", {
    params: templatePath,
    success: [HttpApiSchema.NoContent, waiting(WaitingChange)],
    error: Problems.TemplateNotFound,
  }).annotate(OpenApi.Summary, "Deletes a template with its variants"),
) {}

const Html = Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/html" }))

class OperationsGroup extends HttpApiGroup.make("operations")
  .add(
    HttpApiEndpoint.get("healthz", "/healthz", { success: Schema.Struct({ status: Schema.Literal("ok") }) })
      .annotate(OpenApi.Summary, "Liveness: the process is running"),
    HttpApiEndpoint.get("readyz", "/readyz", {
      query: {
        accept: Schema.optionalKey(
          Schema.String.annotate({
            description:
              "`memory`: also 200 while the database is down and decisions are made from memory. For load balancers, which " +
              "would otherwise remove every node",
          }),
        ),
      },
      success: Schema.Unknown,
      error: Problems.Unavailable,
    }).annotate(
      OpenApi.Summary,
      "Readiness: the database is reachable and migrated; 503 with reasons otherwise or during shutdown",
    ),
    HttpApiEndpoint.get("metrics", "/metrics", {
      success: Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/plain; version=0.0.4" })),
      error: Problems.PathNotFound,
    }).annotate(OpenApi.Summary, "Metrics for Prometheus"),
    HttpApiEndpoint.get("openapi", "/openapi.json", { success: Schema.Unknown })
      .annotate(OpenApi.Summary, "This document"),
    HttpApiEndpoint.get("templateFileSchema", "/schemas/template-file.json", {
      success: Schema.Unknown.pipe(HttpApiSchema.asJson({ contentType: "application/schema+json" })),
    })
      .annotate(OpenApi.Summary, "The JSON Schema of template files"),
    HttpApiEndpoint.get("docs", "/docs", { success: Html }).annotate(OpenApi.Summary, "This document as a page"),
    HttpApiEndpoint.get("problems", "/problems", { success: Html }).annotate(OpenApi.Summary, "All problem types"),
    HttpApiEndpoint.get("problem", "/problems/:slug", {
      params: { slug: Schema.String },
      success: Html,
      error: Problems.PathNotFound,
    }).annotate(OpenApi.Summary, "The meaning and remedy of one problem type"),
  )
  .annotate(OpenApi.Description, "Health, metrics and documents") {}

/** Groups that `HttpApiBuilder` serves. The others have plain routes, which are faster. */
const servedGroups = [
  OrganizationsGroup,
  SecretKeysGroup,
  TrackingKeysGroup,
  KeysGroup,
  TemplatesGroup,
  VariantsGroup,
  TemplateIndexGroup,
  DraftsGroup,
  CopyGroup,
  SamplePeopleGroup,
  SnippetsGroup,
  ImagesGroup,
  SuggestionsGroup,
  ReviewsGroup,
  CommentsGroup,
  ResultsGroup,
  ExportsGroup,
  BucketGroup,
  LearningGroup,
  WebhooksManagementGroup,
  EndpointsGroup,
  TimelinesGroup,
  DeliveryGroup,
  DeliverabilityGroup,
  TestGroupsGroup,
  BulkActionsGroup,
  SuppressionsGroup,
  SandboxGroup,
  AccountsGroup,
  SecondFactorGroup,
  PasskeysGroup,
  GroupRolesGroup,
  NotificationsGroup,
  ViewsGroup,
  OperationsGroup,
] as const

/** The API that `HttpApiBuilder` serves. */
export class ServedApi extends HttpApi.make("parlance").add(...servedGroups) {}

/**
 * All endpoints, for the OpenAPI document and for clients. Plain routes serve the groups that `ServedApi` does not have
 * (see GenerateRoutes.ts), which saves a tenth of the cost of a call.
 */
export class Api extends HttpApi.make("parlance")
  .add(
    GenerateGroup,
    DelayGroup,
    DeliverGroup,
    DeliveriesGroup,
    WebhooksGroup,
    TrackingGroup,
    ...servedGroups,
  )
  .annotateMerge(OpenApi.annotations({
    title: "Parlance",
    version,
    description:
      "Selects the variant of a message that works best in a user's context, renders it, and learns from the outcomes. " +
      "Errors are RFC 9457 problems, which are [listed with their remedies](/problems). Every response has the header " +
      "X-Request-Id. The [documentation](/docs/) has a quickstart and guides.",
    transform: (document) => finished(document as OpenApi.OpenAPISpec),
  })) {}
