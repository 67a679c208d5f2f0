import { Context, Effect, Layer, Option } from "effect"
import { Settings } from "../settings/Settings.ts"
import { clientFor, ManagementClient, ServiceFetch } from "./Client.ts"
import { ServiceOfCommand, serviceOfCommand } from "./Remote.ts"

export { CommandFailed, ManagementClient, OnWarnings, ServiceFetch } from "./Client.ts"

/**
 * Provides the management API: of a running service (see `serviceOfCommand`), or else within this process, on the store
 * of the settings. A running service may use the same store.
 */
export const layerOf = (profile: Option.Option<string>) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const service = yield* serviceOfCommand(profile)
      if (Option.isSome(service)) {
        const { token, tokenFrom, url } = service.value
        return Context.make(ManagementClient, yield* clientFor(url, token, { tokenFrom })).pipe(
          Context.add(ServiceFetch, (path, init) => fetch(`${url}${path}`, init)),
          Context.add(ServiceOfCommand, service),
        )
      }
      // Loads the whole service, which a command for a running service does not need.
      const { inProcess } = yield* Effect.promise(() => import("./InProcess.ts"))
      return Context.add(yield* inProcess.pipe(Effect.provide(Settings.layer)), ServiceOfCommand, service)
    }),
  )

/** Provides the management API without the flag `--profile`. */
export const layer = layerOf(Option.none())
