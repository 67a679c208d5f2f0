import { Clock, Context, Effect, Layer } from "effect"
import { Buffer } from "node:buffer"
import type { OrgSlug } from "../domain/Ids.ts"
import { deliverSource } from "../domain/Source.ts"
import { itemOf, Reactions } from "../tracking/Reactions.ts"
import { PromptIntake } from "./PromptIntake.ts"

/** Records opt-outs through the unsubscribe links of messages. */
export class OptOuts extends Context.Service<OptOuts, {
  /**
   * Unsubscribes the recipient of a message. Returns true after the opt-out is stored, when no other message to the
   * person can begin. Returns false if this is not certain yet: the opt-out then stays in memory and is stored later,
   * unless the process dies.
   */
  readonly record: (org: OrgSlug, deliveryId: string) => Effect.Effect<boolean>
}>()("parlance/intake/OptOuts") {
  static readonly layer = Layer.effect(
    OptOuts,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const promptIntake = yield* PromptIntake
      const reactions = yield* Reactions

      const record = Effect.fn("OptOuts.record")((org: OrgSlug, id: string) => {
        const reaction = { org, id, event: "unsubscribe", automated: false } as const
        const at = clock.currentTimeMillisUnsafe()
        const item = itemOf(reaction, at)
        return promptIntake.take({ org, source: deliverSource, headers: {}, body: Buffer.from(JSON.stringify([item])) })
          .pipe(Effect.match({
            onFailure: () => {
              // With the id of the first attempt, which may be stored as well.
              reactions.note(reaction, at)
              return false
            },
            onSuccess: () => {
              reactions.count("unsubscribe", "recorded")
              return true
            },
          }))
      })

      return OptOuts.of({ record })
    }),
  )
}
