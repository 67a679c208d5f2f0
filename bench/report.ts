// Measures the processor time of the report of a template with very many variants, which the worker of results computes.
//
//   deno task bench report [--variants 200] [--runs 9]
import process from "node:process"
import { parseArgs } from "node:util"
import { encodeContext } from "../src/bandit/Contexts.ts"
import { Counts } from "../src/bandit/Counts.ts"
import { fit } from "../src/bandit/Fit.ts"
import { priorDelayCurve } from "../src/bandit/Maturity.ts"
import { eligibleSet, Policy } from "../src/bandit/Policy.ts"
import { defaultPriors } from "../src/bandit/Priors.ts"
import { report, type ReportRequest } from "../src/bandit/Report.ts"
import { reportModels } from "../src/bandit/ReportModels.ts"
import { bucketAt, dayMillis } from "../src/bandit/Window.ts"
import { seeded } from "../test/support/load.ts"
import { printColumns } from "./support/Bench.ts"

const { values: flags } = parseArgs({
  args: Deno.args.slice(1),
  options: { variants: { type: "string", default: "200" }, runs: { type: "string", default: "9" } },
})
const variants = Number(flags.variants)
const runs = Number(flags.runs)

const now = Date.UTC(2026, 10, 21, 12, 30)
const keys = [{ name: "country", values: ["no", "se", "dk", "fi"] }, { name: "plan", values: ["free", "pro"] }]
const valuesOf = {
  country: ["no", "se", "dk", "fi", "other", "missing"],
  plan: ["free", "pro", "other", "missing"],
  weekend: ["weekday", "weekend"],
}

/** 6 × 4 × 3 = 72 contexts of 17 coefficients: three parts of the day, two of them on weekdays. */
const contexts = valuesOf.country.flatMap((country) =>
  valuesOf.plan.flatMap((plan) =>
    [["weekday", "morning"], ["weekday", "evening"], ["weekend", "morning"]].map(([weekend, daypart]) =>
      encodeContext([["country", country], ["plan", plan], ["weekend", weekend!], ["daypart", daypart!]])
    )
  )
)

/** The variants' counts on three days. Rates differ by variant and by country. */
const countsOf = (): Counts => {
  const random = seeded(7)
  const counts = new Counts()
  for (let v = 0; v < variants; v++) {
    const quality = Math.exp(0.3 * (random() - 0.5))
    const byCountry = valuesOf.country.map(() => Math.exp(0.3 * (random() - 0.5)))
    contexts.forEach((context, c) => {
      const rate = 0.033 * quality * byCountry[Math.floor(c / 12)]!
      for (let day = 1; day <= 3; day++) {
        const sends = 5 + Math.floor(20 * random())
        counts.add(
          `v${v}`,
          context,
          bucketAt(now - day * dayMillis, now).start,
          sends,
          Math.floor(sends * rate + random()),
        )
      }
    })
  }
  return counts
}

const model = fit({
  version: "t:1",
  counts: countsOf(),
  scheme: { keys },
  window: { mode: "adaptive", halfLifeDays: 120 },
  curve: priorDelayCurve,
  now,
  organization: defaultPriors,
})
const ids = Array.from({ length: variants }, (_, v) => `v${v}`)
/** One group for each value of the three attributes. */
const groups = Object.entries(valuesOf).flatMap(([name, values]) =>
  values.map((value) => {
    const part = encodeContext([[name, value]])
    return { name: part, contexts: model.traffic.filter(({ cell }) => cell.split("&").includes(part)) }
  })
)
const request: ReportRequest = { model, floor: 0.01, ids, eligible: ids, groups, seed: 1 }

/** Median processor time of `run`, after a first run. Unit: milliseconds. */
const medianOf = (run: () => unknown): number => {
  run()
  const times = Array.from({ length: runs }, () => {
    const begin = process.cpuUsage()
    run()
    const { system, user } = process.cpuUsage(begin)
    return (system + user) / 1000
  })
  return times.sort((a, b) => a - b)[Math.floor(runs / 2)]!
}

const everywhere = eligibleSet(ids)
const choose = () => {
  const policy = new Policy(model, request.floor)
  return model.traffic.map(({ cell }) => policy.choice(policy.contexts.parse(cell), everywhere))
}
printColumns(
  `Report of ${variants} variants in ${model.traffic.length} contexts and ${groups.length} groups, medians of ${runs}`,
  ["", "CPU ms"],
  [
    ["report", [medianOf(() => report(request)), 0]],
    ["of it: models", [medianOf(() => reportModels(model)), 0]],
    ["of it: choices", [medianOf(choose), 0]],
  ],
)
