import { Context, Duration, Effect, Layer } from "effect"
import { Settings } from "../../settings/Settings.ts"
import { LoadGate } from "../admission/LoadGate.ts"

/** Whether this process has been told to end. */
export class Drain extends Context.Service<Drain, {
  readonly hasBegun: () => boolean
  readonly begin: () => void
}>()("parlance/api/http/Drain") {
  static readonly layer = Layer.sync(Drain, () => {
    let begun = false
    return Drain.of({ hasBegun: () => begun, begin: () => void (begun = true) })
  })

  /**
   * Built last, so that it is closed first: `/readyz` then says that this node ends, while everything is still answered for
   * `SHUTDOWN_DELAY`, so that a load balancer takes it out before connections are refused.
   */
  static readonly layerDelay = Layer.effectDiscard(Effect.gen(function* () {
    const { begin } = yield* Drain
    const { gate } = yield* LoadGate
    const { shutdownDelay } = yield* Settings
    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        begin()
        gate.isEnding = true
        return Duration.toMillis(shutdownDelay) > 0 ? Effect.sleep(shutdownDelay) : Effect.void
      })
    )
  }))
}
