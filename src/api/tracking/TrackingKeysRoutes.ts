import { Effect } from "effect"
import { TrackingKey, type TrackingKeyInfo } from "../../tracking/TrackingKey.ts"
import { managed } from "../http/Managed.ts"

const resourceOf = ({ createdAt, id, state }: TrackingKeyInfo) => ({ id, created_at: createdAt, state })

/** Serves `TrackingKeysGroup`. */
export const layer = managed(
  "tracking-keys",
  Effect.gen(function* () {
    const { list, remove, rotate } = yield* TrackingKey
    return {
      listTrackingKeys: () => Effect.map(Effect.orDie(list), (keys) => ({ keys: keys.map(resourceOf) })),
      rotateTrackingKey: () => Effect.map(Effect.catchTag(rotate, "SqlError", Effect.die), resourceOf),
      removeTrackingKey: ({ params }) => Effect.catchTag(remove(params.key), "SqlError", Effect.die),
    }
  }),
)
