import { Counts, type Valuation } from "../../src/bandit/Counts.ts"
import { learnDelays, organizationDelays } from "../../src/bandit/DelayPrior.ts"
import { followFaster } from "../../src/bandit/FasterReactions.ts"
import { fit } from "../../src/bandit/Fit.ts"
import { Delays } from "../../src/bandit/Maturity.ts"
import { organizationPriors } from "../../src/bandit/Priors.ts"
import { report } from "../../src/bandit/Report.ts"
import { variantCurves } from "../../src/bandit/VariantDelays.ts"
import { bucketAt, dayMillis, hourMillis } from "../../src/bandit/Window.ts"

// A template whose recipients reacted within hours for weeks, and for some hours have been reacting faster.

export interface FasterWorld {
  readonly seed: number
  readonly variants: number
  /** How many times as fast people have become. */
  readonly speed: number
  /** Whether only the first variant has become faster. */
  readonly only: boolean
  /** Share of the decisions with an outcome. */
  readonly rate: number
  readonly slowDays: number
  readonly decisionsPerDay: number
  readonly fastHours: number
  readonly decisionsPerHour: number
  /** Values the outcomes. The first number counts outcomes. Default: clicks. */
  readonly valuation: Valuation
  /** The numbers counted for an outcome. */
  readonly amounts: (uniform: () => number) => ReadonlyArray<number>
}

/** Median delay before the change. Unit: hours. */
const median = 8
const sigma = 1.2

const uniforms = (seed: number) => {
  let state = seed * 7919 + 13
  return (): number => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return (state + 0.5) / 4_294_967_296
  }
}

/** The report on the template, with the curves that were learned. */
export const reportOn = (world: FasterWorld) => {
  const { amounts, decisionsPerDay, decisionsPerHour, fastHours, only, rate, slowDays, speed, valuation } = world
  const uniform = uniforms(world.seed)
  const normal = () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform())
  const counts = new Counts(valuation)
  const delays = new Delays()
  const ofVariants = new Map<string, Delays>()
  const start = Date.UTC(2026, 8, 7)
  const change = start + slowDays * dayMillis
  const now = change + fastHours * hourMillis
  const decide = (at: number, v: number, isFast: boolean) => {
    const id = `v${v}`
    const delay = median / (isFast && (!only || v === 0) ? speed : 1) * Math.exp(sigma * normal())
    const isCounted = uniform() < rate && at + delay * hourMillis <= now && delay <= 336
    counts.add(id, "", bucketAt(at, now).start, 1, ...(isCounted ? amounts(uniform) : []))
    if (!isCounted) return
    delays.add(at, delay)
    let own = ofVariants.get(id)
    if (own === undefined) ofVariants.set(id, own = new Delays())
    own.add(Math.floor(at / dayMillis) * dayMillis + dayMillis - hourMillis, delay)
  }
  for (let i = 0; i < decisionsPerDay * slowDays; i++) {
    decide(start + uniform() * (change - start), i % world.variants, false)
  }
  for (let i = 0; i < decisionsPerHour * fastHours; i++) {
    decide(now - uniform() * fastHours * hourMillis, i % world.variants, true)
  }
  const organization = organizationPriors(new Map(), "t")
  const learned = learnDelays(delays, organizationDelays(delays, now), {
    totals: counts.totals(),
    worth: counts.worth(),
    mostPerSend: valuation.mostPerSend,
    organizationLogRate: organization.a0,
  }, now)
  const own = new Map(Array.from(ofVariants, ([id, one]) => [id, one.counts(now)] as const))
  const followed = followFaster(
    { ...learned, curves: variantCurves(own, learned.curve) },
    delays,
    counts,
    now,
  )
  const model = fit({
    version: "t:1",
    counts,
    scheme: { keys: [] },
    window: { mode: "adaptive", halfLifeDays: 14 },
    ...followed,
    now,
    organization,
  })
  const ids = Array.from({ length: world.variants }, (_, v) => `v${v}`)
  const { overall } = report({ model, floor: 0.05, ids, eligible: ids, groups: [], seed: 1, draws: 1000 })
  return { followed, variants: overall.variants }
}
