import { Effect } from "effect"
import { Buckets } from "../../buckets/Buckets.ts"
import { managed } from "../http/Managed.ts"

/** Serves `BucketGroup`. */
export const layer = managed(
  "bucket",
  Effect.gen(function* () {
    const buckets = yield* Buckets
    return {
      getBucket: ({ org }) => Effect.map(buckets.get(org), (bucket) => ({ bucket: bucket ?? null })),
      setBucket: ({ body, org }) => buckets.set(org, body),
      removeBucket: ({ org }) => buckets.remove(org),
      runBucket: ({ org }) => buckets.run(org),
      checkBucket: ({ org }) => buckets.check(org),
    }
  }),
)
