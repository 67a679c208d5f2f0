import { Buffer } from "node:buffer"
import { type IncomingMessage, type Server, STATUS_CODES } from "node:http"
import type { Socket } from "node:net"
import { SlotSet, type Slotted } from "../../domain/ShortLived.ts"
import * as Body from "./Body.ts"
import type { DirectReply, DirectRequest } from "./DirectRoutes.ts"
import { plainHeadOf } from "./PlainHead.ts"

// Direct calls without Node's HTTP server, which takes two thirds of the time of such a call and half of its memory. A connection
// begins here. As long as each chunk of it is one whole plain request that a direct route answers, it stays. With the first other
// byte it goes to Node's server for good, as if it had been opened then: that server has the limits of time for slow clients,
// refuses faulty requests, and puts pipelined ones in a line. So this module never waits for a client, and never refuses one.

/** A plain request that has arrived whole. Its body is kept by `Body.keep`. */
export class PlainRequest implements DirectRequest {
  readonly complete = true
  /** Given up by the direct route after it was admitted: the router has to answer it, whatever the load is. */
  isAdmitted = false

  constructor(
    readonly method: string,
    readonly url: string,
    readonly headers: Readonly<Record<string, string>>,
    readonly socket: Socket,
  ) {}
}

interface Passed {
  [passed]?: PlainRequest | undefined
}

const passed = Symbol("passed")

/**
 * The plain request from which this request of Node's server was made when its connection was handed over; undefined for all others.
 * Its notes, such as the request id and the charge, are copied to this request.
 */
export const plainBefore = (request: IncomingMessage): PlainRequest | undefined => {
  const socket: Socket & Passed = request.socket
  const before = socket[passed]
  if (before === undefined) return undefined
  socket[passed] = undefined
  for (const note of Object.getOwnPropertySymbols(before)) Reflect.set(request, note, Reflect.get(before, note))
  return before
}

let second = NaN
let lastLines = ""

/** The lines at the end of each head: `Date`, and that the connection stays open. */
const lastLinesNow = (): string => {
  const now = Math.floor(Date.now() / 1000)
  if (now !== second) {
    second = now
    lastLines = `Date: ${new Date(now * 1000).toUTCString()}\r\nConnection: keep-alive\r\n\r\n`
  }
  return lastLines
}

const firstLines = new Map<number, string>()

const firstLineOf = (status: number): string => {
  let line = firstLines.get(status)
  if (line === undefined) firstLines.set(status, line = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`)
  return line
}

const invalidInHeader = /[^\t\x20-\x7e\x80-\xff]/

/** The last line of each header, as most have the same value each time. */
const lines = new Map<string, { readonly begin: string; value: string | number | undefined; line: string }>()

const lineOf = (name: string, value: string | number): string => {
  let last = lines.get(name)
  if (last === undefined) lines.set(name, last = { begin: `${name}: `, value: undefined, line: "" })
  if (last.value !== value) {
    if (invalidInHeader.test(String(value))) {
      throw new TypeError(`The header ${name} has characters that no header may have`)
    }
    last.value = value
    last.line = `${last.begin}${value}\r\n`
  }
  return last.line
}

/** Where a plain request came from. */
interface Origin {
  readonly socket: Socket
  /** Called after the response is written. */
  readonly written: () => void
  /** Gives a request to Node's server, with its bytes. */
  readonly passOn: (request: PlainRequest, bytes: Buffer) => void
}

const nothing = () => {}

/** The response to a plain request, written at once, with the same bytes as by Node's server. */
export class PlainResponse implements DirectReply {
  /** Called once, when the response is written or the connection is gone. */
  ended: () => void = nothing
  readonly socket: Socket
  readonly #origin: Origin
  readonly #request: PlainRequest
  /** The request as it arrived. */
  readonly #bytes: Buffer
  #head = ""

  constructor(origin: Origin, request: PlainRequest, bytes: Buffer) {
    this.socket = origin.socket
    this.#origin = origin
    this.#request = request
    this.#bytes = bytes
  }

  /** Gives the request to Node's server. */
  pass(): void {
    this.#origin.passOn(this.#request, this.#bytes)
  }

  get destroyed(): boolean {
    return !this.socket.writable
  }

  writeHead(status: number, headers: Readonly<Record<string, string | number>>): void {
    let head = firstLineOf(status)
    for (const name in headers) head += lineOf(name, headers[name]!)
    this.#head = head + lastLinesNow()
  }

  end(body: string | Uint8Array = ""): void {
    if (!this.destroyed) {
      if (typeof body === "string") this.socket.write(this.#head + body)
      else this.socket.write(Buffer.concat([Buffer.from(this.#head, "latin1"), body]))
    }
    this.#origin.written()
  }

  destroy(): void {
    this.socket.destroy()
  }
}

/** Takes on a request; false if Node's server has to. Calls `response.ended` where it returned true. */
export type Offer = (request: PlainRequest, response: PlainResponse) => boolean

/** How often connections are looked for that wait for the rest of a body. Unit: milliseconds. */
const sweepMillis = 100

const noBytes: ReadonlyArray<Buffer> = []
const noChunk = Buffer.alloc(0)

/** Where connections go that are not, or no longer, served here. */
interface Exits {
  readonly offer: Offer
  readonly isListening: () => boolean
  /** Gives a connection to Node's server. */
  readonly attach: (socket: Socket) => void
  /** Notes a connection that waits for the rest of a body. */
  readonly hold: (connection: PlainConnection) => void
  /** Refuses a client that sends nothing. */
  readonly late: (socket: Socket) => void
  readonly headersTimeoutMillis: number
}

class PlainConnection implements Origin, Slotted {
  slot = -1
  /** The beginning of a request whose body has not arrived, and the time of the sweep before it. */
  held: Buffer | undefined
  heldAt = 0
  #hasAnswered = false
  #inWork: PlainResponse | undefined
  /** Chunks that arrived while a request was in work. */
  #behind = noBytes
  #silent: ReturnType<typeof setTimeout> | undefined
  #isRefused = false

  constructor(readonly socket: Socket, readonly exits: Exits, readonly all: SlotSet<PlainConnection>) {
    this.#silent = setTimeout(() => {
      this.#isRefused = true
      exits.late(socket)
    }, exits.headersTimeoutMillis)
    socket.on("data", this.#read).on("end", this.#end).on("error", this.#fail).on("close", this.#close)
    all.add(this)
  }

  get isIdle(): boolean {
    return this.#hasAnswered && this.#inWork === undefined && this.held === undefined
  }

  readonly #read = (chunk: Buffer): void => {
    if (this.#isRefused) return
    if (this.#silent !== undefined) clearTimeout(this.#silent)
    this.#silent = undefined
    if (this.#inWork !== undefined) {
      this.#behind = [...this.#behind, chunk]
      return void this.socket.pause()
    }
    const { held, socket } = this
    const bytes = held === undefined ? chunk : Buffer.concat([held, chunk])
    this.held = undefined
    const head = plainHeadOf(bytes)
    // A client that has not read the response before this request is pipelining.
    if (head === undefined || head.end < bytes.length || socket.writableLength > 0) return this.handOver(bytes)
    if (head.end > bytes.length) {
      // Many clients send the body in a packet of its own, which is here in the next moment.
      if (held !== undefined) return this.handOver(bytes)
      this.held = bytes
      return this.exits.hold(this)
    }
    const request = new PlainRequest(head.method, head.url, head.headers, socket)
    Body.keep(request, bytes.subarray(head.bodyAt))
    const response = this.#inWork = new PlainResponse(this, request, bytes)
    if (this.exits.offer(request, response)) return
    this.#inWork = undefined
    this.handOver(bytes, request)
  }

  passOn(request: PlainRequest, bytes: Buffer): void {
    request.isAdmitted = true
    this.#finish()
    this.handOver(bytes, request)
  }

  #finish(): void {
    const response = this.#inWork
    this.#inWork = undefined
    response?.ended()
  }

  written(): void {
    this.#finish()
    this.#hasAnswered = true
    if (!this.exits.isListening()) this.socket.destroySoon()
    else if (this.#behind.length > 0) this.handOver(noChunk)
  }

  /** As Node's server does when a client has said that it sends no more. */
  readonly #end = (): void => {
    if (this.socket.writable) this.socket.end()
  }

  // The socket closes by itself.
  readonly #fail = (): void => {}

  readonly #close = (): void => {
    this.#stop()
    this.#finish()
  }

  #stop(): void {
    clearTimeout(this.#silent)
    this.held = undefined
    this.all.delete(this)
  }

  /** Gives the connection to Node's server, with `bytes` and what arrived after them. */
  handOver(bytes: Buffer, request?: PlainRequest): void {
    const socket: Socket & Passed = this.socket
    if (!socket.writable) return void socket.destroy()
    socket[passed] = request
    const all = this.#behind.length === 0 ? bytes : Buffer.concat([bytes, ...this.#behind])
    this.#behind = noBytes
    this.#stop()
    this.exits.attach(socket)
    socket.off("data", this.#read).off("end", this.#end).off("error", this.#fail).off("close", this.#close)
    socket.emit("data", all)
    if (socket.isPaused()) socket.resume()
  }
}

/**
 * Serves plain requests of `server` by `offer`. Installed after everything else that handles its requests, and before anything
 * that limits its connections.
 */
export const install = (server: Server, offer: Offer, headersTimeoutMillis: number): void => {
  const all = new SlotSet<PlainConnection>()
  const emit = server.emit as (this: Server, ...args: ReadonlyArray<unknown>) => boolean
  let holding: Array<PlainConnection> = []
  let sweeps = 0
  const exits: Exits = {
    offer,
    hold: (connection) => {
      connection.heldAt = sweeps
      holding.push(connection)
    },
    isListening: () => server.listening,
    attach: (socket) => void emit.call(server, "connection", socket),
    late: (socket) => {
      const error = Object.assign(new Error("The client has sent no request"), { code: "ERR_HTTP_REQUEST_TIMEOUT" })
      server.emit("clientError", error, socket)
    },
    headersTimeoutMillis,
  }
  server.emit = function (this: Server, event: string, ...args: Array<unknown>): boolean {
    if (event !== "connection") return emit.call(this, event, ...args)
    new PlainConnection(args[0] as Socket, exits, all)
    return true
  } as Server["emit"]

  // Clients that have stopped within a body: Node's server has the time limit for them.
  const timer: unknown = setInterval(() => {
    const before = holding
    holding = []
    sweeps++
    for (const connection of before) {
      if (connection.held === undefined) continue
      if (sweeps - connection.heldAt > 1) connection.handOver(connection.held)
      else holding.push(connection)
    }
  }, sweepMillis)
  if (timer instanceof Object && "unref" in timer && typeof timer.unref === "function") timer.unref()
  server.on("close", () => clearInterval(timer as Parameters<typeof clearInterval>[0]))

  const { closeAllConnections, closeIdleConnections } = server
  server.closeIdleConnections = () => {
    for (const connection of all.values()) if (connection.isIdle) connection.socket.destroy()
    closeIdleConnections.call(server)
  }
  server.closeAllConnections = () => {
    for (const { socket } of all.values()) socket.destroy()
    closeAllConnections.call(server)
  }
}
