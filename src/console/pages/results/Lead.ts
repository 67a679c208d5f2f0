import { stoppingRule } from "../../../bandit/Verdict.ts"
import { t } from "../../../languages/Language.ts"
import type { ChoiceGain } from "../../../results/Answer.ts"
import { type Outlook, outlookRule } from "../../../results/Outlook.ts"
import { unitName } from "../../../results/ObjectiveText.ts"
import { nameIn, nothingWins } from "../../../results/SendNothingText.ts"
import type { TemplateResults, TimedTemplateResults } from "../../../results/TemplateResults.ts"
import type { TemplateSeries } from "../../../results/TemplateSeries.ts"
import { counted, date, decimals, percent, signedCount, signedPercent } from "../../Format.ts"
import { answerTexts, isPersonal, verdictOf, type VerdictWords, waitText, withoutModelText } from "./Words.ts"

// The first line of the results: who leads, by how much, and what to do. Pure.

/** A number with its label, and its interval below it. */
interface LeadFigure {
  readonly label: string
  readonly value: string
  readonly detail: string
}

/** The first lines of the results page. */
export interface Lead extends VerdictWords {
  /** Advice, such as `Keep running about 6 days`. Empty where there is nothing to advise. */
  readonly advice: string
  /** The period in which the verdict applies. Empty without a verdict. */
  readonly reason: string
  /** Who prefers which variant, in sentences. Empty unless different people prefer different variants. */
  readonly preferences: ReadonlyArray<string>
  readonly figures: ReadonlyArray<LeadFigure>
  /** The comparison without a model. Empty without one. */
  readonly withoutModel: string
}

const range = (
  [low, high]: readonly [number, number],
  format: (value: number) => string,
): string =>
  low <= 0 && high >= 0 ? t`${format(low)} to ${format(high)}, may be chance` : t`${format(low)} to ${format(high)}`

/** The interval of a count; in words where its rounded bounds would say that the count is known to be 0. */
export const countRange = ([low, high]: readonly [number, number]): string =>
  Math.max(Math.abs(low), Math.abs(high)) < 0.5 ? t`less than one so far` : range([low, high], signedCount)

const capital = (text: string) => text[0]!.toUpperCase() + text.slice(1)

/** Advice about an experiment without a winner. `isWhole`: the results are of all decisions, as the verdict is. */
const undecidedAdvice = (
  results: Pick<TemplateResults, "decisions" | "variants" | "winner">,
  outlook: Outlook | undefined,
  isWhole: boolean,
) => {
  if (isWhole && results.decisions === 0) return t`The test begins with the first send`
  if (results.winner.leader === null) return t`Keep running: the first outcomes have not arrived`
  if (!isWhole) return ""
  if (outlook === undefined) {
    return waitText(results) === "" ? t`Keep running: the lead is too small to say for how long` : t`Keep running`
  }
  return outlook.kind === "days"
    ? t`Keep running about ${counted(outlook.days, "day")}`
    : t`Keep running: at this traffic, a winner takes more than ${outlookRule.mostDays} days`
}

/**
 * Explains a verdict that today's chance to be best alone would not support: a verdict is kept until the evidence reverses.
 */
const reasonOf = (
  { variants, winner }: Pick<TemplateResults, "variants" | "winner">,
  isWhole: boolean,
  zone: string,
): string => {
  const { copy_id: won, leader, p_best: best, since, verdict } = winner
  if (since === null || verdict === "undecided") return ""
  const day = date(new Date(since), zone)
  if (verdict === "no_difference") {
    return t`The verdict was reached on ${day}. It is kept until ${
      decimals(100 * stoppingRule.lossAgain, 0, 1)
    }\u00a0% of the rate could be lost.`
  }
  const name = leader === null || leader === won ? undefined : nameIn({ variants }, leader)
  return [
    best !== null && best < stoppingRule.probability.later
      ? t`The verdict was reached on ${day}, when the chance to be best was at least ${
        decimals(100 * stoppingRule.probability.later, 0, 1)
      }\u00a0%.`
      : t`The verdict was reached on ${day}.`,
    t`It is kept until the evidence turns: another variant becomes more probably the best.`,
    ...(name === undefined
      ? []
      : isWhole
      ? [t`${name} has the highest rate now; the figures below are about it.`]
      : [t`${name} has the highest rate in this window and segment; the figures below are about it.`]),
  ].join(" ")
}

/** A gain of the present choices with its interval. Empty without one. */
const gainFigure = (label: string, gain: ChoiceGain | null): ReadonlyArray<LeadFigure> =>
  gain === null ? [] : [{ label, value: signedPercent(gain.value), detail: range(gain.interval, signedPercent) }]

/** The gains of personalizing. */
const personalFigures = (
  { answer, objective }: Pick<TemplateResults, "answer" | "objective">,
  gain: TemplateSeries["points"][number]["gain"],
): ReadonlyArray<LeadFigure> => [
  ...gainFigure(t`Personalizing over the best single variant`, answer.gain_over_best),
  ...gainFigure(t`Personalizing over a random split`, answer.gain_over_split),
  ...soFar(objective, gain),
]

/** The gain since the start of the window. */
const soFar = (
  objective: TemplateResults["objective"],
  gain: TemplateSeries["points"][number]["gain"],
): ReadonlyArray<LeadFigure> =>
  gain === null ? [] : [{
    label: t`Additional ${unitName(objective)} so far`,
    value: signedCount(gain.gained),
    detail: countRange(gain.interval),
  }]

/** Lifts of the leader, the gain so far, and the leader's chance to be best. */
const figuresOf = (
  { objective, variants, winner }: Pick<TemplateResults, "objective" | "variants" | "winner">,
  gain: TemplateSeries["points"][number]["gain"],
): ReadonlyArray<LeadFigure> => {
  const { lift, lift_over_split: overSplit, p_best: best } = winner
  return [
    ...(lift === null ? [] : [{
      label: t`Lift over ${nameIn({ variants }, lift.baseline)}, the runner-up`,
      value: signedPercent(lift.value),
      detail: range(lift.interval, signedPercent),
    }]),
    ...(overSplit === null ? [] : [{
      label: t`Lift over a random split`,
      value: signedPercent(overSplit.value),
      detail: range(overSplit.interval, signedPercent),
    }]),
    ...soFar(objective, gain),
    ...(best === null
      ? []
      : [{ label: t`Chance to be best`, value: percent(best), detail: t`of all active variants` }]),
  ]
}

/** The first line of the results of a template. `zone`: the organization's time zone. */
export const leadOf = (
  results: TemplateResults & Partial<Pick<TimedTemplateResults, "without_model">>,
  points: ReadonlyArray<Pick<TemplateSeries["points"][number], "gain">>,
  outlook: Outlook | undefined,
  zone: string,
): Lead => {
  const verdict = verdictOf(results, zone)
  const { window, winner } = results
  const isWhole = window.mode === "adaptive" && Object.keys(results.segment).length === 0
  const active = results.variants.filter(({ status }) => status === "active").length
  const gain = points.at(-1)?.gain ?? null
  const figures = active < 2 ? [] : isPersonal(results) ? personalFigures(results, gain) : figuresOf(results, gain)
  const advice = active < 2
    ? ""
    : isPersonal(results)
    ? t`Keep personalizing`
    : winner.verdict === "undecided"
    ? undecidedAdvice(results, outlook, isWhole)
    : winner.verdict === "no_difference"
    ? t`Ship the variant you like`
    : nothingWins(results)
    ? t`Messages go only where they are worth their cost`
    : t`Ship it`
  return {
    ...verdict,
    advice: capital(advice || " ").trim(),
    reason: active < 2 || isPersonal(results) ? "" : reasonOf(results, isWhole, zone),
    preferences: answerTexts(results),
    figures,
    withoutModel: active < 2 ? "" : withoutModelText(results, results.without_model ?? null),
  }
}
