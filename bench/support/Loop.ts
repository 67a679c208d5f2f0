import { Connection } from "./Connection.ts"

/** Target, duration and rate of the requests. */
export interface LoopOptions {
  readonly url: string
  readonly seconds: number
  readonly connections: number
  /** Requests per second, or 0 for a closed loop. */
  readonly rate: number
}

/** Options of a loop that posts one body repeatedly. */
export interface PostOptions extends LoopOptions {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Results of a loop. Times are measured from the due time of a request. Unit: milliseconds. */
export interface Looped {
  readonly requests: number
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly max: number
  readonly statuses: Readonly<Record<string, number>>
}

/**
 * Sends one request, with repetitions if necessary, and reports each status. `due` is in the time of
 * `performance.now()`.
 */
export type Send = (connection: Connection, answered: (status: string) => void, due: number) => Promise<void>

/** Returns the value below which the share `q` of all values lies, or 0 without values. */
export const quantile = (values: ReadonlyArray<number>, q: number): number => {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0
}

/**
 * Time after the end in which due requests are still sent. The rate of a slower server is measured as well. Unit:
 * milliseconds.
 */
const graceMillis = 5000

/** Keeps connections busy, each with one request at a time. `prepare` creates each request before it is due. */
export const loop = async (options: LoopOptions, prepare: () => Send): Promise<Looped> => {
  const { connections, rate, seconds } = options
  const url = new URL(options.url)
  const latencies: Array<number> = []
  const statuses: Record<string, number> = {}
  const answered = (status: string) => void (statuses[status] = (statuses[status] ?? 0) + 1)
  let taken = 0
  const begin = performance.now()
  const end = begin + seconds * 1000
  const worker = async () => {
    const connection = await Connection.open(url)
    for (;;) {
      const due = rate === 0 ? performance.now() : begin + taken++ * 1000 / rate
      if (due >= end || performance.now() >= end + graceMillis) break
      const send = prepare()
      const wait = due - performance.now()
      if (wait > 1) await new Promise((resolve) => setTimeout(resolve, wait))
      await send(connection, answered, due)
      latencies.push(performance.now() - due)
    }
    connection.close()
  }
  await Promise.all(Array.from({ length: connections }, worker))
  return {
    requests: latencies.length,
    perSecond: latencies.length / ((performance.now() - begin) / 1000),
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    max: quantile(latencies, 1),
    statuses,
  }
}
