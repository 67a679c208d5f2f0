// Measures Deliver with difficult recipients: greylisting, tarpits and refusals. Also measures the waiting time of
// transactional messages.
//
//   deno task bench recipients [--quick] [--only claims|greylisted|alone|tarpits|urgent|storm] [--postgres-url URL]
//
// `--postgres-url`: a server for temporary databases. Default: a server that is started for this run.
import { loadavg } from "node:os"
import { parseArgs } from "node:util"
import {
  sendToGreylisted,
  sendToGreylistingOnly,
  sendToTarpits,
  sendUrgently,
  storm,
} from "../test/process/recipientScenarios.ts"
import { startPostgres } from "../test/support/throwawayPostgres.ts"
import { printColumns } from "./support/Bench.ts"
import { createDatabase, type Environment } from "./support/Databases.ts"
import { measureClaims } from "./support/recipientClaims.ts"

const { values: flags } = parseArgs({
  args: Deno.args.filter((argument) => argument !== "recipients"),
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    "postgres-url": { type: "string" },
  },
})
const parts = ["claims", "greylisted", "alone", "tarpits", "urgent", "storm"] as const
type Part = typeof parts[number]
if (flags.only !== undefined && !parts.some((part) => part === flags.only)) {
  console.error(`--only ${parts.join("|")}`)
  Deno.exit(1)
}

const size = flags.quick
  ? {
    rows: 20_000,
    times: 20,
    greylisted: 100,
    good: 900,
    alone: 500,
    tarpits: 1_000,
    bulk: 5_000,
    urgent: 50,
    storm: 1_000,
  }
  : {
    rows: 100_000,
    times: 50,
    greylisted: 1_000,
    good: 9_000,
    alone: 5_000,
    tarpits: 5_000,
    bulk: 100_000,
    urgent: 300,
    storm: 20_000,
  }

const load = () => console.log(`\nload average: ${loadavg().map((value) => value.toFixed(1)).join(", ")}`)

const run: { readonly [part in Part]: (fresh: () => Promise<Environment>) => Promise<void> } = {
  claims: async (fresh) => {
    const costs = await measureClaims(await fresh(), size.rows, size.times)
    printColumns(
      `Claims from a queue of ${size.rows.toLocaleString("en")}`,
      ["", "claimed", "median ms", "longest ms"],
      costs.map(({ claimed, longest, median, name }) => [name, claimed, [median, 2], [longest, 2]]),
    )
  },
  greylisted: async (fresh) => {
    const { badAttempts, firstMillis, fullest, fullestAttempts, perSecond } = await sendToGreylisted(
      await fresh(),
      size.greylisted,
      size.good,
    )
    printColumns(
      `${size.greylisted} greylisted recipients in front of ${size.good} good ones (aim: 95/s from the start)`,
      ["good/s", "first good after ms", "fullest second", "with attempts", "greylisted attempts meanwhile"],
      [[[perSecond, 2], [firstMillis, 0], fullest, fullestAttempts, badAttempts]],
    )
  },
  alone: async (fresh) => {
    const { fullest, messages, perSecond, seconds } = await sendToGreylistingOnly(await fresh(), size.alone)
    printColumns(
      `${messages} recipients of one domain that greylists all of them, and no others: first attempts`,
      ["seconds", "attempts/s", "fullest second"],
      [[[seconds, 0], [perSecond, 2], fullest]],
    )
  },
  tarpits: async (fresh) => {
    const without = await sendToTarpits(await fresh(), 0, size.tarpits)
    const among = await sendToTarpits(await fresh(), 10, size.tarpits)
    printColumns(
      `${size.tarpits} good recipients behind ten tarpits (aim: at most 10 % slower)`,
      ["", "good/s", "first good after ms", "fullest second"],
      [["no tarpits", without], ["ten tarpits", among]].map(([name, campaign]) => {
        const { firstMillis, fullest, perSecond } = campaign as typeof without
        return [name as string, [perSecond, 2], [firstMillis, 0], fullest]
      }),
    )
    console.log(`\nslower by ${(100 * (1 - among.perSecond / without.perSecond)).toFixed(1)} %`)
  },
  urgent: async (fresh) => {
    const { fullest, longest, messages, p50, p99 } = await sendUrgently(await fresh(), size.bulk, size.urgent, 10)
    printColumns(
      `Transactional messages behind ${size.bulk.toLocaleString("en")} bulk messages (aim: p99 at most 1,500 ms)`,
      ["messages", "p50 ms", "p99 ms", "longest ms", "fullest second"],
      [[messages, [p50, 0], [p99, 0], [longest, 0], fullest]],
    )
  },
  storm: async (fresh) => {
    for (const nodes of [1, 2]) {
      const { fullest, fullestAttempts, kills, repeated, seconds, states } = await storm(await fresh(), {
        messages: size.storm,
        nodes,
        perKill: size.storm / 5,
      })
      printColumns(
        `${
          size.storm.toLocaleString("en")
        } messages, 5 % greylisted, 1 % tarpits, 1 % refused; ${nodes} node(s), kill -9`,
        ["seconds", "kills", "sent twice", "fullest second", "with attempts", "sent", "failed"],
        [[[seconds, 0], kills, repeated, fullest, fullestAttempts, states["sent"]!, states["failed"]!]],
      )
    }
  },
}

const given = flags["postgres-url"]
const postgres = given === undefined ? await startPostgres() : { url: given, stop: () => Promise.resolve() }
const databases: Array<() => Promise<void>> = []
try {
  for (const part of parts) {
    if (flags.only !== undefined && flags.only !== part) continue
    await run[part](async () => {
      const { drop, url } = await createDatabase(postgres.url)
      databases.push(drop)
      return { DATABASE_URL: url }
    })
    load()
  }
} finally {
  for (const drop of databases) await drop()
  await postgres.stop()
}
Deno.exit(0)
