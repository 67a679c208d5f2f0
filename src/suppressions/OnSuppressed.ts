import { Context, type Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { OrgSlug } from "../domain/Ids.ts"
import type { AddressKey } from "./AddressKey.ts"
import type { Suppression } from "./Suppression.ts"

/** A newly suppressed address. */
export interface Suppressed extends Suppression {
  readonly org: OrgSlug
  readonly key: AddressKey
}

/** Called with new suppressions in the transaction that stores them. Delivery uses it to cancel queued messages. */
export class OnSuppressed extends Context.Service<
  OnSuppressed,
  (sql: SqlClient.SqlClient, suppressed: ReadonlyArray<Suppressed>) => Effect.Effect<void, SqlError>
>()("parlance/suppressions/OnSuppressed") {}
