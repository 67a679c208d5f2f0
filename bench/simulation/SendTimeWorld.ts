import { dayMillis, hourMillis } from "../../src/bandit/Window.ts"
import { foldedHour, foldedHours } from "../../src/sendtime/Attention.ts"
import * as Clocks from "../../src/sendtime/Clocks.ts"
import { followedHours } from "../../src/sendtime/Touch.ts"
import { type Chance, chance, seedOf } from "../../src/simulation/Chance.ts"

// Simulates people who read their messages at individual hours, and the messages of an organization to them.

/** Time constant with which a message loses its freshness in this world. Policies do not know it. Unit: hours. */
const trueTau = 6

/** The organization's time zone, in which most of its people live. */
export const organizationZone = "Europe/Berlin"
const otherZones = ["America/New_York", "Asia/Kolkata", "Australia/Sydney", "America/Los_Angeles"]

export interface Person {
  readonly id: number
  /** The clocks of the person's zone. */
  readonly clocks: Clocks.Clocks
  /** The clocks by which the person reads. */
  readonly readingClocks: Clocks.Clocks
  /** Engagements per hour with a fresh message, by folded local hour, before a change of habits. */
  readonly habits: Float64Array
  /** The habits after the change. Undefined for most people. */
  readonly laterHabits: Float64Array | undefined
  /** Time of the change of habits. Infinity for most people. Unit: Unix milliseconds. */
  readonly changesAt: number
  /** Whether this person got no messages in the first 100 days. */
  readonly isNewcomer: boolean
}

/** A message to send at `at` or within the following hours. */
export interface Want {
  readonly person: Person
  /** Unix milliseconds. */
  readonly at: number
  /** Index among the person's messages, from 0. */
  readonly place: number
}

export interface SendTimeWorld {
  readonly people: ReadonlyArray<Person>
  /** Messages in order of time. */
  readonly wants: ReadonlyArray<Want>
  readonly from: number
  readonly until: number
}

/** Returns the weight of the hour `at` in a habit around `hour` with this spread. */
const bump = (at: number, hour: number, spread: number) => {
  const off = Math.abs(((at - hour) % 24 + 36) % 24 - 12)
  return Math.exp(-0.5 * (off / spread) ** 2) / spread
}

/**
 * Returns the week of one person: two or three preferred times of the day, other times on the weekend, and a low level
 * at any waking hour.
 */
const habitsOf = ({ gamma, normal, uniform }: Chance, level: number): Float64Array => {
  const isNightly = uniform() < 0.08
  const shift = isNightly ? 11 : 0
  const peaks = [8, 12.7, 20.3].map((hour) => ({
    hour: hour + shift + 1.4 * normal(),
    weight: gamma(0.5),
    spread: 0.6 + gamma(2) * 0.35,
  }))
  const later = 1.2 + 0.8 * normal()
  const freeDays = 0.5 + gamma(2) * 0.35
  const habits = new Float64Array(foldedHours)
  for (let k = 0; k < foldedHours; k++) {
    const free = k >= 24
    const hour = k % 24
    const awake = bump(hour + 0.5, 14.5 + shift, 5) * 5
    let rate = 0.06 * awake
    for (const peak of peaks) rate += peak.weight * bump(hour + 0.5, peak.hour + (free ? later : 0), peak.spread)
    habits[k] = rate * (free ? freeDays : 1)
  }
  const mean = habits.reduce((sum, rate) => sum + rate, 0) / foldedHours
  return habits.map((rate) => level * rate / mean)
}

/**
 * Returns the week of a person who reads at one to three fixed hours of the day and at no other time. At weekends, these
 * hours are up to four hours later, equally for all of them.
 */
const looksOf = ({ gamma, uniform }: Chance, level: number): Float64Array => {
  const later = Math.floor(5 * uniform())
  const looks = 1 + Math.floor(3 * uniform())
  const habits = new Float64Array(foldedHours)
  for (let n = 0; n < looks; n++) {
    const hour = 6 + Math.floor(16 * uniform())
    const rate = 8 * level * (0.5 + gamma(2) / 4)
    habits[hour] = rate
    habits[24 + (hour + later) % 24] = rate
  }
  return habits
}

/**
 * How the people of a world read: at any waking hour with preferences, at a few fixed hours only, or with preferences by
 * the organization's clocks, as if their zones were wrong.
 */
export const readings = ["preferences", "looks", "office"] as const
export type Reading = typeof readings[number]

/**
 * Returns the world of a seed: 120 days across the changes to summer time. 45 % of the people live in other time zones,
 * one in six changes habits half-way, and one in seven gets messages only in the last weeks.
 */
export const sendTimeWorld = (seed: number, size = 2000, reading: Reading = "preferences"): SendTimeWorld => {
  const habitsIn = reading === "looks" ? looksOf : habitsOf
  const random = chance(seedOf(seed, "send times"))
  const { gamma, normal, uniform } = random
  const from = Date.UTC(2026, 0, 15)
  const until = from + 120 * dayMillis
  const organization = Clocks.of(organizationZone)
  const people: Array<Person> = []
  const wants: Array<Omit<Want, "place">> = []
  for (let id = 0; id < size; id++) {
    const zone = uniform() < 0.55 ? organizationZone : otherZones[Math.floor(uniform() * otherZones.length)]!
    const clocks = Clocks.of(zone)
    const level = 0.05 * Math.exp(0.8 * normal())
    const habits = habitsIn(random, level)
    const changes = uniform() < 1 / 6
    const isNewcomer = uniform() < 1 / 7
    const person: Person = {
      id,
      isNewcomer,
      clocks,
      readingClocks: reading === "office" ? organization : clocks,
      habits,
      laterHabits: changes ? habitsIn(random, level) : undefined,
      changesAt: changes ? from + (40 + 40 * uniform()) * dayMillis : Infinity,
    }
    people.push(person)
    const begins = isNewcomer ? from + 100 * dayMillis : from
    // Messages per day: most people get few, and some get many.
    const rate = 0.05 + 0.45 * gamma(0.8)
    for (let day = begins; day < until; day += dayMillis) {
      if (uniform() >= Math.min(0.95, rate)) continue
      // A third of the messages are campaigns at ten in the organization's morning. Actions of the person trigger the
      // other messages.
      const isCampaign = uniform() < 1 / 3
      const hour = isCampaign ? 10 + 0.3 * uniform() : uniform() < 0.8 ? 8 + 15 * uniform() : 24 * uniform()
      const offset = (isCampaign ? organization : clocks).offsetAt(day)
      wants.push({ person, at: day + hour * hourMillis - offset })
    }
  }
  wants.sort((a, b) => a.at - b.at)
  const places = new Map<Person, number>()
  return {
    people,
    wants: wants.map((want) => {
      const place = places.get(want.person) ?? 0
      places.set(want.person, place + 1)
      return { ...want, place }
    }),
    from,
    until,
  }
}

const fading = Float64Array.from({ length: followedHours }, (_, j) => Math.exp(-j / trueTau))

/** Returns the expected engagements per hour, `j` hours after a message was sent at `at`. */
const rateAt = (person: Person, at: number, j: number): number => {
  const time = at + j * hourMillis
  const habits = time >= person.changesAt ? person.laterHabits! : person.habits
  return habits[foldedHour(person.readingClocks.localHour(time))]! * fading[j]!
}

/** Returns the probability of an engagement with a message sent at `at`. */
export const engagement = (person: Person, at: number): number => {
  let rate = 0
  for (let j = 0; j < followedHours; j++) rate += rateAt(person, at, j)
  return 1 - Math.exp(-rate)
}

/**
 * Returns the time of the engagement with a message sent at `at`. Undefined without an engagement. `uniform` is a
 * random stream.
 */
export const engagedAt = (person: Person, at: number, uniform: () => number): number | undefined => {
  let left = -Math.log(1 - uniform())
  for (let j = 0; j < followedHours; j++) {
    left -= rateAt(person, at, j)
    if (left <= 0) return at + j * hourMillis
  }
  return undefined
}
