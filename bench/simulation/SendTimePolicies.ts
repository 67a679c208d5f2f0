import { dayMillis, hourMillis } from "../../src/bandit/Window.ts"
import { Effect } from "effect"
import { addTouches, emptyHistogram, personal } from "../../src/sendtime/Attention.ts"
import { timingOf } from "../../src/sendtime/Groups.ts"
import { choose, sendWindow } from "../../src/sendtime/Choice.ts"
import { encode, epochMillis, noEngagement, quarterMillis } from "../../src/sendtime/Touch.ts"
import { type Chance, chance, seedOf } from "../../src/simulation/Chance.ts"
import { engagedAt, engagement, organizationZone, type Person, type SendTimeWorld, type Want } from "./SendTimeWorld.ts"
import * as Clocks from "../../src/sendtime/Clocks.ts"

export const horizonHours = 24

/** One message sent by a policy. Times are in Unix milliseconds. */
interface Sent {
  readonly at: number
  readonly engagedAt: number | undefined
}

/** The data of a policy: the messages that it has sent so far, and the engagements so far. */
export interface History {
  readonly of: (person: Person) => ReadonlyArray<Sent>
  readonly people: ReadonlyArray<Person>
}

export interface SendTimePolicy {
  readonly name: string
  /** Creates the policy for one world. The policy returns the send time of a message, within 24 hours. */
  readonly make: (history: History, random: Chance) => (want: Want) => number
}

const knownEngagements = (sent: ReadonlyArray<Sent>, now: number): ReadonlyArray<number> =>
  sent.flatMap(({ engagedAt }) => engagedAt !== undefined && engagedAt <= now ? [engagedAt] : [])

/** Returns the next time from `now` on at which the person's local time has this hour. */
const nextHour = (clocks: Clocks.Clocks, now: number, hour: number): number => {
  for (let i = 0; i < horizonHours; i++) {
    const at = now + i * hourMillis
    if (((clocks.localHour(at) % 24) + 24) % 24 === hour) return at
  }
  return now
}

const atOnce: SendTimePolicy = { name: "at once", make: () => ({ at }) => at }

const anyHour: SendTimePolicy = {
  name: "random hour",
  make: (_, { uniform }) => ({ at }) => at + uniform() * (horizonHours * hourMillis - 1),
}

const mode = (counts: ArrayLike<number>): number => {
  let best = 0
  for (let i = 1; i < counts.length; i++) if (counts[i]! > counts[best]!) best = i
  return best
}

/** Returns a function whose value is learned again from all people each day. */
const daily = <A>(learn: (now: number) => A): (now: number) => A => {
  let day = NaN
  let learned: A
  return (now) => {
    if (Math.floor(now / dayMillis) !== day) {
      day = Math.floor(now / dayMillis)
      learned = learn(now)
    }
    return learned
  }
}

/** Returns the hour of the day with the most engagements of all people, in each person's local time. */
const popularHour = ({ of, people }: History) =>
  daily((now) => {
    const counts = new Float64Array(24)
    for (const person of people) {
      for (const at of knownEngagements(of(person), now)) {
        const hour = ((person.clocks.localHour(at) % 24) + 24) % 24
        counts[hour]! += 1
      }
    }
    return counts.some((count) => count > 0) ? mode(counts) : undefined
  })

const organizationHour: SendTimePolicy = {
  name: "organization's best hour",
  make: (history) => {
    const popular = popularHour(history)
    return ({ at, person }) => {
      const hour = popular(at)
      return hour === undefined ? at : nextHour(person.clocks, at, hour)
    }
  },
}

/**
 * The method that Braze describes: the hour with the most engagements of the person, or of all people if the person has
 * few.
 */
const engagedHour: SendTimePolicy = {
  name: "most engaged hour",
  make: (history) => {
    const popular = popularHour(history)
    return ({ at, person }) => {
      const own = knownEngagements(history.of(person), at)
      const counts = new Float64Array(24)
      for (const time of own) {
        const local = person.clocks.localHour(time)
        for (const near of [-1, 0, 1]) counts[(((local + near) % 24) + 24) % 24]! += near === 0 ? 1 : 0.5
      }
      const hour = own.length >= 3 ? mode(counts) : popular(at)
      return hour === undefined ? at : nextHour(person.clocks, at, hour)
    }
  },
}

/**
 * The method that Aampe describes: 35 slots a week, with a Beta distribution for each person and slot, selected by
 * Thompson sampling.
 */
const ownSlots: SendTimePolicy = {
  name: "per-user slots",
  make: ({ of }, { gamma, uniform }) => {
    const slotOf = (local: number) => {
      const hour = ((local % 24) + 24) % 24
      const part = hour < 6 ? 0 : hour < 10 ? 1 : hour < 14 ? 2 : hour < 18 ? 3 : 4
      return (((Math.floor(local / 24) % 7) + 7) % 7) * 5 + part
    }
    return ({ at, person }) => {
      const won = new Float64Array(35)
      const lost = new Float64Array(35)
      for (const sent of of(person)) {
        const slot = slotOf(person.clocks.localHour(sent.at))
        if (sent.engagedAt !== undefined && sent.engagedAt <= at) won[slot]! += 1
        else if (at - sent.at >= dayMillis) lost[slot]! += 1
      }
      const draws = new Map<number, number>()
      let best = { at, draw: -1 }
      for (let i = 0; i < horizonHours; i++) {
        const time = at + i * hourMillis
        const slot = slotOf(person.clocks.localHour(time))
        if (draws.has(slot)) continue
        const a = gamma(1 + won[slot]!)
        const draw = a / (a + gamma(3 + lost[slot]!))
        draws.set(slot, draw)
        if (draw > best.draw) best = { at: time + uniform() * hourMillis * 0.99, draw }
      }
      return Math.min(best.at, at + horizonHours * hourMillis - 1)
    }
  },
}

/** Returns a person's touches in the form of the database at `now`. */
const codesOf = (sent: ReadonlyArray<Sent>, now: number): Float64Array =>
  Float64Array.from(sent, (one, i) => {
    const quarter = Math.floor((one.at - epochMillis) / quarterMillis)
    const delay = one.engagedAt !== undefined && one.engagedAt <= now
      ? Math.floor((one.engagedAt - epochMillis) / quarterMillis) - quarter
      : noEngagement
    return encode({ quarter, delay, variant: 0 }, String(i))
  })

/** The product's own algorithm. With `isPersonal` false, every person is treated as unknown. */
const attention = (name: string, isPersonal: boolean, zoned = true): SendTimePolicy => ({
  name,
  make: ({ of, people }, { uniform }) => {
    const clocksOf = ({ clocks }: Person) => zoned ? clocks : Clocks.of(organizationZone)
    const learned = daily((now) =>
      Effect.runSync(
        timingOf(
          people.map((person) => ({ zone: clocksOf(person).zone, codes: codesOf(of(person), now) })),
          organizationZone,
          now,
          Effect.void,
        ),
      )
    )
    return ({ at, person }) => {
      const all = learned(at)
      const clocks = clocksOf(person)
      const { attention: everybody } = all.levels([{ template: "t", variants: [], copy: "a" }]).organization
      let own = all.inZone(everybody, clocks)
      if (isPersonal) {
        const histogram = emptyHistogram()
        addTouches(histogram, codesOf(of(person), at), clocks, all.fresh, at)
        own = personal(histogram, own, all.individuality)
      }
      return choose({
        attention: all.touches > 0 ? own : undefined,
        tau: all.tau,
        window: sendWindow(at, at + horizonHours * hourMillis, clocks, { quiet: undefined, days: undefined }),
        draws: [uniform(), uniform(), uniform()],
      }).at
    }
  },
})

export const ours: SendTimePolicy = attention("Parlance", true)
export const organizationCurve: SendTimePolicy = attention("organization's curve", false)

export const sendTimePolicies: ReadonlyArray<SendTimePolicy> = [
  atOnce,
  anyHour,
  organizationHour,
  organizationCurve,
  engagedHour,
  ownSlots,
  ours,
  attention("Parlance without zones", true, false),
]

/** Groups of messages, by the data that the policy had about their recipients. */
export const groups = ["all", "newcomers", "no engagement yet", "1 to 19", "20 or more", "second half"] as const
export type Group = (typeof groups)[number]

/** Expected engagements of a group of messages: under a policy, if sent at once, and at the best hour. */
export interface Captured {
  count: number
  chosen: number
  atOnce: number
  best: number
}

/** Returns the bounds for each message of a world: sending at once, and sending at the best hour. */
export const bounds = (world: SendTimeWorld) =>
  world.wants.map(({ at, person }) => {
    const now = engagement(person, at)
    let best = now
    for (let i = 1; i < horizonHours; i++) best = Math.max(best, engagement(person, at + i * hourMillis))
    return { now, best }
  })

/** Sends all messages of a world with a policy that learns from its own messages. */
export const runSendTimes = (
  world: SendTimeWorld,
  limits: ReturnType<typeof bounds>,
  policy: SendTimePolicy,
  seed: number,
): ReadonlyMap<Group, Captured> => {
  const sent = new Map<Person, Array<Sent>>(world.people.map((person) => [person, []]))
  const choosing = policy.make(
    { of: (person) => sent.get(person)!, people: world.people },
    chance(seedOf(seed, policy.name)),
  )
  const { uniform } = chance(seedOf(seed, `engagement ${policy.name}`))
  const captured = new Map<Group, Captured>(
    groups.map((group) => [group, { count: 0, chosen: 0, atOnce: 0, best: 0 }]),
  )
  const half = (world.from + world.until) / 2
  world.wants.forEach((want, i) => {
    const { at, person, place } = want
    const own = sent.get(person)!
    // Uses only data that is known at this time, because a message may not have been sent yet.
    const engagements = knownEngagements(own, at).length
    const chosenAt = choosing(want)
    const chosen = engagement(person, chosenAt)
    const add = (group: Group) => {
      const sum = captured.get(group)!
      sum.count++
      sum.chosen += chosen
      sum.atOnce += limits[i]!.now
      sum.best += limits[i]!.best
    }
    add("all")
    if (at >= half) add("second half")
    if (place === 0 && person.isNewcomer) add("newcomers")
    add(engagements === 0 ? "no engagement yet" : engagements < 20 ? "1 to 19" : "20 or more")
    own.push({ at: chosenAt, engagedAt: engagedAt(person, chosenAt, uniform) })
  })
  return captured
}

/** Returns the share of the way from sending at once to the best hour. */
export const shareOf = ({ atOnce, best, chosen }: Captured): number => (chosen - atOnce) / (best - atOnce)
