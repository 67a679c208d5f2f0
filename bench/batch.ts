// Compares the processor time of a batch of 20 templates with the time of a Generate, in turns of half a second, so that
// other work on the machine affects both alike. The service runs on core 0.
//
//   deno task bench batch [--rounds 30] [--connections 16] [--against FOLDER]
//
// `--against`: also measures the service of another checkout, in the same turns.
import { parseArgs } from "node:util"
import { adminToken, freePort, makeOrganization, serviceAt } from "../test/support/service.ts"
import { startPostgres } from "../test/support/throwawayPostgres.ts"
import { printColumns, startServer, threadMicrosOf } from "./support/Bench.ts"
import { postMessage } from "./support/Connection.ts"
import { createDatabase } from "./support/Databases.ts"
import { loop } from "./support/Loop.ts"
import { offer, person } from "./support/offer.ts"

const { values: flags } = parseArgs({
  args: Deno.args.filter((argument) => argument !== "batch"),
  options: {
    rounds: { type: "string", default: "30" },
    connections: { type: "string", default: "16" },
    against: { type: "string" },
  },
})
const connections = Number(flags.connections)
const turnSeconds = 0.5
const warmUpSeconds = 6
const size = 20

/** Starts the service of a checkout on its own database. */
const start = async (name: string, folder: string | undefined) => {
  const { url: database } = await createDatabase(postgres.url)
  const environment = { ADMIN_TOKEN: adminToken, LOG_LEVEL: "Warn", DATABASE_URL: database }
  const server = await startServer(["src/main.ts", "serve"], await freePort(), environment, { folder })
  const service = serviceAt(server.url)
  const headers = { "X-Api-Key": await makeOrganization(service, "bench") }
  for (let i = 0; i < size; i++) await service.manage("POST", "/organizations/bench/templates", offer(`t${i}`))
  const shared = { user_id: "u1", ...person }
  const requests = Array.from({ length: size }, (_, i) => ({ template_id: `t${i}` }))
  const turnOf = (path: string, body: object) => {
    const url = `${server.url}/api/${path}/bench`
    const message = postMessage(new URL(url), headers, JSON.stringify(body))
    /** Sends requests, and returns the processor time of one. */
    return async (seconds = turnSeconds) => {
      const before = threadMicrosOf(server.pid)
      const { requests, statuses } = await loop(
        { url, seconds, connections, rate: 0 },
        () => async (connection, answered) => answered((await connection.send(message)).status),
      )
      if (Object.keys(statuses).join() !== "200") throw new Error(`${path}: ${JSON.stringify(statuses)}`)
      return (threadMicrosOf(server.pid) - before) / requests
    }
  }
  const generate = turnOf("generate", { template_id: "t0", ...shared })
  const batch = turnOf("batch-generate", { requests, ...shared })
  const rounds: Array<{ readonly generate: number; readonly batch: number }> = []
  return {
    name,
    rounds,
    stop: server.stop,
    warmUp: async () => {
      await generate(warmUpSeconds)
      await batch(warmUpSeconds)
    },
    round: async () => void rounds.push({ generate: await generate(), batch: await batch() }),
  }
}

const quantile = (values: ReadonlyArray<number>, q: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(q * values.length)]!

const postgres = await startPostgres()
const checkouts = [
  ...(flags.against === undefined ? [] : [await start("other checkout", flags.against)]),
  await start("this checkout", undefined),
]
for (const { warmUp } of checkouts) await warmUp()
for (let round = 0; round < Number(flags.rounds); round++) {
  for (const checkout of checkouts) await checkout.round()
}
for (const { stop } of checkouts) await stop()
await postgres.stop()
printColumns(
  `Processor time of the service, µs, medians of ${flags.rounds} rounds`,
  ["", "Generate", `batch of ${size}`, "ratio", "quartiles"],
  checkouts.map(({ name, rounds }) => {
    const ratios = rounds.map(({ batch, generate }) => batch / generate)
    return [
      name,
      [quantile(rounds.map(({ generate }) => generate), 0.5), 1],
      [quantile(rounds.map(({ batch }) => batch), 0.5), 0],
      [quantile(ratios, 0.5), 2],
      `${quantile(ratios, 0.25).toFixed(2)} to ${quantile(ratios, 0.75).toFixed(2)}`,
    ]
  }),
)
Deno.exit(0)
