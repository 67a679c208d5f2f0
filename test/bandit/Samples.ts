import type { Context } from "../../src/bandit/Contexts.ts"
import { Counts } from "../../src/bandit/Counts.ts"
import { fit, type FitInput } from "../../src/bandit/Fit.ts"
import { type DelayCurve, delayEdges } from "../../src/bandit/Maturity.ts"
import { type ModelSnapshot, posterior } from "../../src/bandit/Model.ts"
import { defaultPriors } from "../../src/bandit/Priors.ts"
import { compareRates, type ContextTraffic, drawPlaces, type VariantComparison } from "../../src/bandit/Winner.ts"

export const hour = 3_600_000
export const day = 24 * hour

/** A Saturday, 12:30 UTC. */
export const now = Date.UTC(2026, 10, 21, 12, 30)

/** All clicks come at once, so that sends of any age count fully. */
export const promptCurve: DelayCurve = delayEdges.map(() => 1)

export const adaptive = { mode: "adaptive", halfLifeDays: 120 } as const

/** Uniform numbers in [0, 1) from a seed (mulberry32). */
export const uniform = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
}

/** Standard normal numbers from a seed (Box and Muller). */
export const normal = (seed: number) => {
  const u = uniform(seed)
  return () => Math.sqrt(-2 * Math.log(1 - u())) * Math.cos(2 * Math.PI * u())
}

export interface Row {
  readonly variant: string
  readonly context: string
  readonly start: number
  readonly sends: number
  readonly clicks: number
}

export const countsOf = (rows: Iterable<Row>): Counts => {
  const counts = new Counts()
  for (const { context, clicks, sends, start, variant } of rows) counts.add(variant, context, start, sends, clicks)
  return counts
}

/** A fit of these rows from the defaults, everything matured. */
export const fitRows = (rows: Iterable<Row>, options: Partial<FitInput> = {}): ModelSnapshot =>
  fit({
    version: "t:1",
    counts: countsOf(rows),
    scheme: { keys: [], builtIns: [] },
    window: adaptive,
    curve: promptCurve,
    now,
    organization: defaultPriors,
    ...options,
  })

export const meanOf = (model: ModelSnapshot, id: string, context: Context): number =>
  posterior(model, model.variants.find((variant) => variant.id === id), context).mean

export const sum = (values: ArrayLike<number>): number => Array.from(values).reduce((a, b) => a + b, 0)

/** Compares variants by draws from the posterior over the model's contexts, by default 4,000 of them. */
export const compare = (
  model: ModelSnapshot,
  ids: ReadonlyArray<string>,
  normal: () => number,
  options: { readonly traffic?: ReadonlyArray<ContextTraffic>; readonly draws?: number } = {},
): VariantComparison => {
  const place = { traffic: options.traffic ?? model.traffic, draws: options.draws ?? 4000 }
  return compareRates(ids, drawPlaces([model], ids, normal, [place])[0]!)
}
