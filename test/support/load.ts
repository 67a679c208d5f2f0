import { type Agent, request } from "node:http"
import { makeWatch, type Watch } from "./platformServers/Watch.ts"

/** mulberry32: numbers in [0, 1), determined by the seed. */
export const seeded = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296
}

/** Seed of this run: `SEED`, or a new one. Print it. */
export const seedOfRun = (): number => Number(process.env.SEED ?? Date.now() % 1_000_000)

/** How one call ended. */
export interface Call {
  readonly trackingId: string
  /** 0: no complete answer came. */
  readonly status: number
  /** Chosen variant, where the status is 200. */
  readonly copyId?: string
  /** False if the answer says that its decision is in memory only. */
  readonly durable?: boolean
  readonly retryAfter?: string | undefined
  readonly contentType?: string | undefined
  /** Why no answer came, and whether one had begun. */
  readonly error?: string
  readonly cut?: boolean
}

/** The address and key of the service. They change when the service is restarted. */
export interface Target {
  readonly url: string
  readonly org: string
  readonly key: string
  readonly templateId: string
}

/** One Generate over `agent`; never rejects. `cut` says that an answer had begun and was not completed. */
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
          retryAfter: response.headers["retry-after"],
          contentType: response.headers["content-type"],
        })
      })
    }).on("error", lost)
    call.end(body)
  })

/** Clients that call one after another until `stop`. */
export interface Load {
  /** Every call that has ended, in the order they ended. */
  readonly calls: ReadonlyArray<Call>
  /** Waits for a condition on the calls, checked whenever one has ended. */
  readonly until: Watch["until"]
  /** Lets clients call at `target`; undefined makes them wait. */
  readonly aim: (target: Target | undefined) => void
  /** Ends once every client has its last answer. */
  readonly stop: () => Promise<void>
}

/** Starts `clients` clients with tracking ids of their own, each waiting `pauseMillis` after an answer. */
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
