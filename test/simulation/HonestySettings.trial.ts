import { assert, describe, it } from "@effect/vitest"
import { type Checked, coverage, type HonestyRun, honestyRun } from "../../bench/simulation/Honesty.ts"
import { answerWorlds, failingWorlds, settings } from "../../bench/simulation/HonestySettings.ts"
import { mostOf } from "../support/mostOf.ts"

// The coverage of 95 % intervals where rates move, people and values differ much, reactions are slow or fast, variants
// fail, and attributes are missing or have curved effects. Set HONESTY_RUNS for other numbers of runs.

const runs = Number(process.env["HONESTY_RUNS"] ?? 300)

type Figure = "rates" | "lift" | "liftOverSplit" | "gain"

/** Coverage that every figure should have, and the figures that are known to have less. */
const aim = 0.93
const known: { readonly [setting: string]: { readonly [figure in Figure]?: number } } = {
  "walk 4 %": { rates: 0.91, lift: 0.8, liftOverSplit: 0.87 },
  fall: { lift: 0.9 },
  "revenue skewed": { gain: 0.85 },
  "curved ages": { rates: 0.92 },
  "fails for the keenest 30 %": { rates: 0.88 },
}

const checked = [
  "walk 4 %",
  "fall",
  "launch",
  "revenue",
  "revenue sd 0.25",
  "revenue skewed",
  "10 % to heavy users",
  "one busy person",
  "slow reactions",
  "fast reactions",
  "missing plans",
  "curved ages",
]

const worlds = [
  ...settings.filter(({ name }) => checked.includes(name)),
  ...failingWorlds.filter(({ name }) => name === "fails for 40 %" || name === "fails for the keenest 30 %")
    .map(({ few }) => few),
]

const figuresOf = (all: ReadonlyArray<HonestyRun>): { readonly [figure in Figure]: ReadonlyArray<Checked> } => ({
  rates: all.flatMap(({ rates }) => rates),
  lift: all.flatMap(({ lift }) => lift ?? []),
  liftOverSplit: all.flatMap(({ liftOverSplit }) => liftOverSplit ?? []),
  gain: all.flatMap(({ gain }) => gain ?? []),
})

describe("95 % intervals of results", () => {
  for (const world of worlds) {
    it(`hold the true rates, lifts and gains: ${world.name}`, () => {
      const all = Array.from({ length: runs }, (_, i) => honestyRun(world, 1 + i, { refitHours: 24 }))
      for (const [figure, intervals] of Object.entries(figuresOf(all)) as Array<[Figure, ReadonlyArray<Checked>]>) {
        const missed = 1 - coverage(intervals)
        // Intervals of one run depend on each other, so the bound is for as many intervals as runs.
        const most = mostOf(runs, 1 - (known[world.name]?.[figure] ?? aim)) / runs
        assert.isAtMost(missed, most, `${figure}: ${intervals.length} intervals`)
      }
    })
  }
})

/** Share of the runs of a world that may ever have another answer than the right one or none, where it is above 5 %. */
const mistaken: { readonly [setting: string]: number } = { "answer different": 0.1, "answer none of 3": 0.1 }

describe("the four answers of results", () => {
  for (const world of answerWorlds) {
    it(`are right: ${world.name}`, () => {
      const all = Array.from({ length: runs }, (_, i) => honestyRun(world, 1 + i, { refitHours: 24, answers: true }))
      const isWrong = ({ looks }: HonestyRun) =>
        looks.some(({ answer }) => answer !== undefined && answer !== "undecided" && answer !== world.right)
      assert.isAtMost(all.filter(isWrong).length, mostOf(runs, mistaken[world.name] ?? 0.05))
      const isDivided = ({ looks }: HonestyRun) => looks.some(({ answer }) => answer === "different_people")
      if (world.right !== "different_people") {
        assert.isAtMost(all.filter(isDivided).length, mostOf(runs, mistaken[world.name] ?? 0.01))
      }
      for (
        const figure of [
          all.flatMap(({ gainOverBest }) => gainOverBest ?? []),
          all.flatMap(({ shipping }) => shipping),
        ]
      ) {
        assert.isAtMost(1 - coverage(figure), mostOf(runs, 0.1) / runs, world.name)
      }
    })
  }
})
