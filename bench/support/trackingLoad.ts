// Sends opens and clicks of many messages from a separate process, in the way of `load.ts`. Prints one JSON line.
//
//   deno run -A bench/support/trackingLoad.ts '{"url": "…", "seconds": 5, "connections": 64, "rate": 0, "route": "c",
//     "secret": "…", "org": "…", "link": "…", "first": 0, "messages": 1000}'
import { Buffer } from "node:buffer"
import { hash } from "node:crypto"
import type { OrgSlug } from "../../src/domain/Ids.ts"
import { hmacKey } from "../../src/text/Hmac.ts"
import { writeToken } from "../../src/tracking/Token.ts"
import { loop, type LoopOptions } from "./Loop.ts"

interface Options extends LoopOptions {
  /** `o` for opens, `c` for clicks, or an empty text for the unchanged address. */
  readonly route: "o" | "c" | ""
  /** Signing key of tokens, in hexadecimal. */
  readonly secret: string
  readonly org: string
  /** Key of the clicked link. */
  readonly link: string
  /**
   * Number of the first message. Requests cycle through `messages` messages. Message n has the MD5 of its number as its
   * id.
   */
  readonly first: number
  readonly messages: number
}

const options: Options = JSON.parse(Deno.args[0]!)
const { first, link, messages, org, route, secret } = options
const url = new URL(options.url)
const key = hmacKey(Buffer.from(secret, "hex"))
const tokenOf = (id: string) =>
  writeToken(key, route === "o" ? "open" : "click", {
    org: org as OrgSlug,
    id,
    link: route === "o" ? undefined : link,
  })
const idOf = (n: number) => hash("md5", String(n), "hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")
const pathOf = (n: number) =>
  route === "" ? url.pathname : `/${route}/${tokenOf(idOf(first + n))}${route === "o" ? ".gif" : ""}`
const requests = Array.from(
  { length: messages },
  (_, n) =>
    new TextEncoder().encode(
      `GET ${
        pathOf(n)
      } HTTP/1.1\r\nHost: ${url.host}\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0\r\n\r\n`,
    ),
)
let next = 0
const looped = await loop(options, () => {
  const request = requests[next++ % requests.length]!
  return async (connection, answered) => answered((await connection.send(request)).status)
})
console.log(JSON.stringify(looped))
