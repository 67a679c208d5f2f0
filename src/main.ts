import "./runtime/leakGuard.ts"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Effect } from "effect"
import { Command } from "effect/cli"
import { report } from "./cli/Report.ts"
import { root } from "./cli/RootCommand.ts"
import { serveCommand } from "./cli/ServeCommand.ts"
import { version } from "./domain/Version.ts"
import { runAsProcess } from "./Process.ts"
import { Settings } from "./Settings.ts"

// The other commands import the whole service, which would delay the start of its database.
const commands = process.argv[2] === "serve"
  ? [serveCommand] as const
  : [serveCommand, ...(await import("./cli/Commands.ts")).commands] as const

const program = root.pipe(
  Command.withSubcommands(commands),
  Command.run({ version }),
  Effect.provide(Settings.layer),
  Effect.provide(NodeServices.layer),
  Effect.catchCause((cause) => Cause.hasInterruptsOnly(cause) ? Effect.interrupt : report(Cause.squash(cause))),
)

runAsProcess(program)
