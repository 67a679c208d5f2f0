import { Effect, Option } from "effect"
import { Argument, Command } from "effect/cli"
import { CommandFailed } from "../../src/cli/Client.ts"
import { checkService } from "../../src/cli/DoctorCommand.ts"
import { serviceOfCommand } from "../../src/cli/Remote.ts"

// Takes the place of the modules that open a database, in the command line as one file.

const noService = new CommandFailed({
  message: "No service was found, and this file cannot open a database. Set PARLANCE_URL, or store an address with " +
    "`parlance login URL`. In the container image or a clone of the project, commands also open a database.",
})

const refusing = (name: string) =>
  Command.make(
    name,
    { arguments: Argument.String("argument").pipe(Argument.variadic()) },
    () => new CommandFailed({ message: `Run \`parlance ${name}\` in the container image or a clone of the project.` }),
  ).pipe(Command.withDescription("Only in the container image or a clone of the project"))

/** `parlance serve`, which refuses to run. */
export const serveCommand = refusing("serve")
/** `parlance migrate`, which refuses to run. */
export const migrateCommand = refusing("migrate")
/** `parlance backup`, which refuses to run. */
export const backupCommand = refusing("backup")
/** `parlance restore`, which refuses to run. */
export const restoreCommand = refusing("restore")

/** Fails with `CommandFailed`, because the command needs a service. */
export const inProcess = Effect.fail(noService)

/** Checks the service of this machine. Fails with `CommandFailed` without one. */
export const checkHere = Effect.flatMap(
  serviceOfCommand(Option.none()),
  Option.match({
    onNone: () => inProcess,
    onSome: (service) => Effect.map(checkService(service), (found) => ({ found, dnsServers: undefined })),
  }),
)
