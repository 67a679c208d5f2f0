import { Schema } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import type { Folders } from "./Folders.ts"
import { isPassing, reasonOf } from "./ServerLog.ts"

/** The embedded database did not start, or its files could not be created. */
export class ServerFailed extends Schema.TaggedError<ServerFailed>()("ServerFailed", {
  folder: Schema.String,
  reason: Schema.String,
  /** Whether a retry may succeed without any change. */
  isPassing: Schema.Boolean,
}) {
  override get message() {
    return `The embedded database in ${this.folder} did not start: ${this.reason}`
  }
}

/** Returns the failure of a program that printed `lines`. */
export const failureOf = ({ root }: Folders, lines: ReadonlyArray<string>, major: number): ServerFailed =>
  new ServerFailed({ folder: root, reason: reasonOf(lines, major), isPassing: isPassing(lines) })

/** Contains nothing of the service's environment, which has secrets. */
const environment = { PATH: "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" }

/**
 * Starts a program in the server's folder and as its user. `effect/process` is not used, because it cannot set the
 * user.
 */
export const spawnIn = ({ root, user }: Folders, program: string, args: ReadonlyArray<string>): ChildProcess =>
  spawn(program, args, {
    cwd: root,
    env: environment,
    // A separate process group: Ctrl-C in a terminal reaches only the service, which ends the server after its last
    // commit.
    detached: true,
    stdio: ["pipe", "ignore", "pipe"],
    ...(user === undefined ? {} : user),
  })
