import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { TimedTemplateResults } from "../../results/TemplateResults.ts"
import { TemplateSendTimes } from "../../results/TemplateSendTimes.ts"
import { TemplateSeries } from "../../results/TemplateSeries.ts"
import { AdminRequired } from "../admission/AdminRequired.ts"
import * as Problems from "../Problems.ts"

/** Which decisions an answer is about. */
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

export class ResultsGroup extends HttpApiGroup.make("results")
  .add(
    HttpApiEndpoint.get("templateResults", "/organizations/:org/templates/:template/results", {
      params: { org: Schema.String, template: Schema.String },
      query: windowQuery,
      success: TimedTemplateResults,
      error: [Problems.InvalidRequest, Problems.OrganizationNotFound, Problems.TemplateNotFound],
    }).annotate(OpenApi.Summary, "Results of the variants of a template, with the winner if there is one").annotate(
      OpenApi.Description,
      "Without `lookback_days` and `offset_days`: the model that Generate uses, in which older outcomes weigh less, and " +
        "the counts of the last 180 days. With either: the model of that window, and its counts.",
    ),
    HttpApiEndpoint.get("templateSeries", "/organizations/:org/templates/:template/series", {
      params: { org: Schema.String, template: Schema.String },
      query: windowQuery,
      success: TemplateSeries,
      error: [Problems.InvalidRequest, Problems.OrganizationNotFound, Problems.TemplateNotFound],
    }).annotate(OpenApi.Summary, "Results of the variants of a template over time").annotate(
      OpenApi.Description,
      "Traffic, rates with credible intervals, the probability of being best and the gain over a random split, by hour, day " +
        "or week, and when people engage. Returns at most about 100 intervals. Takes the window parameters of the results.",
    ),
    HttpApiEndpoint.get("templateSendTimes", "/organizations/:org/templates/:template/send-times", {
      params: { org: Schema.String, template: Schema.String },
      success: TemplateSendTimes,
      error: [Problems.OrganizationNotFound, Problems.TemplateNotFound],
    }).annotate(OpenApi.Summary, "Engagement with messages of a template by hour of the week").annotate(
      OpenApi.Description,
      "For each hour of the week: the expected share of messages with engagement, and whether sending is allowed. Also the " +
        "best hour, and the lift of messages sent at recommended times. For one person, use Delay with `trace=true`.",
    ),
  )
  .middleware(AdminRequired)
  .prefix("/console/api")
  .annotate(OpenApi.Description, "Results") {}
