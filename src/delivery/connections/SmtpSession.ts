import { Effect } from "effect"
import type SMTPConnection from "nodemailer/lib/smtp-connection"
import { Readable } from "node:stream"
import type { Composed } from "../../text/Email.ts"
import type { SmtpFault } from "./SmtpReplies.ts"

const isWide = /[\u0080-\uffff]/

const stages: Readonly<Record<string, SmtpFault["stage"]>> = {
  "MAIL FROM": "sender",
  "RCPT TO": "recipient",
  DATA: "data",
}

/**
 * Converts an error of nodemailer to a fault. `began`: part of the message may have been sent. Only a refusal, 4yz or
 * 5yz, proves that a message was not accepted.
 */
const faultOfSend = (error: SMTPConnection.SMTPError, began: boolean): SmtpFault => {
  const { command = "", responseCode, response } = error
  const isRefusal = responseCode !== undefined && responseCode >= 400 && responseCode < 600
  if (isRefusal) {
    // Without a command, the server ended the session. Its reply refers to the last command.
    const stage = stages[command] ?? (began ? "data" : "recipient")
    return { stage, code: responseCode, detail: String(response), uncertain: false }
  }
  const isSize = error.code === "EMESSAGE" && command === "MAIL FROM"
  return {
    stage: isSize ? "sender" : began ? "data" : "connect",
    code: undefined,
    detail: error.message,
    uncertain: began,
    ...(isSize ? { cause: "size" } : {}),
  }
}

/** A message to send, with the callbacks of its session. */
interface Transaction {
  readonly mail: Composed
  /** Called when the server has accepted sender and recipient. The message is sent only if `go` is called. */
  readonly begin: (go: () => void) => void
  /** Called at the end, with the server's reply if it has accepted the message. */
  readonly done: (end: SmtpFault | string) => void
}

/**
 * A session with an SMTP server, over a connection of nodemailer that is greeted, encrypted and logged in. Sends one
 * message at a time. If the server announces PIPELINING, nodemailer sends the commands in one write.
 */
export class SmtpSession {
  /** Whether the session can send another message. */
  isOpen = true
  #sending: Transaction | undefined
  #began = false
  /** The refusal to report after the session was reset. */
  #fault: SmtpFault | undefined
  /** Called when the connection ends. */
  onEnd: () => void = () => {}

  /** `takesUtf8`: the server accepts addresses with non-ASCII characters. */
  constructor(private readonly connection: SMTPConnection, private readonly takesUtf8: boolean) {
    // The callback of a message receives this error too, and an idle session has nothing to report.
    connection.on("error", () => {})
    connection.once("end", () => {
      this.isOpen = false
      this.onEnd()
      // nodemailer may report the error of a message right after the end.
      queueMicrotask(() =>
        this.#finish(this.#fault ?? faultOfSend(new Error("The connection was closed"), this.#began))
      )
    })
  }

  /** Whether a message is being sent. */
  get isBusy(): boolean {
    return this.#sending !== undefined
  }

  /** Sends a message. After a refusal, the session is reset and can send other messages. */
  send(sending: Transaction): void {
    const { bytes, from, to } = sending.mail
    this.#sending = sending
    this.#began = false
    this.#fault = undefined
    if (!this.takesUtf8 && (isWide.test(from) || isWide.test(to))) {
      const detail = `${isWide.test(to) ? to : from} has characters that need the extension SMTPUTF8`
      return this.#finish({ stage: "sender", code: undefined, detail, uncertain: false, cause: "utf8" })
    }
    const go = () => {
      this.#began = true
      body.push(bytes)
      body.push(null)
    }
    const body: Readable = new Readable({ read: () => this.#began ? undefined : sending.begin(go) })
    this.connection.send({ from, to, size: bytes.length }, body, (error, info) => {
      if (sending !== this.#sending) return
      if (error === null || error === undefined) return this.#finish(info.response)
      const fault = faultOfSend(error, this.#began)
      if (fault.cause === "size") return this.#finish(fault)
      // A server ends the session after 421.
      if (fault.code === undefined || fault.code === 421 || !this.isOpen) return this.#lose(fault)
      this.#fault = fault
      this.connection.reset((error) => error ? this.#lose(fault) : this.#finish(fault))
    })
  }

  /** Sends QUIT. Returns after the connection has ended, or after 1 second. */
  readonly quit: Effect.Effect<void> = Effect.callback<void>((resume) => {
    if (!this.isOpen) return resume(Effect.void)
    this.isOpen = false
    const timer = setTimeout(() => this.destroy(), 1_000)
    this.onEnd = () => {
      clearTimeout(timer)
      resume(Effect.void)
    }
    this.connection.quit()
  })

  /** Closes the connection at once. A message being sent is not reported. */
  destroy(): void {
    this.isOpen = false
    this.#sending = undefined
    this.connection.close()
  }

  #finish(end: SmtpFault | string): void {
    const sending = this.#sending
    this.#sending = undefined
    sending?.done(end)
  }

  #lose(fault: SmtpFault): void {
    const sending = this.#sending
    this.destroy()
    sending?.done(fault)
  }
}
