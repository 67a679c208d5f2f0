import type { Effect } from "effect"
import type { Environment } from "../../support/stores.ts"

/** Defines the tests of a part of the service on the database of `environment`, which other contracts use as well. */
export type Contract = (environment: Effect.Effect<Environment>) => void
