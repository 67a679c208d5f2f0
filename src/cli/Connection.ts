import { Effect, Layer, Option } from "effect"
import { Settings } from "../Settings.ts"
import { clientFor, ManagementClient } from "./Client.ts"
import { remoteService } from "./Remote.ts"

export { CommandFailed, ManagementClient } from "./Client.ts"

/**
 * Runs commands at the service of `profile`, of `PARLANCE_URL` or of the last login (see `remoteService`). Without one they run
 * within this process on the store of the settings, which a running service uses as well.
 */
export const layerOf = (profile: Option.Option<string>) =>
  Layer.effect(
    ManagementClient,
    Effect.gen(function* () {
      const remote = yield* remoteService(profile)
      if (Option.isSome(remote)) return yield* clientFor(remote.value.url, remote.value.token)
      // The whole service, which commands at another one do without.
      const { inProcess } = yield* Effect.promise(() => import("./InProcess.ts"))
      return yield* inProcess.pipe(Effect.provide(Settings.layer))
    }),
  )

/** Runs commands where the environment and the last login say. */
export const layer = layerOf(Option.none())
