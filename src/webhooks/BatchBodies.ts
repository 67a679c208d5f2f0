import { Context, type Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { BatchedType } from "./BatchTypes.ts"
import type { BatchRange } from "./Feeds.ts"

/**
 * Reads the rows of a batch and returns its body, JSON. Rows that were erased since are missing, so that a body names
 * no erased person. Fails with `SqlError` if the database does not respond.
 */
export class BatchBodies extends Context.Service<
  BatchBodies,
  (batch: {
    readonly orgSlug: string
    readonly type: BatchedType
    readonly createdAt: Date
    readonly batch: BatchRange
  }) => Effect.Effect<string, SqlError>
>()("parlance/webhooks/BatchBodies") {}
