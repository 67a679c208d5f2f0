// Measures the cost of managed delivery: storing messages, compared with a job queue and a bare insert, sending
// messages, and both with a full table.
//
//   deno task bench deliver [--quick] [--only enqueue|send|calm|rows|embedded] [--postgres-url URL]
//
// Servers run on core 0, load and platforms on core 1, and PostgreSQL on any core. `--postgres-url`: a server for
// temporary databases. Default: a server that is started for this run.
import { rmSync } from "node:fs"
import { loadavg } from "node:os"
import { parseArgs } from "node:util"
import { freePort } from "../test/support/service.ts"
import { openFolder, startPostgres } from "../test/support/throwawayPostgres.ts"
import { printColumns, startServer } from "./support/Bench.ts"
import { createDatabase, type Environment } from "./support/Databases.ts"
import { type Enqueued, measureEnqueue, measureOthers } from "./support/deliverEnqueue.ts"
import { measureRows, pageNames, type RowCosts } from "./support/deliverRows.ts"
import { measureClient, measureSend, outlets, type SentOut } from "./support/deliverSend.ts"
import { environmentOf, setUp } from "./support/deliverStore.ts"

const { values: flags } = parseArgs({
  args: Deno.args.filter((argument) => argument !== "deliver"),
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    "postgres-url": { type: "string" },
  },
})
const parts = ["enqueue", "send", "calm", "rows", "embedded"] as const
if (flags.only !== undefined && !parts.some((part) => part === flags.only)) {
  console.error(`--only ${parts.join("|")}`)
  Deno.exit(1)
}
const wanted = (part: typeof parts[number]) => flags.only === undefined || flags.only === part

const size = flags.quick
  ? { seconds: 3, messages: 4000, calmSeconds: 10, rows: 100_000 }
  : { seconds: 8, messages: 30_000, calmSeconds: 30, rows: 1_000_000 }
const aims = { enqueue: 3000, send: 2000, calm: 99 }
/** A platform that receives no messages. */
const nowhere = { kind: "smtp", port: 9 } as const

const load = () => console.log(`\nload average: ${loadavg().map((value) => value.toFixed(1)).join(", ")}`)

const printEnqueue = (store: string, rows: ReadonlyArray<Enqueued>, others: ReadonlyArray<Enqueued>) => {
  const [graphile, bare] = others
  printColumns(
    `Queued on ${store} (aim: ${aims.enqueue.toLocaleString("en")}/s)`,
    ["", "messages/s", "/ aim", "/ addJob", "/ bare insert", "p50 ms", "p99 ms", "CPU µs/message", "answers"],
    [...others, ...rows].map((row) => [
      row.name,
      [row.perSecond, 0],
      [row.perSecond / aims.enqueue, 2],
      [row.perSecond / (graphile?.perSecond ?? NaN), 2],
      [row.perSecond / (bare?.perSecond ?? NaN), 2],
      [row.p50, 2],
      [row.p99, 2],
      [row.cpuMicros, 0],
      Object.entries(row.statuses).map(([status, count]) => `${count} × ${status}`).join(", "),
    ]),
  )
  load()
}

const printSend = (title: string, aim: number, rows: ReadonlyArray<SentOut>) => {
  printColumns(
    title,
    ["", "messages", "messages/s", "/ aim", "fullest second", "CPU µs/message", "CPU µs/message of the platform"],
    rows.map((row) => [
      row.name,
      row.messages,
      [row.perSecond, 2],
      [row.perSecond / aim, 2],
      row.fullest,
      [row.cpuMicros, 0],
      [row.platformMicros, 0],
    ]),
  )
  load()
}

const printRows = (rows: ReadonlyArray<RowCosts>) => {
  const [base] = rows
  const figures = (row: RowCosts) => [
    row.claimMillis,
    row.settleMillis,
    1000 / row.enqueuedPerSecond,
    row.summaryMillis,
    ...row.pagesMillis,
  ]
  const names = [
    "claim, ms/message",
    "settle, ms/message",
    "enqueue, ms/message",
    "summary, ms",
    ...pageNames.map((name) => `page of ${name}, ms`),
  ]
  printColumns(
    "With a full table (1 is flat)",
    ["", ...rows.flatMap(({ name }, i) => i === 0 ? [name] : [name, `/ ${base!.name}`])],
    names.map((name, n) => [
      name,
      ...rows.flatMap((row, i) => {
        const value = figures(row)[n]!
        return i === 0 ? [[value, 3] as const] : [[value, 3] as const, [value / figures(base!)[n]!, 2] as const]
      }),
    ]),
  )
  load()
}

const sendFast = async (store: string, fresh: () => Promise<Environment>) =>
  printSend(
    `Sent from ${store} with the ceiling at 10,000/s (aim: ${aims.send.toLocaleString("en")}/s)`,
    aims.send,
    [
      await measureClient(5, size.messages),
      await measureClient(20, size.messages),
      ...await measureSend(await fresh(), { ceiling: 10_000, messages: size.messages, outlets }),
    ],
  )

const sendCalmly = async (store: string, fresh: () => Promise<Environment>) =>
  printSend(
    `Sent from ${store} at the ceiling of 100/s (aim: ${aims.calm}/s, never more than 100 in a second)`,
    aims.calm,
    await measureSend(await fresh(), {
      ceiling: 100,
      messages: size.calmSeconds * 100,
      outlets: [outlets[0]!, outlets[2]!],
    }),
  )

if (wanted("enqueue") || wanted("send") || wanted("calm") || wanted("rows")) {
  const given = flags["postgres-url"]
  const postgres = given === undefined ? await startPostgres() : { url: given, stop: () => Promise.resolve() }
  const databases: Array<() => Promise<void>> = []
  const fresh = async (): Promise<Environment> => {
    const { drop, url } = await createDatabase(postgres.url)
    databases.push(drop)
    return { DATABASE_URL: url }
  }
  try {
    if (wanted("enqueue")) {
      const others = await measureOthers((await fresh())["DATABASE_URL"]!, size.seconds)
      printEnqueue("Postgres", await measureEnqueue(await fresh(), nowhere, size.seconds), others)
    }
    if (wanted("send")) await sendFast("Postgres", fresh)
    if (wanted("calm")) await sendCalmly("Postgres", fresh)
    if (wanted("rows")) {
      const environment = await fresh()
      const server = await startServer(["src/main.ts", "serve"], await freePort(), environmentOf(environment))
      await setUp(server.url, nowhere).finally(server.stop)
      printRows(await measureRows(environment, size.rows, size.seconds))
    }
  } finally {
    for (const drop of databases) await drop()
    await postgres.stop()
  }
}
if (wanted("embedded")) {
  const folders: Array<string> = []
  const fresh = () => {
    const folder = openFolder("parlance-bench-")
    folders.push(folder)
    return Promise.resolve({ DATA_DIR: folder })
  }
  try {
    printEnqueue("the embedded store", await measureEnqueue(await fresh(), nowhere, size.seconds), [])
    await sendFast("the embedded store", fresh)
    await sendCalmly("the embedded store", fresh)
  } finally {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  }
}
Deno.exit(0)
