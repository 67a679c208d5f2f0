import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { UserId } from "../domain/Ids.ts"
import {
  Formats,
  Template,
  TemplateInput,
  TemplatePatch,
  Variant,
  VariantInput,
  VariantPatch,
  Vars,
} from "../domain/Template.ts"
import { described } from "../domain/described.ts"
import { Verdict } from "../intake/Verdicts.ts"
import { AccountsGroup } from "./accounts/AccountsApi.ts"
import { AdminRequired } from "./admission/AdminRequired.ts"
import { BulkActionsGroup } from "./deliveries/BulkActionsApi.ts"
import { CustomEventsBody } from "./webhooks/CustomEventsBody.ts"
import { DelayGroup } from "./delay/DelayApi.ts"
import { DeliverBody } from "./deliveries/DeliverWire.ts"
import { DeliverabilityGroup } from "./deliveries/DeliverabilityApi.ts"
import { DeliveriesGroup, DeliveryGroup } from "./deliveries/DeliveryApi.ts"
import { finished } from "./server/FinishedDocument.ts"
import { GenerateTrace } from "./generate/GenerateTrace.ts"
import { BatchBody, GenerateBody } from "./generate/GenerateWire.ts"
import { LearningGroup } from "./learning/LearningApi.ts"
import { KeysGroup, OrganizationsGroup } from "./organizations/OrganizationsApi.ts"
import * as Problems from "./Problems.ts"
import { ResultsGroup } from "./results/ResultsApi.ts"
import { SecondFactorGroup } from "./accounts/SecondFactorApi.ts"
import { SandboxGroup } from "./sandbox/SandboxApi.ts"
import { SuppressionsGroup } from "./suppressions/SuppressionsApi.ts"
import { StoriesGroup } from "./stories/StoriesApi.ts"
import { archivedQuery, TemplateIndexGroup } from "./templates/TemplateIndexApi.ts"
import { TrackingGroup } from "./tracking/TrackingApi.ts"
import { WebhooksManagementGroup } from "./webhooks/WebhooksApi.ts"
import { listOfSources } from "../domain/Source.ts"
import { version } from "../domain/Version.ts"

// The contract, declared once: routes, the OpenAPI document and the CLI's client come from here. Bodies are decoded by
// the handlers (see Body.ts), because every fault must be listed and no body may be read past its limit.

const path = { org: Schema.String }
const templatePath = { ...path, template: Schema.String }
const variantPath = { ...templatePath, variant: Schema.String }

const generated = {
  tracking_id: Schema.String,
  copy: Schema.Struct({
    id: Schema.optionalKey(Schema.String),
    vars: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  }),
  message: Schema.optionalKey(Schema.String).annotate({
    description: "Present only when no variant is found or rendered, or the user is held out",
  }),
  held_out: Schema.optionalKey(Schema.Literal(true)).annotate({
    description:
      "Present only for a user who is held out and gets no message (holdout with the content `no_message`). " +
      "Send nothing, no fallback either: the effect of messages is measured against people who get none",
  }),
}

/** What Generate answers. `copy` is empty and `message` present when there is no variant for the user. */
export const Generated = Schema.Struct(generated)

/** What Batch generate answers for an item. */
export const BatchGenerated = Schema.Struct({ ...generated, trace: Schema.optionalKey(GenerateTrace) })

const keyed = OpenApi.annotations({ override: { security: [{ ApiKeyHeader: [] }, { ApiKeyBearer: [] }] } })

const keyProblems = [Problems.Unauthorized, Problems.Forbidden, Problems.RateLimited, Problems.Unavailable] as const

export class GenerateGroup extends HttpApiGroup.make("generate")
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
    }).annotateMerge(keyed).annotate(OpenApi.Summary, "One rendered variant of one template"),
    HttpApiEndpoint.get("generateByQuery", "/api/generate/:org", {
      params: path,
      query: {
        template_id: Schema.String,
        user_id: Schema.optionalKey(Schema.String),
        tracking_id: Schema.optionalKey(Schema.String),
        fields: Schema.optionalKey(Schema.String).annotate({
          description:
            'One JSON object, `fields={"name":"Ann"}`, or one key each, `fields[name]=Ann` or `fields.name=Ann`',
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
    }).annotateMerge(keyed).annotate(OpenApi.Summary, "The same, for platforms that can only GET"),
    HttpApiEndpoint.post("batchGenerate", "/api/batch-generate/:org", {
      params: path,
      payload: BatchBody,
      success: Schema.Record(Schema.String, BatchGenerated),
      error: [...Problems.ofBody, ...keyProblems, Problems.Unprocessable],
    }).annotateMerge(keyed)
      .annotate(OpenApi.Summary, "One rendered variant of each of up to 20 templates")
      .annotate(
        OpenApi.Description,
        "The items share what one request may cost evenly: an item of 20 may take 25 ms and 125,000 steps to choose and " +
          "render, and render to 209,715 characters. An item past its share has an empty `copy` and a `message` that says " +
          "what to change; the other items are answered.",
      ),
  )
  .annotate(OpenApi.Description, "Content selection") {}

/** Custom events by webhook. */
export class WebhooksGroup extends HttpApiGroup.make("webhooks")
  .add(
    HttpApiEndpoint.post("receiveEvents", "/api/webhook/events/:org", {
      params: path,
      query: {
        validate: Schema.optionalKey(described(
          Schema.Literals(["true", "false"]),
          "`true`: answers the verdicts and stores nothing",
        )),
      },
      payload: CustomEventsBody,
      success: Schema.Struct({
        status: Schema.Literal("ok"),
        received: Schema.Int,
        items: described(Schema.Array(Verdict), "A verdict on each item, in their order"),
      }),
      error: [...Problems.ofBody, ...keyProblems, Problems.QuotaExceeded],
    }).annotateMerge(keyed).annotate(
      OpenApi.Summary,
      "Receive events about messages; they are stored before the answer",
    ).annotate(
      OpenApi.Description,
      "A body of which some items are faulty is stored, and its other items count. If all items are faulty, the answer is " +
        "400 with each fault, and nothing is stored. Names of events that are neither known nor declared as conversions " +
        "(`conversion_events` of the organization or a template, or the settings of the source) are faults. An event that " +
        "another node of the service has acknowledged within the last second may be called accepted once more; it counts " +
        "once all the same. Of a body with very many verdicts the later ones have no `reason`.",
    ),
    HttpApiEndpoint.post("receivePlatform", "/api/webhook/:segment/:org", {
      params: { segment: Schema.String, ...path },
      payload: Schema.Json.annotate({ description: "Whatever the platform sends; stored as it came" }),
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
      `\`segment\` is one of ${listOfSources}, each under either name; authenticated as that platform signs.`,
    ),
  )
  .annotate(OpenApi.Description, "Events") {}

/** Managed delivery. */
export class DeliverGroup extends HttpApiGroup.make("deliver")
  .add(
    HttpApiEndpoint.post("deliver", "/api/deliver/:org", {
      params: path,
      headers: {
        "idempotency-key": Schema.optionalKey(Schema.String).annotate({
          description: "1 to 255 printable ASCII characters: within 24 hours the same key and body is the same message",
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
        Problems.RecipientSuppressed,
        Problems.MessageExpired,
        Problems.Unprocessable,
      ],
    }).annotateMerge(OpenApi.annotations({ override: { security: [{ ApiKeyHeader: [] }] } }))
      .annotate(OpenApi.Summary, "Decides, renders and queues one e-mail")
      .annotate(
        OpenApi.Description,
        "Answered once the message is safely queued; it leaves through the organization's connection, at most 100 a second. " +
          "The key comes in X-Api-Key only.",
      ),
  )
  .annotate(OpenApi.Description, "Managed delivery") {}

const ImportBody = Schema.Struct({ templates: Schema.Array(TemplateInput) })

class TemplatesGroup extends HttpApiGroup.make("templates")
  .add(
    HttpApiEndpoint.post("createTemplate", "/organizations/:org/templates", {
      params: path,
      payload: TemplateInput,
      success: Template.pipe(HttpApiSchema.status(201)),
      error: [...Problems.ofBody, Problems.OrganizationNotFound, Problems.Conflict],
    }).annotate(OpenApi.Summary, "Makes a template, with variants if given"),
    HttpApiEndpoint.get("listTemplates", "/organizations/:org/templates", {
      params: path,
      query: {
        after: Schema.optionalKey(Schema.String),
        limit: Schema.optionalKey(Schema.String).annotate({ description: "1 to 1,000, default 100" }),
        archived: archivedQuery,
      },
      success: Schema.Struct({ templates: Schema.Array(Template), next: Schema.NullOr(Schema.String) }),
      error: [Problems.InvalidRequest, Problems.OrganizationNotFound],
    }).annotate(OpenApi.Summary, "Templates with their variants").annotate(
      OpenApi.Description,
      "By id. `next` is the value of `after` for the next page, null on the last.",
    ),
    HttpApiEndpoint.post("importTemplates", "/organizations/:org/templates/import", {
      params: path,
      payload: ImportBody,
      success: Schema.Struct({
        created: Schema.Array(Schema.String),
        updated: Schema.Array(Schema.String),
        unchanged: Schema.Array(Schema.String),
      }),
      error: [...Problems.ofBody, Problems.OrganizationNotFound],
    }).annotate(OpenApi.Summary, "Makes or changes many templates at once").annotate(
      OpenApi.Description,
      "All or nothing. Variants that the import does not name are left as they are. One import takes at most 1,000 templates " +
        "and 2,000 variants, and a template at most 1,000 variants; the check of an import may take 5 seconds. 503 when too " +
        "many checks are waiting.",
    ),
    HttpApiEndpoint.get("getTemplate", "/organizations/:org/templates/:template", {
      params: templatePath,
      success: Template,
      error: Problems.TemplateNotFound,
    }).annotate(OpenApi.Summary, "One template with its variants"),
    HttpApiEndpoint.patch("updateTemplate", "/organizations/:org/templates/:template", {
      params: templatePath,
      payload: TemplatePatch,
      success: Template,
      error: [...Problems.ofBody, Problems.TemplateNotFound],
    }).annotate(OpenApi.Summary, "Changes a template; what is absent stays"),
    HttpApiEndpoint.delete("deleteTemplate", "/organizations/:org/templates/:template", {
      params: templatePath,
      success: HttpApiSchema.NoContent,
      error: Problems.TemplateNotFound,
    }).annotate(OpenApi.Summary, "Deletes a template with its variants"),
  )
  .middleware(AdminRequired)
  .prefix("/console/api") {}

/** What to preview: sources as written, or a stored variant (`copy_id`), for sample `fields` and `attrs`. */
export const PreviewBody = Schema.Struct({
  vars: Schema.optionalKey(Vars),
  formats: Schema.optionalKey(Formats),
  copy_id: Schema.optionalKey(Schema.String),
  fields: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  attrs: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  user_id: Schema.optionalKey(UserId).annotate({ description: "Asks whether this user is held out" }),
})

/** `variants` tells of every variant of the template whether it is eligible for these `attrs` now, and why not. */
export const Preview = Schema.Struct({
  vars: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  variants: Schema.Array(Schema.Struct({
    id: Schema.String,
    eligible: Schema.Boolean,
    reason: Schema.optionalKey(Schema.String),
  })),
  held_out: Schema.optionalKey(Schema.Boolean).annotate({
    description: "Whether the user is held out and gets the content of the holdout; present with `user_id`",
  }),
})

class VariantsGroup extends HttpApiGroup.make("variants")
  .add(
    HttpApiEndpoint.post("createVariant", "/organizations/:org/templates/:template/variants", {
      params: templatePath,
      payload: VariantInput,
      success: Variant.pipe(HttpApiSchema.status(201)),
      error: [...Problems.ofBody, Problems.TemplateNotFound, Problems.Conflict],
    }).annotate(OpenApi.Summary, "Adds a variant to a template"),
    HttpApiEndpoint.get("getVariant", "/organizations/:org/templates/:template/variants/:variant", {
      params: variantPath,
      success: Variant,
      error: [Problems.TemplateNotFound, Problems.VariantNotFound],
    }).annotate(OpenApi.Summary, "One variant"),
    HttpApiEndpoint.patch("updateVariant", "/organizations/:org/templates/:template/variants/:variant", {
      params: variantPath,
      payload: VariantPatch,
      success: Variant,
      error: [...Problems.ofBody, Problems.TemplateNotFound, Problems.VariantNotFound],
    }).annotate(OpenApi.Summary, "Changes a variant; what is absent stays"),
    HttpApiEndpoint.delete("deleteVariant", "/organizations/:org/templates/:template/variants/:variant", {
      params: variantPath,
      success: HttpApiSchema.NoContent,
      error: [Problems.TemplateNotFound, Problems.VariantNotFound],
    }).annotate(OpenApi.Summary, "Deletes a variant"),
    HttpApiEndpoint.post("preview", "/organizations/:org/templates/:template/preview", {
      params: templatePath,
      payload: PreviewBody,
      success: Preview,
      error: [...Problems.ofBody, Problems.TemplateNotFound, Problems.VariantNotFound, Problems.Unprocessable],
    }).annotate(OpenApi.Summary, "Renders a variant for sample values, and tells who would get which"),
  )
  .middleware(AdminRequired)
  .prefix("/console/api") {}

const Html = Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/html" }))

class OperationsGroup extends HttpApiGroup.make("operations")
  .add(
    HttpApiEndpoint.get("healthz", "/healthz", { success: Schema.Struct({ status: Schema.Literal("ok") }) })
      .annotate(OpenApi.Summary, "The process lives"),
    HttpApiEndpoint.get("readyz", "/readyz", {
      query: {
        accept: Schema.optionalKey(
          Schema.String.annotate({
            description:
              "`memory`: 200 as well while the store is down and decisions are answered from memory, for load balancers, " +
              "which would take every node out otherwise",
          }),
        ),
      },
      success: Schema.Unknown,
      error: Problems.Unavailable,
    }).annotate(
      OpenApi.Summary,
      "The store is reachable and migrated; 503 with reasons when not, or when the node ends",
    ),
    HttpApiEndpoint.get("metrics", "/metrics", {
      success: Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/plain; version=0.0.4" })),
      error: Problems.PathNotFound,
    }).annotate(OpenApi.Summary, "Metrics for Prometheus"),
    HttpApiEndpoint.get("openapi", "/openapi.json", { success: Schema.Unknown })
      .annotate(OpenApi.Summary, "This document"),
    HttpApiEndpoint.get("docs", "/docs", { success: Html }).annotate(OpenApi.Summary, "This document for people"),
    HttpApiEndpoint.get("problems", "/problems", { success: Html }).annotate(OpenApi.Summary, "All problem types"),
    HttpApiEndpoint.get("problem", "/problems/:slug", {
      params: { slug: Schema.String },
      success: Html,
      error: Problems.PathNotFound,
    }).annotate(OpenApi.Summary, "What a problem type means and what to do"),
  ) {}

/** Everything but the hot routes. */
const servedGroups = [
  OrganizationsGroup,
  KeysGroup,
  TemplatesGroup,
  VariantsGroup,
  TemplateIndexGroup,
  ResultsGroup,
  LearningGroup,
  WebhooksManagementGroup,
  StoriesGroup,
  DeliveryGroup,
  DeliverabilityGroup,
  BulkActionsGroup,
  SuppressionsGroup,
  SandboxGroup,
  AccountsGroup,
  SecondFactorGroup,
  OperationsGroup,
] as const

/** What `HttpApiBuilder` serves. */
export class ServedApi extends HttpApi.make("parlance").add(...servedGroups) {}

/**
 * Everything this service answers, for the document and for clients. The groups generate, delay and tracking are served by plain routes
 * (GenerateRoutes.ts, DelayRoutes.ts, TrackingRoutes.ts), which saves a tenth of the cost of a call.
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
      "Selects the variant of a message that works best for a user's segment, renders it, and learns from what follows. " +
      "Errors are RFC 9457 problems; every answer carries X-Request-Id.",
    transform: (document) => finished(document as OpenApi.OpenAPISpec),
  })) {}
