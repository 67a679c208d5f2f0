import { Context, Effect, Layer, Option } from "effect"
import { Settings } from "../Settings.ts"
import { clientFor, ManagementClient, ServiceFetch } from "./Client.ts"
import { remoteService } from "./Remote.ts"

export { CommandFailed, ManagementClient, ServiceFetch } from "./Client.ts"

/**
 * Runs commands at the service of `profile`, of `PARLANCE_URL` or of the last login (see `remoteService`). Without one they run
 * within this process on the store of the settings, which a running service uses as well.
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
      // The whole service, which commands at another one do without.
      const { inProcess } = yield* Effect.promise(() => import("./InProcess.ts"))
      return yield* inProcess.pipe(Effect.provide(Settings.layer))
    }),
  )

/** Runs commands where the environment and the last login say. */
export const layer = layerOf(Option.none())
