import { execFileSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { TestProject } from "vitest/node"
import { onServer } from "./onServer.ts"
import { openFolder, startPostgres } from "./throwawayPostgres.ts"

declare module "vitest" {
  interface ProvidedContext {
    /** URL of the PostgreSQL server of the test run, as its superuser. */
    readonly postgresUrl: string
    /** Name of a migrated database there: copying it takes half the time of making one. */
    readonly postgresTemplate: string
    /** A `DATA_DIR` with a migrated database. */
    readonly embeddedSeed: string
  }
}

/** Migrates the store of `environment` in a process of its own. */
const migrate = (environment: Record<string, string>) =>
  execFileSync(
    Deno.execPath(),
    ["run", "-A", "--no-prompt", "--cached-only", "--unstable-no-legacy-abort", "src/main.ts", "migrate"],
    { cwd: fileURLToPath(new URL("../../", import.meta.url)), env: { ...process.env, ...environment } },
  )

/** One server, and databases to copy, for the whole run. */
export default async (project: TestProject) => {
  const folder = openFolder("parlance-seed-")
  const seed = join(folder, "data")
  migrate({ DATA_DIR: seed })
  const template = `template_${randomUUID().replaceAll("-", "")}`
  const given = process.env.TEST_DATABASE_URL
  // Nothing on it need survive a power cut.
  const server = given === undefined
    ? await startPostgres({ seed, settings: { fsync: "off", full_page_writes: "off" } })
    : { url: given, stop: () => Promise.resolve() }
  await onServer(server.url, `CREATE DATABASE ${template}${given === undefined ? " TEMPLATE postgres" : ""}`)
  if (given !== undefined) migrate({ DATABASE_URL: new URL(`/${template}`, given).href })
  project.provide("postgresUrl", server.url)
  project.provide("postgresTemplate", template)
  project.provide("embeddedSeed", seed)
  return async () => {
    await onServer(server.url, `DROP DATABASE ${template} WITH (FORCE)`)
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
