import { Context, Effect, Option, Result, Schema } from "effect"
import { readFileSync } from "node:fs"
import { decoder } from "../domain/Faults.ts"
import { CommandFailed } from "./Connection.ts"
import * as Json from "../domain/Json.ts"

/** Decodes the input of a command. Fails with `CommandFailed` and every fault, one on each line. */
export const decodeInput = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  input: unknown,
): Effect.Effect<S["Type"], CommandFailed> => {
  const decoded = decoder(schema)(input)
  return Result.isSuccess(decoded) ? Effect.succeed(decoded.success) : new CommandFailed({
    message: decoded.failure.map(({ detail, pointer }) => `${pointer === "" ? "input" : pointer.slice(1)}: ${detail}`)
      .join("\n"),
  })
}

/** The body of a request as an argument or a file has it. The service checks it, and its schema would take long to load. */
export const bodyOf = <A>(body: unknown): A => body as A

/** Reads standard input until its end. */
export const StandardInput = Context.Reference<() => string>("parlance/cli/StandardInput", {
  defaultValue: () => () => readFileSync(0, "utf8"),
})

/** The text of a file, or of standard input for `-`. */
export const readText = (file: string): Effect.Effect<string, CommandFailed> =>
  Effect.flatMap(StandardInput, (readInput) =>
    Effect.try({
      try: () => file === "-" ? readInput() : readFileSync(file, "utf8"),
      catch: (cause) =>
        new CommandFailed({
          message: `${file} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`,
        }),
    }))

/** A JSON object given on the command line under `flag`. */
export const readJson = (flag: string, text: string): Effect.Effect<unknown, CommandFailed> =>
  Effect.try({
    try: (): unknown => Json.parse(text),
    catch: () => new CommandFailed({ message: `${flag} must be JSON, such as '{"name":"Ann"}'` }),
  })

/** A JSON value given on the command line under `flag`, if the flag is given. */
export const readJsonFlag = (
  flag: string,
  text: Option.Option<string>,
): Effect.Effect<Option.Option<unknown>, CommandFailed> =>
  Option.isNone(text) ? Effect.succeedNone : Effect.asSome(readJson(flag, text.value))
