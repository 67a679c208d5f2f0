import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync, spawn } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { readmeCommands } from "../support/readme.ts"
import { freePort, waitUntil } from "../support/service.ts"
import { temporaryFolder } from "../support/stores.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))

/** The project as a newcomer has it: what git knows, and nothing installed. */
const freshCopy = Effect.map(temporaryFolder, (folder) => {
  const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], { cwd: root, encoding: "utf8" })
  for (const file of files.trim().split("\n").filter((file) => existsSync(join(root, file)))) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    cpSync(join(root, file), join(folder, file))
  }
  return folder
})

const shell = (command: string, cwd: string, env: Record<string, string> = {}) => {
  const { DATABASE_URL: _, DATA_DIR: __, PARLANCE_URL: ___, ...inherited } = process.env
  const child = spawn("sh", ["-c", command], {
    cwd,
    env: { ...inherited, NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1", ...env } as Record<string, string>,
    // A group of its own, so that everything npx starts can be ended with it.
    detached: true,
  })
  let output = ""
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => output += String(chunk))
  const ended = new Promise<number | null>((resolve) => child.on("exit", resolve))
  const stop = async (signal: NodeJS.Signals) => {
    try {
      process.kill(-child.pid!, signal)
    } catch {
      // It has ended already.
    }
    return await ended
  }
  return { output: () => output, ended, stop }
}

const run = async (command: string, cwd: string) => {
  const child = shell(command, cwd)
  const code = await child.ended
  assert.strictEqual(code, 0, `${command}\n${child.output()}`)
  return child.output()
}

describe("README.md", () => {
  it("begins with the two commands that a newcomer needs", () => {
    assert.deepStrictEqual(readmeCommands().slice(0, 2), [
      "npx -y deno@2.9.6 task start",
      "npx -y deno@2.9.6 task test",
    ])
  })

  it("names every setting", () => {
    const read = (file: string) => readFileSync(join(root, file), "utf8")
    const readme = read("README.md")
    const settings = [...read("src/Settings.ts").matchAll(/"([A-Z][A-Z_]+)"/g)].map(([, name]) => name!)
    assert.include(settings, "PORT")
    const missing = [...settings, "PARLANCE_URL"].filter((name) => !new RegExp(`^\\|.*\`${name}\``, "m").test(readme))
    assert.deepStrictEqual(missing, [])
  })

  it.live(
    "has commands that work in a fresh copy of the project, and a curl line that answers",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const folder = yield* freshCopy
        const [start, test, ...others] = readmeCommands()
        const port = yield* Effect.promise(freePort)
        const service = yield* Effect.acquireRelease(
          Effect.sync(() => shell(start!, folder, { PORT: String(port) })),
          (service) => Effect.promise(() => service.stop("SIGKILL")),
        )
        yield* Effect.promise(async () => {
          await waitUntil("the first start prints a curl line", () =>
            service.output().match(/^curl .*$/gm)?.length === 2, 150).catch(
              () => {
                throw new Error(service.output())
              },
            )
          const [generate, report] = service.output().match(/^curl .*$/gm)!
          const answer = JSON.parse(await run(generate!, folder))
          assert.match(answer.copy.vars.subject, /Ann/)
          const received = JSON.parse(await run(report!.replace("…", answer.tracking_id), folder))
          assert.deepStrictEqual(received, { status: "ok", received: 1 })
          for (const command of others) {
            await run(command, folder)
          }
          // All tests would run this one again: one folder of them shows that the command works.
          const tests = await run(`${test!} test/domain`, folder)
          assert.match(tests, /Tests\s+\d+ passed/)
          await service.stop("SIGTERM")
        })
      })),
    300_000,
  )
})
