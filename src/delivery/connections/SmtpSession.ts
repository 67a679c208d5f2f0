import { Effect } from "effect"
import type SMTPConnection from "nodemailer/lib/smtp-connection"
import { Readable } from "node:stream"
import type { Composed } from "../../domain/Email.ts"
import type { SmtpFault } from "./SmtpReplies.ts"

const isWide = /[\u0080-\uffff]/

const stages: Readonly<Record<string, SmtpFault["stage"]>> = {
  "MAIL FROM": "sender",
  "RCPT TO": "recipient",
  DATA: "data",
}

/**
 * The fault that an error of nodemailer reports. `began`: part of the message may have been sent. Only a refusal, 4yz or 5yz, says
 * that a message was not accepted.
 */
export const faultOfSend = (error: SMTPConnection.SMTPError, began: boolean): SmtpFault => {
  const { command = "", responseCode, response } = error
  const isRefusal = responseCode !== undefined && responseCode >= 400 && responseCode < 600
  if (isRefusal) {
    // Without a command the server ended the session, and its words answer what was asked last.
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

/** A message to send, with what the session asks and reports. */
export interface Transaction {
  readonly mail: Composed
  /** The server has taken sender and recipient. The message is sent when `go` is called, and not otherwise. */
  readonly begin: (go: () => void) => void
  /** Without a fault if the server has accepted the message. */
  readonly done: (fault: SmtpFault | undefined) => void
}

/**
 * A session with an SMTP server over a connection of nodemailer that is ready: greeted, encrypted and logged in. It sends one
 * message at a time. nodemailer sends the commands in one write where the server announces PIPELINING.
 */
export class SmtpSession {
  /** Whether it can send another message. */
  isOpen = true
  #sending: Transaction | undefined
  #began = false
  /** The refusal to report once the session is reset. */
  #fault: SmtpFault | undefined
  /** Called when the connection has ended. */
  onEnd: () => void = () => {}

  /** `takesUtf8`: addresses may hold characters beyond ASCII. */
  constructor(private readonly connection: SMTPConnection, private readonly takesUtf8: boolean) {
    // The callback of a message gets the same error, and an idle session has nothing to report.
    connection.on("error", () => {})
    connection.once("end", () => {
      this.isOpen = false
      this.onEnd()
      // nodemailer reports the error of a message, if it does, right after the end.
      queueMicrotask(() =>
        this.#finish(this.#fault ?? faultOfSend(new Error("The connection was closed"), this.#began))
      )
    })
  }

  /** Whether a message is on its way. */
  get isBusy(): boolean {
    return this.#sending !== undefined
  }

  /** Sends a message. After a refusal the session is reset, and can send on. */
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
    this.connection.send({ from, to, size: bytes.length }, body, (error) => {
      if (sending !== this.#sending) return
      if (error === null || error === undefined) return this.#finish(undefined)
      const fault = faultOfSend(error, this.#began)
      if (fault.cause === "size") return this.#finish(fault)
      // A server that says 421 ends the session.
      if (fault.code === undefined || fault.code === 421 || !this.isOpen) return this.#lose(fault)
      this.#fault = fault
      this.connection.reset((error) => error ? this.#lose(fault) : this.#finish(fault))
    })
  }

  /** Says goodbye and waits for the end, a second at most. */
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

  /** Cuts the connection. A message on its way is not reported any more. */
  destroy(): void {
    this.isOpen = false
    this.#sending = undefined
    this.connection.close()
  }

  #finish(fault: SmtpFault | undefined): void {
    const sending = this.#sending
    this.#sending = undefined
    sending?.done(fault)
  }

  #lose(fault: SmtpFault): void {
    const sending = this.#sending
    this.destroy()
    sending?.done(fault)
  }
}
