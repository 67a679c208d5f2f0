import { Clock, Effect, Option } from "effect"
import { Argument, Command } from "effect/cli"
import { dayMillis } from "../bandit/Window.ts"
import { weightsOf } from "../domain/ObjectiveWeights.ts"
import { type Objective, templateSettings } from "../domain/Template.ts"
import { letOthersRun } from "../runtime/letOthersRun.ts"
import { type Report, withProgress } from "../runtime/Progress.ts"
import { betaThompson, epsilonGreedy, type LearnerKind, peers, ucb1, uniform } from "../simulation/Learners.ts"
import {
  type Estimate,
  evaluate,
  logged,
  type LoggedDecision,
  settled,
  smallestSample,
} from "../simulation/OffPolicy.ts"
import { product } from "../simulation/Product.ts"
import { run, type SimulationOutcome } from "../simulation/Run.ts"
import { parse, type Scenario, worldOf } from "../simulation/Scenario.ts"
import { spread } from "../simulation/Spread.ts"
import * as Connection from "./Connection.ts"
import { CommandFailed, ManagementClient } from "./Connection.ts"
import { number, text, whole } from "./Flags.ts"
import { readText } from "./Inputs.ts"
import { organization, print } from "./Root.ts"
import { table } from "./Table.ts"

/** The policies of a template with the shares of its settings, see `Policy`. */
const ours = (options: { readonly floor?: number; readonly runnerUpFloor: number }): ReadonlyArray<LearnerKind> => [
  product(options),
  product({ ...options, window: { lookbackDays: 14, offsetDays: 3 } }),
]

const percent = (value: number) => `${(100 * value).toFixed(1)} %`
const percentWithin = (mean: number, halfWidth: number) =>
  Number.isNaN(halfWidth) ? percent(mean) : `${(100 * mean).toFixed(1)} ± ${(100 * halfWidth).toFixed(1)} %`

/** Number of decisions in one response. */
const pageSize = 5_000

type Outcomes = Readonly<Partial<Record<"click" | "open" | "conversion", string>>>

/**
 * The outcome of a decision for the template's objective. The outcome of a mix is known once its last part is known.
 */
const outcomeOf = (objective: Objective, outcomes: Outcomes): Pick<LoggedDecision, "outcome" | "outcomeAt"> => {
  const weights: { readonly [outcome: string]: number | undefined } = weightsOf(objective)
  let outcome = 0
  let outcomeAt: number | null = null
  for (const [kind, at] of Object.entries(outcomes)) {
    const weight = weights[kind] ?? 0
    if (weight === 0 || at === undefined) continue
    outcome += weight
    outcomeAt = Math.max(outcomeAt ?? 0, Date.parse(at))
  }
  return { outcome, outcomeAt }
}

/** Reads up to `limit` decisions of a template, ordered by tracking id, and returns those drawn with known weights. */
const readDecisions = Effect.fnUntraced(function* (options: {
  readonly org: string
  readonly template: string
  readonly objective: Objective
  readonly since: number
  readonly limit: number
  readonly report: Report
}) {
  const client = yield* ManagementClient
  const read: Array<LoggedDecision> = []
  let count = 0
  let cursor: string | undefined
  do {
    const page = yield* client.listDecisions({
      params: { org: options.org, template: options.template },
      query: {
        limit: String(Math.min(pageSize, options.limit - count)),
        ...(cursor === undefined ? {} : { cursor }),
      },
    })
    count += page.decisions.length
    yield* options.report({ done: count, unit: "decisions" })
    cursor = page.next_cursor ?? undefined
    for (const { decided_at, failed, segment, outcomes, ...chosen } of page.decisions) {
      const at = Date.parse(decided_at)
      if (at < options.since) continue
      // A variant whose rendering failed was drawn, too. It has no outcome.
      const draws = [{ ...chosen, outcomes }, ...(failed ?? []).map((one) => ({ ...one, outcomes: {} }))]
      for (const { copy_id, mode, outcomes, propensity, weights } of draws) {
        // Forced variants and the fixed content of a holdout were not drawn. A single variant had probability 1.
        if (mode === "forced" || mode === "single" || propensity === null || weights === null) continue
        const choice = { at, context: segment, copyId: copy_id, propensity, weights, control: mode === "control" }
        read.push({ ...choice, ...outcomeOf(options.objective, outcomes) })
      }
    }
  } while (cursor !== undefined && count < options.limit)
  return read
})

const perThousand = (estimate: Estimate | undefined) =>
  estimate === undefined ? null : `${(1000 * estimate.value).toFixed(2)} ± ${(1000 * estimate.halfWidth).toFixed(2)}`

/** Prints the expected outcomes of other policies on the logged decisions of a template. */
export const replayLog = Effect.fnUntraced(
  function* (template: string, lookbackDays: Option.Option<number>, limit: number) {
    const client = yield* ManagementClient
    const org = yield* organization
    const { objective, runner_up_floor: runnerUpFloor } = yield* client.getTemplate({ params: { org, template } })
    if (weightsOf(objective).revenue !== 0) {
      return yield* new CommandFailed({
        message:
          `The objective of ${template} has revenue. Logged decisions have no values of conversions, so that they ` +
          "cannot be replayed.",
      })
    }
    const since = Option.isNone(lookbackDays)
      ? -Infinity
      : (yield* Clock.currentTimeMillis) - lookbackDays.value * dayMillis
    const drawn = yield* withProgress(
      "Reading decisions",
      (report) => readDecisions({ org, template, objective, since, limit, report }),
    )
    const { log, reachHours } = settled(drawn, yield* Clock.currentTimeMillis)
    if (log.length < smallestSample) {
      return yield* new CommandFailed({
        message: `${log.length} decisions of ${template} were chosen with known weights and are older than ` +
          `${reachHours} hours, when 99 % of their outcomes have arrived. At least ${smallestSample} are needed.`,
      })
    }
    const asLogged = logged(log)
    const own = perThousand(asLogged ?? undefined)
    const ownChoices = log.filter(({ control }) => control !== true).length
    const { exploration_floor: floor } = yield* client.getOrganization({ params: { org } })
    const policies = [uniform, epsilonGreedy(), betaThompson(100), ucb1, ...ours({ floor, runnerUpFloor })]
    const evaluations = yield* withProgress(
      `Replaying ${log.length.toLocaleString("en")} decisions`,
      (report) =>
        Effect.forEach(
          policies,
          (policy, index) =>
            report({ done: index, total: policies.length, unit: "policies" }).pipe(
              Effect.andThen(letOthersRun),
              Effect.andThen(Effect.sync(() => evaluate(log, policy, 1))),
            ),
        ),
    )
    yield* print(
      {
        template,
        objective,
        decisions: log.length,
        left_out: drawn.length - log.length,
        reach_hours: reachHours,
        logged: asLogged,
        policies: evaluations,
      },
      [
        `Outcome per 1,000 decisions by the template's objective, ± 95 %; ${log.length} logged decisions.`,
        "",
        table(
          ["policy", "effective sample", "SNIPS", "IPS", "doubly robust"],
          [
            ["as logged", ownChoices, own, own, own],
            ...evaluations.map(({ effectiveSample, estimates, policy }) => [
              policy,
              Math.round(effectiveSample),
              perThousand(estimates?.snips),
              perThousand(estimates?.ips),
              perThousand(estimates?.doublyRobust),
            ]),
          ],
        ),
        "",
        "Each policy learned from the log in chronological order and assigned its weights to every decision.",
        ...(ownChoices === log.length
          ? []
          : [`"as logged" excludes the ${log.length - ownChoices} decisions of the holdout.`]),
        `${
          drawn.length - log.length
        } decisions younger than ${reachHours} hours are left out, because less than 99 % of their outcomes ` +
        "have arrived.",
        `– means that the log supports no statement: an effective sample below ${smallestSample}.`,
      ].join("\n"),
    )
  },
)

const readScenario = Effect.fnUntraced(function* (file: string) {
  const parsed = parse(yield* readText(file), file)
  if (parsed._tag === "Success") return parsed.success
  return yield* new CommandFailed({
    message: parsed.failure.map(({ column, line, message, path }) =>
      `${file}:${line}:${column}: ${path === "" ? "" : `${path}: `}${message}`
    ).join("\n"),
  })
})

const summary = (policy: string, outcomes: ReadonlyArray<SimulationOutcome>, decisions: number) => ({
  policy,
  reward_per_decision: spread(outcomes.map(({ reward }) => reward / decisions)).mean,
  share: spread(outcomes.map(({ share }) => share)),
})

/** The outcomes of each policy, one for each simulated world, and the decisions in one world. */
const simulateWorlds = (scenario: Scenario, seeds: number, days: number) =>
  withProgress("Simulating", (report) =>
    Effect.gen(function* () {
      const outcomes = new Map<string, Array<SimulationOutcome>>()
      const all = [...peers, ...ours({ runnerUpFloor: templateSettings.runner_up_floor.default })]
      let decisions = 0
      let done = 0
      for (let seed = 1; seed <= seeds; seed++) {
        const world = worldOf(scenario, seed, days)
        decisions = world.decisions
        for (const policy of all) {
          yield* report({ done, total: seeds * all.length, unit: "runs" })
          // Lets the event loop write the line and handle signals.
          yield* letOthersRun
          const outcome = yield* Effect.sync(() => run(world, policy, seed))
          outcomes.set(policy.name, [...(outcomes.get(policy.name) ?? []), outcome])
          done++
        }
      }
      return { outcomes, decisions }
    }))

const simulate = Effect.fnUntraced(function* (scenario: Scenario, seeds: number, days: number) {
  const { decisions, outcomes } = yield* simulateWorlds(scenario, seeds, days)
  const policies = [...outcomes].map(([policy, list]) => summary(policy, list, decisions))
  const first = [...outcomes.values()][0]!
  const oracle = spread(first.map(({ oracle }) => oracle / decisions)).mean
  yield* print(
    {
      scenario: scenario.name ?? null,
      days,
      seeds,
      decisions,
      oracle_reward_per_decision: oracle,
      policies: policies.map(({ share, ...rest }) => ({
        ...rest,
        share_of_possible_gain: share.mean,
        half_width_95: Number.isNaN(share.halfWidth) ? null : share.halfWidth,
      })),
    },
    [
      `${scenario.name ?? "The scenario"}: ${decisions} decisions in ${days} days, ${seeds} worlds.`,
      "",
      table(
        ["policy", "clicks per 1,000", "share of the possible gain"],
        [
          ...policies.map(({ policy, reward_per_decision, share }) => [
            policy,
            Number((1000 * reward_per_decision).toFixed(2)),
            percentWithin(share.mean, share.halfWidth),
          ]),
          ["best choice each time", Number((1000 * oracle).toFixed(2)), "100 %"],
        ],
      ),
      "",
      "The possible gain is the difference between a random split and the best variant for each user. ± is the 95 % interval over the worlds.",
    ].join("\n"),
  )
})

/** `parlance simulate` */
export const simulateCommand = Command.make(
  "simulate",
  {
    template: Argument.String("template").pipe(
      Argument.withDescription("Replay the logged decisions of this template"),
      Argument.optional,
    ),
    scenario: text("scenario", "Simulate the world that this file describes, YAML or JSON, - for standard input"),
    seeds: whole("seeds", "With --scenario: number of simulated worlds, 1 to 1,000. Default: 5", 5),
    days: number("days", "With --scenario: number of days, 1 to 3,650. Default: the number in the file"),
    lookbackDays: number("lookback-days", "With a template: only decisions of the last days"),
    limit: whole("limit", "With a template: maximum number of decisions. Default: 200,000", 200_000),
  },
  Effect.fnUntraced(function* ({ days, limit, lookbackDays, scenario, seeds, template }) {
    if (Option.isSome(scenario) === Option.isSome(template)) {
      return yield* new CommandFailed({
        message: "Name either a template, to replay its log, or a simulated world with --scenario FILE.",
      })
    }
    const outOfRange = (flag: string, range: string) => new CommandFailed({ message: `${flag} must be ${range}` })
    if (Option.isSome(scenario)) {
      if (seeds < 1 || seeds > 1000) return yield* outOfRange("--seeds", "from 1 to 1,000")
      if (Option.isSome(days) && !(days.value >= 1 && days.value <= 3650)) {
        return yield* outOfRange("--days", "from 1 to 3,650")
      }
      const read = yield* readScenario(scenario.value)
      return yield* simulate(read, seeds, Option.getOrElse(days, () => read.days))
    }
    if (limit < 1) return yield* outOfRange("--limit", "at least 1")
    if (Option.isSome(lookbackDays) && !(lookbackDays.value > 0)) return yield* outOfRange("--lookback-days", "above 0")
    if (Option.isSome(template)) {
      // A simulation needs no store. Only a replay connects to one.
      yield* replayLog(template.value, lookbackDays, limit).pipe(Effect.provide(Connection.layer))
    }
  }),
).pipe(
  Command.withDescription("Compare policies in a simulated world or on the logged decisions of a template"),
  Command.withExamples([
    { command: "parlance simulate --scenario examples/scenarios/newsletter.yaml --seeds 10" },
    { command: "parlance simulate abandoned-cart --lookback-days 60" },
  ]),
)
