// The mixed load of a soak test: Generate requests at a rate, with events, deliveries and reads of the console's data.
// Prints one line of JSON.
//
//   deno run -A bench/support/soakLoad.ts '{"url": "...", "seconds": 60, "connections": 32, "rate": 2000, "key": "...", …}'
import { randomUUID } from "node:crypto"
import { postMessage } from "./Connection.ts"
import { deliverBody } from "./deliverBody.ts"
import { loop, type Looped, type LoopOptions } from "./Loop.ts"

/** `url` is the address of the service. The load adds the paths. */
export interface SoakOptions extends LoopOptions {
  readonly key: string
  readonly org: string
  readonly adminToken: string
  /** Number of bodies with 20 events per second. */
  readonly bodies: number
  /** Number of messages per second. */
  readonly messages: number
  /** Number of reads per second. */
  readonly reads: number
}

export interface SoakLoad {
  readonly generate: Looped
  readonly beside: { readonly [name in "events" | "messages" | "reads"]: Readonly<Record<string, number>> }
}

const { adminToken, bodies, key, messages, org, reads, ...looped }: SoakOptions = JSON.parse(Deno.args[0]!)
const base = looped.url
const end = performance.now() + looped.seconds * 1000
const asked: Array<string> = []

/** Calls `send` at a rate until the end, independently of responses. Counts responses by status. */
const pace = async (perSecond: number, send: (n: number) => Promise<Response>) => {
  const statuses: Record<string, number> = {}
  const under = new Set<Promise<void>>()
  const begin = performance.now()
  for (let n = 0;; n++) {
    const due = begin + n * 1000 / perSecond
    if (perSecond === 0 || due >= end) break
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())))
    const one = send(n).then(async (response) => {
      await response.arrayBuffer()
      statuses[response.status] = (statuses[response.status] ?? 0) + 1
    }).catch(() => void (statuses[0] = (statuses[0] ?? 0) + 1)).finally(() => under.delete(one))
    under.add(one)
  }
  await Promise.all(under)
  return statuses
}

const json = { "content-type": "application/json", "x-api-key": key }
const post = (path: string, body: unknown) =>
  fetch(`${base}${path}`, { method: "POST", headers: json, body: JSON.stringify(body) })

const events = () =>
  Array.from({ length: 20 }, () => ({
    event: "click",
    event_id: randomUUID(),
    tracking_id: asked.shift() ?? randomUUID(),
    user_id: `u${Math.floor(Math.random() * 1000)}`,
  }))

const pages = ["results", "decisions?limit=20", ""]
const read = (n: number) =>
  fetch(`${base}/console/api/organizations/${org}/templates/welcome/${pages[n % pages.length]}`.replace(/\/$/, ""), {
    headers: { authorization: `Bearer ${adminToken}` },
  })

const [generate, ofEvents, ofMessages, ofReads] = await Promise.all([
  loop({ ...looped, url: `${base}/api/generate/${org}` }, () => {
    const trackingId = randomUUID()
    if (asked.length < 1000) asked.push(trackingId)
    const message = postMessage(
      new URL(`${base}/api/generate/${org}`),
      { "x-api-key": key },
      JSON.stringify({
        template_id: "welcome",
        tracking_id: trackingId,
        user_id: `u${Math.floor(Math.random() * 1000)}`,
        fields: deliverBody.fields,
        attrs: deliverBody.attrs,
      }),
    )
    return async (connection, answered) => answered((await connection.send(message)).status)
  }),
  pace(bodies, () => post(`/api/webhook/events/${org}`, events())),
  pace(messages, (n) => post(`/api/deliver/${org}`, { ...deliverBody, email: `p${n % 1000}@example.com` })),
  pace(reads, read),
])
console.log(
  JSON.stringify({ generate, beside: { events: ofEvents, messages: ofMessages, reads: ofReads } } satisfies SoakLoad),
)
