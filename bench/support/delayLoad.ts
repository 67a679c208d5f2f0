// Asks Delay for people drawn by chance, as fast as `connections` keep-alive connections go. Prints one JSON line.
//
//   deno run -A bench/support/delayLoad.ts '{"url": "...", "seconds": 5, "connections": 64, "headers": {}, "people": 1000000}'
import { Connection } from "./Connection.ts"

interface Options {
  readonly url: string
  readonly seconds: number
  readonly connections: number
  readonly headers: Readonly<Record<string, string>>
  /** Users are u1 to u<people>; 0: nobody is named. */
  readonly people: number
}

const { connections, headers, people, seconds, url: text }: Options = JSON.parse(Deno.args[0]!)
const url = new URL(text)
const encoder = new TextEncoder()
const fixed = `Host: ${url.host}\r\n${
  Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join("")
}\r\n`

const latencies: Array<number> = []
const statuses: Record<string, number> = {}
const begin = performance.now()
const end = begin + seconds * 1000

const worker = async () => {
  const connection = await Connection.open(url)
  while (true) {
    const start = performance.now()
    if (start >= end) break
    const user = people === 0 ? "" : `&user_id=u${1 + Math.floor(Math.random() * people)}`
    const { status } = await connection.send(
      encoder.encode(`GET ${url.pathname}${url.search}${user} HTTP/1.1\r\n${fixed}`),
    )
    statuses[status] = (statuses[status] ?? 0) + 1
    latencies.push(performance.now() - start)
  }
  connection.close()
}

await Promise.all(Array.from({ length: connections }, worker))
const sorted = Float64Array.from(latencies).sort()
const quantile = (q: number) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0
console.log(JSON.stringify({
  requests: latencies.length,
  perSecond: latencies.length / ((performance.now() - begin) / 1000),
  p50: quantile(0.5),
  p99: quantile(0.99),
  statuses,
}))
