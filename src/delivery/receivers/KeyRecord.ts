import { t } from "../../languages/Language.ts"
import type { DnsRecord } from "../dkim/DkimKey.ts"
import type { DnsAnswer } from "./DnsRecords.ts"

/** A comparison of a DKIM key with its record in DNS. */
export interface KeyRecordFinding {
  /** Whether the record was found and contains the key. */
  readonly isPublished: boolean
  /** `unknown`: no name server answered. */
  readonly status: "ok" | "missing" | "wrong" | "unknown"
  /** One or two sentences. */
  readonly detail: string
}

/** Parses a record such as `v=DKIM1; p=…` into its tags, by lowercase name. White space in values is removed. */
export const tagsOf = (text: string): ReadonlyMap<string, string> =>
  new Map(
    text.split(";").flatMap((part): ReadonlyArray<[string, string]> => {
      const at = part.indexOf("=")
      return at === -1 ? [] : [[part.slice(0, at).trim().toLowerCase(), part.slice(at + 1).replace(/\s+/g, "")]]
    }),
  )

/** Describes, in a sentence, why a name could not be queried. */
export const unavailableText = (
  name: string,
  { reason }: Extract<DnsAnswer, { readonly _tag: "unavailable" }>,
): string => t`${name} could not be looked up, because DNS is not available here (${reason}).`

/** Compares the record of a key with the DNS answer for its name. */
export const keyFindingOf = ({ name, value }: DnsRecord, answer: DnsAnswer): KeyRecordFinding => {
  if (answer._tag === "unavailable") {
    return { isPublished: false, status: "unknown", detail: unavailableText(name, answer) }
  }
  const records = answer._tag === "none" ? [] : answer.texts.map(tagsOf).filter((tags) => tags.has("p"))
  if (records.length === 0) {
    return { isPublished: false, status: "missing", detail: t`There is no DKIM record at ${name}.` }
  }
  if (records.length > 1) {
    return {
      isPublished: false,
      status: "wrong",
      detail: t`There are ${records.length} DKIM records at ${name}. Keep one.`,
    }
  }
  const published = records[0]!.get("p")
  if (published === "") {
    return { isPublished: false, status: "wrong", detail: t`The record at ${name} revokes the key: its p= is empty.` }
  }
  if (published !== tagsOf(value).get("p")) {
    return {
      isPublished: false,
      status: "wrong",
      detail: t`The record at ${name} has a different public key than this connection.`,
    }
  }
  return { isPublished: true, status: "ok", detail: t`The record at ${name} holds the public key.` }
}
