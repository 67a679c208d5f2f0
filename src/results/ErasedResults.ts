import { Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { Work } from "../erasure/Work.ts"

/**
 * Deletes the stored results of the organization, because segments are named by attribute values. The next view of each
 * template computes them again.
 */
export const eraseKeptResults = ({ org, sql, step }: Work): Effect.Effect<void, SqlError> =>
  Effect.asVoid(step(sql`DELETE FROM kept_results k WHERE k.org_slug = ${org}`))
