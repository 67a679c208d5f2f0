// Checks the numbers in results against the truth: deno task bench honesty [--runs 300] [--from 1] [--settings NAME,…]
// [--refit-hours 3] [--runner-up-floor 0] [--without people]. The product decides in worlds with known rates, and its
// results are read once a day. Prints how often 95 % intervals contain the true value, and in how many runs each verdict
// occurred. Settings whose names contain "components" check the effects of components instead, and settings that begin
// with "answer" the answers.
import { parseArgs } from "node:util"
import { type Checked, coverage, type HonestyRun, honestyRun } from "./simulation/Honesty.ts"
import type { HonestyWorld } from "./simulation/HonestyWorld.ts"
import { answerHeadings, answerRow } from "./simulation/AnswerTable.ts"
import { answerWorlds, componentSettings, failingWorlds, settings } from "./simulation/HonestySettings.ts"
import { componentRun } from "./simulation/ComponentHonesty.ts"
import { features } from "../src/simulation/Product.ts"
import { spread } from "../src/simulation/Spread.ts"

const allNames = [...settings, ...failingWorlds, ...componentSettings, ...answerWorlds].map(({ name }) => name)

const { values: flags } = parseArgs({
  args: Deno.args.slice(1),
  options: {
    runs: { type: "string", default: "300" },
    from: { type: "string", default: "1" },
    settings: { type: "string", default: allNames.join() },
    "refit-hours": { type: "string", default: "3" },
    "runner-up-floor": { type: "string", default: "0" },
    without: { type: "string", default: "" },
  },
})
const runs = Number(flags.runs)
const from = Number(flags.from)
const refitHours = Number(flags["refit-hours"])
const runnerUpFloor = Number(flags["runner-up-floor"])
const names = flags.settings.split(",")
const without = features.filter((feature) => flags.without.split(",").includes(feature))
const unknown = names.filter((name) => !allNames.includes(name))
if (
  unknown.length > 0 || !(Number.isInteger(runs) && runs > 0) || !Number.isInteger(from) || !(refitHours > 0) ||
  !(runnerUpFloor >= 0 && runnerUpFloor <= 0.2)
) {
  console.error(
    unknown.length > 0
      ? `No such setting: ${unknown.join()}. There are ${allNames.join()}.`
      : "--runs and --from are whole numbers, --refit-hours a number of hours above 0, --runner-up-floor 0 to 0.2",
  )
  Deno.exit(1)
}

const percent = (share: number) => Number.isNaN(share) ? "–" : `${(100 * share).toFixed(1)}`
const row = (cells: ReadonlyArray<string>) => `| ${cells.join(" | ")} |`
const header = (cells: ReadonlyArray<string>) => [row(cells), row(cells.map((_, i) => i === 0 ? "---" : "---:"))]
const plusMinus = (values: ReadonlyArray<number>) => {
  const { halfWidth, mean } = spread(values)
  return `${mean.toFixed(1)} ± ${(halfWidth / 1.96).toFixed(1)}`
}
const above = (all: ReadonlyArray<Checked>) =>
  all.filter(({ interval, truth }) => interval[0] > truth).length / all.length

const gainRow = (name: string, all: ReadonlyArray<HonestyRun>): ReadonlyArray<string> => {
  const gains = all.flatMap(({ gain }) => gain === null ? [] : [gain])
  const asSeen = all.flatMap(({ gainAsSeen }) => gainAsSeen === null ? [] : [gainAsSeen])
  return [
    name,
    plusMinus(gains.map(({ truth }) => truth)),
    plusMinus(gains.map(({ shown, truth }) => shown - truth)),
    percent(coverage(gains)),
    percent(above(gains)),
    percent(coverage(asSeen)),
    percent(coverage(all.flatMap(({ rates }) => rates))),
    percent(coverage(all.flatMap(({ seriesRates }) => seriesRates))),
    percent(coverage(all.flatMap(({ segmentRates }) => segmentRates))),
  ]
}

const share = (all: ReadonlyArray<HonestyRun>, holds: (run: HonestyRun) => boolean) =>
  percent(all.filter(holds).length / all.length)

const verdictRow = (name: string, all: ReadonlyArray<HonestyRun>): ReadonlyArray<string> => {
  const ever = (verdicts: ReadonlyArray<string>, wrong: boolean) =>
    share(
      all,
      ({ best, looks }) =>
        looks.some(({ verdict, winner }) =>
          verdicts.includes(verdict) && (!wrong || best.size > 1 || !best.has(winner!))
        ),
    )
  const firstDays = all.flatMap(({ looks }) => {
    const first = looks.find(({ winner }) => winner !== null)
    return first === undefined ? [] : [first.day]
  }).sort((a, b) => a - b)
  return [
    name,
    ever(["winner", "firm_winner"], false),
    ever(["winner", "firm_winner"], true),
    ever(["firm_winner"], false),
    ever(["firm_winner"], true),
    ever(["no_difference"], false),
    share(all, ({ looks }) => looks.some(({ winner }, i) => winner !== null && looks[i + 1]?.winner === null)),
    firstDays.length === 0 ? "–" : String(firstDays[Math.floor(firstDays.length / 2)]),
  ]
}

/**
 * Returns the first line of the results: the coverage of the leader's lifts, runs in which the results named a best
 * variant a loser at least once, losers at the end, and the estimated days until a winner, compared with the actual
 * days.
 */
const leadRow = (name: string, all: ReadonlyArray<HonestyRun>): ReadonlyArray<string> => {
  const lifts = all.flatMap(({ lift }) => lift === null ? [] : [lift])
  const overSplit = all.flatMap(({ liftOverSplit }) => liftOverSplit === null ? [] : [liftOverSplit])
  const open = all.flatMap(({ looks }) => {
    const won = looks.find(({ winner }) => winner !== null)?.day
    return looks.flatMap(({ day, outlook }) =>
      outlook === undefined || (won !== undefined && day >= won)
        ? []
        : [{ outlook, left: looks.length - day, took: won === undefined ? Infinity : won - day }]
    )
  })
  // Selects estimates that the remaining days of the run could refute.
  const due = open.flatMap(({ left, outlook, took }) =>
    outlook.kind === "days" && 2 * outlook.days <= left ? [took / outlook.days] : []
  ).sort((a, b) => a - b)
  const long = open.filter(({ outlook, left }) => outlook.kind === "long" && left >= 10)
  return [
    name,
    percent(coverage(lifts)),
    percent(above(lifts)),
    percent(coverage(overSplit)),
    percent(above(overSplit)),
    share(all, ({ best, looks }) => looks.some(({ losers }) => losers.some((id) => best.has(id)))),
    share(all, ({ looks }) => looks.at(-1)!.losers.length > 0),
    String(due.length),
    due.length === 0 ? "–" : due[Math.floor(due.length / 2)]!.toFixed(1),
    percent(due.filter((ratio) => ratio <= 2).length / due.length),
    String(long.length),
    percent(long.filter(({ took }) => took <= 10).length / long.length),
  ]
}

/**
 * Returns the coverage of each effect of earlier exposures, and the mean difference between the shown and the true
 * changes, in points.
 */
const fatigueRow = (name: string, all: ReadonlyArray<HonestyRun>): ReadonlyArray<string> => [
  name,
  String(all.length),
  ...[0, 1, 2].flatMap((at) => {
    const effects = all.flatMap(({ fatigueEffects }) => fatigueEffects.slice(at, at + 1))
    return [percent(coverage(effects)), plusMinus(effects.map(({ shown, truth }) => 100 * (shown - truth)))]
  }),
]

const tired: Array<ReadonlyArray<string>> = []
const done: Array<readonly [string, ReadonlyArray<HonestyRun>]> = []
for (const setting of settings.filter(({ name }) => names.includes(name))) {
  const start = performance.now()
  const all: Array<HonestyRun> = []
  for (let i = 0; i < runs; i++) {
    all.push(honestyRun(setting, from + i, { refitHours, runnerUpFloor, estimates: true, without }))
  }
  console.error(`${setting.name}: ${((performance.now() - start) / 1000).toFixed(0)} s`)
  console.error(
    [row(gainRow(setting.name, all)), row(verdictRow(setting.name, all)), row(leadRow(setting.name, all))].join("\n"),
  )
  done.push([setting.name, all])
  if (setting.fatigue !== undefined) {
    const inUse = all.filter(({ usesFatigue }) => usesFatigue)
    done.push([`${setting.name}, effects in use at the end: ${inUse.length}`, inUse])
    tired.push(fatigueRow(setting.name, inUse))
    console.error(row(tired.at(-1)!))
  }
}

/**
 * The coverage if variants fail for a part of the people, and how often a failing variant ended above its fair share or
 * was a winner.
 */
const failingRows = failingWorlds.filter(({ name }) => names.includes(name)).map(({ few, many, name }) => {
  const runsOf = (world: HonestyWorld) =>
    Array.from({ length: runs }, (_, i) => honestyRun(world, from + i, { refitHours }))
  const all = runsOf(few)
  const long = runsOf(many)
  const isAbove = ({ lastShares }: HonestyRun) => lastShares.slice(1).some((one) => one > 1 / many.variants)
  const won = ({ looks }: HonestyRun) => looks.some(({ winner }) => winner !== null && winner !== "v1")
  const cells = [
    name,
    percent(coverage(all.flatMap(({ rates }) => rates))),
    percent(coverage(all.flatMap(({ lift }) => lift === null ? [] : [lift]))),
    share(long, isAbove),
    share(long, won),
  ]
  console.error(row(cells))
  return cells
})

/** The answers of results in worlds with a known right one. */
const answerRows = answerWorlds.filter(({ name }) => names.includes(name)).map((world) => {
  const runsOf = Array.from(
    { length: runs },
    (_, i) => honestyRun(world, from + i, { refitHours, runnerUpFloor, answers: true }),
  )
  const cells = answerRow(world, runsOf)
  console.error(row(cells))
  return cells
})

const effects = componentSettings.filter(({ name }) => names.includes(name)).map((setting) => {
  const all = Array.from({ length: runs }, (_, i) => componentRun(setting, from + i, refitHours))
  const cells = [
    setting.name,
    percent(coverage(all.flatMap(({ effects }) => effects))),
    percent(above(all.flatMap(({ effects }) => effects))),
    percent(coverage(all.flatMap(({ rates }) => rates))),
    percent(above(all.flatMap(({ rates }) => rates))),
  ]
  console.error(row(cells))
  return cells
})
if (failingRows.length > 0) {
  console.log(
    `\n${runs} runs from seed ${from}. Variants that fail: coverage of 95 % intervals, and shares of the runs in percent\n`,
  )
  const headings = ["setting", "rates", "lift", "a failing variant above its fair share at the end", "ever the winner"]
  console.log([...header(headings), ...failingRows.map(row)].join("\n"))
}
if (answerRows.length > 0) {
  console.log(`\n${runs} runs from seed ${from}. Answers on the last day, and coverage of 95 % intervals, in percent\n`)
  console.log([...header(answerHeadings), ...answerRows.map(row)].join("\n"))
}
if (effects.length > 0) {
  console.log(`\n${runs} runs from seed ${from}. Coverage of 95 % intervals in percent\n`)
  const headings = ["setting", "effects of components", "wholly above", "rates of variants", "wholly above"]
  console.log([...header(headings), ...effects.map(row)].join("\n"))
}
if (done.length === 0) Deno.exit(0)
console.log(
  `\n${runs} runs from seed ${from}. Outcomes beyond an even split, and coverage of 95 % intervals in percent\n`,
)
const intervals = [
  "setting",
  "true gain",
  "shown − true",
  "gain",
  "wholly above",
  "gain as seen",
  "rates",
  "series",
  "segments",
]
console.log([...header(intervals), ...done.map(([name, all]) => row(gainRow(name, all)))].join("\n"))
console.log("\nShare of the runs, in percent, in which a daily look ever said so; wrong: the winner is not the best\n")
const verdicts = [
  "setting",
  "winner",
  "wrong",
  "firm",
  "wrong",
  "no difference",
  "withdrawn",
  "median day of the first",
]
console.log([...header(verdicts), ...done.map(([name, all]) => row(verdictRow(name, all)))].join("\n"))

console.log(
  "\nThe leader: coverage of its lifts, runs in which a best variant was ever a loser, and days until a winner\n",
)
const leads = [
  "setting",
  "lift",
  "wholly above",
  "lift over split",
  "wholly above",
  "best named loser",
  "losers at the end",
  "estimates of days",
  "median of days taken over estimate",
  "with a winner within twice the estimate",
  "estimates of more than 30 days",
  "with a winner within 10 days",
]
console.log([...header(leads), ...done.map(([name, all]) => row(leadRow(name, all)))].join("\n"))

if (tired.length > 0) {
  console.log(
    "\nChanges of the rate by earlier decisions, where effects are in use at the end: coverage in percent, and bias\n",
  )
  const headings = ["setting", "runs", "1", "bias", "2 or 3", "bias", "4 or more", "bias"]
  console.log([...header(headings), ...tired.map(row)].join("\n"))
}
