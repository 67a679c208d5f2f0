import { Effect } from "effect"
import { createConnection, createServer, type Socket } from "node:net"
import type { AddressInfo } from "node:net"

/** A way to a TCP port that can be blocked, as a broken network blocks it: nothing is refused, nothing arrives. */
export interface Relay {
  readonly port: number
  readonly block: () => void
  /** What was under way is lost with its connections; new ones get through. */
  readonly unblock: () => void
}

/** A relay to `port` of this machine that goes with the scope. */
export const relayTo = (port: number) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      let blocked = false
      const pairs = new Set<readonly [Socket, Socket]>()
      const server = createServer((near) => {
        const far = createConnection(port, "127.0.0.1")
        const pair = [near, far] as const
        pairs.add(pair)
        const close = () => {
          pairs.delete(pair)
          // An end does not get through a network that is cut either.
          if (blocked) return
          near.destroy()
          far.destroy()
        }
        for (const [from, to] of [[near, far], [far, near]] as const) {
          from.setNoDelay(true)
          from.on("data", (chunk) => {
            if (!blocked) to.write(chunk)
          })
          from.on("close", close).on("error", close)
        }
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()))
      const drop = () => {
        for (const pair of pairs) for (const socket of pair) socket.destroy()
        pairs.clear()
      }
      return {
        port: (server.address() as AddressInfo).port,
        block: () => void (blocked = true),
        unblock: () => {
          drop()
          blocked = false
        },
        close: () => {
          drop()
          server.close()
        },
      }
    }),
    (relay) => Effect.sync(relay.close),
  )
