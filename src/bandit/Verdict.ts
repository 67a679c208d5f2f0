import { contextsOf } from "./Contexts.ts"
import type { Counts } from "./Counts.ts"
import { Evidence, nextHour } from "./Evidence.ts"
import type { ModelSnapshot } from "./Model.ts"
import { NetEvidence } from "./NetEvidence.ts"
import { meanOf, personalPlaces, sum } from "./Personal.ts"
import { eligibleSet, Policy } from "./Policy.ts"
import { maturedSends } from "./SendNothing.ts"
import { drawAll } from "./Report.ts"
import { seededNormal } from "./SeededNormal.ts"
import type { VerdictName, VerdictState } from "./VerdictState.ts"
import { hourMillis } from "./Window.ts"
import { compareRates, daysOfData, drawPlaces, type Place, type VariantComparison } from "./Winner.ts"

/** Conditions of a verdict. */
export const stoppingRule = {
  /** Minimum days of data. */
  days: 7,
  /** Minimum matured sends of the leader. */
  maturedSends: 100,
  /**
   * Maximum loss from choosing any variant for `no_difference`, as a share of its rate. A smaller one takes more outcomes than most
   * templates have: 5 % takes about 13,000 of each of three variants.
   */
  loss: 0.05,
  /** Loss at which a verdict of `no_difference` is withdrawn, as a share of the rate. */
  lossAgain: 0.075,
  /**
   * Probability of being best from which the leader is a winner. `first` applies during the first `firstDays` days of
   * data, when few outcomes and many evaluations would name a winner by chance, `later` after them.
   */
  probability: { first: 0.99, later: 0.975, firstDays: 21 },
  /**
   * Minimum evidence against each contender for a winner. Calibrated by simulation together with the probabilities. The
   * test's own bound for 5 % requires more evidence than the policy collects, because the policy soon stops showing the
   * weaker variant. With a share of the runner-up, more evidence is collected, of false winners too.
   */
  evidence: { usual: 6, withShare: 10 },
  /**
   * Number of simulated runs of equally good variants with the default share of the runner-up and daily evaluations,
   * and of the runs that had a winner; see docs/decisions/0185.
   */
  simulated: { runs: 317, winners: 13 },
  /** Maximum probability of ever naming a firm winner among equally good variants. */
  errors: { firm_winner: 0.01 },
} as const

/** Returns the minimum evidence against each contender for a winner. `runnerUpFloor` as in `Policy`. */
export const neededEvidence = (runnerUpFloor: number): number =>
  stoppingRule.evidence[runnerUpFloor > 0 ? "withShare" : "usual"]

const mostDraws = 1000
const fewestDraws = 400

/** Maximum number of multiplications for the draws of an evaluation. */
const drawBudget = 50_000_000

/** Whether there is enough data for any verdict. */
const isDue = (model: ModelSnapshot, leader: string | null): boolean =>
  daysOfData(model) >= stoppingRule.days &&
  maturedSends(model, leader) >= stoppingRule.maturedSends

/** Returns the number of draws for a model and its contenders, and the function that draws their rates. */
const drawing = (model: ModelSnapshot, contenders: ReadonlyArray<string>) => {
  const { names, size } = contextsOf(model.scheme)
  const each = contenders.length * (size * size * 1.5 + model.traffic.length * (names.length + 1) * 2)
  const draws = Math.max(fewestDraws, Math.min(mostDraws, Math.floor(drawBudget / Math.max(1, each))))
  // An error in the level of all messages cancels between messages, but not against nothing. A single model is too sure of it.
  const draw = (place: Place) =>
    model.nothing === undefined
      ? drawPlaces([model], contenders, seededNormal(1), [place])[0]!
      : drawAll(model, contenders, 1, [place])[0]!
  return { draw, draws }
}

/**
 * Whether the best choice in each context is expected to gain less than `bound` over every single contender, as a share. Where
 * different people prefer different variants, variants that are equal over all people still differ.
 */
const suitEveryone = (
  model: ModelSnapshot,
  contenders: ReadonlyArray<string>,
  { draw, draws }: ReturnType<typeof drawing>,
  { variants }: VariantComparison,
  bound: number,
): boolean => {
  const { traffic } = model
  const policy = new Policy(model)
  const all = eligibleSet(contenders)
  const choices = traffic.map(({ cell }) => policy.choice(policy.contexts.parse(cell), all, 0))
  const best = meanOf(sum(draw(personalPlaces({ traffic, choices }, draws)[0]!)))
  return variants.every(({ rate }) => best < rate * (1 + bound))
}

/** The verdict of one evaluation, without regard to earlier ones. */
const find = (
  model: ModelSnapshot,
  counts: Counts,
  organic: Counts | undefined,
  comparison: VariantComparison,
  from: number | null,
  needed: number,
): VerdictName => {
  const { leader, variants } = comparison
  const first = variants.find(({ id }) => id === leader)
  if (first === undefined || variants.length < 2 || !isDue(model, leader)) return "undecided"
  const { firstDays, ...probability } = stoppingRule.probability
  if (first.pBest < (daysOfData(model) < firstDays ? probability.first : probability.later)) return "undecided"
  const evidence = model.nothing === undefined || organic === undefined
    ? new Evidence(counts, model, from ?? undefined)
    : new NetEvidence(counts, organic, model.nothing.organic === null, from ?? undefined)
  let weakest = Infinity
  for (const { id } of variants) if (id !== first.id) weakest = Math.min(weakest, evidence.of(first.id, id))
  // Divided by the number of variants, because any of them might be ahead by chance.
  if (weakest >= variants.length / stoppingRule.errors.firm_winner) return "firm_winner"
  return weakest >= needed ? "winner" : "undecided"
}

const isWon = (verdict: VerdictName): boolean => verdict === "winner" || verdict === "firm_winner"

/**
 * Whether to withdraw the winner. `turned`: another variant is more probably the best. `open`: the winner is no longer
 * among the variants, no other variant is left, or a new variant has not been compared with it. Otherwise `stays`.
 */
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
 * Evaluates the model and the counts, and continues from the last verdict. Evaluations happen at most once an hour, so
 * that verdicts depend on the data and hardly on how often a model is fitted.
 *
 * After the days and sends of the stopping rule, the verdict is `no_difference` if choosing any variant loses less than
 * 5 % of the rate with a probability of 95 %, and none is a firm winner. It is withdrawn if the loss reaches 7.5 %. Otherwise the verdict is
 * `winner` if the leader is the best with a probability of 97.5 % (99 % in the first three weeks) and the evidence
 * against each contender is at least 6, or 10 with a share of the runner-up. It is `firm_winner` if the evidence is so
 * large that equally good variants ever reach it with a probability of at most 1 %. A winner stays until another variant
 * is more probably the best. From then on, only later sends are evidence.
 */
export const look = (
  model: ModelSnapshot,
  counts: Counts,
  options: {
    readonly active: Iterable<string>
    readonly objective: string
    readonly before: VerdictState | undefined
    /** Decisions to send nothing. Present if the template may send nothing. */
    readonly organic?: Counts | undefined
    /** See `Policy.runnerUpFloor`. Default: 0. */
    readonly runnerUpFloor?: number
  },
): VerdictState => {
  const { objective, runnerUpFloor = 0 } = options
  const now = model.fittedAt
  const before = options.before?.objective === objective ? options.before : undefined
  if (before !== undefined && Math.floor(before.lookedAt / hourMillis) >= Math.floor(now / hourMillis)) return before
  const contenders = [...options.active].sort()
  if (daysOfData(model) < stoppingRule.days) {
    // Too early for a verdict.
    const { since = now } = before ?? {}
    return { verdict: "undecided", winner: null, contenders, since, evidenceFrom: null, lookedAt: 0, objective }
  }
  const drawn = drawing(model, contenders)
  const comparison = compareRates(contenders, drawn.draw({ traffic: model.traffic, draws: drawn.draws }))
  const fate = before !== undefined && isWon(before.verdict) ? judgeWinner(before, comparison) : undefined
  const evidenceFrom = fate === "turned" ? nextHour(now) : before?.evidenceFrom ?? null

  const best = find(model, counts, options.organic, comparison, evidenceFrom, neededEvidence(runnerUpFloor))
  const bound = before?.verdict === "no_difference" ? stoppingRule.lossAgain : stoppingRule.loss
  const isSame = best !== "firm_winner" && contenders.length > 1 && isDue(model, comparison.leader) &&
    comparison.worstLoss < bound && suitEveryone(model, contenders, drawn, comparison, bound)
  const found = isSame ? "no_difference" : best
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
    leaderBest: Math.max(0, ...comparison.variants.map(({ pBest }) => pBest)),
    objective,
  }
}
