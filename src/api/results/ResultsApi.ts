import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "effect/http-api"
import { ResultShare, ResultShareInput } from "../../domain/ResultShare.ts"
import { SegmentComparisonAnswer } from "../../results/SegmentAnswer.ts"
import { TimedTemplateResults } from "../../results/TemplateResults.ts"
import { TemplateSendTimes } from "../../results/TemplateSendTimes.ts"
import { TemplateSeries } from "../../results/TemplateSeries.ts"
import { reads, writes } from "../../accounts/Access.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Problems from "../Problems.ts"
import * as Parameters from "../http/Parameters.ts"

/** Parameters that select the decisions of a response. */
const windowQuery = {
  lookback_days: Schema.optionalKey(Schema.String).annotate({
    description: "Days of decisions, 1 to 365, fractions allowed; default 14 if only `offset_days` is given",
  }),
  offset_days: Schema.optionalKey(Schema.String).annotate({
    description:
      "Days the window ends before now, 0 to 365, fractions allowed; default 3 if only `lookback_days` is given",
  }),
  segment: Schema.optionalKey(Schema.Array(Schema.String)).annotate({
    description: "Attribute values to filter by, as pairs of percent-encoded name and value: `plan=pro`, several " +
      "joined by `&` (encoded as a parameter's value: `segment=plan%3Dpro%26daypart%3Dmorning`) or repeated",
  }),
}

const variantId = Parameters.text("must be the id of a variant")
const attributeName = Parameters.text("must be the name of an attribute")

const templateParams = { org: Schema.String, template: Schema.String }
const sharesPath = "/organizations/:org/templates/:template/result-shares" as const

/** Endpoints of results. */
export class ResultsGroup extends managementGroup(
  "results",
  "Results",
  {
    templateResults: reads("viewer", "results:read"),
    exportResults: reads("viewer", "results:read"),
    templateSeries: reads("viewer", "results:read"),
    templateSendTimes: reads("viewer", "results:read"),
    compareSegments: reads("viewer", "results:read"),
    listResultShares: reads("viewer", "results:read"),
    createResultShare: writes("editor", "results shared", "admin"),
    revokeResultShare: writes("editor", "shared results revoked", "admin"),
  },
  HttpApiEndpoint.get("templateResults", "/organizations/:org/templates/:template/results", {
    params: templateParams,
    query: windowQuery,
    success: TimedTemplateResults,
    error: [Problems.InvalidRequest, Problems.OrganizationNotFound, Problems.TemplateNotFound],
  }).annotate(OpenApi.Summary, "Results of the variants of a template, with the winner if there is one").annotate(
    OpenApi.Description,
    "Without `lookback_days` and `offset_days`: the model that Generate uses, in which older outcomes weigh less, and " +
      "the counts of the last 180 days. With either: the model of that window, and its counts.",
  ),
  HttpApiEndpoint.get("exportResults", "/organizations/:org/templates/:template/results/export", {
    params: templateParams,
    query: windowQuery,
    success: Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/csv" })),
    error: [Problems.InvalidRequest, Problems.OrganizationNotFound, Problems.TemplateNotFound],
  }).annotate(OpenApi.Summary, "Results of the variants of a template as CSV").annotate(
    OpenApi.Description,
    "A line for each variant, with the counts, rates, intervals, chance to be best and share of `templateResults`, and the " +
      "lifts of the leader. Accepts the window parameters of the results. Texts that a spreadsheet would run as a formula begin " +
      "with an apostrophe.",
  ),
  HttpApiEndpoint.get("templateSeries", "/organizations/:org/templates/:template/series", {
    params: templateParams,
    query: windowQuery,
    success: TemplateSeries,
    error: [Problems.InvalidRequest, Problems.OrganizationNotFound, Problems.TemplateNotFound],
  }).annotate(OpenApi.Summary, "Results of the variants of a template over time").annotate(
    OpenApi.Description,
    "Traffic, rates with credible intervals, the probability of being best and the gain over a random split, by hour, day " +
      "or week, and when people engage. Returns at most about 100 intervals. Accepts the window parameters of the results.",
  ),
  HttpApiEndpoint.get("templateSendTimes", "/organizations/:org/templates/:template/send-times", {
    params: templateParams,
    success: TemplateSendTimes,
    error: [Problems.OrganizationNotFound, Problems.TemplateNotFound],
  }).annotate(OpenApi.Summary, "Engagement with messages of a template by hour of the week").annotate(
    OpenApi.Description,
    "For each hour of the week: the expected share of messages with engagement, and whether sending is allowed. Also the " +
      "best hour, and the lift of messages sent at recommended times. For one person, use Delay with `trace=true`.",
  ),
  HttpApiEndpoint.get("compareSegments", "/organizations/:org/templates/:template/segment-comparison", {
    params: templateParams,
    query: {
      variant: Parameters.described("Id of a variant. Default: the leader", variantId),
      against: Parameters.described("Id of the variant to compare it with. Default: the runner-up", variantId),
      attribute: Parameters.described(
        "An attribute that the template learns from. Default: the first two",
        attributeName,
      ),
      second_attribute: Parameters.described("Another one, for segments of both", attributeName),
    },
    success: SegmentComparisonAnswer,
    error: [
      Problems.InvalidRequest,
      Problems.OrganizationNotFound,
      Problems.TemplateNotFound,
      Problems.VariantNotFound,
    ],
  }).annotate(OpenApi.Summary, "One variant against another in the segments of two attributes").annotate(
    OpenApi.Description,
    "From counts, without the model: decisions of the last 60 days that are at least four days old, compared within each day.",
  ),
  HttpApiEndpoint.get("listResultShares", sharesPath, {
    params: templateParams,
    success: Schema.Struct({ shares: Schema.Array(ResultShare) }),
    error: [Problems.OrganizationNotFound, Problems.TemplateNotFound],
  }).annotate(OpenApi.Summary, "Read-only links to the results of a template that work, newest first"),
  HttpApiEndpoint.post("createResultShare", sharesPath, {
    params: templateParams,
    payload: ResultShareInput,
    success: Schema.Struct({ ...ResultShare.fields, path: Schema.String }).pipe(HttpApiSchema.status(201)),
    error: [...Problems.ofBody, Problems.OrganizationNotFound, Problems.TemplateNotFound],
  }).annotate(OpenApi.Summary, "Makes a read-only link to the results of a template").annotate(
    OpenApi.Description,
    "`path` is the link. Only this response contains it. Anyone with the link sees the results of all decisions without signing " +
      "in, until it expires or is revoked. At most 20 links of a template work at a time.",
  ),
  HttpApiEndpoint.delete("revokeResultShare", `${sharesPath}/:share`, {
    params: { ...templateParams, share: Schema.String },
    success: HttpApiSchema.NoContent,
    error: [Problems.OrganizationNotFound, Problems.ShareNotFound],
  }).annotate(OpenApi.Summary, "Revokes a link to the results of a template"),
) {}
