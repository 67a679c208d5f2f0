// A load generator in a separate process, with `connections` keep-alive connections. In a closed loop, each connection
// sends its next request immediately after a response. In an open loop (`rate` > 0), all connections together send
// `rate` requests per second, independently of responses. Prints one JSON line.
//
//   deno run -A bench/support/load.ts '{"url": "...", "seconds": 5, "connections": 64, "rate": 0, "headers": {}, "body": ""}'
import { postMessage } from "./Connection.ts"
import { loop, type PostOptions } from "./Loop.ts"

const options: PostOptions = JSON.parse(Deno.args[0]!)
const message = postMessage(new URL(options.url), options.headers, options.body)
const looped = await loop(
  options,
  () => async (connection, answered) => answered((await connection.send(message)).status),
)
console.log(JSON.stringify(looped))
