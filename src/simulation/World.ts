import type { Attributes } from "../domain/Attributes.ts"
import type { Composition } from "../bandit/Components.ts"
import { type EligibleSet, eligibleSet } from "../bandit/Policy.ts"
import { dayMillis, hourMillis } from "../bandit/Window.ts"
import { type Chance, chance, seedOf } from "./Chance.ts"

/** Start of every simulated world: a Monday, UTC. Unit: Unix milliseconds. */
export const worldStart = Date.UTC(2026, 0, 5)

/** Maximum delay. Later clicks never arrive. Unit: hours. */
const longestDelay = 336

/** Maximum true rate. */
const largestRate = 0.95

/** The request of a decision, without its time. */
export interface SimulatedRequest {
  /** Index of the template, from 0. */
  readonly template: number
  readonly attrs: Attributes
  /** Index of the person. Only in worlds of people. */
  readonly person?: number
}

/** Variants that may be chosen: their indexes, ascending, and their ids in that order. */
export interface Eligible {
  readonly arms: ReadonlyArray<number>
  readonly set: EligibleSet
}

/**
 * A world for the comparison of learners: decisions in chronological order, and for each the true click rate of every
 * variant. All random numbers are drawn in advance, so that different learners meet one set of users.
 */
export interface World {
  readonly name: string
  readonly days: number
  /** Number of templates, one after another or mixed. Each has all the variants. */
  readonly templates: number
  /** Ids of the variants in ascending order of their UTF-16 code units. */
  readonly arms: ReadonlyArray<string>
  /** Components of the variants. Default: no components. */
  readonly composition?: Composition | undefined
  readonly decisions: number
  /** Times of the decisions, ascending. Unit: Unix milliseconds. */
  readonly at: Float64Array
  readonly requests: ReadonlyArray<SimulatedRequest>
  /** For each decision, the index of its request. */
  readonly requestOf: Int32Array
  readonly eligible: ReadonlyArray<Eligible>
  /** For each decision, the index of its eligible set. */
  readonly eligibleOf: Int32Array
  /** Writes the click rate of every variant, eligible or not, for a decision. */
  readonly rates: (decision: number, out: Float64Array) => void
  /**
   * For each decision: uniform numbers for the choice and for the click, and the delay of a possible click in hours.
   */
  readonly choiceChance: Float64Array
  readonly clickChance: Float64Array
  readonly delayHours: Float64Array
  /** Factor of the delay by variant. Default: 1. */
  readonly slower?: ReadonlyArray<number> | undefined
  /** Value of a click to the learners. */
  readonly worth: number
  /** Value of the click on a variant for a decision. Default: `worth`. */
  readonly values?: ((decision: number, arm: number) => number) | undefined
  /** By variant: the mean of its values in rewards. Default: 1 each. */
  readonly means?: ReadonlyArray<number> | undefined
  /** Opt-outs, independent of clicks. Default: none. */
  readonly costs?: OptOuts | undefined
  /**
   * Whether the event of a click at this time (Unix milliseconds) never reaches the learner. Default: no event is lost.
   */
  readonly isLost?: ((decision: number, clickedAt: number) => boolean) | undefined
  /**
   * Whether a machine opens the message at once, with any variant. The learner treats this as the outcome. Rewards
   * count only people. Default: no message.
   */
  readonly isMachine?: ((decision: number) => boolean) | undefined
  /**
   * Change of the log rate for a person who has received `seen` messages with the variant, and `total` of the template.
   */
  readonly tire?: ((seen: number, total: number) => number) | undefined
}

/** Opt-outs of a world: by variant their rate, and for each decision a uniform number and the delay of an opt-out in hours. */
interface OptOuts {
  /** Cost of an opt-out to the learners and in rewards, in clicks. */
  readonly cost: number
  readonly rates: ReadonlyArray<number>
  readonly chance: Float64Array
  readonly delayHours: Float64Array
}

/** Value of an attribute that is not in the request. */
export const absent = ""

/** An attribute of the users: each value with its relative share (any positive number). */
export interface AttributePlan {
  readonly name: string
  readonly values: ReadonlyArray<readonly [value: string, share: number]>
}

/** Description of a world to create. */
export interface WorldPlan {
  readonly name: string
  readonly seed: number
  readonly days: number
  readonly sends: number
  readonly arms: ReadonlyArray<string>
  readonly attributes: ReadonlyArray<AttributePlan>
  /**
   * Number of people, each with drawn values of the attributes. Every decision is about one of them. Default: one
   * person for each combination of values, which is too many for many attributes.
   */
  readonly people?: number
  /**
   * Relative frequency of decisions about a person, as a number drawn from `chance`, and the effect on the log rate, of
   * all variants and of each. Default: 1, 0 and 0.
   */
  readonly person?: (
    chance: Chance,
  ) => { readonly share: number; readonly log: number; readonly tastes?: ReadonlyArray<number> }
  /** See `World.tire`. */
  readonly tire?: (seen: number, total: number) => number
  /** Components of the variants. Default: no components. */
  readonly composition?: Composition
  /** Number of templates that follow each other in equal parts of the days. Default: 1. */
  readonly templates?: number
  /** Days `[from, to)` of each variant. Default: all days. */
  readonly lifetimes?: (arm: number) => readonly [from: number, to: number]
  /**
   * Times of sending. Every batch lasts `minutes` from 09:00 UTC on, and batches are evenly spaced in days. Default:
   * evenly spread.
   */
  readonly batches?: { readonly count: number; readonly minutes: number }
  /**
   * Share of clicks whose event is lost, and the days `[from, to)` on which all events are lost. Default: no losses.
   */
  readonly losses?: { readonly share: number; readonly outage: readonly [from: number, to: number] }
  /** Share of messages that machines open, see `World.isMachine`. Default: 0. */
  readonly machines?: number
  /**
   * Opt-outs with their cost, the rate of an average variant, the standard deviation of the log rates, and the
   * log-normal delay. Default: none.
   */
  readonly costs?: {
    readonly cost: number
    readonly rate: number
    readonly sd: number
    readonly delay: { readonly medianHours: number; readonly sigma: number }
  }
  /** Log-normal delay of clicks. Default: no delay. */
  readonly delay?: { readonly medianHours: number; readonly sigma: number } | undefined
  /** Factor by which a variant's clicks are slower. Default: 1. */
  readonly slower?: (chance: Chance) => ReadonlyArray<number>
  /** Value of a click to the learners. Default: 1. The rewards of a run are clicks with any value. */
  readonly worth?: number
  /**
   * The log click rate, as the sum of a part by variant and combination of attribute values and a part by variant and
   * day. Both are called once for each, in ascending order. Afterwards they draw nothing from `chance`.
   */
  readonly logRates: (chance: Chance) => {
    /** `values`: index of the value of each attribute. */
    readonly byValues: (values: ReadonlyArray<number>, arm: number) => number
    readonly byDay: (day: number, arm: number) => number
    /** A part by variant and hour of the day (UTC), called for each decision. It must not draw. Default: 0. */
    readonly byHour?: (hour: number, arm: number) => number
  }
}

/** Ids `v01`, `v02` and so on, in ascending order of their code units. */
export const armIds = (count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, i) => `v${String(i + 1).padStart(String(count).length, "0")}`)

/** Index of the first of the ascending numbers above `value`. */
const firstAbove = (numbers: ReadonlyArray<number>, value: number): number => {
  let from = 0
  let to = numbers.length - 1
  while (from < to) {
    const middle = (from + to) >> 1
    if (numbers[middle]! > value) to = middle
    else from = middle + 1
  }
  return from
}

/** The age of the world, in days, at the time of the decision at the share `u` in [0, 1) of all decisions. */
const ageAt = ({ batches, days }: WorldPlan, u: number): number => {
  if (batches === undefined) return u * days
  const batch = Math.floor(u * batches.count)
  return batch * days / batches.count + (9 * 60 + (u * batches.count - batch) * batches.minutes) / (24 * 60)
}

/**
 * Losses and machines of a world, from separate streams, so that worlds with and without them differ in nothing else.
 */
const troubles = ({ losses, machines, name, seed, sends }: WorldPlan): Pick<World, "isLost" | "isMachine"> => {
  const draws = (purpose: string) => {
    const { uniform } = chance(seedOf(seed, `${name} ${purpose}`))
    return Float64Array.from({ length: sends }, uniform)
  }
  const lossChance = losses && draws("losses")
  const machineChance = machines === undefined ? undefined : draws("machines")
  return {
    isLost: losses && ((decision, clickedAt) => {
      const day = (clickedAt - worldStart) / dayMillis
      return day >= losses.outage[0] && day < losses.outage[1] || lossChance![decision]! < losses.share
    }),
    isMachine: machineChance && ((decision) => machineChance[decision]! < machines!),
  }
}

/** Opt-outs of a world, from a separate stream. */
const optOutsOf = ({ arms, costs, name, seed, sends }: WorldPlan): OptOuts | undefined => {
  if (costs === undefined) return undefined
  const { normal, uniform } = chance(seedOf(seed, `${name} costs`))
  const { medianHours, sigma } = costs.delay
  return {
    cost: costs.cost,
    rates: arms.map(() => costs.rate * Math.exp(costs.sd * normal())),
    chance: Float64Array.from({ length: sends }, uniform),
    delayHours: Float64Array.from(
      { length: sends },
      () => Math.min(longestDelay, medianHours * Math.exp(sigma * normal())),
    ),
  }
}

/** Creates a world. Equal plans and seeds create equal worlds. */
export const makeWorld = (plan: WorldPlan): World => {
  const { arms, attributes, days, delay, sends } = plan
  const templates = plan.templates ?? 1
  const { byDay, byHour, byValues } = plan.logRates(chance(seedOf(plan.seed, `${plan.name} rates`)))
  const users = chance(seedOf(plan.seed, `${plan.name} users`))
  const count = arms.length

  const cumulated = attributes.map(({ values }) => {
    const total = values.reduce((sum, [, share]) => sum + share, 0)
    let sum = 0
    return values.map(([, share]) => (sum += share) / total)
  })
  const drawValue = (shares: ReadonlyArray<number>): number => {
    const u = users.uniform()
    const value = shares.findIndex((bound) => u < bound)
    return value < 0 ? shares.length - 1 : value
  }
  const combinations = plan.people === undefined
    ? attributes.reduce<ReadonlyArray<ReadonlyArray<number>>>(
      (known, { values }) => known.flatMap((before) => values.map((_, value) => [...before, value])),
      [[]],
    )
    : Array.from({ length: plan.people }, () => cumulated.map(drawValue))
  const persons = chance(seedOf(plan.seed, `${plan.name} people`))
  const people = combinations.map(() => plan.person?.(persons) ?? { share: 1, log: 0, tastes: undefined })
  let shares = 0
  const upTo = people.map(({ share }) => shares += share)
  const valuesLog = Float64Array.from(
    { length: combinations.length * count },
    (_, i) => {
      const { log, tastes } = people[Math.floor(i / count)]!
      return byValues(combinations[Math.floor(i / count)]!, i % count) + log + (tastes?.[i % count] ?? 0)
    },
  )
  const wholeDays = Math.ceil(days)
  const dayLog = Float64Array.from({ length: wholeDays * count }, (_, i) => byDay(Math.floor(i / count), i % count))

  const requests = Array.from(
    { length: templates },
    (_, template) =>
      combinations.map((values, person): SimulatedRequest => ({
        template,
        ...(plan.people === undefined ? {} : { person }),
        attrs: new Map(
          attributes.map(({ name, values: named }, j) => [name, [named[values[j]!]![0]]] as const)
            .filter(([, [value]]) => value !== absent),
        ),
      })),
  ).flat()

  const eligible: Array<Eligible> = []
  const eligibleAt = new Map<string, number>()
  const eligibleFor = (millis: number): number => {
    const age = millis / dayMillis
    const there = arms.flatMap((_, arm) => {
      const [from, to] = plan.lifetimes?.(arm) ?? [0, Infinity]
      return age >= from && age < to ? [arm] : []
    })
    const key = there.join()
    let known = eligibleAt.get(key)
    if (known === undefined) {
      eligibleAt.set(key, known = eligible.length)
      eligible.push({ arms: there, set: eligibleSet(there.map((arm) => arms[arm]!)) })
    }
    return known
  }
  // Computed once for each interval between two changes.
  const changes = [...new Set(arms.flatMap((_, arm) => plan.lifetimes?.(arm) ?? []))].sort((a, b) => a - b)

  const at = Float64Array.from({ length: sends }, () => worldStart + ageAt(plan, users.uniform()) * dayMillis).sort()
  const requestOf = new Int32Array(sends)
  const eligibleOf = new Int32Array(sends)
  const choiceChance = new Float64Array(sends)
  const clickChance = new Float64Array(sends)
  const delayHours = new Float64Array(sends)
  let stretch = -1
  let set = -1
  for (let i = 0; i < sends; i++) {
    const age = at[i]! - worldStart
    const passed = changes.findLastIndex((day) => age >= day * dayMillis)
    if (set < 0 || passed !== stretch) set = eligibleFor(age)
    stretch = passed
    const combination = plan.people === undefined
      ? cumulated.reduce((code, shares) => code * shares.length + drawValue(shares), 0)
      : plan.person === undefined
      ? Math.floor(users.uniform() * plan.people)
      : firstAbove(upTo, users.uniform() * shares)
    const template = Math.min(templates - 1, Math.floor(age / dayMillis / days * templates))
    requestOf[i] = template * combinations.length + combination
    eligibleOf[i] = set
    choiceChance[i] = users.uniform()
    clickChance[i] = users.uniform()
    // Always drawn, so that worlds with and without delays differ in nothing else.
    const z = users.normal()
    delayHours[i] = delay === undefined ? 0 : Math.min(longestDelay, delay.medianHours * Math.exp(delay.sigma * z))
  }

  return {
    name: plan.name,
    days,
    templates,
    arms,
    composition: plan.composition,
    slower: plan.slower?.(chance(seedOf(plan.seed, `${plan.name} rates`))),
    decisions: sends,
    at,
    requests,
    requestOf,
    eligible,
    eligibleOf,
    choiceChance,
    clickChance,
    delayHours,
    worth: plan.worth ?? 1,
    tire: plan.tire,
    costs: optOutsOf(plan),
    ...troubles(plan),
    rates: (decision, out) => {
      const day = Math.min(wholeDays - 1, Math.floor((at[decision]! - worldStart) / dayMillis))
      const row = requestOf[decision]! % combinations.length * count
      const hour = Math.floor(at[decision]! / hourMillis) % 24
      for (let arm = 0; arm < count; arm++) {
        const log = valuesLog[row + arm]! + dayLog[day * count + arm]! + (byHour?.(hour, arm) ?? 0)
        out[arm] = Math.min(largestRate, Math.exp(log))
      }
    },
  }
}
