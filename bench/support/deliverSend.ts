import { connectionTo, fullestSecond, rateOf, type Sink, startSink } from "../../test/process/deliverSink.ts"
import { freePort } from "../../test/support/service.ts"
import { cpuMicrosOf, runLoad, startServer, treeMicrosOf } from "./Bench.ts"
import type { Environment } from "./Databases.ts"
import { connect, environmentOf, org, pause, setUp } from "./deliverStore.ts"
import type { Looped } from "./Loop.ts"

/** Speed at which a dispatcher sends queued messages, by the clock of the platform. */
export interface SentOut {
  readonly name: string
  readonly messages: number
  readonly perSecond: number
  /** Maximum number of arrivals within one second. */
  readonly fullest: number
  /** Processor time of the service and its child processes for each message, without queueing. */
  readonly cpuMicros: number
  /** Processor time of the platform for each message. */
  readonly platformMicros: number
}

export interface Outlet {
  readonly name: string
  readonly kind: Sink["kind"]
  /** Additional settings of the connection. */
  readonly settings: Readonly<Record<string, unknown>>
}

export const outlets: ReadonlyArray<Outlet> = [
  { name: "SMTP, 20 sessions (the default)", kind: "smtp", settings: {} },
  { name: "SMTP, 5 sessions", kind: "smtp", settings: { connections: 5 } },
  { name: "webhook", kind: "webhook", settings: {} },
]

/** Maximum time without an arrival before a run fails. Unit: milliseconds. */
const patienceMillis = 30_000

/** Queues at least `messages` messages. Returns their number. Their connection must be paused. */
export const fillQueue = async (url: string, key: string, messages: number): Promise<number> => {
  let queued = 0
  while (queued < messages) {
    const { statuses } = await runLoad<Looped>("Deliver", "bench/support/deliverLoad.ts", {
      url: `${url}/api/deliver/${org}`,
      seconds: 1,
      connections: 64,
      rate: 0,
      key,
      keyed: false,
    })
    queued += statuses["200"] ?? 0
  }
  return queued
}

/** Resolves after `messages` messages have arrived. */
export const awaitArrivals = async (name: string, sink: Sink, messages: number): Promise<void> => {
  let arrived = 0
  let movedAt = performance.now()
  while (arrived < messages) {
    // Polls rarely, because each request uses time of the platform.
    await pause(500)
    const now = await sink.refresh()
    if (now > arrived) movedAt = performance.now()
    else if (performance.now() - movedAt > patienceMillis) {
      throw new Error(`${name}: ${arrived} of ${messages} messages arrived, then nothing more`)
    }
    arrived = now
  }
}

/** Connects the service to a platform. The connection is paused. */
export const connectPaused = async (url: string, sink: Sink, settings: Outlet["settings"]): Promise<void> => {
  const setup = connectionTo(sink)
  await connect(url, sink.kind, { ...setup, settings: { ...setup.settings, ...settings }, paused: true })
}

/** Starts a platform on core 1. */
export const startPlatform = (kind: Sink["kind"]): Promise<Sink> => startSink(kind, ["taskset", "-c", "1"])

/**
 * Measures the service's SMTP client without the rest of the service: it sends one composed e-mail again and again from
 * core 0 to a platform on core 1.
 */
export const measureClient = async (sessions: number, messages: number): Promise<SentOut> => {
  const sink = await startPlatform("smtp")
  try {
    const { cpuMicros } = await runLoad<{ readonly cpuMicros: number }>(
      "SMTP",
      "bench/support/smtpLoad.ts",
      { port: sink.port, sessions, messages },
      0,
    )
    await awaitArrivals("SMTP", sink, messages)
    const times = sink.arrivals.map(([, , at]) => at)
    return {
      name: `the SMTP client alone, ${sessions} sessions`,
      messages,
      perSecond: rateOf(times),
      fullest: fullestSecond(times),
      cpuMicros,
      platformMicros: cpuMicrosOf(sink.pid) / messages,
    }
  } finally {
    await sink.stop()
  }
}

/**
 * Queues messages with a paused connection, resumes it, and measures until all messages have arrived. The service and
 * the process that composes e-mails run on core 0, and the platform on core 1. Half as many messages are sent first as
 * a warm-up.
 */
export const measureSend = async (
  store: Environment,
  options: { readonly ceiling: number; readonly messages: number; readonly outlets: ReadonlyArray<Outlet> },
): Promise<ReadonlyArray<SentOut>> => {
  const { ceiling, messages } = options
  const rows: Array<SentOut> = []
  let isCold = true
  const server = await startServer(["src/main.ts", "serve"], await freePort(), {
    ...environmentOf(store),
    DELIVERY_RATE: String(ceiling),
  })
  try {
    const key = await setUp(server.url, { kind: "smtp", port: 9 })
    const [first] = options.outlets
    for (const { kind, name, settings } of [first!, ...options.outlets]) {
      const isWarmUp = isCold
      isCold = false
      const sink = await startPlatform(kind)
      try {
        await connectPaused(server.url, sink, settings)
        const queued = await fillQueue(server.url, key, isWarmUp ? messages / 2 : messages)
        const before = { service: treeMicrosOf(server.pid), platform: cpuMicrosOf(sink.pid) }
        await connect(server.url, kind, { paused: false })
        await awaitArrivals(name, sink, queued)
        const times = sink.arrivals.map(([, , at]) => at)
        if (!isWarmUp) {
          rows.push({
            name,
            messages: queued,
            perSecond: rateOf(times),
            fullest: fullestSecond(times),
            cpuMicros: (treeMicrosOf(server.pid) - before.service) / queued,
            platformMicros: (cpuMicrosOf(sink.pid) - before.platform) / queued,
          })
        }
      } finally {
        await sink.stop()
      }
    }
  } finally {
    await server.stop()
  }
  return rows
}
