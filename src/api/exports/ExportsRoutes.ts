import { Clock, Effect, Result, Stream } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { dayMillis } from "../../bandit/Window.ts"
import type { OrganizationNotFound } from "../../domain/Errors.ts"
import { decode, encode, type Stream as StreamName } from "../../exports/Cursor.ts"
import { csvHeader, csvRow, ndjsonRow } from "../../exports/ExportText.ts"
import { columnsOf, type ExportedRow, Exports } from "../../exports/Exports.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { letOthersRun } from "../../runtime/letOthersRun.ts"
import { ServedApi } from "../Api.ts"
import type { InvalidRequest } from "../Problems.ts"
import * as Parameters from "../server/Parameters.ts"
import { invalid, slugOf, toProblems } from "../server/Requests.ts"

/** Rows that are written at once. Other requests get a turn after them. */
const rowsAtOnce = 500

const parametersOf = (stream: StreamName) => ({
  after: ((text) => {
    const cursor = text === undefined ? undefined : decode(text, stream)
    return text === undefined || cursor !== undefined
      ? Result.succeed(cursor)
      : Result.fail(`must be the Parlance-Cursor of a page of ${stream}`)
  }) satisfies Parameters.Parameter<ReturnType<typeof decode>>,
  since: Parameters.time,
  limit: Parameters.limit(5_000, 1_000),
  format: Parameters.oneOf(["ndjson", "csv"]),
})

/** Rows as text, in parts. */
const written = (
  stream: StreamName,
  rows: ReadonlyArray<ExportedRow>,
  format: "ndjson" | "csv",
): Stream.Stream<Uint8Array> => {
  const columns = columnsOf[stream]
  const encoder = new TextEncoder()
  const toLine = format === "csv" ? (row: ExportedRow) => csvRow(columns, row) : ndjsonRow
  const parts = Array.from(
    { length: Math.ceil(rows.length / rowsAtOnce) },
    (_, n) => rows.slice(n * rowsAtOnce, (n + 1) * rowsAtOnce),
  )
  const lines = Stream.mapEffect(
    Stream.fromIterable(parts),
    (part) => Effect.as(letOthersRun, encoder.encode(part.map(toLine).join(""))),
  )
  return format === "csv" ? Stream.concat(Stream.make(encoder.encode(csvHeader(columns))), lines) : lines
}

const contentTypes = { ndjson: "application/x-ndjson", csv: "text/csv; charset=utf-8" } as const

export const layer = HttpApiBuilder.group(
  ServedApi,
  "exports",
  Effect.fnUntraced(function* (handlers) {
    const organizations = yield* Organizations
    const exports = yield* Exports

    const answer = (
      stream: StreamName,
      params: { readonly org: string },
      request: HttpServerRequest.HttpServerRequest,
    ): Effect.Effect<HttpServerResponse.HttpServerResponse, InvalidRequest | OrganizationNotFound> =>
      Effect.gen(function* () {
        const { created_at, retention_days, slug } = yield* organizations.get(slugOf(params))
        const asked = yield* Parameters.parameters(request, parametersOf(stream))
        const format = asked.format ?? "ndjson"
        const now = yield* Clock.currentTimeMillis
        // Clocks of nodes differ, and events are kept a little longer than decisions.
        const oldest = Math.max(Date.parse(created_at) - dayMillis, now - (retention_days + 70) * dayMillis)
        const since = new Date(Math.max(oldest, asked.since?.getTime() ?? oldest))
        const page = yield* exports.page(slug, stream, { after: asked.after, since, limit: asked.limit }).pipe(
          Effect.catchTags({
            CursorExpired: () =>
              Effect.fail(invalid([{
                pointer: "after",
                detail: "is older than 30 days, so rows that changed since may be missed. Begin again without it",
              }])),
            SqlError: Effect.die,
          }),
        )
        return HttpServerResponse.stream(written(stream, page.rows, format), {
          contentType: contentTypes[format],
          headers: { "parlance-cursor": encode(page.cursor), "parlance-more": String(page.hasMore) },
        })
      })

    return handlers
      .handleRaw("exportDecisions", ({ params, request }) => toProblems(answer("decisions", params, request)))
      .handleRaw("exportEvents", ({ params, request }) => toProblems(answer("events", params, request)))
      .handleRaw("exportDeliveries", ({ params, request }) => toProblems(answer("deliveries", params, request)))
  }),
)
