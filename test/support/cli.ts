import { ConfigProvider, Console, Effect } from "effect"
import process from "node:process"
import { format } from "node:util"
import { program } from "../../src/cli/Program.ts"
import { run } from "./service.ts"
import type { Environment } from "./settings.ts"

/** How a command ended, and what it printed. */
export interface Ended {
  readonly code: number
  readonly output: string
}

/** Runs a command as a process, with `input` as its standard input. */
export const spawnCommand = async (
  args: ReadonlyArray<string>,
  environment: Environment,
  input = "",
): Promise<Ended> => {
  const { child, ended, output } = run(args, environment)
  child.stdin.end(input)
  const { code } = await ended
  return { code: code ?? -1, output: output() }
}

/**
 * Runs a command with the settings of `environment` alone. It runs in this process, since another one takes a second to start,
 * unless it reads `input` from its standard input.
 */
export const runCommand = async (
  args: ReadonlyArray<string>,
  environment: Environment,
  input = "",
): Promise<Ended> => {
  if (input !== "") return await spawnCommand(args, environment, input)
  const lines: Array<string> = []
  const print = (...values: ReadonlyArray<unknown>) => void lines.push(`${format(...values)}\n`)
  const before = process.exitCode
  process.exitCode = 0
  try {
    await Effect.runPromise(
      program(args).pipe(
        Effect.provideService(Console.Console, { ...console, log: print, error: print, warn: print, info: print }),
        Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: environment }))),
      ),
    )
    return { code: Number(process.exitCode), output: lines.join("") }
  } finally {
    process.exitCode = before
  }
}
