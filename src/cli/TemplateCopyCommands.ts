import { Console, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import process from "node:process"
import { platformNames } from "../domain/CopyPlatform.ts"
import { formatOf } from "../domain/Template.ts"
import { convert as convertSource } from "../rendering/conversion/Conversion.ts"
import { refusalOf } from "../rendering/conversion/Refusal.ts"
import { conversionOf } from "../rendering/CopyConversion.ts"
import { CommandFailed } from "./Client.ts"
import { argument, choice } from "./Flags.ts"
import { readText } from "./Inputs.ts"
import { print } from "./Root.ts"

/** Exit status of `template convert` if a part has no equivalent. */
const statusOfRest = 2

/** `parlance template convert`, which needs no service. */
export const convert = Command.make(
  "convert",
  {
    file: argument("file", "Copy of one variable in UTF-8, - for standard input"),
    from: Flag.Literals("from", platformNames).pipe(Flag.withDescription("Platform for which the copy is written")),
    format: choice("format", ["text", "html"], "Format of the variable. Default: html for copy with tags of HTML"),
  },
  Effect.fnUntraced(function* ({ file, format, from }) {
    const source = yield* readText(file)
    const refusal = refusalOf(source)
    if (refusal !== undefined) return yield* new CommandFailed({ message: `${file} ${refusal}` })
    const written = Option.getOrElse(format, () => formatOf(source) === "text" ? "text" : "html")
    const converted = conversionOf({ body: convertSource(source, from, written) })
    yield* print(converted, converted.vars["body"]!)
    const renamed = converted.fields.filter(({ from, to }) => from !== to)
    for (const { from, to } of renamed) yield* Console.error(`field: ${from} is ${to}`)
    for (const { column, line, message, state, text } of converted.findings) {
      yield* Console.error(`${state}: ${file}:${line}:${column}: ${text}: ${message}`)
    }
    if (converted.findings.some(({ state }) => state === "mend")) {
      yield* Effect.sync(() => void (process.exitCode = statusOfRest))
    }
  }),
).pipe(
  Command.withDescription(
    "Convert copy of another platform to Liquid. Prints the Liquid, and on standard error each field with a new name and " +
      `each part to look at. Exit status: 0 if everything was converted, ${statusOfRest} if parts have no equivalent, 1 after an error`,
  ),
  Command.withExamples([{ command: "parlance template convert --from braze welcome.html" }]),
)
