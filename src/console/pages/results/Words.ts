import { stoppingRule } from "../../../bandit/Verdict.ts"
import { rateName } from "../../../results/ObjectiveText.ts"
import { choiceText, nameIn, nothingWins } from "../../../results/SendNothingText.ts"
import { preferencesOf } from "../../../results/Preferences.ts"
import type { TemplateResults } from "../../../results/TemplateResults.ts"
import type { WithoutModel } from "../../../results/WithoutModel.ts"
import { count, date, percent, rateFormat, signedPercent } from "../../Format.ts"

// Texts about the results of a template.

/** Joins words by commas and `and`. */
export const list = (parts: ReadonlyArray<string>): string =>
  parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`

/** `plan is pro, daypart is morning`. */
export const segmentText = (segment: Readonly<Record<string, string>>): string =>
  list(Object.entries(segment).map(([name, value]) => `${name} is ${value}`))

/** The name of the action that sends all traffic to one variant. It is called shipping a winner only if there is a winner. */
export const shipLabel = ({ verdict }: Pick<TemplateResults["winner"], "verdict">): string =>
  verdict === "undecided"
    ? "Give one variant all traffic"
    : verdict === "no_difference"
    ? "Ship one variant"
    : "Ship winner"

/** A segment as the query names it. */
export const segmentQuery = (segment: Readonly<Record<string, string>>): string =>
  Object.entries(segment).map((pair) => pair.map(encodeURIComponent).join("=")).join("&")

/** The verdict on the best variant. */
export interface VerdictWords {
  readonly kind: "good" | "accent" | "plain"
  readonly badge: string
  readonly headline: string
  readonly detail: string
  /** The conditions for a winner, each with its present state. */
  readonly steps: ReadonlyArray<{ readonly what: string; readonly now: string; readonly done: boolean }>
}

/** A signed difference between values of the objective: percentage points of a rate, or a plain number. */
const unitOf = (objective: TemplateResults["objective"]) => (value: number): string =>
  `${value < 0 ? "−" : "+"}${Math.abs(typeof objective === "string" ? 100 * value : value).toPrecision(2)}`

/** Says what the recorded probabilities say without a model. Empty without a comparison, unless a verdict needs it. */
export const withoutModelText = (
  { objective, variants, winner }: Judged,
  alone: WithoutModel | null,
): string => {
  const rests = winner.verdict === "firm_winner" && alone?.supports !== true
    ? " The firm verdict rests on the model."
    : ""
  if (alone === null) return rests.trim()
  const nameOf = (id: string) => variants.find(({ copy_id }) => copy_id === id)?.name ?? id
  const unit = unitOf(objective)
  const [low, high] = alone.interval
  const said = low > 0 ? "confirm the order" : high < 0 ? "say the opposite" : "leave the order open"
  return `Without the model, the recorded probabilities of ${count(alone.decisions)} decisions ${said}: the ${
    rateName(objective)
  } of ${nameOf(alone.copy_id)} differs by ${unit(alone.difference)}${
    typeof objective === "string" ? " percentage points" : ""
  } (${unit(low)} to ${unit(high)}, valid however often you look) from that of ${nameOf(alone.baseline)}.${rests}`
}

/** How much better the leader is than the next best, in a sentence; nothing where there is nothing to compare. */
const liftText = (
  { objective, variants, winner: { lift } }: Pick<TemplateResults, "objective" | "variants" | "winner">,
): string => {
  if (lift === null) return ""
  const baseline = variants.find(({ copy_id }) => copy_id === lift.baseline)?.name ?? lift.baseline
  const inPercent = typeof objective === "string"
  const unit = unitOf(objective)
  const [low, high] = lift.difference_interval
  return `Its ${rateName(objective)} differs by ${unit(lift.difference)}${
    inPercent ? " percentage points" : ""
  } (95\u00a0% ` +
    `interval ${unit(low)} to ${unit(high)}) from that of ${baseline}, the next best: a lift of ${
      signedPercent(lift.value)
    } (${signedPercent(lift.interval[0])} to ${signedPercent(lift.interval[1])}).`
}

type Judged = Pick<TemplateResults, "objective" | "segment" | "segments" | "variants" | "winner">

/** A number of decisions with one significant digit, such as `900`. */
const rounded = (decisions: number): string => count(Number(decisions.toPrecision(1)))

/**
 * The days and decisions that a winner still requires, such as `day 1 of at least 7; about 900 more decisions`. Empty if only
 * evidence is missing. Decisions of all variants count, at the leader's current share of the traffic.
 */
export const waitText = ({ variants, winner }: Pick<TemplateResults, "variants" | "winner">): string => {
  const { days, leader, matured_sends: matured, waiting_for: missing } = winner
  const share = variants.find(({ copy_id }) => copy_id === leader)?.share ?? 0
  const more = (stoppingRule.maturedSends - matured) / share
  return [
    ...(missing.includes("days") ? [`day ${Math.floor(days) + 1} of at least ${stoppingRule.days}`] : []),
    ...(missing.includes("sends") && share > 0 ? [`about ${rounded(Math.max(1, more))} more decisions`] : []),
  ].join("; ")
}

/** The segments that prefer another variant than `id`, each in a sentence with both rates. */
export const preferenceTexts = (
  results: Pick<TemplateResults, "objective" | "segments">,
  id: string | null,
): ReadonlyArray<string> =>
  preferencesOf(results, id).map(({ instead, preferred, segment }) => {
    const rate = rateFormat(
      typeof results.objective === "string",
      Math.max(Math.abs(preferred.rate), Math.abs(instead.rate)),
    )
    const range = ([low, high]: readonly [number, number]) => `${rate(low)} to ${rate(high)}`
    return `Where ${segmentText(segment)}, ${preferred.name} does better: ${rate(preferred.rate)} (${
      range(preferred.interval)
    }) instead of ${rate(instead.rate)} (${range(instead.interval)}) for ${instead.name}.`
  })

/** Whether an undecided verdict has its answer: different people prefer different variants. */
export const isPersonal = (results: Pick<TemplateResults, "objective" | "segment" | "segments" | "winner">): boolean =>
  Object.keys(results.segment).length === 0 && results.winner.verdict === "undecided" &&
  results.winner.days >= stoppingRule.days && preferencesOf(results, results.winner.leader).length > 0

/** Conditions that an undecided verdict does not meet yet. */
const openVerdict = (results: Judged, name: string): VerdictWords => {
  const { segment, variants, winner } = results
  const open = { kind: "plain", badge: "Undecided", steps: [] } as const
  const active = variants.filter(({ status }) => status === "active")
  if (active.length === 0) {
    return {
      ...open,
      headline: "No variant is active",
      detail: "Activate a variant, or check the schedules of the active ones.",
    }
  }
  if (active.length === 1) {
    return {
      ...open,
      headline: `${active[0]!.name} has nothing to be compared with`,
      detail: "It is the only active variant. Activate another one to learn which works better.",
    }
  }
  if (winner.leader === null) {
    return {
      ...open,
      headline: "No data yet",
      detail: "Every variant has the same chance until the first outcomes arrive.",
    }
  }
  if (isPersonal(results)) {
    return {
      kind: "good",
      badge: "Personalized",
      headline: "Different people prefer different variants",
      detail: `${name} leads over all people. Each segment gets the variant that works better there more often.`,
      steps: [],
    }
  }
  const wait = Object.keys(segment).length === 0 ? waitText(results) : ""
  const sure = winner.p_best === null ? "" : `It is the best with a probability of ${percent(winner.p_best)}. `
  return {
    ...open,
    headline: `${name} leads, but it is too early to name a winner${wait === "" ? "" : `: ${wait}`}`,
    detail: `${sure}${liftText(results)} Better variants get more traffic in the meantime.`,
    steps: [
      {
        what: `${stoppingRule.days} days of data`,
        now: `${Math.floor(winner.days * 10) / 10} so far`,
        done: winner.days >= stoppingRule.days,
      },
      {
        what: `${stoppingRule.maturedSends} decisions for ${name} that had time to show an effect`,
        now: `${Math.floor(winner.matured_sends)} so far`,
        done: winner.matured_sends >= stoppingRule.maturedSends,
      },
      { what: `evidence that it is better than each of the others`, now: "not enough yet", done: false },
    ],
  }
}

/** The verdict in words, with how sure it is and since when; without one, the missing conditions. */
export const verdictOf = (results: Judged): VerdictWords => {
  const { winner } = results
  const nameOf = (id: string | null) => id === null ? "" : nameIn(results, id)
  const since = winner.since === null ? "" : ` since ${date(new Date(winner.since), "UTC")}`
  switch (winner.verdict) {
    case "firm_winner":
    case "winner": {
      const isFirm = winner.verdict === "firm_winner"
      const leads = winner.leader === winner.copy_id ? liftText(results) : `Here ${nameOf(winner.leader)} leads.`
      const now = nothingWins(results)
        ? `On average over all people, a message does more harm than good. ${leads}`
        : leads
      return {
        kind: "good",
        badge: `${isFirm ? "Firm winner" : "Winner"}${since}`,
        headline: nothingWins(results) ? "Sending nothing is best" : `${nameOf(winner.copy_id)} wins`,
        detail: isFirm
          ? `${now} With equally good variants, this verdict would ever appear with a probability of at most ${
            percent(stoppingRule.errors.firm_winner)
          }, however often you check.`
          : `${now} In ${
            count(stoppingRule.simulated.runs)
          } simulations of two equally good variants, checked daily, ${stoppingRule.simulated.winners} had a winner.`,
        steps: [],
      }
    }
    case "no_difference":
      return {
        kind: "accent",
        badge: `No meaningful difference${since}`,
        headline: "The variants do equally well",
        detail: `Whichever ${choiceText(results)}, you risk less than ${
          percent(stoppingRule.loss)
        } of its rate. Keep the one you like.`,
        steps: [],
      }
    case "undecided":
      return openVerdict(results, nameOf(winner.leader))
  }
}
