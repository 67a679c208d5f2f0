import { Effect } from "effect"
import { execFileSync, spawn } from "node:child_process"
import { chmodSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { makeWatch } from "./platformServers/Watch.ts"
import { freePort, untilPrinted } from "./service.ts"
import { temporaryFolder } from "./stores.ts"

/** Whether PgBouncer is installed. Prints the reason if the tests of `what` are skipped. */
export const hasPgbouncer = (what: string): boolean => {
  try {
    execFileSync("pgbouncer", ["--version"], { stdio: "pipe" })
    return true
  } catch {
    console.warn(`Skipped: ${what} (PgBouncer is not installed: apt-get install pgbouncer)`)
    return false
  }
}

/** The version of PgBouncer on this machine. */
export const pgbouncerVersion = (): string =>
  /PgBouncer (\S+)/.exec(execFileSync("pgbouncer", ["--version"], { encoding: "utf8" }))![1]!

/** Values of `pool_mode`. */
export type PoolMode = "session" | "transaction" | "statement"

/**
 * Runs PgBouncer with its default settings in front of the database of `url` until the scope closes. Returns the URL of
 * the database behind it.
 */
export const scopedPgbouncer = (url: string, mode: PoolMode, settings: Readonly<Record<string, string>> = {}) =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    const port = yield* Effect.promise(freePort)
    const { hostname, password, port: serverPort, username } = new URL(url)
    const options = { listen_addr: "127.0.0.1", listen_port: String(port), unix_socket_dir: "", auth_type: "trust" }
    const lines = Object.entries({ ...options, auth_file: join(folder, "users.txt"), pool_mode: mode, ...settings })
      .map(([name, value]) => `${name} = ${value}`)
    const file = join(folder, "pgbouncer.ini")
    // PgBouncer does not run as root.
    const user = process.getuid?.() === 0 ? ["--user", "nobody"] : []
    writeFileSync(join(folder, "users.txt"), `"${username}" "${password}"\n`)
    writeFileSync(
      file,
      [`[databases]`, `* = host=${hostname} port=${serverPort}`, `[pgbouncer]`, ...lines, ""].join("\n"),
    )
    chmodSync(folder, 0o755)
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => spawn("pgbouncer", [...user, file])),
      (child) =>
        Effect.promise(async () => {
          const ended = new Promise((resolve) => child.on("exit", resolve))
          if (child.exitCode === null && child.kill("SIGKILL")) await ended
        }),
    )
    let output = ""
    const { changed, until } = makeWatch()
    const ended = new Promise((resolve) => child.on("exit", resolve))
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk) => {
        output += String(chunk)
        changed()
      })
    }
    yield* Effect.promise(() => untilPrinted(until, ended, () => output.includes("process up"), () => output))
    const address = new URL(url)
    address.port = String(port)
    address.hostname = "127.0.0.1"
    return address.href
  })
