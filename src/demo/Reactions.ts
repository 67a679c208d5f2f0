import { hourMillis } from "../bandit/Window.ts"
import { logNormal, type UniformChance } from "./Chance.ts"

/** An event in the form of the demo's shop: an item of `POST /api/webhook/events/:org`. */
export interface ReportedEvent {
  readonly event: "delivered" | "open" | "click" | "conversion" | "bounce" | "unsubscribe"
  readonly event_id: string
  readonly tracking_id: string
  /** ISO 8601, UTC. */
  readonly occurred_at: string
  readonly automated?: true
  readonly link?: string
}

/** An event and the time of its report (Unix milliseconds), never before the event. */
export interface DemoReaction {
  readonly reportAt: number
  readonly event: ReportedEvent
  /** Whether it has been reported before. */
  readonly again: boolean
}

const secondMillis = 1000
const minuteMillis = 60 * secondMillis

/** Probabilities that a message ends in each way. `conversion`: probability that a click leads to an order. */
const shares = { bounce: 0.012, machineOpen: 0.14, openedOnly: 0.22, conversion: 0.18, unsubscribe: 0.003, again: 0.05 }

/** Log-normal delays: median in milliseconds, and sigma. */
const delays = {
  delivered: [20 * secondMillis, 0.6],
  machineOpen: [40 * secondMillis, 0.8],
  open: [2 * hourMillis, 1.3],
  click: [2.5 * hourMillis, 1.3],
  conversion: [40 * minuteMillis, 1.2],
  unsubscribe: [5 * hourMillis, 1],
  again: [10 * minuteMillis, 1],
} as const

/** Minimum time in which people read a message. Earlier clicks come from link scanners. */
const fastestMillis = 45 * secondMillis

/** Maximum delay of a reaction, because the service counts two weeks. */
const longestMillis = 13 * 24 * hourMillis

/**
 * Returns the reactions to a message decided at `decidedAt` (Unix milliseconds), whose user clicks with the probability
 * `clickRate` if it arrives. A click follows an open. One in twenty reports is repeated.
 */
export const react = (
  chance: UniformChance,
  message: {
    readonly trackingId: string
    readonly decidedAt: number
    readonly clickRate: number
    readonly link: string
  },
): ReadonlyArray<DemoReaction> => {
  const { clickRate, decidedAt, link, trackingId } = message
  const reactions: Array<DemoReaction> = []
  const happens = (share: number) => chance() < share
  const after = (delay: keyof typeof delays) => {
    const [median, sigma] = delays[delay]
    return logNormal(chance, median, sigma)
  }
  const report = (
    event: ReportedEvent["event"],
    time: number,
    more: Pick<ReportedEvent, "automated" | "link"> = {},
  ) => {
    if (time > decidedAt + longestMillis) return
    const item: ReportedEvent = {
      event,
      event_id: `${trackingId}-${more.automated ? "machine-" : ""}${event}`,
      tracking_id: trackingId,
      occurred_at: new Date(time).toISOString(),
      ...more,
    }
    reactions.push({ reportAt: time, event: item, again: false })
    if (happens(shares.again)) reactions.push({ reportAt: time + after("again"), event: item, again: true })
  }

  const deliveredAt = decidedAt + after("delivered")
  if (happens(shares.bounce)) {
    report("bounce", deliveredAt)
    return reactions
  }
  report("delivered", deliveredAt)
  if (happens(shares.machineOpen)) report("open", deliveredAt + after("machineOpen"), { automated: true })
  if (happens(clickRate)) {
    const clickedAt = deliveredAt + fastestMillis + after("click")
    report("open", clickedAt - fastestMillis * chance())
    report("click", clickedAt, { link })
    if (happens(shares.conversion)) report("conversion", clickedAt + after("conversion"))
  } else if (happens(shares.openedOnly)) {
    report("open", deliveredAt + fastestMillis + after("open"))
  }
  if (happens(shares.unsubscribe)) report("unsubscribe", deliveredAt + after("unsubscribe"))
  return reactions
}
