import { Effect } from "effect"
import { execFile, execFileSync, spawnSync } from "node:child_process"
import { chownSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { freePort, waitUntil } from "../support/service.ts"
import { docker, hasDocker, ownPostgres } from "./dockerEngine.ts"

const run = async (command: string, ...args: ReadonlyArray<string>): Promise<string> => {
  const { stdout } = await promisify(execFile)(command, [...args], { maxBuffer: 64 * 1024 * 1024 })
  return stdout.trim()
}

/** A throwaway server, and a way to run the programs of its own release that dump and restore. */
interface Dumpable {
  readonly url: string
  readonly client: (program: string, ...args: ReadonlyArray<string>) => Promise<string>
}

const image = "postgres:18"

/** Whether the image's `pg_dump` is of its server's release: it dumps no newer one. */
const isImageWhole = (): boolean =>
  hasDocker("the dump of a running system by the image's pg_dump") &&
  / 18\./.test(
    spawnSync("docker", ["run", "--rm", "--entrypoint", "pg_dump", image, "--version"]).stdout?.toString() ?? "",
  )

/** Programs of one release that this machine has installed. */
const installed = (): string | undefined => {
  try {
    return readdirSync("/usr/lib/postgresql").sort().reverse().map((release) => `/usr/lib/postgresql/${release}/bin`)
      .find((bin) => ["initdb", "postgres", "pg_dump", "pg_restore"].every((name) => readdirSync(bin).includes(name)))
  } catch {
    return undefined
  }
}

const inDocker = Effect.map(ownPostgres, ({ name, url }): Dumpable => ({
  url,
  client: (program, ...args) =>
    docker("exec", "-e", "PGPASSWORD=own", "-e", "PGUSER=postgres", "-e", "PGHOST=127.0.0.1", name, program, ...args),
}))

/** A server of this test's own made with those programs. */
const onThisMachine = (bin: string) =>
  Effect.gen(function* () {
    const port = yield* Effect.promise(freePort)
    const folder = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "parlance-dump-"))),
      (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true })),
    )
    const isRoot = process.getuid?.() === 0
    // Postgres refuses to run as root.
    const as = isRoot ? ["runuser", "-u", "postgres", "--"] : []
    if (isRoot) chownSync(folder, Number(execFileSync("id", ["-u", "postgres"]).toString()), -1)
    const own = (program: string, ...args: ReadonlyArray<string>) => {
      const [command, ...rest] = [...as, join(bin, program), ...args]
      return run(command!, ...rest)
    }
    const data = join(folder, "data")
    yield* Effect.promise(() => own("initdb", "-D", data, "-U", "postgres", "-A", "trust"))
    const options = `-p ${port} -k ${folder} -c listen_addresses=127.0.0.1`
    yield* Effect.acquireRelease(
      Effect.promise(() => own("pg_ctl", "-D", data, "-w", "-l", join(folder, "log"), "-o", options, "start")),
      () => Effect.promise(() => own("pg_ctl", "-D", data, "-m", "immediate", "stop")),
    )
    const target = ["-h", "127.0.0.1", "-p", String(port), "-U", "postgres"]
    const client: Dumpable["client"] = (program, ...args) => run(join(bin, program), ...target, ...args)
    yield* Effect.promise(() =>
      waitUntil("Postgres answers", () => client("pg_isready").then(() => true, () => false), 60)
    )
    return { url: `postgres://postgres:own@127.0.0.1:${port}/postgres`, client } satisfies Dumpable
  })

const bin = installed()

/** A server with its dump programs; undefined, with the reason printed, where none is available. */
export const dumpablePostgres = isImageWhole() ? inDocker : bin !== undefined ? onThisMachine(bin) : undefined
if (dumpablePostgres === undefined) {
  console.warn(
    `Skipped: the dump of a running system (neither Docker with the pg_dump of ${image} nor a PostgreSQL in /usr/lib/postgresql)`,
  )
}
