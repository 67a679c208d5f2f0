import { Result, Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "effect/http-api"
import { decode, type Stream } from "../../exports/Cursor.ts"
import { reads } from "../../accounts/Access.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Problems from "../Problems.ts"
import * as Cursors from "../http/Cursors.ts"
import * as Parameters from "../http/Parameters.ts"

// Exports for data warehouses.

const params = { org: Schema.String }

const cursorOf = (stream: Stream) => (text: string | undefined): Result.Result<ReturnType<typeof decode>, string> => {
  const cursor = text === undefined ? undefined : decode(text, stream)
  return text === undefined || cursor !== undefined
    ? Result.succeed(cursor)
    : Result.fail(`must be the Parlance-Cursor of a page of ${stream}`)
}

/** Returns the query parameters for an export of `stream`. */
export const exportQuery = (stream: Stream) => ({
  cursor: Parameters.described(
    "Cursor: the header `Parlance-Cursor` of the previous page, from the last 30 days",
    cursorOf(stream),
  ),
  after: Cursors.earlierName("Earlier name of `cursor`", cursorOf(stream)),
  since: Parameters.described(
    "Without `cursor`: begin here, an ISO 8601 time. Default: all rows that are kept",
    Parameters.time,
  ),
  limit: Parameters.limit(5_000, 1_000),
  format: Parameters.described(
    "`ndjson`, a JSON object in each line, or `csv` with a header. Default `ndjson`",
    Parameters.oneOf(["ndjson", "csv"]),
  ),
})

const Ndjson = Schema.String.pipe(HttpApiSchema.asText({ contentType: "application/x-ndjson" }))

const error = [Problems.InvalidRequest, Problems.OrganizationNotFound] as const

const paging =
  "Repeat with `cursor` from the header `Parlance-Cursor` until `Parlance-More` is `false`, and continue from " +
  "there later. A row appears two minutes after it was stored. A row that is stored late or changes comes again: replace " +
  "the earlier one. A page can be empty although there are more."

/** Endpoints of exports for data warehouses. */
export class ExportsGroup extends managementGroup(
  "exports",
  "Decisions, events and deliveries for data warehouses",
  {
    exportDecisions: reads("viewer", "results:read"),
    exportEvents: reads("viewer", "results:read"),
    exportDeliveries: reads("viewer", "results:read"),
  },
  HttpApiEndpoint.get("exportDecisions", "/organizations/:org/exports/decisions", {
    params,
    query: exportQuery("decisions"),
    success: Ndjson,
    error,
  }).annotate(OpenApi.Summary, "Decisions as NDJSON or CSV, for a warehouse").annotate(
    OpenApi.Description,
    `One row for each selected variant, with the columns of the view \`export_decisions\`. Its key is \`tracking_id\` and ` +
      `\`template_id\`. ${paging}`,
  ),
  HttpApiEndpoint.get("exportEvents", "/organizations/:org/exports/events", {
    params,
    query: exportQuery("events"),
    success: Ndjson,
    error,
  }).annotate(OpenApi.Summary, "Events as NDJSON or CSV, for a warehouse").annotate(
    OpenApi.Description,
    `One row for each event and decision, with the columns of the view \`export_events\`. Its key is \`source\`, ` +
      `\`event_id\` and \`template_id\`. An event that waits for its decision comes once that is known. ${paging}`,
  ),
  HttpApiEndpoint.get("exportDeliveries", "/organizations/:org/exports/deliveries", {
    params,
    query: exportQuery("deliveries"),
    success: Ndjson,
    error,
  }).annotate(OpenApi.Summary, "Deliveries as NDJSON or CSV, for a warehouse").annotate(
    OpenApi.Description,
    `One row for each queued message, with the columns of the view \`export_deliveries\`. Its key is \`id\`, which is also ` +
      `its tracking id. It comes again when its state changes. ${paging}`,
  ),
) {}
