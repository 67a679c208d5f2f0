// Sends the stream of events of bench/support/Events.ts from event `first` on, as bench/support/load.ts sends requests. A
// body that is not acknowledged is sent again, as senders do, so that the events that were sent are numbers without a gap.
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
  /** Whether the answers say how many events there were. */
  readonly counted: boolean
}

/** What was sent and how it was answered. */
export interface EventLoad extends Looped {
  readonly next: number
  /** Answers with another number of events than was sent. */
  readonly wrong: number
}

/** How long one body is sent again and again. */
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
