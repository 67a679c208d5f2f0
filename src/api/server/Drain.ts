import { Context, Duration, Effect, Layer } from "effect"
import { Settings } from "../../Settings.ts"
import { LoadGate } from "../admission/LoadGate.ts"

/** How long connections that were not read are read again before they are closed. */
const waking = Duration.millis(250)

/** Whether this process has been told to end. */
export class Drain extends Context.Service<Drain, {
  readonly hasBegun: () => boolean
  readonly begin: () => void
}>()("parlance/http/Drain") {
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
        const delay = gate.resting > 0 ? Duration.max(shutdownDelay, waking) : shutdownDelay
        return Duration.toMillis(delay) > 0 ? Effect.sleep(delay) : Effect.void
      })
    )
  }))
}
