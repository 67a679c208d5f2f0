// The process behind `Probe`: each line of standard input is a number of requests to answer before it prints the
// `Waits`.
import { readdirSync, readFileSync } from "node:fs"
import { Connection, postMessage } from "../../bench/support/Connection.ts"
import type { ProbeOptions, Waits } from "./Probe.ts"

const { key, org, pid, templateId, url }: ProbeOptions = JSON.parse(Deno.args[0]!)
const target = new URL(`${url}/api/generate/${org}`)
const message = postMessage(target, { "X-Api-Key": key }, JSON.stringify({ template_id: templateId, user_id: "u" }))

const workMillis = (): number => {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e6
  } catch {
    return NaN
  }
}

/**
 * Its share of physical memory: a page that several processes share, such as one of the executable, counts once in all.
 */
const residentOf = (of: number): number => {
  try {
    const share = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${of}/smaps_rollup`, "utf8"))
    return Number(share?.[1] ?? 0) * 1024
  } catch {
    return 0
  }
}

const memory = (): number => {
  let children: ReadonlyArray<string> = []
  try {
    children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter((child) => child !== "")
    )
  } catch {
    // The process has ended, or the system has no /proc.
  }
  return [pid, ...children.map(Number)].reduce((sum, of) => sum + residentOf(of), 0)
}

let period = begin()
let wanted: Array<number> = []

function begin() {
  const memoryBefore = memory()
  return {
    answered: 0,
    failed: [] as Array<number>,
    longestMillis: 0,
    longestWorkMillis: 0,
    memoryBefore,
    memoryPeak: memoryBefore,
  }
}

const report = () => {
  if (wanted.length === 0 || period.answered < wanted[0]!) return
  wanted = wanted.slice(1)
  console.log(JSON.stringify(period satisfies Waits))
  period = begin()
}

void (async () => {
  let rest = ""
  for await (const chunk of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n")
    rest = lines.pop()!
    for (const line of lines) wanted.push(Number(line) + period.answered)
  }
  Deno.exit(0)
})()

let connection: Connection | undefined
for (let request = 0;; request++) {
  const worked = workMillis()
  const sent = performance.now()
  let status = 0
  try {
    connection ??= await Connection.open(target)
    status = Number((await connection.send(message)).status)
  } catch {
    connection = undefined
  }
  period.answered++
  if (status !== 200) period.failed.push(status)
  period.longestMillis = Math.max(period.longestMillis, performance.now() - sent)
  period.longestWorkMillis = Math.max(period.longestWorkMillis, workMillis() - worked)
  if (request % 5 === 0) period.memoryPeak = Math.max(period.memoryPeak, memory())
  report()
  await new Promise((resolve) => setTimeout(resolve, status === 200 ? 5 : 50))
}
