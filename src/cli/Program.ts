import * as NodeServices from "../runtime/NodeServices.ts"
import { Cause, Effect } from "effect"
import { Command } from "effect/cli"
import { version } from "../domain/Version.ts"
import { commandName, loadCommands } from "./Commands.ts"
import { logFatal } from "./FatalLog.ts"
import { report } from "./Report.ts"
import { root } from "./RootCommand.ts"

/**
 * Runs the command line with arguments such as `["key", "list"]`. Prints its failures and sets `process.exitCode`. `build`
 * follows the version that `--version` prints.
 */
export const program = Effect.fnUntraced(function* (args: ReadonlyArray<string>, build = "") {
  const commands = yield* Effect.promise(() => loadCommands(args))
  yield* Command.runWith(root.pipe(Command.withSubcommands(commands)), { version: version + build })(args)
}, (effect, args, _build?: string) =>
  effect.pipe(
    Effect.provide(NodeServices.layer),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.interrupt
        : commandName(args) === "serve"
        ? logFatal(cause)
        : report(Cause.squash(cause))
    ),
  ))
