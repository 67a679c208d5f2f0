import { contextsOf } from "./Contexts.ts"
import type { Counts } from "./Counts.ts"
import { Evidence, nextHour } from "./Evidence.ts"
import type { ModelSnapshot } from "./Model.ts"
import { seededNormal } from "./SeededNormal.ts"
import type { VerdictName, VerdictState } from "./VerdictState.ts"
import { hourMillis } from "./Window.ts"
import { compareRates, daysOfData, drawPlaces, type VariantComparison } from "./Winner.ts"

/** When a verdict may be given. */
export const stoppingRule = {
  /** Days of data. */
  days: 7,
  /** Matured sends of the leader. */
  maturedSends: 100,
  /** Largest loss by choosing any variant that still counts as no difference, as a share of the rate. */
  loss: 0.01,
  /** Where no difference was found, it stays until so much can be lost. */
  lossAgain: 0.02,
  /**
   * Probability of being best from which the leader is a winner: `first` during the first `firstDays` days of data, when
   * few outcomes and many looks would name a winner by chance, `later` after them.
   */
  probability: { first: 0.99, later: 0.975, firstDays: 21 },
  /**
   * Evidence against each contender that a winner needs as well. It is calibrated by simulation together with the
   * probabilities. The test's own bound for 5 % asks for more evidence than the policy leaves, because the policy soon
   * stops showing the weaker variant.
   */
  evidence: 6,
  /** Simulated runs of equally good variants with daily looks, and those of them that had a winner; see docs/decisions/0063. */
  simulated: { runs: 300, winners: 15 },
  /** Largest probability of ever naming a firm winner of variants that are equally good. */
  errors: { firm_winner: 0.01 },
} as const

const mostDraws = 1000
const fewestDraws = 400

/** Multiplications that the draws of a look may cost. */
const drawBudget = 50_000_000

/** Whether there is enough data for any verdict. */
const isDue = (model: ModelSnapshot, leader: string | null): boolean =>
  daysOfData(model) >= stoppingRule.days &&
  (model.variants.find(({ id }) => id === leader)?.maturedSends ?? 0) >= stoppingRule.maturedSends

const compare = (model: ModelSnapshot, contenders: ReadonlyArray<string>): VariantComparison => {
  const { names, size } = contextsOf(model.scheme)
  const each = contenders.length * (size * size * 1.5 + model.traffic.length * (names.length + 1) * 2)
  const draws = Math.max(fewestDraws, Math.min(mostDraws, Math.floor(drawBudget / Math.max(1, each))))
  const [rates] = drawPlaces(model, contenders, seededNormal(1), [{ traffic: model.traffic, draws }])
  return compareRates(contenders, rates!)
}

/** The verdict of one look at the data, whatever earlier looks said. */
const find = (
  model: ModelSnapshot,
  counts: Counts,
  comparison: VariantComparison,
  from: number | null,
): VerdictName => {
  const { leader, variants } = comparison
  const first = variants.find(({ id }) => id === leader)
  if (first === undefined || variants.length < 2 || !isDue(model, leader)) return "undecided"
  const { firstDays, ...probability } = stoppingRule.probability
  if (first.pBest < (daysOfData(model) < firstDays ? probability.first : probability.later)) return "undecided"
  const evidence = new Evidence(counts, model, from ?? undefined)
  let weakest = Infinity
  for (const { id } of variants) if (id !== first.id) weakest = Math.min(weakest, evidence.of(first.id, id))
  // Any of the variants might have come out ahead by chance.
  if (weakest >= variants.length / stoppingRule.errors.firm_winner) return "firm_winner"
  return weakest >= stoppingRule.evidence ? "winner" : "undecided"
}

const isWon = (verdict: VerdictName): boolean => verdict === "winner" || verdict === "firm_winner"

/** Whether a winner is one no more: `turned` by evidence against it, or without a comparison with all there are. */
const judgeWinner = (
  { contenders, winner }: VerdictState,
  { variants }: VariantComparison,
): "stays" | "turned" | "open" => {
  const mine = variants.find(({ id }) => id === winner)
  if (mine === undefined || variants.length < 2) return "open"
  if (variants.some(({ pBest }) => pBest > mine.pBest)) return "turned"
  return variants.every(({ id }) => contenders.includes(id)) ? "stays" : "open"
}

/**
 * Looks at the model and the counts, and goes on from the last look's verdict. Looks happen at most once an hour, so that
 * verdicts depend on the data and hardly on how often a model is fitted.
 *
 * `no_difference` when after the days and sends of the stopping rule, whichever variant is chosen, less than 1 % of the
 * rate can be lost (with a probability of 95 %), until it is 2 %. Otherwise `winner` when the leader is the best with a
 * probability of 97.5 % (99 % in the first three weeks) and the evidence against each contender is at least 6,
 * `firm_winner` when it is so large that equally good variants ever bring it about with a probability of at most 1 %. A
 * winner stays until another variant is more probably the best; then only later sends are evidence.
 */
export const look = (
  model: ModelSnapshot,
  counts: Counts,
  options: { readonly active: Iterable<string>; readonly objective: string; readonly before: VerdictState | undefined },
): VerdictState => {
  const { objective } = options
  const now = model.fittedAt
  const before = options.before?.objective === objective ? options.before : undefined
  if (before !== undefined && Math.floor(before.lookedAt / hourMillis) >= Math.floor(now / hourMillis)) return before
  const contenders = [...options.active].sort()
  if (daysOfData(model) < stoppingRule.days) {
    // Too early for a look.
    const { since = now } = before ?? {}
    return { verdict: "undecided", winner: null, contenders, since, evidenceFrom: null, lookedAt: 0, objective }
  }
  const comparison = compare(model, contenders)
  const fate = before !== undefined && isWon(before.verdict) ? judgeWinner(before, comparison) : undefined
  const evidenceFrom = fate === "turned" ? nextHour(now) : before?.evidenceFrom ?? null

  const bound = before?.verdict === "no_difference" ? stoppingRule.lossAgain : stoppingRule.loss
  const isSame = contenders.length > 1 && isDue(model, comparison.leader) && comparison.worstLoss < bound
  const found = isSame ? "no_difference" : find(model, counts, comparison, evidenceFrom)
  const kept = fate === "stays" && found !== "no_difference" &&
    !(found === "firm_winner" && comparison.leader === before!.winner)
  const verdict = kept ? before!.verdict : found
  const winner = kept ? before!.winner : isWon(found) ? comparison.leader : null
  const isNew = before === undefined || before.verdict !== verdict || before.winner !== winner
  return {
    verdict,
    winner,
    contenders,
    since: isNew ? now : before.since,
    evidenceFrom,
    lookedAt: now,
    objective,
  }
}
