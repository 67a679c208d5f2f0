// A load generator in a process of its own: `connections` keep-alive connections, each asking again as soon as it is
// answered (closed loop), or all together at `rate` requests a second whatever the answers take (open loop, rate > 0).
// Prints one JSON line.
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
