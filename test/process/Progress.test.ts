import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { join } from "node:path"
import { temporaryFolder } from "../support/stores.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))
const hasTerminals = spawnSync("script", ["--version"]).status === 0
if (!hasTerminals) console.warn("Skipped: progress on a terminal (the program script is not installed: util-linux)")

const flags = ["run", "-A", "--no-prompt", "--cached-only", "--unstable-no-legacy-abort", "src/main.ts"]

/** Runs a command of `src/main.ts` to its end, on a terminal of its own or with pipes. */
const runCommand = (args: ReadonlyArray<string>, dataDir: string, isOnTerminal: boolean) =>
  Effect.callback<{ readonly stdout: string; readonly stderr: string; readonly code: number | null }>((resume) => {
    const command = [Deno.execPath(), ...flags, ...args]
    const quoted = command.map((word) => `'${word}'`).join(" ")
    const [program, ...rest] = isOnTerminal ? ["script", "-qec", quoted, "/dev/null"] : command
    const { DATABASE_URL: _, ...inherited } = process.env
    const child = spawn(program!, rest, {
      cwd: root,
      env: { ...inherited, DATA_DIR: dataDir, DENO_NO_UPDATE_CHECK: "1" } as NodeJS.ProcessEnv,
      stdio: ["ignore", "pipe", "pipe"],
    })
    let stdout = ""
    let stderr = ""
    child.stdout.on("data", (chunk) => stdout += String(chunk))
    child.stderr.on("data", (chunk) => stderr += String(chunk))
    child.on("close", (code) => resume(Effect.succeed({ stdout, stderr, code })))
    return Effect.sync(() => void child.kill("SIGKILL"))
  })

const simulate = ["simulate", "--scenario", "examples/scenarios/newsletter.yaml", "--seeds", "1", "--days", "1"]

describe("progress of commands", () => {
  it.live("is not printed if standard error is no terminal", () =>
    Effect.scoped(Effect.gen(function* () {
      const { code, stderr, stdout } = yield* runCommand([...simulate, "--json"], yield* temporaryFolder, false)
      assert.strictEqual(code, 0, stderr)
      assert.strictEqual(JSON.parse(stdout).seeds, 1)
      assert.isFalse(stderr.includes("\x1b"))
    })))

  it.live.skipIf(!hasTerminals)(
    "is one line on a terminal, cleared before the result",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const { code, stdout } = yield* runCommand(simulate, yield* temporaryFolder, true)
        assert.strictEqual(code, 0, stdout)
        assert.include(stdout, "\rSimulating: 0 of 6 runs (0 %), 0 s\x1b[K\r")
        const cleared = stdout.lastIndexOf("\r\x1b[K")
        assert.isBelow(stdout.lastIndexOf("Simulating"), cleared)
        assert.isAbove(stdout.indexOf("possible gain"), cleared)
      })),
  )

  it.live.skipIf(!hasTerminals)(
    "shows the creation and the migrations of a new database",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const { code, stdout } = yield* runCommand(["migrate"], join(folder, "data"), true)
        assert.strictEqual(code, 0, stdout)
        assert.include(stdout, "\rCreating the embedded database: 0 s")
        assert.match(stdout, /\rMigrating the database: \d+ of \d+ migrations \(\d+ %\), \d+ s/)
        assert.include(stdout, "Applied 0001 create_organizations")
      })),
  )
})
