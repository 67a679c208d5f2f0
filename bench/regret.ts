// Compares the bandit with its peers in simulated worlds: deno task bench regret [--seeds 20] [--worlds stat5,full]
// [--quick] [--from 1] [--refit-hours 3] [--windows] [--worth 1] (the value of a click to the learners) [--without
// components] (also runs the model without these parts) [--ours] (without peers) [--in-steps] (also runs each peer with
// knowledge as old as the model's). Prints the share of the way from choosing evenly to the oracle, in percent. All
// policies run in equal worlds with equal users. Default worlds: bench/simulation/Worlds.ts. `--worlds` also accepts
// the worlds of bench/simulation/Forms.ts.
import { parseArgs } from "node:util"
import { linThompson, linUcb, segmentBeta } from "./simulation/ContextualLearners.ts"
import { epsilonGreedy, inSteps, type LearnerKind, peers } from "../src/simulation/Learners.ts"
import { form, formNames } from "./simulation/Forms.ts"
import { type Feature, features, product } from "../src/simulation/Product.ts"
import { run } from "../src/simulation/Run.ts"
import { spread } from "../src/simulation/Spread.ts"
import { world, type WorldName, worldNames } from "./simulation/Worlds.ts"

const { values: flags } = parseArgs({
  args: Deno.args.slice(1),
  options: {
    seeds: { type: "string", default: "20" },
    from: { type: "string", default: "1" },
    worlds: { type: "string", default: worldNames.join() },
    "refit-hours": { type: "string", default: "3" },
    worth: { type: "string", default: "1" },
    windows: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    without: { type: "string", default: "" },
    ours: { type: "boolean", default: false },
    "in-steps": { type: "boolean", default: false },
  },
})

const chosen = flags.worlds.split(",").filter((name) => name !== "")
const known: ReadonlyArray<string> = [...worldNames, ...formNames]
const unknown = chosen.filter((name) => !known.includes(name))
const left = flags.without.split(",").filter((name) => name !== "")
const strange = left.filter((name) => !features.some((known) => known === name))
const from = Number(flags.from)
const worth = Number(flags.worth)
const count = flags.quick ? 3 : Number(flags.seeds)
const refitHours = flags.quick ? 6 : Number(flags["refit-hours"])
if (
  unknown.length > 0 || strange.length > 0 || !Number.isInteger(from) || !(Number.isInteger(count) && count > 0) ||
  !(refitHours >= 0) ||
  !(worth > 0)
) {
  console.error(
    unknown.length > 0
      ? `No such world: ${unknown.join()}. There are ${known.join()}.`
      : strange.length > 0
      ? `The model has no part ${strange.join()}. There are ${features.join()}.`
      : "--seeds and --from are whole numbers, --refit-hours a number of hours, --worth a number above 0",
  )
  Deno.exit(1)
}
const worlds = chosen
const worldOf = (name: string, seed: number) => {
  const other = formNames.find((known) => known === name)
  return other === undefined ? world(name as WorldName, seed, worth) : form(other, seed, worth)
}
const seeds = Array.from({ length: count }, (_, i) => from + i)

const text = (values: ReadonlyArray<number>, signed = false) => {
  const { halfWidth, mean } = spread(values)
  const sign = signed && mean >= 0 ? "+" : ""
  return Number.isNaN(halfWidth) ? `${sign}${mean.toFixed(1)}` : `${sign}${mean.toFixed(1)} ± ${halfWidth.toFixed(1)}`
}

const window = (offsetDays: number) =>
  // A window that ended days ago hardly moves within a few hours, so the model is refitted rarely.
  product({
    window: { lookbackDays: 14, offsetDays },
    refitHours: Math.max(refitHours, 2 * offsetDays),
    verdicts: false,
  })
const ours = product({ refitHours, name: "adaptive", verdicts: false })
const lesser = left.map((part) =>
  product({ refitHours, name: `without ${part}`, verdicts: false, without: [part as Feature] })
)
const rivals = flags.ours ? [] : [...peers.slice(1), epsilonGreedy(0.1), linUcb, linThompson, segmentBeta]
const rivalsInSteps = flags["in-steps"] ? rivals.map((rival) => inSteps(rival, refitHours)) : []
const policies: ReadonlyArray<LearnerKind> = [
  ours,
  ...lesser,
  ...(flags.windows ? [window(0), window(3)] : []),
  ...rivals,
  ...rivalsInSteps,
]

/** Shares in percent by policy and world, in the order of the seeds. */
const shares = new Map(policies.map(({ name }) => [name, new Map<string, Array<number>>()]))
const began = performance.now()
for (const name of worlds) {
  const start = performance.now()
  for (const { name: policy } of policies) shares.get(policy)!.set(name, [])
  for (const seed of seeds) {
    const made = worldOf(name, seed)
    for (const policy of policies) shares.get(policy.name)!.get(name)!.push(100 * run(made, policy, seed).share)
    const got = policies.map((policy) => shares.get(policy.name)!.get(name)!.at(-1)!.toFixed(1)).join(" ")
    console.error(`${name}, seed ${seed}: ${got} after ${((performance.now() - start) / 1000).toFixed(0)} s`)
  }
  console.error(policies.map((policy) => `  ${policy.name} ${text(shares.get(policy.name)!.get(name)!)}`).join("\n"))
}

/** Returns the mean over the worlds for each seed. */
const means = (policy: string) =>
  seeds.map((_, i) => worlds.reduce((sum, name) => sum + shares.get(policy)!.get(name)![i]!, 0) / worlds.length)
const minus = (a: ReadonlyArray<number>, b: ReadonlyArray<number>) => a.map((value, i) => value - b[i]!)
const row = (cells: ReadonlyArray<string>) => `| ${cells.join(" | ")} |`

console.log(
  `\nShare of the oracle's advantage over choosing evenly, in percent, mean ± 95 % interval; seeds ${from} to ${
    from + count - 1
  }, fits every ${refitHours} simulated hours\n`,
)
console.log(row(["policy", ...worlds, "mean"]))
console.log(row(["---", ...worlds.map(() => "---:"), "---:"]))
for (const { name } of policies) {
  console.log(row([name, ...worlds.map((at) => text(shares.get(name)!.get(at)!)), text(means(name))]))
}

const compare = (name: string, values: (at: string) => ReadonlyArray<number>, mean: ReadonlyArray<number>) =>
  console.log(row([name, ...worlds.map((at) => text(values(at), true)), text(mean, true)]))
for (const { name } of lesser) {
  compare(
    `adaptive − ${name}`,
    (at) => minus(shares.get(ours.name)!.get(at)!, shares.get(name)!.get(at)!),
    minus(means(ours.name), means(name)),
  )
}

for (const [kind, group] of [["best peer", rivals], ["best peer in steps", rivalsInSteps]] as const) {
  if (group.length === 0) continue
  const bestBy = (value: (policy: string) => number) =>
    group.map(({ name }) => name).reduce((a, b) => value(b) > value(a) ? b : a)
  const best = worlds.map((at) => bestBy((policy) => spread(shares.get(policy)!.get(at)!).mean))
  const bestOfAll = bestBy((policy) => spread(means(policy)).mean)
  console.log(row([kind, ...best, bestOfAll]))
  compare(
    `adaptive − ${kind}`,
    (at) => minus(shares.get(ours.name)!.get(at)!, shares.get(best[worlds.indexOf(at)]!)!.get(at)!),
    minus(means(ours.name), means(bestOfAll)),
  )
}
console.log(`\n${((performance.now() - began) / 60_000).toFixed(1)} minutes`)
