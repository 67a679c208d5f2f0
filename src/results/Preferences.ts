import type { TemplateResults, VariantResults } from "./TemplateResults.ts"

// Parts of the audience that surely prefer another variant. Pure.

/** Conditions of a preference. */
export const preferenceRule = {
  /**
   * Minimum chance to be best within the segment. In 80 simulations of three equally good variants with 12 segments, no
   * segment had a preference. Where two plans preferred different variants by 65 %, 15 of 20 had one.
   */
  probability: 0.99,
  /** Maximum number of segments. */
  most: 5,
} as const

/** The results of a variant with an estimated rate. */
type Estimated = VariantResults & { readonly rate: number; readonly interval: readonly [number, number] }

/** A segment with its preferred variant, and the variant that the others get. */
interface Preference {
  readonly segment: Readonly<Record<string, string>>
  readonly preferred: Estimated
  readonly instead: Estimated
}

const isEstimated = (one: VariantResults | undefined): one is Estimated =>
  one !== undefined && one.rate !== null && one.interval !== null

/**
 * Returns the segments that prefer another variant than `id`, up to five, the segment that loses most by `id` first.
 * Segments of different attributes have people in common.
 */
export const preferencesOf = (
  { segments }: Pick<TemplateResults, "segments">,
  id: string | null,
): ReadonlyArray<Preference> =>
  segments.flatMap(({ decisions, segment, variants }) => {
    const preferred = variants.find((one) => one.copy_id !== id && (one.p_best ?? 0) >= preferenceRule.probability)
    const instead = variants.find(({ copy_id }) => copy_id === id)
    if (!isEstimated(preferred) || !isEstimated(instead)) return []
    return [{ segment, preferred, instead, loss: decisions * (preferred.rate - instead.rate) }]
  }).sort((a, b) => b.loss - a.loss).slice(0, preferenceRule.most)
