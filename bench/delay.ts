// Measures the gain of send times in simulated worlds, and the cost of a response: deno task bench delay [--seeds 20]
// [--from 1] [--people 2000] [--reading preferences|looks|office] [--only worlds|speed] [--quick].
import { parseArgs } from "node:util"
import { delaySpeed } from "./support/delaySpeed.ts"
import { bounds, type Group, groups, runSendTimes, sendTimePolicies, shareOf } from "./simulation/SendTimePolicies.ts"
import { readings, sendTimeWorld } from "./simulation/SendTimeWorld.ts"
import { spread } from "../src/simulation/Spread.ts"

const { values: flags } = parseArgs({
  args: Deno.args.slice(1),
  options: {
    seeds: { type: "string", default: "20" },
    from: { type: "string", default: "1" },
    people: { type: "string", default: "2000" },
    reading: { type: "string", default: "preferences" },
    only: { type: "string" },
    quick: { type: "boolean", default: false },
  },
})
const count = flags.quick ? 3 : Number(flags.seeds)
const from = Number(flags.from)
const people = flags.quick ? 500 : Number(flags.people)
if (![count, from, people].every(Number.isInteger) || count < 1 || people < 1) {
  console.error("--seeds, --from and --people are whole numbers")
  Deno.exit(1)
}

const reading = readings.find((one) => one === flags.reading)
if (reading === undefined) {
  console.error(`--reading is ${readings.join(" or ")}`)
  Deno.exit(1)
}

const worlds = () => {
  const shares = new Map<string, Map<Group, Array<number>>>()
  const messages = new Map<string, Map<Group, number>>()
  const began = performance.now()
  for (let seed = from; seed < from + count; seed++) {
    const world = sendTimeWorld(seed, people, reading)
    const limits = bounds(world)
    for (const policy of sendTimePolicies) {
      const captured = runSendTimes(world, limits, policy, seed)
      const own = shares.get(policy.name) ?? new Map<Group, Array<number>>()
      const counts = messages.get(policy.name) ?? new Map<Group, number>()
      shares.set(policy.name, own)
      messages.set(policy.name, counts)
      for (const [group, sum] of captured) {
        if (sum.count > 0) own.set(group, [...own.get(group) ?? [], 100 * shareOf(sum)])
        counts.set(group, (counts.get(group) ?? 0) + sum.count)
      }
    }
    console.error(`world ${seed - from + 1}/${count} after ${((performance.now() - began) / 1000).toFixed(0)} s`)
  }
  const text = (values: ReadonlyArray<number> | undefined) => {
    if (values === undefined) return "–"
    const { halfWidth, mean } = spread(values)
    return Number.isNaN(halfWidth) ? mean.toFixed(1) : `${mean.toFixed(1)} ± ${halfWidth.toFixed(1)}`
  }
  console.log(
    `\nShare of the way from sending at once to the best hour of the next 24, in percent, mean ± 95 % interval; seeds ` +
      `${from} to ${from + count - 1}, ${people} people, ${messages.get("at once")!.get("all")} messages\n`,
  )
  console.log(`| policy | ${groups.join(" | ")} |`)
  console.log(`| --- |${" ---: |".repeat(groups.length)}`)
  for (const [name, own] of shares) {
    console.log(`| ${name} | ${groups.map((group) => text(own.get(group))).join(" | ")} |`)
  }
  const ahead = (group: Group, over: string) => {
    const other = shares.get(over)!.get(group) ?? []
    return text((shares.get("Parlance")!.get(group) ?? []).map((value, i) => value - other[i]!))
  }
  for (const other of ["organization's best hour", "organization's curve", "most engaged hour", "per-user slots"]) {
    console.log(`| ahead of ${other} | ${groups.map((group) => ahead(group, other)).join(" | ")} |`)
  }
}

if (flags.only !== "speed") worlds()
if (flags.only !== "worlds") await delaySpeed(flags.quick)
