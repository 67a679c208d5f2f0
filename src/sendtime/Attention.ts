import { hourMillis } from "../bandit/Window.ts"
import type { Clocks } from "./Clocks.ts"
import { delayOf, epochMillis, followedHours, noEngagement, quarterMillis, quarterOf } from "./Touch.ts"

// The attention of people to messages by hour of the week: pure arithmetic on touches. Source: docs/model.md, "Send
// times".

/** Hours of the week in local time, folded: hour of the day, plus 24 on Saturday and Sunday. */
export const foldedHours = 48

/** Candidates for tau, the time constant with which the freshness of a message decays. Unit: hours. */
export const taus = [2, 4, 8, 16, 32] as const

/** Default of tau without data. Unit: hours. */
export const defaultTau = 8

/** Half-life of a touch. Unit: days. */
const halfLifeDays = 60

/** Age at which touches are ignored. Unit: days. */
export const lookbackDays = 180

const weekHours = 168

/** Folded hour by local hour modulo 168. The epoch began on a Thursday. */
const fold = Uint8Array.from({ length: weekHours }, (_, hour) => {
  const day = Math.floor(hour / 24)
  return hour % 24 + (day === 2 || day === 3 ? 24 : 0)
})

/** The folded hour of a local hour, counted from 1970-01-01T00:00 on local clocks. */
export const foldedHour = (localHour: number): number => fold[((localHour % weekHours) + weekHours) % weekHours]!

/** Whether a folded hour is at night: from 22:00 to 7:00. */
export const isNight = (k: number): boolean => k % 24 >= 22 || k % 24 < 7

/** Attention of people of whom nothing is known, as a ratio to its mean. */
export const beforeData = Float64Array.from({ length: foldedHours }, (_, k) => isNight(k) ? 0.3 : 1.42)

/** Freshness after 0, 1, … 71 hours. */
export const freshness = (tau: number): Float64Array =>
  Float64Array.from({ length: followedHours }, (_, hours) => Math.exp(-hours / tau))

/** Engagements and the exposure that led to them, by folded hour. */
export interface Histogram {
  readonly engaged: Float64Array
  readonly exposed: Float64Array
}

/** Returns a histogram without engagements and exposure. */
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

/** Weight of a touch by its age in days. */
const decay = Float64Array.from({ length: lookbackDays + 1 }, (_, days) => 0.5 ** (days / halfLifeDays))

/**
 * Returns the exposure of a touch at `now`: its weight, its first local hour, its length in hours, and whether it ended
 * with an engagement. Undefined if the touch is too old or not sent yet.
 */
const seen = (code: number, clocks: Clocks, nowMillis: number) => {
  const sentMillis = epochMillis + quarterOf(code) * quarterMillis
  const days = Math.floor((nowMillis - sentMillis) / (24 * hourMillis))
  if (days < 0 || days > lookbackDays) return undefined
  const delay = delayOf(code)
  const isEngaged = delay !== noEngagement
  const offset = clocks.offsetAt(sentMillis)
  const start = Math.floor((sentMillis + offset) / hourMillis)
  // Computed from the hours that clocks show: an engagement 15 minutes after sending may fall into the next hour.
  const end = Math.floor(((isEngaged ? sentMillis + delay * quarterMillis : nowMillis) + offset) / hourMillis)
  return { weight: decay[days]!, start, lain: Math.min(end - start + 1, followedHours), isEngaged }
}

/**
 * Sums touches under one tau. The cost of a touch does not depend on the length of its exposure: the weight is added
 * where the exposure begins, the decayed remainder is subtracted where it ends, and the running sum decays by a
 * constant factor every hour.
 */
export class Exposures {
  readonly #engaged = new Float64Array(weekHours)
  readonly #begun = new Float64Array(weekHours)
  #fresh: Float64Array

  /** `fresh`: the freshness by hour under the tau. */
  constructor(fresh: Float64Array) {
    this.#fresh = fresh
  }

  /** Clears all touches and sets another freshness. */
  reset(fresh: Float64Array): void {
    this.#engaged.fill(0)
    this.#begun.fill(0)
    this.#fresh = fresh
  }

  add(code: number, clocks: Clocks, nowMillis: number): void {
    const touch = seen(code, clocks, nowMillis)
    if (touch === undefined) return
    const { isEngaged, lain, start, weight } = touch
    const first = ((start % weekHours) + weekHours) % weekHours
    const fresh = this.#fresh
    this.#begun[first]! += weight
    const end = (first + lain) % weekHours
    this.#begun[end]! -= weight * fresh[lain - 1]! * fresh[1]!
    if (isEngaged) this.#engaged[(first + lain - 1) % weekHours]! += weight
  }

  /** Adds the counts to a histogram. */
  addTo({ engaged, exposed }: Histogram): void {
    const fading = this.#fresh[1]!
    const begun = this.#begun
    // The sum that the end of the week carries over to its beginning, including all previous weeks.
    let lying = 0
    for (let hour = 0; hour < weekHours; hour++) lying = begun[hour]! + fading * lying
    lying /= 1 - fading ** weekHours
    for (let hour = 0; hour < weekHours; hour++) {
      lying = begun[hour]! + fading * lying
      const k = fold[hour]!
      // Rounding errors leave small remainders.
      if (lying > 0) exposed[k]! += lying
      engaged[k]! += this.#engaged[hour]!
    }
  }
}

// Scratch arrays of the synchronous functions below, because allocation costs more than filling them.
const counting = new Exposures(freshness(defaultTau))

/** Adds a person's touches to a histogram. */
export const addTouches = (
  into: Histogram,
  codes: Float64Array,
  clocks: Clocks,
  fresh: Float64Array,
  nowMillis: number,
): void => {
  counting.reset(fresh)
  for (let i = 0; i < codes.length; i++) counting.add(codes[i]!, clocks, nowMillis)
  counting.addTo(into)
}

/**
 * Touches of many people in a form from which the histogram under every tau can be computed: by local hour of the week
 * of sending, and by length of the exposure, with and without an engagement at its end.
 */
export class Cells {
  readonly #engaged = new Float64Array(weekHours * followedHours)
  readonly #ignored = new Float64Array(weekHours * followedHours)
  /** Number of touches, undecayed. */
  count = 0
  /** Number of touches with an engagement, undecayed. */
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

  /** Sum of the hours between sending and engagement. */
  #delays(): number {
    let sum = 0
    for (let place = 0; place < this.#engaged.length; place++) sum += (place % followedHours) * this.#engaged[place]!
    return sum
  }

  /**
   * Returns the tau with the highest likelihood of the engagements, if each hour of the week has its own rate. Below 50
   * engagements, returns `defaultTau`.
   */
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

/** Maximum distance of the smoothing kernel, a circular Gaussian over neighbouring hours (sd 1.2 h). Unit: hours. */
const reach = 4
const kernel = (() => {
  const weights = Array.from({ length: reach + 1 }, (_, away) => Math.exp(-0.5 * (away / 1.2) ** 2))
  const sum = 2 * weights.reduce((a, b) => a + b, 0) - weights[0]!
  return weights.map((weight) => weight / sum)
})() as [number, number, number, number, number]

const dayHours = 24
// A day with the hours before and after it.
const around = new Float64Array(dayHours + 2 * reach)

/** Smooths `values` over neighbouring hours of one kind of day, and writes the result to `mixed`, a different array. */
const smoothInto = (mixed: Float64Array, values: Float64Array): void => {
  const [here, one, two, three, four] = kernel
  for (let day = 0; day < foldedHours; day += dayHours) {
    for (let k = 0; k < dayHours; k++) around[reach + k] = values[day + k]!
    for (let k = 0; k < reach; k++) {
      around[k] = values[day + dayHours - reach + k]!
      around[reach + dayHours + k] = values[day + k]!
    }
    for (let k = 0; k < dayHours; k++) {
      mixed[day + k] = here * around[k + 4]! + one * (around[k + 3]! + around[k + 5]!) +
        two * (around[k + 2]! + around[k + 6]!) + three * (around[k + 1]! + around[k + 7]!) +
        four * (around[k]! + around[k + 8]!)
    }
  }
}

/** Weight of the own kind of day, and the maximum weight of the other kind, reached if both are certainly alike. */
const ownKind = 0.8
const otherKind = 0.48

/** How the people of an organization differ from each other, and their weekends from their weekdays. */
export interface Individuality {
  /** Weight of the group in a person's shape of the week. Unit: engagements. */
  readonly shapePrior: number
  /** Prior log odds that the weekends of a person are like the weekdays. */
  readonly alikePrior: number
}

/** The individuality of people without data about it. */
export const usualIndividuality: Individuality = { shapePrior: 6, alikePrior: 1 }

/**
 * Log odds that weekends are like weekdays: the log likelihood of the weekends' engagements under the curve of the
 * weekdays, minus their log likelihood under the curve of the wider group, plus `alikePrior`. `prior` is the weight of the
 * group in the weekdays, in engagements.
 */
const alikeOdds = (
  { engaged, exposed }: Histogram,
  smoothed: Histogram,
  wider: Float64Array,
  level: number,
  prior: number,
  alikePrior: number,
): number => {
  const sum = total(wider)
  const priorExposed = prior / (sum * level)
  let odds = alikePrior
  for (let k = 0; k < dayHours; k++) {
    const lying = exposed[k + dayHours]!
    const count = engaged[k + dayHours]!
    if (lying === 0 && count === 0) continue
    const byWeek = (smoothed.engaged[k]! + prior * wider[k]! / sum) / (smoothed.exposed[k]! + priorExposed)
    const byGroup = wider[k + dayHours]! * level
    odds -= lying * (byWeek - byGroup)
    if (count > 0) odds += count * Math.log(byWeek / byGroup)
  }
  return odds
}

/**
 * Adds to each kind of day the data of the other kind, weighted by `other`, from the log odds that both kinds are
 * alike.
 */
const mixKinds = (values: Float64Array, other: number): void => {
  for (let k = 0; k < dayHours; k++) {
    const workday = values[k]!
    const weekend = values[k + dayHours]!
    values[k] = ownKind * workday + other * weekend
    values[k + dayHours] = ownKind * weekend + other * workday
  }
}

/** Moves a smoothed array by `share` back towards its source array. */
const sharpen = (smoothed: Float64Array, values: Float64Array, share: number): void => {
  for (let k = 0; k < foldedHours; k++) smoothed[k]! += share * (values[k]! - smoothed[k]!)
}

/**
 * Smooths `histogram` into `into` over neighbouring hours, reduced by the share `sharp`, and over both kinds of day by
 * evidence.
 */
const smoothWithin = (
  histogram: Histogram,
  into: Histogram,
  { alikePrior, level, prior, sharp, wider }: {
    readonly wider: Float64Array
    readonly level: number
    readonly prior: number
    readonly alikePrior: number
    readonly sharp: number
  },
): void => {
  smoothInto(into.engaged, histogram.engaged)
  smoothInto(into.exposed, histogram.exposed)
  if (sharp > 0) {
    sharpen(into.engaged, histogram.engaged, sharp)
    sharpen(into.exposed, histogram.exposed, sharp)
  }
  const other = otherKind / (1 + Math.exp(-alikeOdds(histogram, into, wider, level, prior, alikePrior)))
  mixKinds(into.engaged, other)
  mixKinds(into.exposed, other)
}

/** Weight of a wider group in the estimate of a narrower group, in engagements per hour of the week. */
export const groupPrior = 15

/** Weight of a wider group in the weekdays of a narrower group, if these weekdays are used to estimate its weekends. */
const groupWeekPrior = 60

/** Engagements per hour of exposure, over all hours. */
const meanRate = ({ engaged, exposed }: Histogram): number => (total(engaged) + 0.1) / (total(exposed) + 1)

/**
 * Smooths the histogram of a group over neighbouring hours and kinds of day. `wider` is undefined for the whole
 * organization.
 */
export const smooth = (histogram: Histogram, wider?: Float64Array): Histogram => {
  const smoothed = emptyHistogram()
  const curve = wider ?? new Float64Array(foldedHours).fill(meanRate(histogram))
  smoothWithin(histogram, smoothed, {
    wider: curve,
    level: levelOf(histogram, curve),
    prior: groupWeekPrior,
    alikePrior: usualIndividuality.alikePrior,
    sharp: 0,
  })
  return smoothed
}

/**
 * Attention of the whole organization, given its smoothed histogram. Hours without exposure have the mean rate of the
 * day or of the night: with a higher rate, the first recommendations would all go to them.
 */
export const everybody = (smoothed: Histogram): Float64Array => {
  const rate = meanRate(smoothed)
  return beforeData.map((usual, k) => (smoothed.engaged[k]! + rate * usual) / (smoothed.exposed[k]! + 1))
}

/** Attention of a group within a wider one, given its smoothed histogram. */
export const narrowed = ({ engaged, exposed }: Histogram, wider: Float64Array): Float64Array =>
  Float64Array.from(wider, (rate, k) => (engaged[k]! + groupPrior) / (exposed[k]! + groupPrior / rate))

/** Weight of a person's group in the person's level. Unit: engagements. */
const levelPrior = 2

/** Ratio of a person's engagements to the engagements expected from the group, shrunk towards 1. */
const levelOf = ({ engaged, exposed }: Histogram, group: Float64Array): number => {
  let expected = levelPrior
  for (let k = 0; k < foldedHours; k++) expected += exposed[k]! * group[k]!
  return (total(engaged) + levelPrior) / expected
}

/** Engagements of a person at which each hour weighs as much as its neighbours together. */
const sharpAfter = 200

const own = emptyHistogram()

/** Attention of a person within a group, given the unsmoothed histogram. */
export const personal = (
  histogram: Histogram,
  group: Float64Array,
  { alikePrior, shapePrior }: Individuality = usualIndividuality,
): Float64Array => {
  const level = levelOf(histogram, group)
  const engagements = total(histogram.engaged)
  const sharp = engagements / (engagements + sharpAfter)
  smoothWithin(histogram, own, { wider: group, level, prior: shapePrior, alikePrior, sharp })
  const sum = total(group)
  const attention = new Float64Array(foldedHours)
  for (let k = 0; k < foldedHours; k++) {
    const rate = group[k]!
    const prior = shapePrior * rate / sum
    attention[k] = (own.engaged[k]! + prior) / (own.exposed[k]! + shapePrior / (sum * level))
  }
  return attention
}

/** Cost of a delay of one hour, as a share of the value. */
const waiting = 0.0001

let whole = new Float64Array(0)

/**
 * Expected engagements of a message sent in hour 0, 1, … `slots - 1`, given the attention in each folded hour. `hours`
 * are the `slots + 72` folded hours from hour 0 on.
 */
export const expected = (attention: Float64Array, hours: Uint8Array, slots: number, tau: number): Float64Array => {
  const lasting = Math.exp(-1 / tau)
  const forgotten = Math.exp(-followedHours / tau)
  const count = slots + followedHours
  // Sums the value of a message that stays fresh for ever, and subtracts the tail beyond 72 hours.
  if (whole.length < count) whole = new Float64Array(count)
  let sum = 0
  for (let i = count - 1; i >= 0; i--) whole[i] = sum = attention[hours[i]!]! + lasting * sum
  const found = new Float64Array(slots)
  for (let i = 0; i < slots; i++) found[i] = whole[i]! - forgotten * whole[i + followedHours]!
  return found
}

/** Value of sending in hour 0, 1, … after the cost of the delay. */
export const values = (attention: Float64Array, hours: Uint8Array, slots: number, tau: number): Float64Array => {
  const found = expected(attention, hours, slots, tau)
  for (let i = 0; i < slots; i++) found[i]! *= 1 - waiting * i
  return found
}
