import { ConfigProvider, Console, Effect, type Scope } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import process from "node:process"
import { format } from "node:util"
import { StandardInput } from "../../src/cli/Inputs.ts"
import { program } from "../../src/cli/Program.ts"
import { run } from "./service.ts"
import type { Environment } from "./settings.ts"

/** The exit status and the output of a command. */
export interface Ended {
  readonly code: number
  readonly output: string
}

/** Runs a command as a separate process, with `input` as its standard input. */
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

/** Runs a command in this process. Calls `onText` with each text that the command prints. Returns the exit status. */
const runHere = async (
  args: ReadonlyArray<string>,
  environment: Environment,
  input: string,
  onText: (stream: "stdout" | "stderr", text: string) => void,
): Promise<number> => {
  const printTo = (stream: "stdout" | "stderr") => (...values: ReadonlyArray<unknown>) =>
    onText(stream, `${format(...values)}\n`)
  const [print, printError] = [printTo("stdout"), printTo("stderr")]
  const before = process.exitCode
  process.exitCode = 0
  try {
    await Effect.runPromise(
      program(args).pipe(
        Effect.provideService(Console.Console, {
          ...console,
          log: print,
          info: print,
          error: printError,
          warn: printError,
        }),
        Effect.provideService(StandardInput, () => new TextEncoder().encode(input)),
        Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: environment }))),
      ),
    )
    return Number(process.exitCode)
  } finally {
    process.exitCode = before
  }
}

/**
 * Runs a command with only the settings of `environment`, and with `input` as its standard input. Runs it in this
 * process, because another process needs seconds of processor time to start.
 */
export const runCommand = async (
  args: ReadonlyArray<string>,
  environment: Environment,
  input = "",
): Promise<Ended> => {
  let output = ""
  const code = await runHere(args, environment, input, (_, text) => void (output += text))
  return { code, output }
}

/** A shell program that runs each command by `runHere`. It passes its arguments, environment and input in files. */
const programText = (url: string) =>
  `#!/bin/sh
call=$(mktemp -d "$0-XXXXXX") &&
for arg; do printf '%s\\0' "$arg"; done > "$call/args" && env -0 > "$call/env" && cat > "$call/input" &&
curl -sSf --data-urlencode "call=$call" --get "${url}" &&
cat "$call/stderr" >&2 && cat "$call/stdout" && exit "$(cat "$call/code")"
exit 70
`

/** A replacement of `npx` in the documents, which runs the same commands and the demo. */
const npxText = `#!/bin/sh
case "$1 $2 $3 $4" in
  "-y deno@2.9.6 task parlance") shift 4; exec parlance "$@";;
  "-y deno@2.9.6 task demo") shift 4; exec parlance-demo "$@";;
  *) exit 127;;
esac
`

/**
 * Writes the programs `parlance` and `npx` into the folder `bin`. Until the scope closes, they run commands in this
 * process, one at a time, in the working folder of this process.
 */
export const commandPrograms = (bin: string): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    let last: Promise<unknown> = Promise.resolve()
    const listOf = (path: string) => readFileSync(path, "utf8").split("\0").slice(0, -1)
    const carryOut = async (call: string) => {
      const environment = listOf(join(call, "env")).map((line) => /^([^=]*)=([^]*)$/.exec(line)!.slice(1))
      const texts = { stdout: "", stderr: "" }
      const code = await runHere(
        listOf(join(call, "args")),
        Object.fromEntries(environment),
        readFileSync(join(call, "input"), "utf8"),
        (stream, text) => void (texts[stream] += text),
      )
      for (const [name, text] of Object.entries({ ...texts, code: String(code) })) {
        writeFileSync(join(call, name), text)
      }
    }
    const server = createServer((request, response) => {
      const call = new URL(request.url!, "http://localhost").searchParams.get("call")!
      last = last.then(() => carryOut(call)).then(
        () => response.end(),
        (cause) => response.writeHead(500).end(String(cause)),
      )
    })
    yield* Effect.acquireRelease(
      Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))),
      () => Effect.sync(() => void server.close()),
    )
    writeFileSync(join(bin, "npx"), npxText, { mode: 0o755 })
    writeFileSync(join(bin, "parlance"), programText(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`), {
      mode: 0o755,
    })
  })

/**
 * Makes `folder` the working folder of this process until the scope closes. Commands read and write their files there.
 */
export const workIn = (folder: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const before = process.cwd()
      process.chdir(folder)
      return before
    }),
    (before) => Effect.sync(() => process.chdir(before)),
  )
