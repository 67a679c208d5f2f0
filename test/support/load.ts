import { type Agent, request } from "node:http"
import { makeWatch, type Watch } from "./platformServers/Watch.ts"

/** Returns a generator of numbers in [0, 1) that the seed determines (mulberry32). */
export const seeded = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296
}

/** Returns the seed of this run: `SEED`, or a new seed. Tests print it. */
export const seedOfRun = (): number => Number(process.env.SEED ?? Date.now() % 1_000_000)

/** The result of one call. */
export interface Call {
  readonly trackingId: string
  /** Status of the response. 0 without a complete response. */
  readonly status: number
  /** The selected variant if the status is 200. */
  readonly copyId?: string
  /** False if the response states that its decision is only in memory. */
  readonly durable?: boolean
  /** When the response was complete. Unit: Unix milliseconds. */
  readonly answeredAt?: number
  readonly retryAfter?: string | undefined
  readonly contentType?: string | undefined
  /** The reason of a missing response. */
  readonly error?: string
  /** Whether the response had begun but was not completed. */
  readonly cut?: boolean
}

/** The address and key of the service. They change when the service is restarted. */
export interface Target {
  readonly url: string
  readonly org: string
  readonly key: string
  readonly templateId: string
}

/** Sends one Generate request with `agent`. Never rejects. */
export const generateOnce = (target: Target, trackingId: string, agent: Agent) =>
  new Promise<Call>((resolve) => {
    const body = JSON.stringify({ template_id: target.templateId, tracking_id: trackingId, user_id: `u-${trackingId}` })
    let begun = false
    const lost = (error: Error) => resolve({ trackingId, status: 0, error: error.message, cut: begun })
    const call = request(`${target.url}/api/generate/${target.org}`, {
      method: "POST",
      agent,
      headers: {
        "x-api-key": target.key,
        "content-type": "application/json",
        "content-length": String(Buffer.byteLength(body)),
      },
    }, (response) => {
      begun = true
      let text = ""
      response.setEncoding("utf8").on("data", (chunk: string) => text += chunk)
      response.on("error", lost).on("aborted", () => lost(new Error("aborted")))
      response.on("end", () => {
        if (!response.complete) return lost(new Error("incomplete"))
        const status = response.statusCode ?? 0
        resolve({
          trackingId,
          status,
          ...(status === 200 ? { copyId: JSON.parse(text).copy.id } : {}),
          durable: response.headers["decision-durable"] !== "false",
          answeredAt: Date.now(),
          retryAfter: response.headers["retry-after"],
          contentType: response.headers["content-type"],
        })
      })
    }).on("error", lost)
    call.end(body)
  })

/** Clients that send one request after another until `stop`. */
export interface Load {
  /** All finished calls, in the order of their ends. */
  readonly calls: ReadonlyArray<Call>
  /** Resolves when a condition on the calls holds. Checked after each call. */
  readonly until: Watch["until"]
  /** Directs clients to `target`. Undefined pauses them. */
  readonly aim: (target: Target | undefined) => void
  /** Stops the clients. Resolves after the last response of each client. */
  readonly stop: () => Promise<void>
}

/** Starts a number of clients with distinct tracking ids. Each client pauses for `pauseMillis` after a response. */
export const startLoad = (prefix: string, clients: number, agent: Agent, pauseMillis = 0): Load => {
  const calls: Array<Call> = []
  const { changed, until } = makeWatch()
  let target: Target | undefined
  let stopped = false
  let next = 0
  const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))
  const client = async () => {
    while (!stopped) {
      if (target === undefined) {
        await pause(5)
        continue
      }
      const call = await generateOnce(target, `${prefix}-${next++}`, agent)
      calls.push(call)
      changed()
      if (call.status === 0 || pauseMillis > 0) await pause(Math.max(5, pauseMillis))
    }
  }
  const ended = Promise.all(Array.from({ length: clients }, client))
  return {
    calls,
    until,
    aim: (to) => void (target = to),
    stop: async () => {
      stopped = true
      await ended
    },
  }
}
