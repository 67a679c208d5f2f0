import { Effect } from "effect"
import { SecretKeys } from "../../store/SecretKeys.ts"
import { AddressKeys } from "../../suppressions/AddressKeys.ts"
import { managed } from "../http/Managed.ts"

/** Serves `SecretKeysGroup`. */
export const layer = managed(
  "secret-keys",
  Effect.gen(function* () {
    const { list, reencrypt } = yield* SecretKeys
    const { keep, unkept } = yield* AddressKeys

    const keys = Effect.gen(function* () {
      const needed = yield* unkept
      return (yield* list).map(({ id, state, values }) => ({
        id,
        state,
        // The key of digests in the suppression list is derived from the secret key, until it is stored itself.
        values: values + (needed.includes(id) ? 1 : 0),
        removable: state === "decrypting" && values === 0 && !needed.includes(id),
      }))
    })

    return {
      listSecretKeys: () => Effect.map(Effect.catchTag(keys, "SqlError", Effect.die), (keys) => ({ keys })),
      reencryptSecrets: () =>
        Effect.gen(function* () {
          yield* keep
          const changed = yield* reencrypt
          return { changed, keys: yield* keys }
        }).pipe(Effect.catchTag("SqlError", Effect.die)),
    }
  }),
)
