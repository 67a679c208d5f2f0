import type { ResultsAnswer } from "../../src/results/Answer.ts"
import { coverage, type HonestyRun } from "./Honesty.ts"

// How often each answer of results was given in a world, and how often the gains that go with it were right.

const kinds = ["undecided", "one_for_all", "different_people", "no_difference"] as const

export const answerHeadings = [
  "setting",
  "right",
  ...kinds,
  "ever another than right or undecided",
  "median first day of the right one",
  "changes",
  "over best",
  "shown − true",
  "over split",
  "shown − true",
  "shipping",
]

const percent = (share: number) => (100 * share).toFixed(0)
const mean = (values: ReadonlyArray<number>) => values.reduce((sum, value) => sum + value, 0) / values.length
const points = (checked: ReadonlyArray<{ readonly shown: number; readonly truth: number }>) =>
  (100 * mean(checked.map(({ shown, truth }) => shown - truth))).toFixed(1)

/**
 * A row: the shares of the runs with each answer on the last day, with another answer than the right one on any day, the first
 * day of the right one, the changes of the answer in a run, and the coverage and errors of the gains on the last day, in percent.
 */
export const answerRow = (
  { name, right }: { readonly name: string; readonly right: ResultsAnswer["kind"] },
  runs: ReadonlyArray<HonestyRun>,
): ReadonlyArray<string> => {
  const share = (holds: (answers: ReadonlyArray<string>) => boolean) =>
    percent(mean(runs.map(({ looks }) => holds(looks.flatMap(({ answer }) => answer ?? [])) ? 1 : 0)))
  const first = runs.map(({ looks }) => looks.find(({ answer }) => answer === right)?.day ?? Infinity)
    .sort((a, b) => a - b)[Math.floor(runs.length / 2)]
  const changes = runs.map(({ looks }) =>
    looks.filter(({ answer }, i) => i > 0 && looks[i - 1]!.answer !== undefined && looks[i - 1]!.answer !== answer)
      .length
  )
  const overBest = runs.flatMap(({ gainOverBest }) => gainOverBest ?? [])
  const overSplit = runs.flatMap(({ gainOverSplit }) => gainOverSplit ?? [])
  return [
    name,
    right,
    ...kinds.map((kind) => share((answers) => answers.at(-1) === kind)),
    share((answers) => answers.some((answer) => answer !== right && answer !== "undecided")),
    first === Infinity ? "–" : String(first),
    mean(changes).toFixed(1),
    percent(coverage(overBest)),
    points(overBest),
    percent(coverage(overSplit)),
    points(overSplit),
    percent(coverage(runs.flatMap(({ shipping }) => shipping))),
  ]
}
