import { Context, type Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { OrgSlug } from "../domain/Ids.ts"

/**
 * Reads the link targets that a message has for itself alone; null if it has none, undefined if the message is gone. Delivery
 * stores them with the message. Fails with `SqlError` when the database does not respond.
 */
export class ReadOwnTargets extends Context.Service<
  ReadOwnTargets,
  (org: OrgSlug, id: string) => Effect.Effect<ReadonlyArray<string> | null | undefined, SqlError>
>()("parlance/tracking/ReadOwnTargets") {}
