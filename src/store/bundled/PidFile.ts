import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"

/** Parses the process id in the text of PostgreSQL's `postmaster.pid`; undefined if it contains no valid id. */
export const pidIn = (text: string): number | undefined => {
  // A server in single-user mode writes a negative id.
  const pid = Math.abs(Number.parseInt(text.split("\n", 1)[0] ?? ""))
  return Number.isSafeInteger(pid) && pid > 1 ? pid : undefined
}

/** Whether a command line belongs to a server on `data`. */
export const isServerOn = (data: string, commandLine: string): boolean =>
  commandLine.includes("postgres") && commandLine.includes(data)

/**
 * Runs a shell command. With limited permissions, Deno allows neither reading `/proc` nor signalling a process by
 * number.
 */
const shell = (line: string, pid: number): string =>
  execFileSync("/bin/sh", ["-c", line, String(pid)], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
    env: { PATH: "/usr/bin:/bin" },
  })

/** Returns the command line of a process; empty if the process does not exist. */
const commandLineOf = (pid: number): string =>
  shell(`tr '\\0' ' ' < /proc/$0/cmdline || ps -ww -o command= -p $0 || true`, pid)

/** Sends a signal to a process if it still exists. */
export const signal = (pid: number, name: "INT" | "QUIT"): void => void shell(`kill -${name} $0 || true`, pid)

/**
 * Returns the process id in `postmaster.pid` of `data`, and whether that process is a server on `data`, another
 * program, or gone. After a crash of the machine, or in a new container, another program may have the id of the dead
 * server, and PostgreSQL would mistake that program for a server.
 */
export const read = (
  data: string,
): { readonly pid: number; readonly process: "server" | "other" | "none" } | undefined => {
  let text: string
  try {
    text = readFileSync(join(data, "postmaster.pid"), "utf8")
  } catch {
    return undefined
  }
  const pid = pidIn(text)
  if (pid === undefined) return undefined
  const commandLine = commandLineOf(pid)
  return { pid, process: isServerOn(data, commandLine) ? "server" : commandLine.trim() === "" ? "none" : "other" }
}
