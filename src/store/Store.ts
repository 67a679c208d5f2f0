import { Context, type Effect } from "effect"
import type { Holder } from "./DataDirLock.ts"

/** What is particular to the store this process runs on; everything else speaks SQL through `SqlClient`. */
export class Store extends Context.Service<Store, {
  /** `embedded`: PGlite, this process alone. `postgres`: a server that many processes share. */
  readonly kind: "embedded" | "postgres"
  /** Where it is, for people: a folder, or host, port and database. Never a password. */
  readonly address: string
  /** Tells the CLI on this machine where the process answers; does nothing on Postgres. */
  readonly announce: (holder: Holder) => void
  /** Follows the address to another server, see ServerWatch; undefined where it cannot lead to another. */
  readonly look: Effect.Effect<boolean> | undefined
}>()("parlance/store/Store") {}
