import { Agent, request } from "node:http"
import type { TestNode } from "./clusterNodes.ts"
import { pause } from "./deliverStorm.ts"
import { addTruth, story, type Truth } from "./storm.ts"

// Clients of three kinds behind a load balancer that tries another node when one does not answer, and their answers.

/** A load balancer waits this long for a node. Unit: milliseconds. */
const patienceMillis = 2000

interface Answer {
  readonly status: number
  readonly text: string
  readonly durable: boolean
}

const call = (url: string, key: string, body: string, agent: Agent, headers: Readonly<Record<string, string>>) =>
  new Promise<Answer>((resolve) => {
    const lost = () => {
      clearTimeout(patience)
      resolve({ status: 0, text: "", durable: false })
    }
    // A node that is stopped accepts connections and says nothing. (The `timeout` of a request does not end one on a
    // connection that was kept.)
    const patience = setTimeout(() => {
      ask.destroy()
      lost()
    }, patienceMillis)
    const ask = request(url, {
      method: "POST",
      agent,
      headers: {
        "x-api-key": key,
        "content-type": "application/json",
        "content-length": String(Buffer.byteLength(body)),
        ...headers,
      },
    }, (response) => {
      let text = ""
      response.setEncoding("utf8").on("data", (chunk: string) => text += chunk)
      response.on("error", lost).on("aborted", lost)
      response.on("end", () => {
        clearTimeout(patience)
        resolve({
          status: response.complete ? response.statusCode ?? 0 : 0,
          text,
          durable: response.headers["decision-durable"] !== "false",
        })
      })
    }).on("error", lost)
    ask.end(body)
  })

/** A client's observations, by milliseconds of `performance.now()`. */
export interface Outcome {
  readonly began: number
  readonly ended: number
  readonly tries: number
}

export interface Acknowledged {
  /** Variant by tracking id, of decisions that were answered as durable. */
  readonly decisions: Map<string, { readonly template: string; readonly copyId: string }>
  /** Tracking ids that were answered from memory: chosen, and not promised. */
  readonly fromMemory: Set<string>
  /** Messages that were accepted, by address. */
  readonly deliveries: Set<string>
  /** Bodies of events that were acknowledged. */
  events: number
  /** Sums of the acknowledged events by template and variant. */
  readonly truth: Map<string, Map<string, Truth>>
  readonly generate: Array<Outcome>
  refusals: number
  unanswered: number
}

export interface LoadOptions {
  readonly nodes: ReadonlyArray<TestNode>
  readonly org: string
  readonly key: string
  /** Templates of the stories, and the one that messages are made of. */
  readonly templates: ReadonlyArray<string>
  readonly mail: string
  readonly random: () => number
  readonly clients: number
  /** Between two stories of one client. Unit: milliseconds. */
  readonly pauseMillis: number
  /** Messages to be delivered a second. */
  readonly deliveriesPerSecond: number
}

/** Starts the clients; `stop` ends them once each has been answered. */
export const startClusterLoad = (options: LoadOptions) => {
  const { key, nodes, org, random, templates } = options
  const agent = new Agent({ keepAlive: true, maxSockets: 4 * options.clients })
  const acknowledged: Acknowledged = {
    decisions: new Map(),
    fromMemory: new Set(),
    deliveries: new Set(),
    events: 0,
    truth: new Map(),
    generate: [],
    refusals: 0,
    unanswered: 0,
  }
  let stopped = false
  let turn = 0

  const nodeNow = () => {
    for (let i = 0; i < nodes.length; i++) {
      const node = nodes[turn++ % nodes.length]!
      if (node.service !== undefined && node.inRotation) return node.service.url
    }
    return undefined
  }

  /** Asks one node after another until there is an answer. */
  const insist = async (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) => {
    const text = JSON.stringify(body)
    const began = performance.now()
    for (let tries = 1;; tries++) {
      const url = nodeNow()
      const answer = url === undefined ? undefined : await call(`${url}${path}`, key, text, agent, headers)
      if (answer?.status === 200) return { ...answer, began, ended: performance.now(), tries }
      if (answer !== undefined && answer.status !== 0 && answer.status !== 503) {
        throw new Error(`${path} was answered ${answer.status}: ${answer.text}`)
      }
      if (answer?.status === 503) acknowledged.refusals++
      else acknowledged.unanswered++
      await pause(20)
    }
  }

  const decide = async (template: string, trackingId: string): Promise<string | undefined> => {
    const { durable, text, ...outcome } = await insist(`/api/generate/${org}`, {
      template_id: template,
      tracking_id: trackingId,
      attrs: { plan: "pro" },
    })
    acknowledged.generate.push(outcome)
    if (!durable) {
      acknowledged.fromMemory.add(trackingId)
      return undefined
    }
    const copyId = JSON.parse(text).copy.id as string
    acknowledged.decisions.set(trackingId, { template, copyId })
    return copyId
  }

  let next = 0
  const began = Date.now()
  const storyteller = async () => {
    while (!stopped) {
      const n = next++
      const template = templates[n % templates.length]!
      const { events, trackingId, truth } = story("c", n, began - 30 * 60_000, random)
      const copyId = await decide(template, trackingId)
      if (copyId !== undefined) {
        await insist(`/api/webhook/events/${org}`, events.map((event) => JSON.parse(event)))
        acknowledged.events += events.length
        let totals = acknowledged.truth.get(template)
        if (totals === undefined) acknowledged.truth.set(template, totals = new Map())
        addTruth(totals, copyId, truth)
      }
      await pause(options.pauseMillis)
    }
  }

  let message = 0
  const senderPause = 4000 / options.deliveriesPerSecond
  const sender = async () => {
    while (!stopped) {
      const email = `m-${message++}@example.com`
      await insist(
        `/api/deliver/${org}`,
        { template_id: options.mail, email, fields: { name: email } },
        { "idempotency-key": email },
      )
      acknowledged.deliveries.add(email)
      await pause(senderPause)
    }
  }

  const clients = Promise.all([
    ...Array.from({ length: options.clients }, storyteller),
    ...Array.from({ length: 4 }, sender),
  ])
  // A failure is kept until `stop`, which fails with it.
  clients.catch(() => {})
  return {
    acknowledged,
    stop: async () => {
      stopped = true
      await clients
      agent.destroy()
    },
  }
}
