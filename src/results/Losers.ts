import { nothing } from "../domain/SendNothing.ts"
import { stoppingRule } from "../bandit/Verdict.ts"

// Variants that can be stopped without a loss. Pure.

/** Thresholds for a variant that is surely worse than the leader. */
export const loserRule = {
  /** Maximum probability that the best variant is one of the losers, over all decisions. */
  probability: 0.01,
  /** Maximum probability of being best within each segment, so that a variant that suits some people stays. */
  inSegments: 0.05,
  /** Minimum expected loss from choosing the variant for good, as a share of its rate. */
  loss: 0.05,
  /** Minimum number of matured sends of the variant itself. */
  maturedSends: 100,
} as const

/** The results of a variant that the rule uses. */
interface Judged {
  readonly copy_id: string
  readonly status: string
  readonly matured_sends: number
  readonly p_best: number | null
  /** Null with `p_best` if the rate is not above 0, so that no share of it describes the loss. */
  readonly expected_loss: number | null
}

const boundOf = (loss: number | null): number => loss ?? Number.MAX_VALUE

/**
 * Returns the ids of the active variants that are surely worse than the leader, worst first: the variants with the
 * smallest probabilities of being best, as long as these sum to at most 1 %, so that stopping many variants is as safe
 * as stopping one. Empty before the stopping rule's days of data, and if the leader has too few matured sends.
 * `segments`: these variants within each segment.
 */
export const losersOf = (
  variants: ReadonlyArray<Judged>,
  segments: ReadonlyArray<{ readonly variants: ReadonlyArray<Judged> }>,
  { days, leader }: { readonly days: number; readonly leader: string | null },
): ReadonlyArray<string> => {
  const first = variants.find(({ copy_id }) => copy_id === leader)
  if (days < stoppingRule.days || (first?.matured_sends ?? 0) < stoppingRule.maturedSends) return []
  const suits = new Set(
    segments.flatMap((segment) =>
      segment.variants.filter(({ p_best }) => p_best !== null && p_best >= loserRule.inSegments)
        .map(({ copy_id }) => copy_id)
    ),
  )
  const candidates = variants
    .filter(({ copy_id, expected_loss, matured_sends, p_best, status }) =>
      status === "active" && copy_id !== leader && copy_id !== nothing && !suits.has(copy_id) && p_best !== null &&
      boundOf(expected_loss) >= loserRule.loss && matured_sends >= loserRule.maturedSends
    )
    .toSorted((a, b) => a.p_best! - b.p_best! || (a.copy_id < b.copy_id ? -1 : 1))
  let sum = 0
  return candidates
    .filter(({ p_best }) => (sum += p_best!) <= loserRule.probability)
    .toSorted((a, b) => boundOf(b.expected_loss) - boundOf(a.expected_loss) || (a.copy_id < b.copy_id ? -1 : 1))
    .map(({ copy_id }) => copy_id)
}
