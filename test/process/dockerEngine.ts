import { Effect } from "effect"
import { execFile, execFileSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { promisify } from "node:util"
import { freePort, waitUntil } from "../support/service.ts"

/** Runs a Docker command. Rejects with its output when it fails. */
export const docker = async (...args: ReadonlyArray<string>): Promise<string> => {
  const { stdout } = await promisify(execFile)("docker", [...args], { maxBuffer: 64 * 1024 * 1024 })
  return stdout.trim()
}

/** Whether a Docker engine answers. Prints that `tests` are skipped where none does. */
export const hasDocker = (tests: string): boolean => {
  try {
    execFileSync("docker", ["info"], { stdio: "pipe", timeout: 20_000 })
    return true
  } catch (error) {
    const reason = error instanceof Error ? error.message.split("\n")[0] : String(error)
    console.warn(`Skipped: ${tests} (no Docker engine answers: ${reason})`)
    return false
  }
}

/** The folder of its data, in a volume that other containers can use. */
const data = "/var/lib/postgresql/18/docker"

/** A Postgres of one test alone, on a port that stays the same when it starts again; goes with the scope. */
export const ownPostgres = Effect.gen(function* () {
  const name = `parlance-own-${randomUUID()}`
  const port = yield* Effect.promise(freePort)
  yield* Effect.acquireRelease(
    Effect.promise(() =>
      docker(
        "run",
        "-d",
        "--name",
        name,
        "-p",
        `127.0.0.1:${port}:5432`,
        "-e",
        "POSTGRES_PASSWORD=own",
        "-v",
        "/var/lib/postgresql",
        "postgres:18",
      )
    ),
    () => Effect.promise(() => docker("rm", "--force", "--volumes", name)),
  )
  // Over TCP: while it makes its database the server listens on its socket only.
  const answers = () =>
    docker("exec", name, "pg_isready", "-h", "127.0.0.1", "-U", "postgres").then(() => true, () => false)
  yield* Effect.promise(() => waitUntil("Postgres answers", answers, 60))
  return { name, answers, data, url: `postgres://postgres:own@127.0.0.1:${port}/postgres` }
})
