// A load generator in a process of its own: `connections` keep-alive connections, each asking again as soon as it is
// answered (closed loop), or all together at `rate` requests a second whatever the answers take (open loop, rate > 0).
// Prints one JSON line.
//
//   deno run -A bench/support/load.ts '{"url": "...", "seconds": 5, "connections": 64, "rate": 0, "headers": {}, "body": ""}'
import { Connection, postMessage } from "./Connection.ts"

interface Options {
  readonly url: string
  readonly seconds: number
  readonly connections: number
  readonly rate: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const options: Options = JSON.parse(Deno.args[0]!)
const url = new URL(options.url)
const message = postMessage(url, options.headers, options.body)

const latencies: Array<number> = []
const statuses: Record<string, number> = {}
const begin = performance.now()
const end = begin + options.seconds * 1000
let next = begin

/** When the next request is due: now in a closed loop, the next slot in an open one. */
const due = (): number => {
  if (options.rate === 0) return performance.now()
  const slot = next
  next += 1000 / options.rate
  return slot
}

const worker = async () => {
  const connection = await Connection.open(url)
  while (true) {
    const start = due()
    if (start >= end) break
    const wait = start - performance.now()
    if (wait > 1) await new Promise((resolve) => setTimeout(resolve, wait))
    const { status } = await connection.send(message)
    statuses[status] = (statuses[status] ?? 0) + 1
    // In an open loop a request counts from the moment it was due, so that waiting in line is not left out.
    latencies.push(performance.now() - start)
  }
  connection.close()
}

await Promise.all(Array.from({ length: options.connections }, worker))
const sorted = Float64Array.from(latencies).sort()
const quantile = (q: number) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0
console.log(JSON.stringify({
  requests: latencies.length,
  perSecond: latencies.length / ((performance.now() - begin) / 1000),
  p50: quantile(0.5),
  p99: quantile(0.99),
  statuses,
}))
