import { Clock, Context, Duration, Effect, Layer } from "effect"
import { type ArrivedBody, batchBytes, type Received } from "../journal/inbox/Inbox.ts"
import { Settings } from "../settings/Settings.ts"
import * as GroupCommit from "../store/GroupCommit.ts"
import { EarlierAnswers } from "../suppressions/EarlierAnswers.ts"
import { Intake } from "./Intake.ts"

/** Timeout of storing and applying a group of bodies. */
const timeout = Duration.seconds(10)

/**
 * Applies bodies before they are acknowledged: reports after which a person must receive no more mail. Other bodies are
 * processed later from the inbox. Bodies that arrive at the same time are applied together.
 */
export class PromptIntake extends Context.Service<PromptIntake, {
  /**
   * Stores a body and applies it. After it returns, no message begins to an address that the body suppresses, on any
   * node. A body that cannot be read is only stored. Fails with `BufferFull` if the body was not stored or not applied
   * in time: then the sender must send it again, and each event counts once.
   */
  readonly take: (received: Received) => Effect.Effect<void, GroupCommit.BufferFull>
}>()("parlance/intake/PromptIntake") {
  static readonly layer = Layer.effect(
    PromptIntake,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const settings = yield* Settings
      const intake = yield* Intake
      const earlierAnswers = yield* EarlierAnswers

      const commit = yield* GroupCommit.make<ArrivedBody, boolean>({
        write: (entries) =>
          intake.takeNew(entries).pipe(
            Effect.catchTag(
              "WorkFailed",
              (error) =>
                Effect.as(Effect.logWarning("Webhook bodies could not be applied at once", error.detail), false),
            ),
            Effect.map((isTaken) => entries.map(() => isTaken || entries.length === 1)),
          ),
        maxGroup: 500,
        maxWaiting: settings.storeQueueSize,
        maxWeight: { limit: batchBytes, held: 64 * 1024 * 1024, of: ({ body }) => body.byteLength },
        bufferSize: 0,
        bufferAge: Duration.seconds(1),
        timeout,
        drainTimeout: settings.shutdownTimeout,
      })

      const take = Effect.fn("PromptIntake.take")(function* (received: Received) {
        const body = { ...received, receivedAt: clock.currentTimeMillisUnsafe() }
        if (!(yield* GroupCommit.commitWith(commit, body))) return yield* new GroupCommit.BufferFull()
        yield* earlierAnswers.lapsed([received.org])
      })

      return PromptIntake.of({ take })
    }),
  )
}
