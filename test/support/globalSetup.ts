import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { TestProject } from "vitest/node"
import { startPostgres } from "./throwawayPostgres.ts"

declare module "vitest" {
  interface ProvidedContext {
    /** URL of a throwaway Postgres server, as its superuser; undefined where none can be had. */
    readonly postgresUrl: string | undefined
    /** Folder of an embedded database without tables: copying it is ten times faster than making one. */
    readonly embeddedSeed: string
  }
}

const makeSeed = (project: TestProject): () => Promise<unknown> => {
  const folder = mkdtempSync(join(tmpdir(), "parlance-seed-"))
  execFileSync(Deno.execPath(), [
    "run",
    "-A",
    "--no-prompt",
    "--cached-only",
    fileURLToPath(new URL("seed.process.ts", import.meta.url)),
    join(folder, "db"),
  ])
  project.provide("embeddedSeed", join(folder, "db"))
  return () => Promise.resolve(rmSync(folder, { recursive: true, force: true }))
}

/** One throwaway Postgres and one embedded database to copy, for the whole run. */
export default async (project: TestProject) => {
  const removeSeed = makeSeed(project)
  const given = process.env.TEST_DATABASE_URL
  if (given !== undefined) {
    project.provide("postgresUrl", given)
    return removeSeed
  }
  const started = await startPostgres()
  if ("url" in started) {
    project.provide("postgresUrl", started.url)
    return async () => {
      await started.stop()
      await removeSeed()
    }
  }
  console.warn(`Tests on Postgres are skipped, no throwaway server could be started (${started.join("; ")})`)
  project.provide("postgresUrl", undefined)
  return removeSeed
}
