import { Effect, Redacted } from "effect"
import { Buffer } from "node:buffer"
import { createConnection, isIP, type Socket } from "node:net"
import { Duplex } from "node:stream"
import { connect as connectTls, type TLSSocket } from "node:tls"
import type { DatabaseTarget, Encryption, EncryptionMode } from "../settings/DatabaseUrl.ts"

/** A connection to a server, with the number of bytes transferred. */
export interface ServerConnection extends Duplex {
  readonly bytesRead: number
  readonly bytesWritten: number
}

type Way = "encrypted" | "plain"

/** The ways to connect for each mode, in the order in which libpq tries them. */
const ways: Readonly<Record<EncryptionMode, ReadonlyArray<Way>>> = {
  "disable": ["plain"],
  "allow": ["plain", "encrypted"],
  "prefer": ["encrypted", "plain"],
  "require": ["encrypted"],
  "verify-ca": ["encrypted"],
  "verify-full": ["encrypted"],
}

/** Error code: the server accepts no encrypted connections, and unencrypted ones are not allowed. */
export const noTlsCode = "ERR_SERVER_WITHOUT_TLS"

/** Error code: the server did not answer with PostgreSQL's protocol. */
export const noPostgresCode = "ERR_NO_POSTGRES"

const failure = (code: string, message: string): Error => Object.assign(new Error(message), { code })

/** Idle time before TCP probes the other side. Unit: milliseconds. */
const keepAliveMillis = 10_000

/** The message that requests encryption. */
const sslRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f])

/** First byte of an error message, and the two answers to `sslRequest`. */
const byte = { error: 0x45, yes: 0x53, no: 0x4e } as const

const tlsOptions = (host: string, { authorities, check, client }: Encryption) => ({
  host,
  ...(isIP(host) === 0 && { servername: host }),
  ...(authorities !== undefined && authorities !== "system" && { ca: authorities }),
  ...(client !== undefined && { cert: client.cert, key: Redacted.value(client.key) }),
  rejectUnauthorized: check !== "nothing",
  ...(check === "authority" && { checkServerIdentity: () => undefined }),
})

/**
 * Whether the server refuses the connection by its access rules (SQLSTATE 28000), which may differ between encrypted
 * and unencrypted connections.
 */
const isRefusal = (chunk: Buffer): boolean => chunk[0] === byte.error && chunk.includes("C28000\0")

const openSocket = ({ host, port }: DatabaseTarget): Socket =>
  createConnection({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAliveMillis })

/**
 * A connection that is encrypted as `sslmode` requires. Tries the allowed ways in turn. Chunks written before the
 * server's first response are kept, so that the next way can repeat them.
 */
class NegotiatedConnection extends Duplex implements ServerConnection {
  bytesRead = 0
  bytesWritten = 0
  readonly #target: DatabaseTarget
  readonly #left: Array<Way>
  /** The current socket: TCP first, then TLS over it. */
  #socket: Socket | undefined
  #isReady = false
  /** Chunks written so far, to be repeated on the next way; undefined after the server has responded. */
  #first: Array<Buffer> | undefined = []
  #whenReady: (() => void) | undefined

  constructor(target: DatabaseTarget) {
    super()
    this.#target = target
    this.#left = [...ways[target.encryption.mode]]
    this.#tryNext()
  }

  #tryNext() {
    const way = this.#left.shift()
    this.#drop()
    const socket = this.#follow(openSocket(this.#target))
    socket.once("connect", () => way === "plain" ? this.#begin(socket) : this.#askForEncryption(socket))
  }

  /** Ends this connection when `socket` ends. */
  #follow<S extends Socket>(socket: S): S {
    this.#socket = socket
    socket.on("error", (error) => this.#socket === socket && this.destroy(error))
    socket.on("close", () => this.#socket === socket && this.destroy())
    return socket
  }

  #drop() {
    const socket = this.#socket
    this.#socket = undefined
    this.#isReady = false
    socket?.destroy()
  }

  #askForEncryption(socket: Socket) {
    socket.once("data", (answer: Buffer) => {
      if (answer[0] === byte.error) {
        // The server sent an error instead of the answer, such as too many clients. The client library reads it.
        this.#first = undefined
        return this.#receive(socket, answer)
      }
      // Additional bytes may come from an attacker, because the connection is not encrypted yet.
      if (answer.length !== 1 || (answer[0] !== byte.yes && answer[0] !== byte.no)) {
        return this.destroy(failure(noPostgresCode, "The server that answered is not a PostgreSQL server"))
      }
      if (answer[0] === byte.yes) return this.#encrypt(socket)
      if (!this.#left.includes("plain")) {
        return this.destroy(failure(noTlsCode, "The server takes no encrypted connections"))
      }
      this.#left.length = 0
      this.#begin(socket)
    })
    socket.write(sslRequest)
  }

  #encrypt(socket: Socket) {
    const { encryption, host } = this.#target
    let secured: TLSSocket
    try {
      secured = connectTls({ ...tlsOptions(host, encryption), socket })
    } catch (error) {
      return void this.destroy(error instanceof Error ? error : new Error(String(error)))
    }
    const goOn = () => {
      if (this.#socket === secured && !this.#isReady && this.#left.length > 0) this.#tryNext()
    }
    secured.once("error", goOn)
    secured.once("close", goOn)
    this.#follow(secured)
    secured.once("secureConnect", () => {
      this.emit("encrypted", secured)
      this.#begin(secured)
    })
  }

  #begin(socket: Socket) {
    this.#isReady = true
    socket.on("data", (chunk: Buffer) => this.#receive(socket, chunk))
    socket.on("end", () => this.#socket === socket && this.push(null))
    for (const chunk of this.#first ?? []) socket.write(chunk)
    const whenReady = this.#whenReady
    this.#whenReady = undefined
    whenReady?.()
  }

  #receive(socket: Socket, chunk: Buffer) {
    if (this.#socket !== socket) return
    if (this.#first !== undefined) {
      if (this.#left.length > 0 && isRefusal(chunk)) return this.#tryNext()
      this.#first = undefined
    }
    this.bytesRead += chunk.length
    if (!this.push(chunk)) socket.pause()
  }

  override _read() {
    if (this.#isReady) this.#socket!.resume()
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void) {
    this.bytesWritten += chunk.length
    this.#first?.push(chunk)
    if (!this.#isReady) this.#whenReady = done
    else if (this.#socket!.write(chunk)) done()
    else this.#socket!.once("drain", done)
  }

  override _final(done: () => void) {
    this.#socket?.end()
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void) {
    this.#drop()
    done(error)
  }
}

/** Opens a TCP connection to a server, encrypted as the target requires. Emits errors as events. */
export const open = (target: DatabaseTarget): ServerConnection =>
  target.encryption.mode === "disable" ? openSocket(target) : new NegotiatedConnection(target)

/** Issuer and dates of a server's certificate. */
export interface ServerCertificate {
  /** Name of the authority that signed the certificate. */
  readonly issuer: string
  readonly from: Date
  readonly until: Date
}

/**
 * Fetches the certificate of a server without verifying it, because Deno does not report why a certificate was refused.
 * Undefined if the server sends none within `connectTimeout`.
 */
export const certificateOf = (target: DatabaseTarget): Effect.Effect<ServerCertificate | undefined> =>
  Effect.callback<ServerCertificate | undefined>((resume) => {
    const connection = new NegotiatedConnection({
      ...target,
      encryption: { ...target.encryption, mode: "require", authorities: undefined, check: "nothing" },
    })
    const end = () => resume(Effect.undefined)
    connection.on("error", end).on("close", end).once("encrypted", (secured: TLSSocket) => {
      const { issuer, valid_from, valid_to } = secured.getPeerCertificate()
      resume(Effect.succeed({ issuer: String(issuer.CN), from: new Date(valid_from), until: new Date(valid_to) }))
      connection.destroy()
    })
    return Effect.sync(() => connection.destroy())
  }).pipe(Effect.timeoutOrElse({ duration: target.connectTimeout, orElse: () => Effect.undefined }))
