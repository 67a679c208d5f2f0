import { Clock, Effect, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import type { OrgSlug } from "../../domain/Ids.ts"
import { encode, type Stream as StreamName } from "../../exports/Cursor.ts"
import { csvHeader, csvRow, ndjsonRow } from "../../exports/ExportText.ts"
import { columnsOf, type ExportedRow, Exports, oldestRow } from "../../exports/Exports.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { letOthersRun } from "../../runtime/letOthersRun.ts"
import type { InvalidRequest } from "../Problems.ts"
import { managed } from "../http/Managed.ts"
import type { ValuesOf } from "../http/Parameters.ts"
import { invalid } from "../http/Requests.ts"
import type { exportQuery } from "./ExportsApi.ts"

/** Number of rows that are encoded in one turn of the event loop. */
const rowsAtOnce = 500

/** Encodes rows as text, in parts. Other requests run between the parts. */
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

type ExportQuery = ValuesOf<ReturnType<typeof exportQuery>>

/** Serves `ExportsGroup`. */
export const layer = managed(
  "exports",
  Effect.gen(function* () {
    const organizations = yield* Organizations
    const exports = yield* Exports

    const answer = (stream: StreamName) =>
      Effect.fnUntraced(function* ({ query, slug }: {
        readonly slug: OrgSlug
        readonly query: Effect.Effect<ExportQuery, InvalidRequest>
      }) {
        const organization = yield* organizations.get(slug)
        const selection = yield* query
        const format = selection.format ?? "ndjson"
        const oldest = oldestRow(organization, yield* Clock.currentTimeMillis)
        const since = new Date(Math.max(oldest, selection.since?.getTime() ?? oldest))
        const page = yield* exports.page(slug, stream, { after: selection.cursor, since, limit: selection.limit }).pipe(
          Effect.catchTags({
            CursorExpired: () =>
              Effect.fail(invalid([{
                pointer: "cursor",
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

    return {
      exportDecisions: { inSteps: answer("decisions") },
      exportEvents: { inSteps: answer("events") },
      exportDeliveries: { inSteps: answer("deliveries") },
    }
  }),
)
