import { readFileSync } from "node:fs"
import { connectionTo, type Sink, sinkEnvironment, startSink } from "../../test/process/deliverSink.ts"
import {
  adminToken,
  freePort,
  makeOrganization,
  type ServiceProcess,
  startProcess,
} from "../../test/support/service.ts"
import { runLoad } from "./Bench.ts"
import { deliverBody } from "./deliverBody.ts"
import { type HeapCensus, heapCensus } from "./Heap.ts"
import type { SoakLoad, SoakOptions } from "./soakLoad.ts"

/** One interval of a soak test, and the state of the process at its end. Times are in milliseconds, sizes in bytes. */
export interface SoakSample {
  readonly phase: "idle" | "load"
  /** Time since the first response of the service. Unit: minutes. */
  readonly minute: number
  readonly heap: HeapCensus
  readonly resident: number
  /** Pauses of full collections in the interval, except the collection of the census. */
  readonly pauses: ReadonlyArray<number>
  readonly load: SoakLoad | undefined
}

export interface SoakPlan {
  readonly environment: Readonly<Record<string, string>>
  /** Length of an interval. `idle` and `loaded` are the numbers of intervals of each phase. */
  readonly intervalSeconds: number
  readonly idle: number
  readonly loaded: number
  /**
   * Generate requests per second, in addition to other requests. 0 means half of the full rate, which is measured
   * first.
   */
  readonly rate: number
  readonly onSample?: (sample: SoakSample) => void
}

const org = "soak"

const setUp = async (service: ServiceProcess, sink: Sink): Promise<string> => {
  const key = await makeOrganization(service, org, ["generate", "deliver", "events"])
  await service.manage("POST", `/organizations/${org}/templates`, {
    id: deliverBody.template_id,
    name: "Welcome",
    variants: Array.from({ length: 5 }, (_, i) => ({
      id: `v${i}`,
      vars: { subject: `Hi {{ name }}, offer ${i}`, body: "Dear {{ name }}, {{ product }} in {{ city | upcase }}." },
    })),
  })
  const { status } = await service.manage("PUT", `/organizations/${org}/connections/sink`, {
    ...connectionTo(sink),
    default: true,
  })
  if (status > 201) throw new Error(`The connection was answered ${status}`)
  return key
}

const residentOf = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024

/**
 * Returns the pauses of full collections of the main isolate, which is the first isolate in the output of `--trace-gc`.
 */
const pausesIn = (output: string): ReadonlyArray<number> => {
  const lines = [
    ...output.matchAll(/\[\d+:(0x[0-9a-f]+)[^\]]*\].*?Mark-Compact.*? MB,(?: pooled: [^,]*,)? ([\d.]+) \/ /g),
  ]
  return lines.filter(([, isolate]) => isolate === lines[0]?.[1]).map(([, , millis]) => Number(millis))
}

/** Runs the service without load and then under a mixed load. Records a sample at the end of each interval. */
export const soak = async (plan: SoakPlan): Promise<ReadonlyArray<SoakSample>> => {
  const inspectorPort = await freePort()
  const sink = await startSink("smtp")
  const service = await startProcess({ LOG_LEVEL: "Warn", ...sinkEnvironment, ...plan.environment }, {
    denoFlags: [`--inspect=127.0.0.1:${inspectorPort}`, "--v8-flags=--trace-gc"],
  })
  const samples: Array<SoakSample> = []
  try {
    const key = await setUp(service, sink)
    const loadFor = (options: Partial<SoakOptions>) =>
      runLoad<SoakLoad>("soak", "bench/support/soakLoad.ts", {
        url: service.url,
        connections: 32,
        key,
        org,
        adminToken,
        bodies: 10,
        messages: 10,
        reads: 2,
        ...options,
      })
    // The warm-up compiles code and fills caches.
    const warm = await loadFor({ seconds: 5, rate: 0 })
    const rate = plan.rate === 0 ? Math.round(warm.generate.perSecond / 2) : plan.rate
    const begin = performance.now()
    const sample = async (phase: SoakSample["phase"], during: () => Promise<SoakLoad | undefined>) => {
      const printed = service.output().length
      const load = await during()
      const pauses = pausesIn(service.output().slice(printed))
      // Read before the census, which allocates hundreds of megabytes. The process keeps this memory, so it is part of
      // every later value.
      const resident = residentOf(service.pid)
      const heap = await heapCensus(inspectorPort)
      const minute = (performance.now() - begin) / 60_000
      samples.push({ phase, minute, heap, resident, pauses, load })
      plan.onSample?.(samples.at(-1)!)
    }
    const seconds = plan.intervalSeconds
    const idly = () => new Promise<undefined>((resolve) => setTimeout(resolve, seconds * 1000))
    for (let i = 0; i < plan.idle; i++) await sample("idle", idly)
    // A census delays requests by seconds, and an open loop needs time to catch up.
    const settling = Math.min(10, seconds / 10)
    for (let i = 0; i < plan.loaded; i++) {
      await loadFor({ seconds: settling, rate })
      await sample("load", () => loadFor({ seconds: seconds - settling, rate }))
    }
    return samples
  } finally {
    service.kill("SIGTERM")
    await service.ended
    await sink.stop()
  }
}

/** Fits a straight line through values over time. Returns its slope and the standard error of the slope. */
export const slopeOf = (points: ReadonlyArray<readonly [at: number, value: number]>) => {
  const n = points.length
  const meanAt = points.reduce((sum, [at]) => sum + at, 0) / n
  const mean = points.reduce((sum, [, value]) => sum + value, 0) / n
  const spread = points.reduce((sum, [at]) => sum + (at - meanAt) ** 2, 0)
  const slope = points.reduce((sum, [at, value]) => sum + (at - meanAt) * (value - mean), 0) / spread
  const rest = points.reduce((sum, [at, value]) => sum + (value - mean - slope * (at - meanAt)) ** 2, 0)
  return { slope, error: Math.sqrt(rest / (n - 2) / spread), mean }
}
