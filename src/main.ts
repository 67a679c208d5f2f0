import "./runtime/leakGuard.ts"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Effect } from "effect"
import { Command } from "effect/cli"
import { commandName, loadCommands } from "./cli/Commands.ts"
import { logFatal } from "./cli/FatalLog.ts"
import { report } from "./cli/Report.ts"
import { root } from "./cli/RootCommand.ts"
import { version } from "./domain/Version.ts"
import { runAsProcess } from "./Process.ts"

const commands = await loadCommands(process.argv.slice(2))

const program = root.pipe(
  Command.withSubcommands(commands),
  Command.run({ version }),
  Effect.provide(NodeServices.layer),
  Effect.catchCause((cause) =>
    Cause.hasInterruptsOnly(cause)
      ? Effect.interrupt
      : commandName(process.argv.slice(2)) === "serve"
      ? logFatal(cause)
      : report(Cause.squash(cause))
  ),
)

runAsProcess(program)
