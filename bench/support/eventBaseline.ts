import { freePort } from "../../test/support/service.ts"
import { runLoad, startServer } from "./Bench.ts"
import type { EventLoad } from "./eventLoad.ts"

/** Acknowledgements of events in one measurement, and the backlog of the inbox after it. */
export interface Acknowledged {
  readonly name: string
  readonly eventsPerSecond: number
  readonly p50: number
  readonly p99: number
  readonly statuses: Readonly<Record<string, number>>
  /** Number of pending bodies when the last body was acknowledged. NaN if the server stores nothing. */
  readonly backlog: number
  /** Time until no body was pending. NaN if the server stores nothing. Unit: seconds. */
  readonly emptySeconds: number
}

const connections = 32

/** Measures the acknowledgements of a server that only parses events and responds. */
export const measureEventBaseline = async (seconds: number): Promise<ReadonlyArray<Acknowledged>> => {
  const server = await startServer(["bench/support/baselines.ts", "effect"], await freePort(), {})
  try {
    const results: Array<Acknowledged> = []
    for (
      const [name, rate, perRequest] of [
        ["empty Effect route, 20 a request", 250, 20],
        ["empty Effect route, single", 500, 1],
        ["empty Effect route, single, closed loop", 0, 1],
      ] as const
    ) {
      const options = { url: `${server.url}/api/webhook/events/bench`, headers: {}, connections, rate, perRequest }
      const send = (seconds: number) =>
        runLoad<EventLoad>(name, "bench/support/eventLoad.ts", {
          ...options,
          seconds,
          first: 0,
          decisions: 1000,
          base: Date.now(),
          counted: true,
        })
      await send(2)
      const { p50, p99, perSecond, statuses } = await send(seconds)
      results.push({
        name,
        eventsPerSecond: perSecond * perRequest,
        p50,
        p99,
        statuses,
        backlog: NaN,
        emptySeconds: NaN,
      })
    }
    return results
  } finally {
    await server.stop()
  }
}
