import type { ClickReason } from "../../domain/ClickReasons.ts"
import type { AttributedEvent } from "./AttributedEvent.ts"

// Recognizes the clicks of machines among the events of one decision. Security gateways follow links with the user
// agent of a browser, so only the times and links of their requests distinguish them from a person's clicks.

/** Clicks up to this time after the delivery are a machine's. Unit: milliseconds. */
const scanMillis = 10_000

/**
 * Clicks up to this time before the delivery are a machine's, because gateways follow links before they accept a
 * message. For an earlier click, it is more likely that the times are wrong. Unit: milliseconds.
 */
const heldMillis = 60_000

/** Clicks on two links within this time are a machine's. Unit: milliseconds. */
const burstMillis = 2_000

/** Maximum time between two clicks of a series at equal intervals, and from first to last click of others. */
const seriesMillis = 30_000

/** Maximum difference of equal intervals. Some sources round to whole seconds. Unit: milliseconds. */
const evenMillis = 1_000

/** Minimum number of links in a series at equal intervals, if a person has not opened the message, or has opened it. */
const evenLinks = { unopened: 4, opened: 6 }

/** Minimum number of links in another series, which counts only if no person has opened the message. */
const manyLinks = 6

type Click = AttributedEvent

/** A click on a known link, or a request for the unsubscribe page. */
interface Visit {
  /** Unit: Unix milliseconds. */
  readonly at: number
  /** Undefined: the unsubscribe page. */
  readonly link: string | undefined
  readonly click: Click | undefined
}

/** The events of a message that show whether its clicks are a machine's. Unit of times: Unix milliseconds. */
interface Message {
  /** Sorted by time. */
  readonly clicks: ReadonlyArray<Click>
  /** Sorted by time. */
  readonly visits: ReadonlyArray<Visit>
  /** `Infinity` if not known, like the other times. */
  readonly deliveredAt: number
  readonly sentAt: number
  /** The first open by a person. */
  readonly openedAt: number
}

const byLink = (
  { link: a = "" }: { link: string | undefined },
  { link: b = "" }: { link: string | undefined },
): number => a < b ? -1 : a > b ? 1 : 0

const messageOf = (events: ReadonlyArray<AttributedEvent>): Message => {
  const clicks: Array<Click> = []
  const visits: Array<Visit> = []
  let deliveredAt = Infinity
  let sentAt = Infinity
  let openedAt = Infinity
  for (const one of events) {
    const { automated, event, link, occurredAt: at } = one
    if (event === "click") {
      clicks.push(one)
      if (link !== undefined) visits.push({ at, link, click: one })
    } else if (event === "unsubscribe_view") visits.push({ at, link: undefined, click: undefined })
    else if (event === "delivered") deliveredAt = Math.min(deliveredAt, at)
    else if (event === "sent") sentAt = Math.min(sentAt, at)
    else if (event === "open" && !automated) openedAt = Math.min(openedAt, at)
  }
  // The order of simultaneous clicks must not depend on the order of the events.
  clicks.sort((a, b) => a.occurredAt - b.occurredAt || byLink(a, b))
  visits.sort((a, b) => a.at - b.at || byLink(a, b))
  return { clicks, visits, deliveredAt, sentAt, openedAt }
}

const isAround = (time: number, at: number): boolean => at >= time - heldMillis && at < time + scanMillis

/** Marks clicks around the delivery, or the sending if the delivery is not known or later. */
const markEarly = ({ clicks, deliveredAt, sentAt }: Message, mark: (click: Click) => void): void => {
  let lastAt = -Infinity
  // A gateway that follows one link after another may need longer than `scanMillis`. It follows each link once.
  const followed = new Map<string, number>()
  for (const click of clicks) {
    const { link, occurredAt: at } = click
    const isEarly = isAround(deliveredAt, at) || (sentAt <= deliveredAt && isAround(sentAt, at))
    const isNext = link !== undefined && followed.size > 0 && at - lastAt <= scanMillis &&
      (followed.get(link) ?? at) === at
    if (!isEarly && !isNext) continue
    mark(click)
    lastAt = at
    if (link !== undefined && !followed.has(link)) followed.set(link, at)
  }
}

/**
 * Marks clicks close to a visit of another link. Only the nearest visit of another link, before or after, matters, so
 * one pass in each direction over the sorted visits suffices.
 */
const markBursts = (visits: ReadonlyArray<Visit>, mark: (click: Click, isPage: boolean) => void): void => {
  for (const direction of [1, -1]) {
    let other: Visit | undefined
    for (let n = 1; n < visits.length; n++) {
      const i = direction === 1 ? n : visits.length - 1 - n
      const visit = visits[i]!
      const neighbour = visits[i - direction]!
      if (neighbour.link !== visit.link) other = neighbour
      if (other === undefined || visit.click === undefined) continue
      if (Math.abs(visit.at - other.at) <= burstMillis) mark(visit.click, other.link === undefined)
    }
  }
}

/** Consecutive visits of one link, at the time of the first one. */
interface Stop extends Pick<Visit, "at" | "link"> {
  readonly clicks: Array<Click>
}

const stopsOf = (visits: ReadonlyArray<Visit>): ReadonlyArray<Stop> => {
  const stops: Array<Stop> = []
  for (const { at, click, link } of visits) {
    let stop = stops[stops.length - 1]
    if (stop === undefined || stop.link !== link) stops.push(stop = { at, link, clicks: [] })
    if (click !== undefined) stop.clicks.push(click)
  }
  return stops
}

const areDistinct = (stops: ReadonlyArray<Stop>): boolean =>
  new Set(stops.map(({ link }) => link)).size === stops.length

const areEven = (stops: ReadonlyArray<Stop>): boolean => {
  const gaps = stops.slice(1).map(({ at }, place) => at - stops[place]!.at)
  const longest = Math.max(...gaps)
  return longest <= seriesMillis && longest - Math.min(...gaps) <= evenMillis
}

const areClose = (stops: ReadonlyArray<Stop>): boolean => stops[stops.length - 1]!.at - stops[0]!.at <= seriesMillis

/** Marks the clicks of series of links. */
const markSeries = ({ openedAt, visits }: Message, mark: (click: Click) => void): void => {
  const stops = stopsOf(visits)
  stops.forEach(({ at }, from) => {
    const isOpened = openedAt <= at
    const markIf = (length: number, isSeries: (stops: ReadonlyArray<Stop>) => boolean) => {
      const some = stops.slice(from, from + length)
      if (some.length === length && areDistinct(some) && isSeries(some)) {
        some.forEach(({ clicks }) => clicks.forEach(mark))
      }
    }
    markIf(isOpened ? evenLinks.opened : evenLinks.unopened, areEven)
    if (!isOpened) markIf(manyLinks, areClose)
  })
}

/**
 * Returns the clicks of a decision that count as a machine's, with the reasons. `events` are the decision's events in
 * any order. A later event can change the result for an earlier click.
 */
export const machineClicks = (events: ReadonlyArray<AttributedEvent>): ReadonlyMap<AttributedEvent, ClickReason> => {
  const message = messageOf(events)
  const found = new Map<AttributedEvent, ClickReason>()
  const mark = (reason: ClickReason) => (click: Click) => {
    if (!found.has(click)) found.set(click, reason)
  }
  const isDone = () => found.size === message.clicks.length
  message.clicks.filter(({ automated }) => automated).forEach(mark("reported"))
  markEarly(message, mark("early"))
  if (isDone()) return found
  const bursts: Array<Click> = []
  markBursts(message.visits, (click, isPage) => isPage ? mark("unsubscribe")(click) : bursts.push(click))
  bursts.forEach(mark("burst"))
  if (!isDone() && message.visits.length >= evenLinks.unopened) markSeries(message, mark("series"))
  return found
}
