import { Context, Duration, Effect, Layer } from "effect"
import { Settings } from "../../settings/Settings.ts"
import { LoadGate } from "../admission/LoadGate.ts"

/** Records whether the shutdown of this node has begun. */
export class Drain extends Context.Service<Drain, {
  readonly hasBegun: () => boolean
  readonly begin: () => void
}>()("parlance/api/http/Drain") {
  static readonly layer = Layer.sync(Drain, () => {
    let begun = false
    return Drain.of({ hasBegun: () => begun, begin: () => void (begun = true) })
  })

  /**
   * Begins the shutdown when its scope closes. This layer is built last, so it closes first: `/readyz` reports that the
   * node is ending while the node still answers all requests for `SHUTDOWN_DELAY`. A load balancer can therefore remove
   * the node before it refuses connections.
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
