import { Console, Context, Effect, Result, Schema } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import { decoder } from "../domain/Faults.ts"
import { CommandFailed } from "./Client.ts"
import * as Json from "../json/Json.ts"
import { type EncodingFault, encodingFault, guessText } from "../text/Encodings.ts"
import { textOfUtf8 } from "../text/Utf8.ts"

/** Decodes the input of a command. Fails with `CommandFailed`, whose message has one line for each fault. */
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

/** Types an unchecked body of a request. The service checks it. Loading its schema here would delay the command. */
export const bodyOf = <A>(body: unknown): A => body as A

/** Reads standard input until its end. */
export const StandardInput = Context.Reference<() => Uint8Array>("parlance/cli/StandardInput", {
  defaultValue: () => () => readFileSync(0),
})

const notUtf8 = (file: string, fault: EncodingFault) =>
  new CommandFailed({
    message: `${file}:${fault.line}:${fault.column}: the file is not UTF-8${guessText(fault)}. Save it as UTF-8`,
  })

/** Reads a file, or standard input for `-`. Fails with `CommandFailed`. */
export const readBytes = (file: string): Effect.Effect<Uint8Array, CommandFailed> =>
  Effect.flatMap(StandardInput, (readInput) =>
    Effect.try({
      try: () => file === "-" ? readInput() : readFileSync(file),
      catch: (cause) =>
        new CommandFailed({
          message: `${file} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`,
        }),
    }))

/**
 * Reads a file in UTF-8, or standard input for `-`. Fails with `CommandFailed`, which names the place of the first byte
 * in another encoding. Removes a byte order mark.
 */
export const readText = (file: string): Effect.Effect<string, CommandFailed> =>
  Effect.flatMap(readBytes(file), (bytes) => {
    const fault = encodingFault(bytes)
    return fault === undefined ? Effect.succeed(textOfUtf8(bytes)!) : notUtf8(file, fault)
  })

/**
 * Writes a file and returns true, or prints the text if `file` is undefined. A `mode` of 0600 keeps a new file from other
 * users.
 */
export const printOrWrite = (file: string | undefined, text: string, mode = 0o666) =>
  file === undefined ? Effect.as(Console.log(text.trimEnd()), false) : Effect.try({
    try: () => {
      writeFileSync(file, text, { mode })
      return true
    },
    catch: (cause) =>
      new CommandFailed({
        message: `${file} cannot be written: ${cause instanceof Error ? cause.message : String(cause)}`,
      }),
  })

/** Parses the JSON value of `flag`. Fails with `CommandFailed`. */
export const readJson = (flag: string, text: string): Effect.Effect<unknown, CommandFailed> =>
  Effect.try({
    try: (): unknown => Json.parse(text),
    catch: () => new CommandFailed({ message: `${flag} must be JSON, such as '{"name":"Ann"}'` }),
  })
