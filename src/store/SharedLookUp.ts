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
    maxGroup: 500,
    maxWaiting: settings.storeQueueSize,
    bufferSize: 0,
    bufferAge: Duration.seconds(1),
    timeout: settings.storeTimeout,
    drainTimeout: settings.shutdownTimeout,
  })
  return (question: Question) => GroupCommit.commitWith(shared, question)
})
