import { Console, Effect, Layer } from "effect"
import { Command } from "effect/cli"
import { migrate } from "../store/Migrations.ts"
import * as StoreFromSettings from "../store/StoreFromSettings.ts"
import { accountCommand } from "./AccountCommand.ts"
import { auditCommand } from "./AuditCommand.ts"
import { backupCommand, restoreCommand } from "./BackupCommand.ts"
import * as Connection from "./Connection.ts"
import { connectionCommand } from "./ConnectionCommand.ts"
import { deliverCommand } from "./DeliverCommand.ts"
import { eventCommand } from "./EventCommand.ts"
import { inboxCommand } from "./InboxCommand.ts"
import { keyCommand } from "./KeyCommand.ts"
import { orgCommand } from "./OrgCommand.ts"
import { personCommand } from "./PersonCommand.ts"
import { learningCommand } from "./LearningCommand.ts"
import { rebuildCommand } from "./RebuildCommand.ts"
import { resultsCommand } from "./ResultsCommand.ts"
import { sandboxCommand } from "./SandboxCommand.ts"
import { suppressionCommand } from "./SuppressionCommand.ts"
import { templateCommand } from "./TemplateCommand.ts"
import { variantCommand } from "./VariantCommand.ts"
import { simulateCommand } from "./SimulateCommand.ts"
import { webhookCommand } from "./WebhookCommand.ts"
import { layerQuiet } from "./Logs.ts"

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
  )).pipe(Command.withDescription("Apply pending migrations to the database; `serve` does this too"))

// Opening the store is quiet as well: its progress would stand before the JSON of a command.
const managed = Layer.provideMerge(Connection.layer, layerQuiet)

/** Every command but `serve`. */
export const commands = [
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
  suppressionCommand.pipe(Command.provide(managed)),
  sandboxCommand.pipe(Command.provide(managed)),
  eventCommand.pipe(Command.provide(managed)),
  personCommand.pipe(Command.provide(managed)),
  inboxCommand.pipe(Command.provide(managed)),
  rebuildCommand.pipe(Command.provide(managed)),
  learningCommand.pipe(Command.provide(managed)),
  // Only a replay opens a connection.
  simulateCommand.pipe(Command.provide(layerQuiet)),
] as const
