import { Clock, Effect, Latch, Redacted } from "effect"
import { Socket } from "effect/socket"
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto"

// What goes between two nodes, over TCP:
//
//   each side, at once:  "PLC1", 32 random bytes
//   then any number of:  length (4) | number (8) | ciphertext | tag (16)       big endian; `length` counts what follows it
//
// AES-256-GCM with a key for each direction, both derived from the secret and the two random values: a recording of
// another connection opens nothing. The number is the nonce and has to rise, so nothing can be repeated or reordered.

const magic = Buffer.from("PLC1")
const saltLength = 32
const helloLength = magic.length + saltLength
const overhead = 8 + 16

/** What a peer that has not proved anything may have us keep. Unit: bytes. */
const strangerLength = 64 * 1024
/** The largest message between nodes: a model with many variants and segments is some hundred kilobytes. Unit: bytes. */
const messageLength = 32 * 1024 * 1024

/** How long a peer may take to prove that it knows the secret, and how long it may then say nothing. */
const proofTime = "5 seconds"
const silentTime = "30 seconds"

/** Which end of a connection. */
export type Side = "client" | "server"

const broken = (message: string) =>
  new Socket.SocketError({ reason: new Socket.SocketReadError({ cause: new Error(message) }) })

const nonceOf = (number: bigint): Buffer => {
  const nonce = Buffer.alloc(12)
  nonce.writeBigUInt64BE(number, 4)
  return nonce
}

/** One connection, from its first byte on. */
class Session {
  readonly salt = randomBytes(saltLength)
  readonly #secret: string
  readonly #side: Side
  #parts: Array<Uint8Array> = []
  #length = 0
  #sendKey: Uint8Array | undefined
  #receiveKey: Uint8Array | undefined
  #sent = 0n
  #received = 0n

  constructor(secret: string, side: Side) {
    this.#secret = secret
    this.#side = side
  }

  get greeted(): boolean {
    return this.#sendKey !== undefined
  }

  get proven(): boolean {
    return this.#received > 0n
  }

  /** Only once greeted. */
  seal(plain: Uint8Array): Uint8Array {
    const number = ++this.#sent
    const cipher = createCipheriv("aes-256-gcm", this.#sendKey!, nonceOf(number))
    const body = cipher.update(plain)
    cipher.final()
    const head = Buffer.alloc(12)
    head.writeUInt32BE(overhead + body.length, 0)
    head.writeBigUInt64BE(number, 4)
    return Buffer.concat([head, body, cipher.getAuthTag()])
  }

  /** What `chunk` completes, in order. Throws where the peer does not hold to the rules. */
  open(chunk: Uint8Array): Array<Uint8Array> {
    this.#parts.push(chunk)
    this.#length += chunk.length
    if (!this.greeted && !this.#greet()) return []
    const messages: Array<Uint8Array> = []
    for (;;) {
      const head = this.#peek(4)
      if (head === undefined) return messages
      const length = head.readUInt32BE(0)
      if (length < overhead || length > (this.proven ? messageLength : strangerLength)) {
        throw new Error(`A message of ${length} bytes`)
      }
      const frame = this.#peek(4 + length)
      if (frame === undefined) return messages
      this.#drop(4 + length)
      messages.push(this.#unseal(frame.subarray(4)))
    }
  }

  #greet(): boolean {
    const hello = this.#peek(helloLength)
    if (hello === undefined) return false
    if (!hello.subarray(0, magic.length).equals(magic)) throw new Error("It does not speak this protocol")
    const theirs = hello.subarray(magic.length)
    this.#drop(helloLength)
    const salt = Buffer.concat(this.#side === "client" ? [this.salt, theirs] : [theirs, this.salt])
    const key = (from: Side) => new Uint8Array(hkdfSync("sha256", this.#secret, salt, `parlance cluster ${from}`, 32))
    this.#sendKey = key(this.#side)
    this.#receiveKey = key(this.#side === "client" ? "server" : "client")
    return true
  }

  #unseal(frame: Buffer): Uint8Array {
    const number = frame.readBigUInt64BE(0)
    if (number <= this.#received) throw new Error("A message arrived again")
    const decipher = createDecipheriv("aes-256-gcm", this.#receiveKey!, nonceOf(number))
    decipher.setAuthTag(frame.subarray(frame.length - 16))
    const plain = decipher.update(frame.subarray(8, frame.length - 16))
    try {
      decipher.final()
    } catch {
      throw new Error("It does not have this installation's CLUSTER_SECRET, or the connection was tampered with")
    }
    this.#received = number
    return plain
  }

  /** The first `length` bytes that have come in and are not taken; undefined while there are fewer. */
  #peek(length: number): Buffer | undefined {
    if (this.#length < length) return undefined
    if (this.#parts[0]!.length < length) this.#parts = [Buffer.concat(this.#parts)]
    const first = this.#parts[0]!
    return Buffer.from(first.buffer, first.byteOffset, length)
  }

  /** Forgets what `#peek` has just shown. */
  #drop(length: number): void {
    this.#parts[0] = this.#parts[0]!.subarray(length)
    this.#length -= length
  }
}

/** Strangers are told of at most this often. Unit: milliseconds. */
const tellMillis = 60_000
let toldAt = -Infinity

/** `socket` with everything that goes over it encrypted and authenticated under a secret that both ends know. */
export const seal = (socket: Socket.Socket, secret: Redacted.Redacted<string>, side: Side): Socket.Socket => {
  let current: Session | undefined
  const greeted = Latch.makeUnsafe(false)

  const tell = (error: Socket.SocketError) =>
    Effect.flatMap(Clock.Clock, (clock) => {
      const now = clock.currentTimeMillisUnsafe()
      if (side === "client" || now - toldAt < tellMillis) return Effect.void
      toldAt = now
      const { cause } = error.reason as { readonly cause?: unknown }
      return Effect.logWarning(
        "A connection to the cluster port was refused",
        cause instanceof Error ? cause.message : error.message,
      )
    })

  return Socket.make({
    reader: Effect.gen(function* () {
      const session = new Session(Redacted.value(secret), side)
      const raw = yield* socket.reader
      const pull = Effect.map(raw.pull, (chunks) => chunks as ReadonlyArray<Uint8Array>)
      const writer = yield* socket.writer
      current = session
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          if (current !== session) return
          current = undefined
          greeted.closeUnsafe()
        })
      )
      yield* writer.write(Buffer.concat([magic, session.salt]))
      const next: typeof raw.pull = Effect.flatMap(pull, (chunks) => {
        const messages: Array<Uint8Array> = []
        try {
          for (const chunk of chunks) messages.push(...session.open(chunk))
        } catch (error) {
          const failure = broken(error instanceof Error ? error.message : String(error))
          return Effect.andThen(tell(failure), Effect.fail(failure))
        }
        if (session.greeted && current === session) greeted.openUnsafe()
        const [first, ...more] = messages
        return first === undefined ? next : Effect.succeed([first, ...more])
      })
      return {
        // A client finds out by itself whether its peer lives: it pings.
        pull: side === "client" ? next : Effect.suspend(() =>
          Effect.timeoutOrElse(next, {
            duration: session.proven ? silentTime : proofTime,
            orElse: () => Effect.fail(broken("It said nothing for too long")),
          })
        ),
        upgrade: Socket.SocketUpgradeError.unsupported,
      }
    }),
    writer: Effect.map(socket.writer, (writer) => {
      const bytesOf = (chunk: Uint8Array | string) => typeof chunk === "string" ? Buffer.from(chunk) : chunk
      /** Sealed and handed over in one go: whatever interrupts it does so before or after. */
      const send = (chunks: ReadonlyArray<Uint8Array | string>): Effect.Effect<void, Socket.SocketError> =>
        Effect.suspend(() => {
          const session = current
          if (session === undefined || !session.greeted) return Effect.andThen(greeted.await, send(chunks))
          return writer.write(session.seal(Buffer.concat(chunks.map(bytesOf))))
        })
      return {
        write: (chunk) => Socket.isCloseEvent(chunk) ? writer.write(chunk) : send([chunk]),
        writeAll: send,
      }
    }),
  })
}
