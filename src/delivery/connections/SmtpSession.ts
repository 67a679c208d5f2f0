import { Effect } from "effect"
import { Buffer } from "node:buffer"
import type { Socket } from "node:net"
import type { Composed } from "../../domain/Email.ts"
import type { SmtpFault } from "./SmtpReplies.ts"

/** How far a message has come. */
export interface Progress {
  /** The server has taken sender and recipient, and the message may have been sent in part or whole. */
  began: boolean
  /** A session was ready, and the message is on its turn: a silence from here on belongs to the recipient. */
  isReady: boolean
  /** The attempt has been given up: no part of the message is sent from now on. */
  isGivenUp: boolean
}

/** The progress of a message that has not set out. */
export const newProgress = (): Progress => ({ began: false, isReady: false, isGivenUp: false })

/** Extensions that the server announced (RFC 1870, 2920, 6531). */
export interface SmtpFeatures {
  /** MAIL, RCPT and DATA may be sent without waiting for the replies in between. */
  readonly pipelining: boolean
  /** MAIL may name the size of the message. */
  readonly size: boolean
  /** The largest message that the server takes, in bytes; 0 if it does not say. */
  readonly maxSize: number
  /** Addresses may hold characters beyond ASCII. */
  readonly utf8: boolean
}

/** Longest reply. Unit: characters. */
const maxReply = 65_536

/** A command whose reply is missing. `body`: the message; `empty`: the end of a message that has no recipient. */
type Step = "sender" | "recipient" | "data" | "body" | "empty" | "reset"

interface Transaction {
  readonly mail: Composed
  readonly progress: Progress
  readonly done: (fault: SmtpFault | undefined) => void
  /** The first refusal, to report once the replies to all commands are in. */
  fault?: SmtpFault
}

const isWide = /[\u0080-\uffff]/
const dot = Buffer.from(".")
const lastDot = Buffer.from(".\r\n")
const lineAndLastDot = Buffer.from("\r\n.\r\n")

/** A message as DATA transfers it: a full stop before each one that begins a line, and the end (RFC 5321, 4.5.2). */
export const transparent = (bytes: Uint8Array): Buffer => {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const parts: Array<Buffer> = []
  let from = 0
  if (buffer[0] === 0x2e) parts.push(dot)
  for (let at = buffer.indexOf("\n."); at !== -1; at = buffer.indexOf("\n.", at + 2)) {
    parts.push(buffer.subarray(from, at + 1), dot)
    from = at + 1
  }
  parts.push(from === 0 ? buffer : buffer.subarray(from), buffer.at(-1) === 0x0a ? lastDot : lineAndLastDot)
  return Buffer.concat(parts)
}

/**
 * A session with an SMTP server over a socket that is ready: greeted, encrypted and logged in as its connection wants. It
 * sends one message at a time, in two writes where the server announces PIPELINING: the commands, and the message.
 */
export class SmtpSession {
  /** Whether it can send another message. */
  isOpen = true
  #text = ""
  #steps: Array<Step> = []
  #transaction: Transaction | undefined
  #onClosed: () => void = () => {}

  constructor(private readonly socket: Socket, private readonly features: SmtpFeatures) {
    socket.on("data", (chunk: Uint8Array) => this.#read(chunk))
    socket.on("error", (error: Error) => this.#lose(error.message))
    socket.on("end", () => this.#lose("Connection closed unexpectedly"))
    socket.on("close", () => {
      this.#lose("Connection closed unexpectedly")
      this.#onClosed()
    })
  }

  /** Whether a message is on its way. */
  get isBusy(): boolean {
    return this.#transaction !== undefined
  }

  /**
   * Sends a message, and calls `done` once: without a fault if the server has accepted it. After a refusal the session is
   * reset, and can send on.
   */
  send(mail: Composed, progress: Progress, done: (fault: SmtpFault | undefined) => void): void {
    const { bytes, from, to } = mail
    const { maxSize, pipelining, size, utf8 } = this.features
    this.#transaction = { mail, progress, done }
    progress.isReady = true
    if (maxSize > 0 && bytes.length > maxSize) {
      const detail = `Message size larger than allowed ${maxSize}`
      return this.#end({ stage: "sender", code: undefined, detail, uncertain: false, cause: "size" })
    }
    const wide = utf8 && (isWide.test(from) || isWide.test(to)) ? " SMTPUTF8" : ""
    const sender = `MAIL FROM:<${from}>${wide}${size ? ` SIZE=${bytes.length}` : ""}\r\n`
    if (pipelining) this.#write(`${sender}RCPT TO:<${to}>\r\nDATA\r\n`, "sender", "recipient", "data")
    else this.#write(sender, "sender")
  }

  /** Says goodbye and waits for the end, a second at most. */
  readonly quit: Effect.Effect<void> = Effect.callback<void>((resume) => {
    if (!this.isOpen) return resume(Effect.void)
    this.isOpen = false
    const finish = () => {
      clearTimeout(timer)
      this.destroy()
      resume(Effect.void)
    }
    const timer = setTimeout(finish, 1_000)
    this.#onClosed = finish
    this.socket.end("QUIT\r\n")
  })

  /** Cuts the connection. A message on its way is not reported any more. */
  destroy(): void {
    this.isOpen = false
    this.#transaction = undefined
    this.socket.destroy()
  }

  #write(text: string | Buffer, ...steps: ReadonlyArray<Step>): void {
    this.#steps = [...steps]
    this.socket.write(text)
  }

  #read(chunk: Uint8Array): void {
    this.#text += Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length).toString("latin1")
    if (this.#transaction === undefined) {
      // Unasked, a server says only that it ends the session.
      if (this.isOpen) this.destroy()
      return
    }
    for (let end = this.#replyEnd(); end !== -1 && this.#transaction !== undefined; end = this.#replyEnd()) {
      const reply = this.#text.slice(0, end)
      this.#text = this.#text.slice(end)
      this.#take(reply)
    }
    if (this.#text.length > maxReply) this.#lose(`Its reply is longer than ${maxReply.toLocaleString("en")} characters`)
  }

  /** The position behind the first complete reply; -1 without one. All its lines but the last have a hyphen. */
  #replyEnd(): number {
    for (let from = 0;;) {
      const end = this.#text.indexOf("\n", from)
      if (end === -1) return -1
      if (this.#text[from + 3] !== "-") return end + 1
      from = end + 1
    }
  }

  #take(reply: string): void {
    const step = this.#steps.shift()
    const digit = reply[0]
    const transaction = this.#transaction!
    if (!/^[2-5]\d\d/.test(reply) || step === undefined) return this.#lose(`It answered ${textOf(reply)}`)
    if (reply.startsWith("421")) return this.#loseWith(transaction.fault ?? faultOf(step, reply))
    switch (step) {
      case "sender":
      case "recipient":
        if (digit !== "2") transaction.fault ??= faultOf(step, reply)
        return this.features.pipelining ? undefined : this.#proceed(step)
      case "data":
        if (transaction.fault === undefined) return digit === "3" ? this.#sendBody() : this.#reset(faultOf(step, reply))
        // A server may ask for the message although it has refused its only recipient.
        return digit === "3" ? this.#write(lastDot, "empty") : this.#reset(transaction.fault)
      case "empty":
        return this.#reset(transaction.fault!)
      case "body":
        return digit === "2" ? this.#end(undefined) : this.#reset(faultOf(step, reply))
      case "reset":
        if (digit !== "2") return this.#loseWith(transaction.fault!)
        return this.#end(transaction.fault)
    }
  }

  /** The next command, to a server that wants one at a time. */
  #proceed(step: "sender" | "recipient"): void {
    const { fault, mail } = this.#transaction!
    if (fault !== undefined) return this.#reset(fault)
    if (step === "sender") this.#write(`RCPT TO:<${mail.to}>\r\n`, "recipient")
    else this.#write("DATA\r\n", "data")
  }

  #sendBody(): void {
    const { mail, progress } = this.#transaction!
    // Its session is about to be closed.
    if (progress.isGivenUp) return
    progress.began = true
    this.#write(transparent(mail.bytes), "body")
  }

  /** Ends a transaction that has failed, so that the session can send the next message. */
  #reset(fault: SmtpFault): void {
    this.#transaction!.fault = fault
    this.#write("RSET\r\n", "reset")
  }

  #end(fault: SmtpFault | undefined): void {
    const { done } = this.#transaction!
    this.#transaction = undefined
    this.#text = ""
    done(fault)
  }

  /** The connection is gone, or of no use any more. */
  #lose(detail: string): void {
    if (this.#transaction === undefined) return this.destroy()
    const { fault, progress } = this.#transaction
    if (fault !== undefined) return this.#loseWith(fault)
    const step = this.#steps[0]
    // A server that hangs up may leave out the line break of its last words.
    if (/^[45]\d\d[ -]/.test(this.#text) && step !== undefined) return this.#loseWith(faultOf(step, this.#text))
    const stage = progress.began ? "data" : "connect"
    this.#loseWith({ stage, code: undefined, detail, uncertain: progress.began })
  }

  #loseWith(fault: SmtpFault): void {
    const { done } = this.#transaction!
    this.destroy()
    done(fault)
  }
}

const textOf = (reply: string): string => Buffer.from(reply.trimEnd(), "latin1").toString().replaceAll("\r\n", "\n")

const faultOf = (step: Step, reply: string): SmtpFault => ({
  stage: step === "sender" || step === "recipient" ? step : "data",
  code: Number(reply.slice(0, 3)),
  detail: textOf(reply),
  uncertain: false,
})
