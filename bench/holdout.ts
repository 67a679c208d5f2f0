// Measures how often the interval of a holdout's comparison contains the true effect: deno task bench holdout [--runs
// 2000] [--from 1].
import { parseArgs } from "node:util"
import { coverage, crowds } from "./simulation/HoldoutCrowds.ts"

const { values: flags } = parseArgs({
  args: Deno.args.slice(1),
  options: { runs: { type: "string", default: "2000" }, from: { type: "string", default: "1" } },
})
const [runs, from] = [Number(flags.runs), Number(flags.from)]
if (!(Number.isInteger(runs) && runs > 0) || !Number.isInteger(from)) {
  console.error("--runs and --from are whole numbers")
  Deno.exit(1)
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`
console.log("| people | coverage of the 95 % interval | with decisions taken to be independent |")
console.log("| --- | ---: | ---: |")
for (const crowd of crowds) {
  const { independent, shown } = coverage(crowd, runs, from)
  console.log(`| ${crowd.name} | ${percent(shown)} | ${percent(independent)} |`)
}
