import { Effect } from "effect"
import { createConnection, createServer, type Socket } from "node:net"
import type { AddressInfo } from "node:net"

/** A way to a TCP port that can be blocked, as a broken network blocks it: nothing is refused, nothing arrives. */
export interface Relay {
  readonly port: number
  readonly block: () => void
  /** Open connections are lost with their data. New ones get through. */
  readonly unblock: () => void
  /** Leads new connections to another port. Open connections go silent without ending. */
  readonly redirect: (port: number) => void
  /** Leads new connections to another port. Open connections stay, as those to a host whose name has moved. */
  readonly move: (port: number) => void
}

interface Pair {
  readonly near: Socket
  readonly far: Socket
  /** The target is gone. */
  lost: boolean
}

/** A relay to `port` of this machine that goes with the scope. */
export const relayTo = (port: number) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      let blocked = false
      let target = port
      const pairs = new Set<Pair>()
      const server = createServer((near) => {
        const far = createConnection(target, "127.0.0.1")
        const pair: Pair = { near, far, lost: false }
        pairs.add(pair)
        const close = () => {
          pairs.delete(pair)
          // An end does not get through a network that is cut either.
          if (blocked || pair.lost) return
          near.destroy()
          far.destroy()
        }
        for (const [from, to] of [[near, far], [far, near]] as const) {
          from.setNoDelay(true)
          from.on("data", (chunk) => {
            if (!blocked && !pair.lost) to.write(chunk)
          })
          from.on("close", close).on("error", close)
        }
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()))
      const drop = () => {
        for (const { far, near } of pairs) {
          near.destroy()
          far.destroy()
        }
        pairs.clear()
      }
      return {
        port: (server.address() as AddressInfo).port,
        block: () => void (blocked = true),
        unblock: () => {
          drop()
          blocked = false
        },
        redirect: (port: number) => {
          target = port
          for (const pair of pairs) pair.lost = true
          blocked = false
        },
        move: (port: number) => void (target = port),
        close: () => {
          drop()
          server.close()
        },
      }
    }),
    (relay) => Effect.sync(relay.close),
  )
