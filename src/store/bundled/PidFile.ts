import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"

/** Reads the process id in PostgreSQL's `postmaster.pid`; undefined for a file that holds none. */
export const pidIn = (text: string): number | undefined => {
  // A server in single-user mode writes its id negative.
  const pid = Math.abs(Number.parseInt(text.split("\n", 1)[0] ?? ""))
  return Number.isSafeInteger(pid) && pid > 1 ? pid : undefined
}

/** Whether the arguments of a process are those of a server on `data`. */
export const isServerOn = (data: string, commandLine: string): boolean =>
  commandLine.includes("postgres") && commandLine.includes(data)

/** Runs a line of the shell. Deno lets a process with limited permissions neither read `/proc` nor signal by number. */
const shell = (line: string, pid: number): string =>
  execFileSync("/bin/sh", ["-c", line, String(pid)], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
    env: { PATH: "/usr/bin:/bin" },
  })

/** The command line of a process; empty when there is none. */
const commandLineOf = (pid: number): string =>
  shell(`tr '\\0' ' ' < /proc/$0/cmdline || ps -ww -o command= -p $0 || true`, pid)

/** Sends a signal, if the process is still there. */
export const signal = (pid: number, name: "INT" | "QUIT"): void => void shell(`kill -${name} $0 || true`, pid)

/**
 * The process that `postmaster.pid` in `data` names, and whether that is a server on `data`, another program or gone. After a
 * crash of the machine, or in a new container, another program may have the number of a server that died, and PostgreSQL
 * would take that program for a server.
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
