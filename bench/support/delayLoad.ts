// Sends Delay requests for random people over `connections` keep-alive connections at the maximum rate. Prints one JSON
// line.
//
//   deno run -A bench/support/delayLoad.ts '{"url": "...", "seconds": 5, "connections": 64, "headers": {}, "people": 1000000}'
import { loop, type LoopOptions } from "./Loop.ts"

interface Options extends Omit<LoopOptions, "rate"> {
  readonly headers: Readonly<Record<string, string>>
  /** Number of users, u1 to u<people>. 0 means that requests name no user. */
  readonly people: number
}

const options: Options = JSON.parse(Deno.args[0]!)
const { headers, people } = options
const url = new URL(options.url)
const encoder = new TextEncoder()
const fixed = `Host: ${url.host}\r\n${
  Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join("")
}\r\n`

const looped = await loop({ ...options, rate: 0 }, () => {
  const user = people === 0 ? "" : `&user_id=u${1 + Math.floor(Math.random() * people)}`
  const message = encoder.encode(`GET ${url.pathname}${url.search}${user} HTTP/1.1\r\n${fixed}`)
  return async (connection, answered) => answered((await connection.send(message)).status)
})
console.log(JSON.stringify(looped))
