import { hasDocker, inContainer, PostgresWithVolume } from "../support/containers.ts"
import { freePort } from "../support/service.ts"

/** A throwaway server, with the programs of its own version that dump and restore. */
export interface Dumpable {
  /** Version of the server and its programs, such as `18.4`. */
  readonly version: string
  readonly url: string
  readonly client: (program: string, ...args: ReadonlyArray<string>) => Promise<string>
  readonly stop: () => Promise<unknown>
}

/** Starts PostgreSQL of a major version. Undefined if the image has programs of another version, which dump nothing newer. */
const start = async (major: number): Promise<Dumpable | undefined> => {
  const port = await freePort()
  const container = await new PostgresWithVolume(`postgres:${major}`, port).start()
  const credentials = { PGPASSWORD: "own", PGUSER: "postgres", PGHOST: "127.0.0.1" }
  const client: Dumpable["client"] = (program, ...args) =>
    inContainer(container.getId(), [program, ...args], credentials)
  const stop = () => container.stop({ remove: true, removeVolumes: true, timeout: 0 })
  if (!(await client("pg_dump", "--version")).includes(` ${major}.`)) return void await stop()
  const version = await client("psql", "--no-align", "--tuples-only", "--command=SHOW server_version")
  return { version, client, stop, url: `postgres://postgres:own@127.0.0.1:${port}/postgres` }
}

/** Starts the newest server whose image has dump programs of its version. Prints the reason if there is none. */
export const startDumpable = async (): Promise<Dumpable | undefined> => {
  if (!(await hasDocker("the dump of a running system"))) return undefined
  for (const major of [18, 15]) {
    const found = await start(major)
    if (found !== undefined) return found
  }
  console.warn("Skipped: the dump of a running system (neither postgres:18 nor postgres:15 has its own pg_dump)")
  return undefined
}
