import { Effect, Layer, Logger, type LogLevel, Option, References } from "effect"
import { GlobalFlag } from "effect/cli"
import * as Progress from "../runtime/Progress.ts"
import { Settings } from "../Settings.ts"
import { discreet, jsonLogger } from "../telemetry/Discreet.ts"

/** The least level that is logged: the one of `--log-level`, or else `level`. */
const layerFrom = (level: LogLevel.LogLevel) =>
  Layer.effect(
    References.MinimumLogLevel,
    // Every command has the flag's service, which only the types of handlers know.
    Effect.map(
      Effect.serviceOption(GlobalFlag.LogLevel),
      (flag) => Option.getOrElse(Option.flatten(flag), () => level),
    ),
  )

/** The log of the service: lines for people in a terminal, JSON for machines. */
export const layerLogs = Layer.unwrap(Effect.map(Settings, ({ logLevel }) =>
  Layer.merge(
    Logger.layer([process.stdout.isTTY ? discreet(Logger.consolePretty()) : Logger.withConsoleLog(jsonLogger)]),
    layerFrom(logLevel),
  )))

/** The log of a command, which prints its result: errors alone. Progress goes to standard error. */
export const layerQuiet = Layer.merge(layerFrom("Error"), Progress.layerCommand)
