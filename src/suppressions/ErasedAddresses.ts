import { Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { deleteAddresses } from "../webhooks/Announce.ts"
import { addressKey } from "./AddressKey.ts"
import type { AddressKeys } from "./AddressKeys.ts"
import { replaceAddresses } from "./SuppressionStore.ts"
import { chunks, type Work } from "../erasure/Work.ts"

/**
 * Replaces the people's addresses in the suppression list by keyed digests, so that they still receive no messages, and
 * deletes outgoing webhooks that contain the addresses.
 */
export const eraseSuppressedAddresses = Effect.fnUntraced(function* (
  work: Work,
  keys: AddressKeys["Service"],
): Effect.fn.Return<void, SqlError> {
  const addresses = [...new Set(work.names.spellings().flatMap((name) => addressKey(name) ?? []))]
  for (const some of chunks(addresses, work.sizes.changes)) {
    const replaced = yield* Effect.forEach(
      some,
      (key) => Effect.map(keys.digestOf(key), (digest) => ({ key, digest: digest! })),
    )
    work.count("webhook_events", yield* work.step(deleteAddresses(work.sql, work.org, some)))
    work.keep("suppressions", yield* work.step(replaceAddresses(work.sql, work.org, replaced)))
  }
})
