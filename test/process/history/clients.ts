import { assert } from "vitest"
import { randomUUID } from "node:crypto"
import { adminToken } from "../../support/service.ts"
import type { Sink } from "../deliverSink.ts"
import { pause } from "../deliverStorm.ts"
import type { StormNode } from "./stormDatabase.ts"
import type { Answered, OptedOut } from "./History.ts"

// Clients of a storm. Each keeps what it was answered; none knows what the product does inside.

/** A load balancer waits this long for a node. Unit: milliseconds. */
const patienceMillis = 4000

/** Unix milliseconds of a clock that does not jump, as the mail server's. */
export const now = (): number => performance.timeOrigin + performance.now()

export const org = "acme"
/** Templates of Generate and of messages. */
export const offer = "offer"
export const mail = "mail"

export const variantsOf = (template: string) =>
  ["left", "middle", "right"].map((id) => ({ id, vars: { subject: `${template} ${id}`, body: "Dear you" } }))

/** What clients were answered so far. */
export interface Heard {
  readonly answers: Array<Answered>
  readonly optOuts: Array<OptedOut>
  readonly accepted: Map<string, string>
  /** Ids of acknowledged events. */
  readonly reported: Set<string>
  /** Answers of 503, and requests without an answer. */
  refused: number
  unanswered: number
}

export interface Options {
  readonly nodes: ReadonlyArray<StormNode>
  /** The name of the process that runs as a node now. */
  readonly processOf: (node: StormNode) => string
  readonly key: string
  readonly sink: Sink
  readonly random: () => number
}

interface Reply {
  readonly status: number
  readonly text: string
  readonly headers: Headers
  readonly process: string
  readonly began: number
  readonly ended: number
  /** How many outages of the database had ended for the process when the request began. */
  readonly outages: number
}

/** Sends one request to a node by chance. Undefined if no complete answer came. */
const ask = async (
  { nodes, processOf, random }: Options,
  path: string,
  init: RequestInit,
): Promise<Reply | undefined> => {
  const node = nodes[Math.floor(random() * nodes.length)]!
  const { service } = node
  if (service === undefined) return undefined
  const process = processOf(node)
  const outages = service.output().split("The database accepts writes again").length - 1
  const began = now()
  try {
    const response = await service.request(path, { ...init, signal: AbortSignal.timeout(patienceMillis) })
    const text = await response.text()
    return { status: response.status, text, headers: response.headers, process, began, ended: now(), outages }
  } catch {
    return undefined
  }
}

/** Sends a request to one node after another until one accepts it. Fails if a node refuses it permanently. */
const insist = async (
  options: Options,
  heard: Heard,
  path: string,
  init: RequestInit,
  isAnswer: (status: number) => boolean = (status) => status < 300,
): Promise<Reply> => {
  for (;;) {
    const reply = await ask(options, path, init)
    if (reply !== undefined && isAnswer(reply.status)) return reply
    if (reply === undefined) heard.unanswered++
    else if (reply.status === 503) heard.refused++
    else assert.fail(`${path} was answered ${reply.status}: ${reply.text}`)
    await pause(20)
  }
}

const json = (body: unknown, headers: Readonly<Record<string, string>>): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
})

/** One Generate, or one batch whose choice is uniform. */
const generate = async (options: Options, heard: Heard, trackingId: string, isModelFree: boolean) => {
  const reply = await insist(
    options,
    heard,
    isModelFree ? `/api/batch-generate/${org}` : `/api/generate/${org}`,
    json(
      isModelFree
        ? { requests: [{ template_id: offer, tracking_id: trackingId }], user_id: `user of ${trackingId}`, epsilon: 1 }
        : { template_id: offer, tracking_id: trackingId, user_id: `user of ${trackingId}` },
      { "x-api-key": options.key },
    ),
  )
  const body = JSON.parse(reply.text)
  const { copy } = isModelFree ? body[offer] : body
  heard.answers.push({
    template: offer,
    trackingId,
    process: reply.process,
    began: reply.began,
    ended: reply.ended,
    outages: reply.outages,
    copyId: copy.id,
    subject: copy.vars.subject,
    isDurable: reply.headers.get("decision-durable") !== "false",
    isModelFree,
  })
}

/** Reports an event of a decision. Returns the acknowledgement. */
const report = async (options: Options, heard: Heard, event: string, trackingId: string): Promise<Reply> => {
  const id = `${event} of ${trackingId}`
  const body = { event, tracking_id: trackingId, event_id: id }
  const reply = await insist(options, heard, `/api/webhook/events/${org}`, json(body, { "x-api-key": options.key }))
  heard.reported.add(id)
  return reply
}

/** Asks for new decisions, for the same ones again, and reports clicks, so that models change meanwhile. */
export const decideAndRepeat = async (options: Options, heard: Heard, isOver: () => boolean): Promise<void> => {
  const { random } = options
  const ids: Array<{ readonly id: string; readonly isModelFree: boolean }> = []
  while (!isOver()) {
    const isNew = ids.length === 0 || random() < 0.3
    if (isNew) ids.push({ id: randomUUID(), isModelFree: random() < 0.5 })
    // Recent ones, which may still wait in memory.
    const one = isNew ? ids.at(-1)! : ids[Math.max(0, ids.length - 1 - Math.floor(random() * 20))]!
    await generate(options, heard, one.id, one.isModelFree)
    if (random() < 0.2) await report(options, heard, "click", one.id)
    await pause(10)
  }
}

type Way = OptedOut["way"]

/** Opts somebody out in one way, and keeps when that was acknowledged. */
const optOut = async (options: Options, heard: Heard, email: string, id: string, way: Way, path: string) => {
  const post = (path: string, init: RequestInit) => insist(options, heard, path, init)
  const { ended } = way === "link"
    ? await post(path, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: "List-Unsubscribe=One-Click",
    })
    : way === "entry"
    ? await post(
      `/console/api/organizations/${org}/suppressions`,
      json({ address: email.toUpperCase() }, { authorization: `Bearer ${adminToken}` }),
    )
    : await report(options, heard, way, id)
  heard.optOuts.push({ email, way, acknowledged: ended })
}

/** Has several messages queued for each of many people, some of whom opt out once the first one has arrived. */
export const mailAndOptOut = async (
  options: Options,
  heard: Heard,
  prefix: string,
  isOver: () => boolean,
): Promise<void> => {
  const { key, random, sink } = options
  const ways: ReadonlyArray<Way> = ["link", "entry", "spam", "unsubscribe"]
  const arrivalsOf = new Map<string, { readonly id: string; readonly path: string }>()
  let read = 0
  const said = new Set<string>()
  const saying: Array<Promise<void>> = []
  for (let n = 0; !isOver(); n++) {
    const email = `${prefix}-${Math.floor(n / 4)}@example.com`
    const reply = await insist(
      options,
      heard,
      `/api/deliver/${org}`,
      json({ template_id: mail, email }, { "x-api-key": key, "idempotency-key": `${prefix} ${n}` }),
      // Who has opted out is refused.
      (status) => status === 200 || status === 422 && said.has(email),
    )
    const id = reply.headers.get("parlance-delivery-id")
    if (reply.status === 200 && id !== null) heard.accepted.set(id, email)
    await sink.refresh()
    for (; read < sink.arrivals.length; read++) {
      const [id, to, , , , path = ""] = sink.arrivals[read]!
      if (to.startsWith(`${prefix}-`)) arrivalsOf.set(to, { id, path })
    }
    for (const [to, { id, path }] of arrivalsOf) {
      arrivalsOf.delete(to)
      if (said.has(to) || random() >= 0.4) continue
      said.add(to)
      saying.push(optOut(options, heard, to, id, ways[Math.floor(random() * ways.length)]!, path))
    }
    await pause(40)
  }
  await Promise.all(saying)
}
