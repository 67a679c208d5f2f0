import { Effect, Layer } from "effect"
import { bounded } from "./bounded.ts"
import type { ServerConnection } from "./ServerConnection.ts"
import { Store } from "./Store.ts"

/** A PostgreSQL server that responded. */
export interface Reached {
  /** Identifies one run of a server. Another server, or the restarted server, has a different value. */
  readonly server: string
  /** Whether it is a standby. */
  readonly isStandby: boolean
}

interface ServerWatch {
  /** Opens a connection to the address. */
  readonly open: () => ServerConnection
  /**
   * Queries, over a new connection, which server the address leads to. Returns whether it is a primary. If the server
   * has changed, closes the connections to the previous server, so that their users reconnect.
   */
  readonly look: Effect.Effect<boolean>
}

interface ServerWatchOptions {
  /** Opens a connection to the address. */
  readonly connect: () => ServerConnection
  /** Queries the server over a new connection. Fails if no server responds. */
  readonly identify: Effect.Effect<Reached, unknown>
}

/**
 * Tracks the connections to one address, and closes them if the address leads to another server. A machine that dies
 * sends nothing: if no other machine takes over its address, TCP notices after a quarter of an hour, and until then a
 * pending statement looks like a slow one. A replaced server that still runs would even keep responding. After a
 * network failure, data in transit is lost or arrives late. Therefore, after a failure, connections that were open
 * during it are closed if they were used since the last successful check and stay silent after the server is back.
 */
export const make = ({ connect, identify }: ServerWatchOptions): ServerWatch => {
  /** Open connections, with the bytes received at the last check; undefined for newer connections. */
  const connections = new Map<ServerConnection, number | undefined>()
  /** Connections opened before the last check of the current server. */
  let older = new Set<ServerConnection>()
  /**
   * Connections that may lead to the previous server: they were opened between the last check of that server and the
   * first check of the current server.
   */
  let doubtful = new Set<ServerConnection>()
  /** Bytes sent over each connection at the last check of the current server. */
  let sent = new Map<ServerConnection, number>()
  /** Bytes received over each connection before the first failed check since then, or before the current check. */
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

  /** Returns the connections that received nothing since the last check. */
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
          // A connection that received data since the change leads to the current server.
          const lost = [...doubtful].filter((socket) => silent.has(socket))
          doubtful = new Set()
          breakOff(lost)
          unseen = undefined
          if (current === undefined || current === server) {
            current = server
            older = before
            // A long statement that began earlier continues, and a late answer arrives before the next check.
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
          // A replaced server answers again and was not restarted, so the address leads to several servers in turn.
          // Keeps the connections.
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

/** Timeout of the server's identification. */
const patience = "3 seconds"

/** Checks the server every 5 seconds, or every second while there is no primary. */
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
