import { Context, Duration, Effect, Layer, Metric } from "effect"
import { Buffer } from "node:buffer"
import { randomUUID } from "node:crypto"
import { type Server, STATUS_CODES } from "node:http"
import type { Socket } from "node:net"
import { performance } from "node:perf_hooks"
import { Settings } from "../../Settings.ts"
import { type ConnectionLimits, type ConnectionRefusal, ConnectionTable, countedAddress } from "./ConnectionTable.ts"
import { paceWrites } from "../admission/PacedWrites.ts"
import { TooManyConnections, Unavailable } from "../Problems.ts"
import { retryAfter } from "../admission/RetryAfter.ts"

/** Client connections that are open. */
const openConnections = Metric.gauge("parlance_connections")
/** Connections refused, by the limit they met. */
const refusedConnections = (reason: string) =>
  Metric.counter("parlance_connections_refused_total", { incremental: true, attributes: { reason } })
/** Connections closed by the service, by reason: the client did not read, or the connection was idle and room was needed. */
const closedConnections = (reason: string) =>
  Metric.counter("parlance_connections_closed_total", { incremental: true, attributes: { reason } })

const refusedBy = {
  total: refusedConnections("total"),
  address: refusedConnections("address"),
}
const closedFor = {
  unread: closedConnections("unread"),
  idle: closedConnections("idle"),
}
const unlabelled = Context.empty()

/** Connections refused by each limit, and closed for each reason, since the process started. */
export type ConnectionCounts = Record<ConnectionRefusal | "unread" | "idle", number>

export const noCounts = (): ConnectionCounts => ({ total: 0, address: 0, unread: 0, idle: 0 })

/** How client connections are bounded. */
export interface ConnectionRules extends ConnectionLimits {
  /** A response of which nothing is taken for this long ends its connection. Unit: milliseconds. */
  readonly writeTimeoutMillis: number
  /** Bytes of all responses together that may wait in this process for clients to read them. */
  readonly unreadBytes: number
  /** A connection without a request for this long may be closed when room is needed. Unit: milliseconds. */
  readonly idleMillis: number
  /**
   * A connection without a request for this long is closed. Takes the place of Node's `keepAliveTimeout`, which sets two timers
   * for each request. Unit: milliseconds.
   */
  readonly keepAliveMillis: number
  /** How often connections are checked. Unit: milliseconds. */
  readonly sweepMillis: number
}

/** Bytes of responses that may wait in this process for clients to read them, all connections together. */
const maxUnreadBytes = 64 * 1024 * 1024

/** A response waits at least this long before its connection is closed to free memory. Unit: milliseconds. */
const leastUnreadMillis = 2000

/** Share of the total limit from which on idle connections are closed, and down to which. */
const crowded = { from: 0.95, to: 0.9 }

/** Refused connections that get a response at the same time; further ones are reset. */
const maxTold = 100

/** How long a refused client has to read the answer. Unit: milliseconds. */
const toldMillis = 1000

interface Client {
  readonly socket: Socket
  readonly address: string | undefined
  /** Pieces of large writes that the operating system took. */
  pieces: number
  // As they were at the last check.
  seenPieces: number
  seenWritten: number
  seenPending: number
  seenRead: number
  /** When the response last made progress, and when the client last sent something. */
  movedAt: number
  readAt: number
}

const refusalAnswer = (refusal: ConnectionRefusal): Buffer => {
  const { detail, status, title, type } = refusal === "total"
    ? new Unavailable({ detail: "The service has reached its limit of connections (MAX_CONNECTIONS)" })
    : new TooManyConnections({
      detail: "Your address has reached its limit of connections to this service (MAX_CONNECTIONS_PER_ADDRESS)",
    })
  const body = JSON.stringify({ detail, type, status, title })
  return Buffer.from(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/problem+json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nRetry-After: ${retryAfter()}\r\n` +
      `X-Request-Id: ${randomUUID()}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n${body}`,
  )
}

/**
 * Bounds the connections of a server: how many there are, how many of one address, and how long and with how much memory
 * their responses wait for clients that do not read. `busy` returns the sockets whose requests are in work.
 */
export const bound = (
  server: Server,
  rules: ConnectionRules,
  busy: () => ReadonlySet<Socket>,
  counts: ConnectionCounts,
): void => {
  const table = new ConnectionTable(rules)
  const clients = new Set<Client>()
  let told = 0
  // Excludes time in which the event loop was blocked, because no client could be served then.
  let clock = 0
  let sweptAt = performance.now()

  const refuse = (socket: Socket, refusal: ConnectionRefusal) => {
    counts[refusal]++
    refusedBy[refusal].updateUnsafe(1, unlabelled)
    if (told >= maxTold) return void socket.resetAndDestroy()
    told++
    const timer = setTimeout(() => socket.destroy(), toldMillis)
    socket.on("error", () => {}).on("close", () => {
      told--
      clearTimeout(timer)
    })
    // Discard the request: closing a connection with unread input resets it, and the client would not see the answer.
    socket.resume()
    socket.end(refusalAnswer(refusal))
  }

  const admit = (socket: Socket): boolean => {
    const address = countedAddress(socket.remoteAddress, rules.exempt)
    const refusal = table.enter(address)
    if (refusal !== undefined) {
      refuse(socket, refusal)
      return false
    }
    const client: Client = {
      socket,
      address,
      pieces: 0,
      seenPieces: 0,
      seenWritten: 0,
      seenPending: 0,
      seenRead: 0,
      movedAt: clock,
      readAt: clock,
    }
    clients.add(client)
    paceWrites(socket, () => client.pieces++)
    socket.on("close", () => {
      clients.delete(client)
      table.leave(address)
    })
    return true
  }

  const close = (client: Client, reason: "unread" | "idle") => {
    counts[reason]++
    closedFor[reason].updateUnsafe(1, unlabelled)
    // A reset also frees the response buffered by the operating system.
    if (reason === "unread") client.socket.resetAndDestroy()
    else client.socket.destroy()
  }

  /** Records the progress of each connection since the last check. */
  const look = (client: Client) => {
    const { pieces, socket } = client
    const pending = socket.writableLength
    const { bytesRead, bytesWritten } = socket
    if (pending !== client.seenPending || pieces !== client.seenPieces || bytesWritten !== client.seenWritten) {
      client.seenPending = pending
      client.seenPieces = pieces
      client.seenWritten = bytesWritten
      client.movedAt = clock
    }
    if (bytesRead !== client.seenRead) {
      client.seenRead = bytesRead
      client.readAt = clock
    }
    return pending
  }

  /** Connections without a request for `millis`, the longest first. */
  const idleFor = (millis: number): ReadonlyArray<Client> => {
    const idle: Array<Client> = []
    for (const client of clients) if (client.seenPending === 0 && clock - client.readAt >= millis) idle.push(client)
    if (idle.length === 0) return idle
    const inWork = busy()
    return idle.filter(({ socket }) => !inWork.has(socket)).sort((a, b) => a.readAt - b.readAt)
  }

  const closeIdle = () => {
    for (const { socket } of idleFor(rules.keepAliveMillis)) socket.destroy()
    if (table.open < rules.total * crowded.from) return
    const room = Math.ceil(table.open - rules.total * crowded.to)
    for (const client of idleFor(rules.idleMillis).slice(0, room)) close(client, "idle")
  }

  const sweep = () => {
    const now = performance.now()
    clock += Math.min(now - sweptAt, 2 * rules.sweepMillis)
    sweptAt = now
    let unread = 0
    const waiting: Array<Client> = []
    for (const client of clients) {
      const pending = look(client)
      if (pending === 0) continue
      if (clock - client.movedAt >= rules.writeTimeoutMillis) {
        close(client, "unread")
        continue
      }
      unread += pending
      waiting.push(client)
    }
    if (unread > rules.unreadBytes) {
      // Connections that have not read for the longest time are closed first.
      for (const client of waiting.sort((a, b) => a.movedAt - b.movedAt)) {
        if (unread <= rules.unreadBytes || clock - client.movedAt < leastUnreadMillis) break
        unread -= client.seenPending
        close(client, "unread")
      }
    }
    closeIdle()
    openConnections.updateUnsafe(table.open, unlabelled)
  }

  openConnections.updateUnsafe(0, unlabelled)
  const timer: unknown = setInterval(sweep, rules.sweepMillis)
  // The process may end although this runs.
  if (timer instanceof Object && "unref" in timer && typeof timer.unref === "function") timer.unref()
  server.on("close", () => clearInterval(timer as Parameters<typeof clearInterval>[0]))

  const emit = server.emit as (this: Server, ...args: ReadonlyArray<unknown>) => boolean
  // Before the parser of HTTP sees the connection, which a listener could not prevent.
  server.emit = function (this: Server, event: string, ...args: Array<unknown>): boolean {
    return event === "connection" && !admit(args[0] as Socket) ? true : emit.call(this, event, ...args)
  } as Server["emit"]
}

/** How often refused and closed connections are logged. */
const logEvery = "10 seconds"

/** Limits the client connections of the server as configured, and logs refusals without addresses. */
export class ClientConnections extends Context.Service<ClientConnections, {
  /** Called once, before the server listens. `busy` returns the sockets whose requests are in work. */
  readonly install: (server: Server, busy: () => ReadonlySet<Socket>) => void
}>()("parlance/http/ClientConnections") {
  static readonly layer = Layer.effect(
    ClientConnections,
    Effect.gen(function* () {
      const { maxConnections, maxConnectionsPerAddress, trustedProxies, writeTimeout } = yield* Settings
      for (const metric of [...Object.values(refusedBy), ...Object.values(closedFor)]) yield* Metric.update(metric, 0)
      const writeTimeoutMillis = Duration.toMillis(writeTimeout)
      const rules: ConnectionRules = {
        total: maxConnections,
        perAddress: maxConnectionsPerAddress,
        exempt: trustedProxies,
        writeTimeoutMillis,
        unreadBytes: maxUnreadBytes,
        idleMillis: 10_000,
        // Longer than load balancers keep theirs, so that none sends a request to a connection that is closing.
        keepAliveMillis: 65_000,
        sweepMillis: Math.max(50, Math.min(1000, writeTimeoutMillis / 5)),
      }
      const counts = noCounts()
      let logged = noCounts()

      const log = Effect.suspend(() => {
        const told = logged
        logged = { ...counts }
        return Effect.forEach(sentences(told, counts, rules), (sentence) => Effect.logWarning(sentence))
      })
      yield* log.pipe(Effect.delay(logEvery), Effect.forever, Effect.forkScoped)

      return ClientConnections.of({ install: (server, busy) => bound(server, rules, busy, counts) })
    }),
  )
}

/** Log lines about connections since `before`. */
const sentences = (before: ConnectionCounts, now: ConnectionCounts, rules: ConnectionRules): ReadonlyArray<string> =>
  ([
    ["total", `connections were refused: all MAX_CONNECTIONS (${rules.total}) are in use`],
    [
      "address",
      `connections were refused: their address has MAX_CONNECTIONS_PER_ADDRESS (${rules.perAddress}) open. ` +
      "If it is a load balancer, add it to TRUSTED_PROXIES",
    ],
    ["unread", "connections were closed: the client did not read the response"],
    ["idle", "idle connections were closed to make room for others"],
  ] as const).flatMap(([name, sentence]) => now[name] > before[name] ? [`${now[name] - before[name]} ${sentence}`] : [])
