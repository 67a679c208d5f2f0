// Measures the cost of platform webhooks: the time of acknowledgements at 1,000 requests per second, and the reading of
// their contents.
//
//   deno task bench webhooks [--quick] [--only pure|postgres|embedded] [--postgres-url URL]
//
// Iterable and Customer.io send one event in a request, and the other platforms ten events. Servers run on core 0, load
// on core 1, and PostgreSQL on any core. `--postgres-url`: a server for temporary databases. Default: a server that is
// started for this run.
import { rmSync } from "node:fs"
import process from "node:process"
import { platforms, type SourceId } from "../src/domain/Source.ts"
import { verify } from "../src/intake/signatures/Verify.ts"
import { normalizer } from "../src/intake/Sources.ts"
import { adminToken, freePort, makeOrganization, type Service, serviceAt } from "../test/support/service.ts"
import { openFolder, startPostgres } from "../test/support/throwawayPostgres.ts"
import { cpuMicrosOf, printColumns, runLoad, startServer } from "./support/Bench.ts"
import { createDatabase, type Environment } from "./support/Databases.ts"
import { flagsOf } from "./support/Flags.ts"
import { bodyOf, type Sender, senders, type Sent } from "./support/webhookLoad.ts"

const { postgresUrl, quick, wanted } = flagsOf("webhooks")

const org = "bench"
const rate = 1000
const connections = 32
/** Target: events per second that one core can read. */
const aim = 200_000
const seconds = quick ? 3 : 10
const decisions = quick ? 2000 : 20_000
/** Timeout for a backlog. Unit: seconds. */
const patienceSeconds = quick ? 20 : 120
const wrong: Array<string> = []

const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

/** Processor time of this process. Unit: milliseconds. */
const processorMillis = () => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1000
}

/** Returns bodies per second of processor time: the median of five measurements after a warm-up. */
const perSecondOf = (run: (body: number) => void, bodies: number): number => {
  const millis = quick ? 150 : 600
  const stretch = () => {
    let done = 0
    const begin = processorMillis()
    let elapsed = 0
    while (elapsed < millis) {
      for (let body = 0; body < bodies; body++) run(body)
      done += bodies
      elapsed = processorMillis() - begin
    }
    return done * 1000 / elapsed
  }
  stretch()
  return Array.from({ length: 5 }, stretch).sort((a, b) => a - b)[2]!
}

const measureReading = () => {
  const now = Date.now()
  const decoder = new TextDecoder()
  const rows = senders.map((sender) => {
    const segment = sender.segment as SourceId
    const texts = Array.from({ length: 200 }, (_, n) => bodyOf(sender, n * sender.perBody, 1000, now - 60_000))
    const bodies = texts.map((text) => new TextEncoder().encode(text))
    const normalize = normalizer(segment)
    const settings = { secrets: [sender.secret], ...(segment === "provider_d" ? { scheme: "token" as const } : {}) }
    const headers = texts.map((text) => sender.sign(text, now))
    for (const [i, body] of bodies.entries()) {
      const read = normalize(body, headers[i]!, now)
      if ("reason" in read || read.events.length !== sender.perBody) wrong.push(`${sender.name} was not understood`)
      if (!verify(platforms[segment], settings, headers[i]!, body, now).ok) wrong.push(`${sender.name} was refused`)
    }
    const parsed = perSecondOf((i) => void JSON.parse(decoder.decode(bodies[i]!)), bodies.length) * sender.perBody
    const read = perSecondOf((i) => void normalize(bodies[i]!, headers[i]!, now), bodies.length) * sender.perBody
    const verified = perSecondOf(
      (i) => void verify(platforms[segment], settings, headers[i]!, bodies[i]!, now),
      bodies.length,
    )
    return [
      sender.name,
      sender.perBody,
      [bodies.reduce((sum, body) => sum + body.length, 0) / bodies.length / sender.perBody, 0],
      [parsed, 0],
      [read, 0],
      [read / parsed, 2],
      [read / aim, 2],
      [1e6 / verified, 1],
    ] as const
  })
  printColumns(
    `Reading, by processor time (aim: ${aim.toLocaleString("en")} events/s)`,
    [
      "",
      "events/body",
      "bytes/event",
      "JSON.parse events/s",
      "read events/s",
      "read / JSON.parse",
      "read / aim",
      "µs to verify",
    ],
    rows,
  )
}

const sending = (
  sender: Sender,
  url: string,
  options: { readonly first: number; readonly seconds: number; readonly counted: boolean; readonly base: number },
): Promise<Sent> =>
  runLoad<Sent>(sender.name, "bench/support/webhookLoad.ts", {
    url,
    segment: sender.segment,
    rate,
    connections,
    decisions,
    ...options,
  })

interface Row {
  readonly sender: Sender
  readonly sent: Sent
  readonly cpuMicros: number
  readonly backlog: number
  readonly emptySeconds: number
}

/** Measures a server that only parses these bodies and responds. */
const measureBaseline = async (): Promise<ReadonlyArray<Row>> => {
  const server = await startServer(["bench/support/baselines.ts", "effect"], await freePort(), {})
  try {
    const rows: Array<Row> = []
    for (const sender of senders) {
      const url = `${server.url}/api/webhook/events/${org}`
      await sending(sender, url, { first: 0, seconds: 1, counted: false, base: Date.now() })
      const before = cpuMicrosOf(server.pid)
      const sent = await sending(sender, url, { first: 0, seconds, counted: false, base: Date.now() })
      const cpuMicros = (cpuMicrosOf(server.pid) - before) / sent.requests
      rows.push({ sender, sent, cpuMicros, backlog: NaN, emptySeconds: NaN })
    }
    return rows
  } finally {
    await server.stop()
  }
}

const pendingOf = async (url: string): Promise<number> => {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(/^parlance_inbox_pending(?:\{.*\})? (\S+)/m.exec(text)?.[1] ?? NaN)
}

/** Resolves when no body is pending. Returns the time in seconds, or Infinity after the timeout. */
const emptied = async (url: string): Promise<number> => {
  const begin = performance.now()
  while (performance.now() - begin < patienceSeconds * 1000) {
    if (await pendingOf(url) === 0) return (performance.now() - begin) / 1000
    await pause(100)
  }
  return Infinity
}

/** Creates the decisions of the events. */
const decide = async (service: Service, key: string) => {
  let next = 0
  const client = async () => {
    for (let n = next++; n < decisions; n = next++) {
      const body = { template_id: "t", tracking_id: `d-${n}`, user_id: `c-${n}` }
      const { status } = await service.generate(org, key, body)
      if (status !== 200) throw new Error(`Generate answered ${status}`)
    }
  }
  await Promise.all(Array.from({ length: 16 }, client))
}

const measureStore = async (store: string, environment: Environment, baseline: ReadonlyArray<Row>) => {
  const server = await startServer(["src/main.ts", "serve"], await freePort(), {
    ADMIN_TOKEN: adminToken,
    LOG_LEVEL: "Warn",
    SECRET_KEY: "0123456789abcdef".repeat(4),
    ...environment,
  })
  const rows: Array<Row> = []
  try {
    const service = serviceAt(server.url)
    const key = await makeOrganization(service, org, ["generate", "events"])
    const manage = async (method: string, path: string, body: unknown) => {
      const answer = await service.manage(method, `/organizations/${org}${path}`, body)
      if (answer.status > 201) throw new Error(`${path} was answered ${answer.status}: ${JSON.stringify(answer.body)}`)
    }
    await manage("POST", "/templates", {
      id: "t",
      name: "T",
      variants: Array.from({ length: 3 }, (_, i) => ({ id: `v${i}`, vars: { subject: `Offer ${i}` } })),
    })
    for (const { secret, segment } of senders) {
      await manage("PUT", `/webhooks/${segment}`, {
        secret,
        ...(segment === "provider_d" ? { settings: { scheme: "token" } } : {}),
      })
    }
    await decide(service, key)
    for (const sender of senders) {
      const url = `${server.url}/api/webhook/${sender.segment}/${org}`
      const base = Date.now() - 60_000
      const warm = await sending(sender, url, { first: 0, seconds: 1, counted: true, base })
      await emptied(server.url)
      const before = cpuMicrosOf(server.pid)
      const sent = await sending(sender, url, { first: warm.next, seconds, counted: true, base })
      const cpuMicros = (cpuMicrosOf(server.pid) - before) / sent.requests
      const backlog = await pendingOf(server.url)
      const emptySeconds = await emptied(server.url)
      rows.push({ sender, sent, cpuMicros, backlog, emptySeconds })
      const at = `${sender.name} on ${store}`
      if (sent.wrong > 0) wrong.push(`${at}: ${sent.wrong} answers with a wrong number of events`)
      if (Object.keys(sent.statuses).some((status) => status !== "200")) {
        wrong.push(`${at}: ${JSON.stringify(sent.statuses)}`)
      }
      const { body } = await service.manage("GET", `/organizations/${org}/webhooks`)
      const shown = body.webhooks.find((one: { segment: string }) => one.segment === sender.segment)
      const all = (warm.requests + sent.requests) * sender.perBody
      if (Number.isFinite(emptySeconds) && (shown.events !== all || shown.not_understood !== 0)) {
        wrong.push(
          `${at}: ${all} events were sent and ${shown.events} stored, ${shown.not_understood} bodies not understood`,
        )
      }
    }
  } finally {
    await server.stop()
  }
  printColumns(
    `Webhooks acknowledged on ${store}, ${rate.toLocaleString("en")} requests/s, ${connections} connections`,
    [
      "",
      "requests/s",
      "events/s",
      "p50 ms",
      "p99 ms",
      "max ms",
      "p99 ms of an empty route",
      "p99 / empty",
      "CPU µs/request",
      "CPU / empty",
      "bodies left",
      "s to empty",
      "answers",
    ],
    rows.map(({ backlog, cpuMicros, emptySeconds, sender, sent }, i) => {
      const empty = baseline[i]!
      return [
        sender.name,
        [sent.perSecond, 0],
        [sent.perSecond * sender.perBody, 0],
        [sent.p50, 2],
        [sent.p99, 2],
        [sent.max, 1],
        [empty.sent.p99, 2],
        [sent.p99 / empty.sent.p99, 1],
        [cpuMicros, 0],
        [cpuMicros / empty.cpuMicros, 1],
        [backlog, 0],
        Number.isFinite(emptySeconds) ? [emptySeconds, 1] : `over ${patienceSeconds}`,
        Object.entries(sent.statuses).map(([status, count]) => `${count} × ${status}`).join(", "),
      ]
    }),
  )
}

if (wanted("pure")) measureReading()
if (wanted("postgres") || wanted("embedded")) {
  const baseline = await measureBaseline()
  if (wanted("postgres")) {
    const given = postgresUrl
    const postgres = given === undefined ? await startPostgres() : { url: given, stop: () => Promise.resolve() }
    try {
      const database = await createDatabase(postgres.url)
      try {
        await measureStore("Postgres", { DATABASE_URL: database.url }, baseline)
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
      await measureStore("the embedded store", { DATA_DIR: folder }, baseline)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
if (wrong.length > 0) {
  console.error(`\nWrong:\n${[...new Set(wrong)].slice(0, 20).join("\n")}`)
  Deno.exit(1)
}
