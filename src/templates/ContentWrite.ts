import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { OrgSlug } from "../domain/Ids.ts"
import type { Changes } from "../organizations/Changes.ts"

/** One change of an organization's content: a transaction that raises its revision, then this node's views. */
export const contentWriter =
  (sql: SqlClient.SqlClient, changes: Changes["Service"]) =>
  <A, E>(org: OrgSlug, effect: Effect.Effect<A, E | SqlError>) =>
    sql.withTransaction(Effect.tap(effect, changes.bump(org))).pipe(
      Effect.tap(changes.refresh),
      Effect.catchTag("SqlError", Effect.die),
    ) as Effect.Effect<A, Exclude<E, SqlError>>
