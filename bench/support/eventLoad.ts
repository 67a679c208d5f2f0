// Sends the stream of events of bench/support/Events.ts from event `first` on, in the way of bench/support/load.ts.
// Sends a body again if it is not acknowledged, as real senders do, so that the numbers of sent events have no gaps.
// Prints one JSON line.
//
//   deno run -A bench/support/eventLoad.ts '{"url": "...", "headers": {}, "seconds": 5, "connections": 32, "rate": 250, …}'
import { postMessage } from "./Connection.ts"
import { bodyText } from "./Events.ts"
import { loop, type Looped, type LoopOptions } from "./Loop.ts"

interface Options extends LoopOptions {
  readonly headers: Readonly<Record<string, string>>
  readonly perRequest: number
  readonly first: number
  readonly decisions: number
  readonly base: number
  /** Whether responses contain the number of events. */
  readonly counted: boolean
}

/** Result of the load. */
export interface EventLoad extends Looped {
  readonly next: number
  /** Number of responses whose number of events differs from the sent number. */
  readonly wrong: number
}

/** Maximum time for repetitions of one body. Unit: milliseconds. */
const patienceMillis = 30_000

const load = async (options: Options): Promise<EventLoad> => {
  const { base, counted, decisions, headers, perRequest } = options
  const url = new URL(options.url)
  let next = options.first
  let wrong = 0
  const looped = await loop(options, () => {
    const message = postMessage(url, headers, bodyText(next, perRequest, decisions, base))
    next += perRequest
    return async (connection, answered, due) => {
      for (;;) {
        const { body, status } = await connection.send(message, counted)
        answered(status)
        if (status === "200") {
          if (counted && JSON.parse(body).received !== perRequest) wrong++
          return
        }
        if (status !== "503" || performance.now() - due > patienceMillis) {
          throw new Error(`Events were answered ${status}: ${body}`)
        }
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
  })
  return { ...looped, next, wrong }
}

if (import.meta.main) console.log(JSON.stringify(await load(JSON.parse(Deno.args[0]!))))
