import { Duration, Effect } from "effect"
import { Settings } from "../settings/Settings.ts"
import * as GroupCommit from "./GroupCommit.ts"

/**
 * Creates a function that reads values from the database. Calls during a query share the next query. `write` returns
 * the answers in the order of the questions. Fails with `BufferFull` if the database does not respond, or if too many
 * calls are queued.
 */
export const make = Effect.fnUntraced(function* <Question, Answer>(
  options: Pick<GroupCommit.GroupCommitOptions<Question, Answer>, "write" | "maxWeight">,
) {
  const settings = yield* Settings
  const shared = yield* GroupCommit.make<Question, Answer>({
    ...options,
    onSettled: () => {},
    maxGroup: 500,
    maxWaiting: settings.storeQueueSize,
    bufferSize: 0,
    bufferAge: Duration.seconds(1),
    timeout: settings.storeTimeout,
    drainTimeout: settings.shutdownTimeout,
  })
  return (question: Question): Effect.Effect<Answer, GroupCommit.BufferFull> =>
    Effect.suspend(() => {
      const write = shared.submit(question)
      if (write === undefined) return Effect.fail(new GroupCommit.BufferFull())
      return Effect.flatMap(
        shared.settled(write),
        (found) => found.durable ? Effect.succeed(found.value) : Effect.fail(new GroupCommit.BufferFull()),
      )
    })
})
