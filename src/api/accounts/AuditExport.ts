import { Effect, Option, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import type { AuditChain, AuditLog, ChainName, SealedEntry } from "../../accounts/AuditChain.ts"
import { csvLine, spreadsheetText } from "../../text/Csv.ts"

/** Number of entries that a download reads with one query, and maximum length of a page with a cursor. */
const readAtOnce = 500

const columns = [
  "seq",
  "previous",
  "id",
  "at",
  "org",
  "actor",
  "actorId",
  "action",
  "subject",
  "address",
  "refusal",
  "details",
  "changes",
  "hash",
] as const satisfies ReadonlyArray<keyof SealedEntry>

const header = csvLine(columns.map((name) => name === "actorId" ? "actor_id" : name))

// People open the file in a spreadsheet. The hashes are verified with NDJSON.
const csvOf = (entry: SealedEntry): string =>
  csvLine(columns.map((name) => {
    const value = entry[name]
    return value instanceof Date ? value.toISOString() : spreadsheetText(String(value ?? ""))
  }))

/** The entries that a download contains. */
export interface AuditSelection {
  readonly log: AuditLog | undefined
  readonly format: "ndjson" | "csv" | undefined
  /** The number of the entry after which the file begins. */
  readonly cursor: number | undefined
  readonly limit: number | undefined
}

/** Returns the headers that lead to the following page. */
const pageHeaders = (entries: ReadonlyArray<SealedEntry>, cursor: number, limit: number) => ({
  "parlance-cursor": `${entries.at(-1)?.seq ?? cursor}`,
  "parlance-more": `${entries.length === limit}`,
})

/** Responds with a chain of an audit log as a file, in the order of the chain. Memory is bounded by a page. */
export const auditDownload = Effect.fnUntraced(function* (
  chain: AuditChain["Service"],
  org: string | undefined,
  { cursor = 0, format = "ndjson", limit = Infinity, log = "changes" }: AuditSelection,
): Effect.fn.Return<HttpServerResponse.HttpServerResponse> {
  const name: ChainName = { org, log }
  const encoder = new TextEncoder()
  const isCsv = format === "csv"
  const page = limit <= readAtOnce ? yield* chain.page(name, cursor, limit) : undefined
  const lines = Stream.paginate({ after: cursor, left: limit }, ({ after, left }) => {
    const atOnce = Math.min(readAtOnce, left)
    return Effect.map(page === undefined ? chain.page(name, after, atOnce) : Effect.succeed(page), (entries) => {
      const text = entries.map((entry) => isCsv ? csvOf(entry) : `${entry.line}\n`).join("")
      const isLast = entries.length < atOnce || left === atOnce
      const next = isLast ? Option.none() : Option.some({ after: entries.at(-1)!.seq, left: left - atOnce })
      return [text === "" ? [] : [encoder.encode(text)], next] as const
    })
  })
  return HttpServerResponse.stream(isCsv ? Stream.concat(Stream.make(encoder.encode(header)), lines) : lines, {
    contentType: isCsv ? "text/csv; charset=utf-8" : "application/x-ndjson",
    headers: {
      ...(page === undefined ? {} : pageHeaders(page, cursor, limit)),
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "content-disposition": `attachment; filename="${org ?? "installation"}-audit-${log}.${format}"`,
    },
  })
})
