// Measures bulk actions on many deliveries: previews, retries and cancellations, and concurrent claims of messages.
//
//   deno task bench bulk [--rows 1000000] [--postgres-url URL]
//
// `--postgres-url`: a server for temporary databases. Default: a server that is started for this run.
import { loadavg } from "node:os"
import { parseArgs } from "node:util"
import { startPostgres } from "../test/support/throwawayPostgres.ts"
import { printColumns } from "./support/Bench.ts"
import { measureBulk } from "./support/bulkRows.ts"
import { createDatabase } from "./support/Databases.ts"

const { values: flags } = parseArgs({
  args: Deno.args.filter((argument) => argument !== "bulk"),
  options: { rows: { type: "string", default: "1000000" }, "postgres-url": { type: "string" } },
})
const rows = Number(flags.rows)
const given = flags["postgres-url"]
const postgres = given === undefined ? await startPostgres() : { url: given, stop: () => Promise.resolve() }
const { drop, url } = await createDatabase(postgres.url)
try {
  const costs = await measureBulk(
    { DATABASE_URL: url },
    rows,
    ({ claimMillis, ...cost }) =>
      console.error(JSON.stringify({ ...cost, claims: claimMillis.length, longestClaim: claimMillis.at(-1) })),
  )
  printColumns(
    `Bulk actions on ${rows.toLocaleString("en")} deliveries`,
    ["", "matched", "preview ms", "changed", "action s", "changed/s", "claims", "median claim ms", "longest claim ms"],
    costs.map(({ applyMillis, changed, claimMillis, matched, name, previewMillis }) => [
      name,
      matched,
      [previewMillis, 0],
      changed,
      [applyMillis / 1000, 1],
      [changed * 1000 / applyMillis, 0],
      claimMillis.length,
      [claimMillis[claimMillis.length >> 1] ?? NaN, 0],
      [claimMillis.at(-1) ?? NaN, 0],
    ]),
  )
  printColumns(
    "How Postgres finds the deliveries",
    ["", "preview", "batch of 1,000"],
    costs.map(({ batchPlan, name, previewPlan }) => [name, previewPlan, batchPlan]),
  )
  console.log(`\nload average: ${loadavg().map((value) => value.toFixed(1)).join(", ")}`)
} finally {
  await drop()
  await postgres.stop()
}
Deno.exit(0)
