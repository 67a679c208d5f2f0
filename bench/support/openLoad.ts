// An open-loop load generator in a separate process: sends `rate` requests per second, independently of responses, over
// at most `connections` keep-alive connections. Ignores Retry-After. Prints one JSON line.
//
//   deno run -A bench/support/openLoad.ts '{"url": "...", "seconds": 8, "connections": 1000, "rate": 20000, "headers": {}, "body": ""}'
import { Connection, postMessage } from "./Connection.ts"
import { type PostOptions, quantile } from "./Loop.ts"

const options: PostOptions = JSON.parse(Deno.args[0]!)
const url = new URL(options.url)
const message = postMessage(url, options.headers, options.body)
const idle: Array<Connection> = await Promise.all(
  Array.from({ length: options.connections }, () => Connection.open(url)),
)

const latencies: Array<number> = []
const refusals: Array<number> = []
const statuses: Record<string, number> = {}
let sent = 0
let begun = performance.now()

const ask = async (connection: Connection) => {
  const start = performance.now()
  sent++
  const { status } = await connection.send(message)
  idle.push(connection)
  const end = performance.now()
  // Responses after the end are not part of the measurement.
  if (end > begun + options.seconds * 1000) return
  statuses[status] = (statuses[status] ?? 0) + 1
  if (status === "200") latencies.push(end - start)
  else refusals.push(end - start)
}

begun = performance.now()
let due = 0
while (true) {
  const passed = performance.now() - begun
  if (passed >= options.seconds * 1000) break
  due = passed * options.rate / 1000
  // Without a free connection, a request waits in the client.
  while (sent < due) {
    const connection = idle.pop()
    if (connection === undefined) break
    void ask(connection)
  }
  await new Promise((resolve) => setTimeout(resolve, 1))
}
console.log(JSON.stringify({
  requests: sent,
  perSecond: sent / options.seconds,
  served: latencies.length / options.seconds,
  p50: quantile(latencies, 0.5),
  p99: quantile(latencies, 0.99),
  refusedP99: quantile(refusals, 0.99),
  statuses,
}))
Deno.exit()
