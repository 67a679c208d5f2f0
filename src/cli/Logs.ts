import { Effect, Layer, Logger, type LogLevel, Option, References } from "effect"
import { GlobalFlag } from "effect/cli"
import * as Progress from "../runtime/Progress.ts"
import { Settings } from "../settings/Settings.ts"
import { discreet, jsonLogger } from "../telemetry/Discreet.ts"

/** Sets the lowest logged level: the value of `--log-level`, or else `level`. */
const layerFrom = (level: LogLevel.LogLevel) =>
  Layer.effect(
    References.MinimumLogLevel,
    // Every command provides the flag's service, but the types show it only to handlers.
    Effect.map(
      Effect.serviceOption(GlobalFlag.LogLevel),
      (flag) => Option.getOrElse(Option.flatten(flag), () => level),
    ),
  )

/** The log of the service: text in a terminal, in colors unless `NO_COLOR` is set, otherwise JSON. */
export const layerLogs = Layer.unwrap(Effect.map(Settings, ({ logLevel }) =>
  Layer.merge(
    Logger.layer([
      process.stdout.isTTY
        ? discreet(Logger.consolePretty({ colors: (process.env["NO_COLOR"] ?? "") === "" }))
        : Logger.withConsoleLog(jsonLogger),
    ]),
    layerFrom(logLevel),
  )))

/** The log of a command: errors only, because the command prints its result. Progress goes to standard error. */
export const layerQuiet = Layer.merge(layerFrom("Error"), Progress.layerCommand)
