// Sends the stream of events of bench/support/Events.ts from event `first` on, as bench/support/load.ts sends requests. A
// body that is not acknowledged is sent again, as senders do, so that the events that were sent are numbers without a gap.
// Prints one JSON line.
//
//   deno run -A bench/support/eventLoad.ts '{"url": "...", "headers": {}, "seconds": 5, "connections": 32, "rate": 250, …}'
import { Connection, postMessage } from "./Connection.ts"
import { bodyText } from "./Events.ts"

interface Options {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly seconds: number
  readonly connections: number
  /** Requests a second; 0 for a closed loop. */
  readonly rate: number
  readonly perRequest: number
  readonly first: number
  readonly decisions: number
  readonly base: number
  /** Whether the answers say how many events there were. */
  readonly counted: boolean
}

const options: Options = JSON.parse(Deno.args[0]!)
const { base, connections, counted, decisions, headers, perRequest, rate, seconds } = options
const url = new URL(options.url)

/** What was due is sent this much later at most; a server that is slower than that has its rate measured all the same. */
const graceMillis = 5000
/** How long one body is sent again and again. */
const patienceMillis = 30_000

const latencies: Array<number> = []
const statuses: Record<string, number> = {}
let next = options.first
let taken = 0
let wrong = 0
const begin = performance.now()
const end = begin + seconds * 1000

const due = (): number => rate === 0 ? performance.now() : begin + taken++ * 1000 / rate

const worker = async () => {
  const connection = await Connection.open(url)
  for (;;) {
    const start = due()
    if (start >= end || performance.now() >= end + graceMillis) break
    const wait = start - performance.now()
    if (wait > 1) await new Promise((resolve) => setTimeout(resolve, wait))
    const message = postMessage(url, headers, bodyText(next, perRequest, decisions, base))
    next += perRequest
    for (;;) {
      const { body, status } = await connection.send(message, counted)
      statuses[status] = (statuses[status] ?? 0) + 1
      if (status === "200") {
        if (counted && JSON.parse(body).received !== perRequest) wrong++
        break
      }
      if (status !== "503" || performance.now() - start > patienceMillis) {
        throw new Error(`Events were answered ${status}: ${body}`)
      }
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    latencies.push(performance.now() - start)
  }
  connection.close()
}

await Promise.all(Array.from({ length: connections }, worker))
const sorted = Float64Array.from(latencies).sort()
const quantile = (q: number) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0
console.log(JSON.stringify({
  next,
  requests: latencies.length,
  perSecond: latencies.length / ((performance.now() - begin) / 1000),
  p50: quantile(0.5),
  p99: quantile(0.99),
  statuses,
  wrong,
}))
