import { encodeContext } from "../bandit/Contexts.ts"
import { stoppingRule } from "../bandit/Verdict.ts"
import { columnEvents, eventKinds } from "../domain/EventKinds.ts"
import { weightsOf } from "../domain/ObjectiveWeights.ts"
import { candidateName } from "../domain/SendNothing.ts"
import type { Objective } from "../domain/Template.ts"
import { earlierText } from "../results/ExposureEffects.ts"
import { healthLine, healthWords } from "../results/Health.ts"
import { intervalPromise, movedText, objectiveText, otherCurrencyText, rateDecimals } from "../results/ObjectiveText.ts"
import { equalChoices, nothingWins, sendNothingText } from "../results/SendNothingText.ts"
import { setAsideText } from "../results/SetAsideText.ts"
import type {
  OutcomeCounts,
  TemplateResults,
  TimedTemplateResults,
  VariantResults,
  VariantStatus,
} from "../results/TemplateResults.ts"
import { table } from "./Table.ts"

// Formats the results of a template for a terminal. Pure.

const statusText: { readonly [status in VariantStatus]: string } = {
  active: "active",
  out_of_season: "out of season",
  stopped: "stopped",
  removed: "removed",
}

/** Outcomes with a column of their own. A column without events is omitted unless its outcome is the objective. */
const shownOutcomes: ReadonlyArray<readonly [keyof OutcomeCounts, string]> = [
  ...columnEvents.filter((event) => event !== "sent").map((event) =>
    [event, eventKinds[event].words.column!.toLowerCase()] as const
  ),
  ["negative", "negative"],
]

const barWidth = 25

const nothing = "–"
const noData = "no data"

/** A share in percent: `83 %`, `4.2 %`, `0.35 %`; shares close to 0 and to 1 are `<0.01 %` and `>99 %`. */
export const percent = (share: number): string => {
  const value = share * 100
  if (value > 99 && value < 100) return ">99 %"
  if (value > 0 && value < 0.01) return "<0.01 %"
  if (value >= 10 || value === 0) return `${Math.round(value)} %`
  return `${value.toFixed(value >= 1 ? 1 : 2)} %`
}

/** Returns a format with three digits for rates up to `largest`: in percent, or a plain number for a mix. */
const rateFormat = (objective: Objective, largest: number): (rate: number) => string => {
  const inPercent = typeof objective === "string"
  const decimals = rateDecimals(inPercent, largest)
  return (rate) => `${(inPercent ? 100 * rate : rate).toFixed(decimals)}${inPercent ? " %" : ""}`
}

/** Draws an interval with its estimate on a scale: `╶──●─╴`. */
export const bar = (
  [low, high]: readonly [number, number],
  rate: number,
  scale: readonly [number, number],
  width = barWidth,
): string => {
  const span = scale[1] - scale[0]
  const at = (value: number) =>
    span > 0 ? Math.min(width - 1, Math.max(0, Math.round((value - scale[0]) / span * (width - 1)))) : 0
  const cells = new Array<string>(width).fill(" ")
  const [from, to] = [at(low), at(high)]
  for (let i = from; i <= to; i++) cells[i] = i === from ? "╶" : i === to ? "╴" : "─"
  cells[at(rate)] = "●"
  return cells.join("")
}

/** Pads the texts of a column on the left to one width, so that numbers align on the right. */
const right = (heading: string, texts: ReadonlyArray<string>): { heading: string; texts: ReadonlyArray<string> } => {
  const width = Math.max(heading.length, ...texts.map((text) => text.length))
  return { heading: heading.padStart(width), texts: texts.map((text) => text.padStart(width)) }
}

const byRate = (a: VariantResults, b: VariantResults): number =>
  Number(b.status === "active") - Number(a.status === "active") || (b.rate ?? -1e6) - (a.rate ?? -1e6) ||
  (a.copy_id < b.copy_id ? -1 : a.copy_id > b.copy_id ? 1 : 0)

/** A table of the variants: active variants first, then by rate. */
export const variantsTable = (variants: ReadonlyArray<VariantResults>, objective: Objective): string => {
  const sorted = [...variants].sort(byRate)
  const weights: { readonly [outcome: string]: number } = weightsOf(objective)
  const outcomes = shownOutcomes.filter(([outcome]) =>
    (weights[outcome] ?? 0) !== 0 || (outcome === "conversion" && weights["revenue"] !== 0) ||
    sorted.some((variant) => variant.outcomes[outcome] > 0)
  )
  const intervals = sorted.flatMap(({ interval }) => interval === null ? [] : [interval])
  const low = Math.min(...intervals.map(([from]) => from))
  const high = Math.max(...intervals.map(([, to]) => to))
  const rate = rateFormat(
    objective,
    Math.max(0, ...sorted.map((variant) => Math.abs(variant.rate ?? variant.raw_rate ?? 0))),
  )
  const ends = intervals.length === 0 ? ["", ""] : [rate(low), rate(high)]
  const scale = ends[0] + " ".repeat(Math.max(1, barWidth - ends[0]!.length - ends[1]!.length)) + ends[1]
  const columns = [
    ...(sorted.some(({ revenue }) => revenue !== null)
      ? [right("revenue", sorted.map(({ revenue }) => revenue === null ? nothing : revenue.value.toFixed(2)))]
      : []),
    right("raw rate", sorted.map(({ raw_rate }) => raw_rate === null ? nothing : rate(raw_rate))),
    right("rate", sorted.map((variant) => variant.rate === null ? noData : rate(variant.rate))),
    right(
      "95 % interval",
      sorted.map(({ interval }) => interval === null ? nothing : `${rate(interval[0])} to ${rate(interval[1])}`),
    ),
    {
      heading: scale,
      texts: sorted.map(({ interval, rate }) =>
        interval === null || rate === null ? "" : bar(interval, rate, [low, high])
      ),
    },
    right("best", sorted.map(({ p_best }) => p_best === null ? nothing : percent(p_best))),
    right("loss", sorted.map(({ expected_loss }) => expected_loss === null ? nothing : percent(expected_loss))),
    right("share", sorted.map(({ share, status }) => status === "active" ? percent(share) : nothing)),
  ]
  const withStatus = sorted.some(({ status }) => status !== "active")
  const withVoided = sorted.some(({ voided }) => voided > 0)
  return table(
    [
      "variant",
      ...(withStatus ? ["status"] : []),
      "decisions",
      ...(withVoided ? ["voided"] : []),
      "matured",
      ...outcomes.map(([, heading]) => heading),
      ...columns.map(({ heading }) => heading),
    ],
    sorted.map((variant, row) => [
      candidateName(variant.copy_id),
      ...(withStatus ? [statusText[variant.status]] : []),
      variant.decisions,
      ...(withVoided ? [variant.voided] : []),
      Math.round(variant.matured_sends),
      ...outcomes.map(([outcome]) => variant.outcomes[outcome]),
      ...columns.map(({ texts }) => texts[row]!),
    ]),
  )
}

const list = (parts: ReadonlyArray<string>): string =>
  parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`

const days = (count: number): string => `${Math.floor(count * 10) / 10} ${count === 1 ? "day" : "days"}`

/** The lift of the leader over the second-best variant. */
const liftText = ({ objective, winner: { leader, lift } }: Pick<TemplateResults, "objective" | "winner">): string => {
  if (lift === null) return ""
  const signed = (text: string, value: number) => value < 0 ? text : `+${text}`
  const relative = (value: number) => signed(percent(value), value)
  const inPercent = typeof objective === "string"
  const unit = (value: number) => signed((inPercent ? 100 * value : value).toPrecision(2), value)
  const [low, high] = lift.difference_interval
  return ` Against ${lift.baseline}, the next best, ${leader} has ${relative(lift.value)} (${
    relative(lift.interval[0])
  } to ${relative(lift.interval[1])}), that is ${unit(lift.difference)} ${
    inPercent ? "percentage points" : "per decision"
  } (${unit(low)} to ${unit(high)}).`
}

/** A sentence with the comparison without a model. Empty without one. */
export const withoutModelLines = (
  { objective, winner, without_model: alone }: Pick<TimedTemplateResults, "objective" | "winner" | "without_model">,
): ReadonlyArray<string> => {
  const rests = winner.verdict === "firm_winner" && alone?.supports !== true
    ? ["The firm verdict rests on the model."]
    : []
  if (alone === null) return rests
  const inPercent = typeof objective === "string"
  const unit = (value: number) => `${value < 0 ? "" : "+"}${(inPercent ? 100 * value : value).toPrecision(2)}`
  const [low, high] = alone.interval
  return [
    [
      `Without a model, by the recorded probabilities of ${alone.decisions} decisions: ${
        candidateName(alone.copy_id)
      } has ${unit(alone.difference)} ${inPercent ? "percentage points" : "per decision"} over ${
        candidateName(alone.baseline)
      } (${unit(low)} to ${unit(high)}).`,
      ...rests,
    ].join(" "),
  ]
}

/** A sentence with the verdict, or with the reason why there is no verdict yet. */
export const winnerSentence = (results: Pick<TemplateResults, "objective" | "variants" | "winner">): string => {
  const { variants, winner } = results
  const leader = winner.leader === null ? null : candidateName(winner.leader)
  const best = winner.p_best === null ? "unknown" : percent(winner.p_best)
  const since = winner.since === null ? "" : ` since ${winner.since.slice(0, 10)}`
  switch (winner.verdict) {
    case "firm_winner":
    case "winner": {
      const sure = winner.verdict === "firm_winner" ? "Firm winner" : "Winner"
      const now = winner.leader === winner.copy_id
        ? `It is the best with a probability of ${best}.${liftText(results)}`
        : `Here ${leader ?? "no variant"} leads.`
      return `${sure}${since}: ${candidateName(winner.copy_id ?? "")}. ${
        nothingWins(results) ? "On average over all people, a message does more harm than good. " : ""
      }${now}`
    }
    case "no_difference":
      return `No meaningful difference${since}. ${equalChoices(results)} are within ${
        100 * stoppingRule.loss
      } % of each other with a probability of 95 %.`
    case "undecided": {
      const active = variants.filter(({ status }) => status === "active")
      if (active.length === 0) return "Undecided: no variant is active now."
      if (active.length === 1) return `Undecided: ${active[0]!.copy_id} is the only active variant.`
      const lacks = winner.waiting_for.flatMap((what) => {
        switch (what) {
          case "days":
            return [`${stoppingRule.days} days of data (${days(winner.days)} so far)`]
          case "sends":
            return [
              `${stoppingRule.maturedSends} matured decisions for ${leader ?? "a leader"} (${
                Math.floor(winner.matured_sends)
              } so far)`,
            ]
          case "certainty":
            return ["evidence that one is better than each of the others"]
          case "outcomes":
          case "variants":
            return []
        }
      })
      // Before the first outcome, no variant leads.
      const now = leader === null
        ? "there is no data yet"
        : `${leader} leads, the best with a probability of ${best}.${liftText(results)}`
      return `Undecided: ${now.replace(/\.$/, "")}. A winner takes ${list(lacks)}.`
    }
  }
}

/** Lines with the answer that different people prefer different variants. Empty for other answers. */
export const personalLines = (
  { answer, objective }: Pick<TemplateResults, "answer" | "objective">,
): ReadonlyArray<string> => {
  const { gain_over_best: overBest, gain_over_split: overSplit, kind, segments } = answer
  if (kind !== "different_people") return []
  const rate = rateFormat(objective, Math.max(...segments.map((one) => Math.max(one.rate, one.instead.rate))))
  const range = ([low, high]: readonly [number, number], format: (value: number) => string) =>
    `(${format(low)} to ${format(high)})`
  const signed = (value: number) => `${value < 0 ? "-" : "+"}${percent(Math.abs(value))}`
  const gain = (one: typeof overBest, what: string) =>
    one === null ? [] : [`${signed(one.value)} ${range(one.interval, signed)} over ${what}`]
  return [
    "Different people prefer different variants. Keep personalizing:",
    ...segments.map(({ copy_id, instead, interval, rate: own, segment }) =>
      `  Where ${segmentText(segment).replaceAll("=", " is ")}: ${candidateName(copy_id)} with ${rate(own)} ${
        range(interval, rate)
      } instead of ${rate(instead.rate)} ${range(instead.interval, rate)} for ${candidateName(instead.copy_id)}.`
    ),
    `Personalizing gains ${
      list([...gain(overBest, "the best single variant"), ...gain(overSplit, "a random split")])
    }.`,
    "Over all people:",
  ]
}

const windowText = (
  { first_decision: first, from, half_life_days, lookback_days, mode, to }: TemplateResults["window"],
): string => {
  const date = (time: string) => `${time.slice(0, 10)} ${time.slice(11, 16)}`
  if (mode === "window") return `in ${lookback_days} days, ${date(from)} to ${date(to)} UTC`
  if (first === null) return "so far"
  const period = Date.parse(first) > Date.parse(from) ? `since ${first.slice(0, 10)}` : "in 180 days"
  return `${period}; choices count older outcomes less (half after ${Math.round(half_life_days ?? 0)} days)`
}

/** Attribute values in the form that `--segment` accepts. */
export const segmentText = (segment: Readonly<Record<string, string>>): string => encodeContext(Object.entries(segment))

/** Lines about counted events that the model does not learn from. Empty without such events. */
const apartText = ({ automated, forced }: TemplateResults): ReadonlyArray<string> => {
  const machines = columnEvents.flatMap((event) =>
    eventKinds[event].category === "engagement" && automated[event] > 0
      ? [`${automated[event]} ${eventKinds[event].words.many}`]
      : []
  )
  return [
    ...(machines.length > 0 ? [`${list(machines)} of machines`] : []),
    ...(forced.decisions > 0
      ? [
        `${forced.decisions} decisions that were not drawn (forced, fixed or fallbacks) with ${forced.outcomes.click} clicks`,
      ]
      : []),
  ]
}

/** A sentence with the gain of messages sent at advised times. Empty without advice. */
export const timingText = (
  { explored, followed, gain, missed }: TimedTemplateResults["timing"],
): ReadonlyArray<string> => {
  if (followed.sends + explored.sends + missed.sends === 0) return []
  const rate = ({ rate, sends }: typeof followed) => rate === null ? "none" : `${percent(rate)} of ${sends}`
  const points = (share: number) => `${share < 0 ? "" : "+"}${(100 * share).toFixed(1)}`
  return [
    `Send times: engaged with ${rate(followed)} sent at recommended times, ${rate(explored)} at random times, ${
      rate(missed)
    } sent otherwise${
      gain === null
        ? ""
        : `; timing gained ${points(gain.difference)} points (${points(gain.interval[0])} to ${
          points(gain.interval[1])
        })`
    }.`,
  ]
}

/** The lift over held-out people: a line for each outcome. Empty without a holdout. */
export const holdoutLines = (holdout: TimedTemplateResults["holdout"]): ReadonlyArray<string> => {
  if (holdout === null) return []
  const { content, control, copy_id, outcomes, running, share, treated } = holdout
  const about = `Holdout of ${percent(share)}${running ? "" : ", which has ended"}, ${
    content === "even" ? "with a random split" : content === "fixed" ? `with ${copy_id}` : "without a message"
  }`
  if (treated + control === 0) return [`${about}: no results yet. Decisions count once they are four days old.`]
  const points = (share: number) => `${share < 0 ? "" : "+"}${(100 * share).toFixed(2)}`
  const rate = ({ rate }: typeof outcomes[number]["treated"], decisions: number) =>
    rate === null ? "none" : `${percent(rate)} of ${decisions}`
  return [
    `${about}:`,
    ...outcomes.map((one) =>
      `  ${one.outcome}: ${rate(one.treated, treated)} treated, ${rate(one.control, control)} held out${
        one.difference === null || one.interval === null
          ? ""
          : `; difference ${points(one.difference)} points (${points(one.interval[0])} to ${points(one.interval[1])})${
            one.needed === null || one.needed === 0 ? "" : `, ${one.needed} more decisions to tell one of this size`
          }`
      }.`
    ),
  ]
}

/** A table with the results of each variant in each locale. Empty for a template in one locale. */
const localeLines = (locales: TemplateResults["locales"] = []): ReadonlyArray<string> =>
  locales.length === 0 ? [] : [
    "",
    table(
      ["locale", "variant", "decisions", "clicks", "counted rate"],
      locales.flatMap(({ locale, variants }) =>
        variants.map(({ copy_id, decisions, outcomes, raw_rate }) => [
          locale,
          candidateName(copy_id),
          decisions,
          outcomes.click,
          raw_rate === null ? "" : percent(raw_rate),
        ])
      ),
    ),
  ]

/** A table with the effects of components. Empty if the variants share no component. */
export const componentLines = (components: TemplateResults["components"]): ReadonlyArray<string> => {
  if (components.length === 0) return []
  const signed = (share: number) => `${share < 0 ? "" : "+"}${(100 * share).toFixed(1)} %`
  return [
    "",
    table(
      ["kind", "component", "decisions", "effect", "95 % interval"],
      components.map(({ decisions, interval, kind, lift, value }) => [
        kind,
        value ?? "none",
        decisions,
        signed(lift),
        `${signed(interval[0])} to ${signed(interval[1])}`,
      ]),
    ),
    "",
    "Effects of components on the rate, compared with the average of their kind. In simulations the intervals held the true",
    "effect in 95 % or more of the cases with effects of up to about 30 %, and in 81 % with effects twice as strong.",
  ]
}

/** Lines about the effect of earlier messages on rates. Empty without evidence of an effect. */
export const fatigueLines = (fatigue: TimedTemplateResults["fatigue"]): ReadonlyArray<string> => {
  if (fatigue.length === 0) return []
  const signed = (share: number) => `${share < 0 ? "" : "+"}${(100 * share).toFixed(0)} %`
  return [
    "Fatigue: the rate of a variant, compared with a person's first message with it in 30 days:",
    ...fatigue.map((one) =>
      `  after ${earlierText(one)} earlier: ${signed(one.change)} (${signed(one.interval[0])} to ${
        signed(one.interval[1])
      }).`
    ),
  ]
}

/** The health of the test: one line, and a line for each check with a finding. */
const healthLines = (health: TimedTemplateResults["health"]): ReadonlyArray<string> => [
  `Health: ${healthLine(health)}`,
  ...health.checks.filter(({ state }) => state === "red" || state === "amber")
    .map(({ state, summary }) => `  ${healthWords[state]}: ${summary}`),
]

/** The whole text of a template's results. With `segments`, it contains a table for each segment. */
export const resultsText = (
  results:
    & TemplateResults
    & Partial<Pick<TimedTemplateResults, "fatigue" | "health" | "holdout" | "timing" | "without_model">>,
  options: { readonly segments: boolean },
): string => {
  const { decisions, objective, rate_days, segment, segments, template_id, variants, window } = results
  const restricted = Object.keys(segment).length > 0
  const apart = apartText(results)
  const setAside = setAsideText(results, { count: String, list, percent })
  const unsent = sendNothingText(results, { nameOf: candidateName, percent })
  const lines = [
    `${template_id}${restricted ? `, only ${segmentText(segment)}` : ""}: ${decisions} decisions ${windowText(window)}`,
    "",
    ...(variants.length === 0 ? ["The template has no variants."] : [variantsTable(variants, objective)]),
    "",
    `Rates are ${objectiveText(objective)} per decision${
      variants.some(({ voided }) => voided > 0) ? " that was not voided" : ""
    }: raw as counted so far, next to the model's estimate for ${rate_days.from.slice(0, 10)} to ${
      rate_days.to.slice(0, 10)
    }.`,
    intervalPromise,
    ...variants.flatMap(({ change, copy_id }) =>
      change === null
        ? []
        : [`The rate of ${candidateName(copy_id)} ${movedText(change)}, compared with the days before.`]
    ),
    ...otherCurrencyText(results.revenue?.other_currency ?? 0),
    ...(apart.length > 0 ? [`Not in the table: ${list(apart)}.`] : []),
    ...(setAside === undefined ? [] : [`${setAside}.`]),
    ...(decisions === 0 && restricted
      ? ["There are no decisions in this segment. List the segments with --segments, without --segment."]
      : []),
    ...personalLines(results),
    ...(variants.length === 0 ? [] : [winnerSentence(results)]),
    ...(unsent === undefined ? [] : [unsent]),
    ...(results.without_model === undefined
      ? []
      : withoutModelLines({ ...results, without_model: results.without_model })),
    ...(results.health === undefined ? [] : healthLines(results.health)),
    ...(results.timing === undefined ? [] : timingText(results.timing)),
    ...(results.holdout === undefined ? [] : holdoutLines(results.holdout)),
    ...(results.fatigue === undefined ? [] : fatigueLines(results.fatigue)),
  ]
  lines.push(...componentLines(results.components), ...localeLines(results.locales))
  if (options.segments) {
    for (const one of segments) {
      lines.push(
        "",
        `${segmentText(one.segment)}: ${one.decisions} decisions`,
        "",
        variantsTable(one.variants, objective),
      )
    }
    if (segments.length === 0) lines.push("", "There are no segments with decisions.")
  }
  return lines.join("\n")
}
