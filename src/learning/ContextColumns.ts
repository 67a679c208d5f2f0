import type { ContextKey } from "../bandit/Contexts.ts"
import { sha256 } from "../domain/Sha256.ts"

// An index row of Postgres holds at most 2,704 bytes, and the key of a context of six attributes can take 11 kB.

/**
 * Longest key of a context that is stored as it is. Unit: bytes of UTF-8. The other parts of a tally's key (organization,
 * template and variant) take up to 1,300 bytes.
 */
export const longestKey = 1000

/** The column `segment` of a tally: the key of its context, or a digest of a long key. A digest has no `=`, unlike a key. */
export const storedKey = (context: ContextKey): string =>
  Buffer.byteLength(context) <= longestKey ? context : `sha256:${sha256(context)}`

/** The columns `segment` and `segment_text` of a tally. */
export const contextColumns = (
  context: ContextKey,
): { readonly segment: string; readonly segment_text: string | null } => {
  const segment = storedKey(context)
  return { segment, segment_text: segment === context ? null : context }
}

/** SQL for the key of the context of the tally `t`. */
export const contextSql = "COALESCE(t.segment_text, t.segment)"
