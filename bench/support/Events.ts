// The stream of events that bench/learn.ts sends, by number, and its totals. Event `n` belongs to decision `n` modulo
// the number of decisions. Each round through the decisions adds one event to each decision. The kinds of events differ
// for eight rounds, so that every event changes counts. One decision in ten gets a click, except in the template t0,
// whose clicks come only from probes.

/** Number of templates: `t0` to `t19`. Decision `d` belongs to the template with the number `d` modulo 20. */
export const templates = 20

/** Number of variants of a template: `v0` to `v4`. */
export const variants = 5

/** The kinds of events in the order of the rounds. */
const kinds = ["sent", "delivered", "open", "other", "conversion", "soft_bounce", "unsubscribe", "spam"] as const

/** Outcomes that are counted. */
export type Counted = typeof kinds[number] | "click"

const kindOf = (decision: number, round: number): Counted =>
  round === 3 && decision % templates !== 0 && Math.floor(decision / templates) % 10 === 0
    ? "click"
    : kinds[round] ?? "open"

/** Returns the tracking id of a decision. */
export const trackingId = (decision: number): string => `d-${decision}`

/** Returns event `n` as JSON text. Rounds are a minute apart and begin at `base` (Unix milliseconds). */
export const eventText = (n: number, decisions: number, base: number): string => {
  const decision = n % decisions
  const round = Math.floor(n / decisions)
  const at = new Date(base + round * 60_000).toISOString()
  return `{"event":"${kindOf(decision, round)}","tracking_id":"${
    trackingId(decision)
  }","event_id":"e-${n}","occurred_at":"${at}"}`
}

/** Returns a body of `count` events from number `first` on. */
export const bodyText = (first: number, count: number, decisions: number, base: number): string => {
  if (count === 1) return eventText(first, decisions, base)
  let text = "["
  for (let n = first; n < first + count; n++) text += (n > first ? "," : "") + eventText(n, decisions, base)
  return `${text}]`
}

/** Counts by template and variant, such as `t3/v1`. */
export type Totals = Map<string, { [what in Counted | "decisions"]?: number }>

/** Adds to the totals of one variant. */
export const addTo = (totals: Totals, key: string, what: Counted | "decisions"): void => {
  let counts = totals.get(key)
  if (counts === undefined) totals.set(key, counts = {})
  counts[what] = (counts[what] ?? 0) + 1
}

/**
 * Returns the totals of events 0 to `events` - 1. Each kind counts once for each decision. `chosen` contains the number
 * of the variant by decision.
 */
export const totalsOf = (events: number, chosen: Uint8Array): Totals => {
  const totals: Totals = new Map()
  chosen.forEach((variant, decision) => {
    const key = `t${decision % templates}/v${variant}`
    addTo(totals, key, "decisions")
    const seen = new Set<Counted>()
    for (let n = decision, round = 0; n < events; n += chosen.length, round++) seen.add(kindOf(decision, round))
    for (const kind of seen) addTo(totals, key, kind)
  })
  return totals
}
