import { Schema } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import type { Folders } from "./Folders.ts"
import { isPassing, reasonOf } from "./ServerLog.ts"

/** The embedded database did not start, or its files could not be made. */
export class ServerFailed extends Schema.TaggedError<ServerFailed>()("ServerFailed", {
  folder: Schema.String,
  reason: Schema.String,
  /** Whether the next attempt may succeed although nobody does anything. */
  isPassing: Schema.Boolean,
}) {
  override get message() {
    return `The embedded database in ${this.folder} did not start: ${this.reason}`
  }
}

/** The failure of a program that printed `lines`. */
export const failureOf = ({ root }: Folders, lines: ReadonlyArray<string>, major: number): ServerFailed =>
  new ServerFailed({ folder: root, reason: reasonOf(lines, major), isPassing: isPassing(lines) })

/** Nothing of the service's environment, which holds secrets. */
const environment = { PATH: "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" }

/** Starts a program in the server's folder and as its user. Not by `effect/process`, which has no setting for the user. */
export const spawnIn = ({ root, user }: Folders, program: string, args: ReadonlyArray<string>): ChildProcess =>
  spawn(program, args, {
    cwd: root,
    env: environment,
    // A group of its own: Ctrl-C in a terminal is for the service, which ends the server after its last commit.
    detached: true,
    stdio: ["pipe", "ignore", "pipe"],
    ...(user === undefined ? {} : user),
  })
