import { execFileSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { rmSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { TestProject } from "vitest/node"
import { onServer } from "./onServer.ts"
import { openFolder, startPostgres } from "./throwawayPostgres.ts"

declare module "vitest" {
  interface ProvidedContext {
    /** URL that answers with the `TestDatabases` of this run. The first request starts the server. */
    readonly testDatabases: string
  }
}

/** The address at which the tests of a run get databases. */
export interface TestDatabases {
  /** URL of the PostgreSQL server of the run, as its superuser. */
  readonly server: string
  /** Name of a migrated database on that server. Tests copy it. */
  readonly template: string
  /** A `DATA_DIR` with a migrated database. Tests copy it. */
  readonly seed: string
}

/** Migrates the store of `environment` in a separate process. */
const migrate = (environment: Record<string, string>) =>
  execFileSync(
    Deno.execPath(),
    ["run", "-A", "--no-prompt", "--cached-only", "--unstable-no-legacy-abort", "src/main.ts", "migrate"],
    { cwd: fileURLToPath(new URL("../../", import.meta.url)), env: { ...process.env, ...environment } },
  )

/** Starts the server of a run, with a migrated database to copy, and adds its finalizer to `ends`. */
const startDatabases = async (ends: Array<() => unknown>): Promise<TestDatabases> => {
  const folder = openFolder("parlance-seed-")
  ends.push(() => rmSync(folder, { recursive: true, force: true }))
  const seed = join(folder, "data")
  migrate({ DATA_DIR: seed })
  const template = `template_${randomUUID().replaceAll("-", "")}`
  const given = process.env.TEST_DATABASE_URL
  // The data on this server need not survive a power cut.
  const server = given === undefined
    ? await startPostgres({ seed, settings: { fsync: "off", full_page_writes: "off" } })
    : { url: given, stop: () => Promise.resolve() }
  ends.push(server.stop)
  await onServer(server.url, `CREATE DATABASE ${template}${given === undefined ? " TEMPLATE postgres" : ""}`)
  ends.push(() => onServer(server.url, `DROP DATABASE ${template} WITH (FORCE)`))
  if (given !== undefined) migrate({ DATABASE_URL: new URL(`/${template}`, given).href })
  return { server: server.url, template, seed }
}

/**
 * Provides databases to the workers of the run. The server starts at the first request, so that pure tests start at
 * once.
 */
export default async (project: TestProject) => {
  const ends: Array<() => unknown> = []
  let databases: Promise<TestDatabases> | undefined
  const offer = createServer((_, response) => {
    databases ??= startDatabases(ends)
    databases.then(
      (found) => response.end(JSON.stringify(found)),
      (cause) => response.writeHead(500).end(String(cause?.stack ?? cause)),
    )
  })
  await new Promise<void>((resolve) => offer.listen(0, "127.0.0.1", resolve))
  const address = offer.address()
  if (typeof address !== "object" || address === null) throw new Error("The offer of test databases has no port")
  project.provide("testDatabases", `http://127.0.0.1:${address.port}`)
  return async () => {
    offer.close()
    await databases?.catch(() => {})
    for (const end of ends.reverse()) await end()
  }
}
