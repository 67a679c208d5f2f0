import { Effect } from "effect"
import { execFileSync, spawn } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { makeWatch } from "./platformServers/Watch.ts"
import { freePort, waitUntil } from "./service.ts"
import { temporaryFolder } from "./stores.ts"

/** Whether HAProxy is installed. Prints the reason if the tests of `what` are skipped. */
export const hasHaproxy = (what: string): boolean => {
  try {
    execFileSync("haproxy", ["-v"], { stdio: "pipe" })
    return true
  } catch {
    console.warn(`Skipped: ${what} (HAProxy is not installed: apt-get install haproxy)`)
    return false
  }
}

const configuration = readFileSync(new URL("../../deploy/haproxy/haproxy.cfg", import.meta.url), "utf8")
const serverLine = /^ {2}server (\S+) (\S+)$/gm

/** Texts of the configuration and their replacements, such as shorter times. Each text must occur. */
export type Replacements = Readonly<Record<string, string>>

const replaced = (text: string, replacements: Replacements): string =>
  Object.entries(replacements).reduce((text, [before, after]) => {
    if (!text.includes(before)) throw new Error(`haproxy.cfg does not contain ${JSON.stringify(before)}`)
    return text.replaceAll(before, after)
  }, text)

/** Writes the delivered configuration with other addresses to a file, and returns its path. */
const configured = (port: number, nodes: ReadonlyArray<string>, replacements: Replacements) =>
  Effect.map(temporaryFolder, (folder) => {
    const file = join(folder, "haproxy.cfg")
    const servers = nodes.map((url, i) => `  server node-${i + 1} ${new URL(url).host}`).join("\n")
    const text = replaced(configuration, { "bind :8080": `bind 127.0.0.1:${port}`, ...replacements })
    writeFileSync(file, `${text.replace(serverLine, "").trimEnd()}\n${servers}\n`)
    return file
  })

/** Runs HAProxy in front of `nodes` until the scope closes. Returns its URL and output. */
export const scopedHaproxy = (nodes: ReadonlyArray<string>, replacements: Replacements = {}) =>
  Effect.gen(function* () {
    const port = yield* Effect.promise(freePort)
    const file = yield* configured(port, nodes, replacements)
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => spawn("haproxy", ["-db", "-f", file])),
      (child) =>
        Effect.promise(async () => {
          const ended = new Promise((resolve) => child.on("exit", resolve))
          if (child.exitCode === null && child.kill("SIGKILL")) await ended
        }),
    )
    let output = ""
    const { changed, until } = makeWatch()
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk) => {
        output += String(chunk)
        changed()
      })
    }
    const url = `http://127.0.0.1:${port}`
    const answers = () =>
      fetch(`${url}/healthz`).then((response) => response.body?.cancel().then(() => response.ok) ?? false, () => false)
    yield* Effect.promise(() => waitUntil("the balancer answers", answers))
    return { url, output: () => output, printed: until }
  })
