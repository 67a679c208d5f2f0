// Measures the cost of several nodes: one node and three nodes on one core serve equal requests. Measures the outage
// after a node is killed. Computes the load of the database with 10, 30 and 100 nodes from these measurements.
//
//   deno task bench scale [--quick] [--only cost|takeover] [--rate 1500] [--connections 48] [--postgres-url URL]
//
// Servers run on core 0, load on core 1, and PostgreSQL on any core. `--rate`: total requests per second of all nodes,
// or 0 for the maximum. `--postgres-url`: a server for temporary databases.
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { loadavg } from "node:os"
import { parseArgs } from "node:util"
import { faultsOf, strike, type Surroundings, watchActors } from "../test/process/clusterFaults.ts"
import { startClusterLoad } from "../test/process/clusterLoad.ts"
import { scopedNodes, type TestNode } from "../test/process/clusterNodes.ts"
import { connectionTo, startSink } from "../test/process/deliverSink.ts"
import { sentBy } from "../test/process/deliverStorm.ts"
import { seeded } from "../test/support/load.ts"
import { makeOrganization, serviceAt } from "../test/support/service.ts"
import { layerSettings } from "../test/support/settings.ts"
import { startPostgres } from "../test/support/throwawayPostgres.ts"
import * as StoreFromSettings from "../src/store/StoreFromSettings.ts"
import { cpuMicrosOf, type Measured, printColumns, printTable, type ServerProcess } from "./support/Bench.ts"
import { createDatabase } from "./support/Databases.ts"
import { loadAll, perSecond, type Rates, startNodes, workOf } from "./support/scaleLoad.ts"

const { values: flags } = parseArgs({
  args: Deno.args.filter((argument) => argument !== "scale"),
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    rate: { type: "string" },
    connections: { type: "string", default: "48" },
    "postgres-url": { type: "string" },
  },
})
const parts = ["cost", "takeover"] as const
if (flags.only !== undefined && !parts.some((part) => part === flags.only)) {
  console.error(`--only ${parts.join("|")}`)
  Deno.exit(1)
}
const wanted = (part: typeof parts[number]) => flags.only === undefined || flags.only === part

const rate = Number(flags.rate ?? (flags.quick ? 300 : 1500))
const connections = Number(flags.connections)
if (!(rate >= 0) || !Number.isInteger(connections) || connections < 3) {
  console.error("--rate is a number, --connections a whole number from 3 on")
  Deno.exit(1)
}
const size = flags.quick
  ? { seconds: 2, warmUp: 1, idleSeconds: 3, kills: 1, organizations: 20 }
  : { seconds: 10, warmUp: 5, idleSeconds: 15, kills: 5, organizations: 100 }
const aims = { cost: 1.15, takeover: 10 }
const org = "bench"

const template = (id: string) => ({
  id,
  name: id,
  variants: Array.from({ length: 5 }, (_, i) => ({
    id: `v${i}`,
    vars: { subject: `Hi {{ name }}, offer ${i} for you`, body: "Dear {{ name | default: 'friend' }}, it is here." },
  })),
})

const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000))
const load = () => console.log(`\nload average: ${loadavg().map((value) => value.toFixed(1)).join(", ")}`)

interface Stage {
  readonly nodes: number
  readonly measured: Measured
  readonly busy: Rates
  readonly idle: Rates
  /** Number of cores that the processes use without requests. */
  readonly idleCpu: number
  readonly sessions: number
}

const cpuOf = (servers: ReadonlyArray<ServerProcess>) => servers.reduce((sum, { pid }) => sum + cpuMicrosOf(pid), 0)

const ask = {
  path: `/api/generate/${org}`,
  body: { template_id: "welcome", user_id: "u1", fields: { name: "Ann" }, attrs: { tier: "gold" } },
}

/** Creates the organization with the template of the requests, and other organizations. Returns an API key. */
const prepare = async (server: ServerProcess): Promise<string> => {
  const service = serviceAt(server.url)
  const key = await makeOrganization(service, org)
  for (let i = 1; i < size.organizations; i++) {
    await service.manage("POST", "/organizations", { slug: `o${i}`, name: `o${i}` })
  }
  await service.manage("POST", `/organizations/${org}/templates`, template("welcome"))
  await pause(2)
  return key
}

/**
 * Warms up each server separately at its maximum rate, because requests become cheaper after a process has served a few
 * thousand.
 */
const warmUp = async (servers: ReadonlyArray<ServerProcess>, keys: ReadonlyArray<string>) => {
  for (const [i, server] of servers.entries()) {
    const own = { ...ask, keys: [keys[i % keys.length]!] }
    await loadAll("", [server], own, { connections, rate: 0, seconds: size.warmUp })
  }
  await loadAll("", servers, { ...ask, keys }, { connections, rate, seconds: size.warmUp })
}

/** Measures one row of the comparison on a separate database. */
const measureStage = async (url: string, name: string, count: number): Promise<Stage> => {
  const servers = await startNodes(url, count)
  try {
    const keys = [await prepare(servers[0]!)]
    await warmUp(servers, keys)
    const before = await workOf(url)
    const measured = await loadAll(name, servers, { ...ask, keys }, { connections, rate, seconds: size.seconds })
    const after = await workOf(url)
    // The service first folds and fits the remaining counts of the load.
    await pause(4)
    const quiet = await workOf(url)
    const used = cpuOf(servers)
    await pause(size.idleSeconds)
    const end = await workOf(url)
    return {
      nodes: count,
      measured,
      busy: perSecond(before, after),
      idle: perSecond(quiet, end),
      idleCpu: (cpuOf(servers) - used) / size.idleSeconds / 1e6,
      sessions: end.sessions,
    }
  } finally {
    for (const { stop } of servers) await stop()
  }
}

/** Measures independent processes with separate databases, which shows the cost of sharing a core. */
const measureApart = async (urls: ReadonlyArray<string>, name: string): Promise<Measured> => {
  const servers: Array<ServerProcess> = []
  try {
    for (const url of urls) servers.push(...await startNodes(url, 1))
    const keys: Array<string> = []
    for (const server of servers) keys.push(await prepare(server))
    await warmUp(servers, keys)
    return await loadAll(name, servers, { ...ask, keys }, { connections, rate, seconds: size.seconds })
  } finally {
    for (const { stop } of servers) await stop()
  }
}

const printCosts = (stages: ReadonlyArray<Stage>, apart: Measured) => {
  const baseline = stages[0]!.measured.name
  printTable(
    `${
      rate === 0 ? "As many requests as one core carries" : `${rate} requests a second`
    }, all processes on one core (aim: three nodes at most ${aims.cost} of the CPU of one)`,
    [...stages.map(({ measured }) => measured), apart],
    baseline,
  )
  printColumns(
    `What the database did (${size.organizations} organizations)`,
    [
      "",
      "commits/s",
      "rows written/s",
      "rows read/s",
      "cores",
      "idle: commits/s",
      "rows read/s",
      "cores",
      "cores of the services",
      "sessions",
    ],
    stages.map(({ busy, idle, idleCpu, measured, sessions }) => [
      measured.name,
      [busy.commits, 0],
      [busy.written, 0],
      [busy.read, 0],
      [busy.cores, 3],
      [idle.commits, 1],
      [idle.read, 0],
      [idle.cores, 3],
      [idleCpu, 3],
      sessions,
    ]),
  )
}

/** Prints the load that N nodes cause on one database. Each node has the load of one of the three measured nodes. */
const printCalculation = (one: Stage, three: Stage) => {
  const perNode = three.measured.perSecond / three.nodes
  const idle = (of: (rates: Rates) => number) => Math.max(0, of(three.idle) / three.nodes)
  const perRequest = (of: (rates: Rates) => number) =>
    Math.max(0, of(three.busy) - of(three.idle)) / three.measured.perSecond
  const pool = 10
  const row = (nodes: number, rate: number) => {
    const all = (of: (rates: Rates) => number) => nodes * (idle(of) + rate * perRequest(of))
    return [
      `${nodes} nodes, ${rate.toFixed(0)} requests/s each`,
      [nodes * rate, 0] as const,
      [all(({ commits }) => commits), 0] as const,
      [all(({ written }) => written), 0] as const,
      [nodes * idle(({ commits }) => commits), 0] as const,
      [all(({ cores }) => cores), 1] as const,
      nodes * pool,
    ]
  }
  printColumns(
    "Reckoned: one database under many nodes",
    ["", "requests/s", "commits/s", "rows written/s", "of the commits polling", "cores", "connections"],
    [10, 30, 100].flatMap((nodes) => [row(nodes, 0), row(nodes, perNode)]),
  )
  console.log(`
Assumptions: every request is a Generate of one template, which costs the database ${
    (perRequest(({ cores }) => cores) * 1e6).toFixed(0)
  } µs, ${perRequest(({ commits }) => commits).toFixed(3)} commits and ${
    perRequest(({ written }) => written).toFixed(2)
  } rows
(folding and fitting included), as measured with three nodes; an idle node costs it ${
    (idle(({ cores }) => cores) * 1000).toFixed(1)
  } thousandths of a core and ${idle(({ commits }) => commits).toFixed(1)} commits a second
with ${size.organizations} organizations, of which every poll reads all; one node alone cost ${
    (Math.max(0, one.idle.cores) * 1000).toFixed(1)
  }. A node keeps up to ${pool} connections
(DATABASE_POOL_SIZE). Cost grows in proportion: commits of more rows at higher rates make it less, queues for one disk
more. Cores are those of all processes called postgres on this machine; they count what others run there too.

What gives way first, in this order: connections (100 by default: from 10 nodes on a smaller pool, max_connections or a
pooler; none is kept by a node for itself); then commits a second, by the disk's flushes; then cores. What to divide first
beyond that: the append-only rows (decisions, inbox, events, tally_ledger) by organization over several databases, since
every query names its organization; polls stay one per node and database.`)
}

/** Finds the node that is sending. */
const holder = async (nodes: ReadonlyArray<TestNode>): Promise<TestNode> => {
  for (;;) {
    const before = await Promise.all(nodes.map(({ service }) => sentBy(service!)))
    await pause(1)
    const after = await Promise.all(nodes.map(({ service }) => sentBy(service!)))
    const found = nodes.find((_, i) => after[i]! > before[i]!)
    if (found !== undefined) return found
  }
}

const measureTakeover = (url: string) =>
  Effect.runPromise(Effect.scoped(Effect.gen(function* () {
    const sink = yield* Effect.acquireRelease(Effect.promise(() => startSink("smtp")), (sink) =>
      Effect.promise(sink.stop))
    const nodes = yield* scopedNodes({ DATABASE_URL: url }, [{}, {}, {}])
    const context = yield* Layer.build(
      StoreFromSettings.layerMigrated.pipe(
        Layer.provide(layerSettings({ DATABASE_URL: url, DATABASE_POOL_SIZE: "2" })),
      ),
    )
    yield* Effect.promise(async () => {
      const service = nodes[0]!.service!
      const key = await makeOrganization(service, org, ["generate", "events", "deliver"])
      const templates = Array.from({ length: 12 }, (_, i) =>
        `offer ${i * 7919}`)
      for (const id of [...templates, "mail"]) {
        await service.manage("POST", `/organizations/${org}/templates`, template(id))
      }
      await service.manage("PUT", `/organizations/${org}/connections/main`, connectionTo(sink))
      // Every node polls for changes once a second.
      await pause(3)
      const random = seeded(1)
      const running = startClusterLoad({
        nodes,
        org,
        key,
        templates,
        mail: "mail",
        random,
        clients: 12,
        pauseMillis: 50,
        deliveriesPerSecond: 20,
      })
      const surroundings: Surroundings = {
        nodes,
        templates,
        acknowledged: running.acknowledged,
        sink,
        query: (run) =>
          Effect.runPromise(
            Effect.flatMap(SqlClient.SqlClient, run).pipe(Effect.provideContext(context), Effect.orDie),
          ),
        postgres: undefined,
        awayMillis: 0,
        random,
      }
      const watch = watchActors(surroundings)
      const ways = faultsOf(surroundings).filter(({ name }) => name === "kill -9" || name === "SIGTERM")
      const rows: Array<ReadonlyArray<string | readonly [number, number]>> = []
      while (!watch.movedSince(0)) await pause(0.1)
      for (let i = 0; i < size.kills; i++) {
        for (const way of ways) {
          const cost = await strike(way, await holder(nodes), watch, surroundings)
          rows.push([cost.fault, [cost.generate, 2], [cost.actors, 1], [cost.dispatcher, 1], [cost.healing, 1]])
        }
      }
      await watch.stop()
      await running.stop()
      printColumns(
        `Seconds that something was not done (aim: under ${aims.takeover})`,
        ["", "an answer", "counting", "sending", "whole again"],
        rows,
      )
      load()
    })
  })))

const given = flags["postgres-url"]
const postgres = given === undefined ? await startPostgres() : { url: given, stop: () => Promise.resolve() }
try {
  if (wanted("cost")) {
    const stages: Array<Stage> = []
    for (
      const [name, count] of [
        ["one node", 1],
        ["three nodes", 3],
      ] as const
    ) {
      const { drop, url } = await createDatabase(postgres.url)
      try {
        stages.push(await measureStage(url, name, count))
      } finally {
        await drop()
      }
    }
    const databases = [
      await createDatabase(postgres.url),
      await createDatabase(postgres.url),
      await createDatabase(postgres.url),
    ]
    try {
      printCosts(stages, await measureApart(databases.map(({ url }) => url), "three processes, each by itself"))
    } finally {
      for (const { drop } of databases) await drop()
    }
    load()
    printCalculation(stages[0]!, stages[1]!)
  }
  if (wanted("takeover")) {
    const { drop, url } = await createDatabase(postgres.url)
    await measureTakeover(url).finally(drop)
  }
} finally {
  await postgres.stop()
}
Deno.exit(0)
