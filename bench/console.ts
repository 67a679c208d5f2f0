// Measures the response times of console pages with a large organization, the time until a browser shows them, and the
// effect of page requests on Generate.
//
//   deno task bench console [--quick] [--requests 300] [--postgres-url URL]
//
// The server runs on core 0, and PostgreSQL on any core. `--postgres-url`: a server for a temporary database. Default:
// a server that is started for this run. If the server has loaded pg_stat_statements, the most expensive statements are
// printed as well.
import { parseArgs } from "node:util"
import { Effect } from "effect"
import { hasBrowser } from "../test/support/browser.ts"
import { adminToken, freePort, serviceAt } from "../test/support/service.ts"
import { startPostgres } from "../test/support/throwawayPostgres.ts"
import { measure as measureLoad, printColumns, printTable, type ServerProcess, startServer } from "./support/Bench.ts"
import { measurePages, measurePaint, type Visited } from "./support/consoleSpeed.ts"
import { busyUser, fillStore, modelsOf, org, type Size } from "./support/consoleStore.ts"
import { createDatabase, onStore, statements } from "./support/Databases.ts"

const { values: flags } = parseArgs({
  args: Deno.args.slice(1),
  options: {
    quick: { type: "boolean", default: false },
    requests: { type: "string" },
    "postgres-url": { type: "string" },
  },
})

const size: Size = flags.quick
  ? { templates: 100, decisions: 100_000, talliedEvents: 1_000_000, inbox: 10_000, deliveries: 10_000 }
  : { templates: 1000, decisions: 1_000_000, talliedEvents: 10_000_000, inbox: 100_000, deliveries: 100_000 }
const requests = Number(flags.requests ?? (flags.quick ? 100 : 300))
if (!Number.isInteger(requests) || requests < 1) {
  console.error("--requests is a whole number")
  Deno.exit(1)
}
/** Timeout for fitting the models of all templates. Unit: seconds. */
const fitSeconds = flags.quick ? 120 : 900

/**
 * Targets: server time, size of a page, time until a browser shows content, and time of the first page of a new
 * process.
 */
const aims = { p99Millis: 150, bytes: 150_000, paintMillis: 1000, coldMillis: 200 }

const home = `/console/o/${org}`
const template = (n: number) => `${home}/templates/t-${1 + n % size.templates}`
const delivery = (n: number) =>
  `00000000-0000-7000-8000-${(1 + n * 37 % size.deliveries).toString(16).padStart(12, "0")}`
const at = (path: string) => () => `${home}${path}`

/** The minimum cost of a request at the current load of this machine. */
const baseline = { name: "health check, for comparison", path: () => "/healthz" }

const pages: ReadonlyArray<Visited> = [
  baseline,
  { name: "overview", path: at("") },
  { name: "templates", path: at("/templates") },
  { name: "templates, searched", path: (n) => `${home}/templates?q=message+${n % 10}` },
  { name: "template, the busiest", path: at("/templates/t-1") },
  { name: "template, one after another", path: template },
  { name: "variant editor", path: (n) => `${template(n)}/variants/v1` },
  { name: "results, the busiest", path: at("/templates/t-1/results") },
  { name: "results, one after another", path: (n) => `${template(n)}/results` },
  {
    name: "results, a week of a segment",
    path: (n) => `${template(n % 5)}/results?lookback_days=7&segment=tier%3Dgold`,
  },
  { name: "send times", path: at("/templates/t-1/send-times") },
  { name: "sources", path: at("/sources") },
  { name: "a source", path: at("/sources/provider_a") },
  { name: "inbox, not understood", path: at("/sources/events/inbox") },
  { name: "inbox, from the middle", path: at(`/sources/events/inbox?all=true&before=${size.inbox / 2}`) },
  { name: "deliveries", path: at("/deliveries") },
  { name: "deliveries, over 35 days", path: at("/deliveries?hours=840") },
  { name: "deliveries, failed", path: at("/deliveries?state=failed") },
  { name: "a delivery", path: (n) => `${home}/deliveries/${delivery(n)}` },
  { name: "people, by e-mail address", path: (n) => `${home}/people?q=person.${n * 7 % 1000}%40example.com` },
  { name: "people, unknown", path: (n) => `${home}/people?q=nobody-${n}` },
  { name: "a story", path: (n) => `${home}/people?q=m-${n * 101 % size.decisions}` },
  { name: "the story of a busy person", path: at(`/people?q=${busyUser}`) },
  { name: "keys", path: at("/settings/keys") },
  { name: "members", path: at("/settings/members") },
  { name: "audit log", path: at("/settings/audit") },
]
const painted = ["overview", "templates", "results, the busiest", "deliveries", "a story"]

/** Signs in an administrator. Returns the session cookie. */
const signIn = async (url: string): Promise<string> => {
  const account = { email: "ada@example.com", password: "four unrelated words here" }
  const made = await serviceAt(url).manage("POST", "/accounts", { ...account, name: "Ada", administrator: true })
  // Status 409: an earlier process on this database has created the account.
  if (made.status > 201 && made.status !== 409) throw new Error(`The account was answered ${made.status}`)
  const answer = await fetch(`${url}/console/sign-in`, {
    method: "POST",
    redirect: "manual",
    body: new URLSearchParams(account),
  })
  await answer.body?.cancel()
  const cookie = answer.headers.get("set-cookie")
  if (cookie === null) throw new Error(`Signing in was answered ${answer.status}`)
  return cookie.split(";")[0]!
}

const verdict = (missed: boolean) => missed ? "missed" : "met"
const seconds = (since: number) => ((performance.now() - since) / 1000).toFixed(0)

/**
 * Measures Generate at a steady rate, first alone, and then while a client opens pages one after another without
 * pauses.
 */
const measureGenerate = async (server: ServerProcess, cookie: string) => {
  const { body } = await serviceAt(server.url).manage("POST", `/organizations/${org}/keys`, { name: "Bench" })
  const request = {
    url: `${server.url}/api/generate/${org}`,
    headers: { "x-api-key": body.key },
    body: { template_id: "t-2", user_id: "u-1", attrs: { tier: "gold" }, fields: { name: "Ann" } },
  }
  const load = { rate: 100, connections: 8, seconds: flags.quick ? 5 : 20 }
  const alone = await measureLoad("alone", server, request, load)
  let looking = true
  const visits = (async () => {
    let opened = 0
    for (let n = 0; looking; n++) {
      await measurePages(server, cookie, pages.map(({ name, path }) => ({ name, path: () => path(n) })), 0)
      opened += pages.length
    }
    return opened
  })()
  const beside = await measureLoad("beside the console", server, request, load)
  looking = false
  printTable(
    `Generate at ${load.rate} a second, with ${await visits} concurrent page requests`,
    [alone, beside],
    "alone",
  )
}

const startService = async (databaseUrl: string) =>
  startServer(["src/main.ts", "serve"], await freePort(), {
    ADMIN_TOKEN: adminToken,
    LOG_LEVEL: "Warn",
    DATABASE_URL: databaseUrl,
  })

/** Number of new processes whose first page is measured, for each of the two cases. */
const coldStarts = 5

/**
 * Measures the results of the busiest template as the first page of a new process: without stored results, and with
 * results that an earlier process stored. Returns times in milliseconds, fastest first.
 */
const measureCold = async (databaseUrl: string) => {
  const times = { never: [] as Array<number>, before: [] as Array<number> }
  const path = `${home}/templates/t-1/results`
  for (let n = 0; n < coldStarts; n++) {
    await onStore({ DATABASE_URL: databaseUrl }, (sql) => sql`DELETE FROM kept_results`)
    for (const list of [times.never, times.before]) {
      const server = await startService(databaseUrl)
      try {
        const cookie = await signIn(server.url)
        const [page] = await measurePages(server, cookie, [{ name: "results", path: () => path }], 0)
        list.push(page!.first)
        // The first process stores its results after it has computed them.
        await onStore(
          { DATABASE_URL: databaseUrl },
          (sql) =>
            Effect.repeat(sql`SELECT 1 FROM kept_results k WHERE k.template_id = 't-1'`, {
              until: (rows) => rows.length > 0,
            }),
        )
      } finally {
        await server.stop()
      }
    }
  }
  const sorted = (values: ReadonlyArray<number>) => values.toSorted((a, b) => a - b)
  printColumns(
    `Results of the busiest template as the first page of a new process, ${coldStarts} times (aim: ${aims.coldMillis} ms)`,
    ["", "fastest ms", "median ms", "slowest ms", "time"],
    ([["never seen before", sorted(times.never)], ["seen before", sorted(times.before)]] as const).map(
      ([name, all]) => {
        const median = all[Math.floor(all.length / 2)]!
        return [name, [all[0]!, 0], [median, 0], [all.at(-1)!, 0], verdict(median > aims.coldMillis)]
      },
    ),
  )
}

const measure = async (databaseUrl: string): Promise<ReadonlyArray<string>> => {
  const store = { DATABASE_URL: databaseUrl }
  const begin = performance.now()
  const filled = await onStore(store, (sql) => fillStore(sql, size))
  console.log(
    `${size.templates} templates of 5 variants, ${size.decisions} decisions, ${filled.tallies} tallies of ` +
      `${filled.tallied} events, ${size.inbox} bodies, ${size.deliveries} deliveries: filled in ${seconds(begin)} s`,
  )
  const server = await startService(databaseUrl)
  try {
    const cookie = await signIn(server.url)
    const fitting = performance.now()
    const models = await onStore(store, (sql) =>
      Effect.gen(function* () {
        let before = -1
        while (true) {
          const { count, published } = yield* modelsOf(sql)
          const isOver = count >= size.templates && published === before
          if (isOver || performance.now() - fitting > fitSeconds * 1000) return count
          before = published
          yield* Effect.sleep("3 seconds")
        }
      }))
    console.log(`${models} of ${size.templates} models fitted in ${seconds(fitting)} s`)
    await statements(store, false)
    const served = await measurePages(server, cookie, pages, requests)
    const base = served[0]!
    printColumns(
      `Pages of the console on Postgres, ${requests} requests one at a time (aims: p99 under ${aims.p99Millis} ms, ` +
        `${aims.bytes / 1000} kB)`,
      ["", "first ms", "p50 ms", "p99 ms", "p50 / health check", "loop p50 ms", "loop max ms", "kB", "time", "size"],
      served.map(({ bytes, first, loopMax, loopP50, name, p50, p99 }) => [
        name,
        [first, 1],
        [p50, 1],
        [p99, 1],
        [p50 / base.p50, 1],
        [loopP50, 1],
        [loopMax, 1],
        [bytes / 1000, 1],
        verdict(p99 >= aims.p99Millis),
        verdict(bytes >= aims.bytes),
      ]),
    )
    console.log(
      "\nLoop: processor time of the thread that answers requests, background work included; no stretch of it can be longer.",
    )
    const dearest = await statements(store, true)
    if (dearest.length > 0) console.log(`\nThe dearest statements\n\n${dearest.join("\n")}`)
    await measureGenerate(server, cookie)
    if (hasBrowser) {
      const shown = await measurePaint(
        server.url,
        cookie,
        pages.filter(({ name }) => painted.includes(name)),
        flags.quick ? 3 : 10,
      )
      printColumns(
        `First contentful paint in Chromium, 1280 × 860 (aim: under ${aims.paintMillis} ms)`,
        ["", "median ms", "max ms", "time"],
        shown.map(({ max, median, name }) => [name, [median, 0], [max, 0], verdict(median >= aims.paintMillis)]),
      )
    }
    return served.flatMap(({ wrong }) => wrong)
  } finally {
    await server.stop()
  }
}

const given = flags["postgres-url"]
const postgres = given === undefined ? await startPostgres() : { url: given, stop: () => Promise.resolve() }
let wrong: ReadonlyArray<string> = []
try {
  const database = await createDatabase(postgres.url)
  try {
    wrong = await measure(database.url)
    await measureCold(database.url)
  } finally {
    await database.drop()
  }
} finally {
  await postgres.stop()
}
if (wrong.length > 0) {
  console.error(`\nWrong:\n${wrong.slice(0, 20).join("\n")}`)
  Deno.exit(1)
}
