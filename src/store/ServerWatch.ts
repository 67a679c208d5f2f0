import { Effect, Layer } from "effect"
import { bounded } from "./bounded.ts"
import type { ServerConnection } from "./ServerConnection.ts"
import { Store } from "./Store.ts"

/** A Postgres that was reached. */
export interface Reached {
  /** Identifies one run of a server: another server, or the same server after a restart, answers differently. */
  readonly server: string
  /** Whether it only follows another one. */
  readonly isStandby: boolean
}

export interface ServerWatch {
  /** A new connection to the address. */
  readonly open: () => ServerConnection
  /**
   * Asks over a connection of its own which server the address leads to; answers whether that is a primary. When it is
   * another than before, connections that lead elsewhere are broken, so that whoever uses one goes on with a new one.
   */
  readonly look: Effect.Effect<boolean>
}

export interface ServerWatchOptions {
  /** Opens a connection to the address. */
  readonly connect: () => ServerConnection
  /** Asks over a new connection; fails when nothing answers. */
  readonly identify: Effect.Effect<Reached, unknown>
}

/**
 * Connections to one address, broken when it has come to lead to another server. A machine that dies says nothing to those
 * connected to it: where its address is not taken over they hear of it from TCP after a quarter of an hour, and a statement
 * that they wait for may be a long one as far as they know. A server that was replaced without dying would even go on
 * answering. Where the network alone was cut, what was under way is lost or comes as late again: of the connections that
 * were open then, those break that have been used since the server was last seen, and stay silent after it is back.
 */
export const make = ({ connect, identify }: ServerWatchOptions): ServerWatch => {
  /** Open connections, with the bytes that had arrived at the last look; undefined for those that are newer. */
  const connections = new Map<ServerConnection, number | undefined>()
  /** Those that were opened before the last look at the server that is there now. */
  let older = new Set<ServerConnection>()
  /** Those that may have been opened to the server before: opened between the last look at it and the first at this one. */
  let doubtful = new Set<ServerConnection>()
  /** Bytes sent over each by the last look at the server that is there now. */
  let sent = new Map<ServerConnection, number>()
  /** Bytes that had arrived over each before the first of the looks that have failed since, or the one under way. */
  let unseen: ReadonlyMap<ServerConnection, number> | undefined
  let current: string | undefined
  const replaced = new Set<string>()

  const open = () => {
    const socket = connect()
    connections.set(socket, undefined)
    socket.once("close", () => {
      connections.delete(socket)
      older.delete(socket)
      sent.delete(socket)
      doubtful.delete(socket)
    })
    return socket
  }

  const breakOff = (sockets: Iterable<ServerConnection>) => {
    for (const socket of [...sockets]) {
      socket.destroy(new Error("The connection does not lead to the database any more"))
    }
  }

  /** Finds the connections that received nothing since the last check. */
  const sample = () => {
    const silent = new Set<ServerConnection>()
    for (const [socket, before] of connections) {
      if (socket.bytesRead === before) silent.add(socket)
      connections.set(socket, socket.bytesRead)
    }
    return silent
  }

  const look = Effect.suspend(() => {
    const before = new Set(connections.keys())
    const wasAway = unseen !== undefined
    const seen = unseen ??= new Map([...before].map((socket) => [socket, socket.bytesRead]))
    return Effect.matchEffect(identify, {
      onFailure: () => Effect.sync(() => (sample(), false)),
      onSuccess: ({ isStandby, server }) =>
        Effect.suspend(() => {
          const silent = sample()
          if (isStandby) return Effect.succeed(false)
          // Those that have been heard since the change are connected to who is there now.
          const lost = [...doubtful].filter((socket) => silent.has(socket))
          doubtful = new Set()
          breakOff(lost)
          unseen = undefined
          if (current === undefined || current === server) {
            current = server
            older = before
            // A long statement that began earlier goes on, and a late answer arrives before the next check.
            if (wasAway) {
              doubtful = new Set(
                [...seen].flatMap(([socket, bytesRead]) =>
                  connections.has(socket) && socket.bytesRead === bytesRead && socket.bytesWritten !== sent.get(socket)
                    ? [socket]
                    : []
                ),
              )
            }
            sent = new Map([...connections.keys()].map((socket) => [socket, socket.bytesWritten]))
            return Effect.succeed(true)
          }
          // An address of several servers; a server that comes back has been restarted.
          if (replaced.has(server)) return Effect.succeed(true)
          replaced.add(current)
          current = server
          const sure = older
          const unsure = [...before].filter((socket) => !sure.has(socket))
          older = new Set()
          doubtful = new Set(unsure.filter((socket) => !silent.has(socket)))
          breakOff(sure)
          breakOff(unsure.filter((socket) => silent.has(socket)))
          return Effect.as(
            Effect.logInfo("The address of the database now leads to another or a restarted server"),
            true,
          )
        }),
    })
  })

  return { open, look }
}

/** How long the server may take to say who it is. */
const patience = "3 seconds"

/** Looks every 5 seconds; every second while there is no primary. */
export const layer = Layer.effectDiscard(Effect.gen(function* () {
  const { look } = yield* Store
  if (look === undefined) return
  yield* look.pipe(
    bounded(patience),
    Effect.orElseSucceed(() => false),
    Effect.flatMap((isThere) => Effect.sleep(isThere ? "5 seconds" : "1 second")),
    Effect.forever,
    Effect.forkScoped,
  )
}))
