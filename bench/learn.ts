// Measures the costs of learning: events concurrent with Generate, the time until they change the selection, and the
// arithmetic.
//
//   deno task bench learn [--quick] [--only pure|postgres|embedded] [--generate RATE] [--postgres-url URL]
//
// Servers run on core 0, load on core 1, and PostgreSQL on either. `--postgres-url`: a server for temporary databases.
// Default: a server that is started for this run. If the server has loaded pg_stat_statements, the most expensive
// statements are printed as well. `--generate`: requests per second of Generate concurrent with events. Default: half
// of its full rate, which is too much for two cores together with PostgreSQL, the load and 5,000 events per second.
import { rmSync } from "node:fs"
import { openFolder, startPostgres } from "../test/support/throwawayPostgres.ts"
import { printColumns, printTable } from "./support/Bench.ts"
import { createDatabase, type Environment } from "./support/Databases.ts"
import { type Acknowledged, measureEventBaseline } from "./support/eventBaseline.ts"
import { flagsOf } from "./support/Flags.ts"
import { measurePure } from "./support/learnPure.ts"
import { measureStore, rateNameOf, type Size, type StoreResult } from "./support/learnStore.ts"

const { numberOf, postgresUrl, quick, wanted } = flagsOf("learn", ["generate"])
const generate = numberOf("generate")

const size: Size = quick
  ? { generate, quick: true, seconds: 3, probeSeconds: 14, decisions: 20_000, filled: 20_000 }
  : { generate, quick: false, seconds: 8, probeSeconds: 45, decisions: 100_000, filled: 100_000 }

const medianOf = (values: ReadonlyArray<number>): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN
const sum = (values: Iterable<number>) => [...values].reduce((a, b) => a + b, 0)

const printStore = (baseline: ReadonlyArray<Acknowledged>, result: StoreResult) => {
  printTable(
    "Generate with concurrent events, server on one core, 64 connections",
    result.generate,
    result.generate[0]!.name,
  )
  const grouped = baseline[0]!
  const single = baseline[1]!
  const closed = baseline[2]!
  const baseOf = ({ name }: Acknowledged) =>
    name.includes("single") ? name.includes("closed loop,") ? closed : single : grouped
  printColumns(
    "Events acknowledged, 32 connections",
    [
      "",
      "events/s",
      "p50 ms",
      "p99 ms",
      "rate / empty route",
      "p99 / empty route",
      "bodies left",
      "s to empty",
      "answers",
    ],
    [...baseline, ...result.events].map((row) => [
      row.name,
      [row.eventsPerSecond, 0],
      [row.p50, 2],
      [row.p99, 2],
      [row.eventsPerSecond / baseOf(row).eventsPerSecond, 2],
      [row.p99 / baseOf(row).p99, 1],
      [row.backlog, 0],
      [row.emptySeconds, 1],
      Object.entries(row.statuses).map(([status, count]) => `${count} × ${status}`).join(", "),
    ]),
  )
  const [bare] = result.drained
  printColumns(
    "The inbox at full speed",
    ["", "events/s", "rate / bare inserts", "CPU µs/event"],
    result.drained.map(({ cpuMicros, eventsPerSecond, name }) => [
      name,
      [eventsPerSecond, 0],
      [eventsPerSecond / bare!.eventsPerSecond, 2],
      [cpuMicros, 0],
    ]),
  )
  printColumns(
    `From acknowledgement to a changed model, 5,000 events/s and Generate ${rateNameOf(size)} (aim: under 5 s)`,
    ["", "probes", "counted p50 s", "counted max s", "model p50 s", "model max s", "cut off by the end, after s"],
    result.probes.map(({ counted, name, seconds, unseen }) => [
      name,
      seconds.length,
      [medianOf(counted), 2],
      [Math.max(...counted), 2],
      [medianOf(seconds), 2],
      [Math.max(...seconds), 2],
      unseen.length === 0 ? "none" : unseen.map((seconds) => seconds.toFixed(1)).join(", "),
    ]),
  )
  const { count, perFit, share } = result.fits
  console.log(`\n${count} fits of ${perFit.toFixed(1)} ms: ${(100 * share).toFixed(1)} % of a core (aim: at most 20 %)`)
  printColumns(
    `Processor time by thread, Generate ${rateNameOf(size)}`,
    ["", "% of a core alone", "% of a core with 5,000 events/s"],
    [
      ...result.threads.filter(([, ...times]) => Math.max(...times) > 5000)
        .map(([name, alone, beside]) => [name, [alone / 1e4, 1], [beside / 1e4, 1]] as const),
      [
        "all",
        [sum(result.threads.map(([, alone]) => alone)) / 1e4, 1],
        [sum(result.threads.map(([, , beside]) => beside)) / 1e4, 1],
      ],
    ],
  )
  console.log(`\n${result.notes.join("\n")}`)
}

const wrong: Array<string> = []
if (wanted("pure")) wrong.push(...measurePure(quick))
if (wanted("postgres") || wanted("embedded")) {
  const baseline = await measureEventBaseline(size.seconds)
  const measureOn = async (store: string, environment: Environment) => {
    const result = await measureStore(store, environment, size)
    wrong.push(...result.wrong)
    printStore(baseline, result)
  }
  if (wanted("postgres")) {
    const given = postgresUrl
    const postgres = given === undefined ? await startPostgres() : { url: given, stop: () => Promise.resolve() }
    try {
      const database = await createDatabase(postgres.url)
      try {
        await measureOn("Postgres", { DATABASE_URL: database.url })
      } finally {
        await database.drop()
      }
    } finally {
      await postgres.stop()
    }
  }
  if (wanted("embedded")) {
    const folder = openFolder("parlance-bench-")
    try {
      await measureOn("embedded", { DATA_DIR: folder })
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
if (wrong.length > 0) {
  console.error(`\nWrong:\n${wrong.slice(0, 20).join("\n")}`)
  Deno.exit(1)
}
