import { adminToken, freePort, makeOrganization, type Service, serviceAt } from "../../test/support/service.ts"
import { cpuMicrosByThread, cpuMicrosOf, measure, type Measured, runLoad, startServer } from "./Bench.ts"
import { type Environment, onStore, statements } from "./Databases.ts"
import type { Acknowledged } from "./eventBaseline.ts"
import type { EventLoad } from "./eventLoad.ts"
import { addTo, templates, type Totals, totalsOf, trackingId, variants } from "./Events.ts"
import { bareInserts, fill } from "./StoredEvents.ts"

// Measures the service of bench/learn.ts on one store: concurrent Generate requests and events, and then the maximum
// speed of the intake.

/** Amounts of load. */
export interface Size {
  readonly quick: boolean
  /** Requests per second of Generate concurrent with events. Undefined for half of its full rate. */
  readonly generate: number | undefined
  /** Seconds of one measurement. */
  readonly seconds: number
  /** Duration of the load during which probes measure the time until models change. Unit: seconds. */
  readonly probeSeconds: number
  readonly decisions: number
  /** Number of events in the inbox for the measurement of the intake. */
  readonly filled: number
}

/** Returns the name of the concurrent rate of Generate in tables. */
export const rateNameOf = ({ generate }: Size): string => generate === undefined ? "at half" : `at ${generate}/s`

/** Times from the acknowledgement of an event to a model that includes it. Unit: seconds. */
export interface Probes {
  readonly name: string
  readonly seconds: ReadonlyArray<number>
  /** Seconds until the counts included the event. */
  readonly counted: ReadonlyArray<number>
  /** Seconds waited for events that no model included before the load ended. */
  readonly unseen: ReadonlyArray<number>
}

export interface Drained {
  readonly name: string
  readonly eventsPerSecond: number
  /** Processor time of the service, microseconds per event. */
  readonly cpuMicros: number
}

export interface StoreResult {
  readonly generate: ReadonlyArray<Measured>
  readonly events: ReadonlyArray<Acknowledged>
  readonly probes: ReadonlyArray<Probes>
  readonly fits: { readonly count: number; readonly share: number; readonly perFit: number }
  /**
   * Processor time per second by thread, at half of Generate's full load, without and with events. Unit: microseconds.
   */
  readonly threads: ReadonlyArray<readonly [name: string, without: number, withEvents: number]>
  readonly drained: ReadonlyArray<Drained>
  readonly notes: ReadonlyArray<string>
  readonly wrong: ReadonlyArray<string>
}

const org = "bench"
const rate = 5000
const perRequest = 20
const connections = 32
/**
 * Interval of requests for results while a probe awaits a model. Each response costs the service a report. Unit:
 * milliseconds.
 */
const pollMillis = 300
/** Timeout for a backlog and for the end of counting. Unit: seconds. */
const patienceSeconds = 300

const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

const template = (id: string) => ({
  id,
  name: id,
  variants: Array.from({ length: variants }, (_, i) => ({
    id: `v${i}`,
    vars: {
      subject: `Hi {{ name }}, offer ${i} for you`,
      preheader: "Only in {{ city | upcase }} today",
      body: "Dear {{ name | default: 'friend' }}, we picked {{ product }} for you.",
    },
  })),
})

const fields = { name: "Ann", city: "Oslo", product: "boots" }
const generateBody = { template_id: "welcome", user_id: "u1", fields, attrs: { tier: "gold", country: "NO" } }
const tiers = ["gold", "silver", "none"]
const countries = ["NO", "SE", "DK", "FI"]

/** Returns a function that reads a metric of a service, summed over its labels. */
const metricsOf = async (url: string): Promise<(name: string, label?: string) => number> => {
  const text = await (await fetch(`${url}/metrics`)).text()
  return (name, label = "") => {
    let sum = 0
    for (const line of text.split("\n")) {
      const match = /^(\w+)(\{.*\})? (\S+)/.exec(line)
      if (match !== null && match[1] === name && (match[2] ?? "").includes(label)) sum += Number(match[3])
    }
    return sum
  }
}

/** Resolves when no body is pending. Returns the time in seconds, or Infinity after the timeout. */
const emptied = async (url: string): Promise<number> => {
  const begin = performance.now()
  while (performance.now() - begin < patienceSeconds * 1000) {
    if ((await metricsOf(url))("parlance_inbox_pending") === 0) return (performance.now() - begin) / 1000
    await pause(100)
  }
  return Infinity
}

/** Creates the decisions of the events. Returns the number of the variant of each decision. */
const decide = async (service: Service, key: string, count: number): Promise<Uint8Array> => {
  const chosen = new Uint8Array(count)
  let next = 0
  const client = async () => {
    while (next < count) {
      const first = next
      next += templates
      const place = first / templates
      const response = await service.request(`/api/batch-generate/${org}`, {
        method: "POST",
        headers: { "x-api-key": key, "content-type": "application/json" },
        body: JSON.stringify({
          requests: Array.from({ length: templates }, (_, t) => ({
            template_id: `t${t}`,
            tracking_id: trackingId(first + t),
          })),
          fields,
          attrs: { tier: tiers[place % 3], country: countries[place % 4] },
        }),
      })
      if (response.status !== 200) {
        throw new Error(`Batch generate answered ${response.status}: ${await response.text()}`)
      }
      const answer = await response.json()
      for (let t = 0; t < templates; t++) chosen[first + t] = Number(answer[`t${t}`].copy.id.slice(1))
    }
  }
  await Promise.all(Array.from({ length: 16 }, client))
  return chosen
}

interface Probe {
  readonly trackingId: string
  readonly copyId: string
}

/** Measures the service on one store. `wrong` lists acknowledged events that are not counted at the end. */
export const measureStore = async (store: string, environment: Environment, size: Size): Promise<StoreResult> => {
  const wrong: Array<string> = []
  const notes: Array<string> = []
  const generate: Array<Measured> = []
  const events: Array<Acknowledged> = []
  const drained: Array<Drained> = []
  const { decisions, filled, probeSeconds, seconds } = size
  const started = async () =>
    await startServer(["src/main.ts", "serve"], await freePort(), {
      ADMIN_TOKEN: adminToken,
      LOG_LEVEL: "Warn",
      ...environment,
    })

  let server = await started()
  try {
    const service = serviceAt(server.url)
    const { url } = server
    const key = await makeOrganization(service, org, ["generate", "events"])
    for (const id of ["welcome", "quiet", ...Array.from({ length: templates }, (_, t) => `t${t}`)]) {
      const { status } = await service.manage("POST", `/organizations/${org}/templates`, template(id))
      if (status !== 201 && status !== 200) throw new Error(`A template was answered ${status}`)
    }
    const begin = performance.now()
    // Half an hour ago. With a minute per round, all events are in the past, and within the two hours by which clocks
    // may differ.
    const base = Date.now() - 30 * 60_000
    const chosen = await decide(service, key, decisions)
    notes.push(
      `${decisions} decisions made in ${((performance.now() - begin) / 1000).toFixed(1)} s by batches of ${templates}`,
    )

    const request = { url: `${url}/api/generate/${org}`, headers: { "X-Api-Key": key }, body: generateBody }
    const generating = (name: string, rate: number, seconds: number, warmUp: number) =>
      measure(`${name}, ${store}`, server, request, { seconds, warmUp, ...(rate === 0 ? {} : { rate }) })

    let next = 0
    const sending = async (name: string, rate: number, perRequest: number, seconds: number): Promise<EventLoad> => {
      const load = await runLoad<EventLoad>(name, "bench/support/eventLoad.ts", {
        url: `${url}/api/webhook/events/${org}`,
        headers: { "X-Api-Key": key },
        seconds,
        connections,
        rate,
        perRequest,
        first: next,
        decisions,
        base,
        counted: true,
      })
      next = load.next
      if (load.wrong > 0) wrong.push(`${store}: ${load.wrong} acknowledgements named another number of events`)
      if (Object.keys(load.statuses).some((status) => status !== "200")) {
        notes.push(`${name}: answers ${JSON.stringify(load.statuses)}; refused bodies were sent again`)
      }
      return load
    }
    /** Sends events. After their acknowledgement, reads the backlog of the inbox and awaits its end. */
    const acknowledged = async (name: string, rate: number, perRequest: number, seconds: number) => {
      const load = await sending(name, rate, perRequest, seconds)
      const backlog = (await metricsOf(url))("parlance_inbox_pending")
      const row: Acknowledged = {
        name: `${name}, ${store}`,
        eventsPerSecond: load.perSecond * perRequest,
        p50: load.p50,
        p99: load.p99,
        statuses: load.statuses,
        backlog,
        emptySeconds: await emptied(url),
      }
      events.push(row)
      return row
    }

    // Warm-up of code, connections and learning attributes.
    await generating("warm", 0, 1, size.quick ? 1 : 4)
    await sending("warm", 250, perRequest, size.quick ? 2 : 4)
    await emptied(url)
    // After this pause, nearly all decisions are folded and fitted.
    await pause(2000)

    const alone = await generating("Generate alone, closed loop", 0, seconds, 0)
    generate.push(alone)
    const shared = size.generate ?? Math.round(alone.perSecond / 2)
    const rateName = rateNameOf(size)
    await pause(1500)
    /** Runs a measurement. Returns the processor time of each thread, per second. */
    const watched = async (run: () => Promise<Measured>): Promise<ReadonlyMap<string, number>> => {
      const before = cpuMicrosByThread(server.pid)
      const begin = performance.now()
      generate.push(await run())
      const elapsed = (performance.now() - begin) / 1000
      return new Map(
        [...cpuMicrosByThread(server.pid)].map((
          [name, micros],
        ) => [name, (micros - (before.get(name) ?? 0)) / elapsed]),
      )
    }
    const threadsAlone = await watched(() => generating(`Generate alone, ${rateName}`, shared, seconds, 0))

    // The load of events begins shortly before the concurrent measurement, and ends shortly after it.
    const beside = async <A>(run: () => Promise<A>, load: Promise<unknown>): Promise<A> => {
      await pause(1000)
      const result = await run()
      await load
      return result
    }
    await statements(environment, false)
    const fitsBefore = await metricsOf(url)
    const fitsBegan = performance.now()
    const threadsBeside = await beside(
      () => watched(() => generating(`Generate ${rateName}, with 5,000 events/s`, shared, seconds, 0)),
      acknowledged(`20 a request, Generate ${rateName}`, rate / perRequest, perRequest, seconds + 2),
    )
    const threads = [...new Set([...threadsAlone.keys(), ...threadsBeside.keys()])].map((name) =>
      [name, threadsAlone.get(name) ?? 0, threadsBeside.get(name) ?? 0] as const
    )

    generate.push(
      await beside(
        () => generating("Generate closed loop, with 5,000 events/s", 0, seconds, 0),
        acknowledged("20 a request, Generate in a closed loop", rate / perRequest, perRequest, seconds + 2),
      ),
    )

    // Single events: first the maximum rate concurrent with Generate at half rate, and then half of this maximum at a
    // steady rate.
    let most = 0
    await beside(
      () => generating(`Generate ${rateName}, with single events`, shared, seconds, 0),
      acknowledged(`single, closed loop, Generate ${rateName}`, 0, 1, seconds + 1).then(({ eventsPerSecond }) =>
        most = eventsPerSecond
      ),
    )
    const singles = Math.max(50, Math.min(rate, Math.round(most / 2 / 50) * 50))
    generate.push(
      await beside(
        () => generating(`Generate ${rateName}, with ${singles} single events/s`, shared, seconds, 0),
        acknowledged(`single, ${singles}/s, Generate ${rateName}`, singles, 1, seconds + 2),
      ),
    )

    // Time until a model includes an event: for a template without other traffic, and for a template with a twentieth
    // of the traffic. Only probes click there.
    const probesMost = size.quick ? 4 : 30
    const probing = new Map<string, Array<Probe>>()
    for (const id of ["quiet", "t0"]) {
      const list: Array<Probe> = []
      for (let i = 0; i < probesMost; i++) {
        const trackingId = `p-${id}-${i}`
        const { body } = await service.generate(org, key, { template_id: id, tracking_id: trackingId, fields })
        list.push({ trackingId, copyId: body.copy.id })
      }
      probing.set(id, list)
    }
    await pause(4000)
    const resultsOf = async (id: string): Promise<{ version: string; clicks: number }> => {
      const { body, status } = await service.manage("GET", `/organizations/${org}/templates/${id}/results`)
      if (status !== 200) throw new Error(`Results answered ${status}`)
      return { version: body.policy_version, clicks: body.outcomes.click }
    }
    const probeTotals: Totals = new Map()
    for (const [id, list] of probing) for (const { copyId } of list) addTo(probeTotals, `${id}/${copyId}`, "decisions")
    let loading = true
    const probe = async (name: string, id: string): Promise<Probes> => {
      const took: Array<number> = []
      const counted: Array<number> = []
      const unseen: Array<number> = []
      for (const [i, { copyId, trackingId }] of probing.get(id)!.entries()) {
        if (!loading) break
        const before = await resultsOf(id)
        const response = await service.request(`/api/webhook/events/${org}`, {
          method: "POST",
          headers: { "x-api-key": key, "content-type": "application/json" },
          body: JSON.stringify({ event: "click", tracking_id: trackingId, event_id: trackingId }),
        })
        await response.body?.cancel()
        if (response.status !== 200) {
          notes.push(`a probe was answered ${response.status}`)
          continue
        }
        addTo(probeTotals, `${id}/${copyId}`, "click")
        const acknowledgedAt = performance.now()
        // Without other traffic, any new model includes the click. With other traffic, the first model after the counts
        // included the click is used, which may be one model too late.
        let last: string | undefined = id === "quiet" ? before.version : undefined
        let known = false
        let seen = false
        while (loading && !seen) {
          await pause(pollMillis)
          const { clicks, version } = await resultsOf(id)
          if (last !== undefined) seen = version !== last
          if (!known && clicks > before.clicks) {
            known = true
            last ??= version
            counted.push((performance.now() - acknowledgedAt) / 1000)
          }
        }
        const waited = (performance.now() - acknowledgedAt) / 1000
        if (seen) took.push(waited)
        else unseen.push(waited)
        // The pause avoids synchronization with jobs that run every second.
        await pause(200 + 137 * (i % 7))
      }
      return { name: `${name}, ${store}`, seconds: took, counted, unseen }
    }
    const probed = Promise.all([
      probe("a template without other traffic", "quiet"),
      probe("a template with 250 events/s", "t0"),
    ])
    await Promise.all([
      sending("probes", rate / perRequest, perRequest, probeSeconds),
      generating("Generate beside probes", shared, probeSeconds, 0),
    ])
    loading = false
    const probes = await probed
    await emptied(url)
    const fitsAfter = await metricsOf(url)
    const fitsSeconds = (performance.now() - fitsBegan) / 1000
    const count = fitsAfter("parlance_fits_total") - fitsBefore("parlance_fits_total")
    const fitMillis = fitsAfter("parlance_fit_milliseconds_total") - fitsBefore("parlance_fit_milliseconds_total")
    for (const statement of await statements(environment, true)) notes.push(`under load, ${statement}`)

    // All events are in the inbox before the service starts.
    await server.stop()
    const bare = await onStore(environment, (sql) => bareInserts(sql, Math.min(filled, 20_000), decisions))
    drained.push({ name: `bare inserts, 1,000 each, ${store}`, eventsPerSecond: bare, cpuMicros: NaN })
    for (const [perBody, count] of [[perRequest, filled], [1, filled / 5]] as const) {
      await onStore(environment, (sql) => fill(sql, { first: next, events: count, perBody, decisions, base }))
      next += count
      await statements(environment, false)
      server = await started()
      let from: { at: number; events: number; cpu: number } | undefined
      let to = { at: 0, events: 0, cpu: 0 }
      const deadline = performance.now() + patienceSeconds * 1000
      for (;;) {
        const metrics = await metricsOf(server.url)
        to = {
          at: performance.now(),
          events: metrics("parlance_events_total", "attributed"),
          cpu: cpuMicrosOf(server.pid),
        }
        // The intake begins up to a second after the start.
        if (to.events > 0) from ??= to
        if (to.events >= count) break
        if (to.at > deadline) {
          wrong.push(`${store}: ${metrics("parlance_inbox_pending")} bodies still wait after ${patienceSeconds} s`)
          break
        }
        await pause(20)
      }
      from ??= to
      const taken = to.events - from.events
      drained.push({
        name: `${count} events, ${perBody} a body, ${store}`,
        eventsPerSecond: taken / ((to.at - from.at) / 1000),
        cpuMicros: (to.cpu - from.cpu) / taken,
      })
      for (const statement of await statements(environment, true)) notes.push(`inbox, ${perBody} a body, ${statement}`)
      if (perBody === perRequest) await server.stop()
    }

    // Checks that no event is lost or counted twice, by the responses of Generate and the numbers of acknowledged
    // events.
    const after = serviceAt(server.url)
    const expected = totalsOf(next, chosen)
    for (const [key, counts] of probeTotals) {
      const known = expected.get(key) ?? {}
      known.decisions = (known.decisions ?? 0) + counts.decisions!
      known.click = (known.click ?? 0) + (counts.click ?? 0)
      expected.set(key, known)
    }
    let differences: ReadonlyArray<string> = []
    const end = performance.now() + patienceSeconds * 1000
    do {
      await pause(200)
      const found = new Map<string, Record<string, number>>()
      for (const id of ["quiet", ...Array.from({ length: templates }, (_, t) => `t${t}`)]) {
        const { body } = await after.manage("GET", `/organizations/${org}/templates/${id}/results`)
        for (const { copy_id, decisions, outcomes } of body.variants) {
          found.set(`${id}/${copy_id}`, { decisions, ...outcomes })
        }
      }
      differences = [...expected].flatMap(([key, counts]) =>
        Object.entries(counts).flatMap(([name, count]) =>
          found.get(key)?.[name] === count ? [] : [`${key} ${name}: ${found.get(key)?.[name]}, expected ${count}`]
        )
      )
    } while (differences.length > 0 && performance.now() < end)
    for (const difference of differences) wrong.push(`${store}: ${difference}`)
    const rebuilding = performance.now()
    const { body, status } = await after.manage("POST", `/organizations/${org}/rebuild`, { check: true })
    if (status !== 200) wrong.push(`${store}: the rebuild answered ${status}`)
    else if (body.differences.length > 0) wrong.push(`${store}: a rebuild finds ${JSON.stringify(body.differences[0])}`)
    else {
      notes.push(
        `${next} events counted right; a rebuild of ${body.decisions} decisions agrees after ${
          ((performance.now() - rebuilding) / 1000).toFixed(1)
        } s`,
      )
    }
    return {
      generate,
      events,
      probes,
      fits: { count, share: fitMillis / 1000 / fitsSeconds, perFit: fitMillis / count },
      threads,
      drained,
      notes: notes.map((note) => `${store}: ${note}`),
      wrong,
    }
  } finally {
    await server.stop()
  }
}
