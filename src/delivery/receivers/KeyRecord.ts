import type { DnsRecord } from "../dkim/DkimKey.ts"
import type { DnsAnswer } from "./DnsRecords.ts"

/** A comparison of a DKIM key with its record in DNS. */
export interface KeyRecordFinding {
  /** Whether the record is found and holds the key. */
  readonly isPublished: boolean
  /** `unknown`: no name server answered. */
  readonly status: "ok" | "missing" | "wrong" | "unknown"
  /** One or two sentences. */
  readonly detail: string
}

/** The tags of a record such as `v=DKIM1; p=…`, by lowercase name. White space within values does not count. */
export const tagsOf = (text: string): ReadonlyMap<string, string> =>
  new Map(
    text.split(";").flatMap((part): ReadonlyArray<[string, string]> => {
      const at = part.indexOf("=")
      return at === -1 ? [] : [[part.slice(0, at).trim().toLowerCase(), part.slice(at + 1).replace(/\s+/g, "")]]
    }),
  )

/** Why no answer was to be had, as a sentence. */
export const unavailableText = (
  name: string,
  { reason }: Extract<DnsAnswer, { readonly _tag: "unavailable" }>,
): string => `${name} could not be looked up, because DNS is not available here (${reason}).`

/** Compares the record of a key with the answer for its name. */
export const keyFindingOf = ({ name, value }: DnsRecord, answer: DnsAnswer): KeyRecordFinding => {
  if (answer._tag === "unavailable") {
    return { isPublished: false, status: "unknown", detail: unavailableText(name, answer) }
  }
  const records = answer._tag === "none" ? [] : answer.texts.map(tagsOf).filter((tags) => tags.has("p"))
  if (records.length === 0) {
    return { isPublished: false, status: "missing", detail: `There is no DKIM record at ${name}.` }
  }
  if (records.length > 1) {
    return {
      isPublished: false,
      status: "wrong",
      detail: `There are ${records.length} DKIM records at ${name}. Keep one.`,
    }
  }
  const published = records[0]!.get("p")
  if (published === "") {
    return { isPublished: false, status: "wrong", detail: `The record at ${name} revokes the key: its p= is empty.` }
  }
  if (published !== tagsOf(value).get("p")) {
    return {
      isPublished: false,
      status: "wrong",
      detail: `The record at ${name} has a different public key than this connection.`,
    }
  }
  return { isPublished: true, status: "ok", detail: `The record at ${name} holds the public key.` }
}
