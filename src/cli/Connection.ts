import { Context, Effect, Layer, Option } from "effect"
import { Settings } from "../settings/Settings.ts"
import { clientFor, ManagementClient, ServiceFetch } from "./Client.ts"
import { remoteService } from "./Remote.ts"

export { CommandFailed, ManagementClient, OnWarnings, ServiceFetch } from "./Client.ts"

/**
 * Provides the management API: of the service of `profile`, of `PARLANCE_URL` or of the last login (see
 * `remoteService`), or else within this process, on the store of the settings. A running service may use the same
 * store.
 */
export const layerOf = (profile: Option.Option<string>) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const remote = yield* remoteService(profile)
      if (Option.isSome(remote)) {
        const { token, tokenFrom, url } = remote.value
        return Context.make(ManagementClient, yield* clientFor(url, token, { tokenFrom })).pipe(
          Context.add(ServiceFetch, (path, init) => fetch(`${url}${path}`, init)),
        )
      }
      // Loads the whole service, which a command for a service elsewhere does not need.
      const { inProcess } = yield* Effect.promise(() => import("./InProcess.ts"))
      return yield* inProcess.pipe(Effect.provide(Settings.layer))
    }),
  )

/** Provides the management API without the flag `--profile`. */
export const layer = layerOf(Option.none())
