import { adminToken, freePort, makeOrganization, type Service, serviceAt } from "../../test/support/service.ts"
import { cpuMicrosByThread, cpuMicrosOf, measure, type Measured, runLoad, startServer } from "./Bench.ts"
import { type Environment, onStore, statements } from "./Databases.ts"
import type { Acknowledged } from "./eventBaseline.ts"
import type { EventLoad } from "./eventLoad.ts"
import { addTo, templates, type Totals, totalsOf, trackingId, variants } from "./Events.ts"
import { bareInserts, fill } from "./StoredEvents.ts"

// The service of bench/learn.ts on one store: Generate and events side by side, then the inbox as fast as it goes.

/** How much of everything. */
export interface Size {
  readonly quick: boolean
  /** Requests a second of Generate beside events; undefined for half of its full rate. */
  readonly generate: number | undefined
  /** Seconds of one measurement. */
  readonly seconds: number
  /** Seconds of load during which it is tried how soon models change. */
  readonly probeSeconds: number
  readonly decisions: number
  /** Events put into the inbox to be taken at full speed. */
  readonly filled: number
}

/** The rate of Generate beside events, as tables name it. */
export const rateNameOf = ({ generate }: Size): string => generate === undefined ? "at half" : `at ${generate}/s`

/** Seconds from the acknowledgement of an event to a model that knows it. */
export interface Probes {
  readonly name: string
  readonly seconds: ReadonlyArray<number>
  /** Seconds until it was among the counts. */
  readonly counted: ReadonlyArray<number>
  /** How long those were waited for that were not seen before the load ended. */
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
  /** Processor time per second by thread, at half of Generate's full load, without and with events. Unit: microseconds. */
  readonly threads: ReadonlyArray<readonly [name: string, without: number, withEvents: number]>
  readonly drained: ReadonlyArray<Drained>
  readonly notes: ReadonlyArray<string>
  readonly wrong: ReadonlyArray<string>
}

const org = "bench"
const rate = 5000
const perRequest = 20
const connections = 32
/** Results are asked for this often while a model is waited for: each answer costs the service a report. */
const pollMillis = 300
/** A backlog is waited for this long, and the end of all counting. */
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

/** The metrics of a service, each summed over its labels. */
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

/** Waits until no body waits; answers seconds, Infinity where that took too long. */
const emptied = async (url: string): Promise<number> => {
  const begin = performance.now()
  while (performance.now() - begin < patienceSeconds * 1000) {
    if ((await metricsOf(url))("parlance_inbox_pending") === 0) return (performance.now() - begin) / 1000
    await pause(100)
  }
  return Infinity
}

/** Makes the decisions that events are about; answers the number of the variant of each. */
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

/** Measures the service on one store. Everything that was acknowledged is counted in the end, or `wrong` says so. */
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
    // Half an hour ago: a minute per round stays in the past, and within the two hours that clocks may differ.
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
    /** Sends events and, when they are acknowledged, looks at the inbox and waits for it. */
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

    // Warm: code, connections, learning attributes.
    await generating("warm", 0, 1, size.quick ? 1 : 4)
    await sending("warm", 250, perRequest, size.quick ? 2 : 4)
    await emptied(url)
    // The decisions are folded and fitted by now, or nearly.
    await pause(2000)

    const alone = await generating("Generate alone, closed loop", 0, seconds, 0)
    generate.push(alone)
    const shared = size.generate ?? Math.round(alone.perSecond / 2)
    const rateName = rateNameOf(size)
    await pause(1500)
    /** Measures, and the processor time that each thread used meanwhile, per second. */
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

    // The events' load begins a little earlier and ends a little later than the measurement beside it.
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

    // Single events: how many go through beside Generate at half, then half as many at a steady rate.
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

    // How soon a model knows of an event: of a template that nothing else happens to, and of one with a twentieth of the
    // traffic. Only probes click there.
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
        // Any model but the one before knows the click where nothing else happens. Elsewhere the first model after the one
        // that was in force when the click was seen among the counts: it may be one too late.
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
        // Out of step with the jobs of every second.
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

    // Everything waits in the inbox, then the service starts.
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

    // Nothing lost, nothing twice: by the answers of Generate and the numbers of the events that were acknowledged.
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
