import { Effect, Layer } from "effect"
import { Command } from "effect/cli"
import { Settings } from "../settings/Settings.ts"
import type { Services } from "./ApiCommand.ts"
import * as Connection from "./Connection.ts"
import { layerQuiet } from "./Logs.ts"
import { root } from "./RootCommand.ts"

// Opening the store also logs errors only, so that no progress is printed before the JSON of a command.
const managed = Layer.provideMerge(
  Layer.unwrap(Effect.map(root, ({ profile }) => Connection.layerOf(profile))),
  layerQuiet,
)

const local = Layer.merge(Settings.layer, layerQuiet)

/** Provides the management API to all subcommands of a command but one, which needs no service. */
const managedExcept = <Name extends string>(
  command: Command.Command<Name, object, object, unknown, Services>,
  local: string,
) => {
  const connected = command.pipe(Command.provide(managed))
  const subcommands = command.subcommands.flatMap(({ commands }) => commands).map((one) =>
    one.name === local ? one : Command.provide(one, managed)
  )
  return command.pipe(Command.withSubcommands(subcommands)) as typeof connected
}

/** Loaders of all commands, by name. A command loads only its own modules, so that it starts faster. */
const loaders = {
  serve: async () => (await import("./ServeCommand.ts")).serveCommand.pipe(Command.provide(Settings.layer)),
  migrate: async () => (await import("./MigrateCommand.ts")).migrateCommand.pipe(Command.provide(local)),
  backup: async () => (await import("./BackupCommand.ts")).backupCommand.pipe(Command.provide(local)),
  restore: async () => (await import("./BackupCommand.ts")).restoreCommand.pipe(Command.provide(local)),
  // Without the services of other commands: `doctor` diagnoses why they fail to start.
  doctor: async () => (await import("./DoctorCommand.ts")).doctorCommand.pipe(Command.provide(layerQuiet)),
  login: async () => (await import("./LoginCommand.ts")).loginCommand,
  logout: async () => (await import("./LoginCommand.ts")).logoutCommand,
  profile: async () => (await import("./LoginCommand.ts")).profileCommand,
  org: async () => (await import("./OrgCommand.ts")).orgCommand.pipe(Command.provide(managed)),
  account: async () => (await import("./AccountCommand.ts")).accountCommand.pipe(Command.provide(managed)),
  "group-role": async () => (await import("./GroupRoleCommand.ts")).groupRoleCommand.pipe(Command.provide(managed)),
  audit: async () => (await import("./AuditCommand.ts")).auditCommand.pipe(Command.provide(managed)),
  report: async () => (await import("./ReportCommand.ts")).reportCommand.pipe(Command.provide(managed)),
  notification: async () =>
    (await import("./NotificationCommand.ts")).notificationCommand.pipe(Command.provide(managed)),
  key: async () => (await import("./KeyCommand.ts")).keyCommand.pipe(Command.provide(managed)),
  "tracking-key": async () =>
    (await import("./TrackingKeyCommand.ts")).trackingKeyCommand.pipe(Command.provide(managed)),
  "secret-key": async () => (await import("./SecretKeyCommand.ts")).secretKeyCommand.pipe(Command.provide(managed)),
  template: async () => managedExcept((await import("./TemplateCommand.ts")).templateCommand, "convert"),
  variant: async () => (await import("./VariantCommand.ts")).variantCommand.pipe(Command.provide(managed)),
  draft: async () => (await import("./DraftCommand.ts")).draftCommand.pipe(Command.provide(managed)),
  review: async () => (await import("./ReviewCommand.ts")).reviewCommand.pipe(Command.provide(managed)),
  comment: async () => (await import("./CommentCommand.ts")).commentCommand.pipe(Command.provide(managed)),
  bucket: async () => (await import("./BucketCommand.ts")).bucketCommand.pipe(Command.provide(managed)),
  image: async () => (await import("./ImageCommand.ts")).imageCommand.pipe(Command.provide(managed)),
  snippet: async () => (await import("./SnippetCommand.ts")).snippetCommand.pipe(Command.provide(managed)),
  "sample-person": async () =>
    (await import("./SamplePersonCommand.ts")).samplePersonCommand.pipe(Command.provide(managed)),
  results: async () => (await import("./ResultsCommand.ts")).resultsCommand.pipe(Command.provide(managed)),
  share: async () => (await import("./ShareCommand.ts")).shareCommand.pipe(Command.provide(managed)),
  webhook: async () => (await import("./WebhookCommand.ts")).webhookCommand.pipe(Command.provide(managed)),
  "webhook-endpoint": async () =>
    (await import("./WebhookEndpointCommand.ts")).webhookEndpointCommand.pipe(Command.provide(managed)),
  connection: async () => (await import("./ConnectionCommand.ts")).connectionCommand.pipe(Command.provide(managed)),
  "test-group": async () => (await import("./TestGroupCommand.ts")).testGroupCommand.pipe(Command.provide(managed)),
  view: async () => (await import("./ViewCommand.ts")).viewCommand.pipe(Command.provide(managed)),
  deliver: async () => (await import("./DeliverCommand.ts")).deliverCommand.pipe(Command.provide(managed)),
  suppression: async () => (await import("./SuppressionCommand.ts")).suppressionCommand.pipe(Command.provide(managed)),
  sandbox: async () => (await import("./SandboxCommand.ts")).sandboxCommand.pipe(Command.provide(managed)),
  event: async () => (await import("./EventCommand.ts")).eventCommand.pipe(Command.provide(managed)),
  person: async () => (await import("./PersonCommand.ts")).personCommand.pipe(Command.provide(managed)),
  inbox: async () => (await import("./InboxCommand.ts")).inboxCommand.pipe(Command.provide(managed)),
  rebuild: async () => (await import("./RebuildCommand.ts")).rebuildCommand.pipe(Command.provide(managed)),
  learning: async () => (await import("./LearningCommand.ts")).learningCommand.pipe(Command.provide(managed)),
  mcp: async () => (await import("./McpCommand.ts")).mcpCommand.pipe(Command.provide(managed)),
  // Only a replay opens a connection.
  simulate: async () => (await import("./SimulateCommand.ts")).simulateCommand.pipe(Command.provide(layerQuiet)),
}

type Name = keyof typeof loaders

const isName = (text: string): text is Name => Object.hasOwn(loaders, text)

/** Flags before a command whose value is the next argument. */
const flagsWithValue = new Set(["--org", "--profile", "--log-level", "--completions"])

/** The name of the command in the arguments. Undefined for arguments without a command, such as `--help`. */
export const commandName = (args: ReadonlyArray<string>): Name | undefined => {
  const called = args.find((text, i) => !text.startsWith("-") && !flagsWithValue.has(args[i - 1] ?? ""))
  return called !== undefined && isName(called) ? called : undefined
}

const asksVersion = (args: ReadonlyArray<string>) => args.length === 1 && (args[0] === "--version" || args[0] === "-v")

/** Loads the command in the arguments, or all commands if the arguments contain no command. */
export const loadCommands = (args: ReadonlyArray<string>) => {
  const name = commandName(args)
  const names = name !== undefined ? [name] : asksVersion(args) ? [] : Object.keys(loaders).filter(isName)
  return Promise.all(names.map((one) => loaders[one]()))
}
