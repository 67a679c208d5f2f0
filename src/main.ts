import "./runtime/leakGuard.ts"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Console, Effect, Layer, Logger, type LogLevel, Option, References } from "effect"
import { Command, GlobalFlag } from "effect/cli"
import { accountCommand } from "./cli/AccountCommand.ts"
import { auditCommand } from "./cli/AuditCommand.ts"
import { backupCommand, restoreCommand } from "./cli/BackupCommand.ts"
import * as Connection from "./cli/Connection.ts"
import { connectionCommand } from "./cli/ConnectionCommand.ts"
import { deliverCommand } from "./cli/DeliverCommand.ts"
import { eventCommand } from "./cli/EventCommand.ts"
import { inboxCommand } from "./cli/InboxCommand.ts"
import { keyCommand } from "./cli/KeyCommand.ts"
import { orgCommand } from "./cli/OrgCommand.ts"
import { personCommand } from "./cli/PersonCommand.ts"
import { learningCommand } from "./cli/LearningCommand.ts"
import { rebuildCommand } from "./cli/RebuildCommand.ts"
import { report } from "./cli/Report.ts"
import { resultsCommand } from "./cli/ResultsCommand.ts"
import { root } from "./cli/Root.ts"
import { templateCommand } from "./cli/TemplateCommand.ts"
import { variantCommand } from "./cli/VariantCommand.ts"
import { simulateCommand } from "./cli/SimulateCommand.ts"
import { webhookCommand } from "./cli/WebhookCommand.ts"
import * as Serve from "./Serve.ts"
import { runAsProcess } from "./Process.ts"
import { Settings } from "./Settings.ts"
import { migrate } from "./store/Migrations.ts"
import { keepNewFilesPrivate } from "./store/PrivateFiles.ts"
import * as StoreFromSettings from "./store/StoreFromSettings.ts"
import { version } from "./domain/Version.ts"
import { discreet } from "./telemetry/Discreet.ts"
import * as Telemetry from "./telemetry/Telemetry.ts"

/** What is logged from: what `--log-level` says, or else `level`. */
const layerFrom = (level: LogLevel.LogLevel) =>
  Layer.effect(
    References.MinimumLogLevel,
    // Every command has the flag's service, which only the types of handlers know.
    Effect.map(
      Effect.serviceOption(GlobalFlag.LogLevel),
      (flag) => Option.getOrElse(Option.flatten(flag), () => level),
    ),
  )

/** People read lines, machines JSON. */
const layerLogs = Layer.unwrap(Effect.map(Settings, ({ logLevel }) =>
  Layer.merge(
    Logger.layer([discreet(process.stdout.isTTY ? Logger.consolePretty() : Logger.consoleJson)]),
    layerFrom(logLevel),
  )))

// A command prints its result; the log is for what went wrong.
const layerQuiet = layerFrom("Error")

const serveCommand = Command.make(
  "serve",
  {},
  () =>
    keepNewFilesPrivate.pipe(
      Effect.andThen(Layer.launch(Layer.provide(Serve.layer, Telemetry.layer))),
      Effect.provide(layerLogs),
    ),
).pipe(Command.withDescription("Run the service"))

const migrateCommand = Command.make("migrate", {}, () =>
  migrate.pipe(
    Effect.flatMap((applied) =>
      Console.log(
        applied.length === 0
          ? "The database is up to date"
          : applied.map(([id, name]) => `Applied ${String(id).padStart(4, "0")} ${name}`).join("\n"),
      )
    ),
    Effect.provide(StoreFromSettings.layer),
    Effect.provide(layerQuiet),
  )).pipe(Command.withDescription("Bring the database's tables up to date; serve does so too"))

const managed = Layer.merge(Connection.layer, layerQuiet)

const program = root.pipe(
  Command.withSubcommands([
    serveCommand,
    migrateCommand,
    backupCommand.pipe(Command.provide(layerQuiet)),
    restoreCommand.pipe(Command.provide(layerQuiet)),
    orgCommand.pipe(Command.provide(managed)),
    accountCommand.pipe(Command.provide(managed)),
    auditCommand.pipe(Command.provide(managed)),
    keyCommand.pipe(Command.provide(managed)),
    templateCommand.pipe(Command.provide(managed)),
    variantCommand.pipe(Command.provide(managed)),
    resultsCommand.pipe(Command.provide(managed)),
    webhookCommand.pipe(Command.provide(managed)),
    connectionCommand.pipe(Command.provide(managed)),
    deliverCommand.pipe(Command.provide(managed)),
    eventCommand.pipe(Command.provide(managed)),
    personCommand.pipe(Command.provide(managed)),
    inboxCommand.pipe(Command.provide(managed)),
    rebuildCommand.pipe(Command.provide(managed)),
    learningCommand.pipe(Command.provide(managed)),
    // Only a replay opens a connection.
    simulateCommand.pipe(Command.provide(layerQuiet)),
  ]),
  Command.run({ version }),
  Effect.provide(Settings.layer),
  Effect.provide(NodeServices.layer),
  Effect.catchCause((cause) => Cause.hasInterruptsOnly(cause) ? Effect.interrupt : report(Cause.squash(cause))),
)

runAsProcess(program)
