import { Schema } from "effect"
import { described } from "../domain/described.ts"
import { english, fill, plural, retold, t } from "../languages/Language.ts"
import type { WithoutModel } from "./WithoutModel.ts"
import { equalSharesProbability, type ExpectedChoices, type Proportion, sampleRatioProbability } from "./SampleRatio.ts"

// The health of a test: whether its comparison is reliable. Pure.

/** The state of a check in words, for marketers. */
export const healthWords = {
  green: english("fine"),
  amber: english("check it"),
  red: english("not to be trusted"),
  unknown: english("not known"),
} as const

/** The findings. Results are computed once for all readers, so that pages translate a finding where they show it. */
const texts = {
  rendered: english("Every variant could be rendered whenever it was chosen."),
  failed: english(
    '"{0}" could not be rendered in {1} of {2} choices ({3}). Give its fields a default, or target it to people who have ' +
      "them.",
  ),
  noneSent: english(
    "No event says that a message was sent, so nobody can say how many sends left the platform.",
  ),
  uneven: english(
    "Messages of some variants are reported as sent less often than they are chosen: {0} to {1}. Look for a limit or a " +
      "filter behind Parlance that treats variants differently.",
  ),
  sent: english("{0} of the sends older than a day were reported as sent."),
  fewSent: english(
    "{0} of the sends older than a day were reported as sent. Ask for content only when a message will be sent.",
  ),
  notRead: english("The sends could not be read in time. Try a shorter window."),
  fewVariants: english("Fewer than two variants were chosen by chance."),
  wrongSplit: english(
    "Variants were chosen in other proportions than their recorded probabilities (p < {0}). Sends may be missing: look for " +
      "requests that failed, or sends that were deleted.",
  ),
  rightSplit: english("Variants were chosen as often as their recorded probabilities say."),
  nobody: english("No send names a person (user_id), so each send counts as one person."),
  fewPeople: english("Fewer than {0} sends name a person."),
  people: english(
    "The heaviest 1 % of people ({0} of {1}) have {2} of the decisions and {3} of the outcomes.",
  ),
  heavyPeople: english(
    "The heaviest 1 % of people ({0} of {1}) have {2} of the decisions and {3} of the outcomes. Send tests through the " +
      "sandbox, or give testers a test group.",
  ),
  noClicks: english("There are no opens or clicks."),
  machines: english("{0} of the opens and clicks were made by machines and do not count."),
  noEvents: english("There are no events."),
  inTime: english("Every event came within the time that counts."),
  outside: english(
    "{0} of {1} events ({2}) were too early or too late to count. Compare the clocks and the times that the sender reports.",
  ),
  noRepeats: english("No request of the last 24 hours repeated a tracking id for something else."),
  repeated: english(
    "{0} requests ({1} of the decisions) repeated a tracking id for another person, variant or attributes, and got the " +
      "first answer. Give each message a tracking id of its own.",
  ),
} as const

/** Thresholds at which a check turns amber and red. Shares are between 0 and 1. */
const healthRule = {
  /** Share of a variant's choices that could not be rendered. */
  failed: { red: 0.05 },
  /**
   * `gap`: smallest difference between the variants' shares of sent decisions that turns red. `amber`: share below
   * which the check turns amber.
   */
  sent: { gap: 0.01, amber: 0.9 },
  /** Probability of the observed counts below which chance does not explain them. */
  chance: 0.001,
  /**
   * Shares of the decisions and of the outcomes that belong to the most active 1 % of people, without the first outcome
   * of each of them. In a smaller test, one person always has a high share.
   */
  people: {
    decisions: { amber: 0.1, red: 0.2 },
    outcomes: { amber: 0.15, red: 0.3 },
    leastDecisions: 100,
    leastOutcomes: 20,
  },
  /** Share of opens and clicks that machines made. */
  machines: { amber: 0.5, red: 0.8 },
  /**
   * `outside`: share of events outside the time that counts. `repeated`: share of requests that repeat a tracking id
   * for another person or message.
   */
  outside: { amber: 0.02, red: 0.2 },
  repeated: { amber: 0.01, red: 0.1 },
} as const

const State = Schema.Literals(["green", "amber", "red", "unknown"])
type State = typeof State.Type

/** Names of the checks of a test's health. */
export const CheckName = Schema.Literals([
  "failed_renderings",
  "sent",
  "split",
  "people",
  "machines",
  "outside_window",
  "repeated_ids",
])
export type CheckName = typeof CheckName.Type

/** The result of one check. */
export const HealthCheck = Schema.Struct({
  check: described(
    CheckName,
    "`failed_renderings`: choices of a variant that could not be rendered. `sent`: decisions with an event that their message " +
      "was sent. `split`: choices against their recorded probabilities (sample ratio test). `people`: decisions and " +
      "outcomes of the heaviest 1 % of people. `machines`: opens and clicks by machines, which do not count. " +
      "`outside_window`: events too early or too late to count. `repeated_ids`: requests that repeated a tracking id for " +
      "another person, variant or attributes",
  ),
  state: described(State, "`unknown` if the check lacks data; `summary` says why"),
  summary: described(Schema.String, "The finding, and the remedy if there is a fault"),
  variants: described(
    Schema.Array(Schema.Struct({
      copy_id: Schema.String,
      count: described(Schema.Finite, "Failed renderings, sent decisions, or choices, depending on the check"),
      of: described(
        Schema.Finite,
        "Total that `count` is compared with: choices, decisions older than a day, or for `split` the expected choices",
      ),
    })),
    "By variant; empty for checks of the whole test",
  ),
})
export type HealthCheck = typeof HealthCheck.Type

/** The health of a test, in the shape of the API's response. */
export const Health = Schema.Struct({
  state: described(
    Schema.Literals(["green", "amber", "red"]),
    "The worst of the checks. While it is `red`, no verdict is firm",
  ),
  from: described(Schema.String, "Start of the decisions that were read one by one, ISO 8601"),
  decisions: described(Schema.Finite, "Number of the decisions that were read one by one, about 50,000 or fewer"),
  checks: Schema.Array(HealthCheck),
})
export type Health = typeof Health.Type

/** The facts about one variant. */
interface VariantFacts {
  readonly copyId: string
  /** Attempted renderings of the variant, and the number that failed. */
  readonly renderings: Proportion
  /** Decisions at least a day old, and the number with an event that the message was sent. */
  readonly sent: Proportion
}

/**
 * Decisions and outcomes of the most active 1 % of people (at least one person), and of all people with a `user_id`.
 */
export interface PeopleFacts {
  readonly people: number
  readonly heaviest: number
  readonly decisions: Proportion
  readonly outcomes: Proportion
}

/** The facts that the checks of a test judge. */
export interface HealthFacts {
  /** Start of the window. Unit: Unix milliseconds. */
  readonly from: number
  readonly decisions: number
  readonly variants: ReadonlyArray<VariantFacts>
  /** Undefined if the decisions could not be read in time. */
  readonly choices: ReadonlyArray<ExpectedChoices> | undefined
  readonly people: PeopleFacts | undefined
  /** Opens and clicks of machines, and all opens and clicks. */
  readonly machines: Proportion
  readonly outside: Proportion
  readonly repeated: Proportion
}

const shareOf = ({ all, some }: Proportion): number => all > 0 ? some / all : 0

const percent = (share: number): string => {
  const value = 100 * share
  return `${value > 0 && value < 0.1 ? "<0.1" : value >= 10 || value === 0 ? Math.round(value) : value.toFixed(1)} %`
}

const number = (count: number): string => Math.round(count).toLocaleString("en")

const level = (value: number, { amber, red }: { readonly amber: number; readonly red: number }): State =>
  value >= red ? "red" : value >= amber ? "amber" : "green"

const unknown = (check: CheckName, summary: string): HealthCheck => ({ check, state: "unknown", summary, variants: [] })

const failedRenderings = ({ variants }: HealthFacts): HealthCheck => {
  const failing = variants.filter(({ renderings }) => renderings.some > 0)
    .toSorted((a, b) => shareOf(b.renderings) - shareOf(a.renderings))
  const worst = failing[0]
  return {
    check: "failed_renderings",
    state: worst === undefined ? "green" : shareOf(worst.renderings) >= healthRule.failed.red ? "red" : "amber",
    summary: worst === undefined ? texts.rendered : fill(texts.failed, [
      worst.copyId,
      number(worst.renderings.some),
      number(worst.renderings.all),
      percent(shareOf(worst.renderings)),
    ]),
    variants: failing.map(({ copyId, renderings }) => ({
      copy_id: copyId,
      count: renderings.some,
      of: renderings.all,
    })),
  }
}

const sentAgainstDecided = ({ variants }: HealthFacts): HealthCheck => {
  const known = variants.filter(({ sent }) => sent.all > 0)
  const total = known.reduce(
    (sum, { sent }) => ({ some: sum.some + sent.some, all: sum.all + sent.all }),
    { some: 0, all: 0 },
  )
  if (total.some === 0) {
    return unknown("sent", texts.noneSent)
  }
  const shares = known.map(({ sent }) => shareOf(sent))
  const gap = Math.max(...shares) - Math.min(...shares)
  const isUneven = gap >= healthRule.sent.gap &&
    equalSharesProbability(known.map(({ sent }) => sent)) < healthRule.chance
  const share = shareOf(total)
  return {
    check: "sent",
    state: isUneven ? "red" : share < healthRule.sent.amber ? "amber" : "green",
    summary: isUneven
      ? fill(texts.uneven, [percent(Math.min(...shares)), percent(Math.max(...shares))])
      : fill(share < healthRule.sent.amber ? texts.fewSent : texts.sent, [percent(share)]),
    variants: known.map(({ copyId, sent }) => ({ copy_id: copyId, count: sent.some, of: sent.all })),
  }
}

const split = ({ choices }: HealthFacts): HealthCheck => {
  if (choices === undefined) return unknown("split", texts.notRead)
  if (choices.length < 2) return unknown("split", texts.fewVariants)
  const probability = sampleRatioProbability(choices)
  const isBroken = probability < healthRule.chance
  return {
    check: "split",
    state: isBroken ? "red" : "green",
    summary: isBroken ? fill(texts.wrongSplit, [healthRule.chance]) : texts.rightSplit,
    variants: choices.map(({ copyId, expected, observed }) => ({ copy_id: copyId, count: observed, of: expected })),
  }
}

const people = ({ choices, people }: HealthFacts): HealthCheck => {
  if (people === undefined || people.people === 0) {
    return unknown("people", choices === undefined ? texts.notRead : texts.nobody)
  }
  const { decisions, leastDecisions, outcomes } = healthRule.people
  if (people.decisions.all < leastDecisions) {
    return unknown("people", fill(texts.fewPeople, [leastDecisions]))
  }
  const byDecisions = level(shareOf(people.decisions), decisions)
  // With few outcomes, any 1 % of people with one outcome each have a high share.
  const repeated = Math.max(0, people.outcomes.some - people.heaviest)
  const byOutcomes = people.outcomes.all < healthRule.people.leastOutcomes
    ? "green"
    : level(shareOf({ some: repeated, all: people.outcomes.all }), outcomes)
  const state = byDecisions === "red" || byOutcomes === "red"
    ? "red"
    : byDecisions === "amber" || byOutcomes === "amber"
    ? "amber"
    : "green"
  return {
    check: "people",
    state,
    summary: fill(state === "green" ? texts.people : texts.heavyPeople, [
      number(people.heaviest),
      number(people.people),
      percent(shareOf(people.decisions)),
      percent(shareOf(people.outcomes)),
    ]),
    variants: [],
  }
}

const machines = ({ machines }: HealthFacts): HealthCheck =>
  machines.all === 0 ? unknown("machines", texts.noClicks) : {
    check: "machines",
    state: level(shareOf(machines), healthRule.machines),
    summary: fill(texts.machines, [percent(shareOf(machines))]),
    variants: [],
  }

const outsideWindow = ({ outside }: HealthFacts): HealthCheck =>
  outside.all === 0 ? unknown("outside_window", texts.noEvents) : {
    check: "outside_window",
    state: level(shareOf(outside), healthRule.outside),
    summary: outside.some === 0
      ? texts.inTime
      : fill(texts.outside, [number(outside.some), number(outside.all), percent(shareOf(outside))]),
    variants: [],
  }

const repeatedIds = ({ repeated }: HealthFacts): HealthCheck => ({
  check: "repeated_ids",
  state: level(shareOf(repeated), healthRule.repeated),
  summary: repeated.some === 0
    ? texts.noRepeats
    : fill(texts.repeated, [number(repeated.some), percent(shareOf(repeated))]),
  variants: [],
})

const checks = [failedRenderings, sentAgainstDecided, split, people, machines, outsideWindow, repeatedIds]

const rank = { red: 2, amber: 1, green: 0, unknown: 0 } as const

/** Checks a test. Returns the worst finding first. */
export const healthOf = (facts: HealthFacts): Health => {
  const found = checks.map((check) => check(facts)).toSorted((a, b) => rank[b.state] - rank[a.state])
  const worst = found[0]!.state
  return {
    state: worst === "unknown" ? "green" : worst,
    from: new Date(facts.from).toISOString(),
    decisions: facts.decisions,
    checks: found,
  }
}

/**
 * Returns the verdict for display: a firm winner is not firm while a check is red, or while the comparison without a model
 * says that the other variant is better.
 */
export const heldBack = <W extends { readonly verdict: string; readonly state: string }>(
  winner: W,
  { state }: Pick<Health, "state">,
  alone: Pick<WithoutModel, "interval"> | null,
): W =>
  winner.verdict === "firm_winner" && (state === "red" || (alone !== null && alone.interval[1] < 0))
    ? { ...winner, state: "winner", verdict: "winner" }
    : winner

/** The finding of a check in the language of the running fiber. */
export const findingText = ({ summary }: Pick<HealthCheck, "summary">): string => retold(summary, Object.values(texts))

/** Returns the first line: `Healthy`, or the worst finding. */
export const healthLine = ({ checks, state }: Health): string => {
  const found = checks.filter((check) => check.state === state)
  if (state === "green") return t`Healthy: no check found a fault.`
  const more = checks.filter((check) => check.state === "red" || check.state === "amber").length - 1
  const worst = findingText(found[0]!)
  return [
    state === "red" ? t`Not to be trusted: ${worst}` : t`With caution: ${worst}`,
    ...(more > 0 ? [fill(plural(more, "{0} more finding.", "{0} more findings."), [more])] : []),
  ].join(" ")
}
