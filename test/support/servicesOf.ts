import { Effect, Layer, type Scope } from "effect"
import { layerRoutes, layerServices } from "../../src/service/App.ts"
import * as Server from "../../src/api/http/Server.ts"
import { adminToken, layerCheapPasswords, type LocalService, localService } from "./service.ts"
import { type Environment, layerSettings, temporaryEnvironment } from "./stores.ts"

/** The Effect services of a running service. */
export type Services = Layer.Success<typeof layerServices>

/**
 * Starts the real service in this process on a database of its own. `run` runs effects with the Effect services behind
 * its routes.
 */
export const startWith = (
  more: Environment = {},
): Effect.Effect<
  {
    readonly service: LocalService
    readonly run: <A, E>(effect: Effect.Effect<A, E, Services>) => Promise<A>
  },
  never,
  Scope.Scope
> =>
  Effect.gen(function* () {
    const env = { SECRET_KEY: "5e".repeat(32), ...(yield* temporaryEnvironment) }
    const context = yield* Layer.build(
      Server.serve(layerRoutes).pipe(
        Layer.provideMerge(Server.layerServer),
        Layer.provideMerge(layerServices),
        Layer.provide(layerCheapPasswords),
        Layer.provideMerge(layerSettings({ PORT: "0", ADMIN_TOKEN: adminToken, LOG_LEVEL: "None", ...env, ...more })),
      ),
    )
    return {
      service: yield* localService(context),
      run: <A, E>(effect: Effect.Effect<A, E, Services>) => Effect.runPromise(Effect.provideContext(effect, context)),
    }
  }).pipe(Effect.orDie)
