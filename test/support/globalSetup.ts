import { execFileSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { TestProject } from "vitest/node"
import { onServer } from "./onServer.ts"
import { startPostgres } from "./throwawayPostgres.ts"

declare module "vitest" {
  interface ProvidedContext {
    /** URL of a throwaway Postgres server, as its superuser; undefined where none can be had. */
    readonly postgresUrl: string | undefined
    /** Name of a migrated database there: copying it takes half the time of making one. */
    readonly postgresTemplate: string
    /** Folders of an embedded database without tables, and of a migrated one. */
    readonly embeddedEmpty: string
    readonly embeddedSeed: string
  }
}

/** A throwaway Postgres and how to end it; undefined where none can be had, which it says. */
const serverOf = async (): Promise<{ readonly url: string; readonly stop: () => Promise<unknown> } | undefined> => {
  const given = process.env.TEST_DATABASE_URL
  if (given !== undefined) return { url: given, stop: () => Promise.resolve() }
  const started = await startPostgres()
  if ("url" in started) return started
  console.warn(`Tests on Postgres are skipped, no throwaway server could be started (${started.join("; ")})`)
  return undefined
}

/** One throwaway Postgres, and databases to copy, for the whole run. */
export default async (project: TestProject) => {
  const folder = mkdtempSync(join(tmpdir(), "parlance-seed-"))
  const template = `template_${randomUUID().replaceAll("-", "")}`
  const server = await serverOf()
  if (server !== undefined) await onServer(server.url, `CREATE DATABASE ${template}`)
  execFileSync(Deno.execPath(), [
    "run",
    "-A",
    "--no-prompt",
    "--cached-only",
    "--unstable-no-legacy-abort",
    fileURLToPath(new URL("seed.process.ts", import.meta.url)),
    folder,
    ...(server === undefined ? [] : [new URL(`/${template}`, server.url).href]),
  ])
  project.provide("postgresUrl", server?.url)
  project.provide("postgresTemplate", template)
  project.provide("embeddedEmpty", join(folder, "empty"))
  project.provide("embeddedSeed", join(folder, "migrated", "db"))
  return async () => {
    if (server !== undefined) await onServer(server.url, `DROP DATABASE ${template} WITH (FORCE)`)
    await server?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
