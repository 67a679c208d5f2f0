import { Context, type Effect } from "effect"

/** What is particular to the store this process runs on; everything else speaks SQL through `SqlClient`. */
export class Store extends Context.Service<Store, {
  /** `embedded`: a server of this service's own, with its files in `DATA_DIR`. `postgres`: that of `DATABASE_URL`. */
  readonly kind: "embedded" | "postgres"
  /** Where it is, for people: a folder, or host, port and database. Never a password. */
  readonly address: string
  /** Follows the address to another server, see ServerWatch; undefined where it cannot lead to another. */
  readonly look: Effect.Effect<boolean> | undefined
}>()("parlance/store/Store") {}
