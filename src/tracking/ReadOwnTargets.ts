import { Context, type Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { OrgSlug } from "../domain/Ids.ts"

/**
 * Reads the link targets that belong to one message only. Null if it has none, undefined if the message was deleted.
 * Delivery stores them with the message. Fails with `SqlError` if the database does not respond.
 */
export class ReadOwnTargets extends Context.Service<
  ReadOwnTargets,
  (org: OrgSlug, id: string) => Effect.Effect<ReadonlyArray<string> | null | undefined, SqlError>
>()("parlance/tracking/ReadOwnTargets") {}
