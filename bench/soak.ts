// Checks that memory and times stay constant: without load, then at half load with events, deliveries and console
// reads.
//
//   deno task bench soak [--minutes 30] [--every 3] [--phase idle|load] [--embedded]
//
// `--minutes`: length of each phase. `--every`: minutes between samples. `--phase`: only this phase.
import { rmSync } from "node:fs"
import { parseArgs } from "node:util"
import { openFolder, startPostgres } from "../test/support/throwawayPostgres.ts"
import { printColumns } from "./support/Bench.ts"
import { risersOf } from "./support/Heap.ts"
import { slopeOf, soak, type SoakSample } from "./support/Soak.ts"
import { quantile } from "./support/Loop.ts"

const { values: flags } = parseArgs({
  args: Deno.args.filter((argument) => argument !== "soak"),
  options: {
    minutes: { type: "string", default: "30" },
    every: { type: "string", default: "3" },
    phase: { type: "string", default: "both" },
    embedded: { type: "boolean", default: false },
  },
})
const intervalSeconds = Number(flags.every) * 60
const intervals = Math.max(3, Math.round(Number(flags.minutes) * 60 / intervalSeconds))

const mebibytes = (bytes: number) => bytes / 1024 / 1024
const figures = {
  "heap, MiB": ({ heap }: SoakSample) => mebibytes(heap.bytes),
  "objects": ({ heap }: SoakSample) => heap.objects,
  "resident, MiB": ({ resident }: SoakSample) => mebibytes(resident),
  "longest full collection, ms": ({ pauses }: SoakSample) => Math.max(0, ...pauses),
  "median full collection, ms": ({ pauses }: SoakSample) => quantile(pauses, 0.5),
  "p99 of Generate, ms": ({ load }: SoakSample) => load?.generate.p99 ?? NaN,
}
const names = Object.keys(figures) as ReadonlyArray<keyof typeof figures>

const print = (phase: SoakSample["phase"], samples: ReadonlyArray<SoakSample>) => {
  const rows = samples.filter((sample) => sample.phase === phase)
  printColumns(
    `Service, ${phase}`,
    ["minute", ...names, "Generates/s"],
    rows.map((sample) => [
      sample.minute.toFixed(1),
      ...names.map((name) => [figures[name](sample), name === "objects" ? 0 : 1] as const),
      [sample.load?.generate.perSecond ?? NaN, 0],
    ]),
  )
  printColumns(
    `Slope, ${phase}`,
    ["", "mean", "per minute", "standard error", "in standard errors"],
    names.map((name) => {
      const { error, mean, slope } = slopeOf(rows.map((sample) => [sample.minute, figures[name](sample)]))
      return [name, [mean, 1], [slope, 3], [error, 3], [slope / error, 1]]
    }),
  )
  // The first interval still compiles code and fills caches.
  const risers = risersOf(rows.slice(1).map(({ heap }) => heap), 20).slice(0, 10)
  printColumns(
    `Classes that rose in every interval, ${phase}`,
    ["class", "first", "last"],
    risers.map(({ counts, name }) => [
      name,
      counts[0]!,
      counts.at(-1)!,
    ]),
  )
}

const folder = openFolder("parlance-soak-")
const postgres = flags.embedded ? undefined : await startPostgres()
const environment = postgres !== undefined ? { DATABASE_URL: postgres.url } : { DATA_DIR: folder }
try {
  const samples = await soak({
    environment,
    intervalSeconds,
    idle: flags.phase === "load" ? 0 : intervals,
    loaded: flags.phase === "idle" ? 0 : intervals,
    rate: 0,
    onSample: (sample) =>
      console.error(
        `${sample.phase} ${sample.minute.toFixed(1)} min: ${
          names.map((name) => `${name} ${figures[name](sample).toFixed(1)}`).join(", ")
        }`,
      ),
  })
  if (flags.phase !== "load") print("idle", samples)
  if (flags.phase !== "idle") print("load", samples)
} finally {
  await postgres?.stop()
  rmSync(folder, { recursive: true, force: true })
}
Deno.exit(0)
