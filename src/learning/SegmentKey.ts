import { hash } from "node:crypto"

// An index row of Postgres holds at most 2,704 bytes, and a segment of six attributes can take 11 kB.

/**
 * Longest segment used directly as a key. Unit: bytes of UTF-8. The other parts of a tally's key (organization,
 * template and variant) take up to 1,300 bytes.
 */
export const longestKey = 1000

/** Key of a segment in `tallies`: the segment itself, or a digest of a long one. No segment reads like a digest: it has a `=`. */
export const segmentKey = (segment: string): string =>
  Buffer.byteLength(segment) <= longestKey ? segment : `sha256:${hash("sha256", segment, "base64url")}`

/** The columns `segment` and `segment_text` of a tally. */
export const segmentColumns = (segment: string): { readonly segment: string; readonly segment_text: string | null } => {
  const key = segmentKey(segment)
  return { segment: key, segment_text: key === segment ? null : segment }
}

/** SQL for the text of the segment of the tally `t`. */
export const segmentText = "COALESCE(t.segment_text, t.segment)"
