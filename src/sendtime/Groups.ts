import { Clock, Context, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { letOthersRun } from "../runtime/letOthersRun.ts"
import {
  Cells,
  emptyHistogram,
  everybody,
  Exposures,
  foldedHours,
  freshness,
  groupPrior,
  type Histogram,
  type Individuality,
  narrowed,
  smooth,
  total,
} from "./Attention.ts"
import * as Clocks from "./Clocks.ts"
import { readSample, type Sampled } from "./Histories.ts"
import { HomeClocks, hoursAheadOf, inZone } from "./HomeClocks.ts"
import { comparedPeople, Individualities } from "./Individualities.ts"
import { addBlocks, addPerson, Ages, type Blocks, emptyBlocks, hoursDiffer } from "./HourDifferences.ts"
import { delayOf, noEngagement, variantCode, variantOf } from "./Touch.ts"

/** Maximum number of people of an organization from whom the wider levels are learned: a fixed random sample. */
const sampled = 20_000

/** Number of people read and counted at once, so that the event loop is blocked for a few milliseconds only. */
const page = 500

/** Number of people compared at once, which takes longer. */
const comparedPage = 50

/**
 * Cache time of the levels: 200 times the duration of learning them, between 10 seconds and an hour. Unit:
 * milliseconds.
 */
const shortestPause = 10_000
const longestPause = 3_600_000
const pausePerCost = 200

/** Timeout of the first request for the levels of an organization. */
const firstWait = "2 seconds"

/** The data of one level. */
export interface Level {
  readonly touches: number
  readonly engagements: number
  /** Engagements per hour of exposure by folded hour, combined with the wider levels. */
  readonly attention: Float64Array
  /** Share of the level's own data, 0 to 1. The remainder comes from the next wider level. */
  readonly weight: number
  /** Whether its own touches differ between hours of the week by more than chance, at the 5 % level. */
  readonly differs: boolean
}

/** The levels above a person, widest first. */
interface Levels {
  readonly organization: Level
  readonly template: Level
  readonly variant: Level
}

/** The estimates of a template and of each of its variants. */
export interface TemplateLevels extends Omit<Levels, "variant"> {
  readonly variants: ReadonlyMap<string, Level>
}

/** A template that a request may concern, and its variants. */
export interface About {
  readonly template: string
  /** Ids of the template's present variants, from which their common effect is estimated. */
  readonly variants: ReadonlyArray<string>
  readonly copy: string
}

/** The estimates of all people of an organization. */
interface OrganizationTiming {
  readonly tau: number
  readonly fresh: Float64Array
  readonly touches: number
  readonly individuality: Individuality
  /** Returns the attention of a group by the hours of a zone, given its attention by local hours of all zones. */
  readonly inZone: (attention: Float64Array, clocks: Clocks.Clocks) => Float64Array
  readonly levels: (about: ReadonlyArray<About>) => Levels
  /** Returns the levels of a template and of all its variants, by id. */
  readonly template: (template: string, variants: ReadonlyArray<string>) => TemplateLevels
}

const levelOf = (
  { blocks, engagements, histogram, touches }: Counted,
  wider: Float64Array | undefined,
): Level => {
  const smoothed = smooth(histogram, wider)
  const differs = hoursDiffer(blocks)
  if (wider === undefined) {
    return { touches, engagements, attention: everybody(smoothed), weight: touches === 0 ? 0 : 1, differs }
  }
  let expected = 0
  for (let k = 0; k < wider.length; k++) expected += wider[k]! * smoothed.exposed[k]!
  return {
    touches,
    engagements,
    attention: touches === 0 ? wider : narrowed(smoothed, wider),
    weight: expected / (expected + groupPrior * foldedHours),
    differs,
  }
}

interface Counted {
  readonly histogram: Histogram
  readonly blocks: Blocks
  touches: number
  engagements: number
}

const nothing = (): Counted => ({
  histogram: emptyHistogram(),
  blocks: emptyBlocks(),
  touches: 0,
  engagements: 0,
})

const sumOf = (parts: ReadonlyArray<Counted>): Counted => {
  const [one] = parts
  if (one !== undefined && parts.length === 1) return one
  const sum = nothing()
  for (const { blocks, engagements, histogram, touches } of parts) {
    sum.touches += touches
    sum.engagements += engagements
    for (let k = 0; k < foldedHours; k++) {
      sum.histogram.engaged[k]! += histogram.engaged[k]!
      sum.histogram.exposed[k]! += histogram.exposed[k]!
    }
    addBlocks(sum.blocks, blocks)
  }
  return sum
}

/** Counts the touches of one person after another, by variant. */
class VariantCounting {
  readonly #variants = new Map<number, Counted & { readonly exposures: Exposures }>()
  readonly #fresh: Float64Array
  readonly #cumulative: Float64Array
  readonly #own = new Map<number, Array<number>>()

  /** `cumulative`: expected engagements by age. */
  constructor(fresh: Float64Array, cumulative: Float64Array) {
    this.#fresh = fresh
    this.#cumulative = cumulative
  }

  add(codes: Float64Array, clocks: Clocks.Clocks, nowMillis: number): void {
    this.#own.clear()
    for (const code of codes) {
      const own = this.#own.get(variantOf(code))
      if (own === undefined) this.#own.set(variantOf(code), [code])
      else own.push(code)
    }
    for (const [variant, own] of this.#own) {
      let counted = this.#variants.get(variant)
      if (counted === undefined) {
        this.#variants.set(variant, counted = { ...nothing(), exposures: new Exposures(this.#fresh) })
      }
      for (const code of own) {
        counted.exposures.add(code, clocks, nowMillis)
        counted.touches++
        if (delayOf(code) !== noEngagement) counted.engagements++
      }
      addPerson(counted.blocks, own, clocks, nowMillis, this.#cumulative)
    }
  }

  /** Counts of each variant, by code. */
  counted(): ReadonlyMap<number, Counted> {
    for (const { exposures, histogram } of this.#variants.values()) exposures.addTo(histogram)
    return this.#variants
  }
}

/** Maximum number of cached levels. There is one for each variant. */
const rememberedLevels = 5_000

/**
 * Returns a function that adapts the attention of a group to a zone, by the evidence that people live by their own clocks
 * or by the organization's.
 */
const homeOf = Effect.fnUntraced(function* (
  people: ReadonlyArray<Sampled>,
  { attention, nowMillis, tau, yielding, zone }: {
    readonly zone: string
    readonly tau: number
    /** Attention of the organization by local hours. */
    readonly attention: Float64Array
    readonly nowMillis: number
    readonly yielding: Effect.Effect<void>
  },
) {
  const clocks = Clocks.of(zone)
  const aheadOf = (own: Clocks.Clocks) => hoursAheadOf(own, clocks, nowMillis)
  const away = people.filter((person) => person.zone !== undefined && aheadOf(Clocks.of(person.zone)) !== 0)
  if (away.length === 0) return (rates: Float64Array, _own: Clocks.Clocks) => rates
  const cells = new Cells()
  for (let at = 0; at < people.length; at += page) {
    for (const { codes } of people.slice(at, at + page)) for (const code of codes) cells.add(code, clocks, nowMillis)
    yield* yielding
  }
  const curves = { own: attention, organization: everybody(smooth(cells.histogram(tau))) }
  const homes = new HomeClocks(curves)
  const fresh = freshness(tau)
  for (let at = 0; at < away.length; at += page) {
    for (const person of away.slice(at, at + page)) {
      homes.add(person.codes, { own: Clocks.of(person.zone!), organization: clocks }, fresh, nowMillis)
    }
    yield* yielding
  }
  const own = homes.own()
  const known = new WeakMap<Float64Array, Map<number, Float64Array>>()
  return (rates: Float64Array, of: Clocks.Clocks) => {
    const hours = aheadOf(of)
    let byHours = known.get(rates)
    if (byHours === undefined) known.set(rates, byHours = new Map())
    let found = byHours.get(hours)
    if (found === undefined) byHours.set(hours, found = inZone(rates, curves, own, hours))
    return found
  }
})

/**
 * Learns the timing of an organization from a sample of its people. `yielding` runs between pieces of work, so that
 * other fibers can run.
 */
export const timingOf = Effect.fnUntraced(function* (
  people: ReadonlyArray<Sampled>,
  zone: string,
  nowMillis: number,
  yielding: Effect.Effect<void> = letOthersRun,
) {
  const cells = new Cells()
  const byAge = new Ages()
  const clocksOf = (person: Sampled) => Clocks.of(person.zone ?? zone)
  for (let at = 0; at < people.length; at += page) {
    for (const person of people.slice(at, at + page)) {
      const clocks = clocksOf(person)
      for (const code of person.codes) {
        cells.add(code, clocks, nowMillis)
        byAge.add(code, nowMillis)
      }
    }
    yield* yielding
  }
  const tau = cells.tau()
  const fresh = freshness(tau)
  const counting = new VariantCounting(fresh, byAge.cumulative())
  for (let at = 0; at < people.length; at += page) {
    for (const person of people.slice(at, at + page)) counting.add(person.codes, clocksOf(person), nowMillis)
    yield* yielding
  }
  const variants = counting.counted()
  const whole: Counted = {
    ...sumOf([...variants.values()]),
    histogram: cells.histogram(tau),
    touches: cells.count,
    engagements: cells.engagements,
  }
  const organization = levelOf(whole, undefined)
  const home = yield* homeOf(people, { zone, tau, attention: organization.attention, nowMillis, yielding })
  const individualities = new Individualities()
  for (let at = 0; at < people.length && individualities.count < comparedPeople; at += comparedPage) {
    for (const person of people.slice(at, at + comparedPage)) {
      const clocks = clocksOf(person)
      individualities.add(person.codes, clocks, fresh, nowMillis, home(organization.attention, clocks))
    }
    yield* yielding
  }
  // Requests concern one template, or a few if several templates have a variant with this id. The objects recur, so
  // they are cache keys.
  const known = new Map<About | string, Levels>()
  const countedOf = (codes: Iterable<number>) => sumOf([...new Set(codes)].flatMap((code) => variants.get(code) ?? []))
  const levels = (about: ReadonlyArray<About>): Levels => {
    const key = about.length === 1 ? about[0]! : JSON.stringify(about)
    let found = known.get(key)
    if (found === undefined) {
      const template = levelOf(
        countedOf(about.flatMap((one) => one.variants.map((copy) => variantCode(one.template, copy)))),
        organization.attention,
      )
      const variant = levelOf(
        countedOf(about.map((one) => variantCode(one.template, one.copy))),
        template.attention,
      )
      found = { organization, template, variant }
      if (known.size >= rememberedLevels) known.clear()
      known.set(key, found)
    }
    return found
  }
  const template = (id: string, copies: ReadonlyArray<string>): TemplateLevels => {
    const level = levelOf(countedOf(copies.map((copy) => variantCode(id, copy))), organization.attention)
    return {
      organization,
      template: level,
      variants: new Map(
        copies.map((copy) => [copy, levelOf(countedOf([variantCode(id, copy)]), level.attention)]),
      ),
    }
  }
  const individuality = individualities.best()
  return {
    tau,
    fresh,
    touches: whole.touches,
    individuality,
    inZone: home,
    levels,
    template,
  } satisfies OrganizationTiming
})

/** Whether a level has data. */
export const isKnown = ({ touches }: Level): boolean => touches > 0

/** Returns the expected engagements of a person's exposure if the person were like the group. */
export const expectedOf = ({ exposed }: Histogram, group: Float64Array): number => {
  let sum = 0
  for (let k = 0; k < group.length; k++) sum += exposed[k]! * group[k]!
  return sum
}

/** Number of engagements in a histogram. */
export const engagementsOf = ({ engaged }: Histogram): number => total(engaged)

interface Entry {
  timing: OrganizationTiming
  learnedAt: number
  cost: number
}

/**
 * Send-time estimates of organizations, templates and variants, learned from the histories of up to 20,000 people per
 * organization and refreshed while in use. Stored only in memory.
 */
export class Groups extends Context.Service<Groups, {
  /**
   * Returns the current timing. The first request awaits it for at most 2 seconds. Undefined if the database does not
   * respond.
   */
  readonly of: (org: string, zone: string) => Effect.Effect<OrganizationTiming | undefined>
  /** Learns the timing of an organization now. Fails with `SqlError` if the database does not respond. */
  readonly refresh: (org: string, zone: string) => Effect.Effect<OrganizationTiming, SqlError>
}>()("parlance/sendtime/Groups") {
  static readonly layer = Layer.effect(
    Groups,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const scope = yield* Effect.scope
      const entries = new Map<string, Entry>()
      const learning = new Map<string, Fiber.Fiber<OrganizationTiming | undefined>>()

      const readAll = Effect.fnUntraced(function* (org: string) {
        const people: Array<Sampled> = []
        let after = -1
        while (people.length < sampled) {
          const { last, people: some } = yield* readSample(sql, org, after, page)
          people.push(...some)
          if (last === undefined) break
          after = last
          yield* letOthersRun
        }
        return people
      })

      const refresh = Effect.fn("Groups.refresh")(function* (org: string, zone: string) {
        const start = clock.currentTimeMillisUnsafe()
        const timing = yield* timingOf(yield* readAll(org), zone, start)
        const now = clock.currentTimeMillisUnsafe()
        entries.set(org, { timing, learnedAt: now, cost: now - start })
        return timing
      })

      const isStale = ({ cost, learnedAt }: Entry) =>
        clock.currentTimeMillisUnsafe() - learnedAt >
          Math.min(longestPause, Math.max(shortestPause, pausePerCost * cost))

      /** Learns in the background, once for all callers. Stores the result even if every caller has given up. */
      const learn = (org: string, zone: string) => {
        const running = learning.get(org)
        if (running !== undefined) return Effect.succeed(running)
        return Effect.tap(
          refresh(org, zone).pipe(
            Effect.catchCause((cause) =>
              Effect.as(Effect.logDebug("Send times of an organization could not be learned", cause), undefined)
            ),
            Effect.ensuring(Effect.sync(() => learning.delete(org))),
            Effect.forkIn(scope),
          ),
          (fiber) => Effect.sync(() => void (fiber.pollUnsafe() === undefined && learning.set(org, fiber))),
        )
      }

      const of = (org: string, zone: string): Effect.Effect<OrganizationTiming | undefined> => {
        const entry = entries.get(org)
        if (entry !== undefined) {
          return isStale(entry) && !learning.has(org)
            ? Effect.as(learn(org, zone), entry.timing)
            : Effect.succeed(entry.timing)
        }
        return Effect.map(
          Effect.timeoutOption(Effect.flatMap(learn(org, zone), Fiber.join), firstWait),
          (timing) => timing._tag === "Some" ? timing.value : undefined,
        )
      }

      return Groups.of({ of, refresh })
    }),
  )
}
