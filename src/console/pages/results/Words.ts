import { stoppingRule } from "../../../bandit/Verdict.ts"
import { english, t, translated } from "../../../languages/Language.ts"
import { rateName, unitName } from "../../../results/ObjectiveText.ts"
import { equalChoices, nameIn, nothingWins } from "../../../results/SendNothingText.ts"
import { answerRule } from "../../../results/Answer.ts"
import { preferencesOf, waitsOf } from "../../../results/Preferences.ts"
import type { TemplateResults } from "../../../results/TemplateResults.ts"
import type { WithoutModel } from "../../../results/WithoutModel.ts"
import { count, date, decimals, percent, rateFormat, signedPercent, twoDigits } from "../../Format.ts"

// Texts about the results of a template.

/** Joins words by commas and `and`. */
export const list = (parts: ReadonlyArray<string>): string =>
  parts.length < 2 ? parts.join("") : t`${parts.slice(0, -1).join(", ")} and ${parts.at(-1)!}`

const builtInAttributes: Readonly<Record<string, string>> = {
  daypart: english("time of day"),
  weekend: english("kind of day"),
}

const builtInValues: Readonly<Record<string, string>> = {
  night: english("night"),
  morning: english("morning"),
  afternoon: english("afternoon"),
  evening: english("evening"),
  weekday: english("weekday"),
  weekend: english("weekend"),
}

/** The name of a learning attribute in words: `time of day` for `daypart`. */
export const attributeText = (name: string): string =>
  Object.hasOwn(builtInAttributes, name) ? translated(builtInAttributes[name]!) : name

/** The value of a learning attribute in words. */
export const valueText = (name: string, value: string): string =>
  Object.hasOwn(builtInAttributes, name) ? translated(builtInValues[value] ?? value) : value

/** `plan is pro and time of day is morning`. */
export const segmentText = (segment: Readonly<Record<string, string>>): string =>
  list(Object.entries(segment).map(([name, value]) => t`${attributeText(name)} is ${valueText(name, value)}`))

/** The name of the action that sends all traffic to one variant. It is called shipping a winner only if there is a winner. */
export const shipLabel = ({ verdict }: Pick<TemplateResults["winner"], "verdict">): string =>
  verdict === "undecided" || verdict === "no_difference" ? t`Ship one variant` : t`Ship winner`

/** The verdict that labels and advice follow. Without one variant for all people, none is shipped as the winner. */
export const shownVerdict = (
  results: Pick<TemplateResults, "answer" | "winner">,
): Pick<TemplateResults["winner"], "verdict"> => isPersonal(results) ? { verdict: "undecided" } : results.winner

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
  `${value < 0 ? "−" : "+"}${twoDigits(Math.abs(typeof objective === "string" ? 100 * value : value))}`

/** A difference with its unit: percentage points of a rate, or a plain number. */
const differenceText = (objective: TemplateResults["objective"], value: number): string => {
  const difference = unitOf(objective)(value)
  return typeof objective === "string" ? t`${difference} percentage points` : difference
}

/** Says what the recorded probabilities say without a model. Empty without a comparison, unless a verdict needs it. */
export const withoutModelText = (
  { objective, variants, winner }: Judged,
  alone: WithoutModel | null,
): string => {
  const rests = winner.verdict === "firm_winner" && alone?.supports !== true
    ? [t`The firm verdict rests on the model.`]
    : []
  if (alone === null) return rests.join("")
  const unit = unitOf(objective)
  const [low, high] = alone.interval
  const sends = count(alone.decisions)
  const found = t`the ${rateName(objective)} of ${nameIn({ variants }, alone.copy_id)} differs by ${
    differenceText(objective, alone.difference)
  } (${unit(low)} to ${unit(high)}, valid however often you look) from that of ${nameIn({ variants }, alone.baseline)}.`
  return [
    low > 0
      ? t`Without the model, the recorded probabilities of ${sends} sends confirm the order: ${found}`
      : high < 0
      ? t`Without the model, the recorded probabilities of ${sends} sends say the opposite: ${found}`
      : t`Without the model, the recorded probabilities of ${sends} sends leave the order open: ${found}`,
    ...rests,
  ].join(" ")
}

/** How much better the leader is than the next best, in a sentence; nothing where there is nothing to compare. */
const liftText = (
  { objective, variants, winner: { lift } }: Pick<TemplateResults, "objective" | "variants" | "winner">,
): string => {
  if (lift === null) return ""
  const unit = unitOf(objective)
  const [low, high] = lift.difference_interval
  return t`Its ${rateName(objective)} differs by ${differenceText(objective, lift.difference)} (95\u00a0% interval ${
    unit(low)
  } to ${unit(high)}) from that of ${nameIn({ variants }, lift.baseline)}, the next best: a lift of ${
    signedPercent(lift.value)
  } (${signedPercent(lift.interval[0])} to ${signedPercent(lift.interval[1])}).`
}

type Judged = Pick<
  TemplateResults,
  "answer" | "decisions" | "objective" | "segment" | "segments" | "variants" | "window" | "winner"
>

/** A number of decisions with one significant digit, such as `900`. */
const rounded = (decisions: number): string => count(Number(decisions.toPrecision(1)))

/**
 * The days and decisions that a winner still requires, such as `day 1 of at least 7; about 900 more sends`. Empty if only
 * evidence is missing. Decisions of all variants count, at the leader's current share of the traffic.
 */
export const waitText = (results: Pick<TemplateResults, "variants" | "winner">): string => {
  const { day, decisions, of_days: days } = waitsOf(results)
  const missing = results.winner.waiting_for
  return [
    ...(missing.includes("days") ? [t`day ${day} of at least ${days}`] : []),
    ...(missing.includes("sends") && decisions !== null
      ? [t`about ${rounded(Math.max(1, decisions))} more sends`]
      : []),
  ].join("; ")
}

/** A rate with its interval, and the rate of another variant with its interval, in a sentence about a segment. */
const preferenceText = (
  objective: TemplateResults["objective"],
  segment: Readonly<Record<string, string>>,
  preferred: { readonly name: string; readonly rate: number; readonly interval: readonly [number, number] },
  instead: typeof preferred,
): string => {
  const rate = rateFormat(typeof objective === "string", Math.max(Math.abs(preferred.rate), Math.abs(instead.rate)))
  const range = ([low, high]: readonly [number, number]) => t`${rate(low)} to ${rate(high)}`
  return t`Where ${segmentText(segment)}, ${preferred.name} does better: ${rate(preferred.rate)} (${
    range(preferred.interval)
  }) instead of ${rate(instead.rate)} (${range(instead.interval)})
    for ${instead.name}.`
}

/** The segments that prefer another variant than `id`, each in a sentence with both rates. */
export const preferenceTexts = (
  results: Pick<TemplateResults, "answer" | "objective" | "segments">,
  id: string | null,
): ReadonlyArray<string> =>
  preferencesOf(results, id, isPersonal(results) ? answerRule.inSegment : undefined).map((
    { instead, preferred, segment },
  ) => preferenceText(results.objective, segment, preferred, instead))

/** Who prefers which variant: a sentence for each segment of the answer. */
export const answerTexts = (
  results: Pick<TemplateResults, "answer" | "objective" | "variants">,
): ReadonlyArray<string> =>
  results.answer.segments.map(({ copy_id: id, instead, interval, rate, segment }) =>
    preferenceText(results.objective, segment, { name: nameIn(results, id), rate, interval }, {
      ...instead,
      name: nameIn(results, instead.copy_id),
    })
  )

/** The loss from giving all people one variant, in outcomes per 1,000 decisions. Empty without a comparison. */
export const shippingText = (
  { answer, objective }: Pick<TemplateResults, "answer" | "objective">,
  id: string,
): string => {
  const cost = answer.shipping.find(({ copy_id }) => copy_id === id)
  if (cost === undefined) return ""
  const { interval: [low, high], loss, share } = cost
  const number = (value: number) => {
    const size = Math.abs(1000 * value)
    return size >= 10 ? count(size) : twoDigits(size)
  }
  const signed = (value: number) => `${value < 0 ? "−" : ""}${number(value)}`
  const what = `${number(loss)} ${unitName(objective)}`
  const part = percent(Math.abs(share))
  const mayBeChance = low <= 0 && high >= 0
  if (loss < 0) {
    const [from, to] = [signed(-high), signed(-low)]
    return mayBeChance
      ? t`Shipping it gains about ${what} per 1,000 sends (${from} to ${to}), ${part} of the present rate, compared with the
        present choices; the difference may be chance.`
      : t`Shipping it gains about ${what} per 1,000 sends (${from} to ${to}), ${part} of the present rate, compared with the
        present choices.`
  }
  const [from, to] = [signed(low), signed(high)]
  return mayBeChance
    ? t`Shipping it costs about ${what} per 1,000 sends (${from} to ${to}), ${part} of the present rate, compared with the
      present choices; the difference may be chance.`
    : t`Shipping it costs about ${what} per 1,000 sends (${from} to ${to}), ${part} of the present rate, compared with the
      present choices.`
}

/** Whether different people prefer different variants. */
export const isPersonal = ({ answer }: Pick<TemplateResults, "answer">): boolean => answer.kind === "different_people"

/** Conditions that an undecided verdict does not meet yet. */
const openVerdict = (results: Judged, name: string): VerdictWords => {
  const { decisions, segment, variants, window, winner } = results
  const open = { kind: "plain", badge: t`Undecided`, steps: [] } as const
  const active = variants.filter(({ status }) => status === "active")
  if (active.length === 0) {
    return {
      ...open,
      headline: t`No variant is active`,
      detail: t`Activate a variant, or check the schedules of the active ones.`,
    }
  }
  if (active.length === 1) {
    // A variant that was shipped, or whose rivals were deactivated one by one.
    const hadRivals = variants.some((one) =>
      one.status !== "active" && one.status !== "out_of_season" && one.decisions > 0
    )
    return {
      ...open,
      badge: hadRivals ? t`Shipped` : t`One variant`,
      headline: hadRivals
        ? t`${active[0]!.name} gets all traffic`
        : t`${active[0]!.name} has nothing to be compared with`,
      detail: t`It is the only active variant. Activate another one to learn which works better.`,
    }
  }
  if (decisions === 0 && window.mode === "adaptive" && Object.keys(segment).length === 0) {
    return {
      ...open,
      badge: t`Not started`,
      headline: t`No sends yet`,
      detail: t`Every variant has the same chance until the first outcomes arrive.`,
    }
  }
  if (winner.leader === null) {
    return {
      ...open,
      headline: t`No data yet`,
      detail: t`Every variant has the same chance until the first outcomes arrive.`,
    }
  }
  const wait = Object.keys(segment).length === 0 ? waitText(results) : ""
  const lift = liftText(results)
  return {
    ...open,
    headline: wait === ""
      ? t`${name} leads, but the lead may be chance`
      : t`${name} leads, but it is too early to name a winner: ${wait}`,
    detail: [
      ...(winner.p_best === null ? [] : [t`It is the best with a probability of ${percent(winner.p_best)}.`]),
      ...(lift === "" ? [] : [lift]),
      t`Better variants get more traffic in the meantime.`,
    ].join(" "),
    steps: [
      {
        what: t`${stoppingRule.days} days of data`,
        now: t`${decimals(Math.floor(winner.days * 10) / 10, 0, 1)} so far`,
        done: winner.days >= stoppingRule.days,
      },
      {
        what: t`${stoppingRule.maturedSends} sends of ${name} that had time to show an effect`,
        now: t`${count(Math.floor(winner.matured_sends))} so far`,
        done: winner.matured_sends >= stoppingRule.maturedSends,
      },
      { what: t`evidence that it is better than each of the others`, now: t`not enough yet`, done: false },
    ],
  }
}

/** The words of a template whose variants suit different people. */
const personalVerdict = ({ answer, variants }: Judged): VerdictWords => ({
  kind: "good",
  badge: t`Personalized`,
  headline: t`Different people prefer different variants`,
  detail: t`${
    nameIn({ variants }, answer.shipping[0]?.copy_id ?? "")
  } is the best single variant for all people. The present choices are better than any
    single variant with a probability of ${
    percent(answer.p_better ?? 0)
  }. Each segment gets the variant that works better
    there more often. Gains compare the present choices, with their share for exploration.`,
  steps: [],
})

/**
 * The verdict in words, with how sure it is and since when; without one, the missing conditions. `zone`: the
 * organization's time zone.
 */
export const verdictOf = (results: Judged, zone: string): VerdictWords => {
  const { winner } = results
  if (isPersonal(results)) return personalVerdict(results)
  const nameOf = (id: string | null) => id === null ? "" : nameIn(results, id)
  const since = winner.since === null ? undefined : date(new Date(winner.since), zone)
  switch (winner.verdict) {
    case "firm_winner":
    case "winner": {
      const isFirm = winner.verdict === "firm_winner"
      const leads = winner.leader === winner.copy_id ? liftText(results) : t`Here ${nameOf(winner.leader)} leads.`
      const found = [
        ...(nothingWins(results) ? [t`On average over all people, a message does more harm than good.`] : []),
        leads,
      ]
      return {
        kind: "good",
        badge: since === undefined
          ? isFirm ? t`Firm winner` : t`Winner`
          : isFirm
          ? t`Firm winner since ${since}`
          : t`Winner since ${since}`,
        headline: nothingWins(results) ? t`Sending nothing is best` : t`${nameOf(winner.copy_id)} wins`,
        detail: [
          ...found,
          isFirm
            ? t`With equally good variants, this verdict would ever appear with a probability of at most ${
              percent(stoppingRule.errors.firm_winner)
            }, however often you check.`
            : t`In ${
              count(stoppingRule.simulated.runs)
            } simulations of two equally good variants, checked daily, ${stoppingRule.simulated.winners} had a winner.`,
        ].join(" "),
        steps: [],
      }
    }
    case "no_difference":
      return {
        kind: "accent",
        badge: since === undefined ? t`No meaningful difference` : t`No meaningful difference since ${since}`,
        headline: t`${equalChoices(results)} are within ${100 * stoppingRule.loss}\u00a0% of each other`,
        detail: t`Whichever you ship, you risk less than ${
          100 * stoppingRule.loss
        }\u00a0% of its rate with a probability of 95\u00a0%,
          and choosing by segment gains no more. Keep the one you like.`,
        steps: [],
      }
    case "undecided":
      return openVerdict(results, nameOf(winner.leader))
  }
}
