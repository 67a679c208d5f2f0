import { hourMillis } from "../bandit/Window.ts"
import type { Clocks } from "./Clocks.ts"
import { delayOf, epochMillis, followedHours, hourOf, noEngagement } from "./Touch.ts"

// When people look at their messages: pure arithmetic over touches. Source: `bandit.md`, part 10.

/** Hours of the week in local time, folded: hour of the day, plus 24 on Saturday and Sunday. */
export const foldedHours = 48

/** Spans over which a message loses its freshness that are tried. Unit: hours. */
export const taus = [2, 4, 8, 16, 32] as const

/** The one that is used before there is anything to choose by. */
export const defaultTau = 8

/** A touch counts half after this many days. */
export const halfLifeDays = 60

/** Older touches are not looked at. Unit: days. */
export const lookbackDays = 180

const weekHours = 168

/** Folded hour of a local hour, by that modulo 168; hour 0 of the epoch was a Thursday's first. */
const fold = Uint8Array.from({ length: weekHours }, (_, hour) => {
  const day = Math.floor(hour / 24)
  return hour % 24 + (day === 2 || day === 3 ? 24 : 0)
})

/** The folded hour of a local hour, counted from 1970-01-01T00:00 on local clocks. */
export const foldedHour = (localHour: number): number => fold[((localHour % weekHours) + weekHours) % weekHours]!

/** Freshness after 0, 1, … 71 hours. */
export const freshness = (tau: number): Float64Array =>
  Float64Array.from({ length: followedHours }, (_, hours) => Math.exp(-hours / tau))

/** Engagements and the exposure they came from, by folded hour. */
export interface Histogram {
  readonly engaged: Float64Array
  readonly exposed: Float64Array
}

export const emptyHistogram = (): Histogram => ({
  engaged: new Float64Array(foldedHours),
  exposed: new Float64Array(foldedHours),
})

/** The sum of an array. */
export const total = (values: Float64Array): number => {
  let sum = 0
  for (let i = 0; i < values.length; i++) sum += values[i]!
  return sum
}

/** Weight by age in days, for the ages that are looked at. */
const decay = Float64Array.from({ length: lookbackDays + 1 }, (_, days) => 0.5 ** (days / halfLifeDays))

/**
 * What is to be counted of a touch at `now`: its weight (0 where it is too old or not yet sent), its first local hour, for
 * how many hours it has lain there, and whether the last of them brought an engagement.
 */
const seen = (code: number, clocks: Clocks, nowMillis: number) => {
  const sentMillis = epochMillis + hourOf(code) * hourMillis
  const days = Math.floor((nowMillis - sentMillis) / (24 * hourMillis))
  if (days < 0 || days > lookbackDays) return undefined
  const delay = delayOf(code)
  const elapsed = Math.floor((nowMillis - sentMillis) / hourMillis) + 1
  const isEngaged = delay !== noEngagement
  return {
    weight: decay[days]!,
    start: clocks.localHour(sentMillis),
    lain: isEngaged ? delay + 1 : Math.min(elapsed, followedHours),
    isEngaged,
  }
}

/** Adds a person's touches to a histogram. */
export const addTouches = (
  into: Histogram,
  codes: Float64Array,
  clocks: Clocks,
  fresh: Float64Array,
  nowMillis: number,
): void => {
  for (let i = 0; i < codes.length; i++) {
    const touch = seen(codes[i]!, clocks, nowMillis)
    if (touch === undefined) continue
    const { isEngaged, lain, start, weight } = touch
    let hour = start % weekHours
    for (let j = 0; j < lain; j++) {
      into.exposed[fold[hour]!]! += weight * fresh[j]!
      if (++hour === weekHours) hour = 0
    }
    if (isEngaged) into.engaged[foldedHour(start + lain - 1)]! += weight
  }
}

/**
 * Touches of many people added up in a form from which the histogram under every tau can be made: by local hour of the week
 * of the sending, and by how long the message lay there with and without an engagement at the end.
 */
export class Cells {
  readonly #engaged = new Float64Array(weekHours * followedHours)
  readonly #ignored = new Float64Array(weekHours * followedHours)
  /** Number of touches, undecayed. */
  count = 0
  /** Of these, with an engagement. */
  engagements = 0

  add(code: number, clocks: Clocks, nowMillis: number): void {
    const touch = seen(code, clocks, nowMillis)
    if (touch === undefined) return
    const { isEngaged, lain, start, weight } = touch
    const place = (((start % weekHours) + weekHours) % weekHours) * followedHours + lain - 1
    const cells = isEngaged ? this.#engaged : this.#ignored
    cells[place] = cells[place]! + weight
    this.count++
    if (isEngaged) this.engagements++
  }

  histogram(tau: number): Histogram {
    const into = emptyHistogram()
    const fresh = freshness(tau)
    for (let start = 0; start < weekHours; start++) {
      let lying = 0
      for (let j = followedHours - 1; j >= 0; j--) {
        const place = start * followedHours + j
        const engaged = this.#engaged[place]!
        lying += engaged + this.#ignored[place]!
        if (lying === 0) continue
        const k = fold[(start + j) % weekHours]!
        into.exposed[k]! += lying * fresh[j]!
        into.engaged[k]! += engaged
      }
    }
    return into
  }

  /** Hours between sending and engagement, added up. */
  #delays(): number {
    let sum = 0
    for (let place = 0; place < this.#engaged.length; place++) sum += (place % followedHours) * this.#engaged[place]!
    return sum
  }

  /** The tau under which the engagements are the most likely, each hour of the week having its own rate. */
  tau(): number {
    if (this.engagements < 50) return defaultTau
    const delays = this.#delays()
    let best: number = defaultTau
    let bestScore = -Infinity
    for (const tau of taus) {
      const { engaged, exposed } = this.histogram(tau)
      let score = -delays / tau
      for (let k = 0; k < foldedHours; k++) {
        if (engaged[k]! > 0) score += engaged[k]! * Math.log(engaged[k]! / exposed[k]!)
      }
      if (score > bestScore) {
        bestScore = score
        best = tau
      }
    }
    return best
  }
}

/** A circular Gaussian over neighbouring hours, sd 1.2 h. */
const reach = 4
const kernel = (() => {
  const weights = Array.from({ length: 2 * reach + 1 }, (_, i) => Math.exp(-0.5 * ((i - reach) / 1.2) ** 2))
  const sum = weights.reduce((a, b) => a + b, 0)
  return weights.map((weight) => weight / sum)
})()
/** What the own kind of day counts, next to the other kind. */
const ownKind = 0.8

/** The neighbours of each folded hour, in the order of the kernel. */
const neighbours = Uint8Array.from(
  { length: foldedHours * (2 * reach + 1) },
  (_, place) => {
    const k = Math.floor(place / (2 * reach + 1))
    return k - k % 24 + (k % 24 + place % (2 * reach + 1) - reach + 24) % 24
  },
)

const smoothed = (values: Float64Array): Float64Array => {
  const near = new Float64Array(foldedHours)
  for (let k = 0, place = 0; k < foldedHours; k++) {
    let sum = 0
    for (let i = 0; i <= 2 * reach; i++) sum += kernel[i]! * values[neighbours[place++]!]!
    near[k] = sum
  }
  const mixed = new Float64Array(foldedHours)
  for (let k = 0; k < 24; k++) {
    mixed[k] = ownKind * near[k]! + (1 - ownKind) * near[k + 24]!
    mixed[k + 24] = ownKind * near[k + 24]! + (1 - ownKind) * near[k]!
  }
  return mixed
}

/** The histogram with what neighbouring hours and the other kind of day say. */
export const smooth = ({ engaged, exposed }: Histogram): Histogram => ({
  engaged: smoothed(engaged),
  exposed: smoothed(exposed),
})

/** Attention of everybody, given their smoothed histogram. */
export const everybody = ({ engaged, exposed }: Histogram): Float64Array =>
  Float64Array.from(engaged, (count, k) => (count + 0.1) / (exposed[k]! + 1))

/** What a wider group counts against a narrower one, in engagements per hour of the week. */
export const groupPrior = 15

/** Attention of a group within a wider one, given its smoothed histogram. */
export const narrowed = ({ engaged, exposed }: Histogram, wider: Float64Array): Float64Array =>
  Float64Array.from(wider, (rate, k) => (engaged[k]! + groupPrior) / (exposed[k]! + groupPrior / rate))

/** What a person's group counts against the person, in engagements: on the level, and on the shape of the week. */
const levelPrior = 2
export const shapePrior = 6

/** How much a person's engagements differ in number from those of the group. */
export const levelOf = ({ engaged, exposed }: Histogram, group: Float64Array): number => {
  let expected = levelPrior
  for (let k = 0; k < foldedHours; k++) expected += exposed[k]! * group[k]!
  return (total(engaged) + levelPrior) / expected
}

/** Attention of a person within a group, given the histogram (not smoothed). */
export const personal = (histogram: Histogram, group: Float64Array): Float64Array => {
  const level = levelOf(histogram, group)
  const { engaged, exposed } = smooth(histogram)
  const sum = total(group)
  const attention = new Float64Array(foldedHours)
  for (let k = 0; k < foldedHours; k++) {
    const rate = group[k]!
    const prior = shapePrior * rate / sum
    attention[k] = (engaged[k]! + prior) / (exposed[k]! + prior / (rate * level))
  }
  return attention
}

/** What an hour of waiting costs, as a share of the value. */
const waiting = 0.0001

/**
 * The engagements expected of a message sent in hour 0, 1, … `slots - 1`, given the attention to it in each folded hour;
 * `localHours` are the local hours from hour 0 on, `slots + 72` of them.
 */
export const expected = (attention: Float64Array, localHours: ArrayLike<number>, slots: number, tau: number) => {
  const lasting = Math.exp(-1 / tau)
  const forgotten = Math.exp(-followedHours / tau)
  const count = slots + followedHours
  // What a message that stays fresh for ever brings from each hour on; the tail beyond 72 hours is taken off again.
  const whole = new Float64Array(count + 1)
  for (let i = count - 1; i >= 0; i--) whole[i] = attention[foldedHour(localHours[i]!)]! + lasting * whole[i + 1]!
  const found = new Float64Array(slots)
  for (let i = 0; i < slots; i++) {
    found[i] = whole[i]! - forgotten * whole[i + followedHours]!
  }
  return found
}

/** What sending in hour 0, 1, … is worth: the same, less what waiting until then costs. */
export const values = (attention: Float64Array, localHours: ArrayLike<number>, slots: number, tau: number) => {
  const found = expected(attention, localHours, slots, tau)
  for (let i = 0; i < slots; i++) found[i]! *= 1 - waiting * i
  return found
}
