import { Effect, Fiber, Layer } from "effect"
import { Command } from "effect/cli"
import { npxEnded } from "../runtime/Npx.ts"
import * as Progress from "../runtime/Progress.ts"
import { servicePatience, StartPatience } from "../store/FirstConnection.ts"
import { OpensWholePool } from "../store/Pooler.ts"
import { keepNewFilesPrivate } from "../store/PrivateFiles.ts"
import * as StoreFromSettings from "../store/StoreFromSettings.ts"
import * as Telemetry from "../telemetry/Telemetry.ts"
import * as AccessLog from "../telemetry/AccessLog.ts"
import { endOnUncaught } from "./FatalLog.ts"
import { layerLogs } from "./Logs.ts"

/** Runs the service until it is interrupted. Loads its modules while the database starts, which takes about as long. */
const serve = Effect.gen(function* () {
  endOnUncaught()
  yield* keepNewFilesPrivate
  const modules = yield* Effect.forkChild(Effect.promise(() => import("../service/Serve.ts")), {
    startImmediately: true,
  })
  const layer = Layer.unwrap(
    Effect.map(Progress.withProgress("Loading the service", () => Fiber.join(modules)), (Serve) => Serve.layer),
  )
  const service = Layer.launch(layer.pipe(
    Layer.provide(StoreFromSettings.layerMigrated),
    Layer.provide([Layer.succeed(StartPatience, servicePatience), Layer.succeed(OpensWholePool, true)]),
    Layer.provide(AccessLog.layer),
    Layer.provide(Telemetry.layer),
  ))
  yield* Effect.raceFirst(service, npxEnded)
})

/** The command `serve`, which runs the service until it is stopped. */
export const serveCommand = Command.make(
  "serve",
  {},
  () => Effect.provide(serve, Layer.merge(layerLogs, Progress.layerService)),
).pipe(
  Command.withDescription("Run the service"),
)
