import { Context } from "effect"
import type { Holder } from "./DataDirLock.ts"

/** What is particular to the store this process runs on; everything else speaks SQL through `SqlClient`. */
export class Store extends Context.Service<Store, {
  /** `embedded`: PGlite, this process alone. `postgres`: a server that many processes share. */
  readonly kind: "embedded" | "postgres"
  /** Tells the CLI on this machine where the process answers; does nothing on Postgres. */
  readonly announce: (holder: Holder) => void
}>()("parlance/store/Store") {}
