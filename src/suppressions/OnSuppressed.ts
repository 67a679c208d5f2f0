import { Context, type Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { OrgSlug } from "../domain/Ids.ts"
import type { AddressKey } from "./AddressKey.ts"
import type { Suppression } from "./Suppression.ts"

/** An address that has just been suppressed. */
export interface Suppressed extends Suppression {
  readonly org: OrgSlug
  readonly key: AddressKey
}

/** Called with new suppressions in the transaction that stores them. Delivery cancels queued messages here. */
export class OnSuppressed extends Context.Service<
  OnSuppressed,
  (sql: SqlClient.SqlClient, suppressed: ReadonlyArray<Suppressed>) => Effect.Effect<void, SqlError>
>()("parlance/suppressions/OnSuppressed") {}
