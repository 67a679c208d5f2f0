import { Option, Schema } from "effect"
import { hash as digest } from "node:crypto"
import * as Json from "../json/Json.ts"

// The chain of an audit log as lines of NDJSON. Pure.
//
// The hash of a line is the SHA-256 of the line without its last member, `hash`. A line contains the hash of the line
// before it in `previous`. A reader needs no canonical form of JSON: it hashes the bytes of the line.

/** An entry of a chain: its number from 1, and its hash. */
export const ChainLink = Schema.Struct({
  seq: Schema.Int,
  hash: Schema.String.annotate({ description: "SHA-256 in hexadecimal digits" }),
}).annotate({ identifier: "AuditChainLink" })
export type ChainLink = typeof ChainLink.Type

/** The place before the first entry of a chain. */
export const chainStart: ChainLink = { seq: 0, hash: "0".repeat(64) }

/** The content of an entry. `details` and `changes` are JSON as it is stored. */
export interface SealedContent {
  readonly id: number
  readonly at: Date
  readonly org: string | null
  readonly actor: string
  readonly actorId: string | null
  readonly action: string
  readonly subject: string
  readonly address: string | null
  readonly refusal: string | null
  readonly details: string
  readonly changes: string | null
}

/** Line breaks of JSON are outside of its strings. */
const onOneLine = (json: string) => json.replace(/[\r\n]/g, " ")

const withHash = (content: string, hash: string) => `${content.slice(0, -1)},"hash":"${hash}"}`

const contentOf = ({ hash, seq }: ChainLink, entry: SealedContent): string => {
  const { action, actor, actorId, address, at, id, org, refusal, subject } = entry
  const members = {
    seq: seq + 1,
    previous: hash,
    id,
    at,
    org,
    actor,
    actor_id: actorId,
    action,
    subject,
    address,
    refusal,
  }
  const changes = entry.changes === null ? "null" : onOneLine(entry.changes)
  return `${JSON.stringify(members).slice(0, -1)},"details":${onOneLine(entry.details)},"changes":${changes}}`
}

/** Returns the link of an entry that follows `previous`. */
export const linkAfter = (previous: ChainLink, entry: SealedContent): ChainLink => ({
  seq: previous.seq + 1,
  hash: digest("sha256", contentOf(previous, entry), "hex"),
})

/** Returns the line of an entry that follows `previous`, with the hash that is stored for it. */
export const lineOf = (previous: ChainLink, entry: SealedContent, hash: string): string =>
  withHash(contentOf(previous, entry), hash)

const decode = Schema.decodeUnknownOption(Schema.Struct({
  seq: Schema.Int,
  previous: Schema.String,
  at: Schema.String,
  actor: Schema.String,
  action: Schema.String,
  hash: Schema.String,
}))

/** Reads the members of a line that its check needs. Undefined for other texts. */
export const readLine = (line: string) => {
  try {
    return Option.getOrUndefined(decode(Json.parse(line)))
  } catch {
    return undefined
  }
}

/** The first broken entry of a chain. */
export interface ChainFault {
  /** Number of the entry. */
  readonly seq: number
  readonly reason: string
}

/**
 * Checks that lines continue a chain after `start`. Returns the last intact link and the first fault. `kept` is a link
 * that was written down earlier: its entry must still have this hash.
 */
export const checkLines = (
  start: ChainLink,
  lines: ReadonlyArray<string>,
  kept?: ChainLink,
): { readonly last: ChainLink; readonly fault: ChainFault | undefined } => {
  let last = start
  for (const line of lines) {
    const seq = last.seq + 1
    const failed = (reason: string) => ({ last, fault: { seq, reason } })
    const entry = readLine(line)
    if (entry === undefined) return failed("is not readable")
    const named = `(${entry.at}, "${entry.action}" by ${entry.actor})`
    if (entry.seq < seq) {
      return { last, fault: { seq: entry.seq, reason: `was inserted before entry ${seq} ${named}` } }
    }
    if (entry.seq > seq) return failed("is missing")
    const content = `${line.slice(0, line.lastIndexOf(',"hash":"'))}}`
    if (withHash(content, entry.hash) !== line || digest("sha256", content, "hex") !== entry.hash) {
      return failed(`was changed after it was written ${named}`)
    }
    if (entry.previous !== last.hash) return failed(`does not continue entry ${last.seq} ${named}`)
    if (kept?.seq === seq && kept.hash !== entry.hash) return failed(`has another hash than the one you kept ${named}`)
    last = { seq, hash: entry.hash }
  }
  return { last, fault: undefined }
}
