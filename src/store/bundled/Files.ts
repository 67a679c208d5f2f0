import { Effect, Schema } from "effect"
import { chownSync, existsSync, readFileSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { type Folders, giveTo, restoring, type User, versionIn } from "./Folders.ts"
import type { Programs } from "./Programs.ts"
import * as ServerLog from "./ServerLog.ts"
import { failureOf, ServerFailed, spawnIn } from "./Spawn.ts"

/** The files of the database were created by another major version of PostgreSQL. */
export class OtherPostgresVersion extends Schema.TaggedError<OtherPostgresVersion>()("OtherPostgresVersion", {
  folder: Schema.String,
  found: Schema.Int,
  needed: Schema.Int,
}) {
  override get message() {
    return `The embedded database in ${this.folder} was made by PostgreSQL ${this.found}, and this release comes with ` +
      `${this.needed}. Start the release that made it, copy the database to a server of your own with pg_dump as described ` +
      "in docs/operations/embedded.md, then start this release with DATABASE_URL."
  }
}

/** Runs a program of PostgreSQL to its end. Fails with `ServerFailed` if the program fails. */
const run = (folders: Folders, programs: Programs, args: ReadonlyArray<string>) =>
  Effect.callback<void, ServerFailed>((resume) => {
    const log = ServerLog.make()
    const fail = (lines: ReadonlyArray<string>) => resume(Effect.fail(failureOf(folders, lines, programs.major)))
    const child = spawnIn(folders, "/bin/sh", ["-c", `exec "$0" "$@"`, programs.initdb, ...args])
    createInterface({ input: child.stderr! }).on("line", log.add)
    child.on("error", ({ message }) => fail([message]))
    child.on("close", (code) => code === 0 ? resume(Effect.void) : fail(log.lines()))
    return Effect.sync(() => child.kill("SIGKILL"))
  })

/**
 * Returns the account for `initdb` if the service runs as root. Unlike the server, `initdb` requires an existing
 * account.
 */
const accountFor = (): User => {
  const [, , uid, gid] = readFileSync("/etc/passwd", "utf8").split("\n").find((line) => line.startsWith("nobody:"))
    ?.split(":") ?? []
  return { uid: Number(uid ?? 65_534) >>> 0, gid: Number(gid ?? 65_534) >>> 0 }
}

/**
 * Creates the files of an empty database in `data`. They are written to another folder first, so that `data` is
 * complete if it exists, even after a power failure. Fails with `ServerFailed`.
 */
const create = (folders: Folders, programs: Programs): Effect.Effect<void, ServerFailed> =>
  Effect.gen(function* () {
    const { data, root, user } = folders
    const unfinished = join(root, "unfinished")
    const account = user === undefined ? undefined : accountFor()
    rmSync(unfinished, { recursive: true, force: true })
    if (account !== undefined) chownSync(root, account.uid, account.gid)
    yield* run({ ...folders, user: account }, programs, [
      ...["--pgdata", unfinished, "--username", "postgres", "--auth", "trust", "--encoding", "UTF8"],
      // Texts are sorted without libraries of the operating system, so the files also work on another machine.
      ...["--locale-provider", "builtin", "--builtin-locale", "C.UTF-8", "--locale", "C"],
      "--no-instructions",
    ])
    renameSync(unfinished, data)
  })

/**
 * Creates the files of an empty database if there are none, and makes the server's user their owner, because files that
 * root has copied may belong to root. The caller must hold the lock of the folder. Fails with `OtherPostgresVersion`
 * for files of another major version, and with `ServerFailed` if they are damaged or cannot be created, or if a restore
 * did not end.
 */
export const ensure = (
  folders: Folders,
  programs: Programs,
): Effect.Effect<void, ServerFailed | OtherPostgresVersion> =>
  Effect.gen(function* () {
    const found = versionIn(folders.data)
    if (found === undefined) {
      const incomplete = restoring(folders.root)
      if (existsSync(incomplete)) {
        const reason =
          "a restore into this folder did not end. Run `parlance restore` again, which begins anew, or remove " +
          `${incomplete} to begin with an empty database`
        return yield* new ServerFailed({ folder: folders.root, reason, isPassing: false })
      }
      yield* create(folders, programs)
    } else if (Number.isNaN(found)) {
      return yield* failureOf(folders, [`"${folders.data}" is not a valid data directory: PG_VERSION`], programs.major)
    } else if (found !== programs.major) {
      return yield* new OtherPostgresVersion({ folder: folders.root, found, needed: programs.major })
    }
    if (folders.user !== undefined) giveTo(folders.user, folders.root)
  })
