import { Effect, Schedule } from "effect"
import { existsSync, readFileSync, rmSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import process from "node:process"

/**
 * Links the Deno that npx started into `bin`, the folder of commands of the clone, under the name that the next
 * `npx deno@VERSION` looks up. npx runs a command of that name at once, without reading all packages of the clone. Does
 * nothing for a Deno outside of npx's cache, and on Windows, where npx cannot run a link.
 */
export const linkDeno = (bin: string, deno = process.execPath, version = process.versions["deno"]): void => {
  if (process.platform === "win32" || !deno.includes("/_npx/")) return
  const link = join(bin, `deno@${version}`)
  if (existsSync(link)) return
  try {
    // A link to a cache that was cleared does not exist for npx, but has the name.
    rmSync(link, { force: true })
    symlinkSync(deno, link)
  } catch {
    // The folder is missing or cannot be written, or another process made the link. npx works without it.
  }
}

/** This process or one between npx and this one, with the parent that the process had at the start. */
interface Ancestor {
  readonly pid: number
  readonly parent: number
}

/** Number of processes to look through for npx. There are four: npx, its shell, Deno's start script and `deno task`. */
const longest = 8

/**
 * Returns the parent's pid from the text of `/proc/<pid>/stat`. The name of the process, in parentheses, can contain
 * spaces and parentheses.
 */
export const parentIn = (stat: string): number | undefined => {
  const [, parent] = /^\s\S+\s(\d+)\s/.exec(stat.slice(stat.lastIndexOf(")") + 1)) ?? []
  return parent === undefined ? undefined : Number(parent)
}

/** Whether the command line, with its arguments separated by NUL, is one of npx. npm replaces it by a title. */
export const isNpx = (commandLine: string): boolean =>
  /^npm (exec|x)\b/.test(commandLine) || /(^|[/\0])(npx|npx-cli\.js)\0/.test(commandLine)

const read = (pid: number, file: "stat" | "cmdline"): string | undefined => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8")
  } catch {
    return undefined
  }
}

const parentOf = (pid: number): number | undefined => parentIn(read(pid, "stat") ?? "")

/** Processes from this one up to the child of npx. Undefined if npx did not start this process. */
const chainToNpx = (): ReadonlyArray<Ancestor> | undefined => {
  if (process.env["npm_command"] !== "exec") return undefined
  const chain: Array<Ancestor> = []
  for (let pid = process.pid; chain.length < longest;) {
    const parent = parentOf(pid)
    if (parent === undefined || parent <= 1) return undefined
    chain.push({ pid, parent })
    if (isNpx(read(parent, "cmdline") ?? "")) return chain
    pid = parent
  }
  return undefined
}

/**
 * Waits until the npx that started this process, or a process between them, has ended. npx sends signals only to its
 * shell, so this process would otherwise outlive it. Never ends without npx, or on a system without `/proc`.
 */
export const npxEnded: Effect.Effect<void> = Effect.suspend(() => {
  const chain = chainToNpx()
  if (chain === undefined) return Effect.never
  const isWhole = Effect.sync(() => chain.every(({ parent, pid }) => parentOf(pid) === parent))
  return isWhole.pipe(
    Effect.repeat({ schedule: Schedule.spaced("1 second"), until: (isWhole) => !isWhole }),
    Effect.andThen(Effect.logInfo("The service stops, because the npx that started it has ended")),
  )
})
