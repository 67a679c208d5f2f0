import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { WorkFailed } from "../store/WorkerProcess.ts"

/**
 * Processes received data that has not reached the ledger yet. Learning runs it before it updates a model. The
 * receiving modules register their processing.
 */
export class Inflow extends Context.Service<Inflow, {
  /** Registers an effect that processes received data. `drain` fails with its errors. */
  readonly register: (drain: Effect.Effect<void, SqlError | WorkFailed>) => Effect.Effect<void>
  /**
   * Processes all data received so far. Fails with `SqlError` if the database does not respond, and with `WorkFailed`
   * if a body cannot be processed.
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
