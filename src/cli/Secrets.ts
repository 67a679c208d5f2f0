import { Config, Effect, Option, Redacted } from "effect"
import { Prompt } from "effect/cli"
import { CommandFailed } from "./Client.ts"
import { readText } from "./Inputs.ts"

/** A secret in a variable of the environment. Compose files and unit files set an unset variable to an empty text. */
export const secretVariable = (name: string) =>
  Config.option(Config.Redacted(name)).pipe(Config.map(Option.filter((value) => Redacted.value(value) !== "")))

/** Reads a secret: typed in a terminal, or from standard input. Fails with `missing` if standard input is empty. */
export const askSecret = (
  { empty, missing, question }: { readonly question: string; readonly empty: string; readonly missing: string },
) =>
  Effect.gen(function* () {
    if (process.stdin.isTTY) {
      const validate = (text: string) => text.trim() === "" ? Effect.fail(empty) : Effect.succeed(text.trim())
      return yield* Prompt.run(Prompt.Hidden({ message: question, validate }))
    }
    const secret = (yield* readText("-")).trim()
    return secret !== "" ? Redacted.make(secret) : yield* new CommandFailed({ message: missing })
  })
