// Sends Deliver requests to different addresses from a separate process. Prints one line of JSON.
//
//   deno run -A bench/support/deliverLoad.ts '{"url": "...", "seconds": 5, "connections": 64, "rate": 0, "key": "...",
//     "keyed": false}'
import { randomUUID } from "node:crypto"
import { postMessage } from "./Connection.ts"
import { deliverBody } from "./deliverBody.ts"
import { loop, type LoopOptions } from "./Loop.ts"

interface Options extends LoopOptions {
  readonly key: string
  /** Whether each request has its own Idempotency-Key. */
  readonly keyed: boolean
}

const options: Options = JSON.parse(Deno.args[0]!)
const url = new URL(options.url)
const run = randomUUID()
let asked = 0

const looped = await loop(options, () => {
  const n = asked++
  const headers = { "x-api-key": options.key, ...(options.keyed ? { "Idempotency-Key": `${run} ${n}` } : {}) }
  const message = postMessage(url, headers, JSON.stringify({ ...deliverBody, email: `p${n}@example.com` }))
  return async (connection, answered) => answered((await connection.send(message)).status)
})
console.log(JSON.stringify(looped))
