import { Agent, request } from "node:http"
import type { Service } from "../support/service.ts"

// A stream of events with everything that goes wrong with such streams, and the truth about it, counted here without
// any of the product's code.

/** The counts of one decision's events, by track and measure. */
export type Truth = Record<string, number>

/** A message, and the events of its recipient and of machines. */
export interface Story {
  readonly trackingId: string
  /** Bodies of single events, duplicates included, as JSON text. */
  readonly events: ReadonlyArray<string>
  /** Counts by measure. Automated events are under `automated:`. */
  readonly truth: Truth
  /** Its events are sent before it is decided. */
  readonly early: boolean
}

const minute = 60_000

/** The story of message number `n`, with times around `base` (Unix milliseconds, half an hour ago). */
export const story = (prefix: string, n: number, base: number, random: () => number): Story => {
  const trackingId = `${prefix}-${n}`
  const events: Array<string> = []
  const truth: Truth = {}
  const add = (event: string, minutes: number, automated = false) => {
    const body = {
      event,
      tracking_id: trackingId,
      occurred_at: new Date(base + minutes * minute).toISOString(),
      ...(automated ? { automated: true } : {}),
      // One in five sources sends no id: then the content has to do.
      ...(random() < 0.2 ? {} : { event_id: `${trackingId}-${event}-${minutes}-${automated}` }),
    }
    const text = JSON.stringify(body)
    events.push(text)
    if (random() < 0.1) events.push(text)
    truth[`${automated ? "automated:" : ""}${event}`] = 1
  }
  add("sent", 0)
  if (random() < 0.03) {
    add("bounce", 1)
    truth.voided = 1
  } else {
    if (random() < 0.9) add("delivered", 1)
    if (random() < 0.1) add("open", 2, true)
    if (random() < 0.4) {
      add("open", 3)
      // Opened again: another event, no other outcome.
      if (random() < 0.3) add("open", 7)
      if (random() < 0.3) add("click", 4)
      if (random() < 0.05) add("conversion", 9)
    }
    if (random() < 0.02) {
      add("unsubscribe", 10)
      truth.negative = 1
    }
  }
  return { trackingId, events, truth, early: random() < 0.05 }
}

/** Fisher and Yates. */
export const shuffle = <A>(items: Array<A>, random: () => number): Array<A> => {
  for (let i = items.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    const item = items[i]!
    items[i] = items[j]!
    items[j] = item
  }
  return items
}

/** One POST over `agent`; status 0 when no complete answer came. Never rejects. */
export const post = (url: string, key: string, body: string, agent: Agent) =>
  new Promise<{ readonly status: number; readonly text: string }>((resolve) => {
    const lost = () => resolve({ status: 0, text: "" })
    const call = request(url, {
      method: "POST",
      agent,
      headers: {
        "x-api-key": key,
        "content-type": "application/json",
        "content-length": String(Buffer.byteLength(body)),
      },
    }, (response) => {
      let text = ""
      response.setEncoding("utf8").on("data", (chunk: string) => text += chunk)
      response.on("error", lost).on("aborted", lost)
      response.on("end", () => resolve({ status: response.complete ? response.statusCode ?? 0 : 0, text }))
    }).on("error", lost)
    call.end(body)
  })

/** Adds `truth` to the totals of a variant. */
export const addTruth = (totals: Map<string, Truth>, copyId: string, truth: Truth): void => {
  const total = totals.get(copyId) ?? { decisions: 0 }
  total.decisions!++
  for (const [name, count] of Object.entries(truth)) total[name] = (total[name] ?? 0) + count
  totals.set(copyId, total)
}

/** The service's counts in that form: by variant, without zeros. */
export const counted = async (service: Service, org: string, template: string): Promise<Map<string, Truth>> => {
  const { body } = await service.manage("GET", `/organizations/${org}/templates/${template}/results`)
  return new Map(body.variants.map((variant: Record<string, unknown>) => {
    const truth: Truth = {}
    const add = (prefix: string, counts: unknown) => {
      for (const [name, count] of Object.entries(counts as Record<string, number>)) {
        if (count !== 0) truth[`${prefix}${name}`] = count
      }
    }
    add("", { decisions: variant["decisions"], voided: variant["voided"] })
    add("", variant["outcomes"])
    add("automated:", variant["automated"])
    return [variant["copy_id"], truth]
  }))
}
