import { Cache, Duration, Effect } from "effect"
import { bounded } from "./bounded.ts"
import { Changes } from "./Changes.ts"
import type { GroupCommitOptions } from "./GroupCommit.ts"
import * as SharedLookUp from "./SharedLookUp.ts"

/** An id that the store does not have either is not looked up again before this. */
const rememberedFor = Duration.seconds(1)

/** Ids that are remembered at most. */
const rememberedIds = 10_000

/** How long a request waits for the store to say that an id exists. */
const patience = "1 second"

/**
 * Looks up ids that the views of this node do not have, since another node may have made them a moment ago. The result is an
 * effect to run before an id is refused: where the store has the id, the views have it afterwards. It never fails; while the
 * store is out, the id stays unknown. Requests that come together share one statement.
 */
export const make = Effect.fnUntraced(function* (
  /** Says of each id whether the store has it. */
  exist: GroupCommitOptions<string, boolean>["write"],
) {
  const changes = yield* Changes
  const exists = yield* SharedLookUp.make<string, boolean>({ write: exist })
  const cache = yield* Cache.make({
    capacity: rememberedIds,
    timeToLive: rememberedFor,
    lookup: (id: string) =>
      exists(id).pipe(
        Effect.flatMap((found) => found ? changes.refresh : Effect.void),
        bounded(patience),
        Effect.catch((error) => Effect.logDebug("An id could not be looked up", error)),
      ),
  })
  return (id: string): Effect.Effect<void> => Cache.get(cache, id)
})
