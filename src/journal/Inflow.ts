import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { WorkFailed } from "../store/WorkerProcess.ts"

/**
 * Processing of received data that has not reached the ledger yet. Learning runs it before it updates a model; the
 * receiving modules register it.
 */
export class Inflow extends Context.Service<Inflow, {
  /** Registers the processing of received data. `drain` fails with its errors. */
  readonly register: (drain: Effect.Effect<void, SqlError | WorkFailed>) => Effect.Effect<void>
  /**
   * Takes in all that has been received so far. Fails with `SqlError` when the database does not respond, and with
   * `WorkFailed` when a body cannot be read.
   */
  readonly drain: Effect.Effect<void, SqlError | WorkFailed>
}>()("parlance/journal/Inflow") {
  static readonly layer = Layer.sync(Inflow, () => {
    const drains: Array<Effect.Effect<void, SqlError | WorkFailed>> = []
    return Inflow.of({
      register: (drain) => Effect.sync(() => void drains.push(drain)),
      drain: Effect.suspend(() => Effect.forEach(drains, (drain) => drain, { discard: true })),
    })
  })
}
