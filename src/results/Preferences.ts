import type { PersonalReport } from "../bandit/Personal.ts"
import { stoppingRule } from "../bandit/Verdict.ts"
import type { RateLift } from "../bandit/Winner.ts"
import { answerRule, type AnswerSegment, type ChoiceGain, noGains, type ResultsAnswer } from "./Answer.ts"
import type { TemplateResults, VariantResults } from "./TemplateResults.ts"

// Parts of the audience that surely prefer another variant, and the answer that follows. Pure.

/**
 * Minimum probability that another variant is the best in a segment that surely prefers one. In 80 simulations of three equally
 * good variants with 12 segments, no segment did. Where two plans preferred different variants by 65 %, 15 of 20 had one.
 */
const sure = 0.99

/** The results of a variant with an estimated rate. */
type Estimated = VariantResults & { readonly rate: number; readonly interval: readonly [number, number] }

/** A segment with its preferred variant, and the variant that the others get. */
interface Preference {
  readonly segment: Readonly<Record<string, string>>
  readonly decisions: number
  readonly preferred: Estimated
  readonly instead: Estimated
}

const isEstimated = (one: VariantResults | undefined): one is Estimated =>
  one !== undefined && one.rate !== null && one.interval !== null

const lossOf = ({ decisions, instead, preferred }: Preference) => decisions * (preferred.rate - instead.rate)

/** The active variants with an estimated rate, the most probably best first. */
const ranked = (variants: ReadonlyArray<VariantResults>): ReadonlyArray<Estimated> =>
  variants.filter(isEstimated).filter(({ p_best }) => p_best !== null)
    .sort((a, b) => b.p_best! - a.p_best! || b.rate - a.rate)

/**
 * Returns the segments that prefer another variant than `id`, up to five, the segment that loses most by `id` first.
 * Segments of different attributes have people in common. `probability`: minimum probability that another variant is the best
 * in the segment.
 */
export const preferencesOf = (
  { segments }: Pick<TemplateResults, "segments">,
  id: string | null,
  probability = sure,
): ReadonlyArray<Preference> =>
  segments.flatMap(({ decisions, segment, variants }) => {
    const [preferred] = ranked(variants)
    const instead = variants.find(({ copy_id }) => copy_id === id)
    if (preferred === undefined || preferred.copy_id === id || !isEstimated(instead)) return []
    const chance = instead.p_best === null ? preferred.p_best! : 1 - instead.p_best
    return chance >= probability ? [{ segment, decisions, preferred, instead }] : []
  }).sort((a, b) => lossOf(b) - lossOf(a)).slice(0, answerRule.segments)

/** Returns the segments of these attributes in which `id` has the highest chance to be best, the surest first. */
const loyalTo = (
  { segments }: Pick<TemplateResults, "segments">,
  id: string | null,
  attributes: ReadonlySet<string>,
): ReadonlyArray<Preference> =>
  segments.flatMap(({ decisions, segment, variants }) => {
    const [preferred, instead] = ranked(variants)
    const isOne = Object.keys(segment).every((name) => attributes.has(name))
    return preferred?.copy_id === id && instead !== undefined && isOne
      ? [{ segment, decisions, preferred, instead }]
      : []
  }).sort((a, b) => b.preferred.p_best! - a.preferred.p_best!)

/**
 * Segments that prefer another variant than `id`, then one or two that prefer `id`, at most five. Empty if no segment prefers
 * another variant.
 */
const segmentsOf = (
  results: Pick<TemplateResults, "segments">,
  id: string | null,
): ReadonlyArray<AnswerSegment> => {
  const others = preferencesOf(results, id, answerRule.inSegment)
  if (others.length === 0) return []
  const loyal = loyalTo(results, id, new Set(others.flatMap(({ segment }) => Object.keys(segment))))
  const kept = others.slice(0, answerRule.segments - Math.min(1, loyal.length))
  return [...kept, ...loyal.slice(0, kept.length === 1 ? 2 : 1)].map(({ decisions, instead, preferred, segment }) => ({
    segment,
    decisions,
    copy_id: preferred.copy_id,
    rate: preferred.rate,
    interval: preferred.interval,
    p_best: preferred.p_best ?? 0,
    instead: { copy_id: instead.copy_id, rate: instead.rate, interval: instead.interval },
  }))
}

/** Returns a lift in the shape of the API's response. */
export const gainOf = ({ difference, differenceInterval, interval, value }: RateLift): ChoiceGain => ({
  value,
  interval,
  difference,
  difference_interval: differenceInterval,
})

const lossOfShipping = ({ difference, differenceInterval, id, value }: PersonalReport["over"][number]) => ({
  copy_id: id,
  loss: difference,
  interval: differenceInterval,
  // Of the rate of the present choices, not of the variant's.
  share: value / (1 + value),
})

/** Returns the days and decisions that an undecided verdict still requires. Decisions of all variants count, at the leader's present share. */
export const waitsOf = (
  { variants, winner }: Pick<TemplateResults, "variants" | "winner">,
): NonNullable<ResultsAnswer["waits_for"]> => {
  const { days, leader, matured_sends: matured } = winner
  const share = variants.find(({ copy_id }) => copy_id === leader)?.share ?? 0
  return {
    day: Math.floor(days) + 1,
    of_days: stoppingRule.days,
    decisions: share > 0 ? Math.ceil(Math.max(0, stoppingRule.maturedSends - matured) / share) : null,
  }
}

const kinds = {
  undecided: "undecided",
  winner: "one_for_all",
  firm_winner: "one_for_all",
  no_difference: "no_difference",
} as const satisfies { readonly [verdict in TemplateResults["winner"]["verdict"]]: ResultsAnswer["kind"] }

/** Returns the answer of results. `personal` is undefined without a comparison of the choices, such as before the first outcome. */
export const answerOf = (
  results: Pick<TemplateResults, "segment" | "segments" | "variants" | "winner">,
  personal: PersonalReport | undefined,
): ResultsAnswer => {
  const { segment, winner } = results
  const shipping = (personal?.over ?? []).map(lossOfShipping).sort((a, b) => a.loss - b.loss)
  const best = shipping[0]?.copy_id ?? winner.leader
  const isPersonal = personal !== undefined && personal.probability >= answerRule.probability &&
    personal.overBest.value >= answerRule.gain && winner.days >= stoppingRule.days && Object.keys(segment).length === 0
  const segments = isPersonal ? segmentsOf(results, best) : []
  const kind = segments.length > 0 ? "different_people" : kinds[winner.verdict]
  return {
    kind,
    waits_for: kind === "undecided" ? waitsOf(results) : null,
    segments,
    ...personal === undefined ? noGains : {
      p_better: personal.probability,
      gain_over_best: gainOf(personal.overBest),
      gain_over_split: gainOf(personal.overSplit),
    },
    shipping,
  }
}
