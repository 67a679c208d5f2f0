import type { ContextKey } from "../bandit/Contexts.ts"
import { sha256 } from "../text/Sha256.ts"

// An index row of PostgreSQL has at most 2,704 bytes, and the key of a context of six attributes can have 11 kB.

/**
 * Maximum length of a context key that is stored unchanged. Unit: bytes of UTF-8. The other parts of a tally's key
 * (organization, template and variant) have up to 1,300 bytes.
 */
export const longestKey = 1000

/**
 * Returns the column `segment` of a tally: the key of its context, or a digest of a long key. Unlike a key, a digest
 * has no `=`.
 */
const storedKey = (context: ContextKey): string =>
  Buffer.byteLength(context) <= longestKey ? context : `sha256:${sha256(context)}`

/** Returns the columns `segment` and `segment_text` of a tally. */
export const contextColumns = (
  context: ContextKey,
): { readonly segment: string; readonly segment_text: string | null } => {
  const segment = storedKey(context)
  return { segment, segment_text: segment === context ? null : context }
}

/** SQL expression for the context key of the tally `t`. */
export const contextSql = "COALESCE(t.segment_text, t.segment)"
