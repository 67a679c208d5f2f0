import { Connection } from "./Connection.ts"

/** When requests are sent, and where to. */
export interface LoopOptions {
  readonly url: string
  readonly seconds: number
  readonly connections: number
  /** Requests a second; 0 for a closed loop. */
  readonly rate: number
}

/** The same, where one and the same body is posted each time. */
export interface PostOptions extends LoopOptions {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** How they were answered. Times in milliseconds, from the moment a request was due. */
export interface Looped {
  readonly requests: number
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly max: number
  readonly statuses: Readonly<Record<string, number>>
}

/** Sends one request, as often as need be, and tells each status. `due` is in the time of `performance.now()`. */
export type Send = (connection: Connection, answered: (status: string) => void, due: number) => Promise<void>

/** The value that the share `q` of all is below, 0 of none. */
export const quantile = (values: ReadonlyArray<number>, q: number): number => {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0
}

/** What was due is sent this much later at most; a server that is slower than that has its rate measured all the same. */
const graceMillis = 5000

/** Keeps connections busy, each with one request at a time: what `prepare` makes of it before it is due. */
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
