import { Effect } from "effect"
import { dayMillis, hourMillis } from "../../src/bandit/Window.ts"
import { addTouches, emptyHistogram, personal } from "../../src/sendtime/Attention.ts"
import { choose, sendWindow } from "../../src/sendtime/Choice.ts"
import * as Clocks from "../../src/sendtime/Clocks.ts"
import { timingOf } from "../../src/sendtime/Groups.ts"
import { changed } from "../../src/sendtime/Histories.ts"
import { touchOf } from "../../src/sendtime/Touch.ts"
import type { AttributedEvent } from "../../src/journal/events/AttributedEvent.ts"
import { chance, seedOf } from "../../src/simulation/Chance.ts"

// Readers with individual reading times, the webhook reports of their messages, and the resulting advice, computed by
// the functions that answer requests.

export interface Reader {
  readonly zone: string
  /** Minutes of the local day at which the reader looks, on weekdays and at weekends. */
  readonly week: number
  readonly weekend: number
}

/** A Thursday, 00:00 UTC. */
const begin = Date.UTC(2026, 0, 15)

const isWeekend = (localMillis: number) => {
  const weekday = new Date(localMillis).getUTCDay()
  return weekday === 0 || weekday === 6
}

/** The look of a local day, Unix milliseconds. `localDay` is the local midnight counted as if the zone were UTC. */
const lookOf = (reader: Reader, clocks: Clocks.Clocks, localDay: number): number => {
  const local = localDay + (isWeekend(localDay) ? reader.weekend : reader.week) * 60_000
  return local - clocks.offsetAt(local - clocks.offsetAt(local))
}

const localMidnight = (clocks: Clocks.Clocks, at: number) => {
  const local = at + clocks.offsetAt(at)
  return local - local % dayMillis
}

/** When a message sent at `at` is opened: at each look with a probability that fades while it sinks under others. */
const openedAt = (reader: Reader, clocks: Clocks.Clocks, at: number, tau: number, uniform: () => number) => {
  const first = localMidnight(clocks, at)
  for (let day = 0; day < 4; day++) {
    const look = lookOf(reader, clocks, first + day * dayMillis)
    if (look < at) continue
    if (uniform() < 0.9 * Math.exp(-(look - at) / hourMillis / tau)) return look
  }
  return undefined
}

const event = (name: AttributedEvent["event"], occurredAt: number): AttributedEvent => ({
  key: `${name}/${occurredAt}`,
  event: name,
  occurredAt,
  automated: false,
  link: undefined,
})

export interface ReadersOptions {
  readonly days: number
  /** Hours in which a message sinks. */
  readonly tau: number
  /** Messages a day, a whole number. */
  readonly rate: number
  readonly seed: number
}

/** The histories of readers after so many days with messages at any time of the day, as webhooks report them. */
export const historiesOf = (readers: ReadonlyArray<Reader>, { days, rate, seed, tau }: ReadersOptions) => {
  const now = begin + days * dayMillis
  const people = readers.map((reader, id) => {
    const { uniform } = chance(seedOf(seed, `reader ${id}`))
    const clocks = Clocks.of(reader.zone)
    const codes: Array<number> = []
    for (let day = 0; day < days; day++) {
      for (let n = 0; n < rate; n++) {
        const decidedAt = begin + day * dayMillis + uniform() * dayMillis
        const sentAt = decidedAt + 60_000
        const opened = openedAt(reader, clocks, sentAt, tau, uniform)
        const events = [event("sent", sentAt), event("delivered", sentAt + 20_000)]
        if (opened !== undefined && opened <= now) events.push(event("open", opened + 30_000))
        const code = touchOf({ templateId: "t", copyId: "a", trackingId: `${id}/${day}/${n}`, decidedAt }, events)
        if (code !== undefined) codes.push(code.code)
      }
    }
    return { zone: reader.zone, codes: changed([], [], codes) }
  })
  return { now, people }
}

export interface Advised {
  readonly reader: Reader
  readonly weekend: boolean
  /** Hours from the advised time to the reader's look of that day; negative: the look came first. */
  readonly off: number
  /** The advice is in the hour of the look or in the one before. */
  readonly right: boolean
}

/** The advice for readers on each day of the following week, requested at their local midnight. */
export const adviseReaders = (readers: ReadonlyArray<Reader>, options: ReadersOptions): ReadonlyArray<Advised> => {
  const { now, people } = historiesOf(readers, options)
  const timing = Effect.runSync(timingOf(people, "UTC", now, Effect.void))
  const { variant } = timing.levels([{ template: "t", variants: ["a"], copy: "a" }])
  const { uniform } = chance(seedOf(options.seed, "draws"))
  return readers.flatMap((reader, id) => {
    const clocks = Clocks.of(reader.zone)
    const histogram = emptyHistogram()
    addTouches(histogram, people[id]!.codes, clocks, timing.fresh, now)
    const attention = personal(histogram, timing.inZone(variant.attention, clocks), timing.individuality)
    const first = localMidnight(clocks, now + dayMillis)
    return Array.from({ length: 7 }, (_, day): Advised => {
      const localDay = first + day * dayMillis
      const from = localDay - clocks.offsetAt(localDay)
      const window = sendWindow(from, from + dayMillis, clocks, { quiet: undefined, days: undefined })
      const { at } = choose({ attention, tau: timing.tau, window, draws: [0.5, uniform(), uniform()] })
      const look = lookOf(reader, clocks, localDay)
      const minute = isWeekend(localDay) ? reader.weekend : reader.week
      const hour = (at - from) / hourMillis
      const looked = minute / 60
      return {
        reader,
        weekend: isWeekend(localDay),
        off: (look - at) / hourMillis,
        right: Math.floor(hour) === Math.floor(looked) || Math.floor(hour) === Math.floor(looked) - 1,
      }
    })
  })
}

export const shareRight = (all: ReadonlyArray<Advised>) => all.filter(({ right }) => right).length / all.length

export const medianOff = (all: ReadonlyArray<Advised>) => {
  const sorted = all.map(({ off }) => Math.abs(off)).sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]!
}

/** The reports of a message, with their times. */
export interface Reporting {
  /** The platform reports that messages were sent; if not, opens only. */
  readonly sent: boolean
  /** Age at which a message that nothing was reported about counts as sent and not opened so far. Unit: hours. */
  readonly countedAfterHours: number
}

/** How the first advice of an organization lies in its horizon. */
export interface FirstAdvice {
  readonly day: number
  /** Hours from the question to the advised time, 0 to 24. */
  readonly wait: number
}

/** The first days of an organization whose readers are all asked about once a day and sent to as advised. */
export const firstAdvice = (
  readers: ReadonlyArray<Reader>,
  { countedAfterHours, days, seed, sent, tau }: Reporting & {
    readonly days: number
    readonly tau: number
    readonly seed: number
  },
): ReadonlyArray<FirstAdvice> => {
  interface Message {
    readonly reader: number
    readonly trackingId: string
    readonly decidedAt: number
    readonly openedAt: number | undefined
  }
  const messages: Array<Message> = []
  const { uniform } = chance(seedOf(seed, "first days"))
  const codesAt = (now: number, reader: number): Float64Array =>
    changed(
      [],
      [],
      messages.filter((one) => one.reader === reader && one.decidedAt < now).flatMap((message) => {
        const { decidedAt, openedAt, trackingId } = message
        const events = [
          ...(sent ? [event("sent", decidedAt)] : []),
          ...(openedAt !== undefined && openedAt <= now ? [event("open", openedAt)] : []),
        ]
        if (events.length === 0 && now - decidedAt < countedAfterHours * hourMillis) return []
        return touchOf({ templateId: "t", copyId: "a", trackingId, decidedAt }, events)?.code ?? []
      }),
    )
  const given: Array<FirstAdvice> = []
  for (let day = 0; day < days; day++) {
    const asks = readers.map((_, id) => ({ id, now: begin + (day * 24 + 24 * uniform()) * hourMillis }))
      .sort((a, b) => a.now - b.now)
    let timing: Effect.Success<ReturnType<typeof timingOf>> | undefined
    asks.forEach(({ id, now }, place) => {
      const reader = readers[id]!
      const clocks = Clocks.of(reader.zone)
      if (place % Math.ceil(readers.length / 24) === 0) {
        const people = readers.map(({ zone }, id) => ({ zone, codes: codesAt(now, id) }))
        timing = Effect.runSync(timingOf(people, "UTC", now, Effect.void))
      }
      const { fresh, levels, tau: learned, touches } = timing!
      const codes = codesAt(now, id)
      const histogram = emptyHistogram()
      addTouches(histogram, codes, clocks, fresh, now)
      const { at } = choose({
        attention: touches + codes.length === 0 ? undefined : personal(
          histogram,
          timing!.inZone(levels([{ template: "t", variants: ["a"], copy: "a" }]).variant.attention, clocks),
          timing!.individuality,
        ),
        tau: learned,
        window: sendWindow(now, now + dayMillis, clocks, { quiet: undefined, days: undefined }),
        draws: [uniform(), uniform(), uniform()],
      })
      given.push({ day, wait: (at - now) / hourMillis })
      messages.push({
        reader: id,
        trackingId: `${id}/${day}`,
        decidedAt: at,
        openedAt: openedAt(reader, clocks, at, tau, uniform),
      })
    })
  }
  return given
}
