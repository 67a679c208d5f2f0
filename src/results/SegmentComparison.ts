import { Schema } from "effect"
import { type ContextKey, type Contexts, decodeContext } from "../bandit/Contexts.ts"
import { Phi } from "../bandit/Normal.ts"
import { described } from "../domain/described.ts"
import * as Json from "../json/Json.ts"
import type { Objective } from "../domain/Template.ts"

// Compares two variants in the segments of two attributes, from the counts alone. Pure.
//
// The variants are compared within days, and the days are combined by Mantel and Haenszel's weights with T. Sato's
// variance (Biometrics 45, 1989). The allocation of a day depends only on the days before, so it does not bias the
// comparison within the day. A variant does not profit if it was sent more often on days on which both rates were
// higher.

/** Maximum number of segments of one comparison. The segments with most decisions come first. */
export const mostSegments = 24

/**
 * Minimum data of a segment for a difference: decisions of each variant, outcomes of both together, and days with both.
 */
export const leastData = { decisions: 100, outcomes: 20, days: 3 }

/** The compared outcome: the outcome of the template's goal, or clicks for a mix and for revenue. */
export const comparedOutcome = (objective: Objective): "open" | "click" | "conversion" =>
  objective === "open" || objective === "conversion" ? objective : "click"

/** Half the width of a normal distribution's 95 % interval, in standard deviations. */
const normalReach = 1.959964

/**
 * Half the width of a 95 % interval over `days` days, in standard errors. From Student's distribution (by Cornish and
 * Fisher's expansion), because few days with few decisions each are not normal.
 */
const reachOver = (days: number): number => {
  const freedom = days - 1
  return normalReach + (normalReach ** 3 + normalReach) / (4 * freedom) +
    (5 * normalReach ** 5 + 16 * normalReach ** 3 + 3 * normalReach) / (96 * freedom ** 2)
}

/** The two variants to compare, and the attributes whose values form the segments. */
export interface SegmentQuestion {
  /** One or two learning attributes. */
  readonly attributes: ReadonlyArray<string>
  readonly variant: string
  readonly against: string
}

/** Number of decisions of a variant in a context on one day that can have an outcome, and number with one. */
export interface DayCount {
  readonly day: number
  readonly copyId: string
  readonly context: ContextKey
  readonly trials: number
  readonly outcomes: number
}

/** Counts of a variant in a segment or on a day of it. */
interface SegmentCounts {
  trials: number
  outcomes: number
}

const Counts = Schema.Struct({
  decisions: described(Schema.Finite, "Decisions that were not voided"),
  outcomes: described(Schema.Finite, "The decisions with the outcome"),
})

/** The comparison of two variants in one segment, in the shape of the API's response. */
export const ComparedSegment = Schema.Struct({
  segment: Schema.Record(Schema.String, Schema.String),
  variant: Counts,
  against: Counts,
  comparison: described(
    Schema.NullOr(Schema.Struct({
      rate: described(Schema.Finite, "The rate of `variant`: the average over days on which both variants were sent"),
      rate_against: Schema.Finite,
      difference: described(Schema.Finite, "`rate` less `rate_against`"),
      interval: described(
        Schema.Tuple([Schema.Finite, Schema.Finite]),
        "95 % interval of `difference`, for this segment by itself",
      ),
      clear: described(
        Schema.Boolean,
        "Whether the rates differ after a correction for the number of comparisons (Bonferroni)",
      ),
    })),
    `Null with fewer than ${leastData.decisions} decisions of either variant, ${leastData.outcomes} outcomes of both, or ` +
      `${leastData.days} days with both`,
  ),
})
export type ComparedSegment = typeof ComparedSegment.Type

interface Pair {
  readonly variant: SegmentCounts
  readonly against: SegmentCounts
}

const newPair = (): Pair => ({ variant: { trials: 0, outcomes: 0 }, against: { trials: 0, outcomes: 0 } })

/**
 * Returns the values of the attributes as a key. Undefined for a context recorded before the attributes were learned.
 */
const segmentIn = (context: ContextKey, attributes: ReadonlyArray<string>): string | undefined => {
  const values = decodeContext(context)
  return attributes.every((name) => values.has(name))
    ? JSON.stringify(attributes.map((name) => values.get(name)))
    : undefined
}

/** Counts of both variants by segment and day. */
const tabulate = (contexts: Contexts, { against, attributes, variant }: SegmentQuestion, rows: Iterable<DayCount>) => {
  const segments = new Map<string, Map<number, Pair>>()
  const known = new Map<string, string | undefined>()
  for (const { context, copyId, day, outcomes, trials } of rows) {
    if (copyId !== variant && copyId !== against) continue
    if (!known.has(context)) known.set(context, segmentIn(contexts.parse(context).key, attributes))
    const segment = known.get(context)
    if (segment === undefined) continue
    const days = segments.getOrInsertComputed(segment, () => new Map())
    const pair = days.getOrInsertComputed(day, () => newPair())
    const mine = copyId === variant ? pair.variant : pair.against
    mine.trials += trials
    mine.outcomes += outcomes
  }
  return segments
}

/** A smoothed share, with one more decision with an outcome and one without, because no share is known to be 0. */
const smoothed = ({ outcomes, trials }: SegmentCounts): number => (outcomes + 1) / (trials + 2)

/** For each variant, the factor that converts its outcomes to outcomes of different people, see `independence`. */
interface Shares {
  readonly variant: number
  readonly against: number
}

/**
 * Returns rates and difference over days, with half the width of the interval. Undefined with fewer than three days on
 * which both were sent.
 */
const differenceOver = (
  days: ReadonlyArray<Pair>,
  variant: SegmentCounts,
  against: SegmentCounts,
  shares: Shares,
) => {
  const [p, q] = [smoothed(variant), smoothed(against)]
  let count = 0
  let weights = 0
  let rate = 0
  let rateAgainst = 0
  let variance = 0
  for (const { against: { outcomes: b, trials: m }, variant: { outcomes: a, trials: n } } of days) {
    if (n === 0 || m === 0) continue
    const weight = Math.sqrt(n * m / (n + m))
    count++
    weights += weight
    rate += weight * a / n
    rateAgainst += weight * b / m
    variance += weight ** 2 * (p * (1 - p) / n / shares.variant + q * (1 - q) / m / shares.against)
  }
  if (count < leastData.days) return undefined
  return {
    rate: rate / weights,
    rateAgainst: rateAgainst / weights,
    difference: (rate - rateAgainst) / weights,
    // Half the width of the 95 % interval.
    half: reachOver(count) * Math.sqrt(variance) / weights,
  }
}

/**
 * Compares two variants in the segments of one or two attributes. `shares` are the independence of the variants'
 * outcomes in the whole template. Default: every decision is about another person.
 */
export const compareSegments = (
  contexts: Contexts,
  question: SegmentQuestion,
  rows: Iterable<DayCount>,
  shares: Shares = { variant: 1, against: 1 },
): ReadonlyArray<ComparedSegment> => {
  const segments = [...tabulate(contexts, question, rows)].map(([key, byDay]) => {
    const days = [...byDay.values()]
    const total = (name: "variant" | "against"): SegmentCounts => ({
      trials: days.reduce((sum, day) => sum + day[name].trials, 0),
      outcomes: days.reduce((sum, day) => sum + day[name].outcomes, 0),
    })
    const variant = total("variant")
    const against = total("against")
    const isEnough = Math.min(variant.trials, against.trials) >= leastData.decisions &&
      variant.outcomes + against.outcomes >= leastData.outcomes
    return { key, variant, against, found: isEnough ? differenceOver(days, variant, against, shares) : undefined }
  }).sort((x, y) => y.variant.trials + y.against.trials - x.variant.trials - x.against.trials).slice(0, mostSegments)
  const comparisons = segments.filter(({ found }) => found !== undefined).length
  return segments.map(({ against, found, key, variant }): ComparedSegment => {
    const values = Json.parseStored(key) as ReadonlyArray<string>
    return {
      segment: Object.fromEntries(question.attributes.map((name, i) => [name, values[i]!])),
      variant: { decisions: variant.trials, outcomes: variant.outcomes },
      against: { decisions: against.trials, outcomes: against.outcomes },
      comparison: found === undefined ? null : {
        rate: found.rate,
        rate_against: found.rateAgainst,
        difference: found.difference,
        interval: [found.difference - found.half, found.difference + found.half],
        clear: comparisons * 2 * (1 - Phi(normalReach * Math.abs(found.difference) / found.half)) < 0.05,
      },
    }
  })
}
