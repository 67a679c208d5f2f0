import { Cache, Duration, Effect } from "effect"
import { bounded } from "../store/bounded.ts"
import { Changes } from "./Changes.ts"
import type { GroupCommitOptions } from "../store/GroupCommit.ts"
import * as SharedLookUp from "../store/SharedLookUp.ts"

/** Time before an id that is not in the database is looked up again. */
const rememberedFor = Duration.seconds(1)

/** Maximum number of remembered ids. */
const rememberedIds = 10_000

/** Timeout of a request's look-up. */
const patience = "1 second"

/**
 * Looks up ids that the caches of this node lack, because another node may have just created them. The result is an
 * effect to run before an id is refused: if the database has the id, the caches have it afterwards. It never fails:
 * while the database is down, the id stays unknown. Concurrent requests share one statement.
 */
export const make = Effect.fnUntraced(function* (
  /** Returns whether the database has each of the ids. */
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
