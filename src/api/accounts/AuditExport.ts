import { Effect, Option, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import type { AuditChain, AuditLog, ChainName, SealedEntry } from "../../accounts/AuditChain.ts"
import { csvLine, spreadsheetText } from "../../text/Csv.ts"

/** Number of entries that a download reads with one query. */
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
  readonly after: number | undefined
  readonly limit: number | undefined
}

/** Responds with a chain of an audit log as a file, in the order of the chain. Memory is bounded by a page. */
export const auditDownload = (
  chain: AuditChain["Service"],
  org: string | undefined,
  { after = 0, format = "ndjson", limit = Infinity, log = "changes" }: AuditSelection,
): HttpServerResponse.HttpServerResponse => {
  const name: ChainName = { org, log }
  const encoder = new TextEncoder()
  const isCsv = format === "csv"
  const lines = Stream.paginate({ after, left: limit }, ({ after, left }) => {
    const atOnce = Math.min(readAtOnce, left)
    return Effect.map(chain.page(name, after, atOnce), (entries) => {
      const text = entries.map((entry) => isCsv ? csvOf(entry) : `${entry.line}\n`).join("")
      const isLast = entries.length < atOnce || left === atOnce
      const next = isLast ? Option.none() : Option.some({ after: entries.at(-1)!.seq, left: left - atOnce })
      return [text === "" ? [] : [encoder.encode(text)], next] as const
    })
  })
  return HttpServerResponse.stream(isCsv ? Stream.concat(Stream.make(encoder.encode(header)), lines) : lines, {
    contentType: isCsv ? "text/csv; charset=utf-8" : "application/x-ndjson",
    headers: {
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "content-disposition": `attachment; filename="${org ?? "installation"}-audit-${log}.${format}"`,
    },
  })
}
