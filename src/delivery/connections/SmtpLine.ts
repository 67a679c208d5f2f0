import { Effect } from "effect"
import SMTPConnection from "nodemailer/lib/smtp-connection"
import { connect, isIP, type Socket } from "node:net"
import { Readable } from "node:stream"
import { type AddressGuard, AddressRefused } from "../AddressGuard.ts"
import type { Composed } from "../../domain/Email.ts"
import type { SmtpFault } from "./SmtpReplies.ts"

/** Longest a session may take to be ready, from the DNS to the login. Milliseconds. */
const setupMillis = 10_000

export interface LineOptions {
  readonly host: string
  readonly port: number
  readonly tls: "starttls" | "tls" | "none"
  /** Own authorities, PEM. */
  readonly ca: string | undefined
  readonly auth: { readonly user: string; readonly password: string } | undefined
  /** Named in EHLO; the machine's name unless set. */
  readonly clientName: string | undefined
}

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

/** A session with an SMTP server, ready for a message. */
export interface SmtpLine {
  /** Sends one message at a time. After a failure that leaves the session usable it can send on; see `isOpen`. */
  readonly send: (mail: Composed, progress: Progress) => Effect.Effect<void, SmtpFault>
  readonly isOpen: () => boolean
  /** Says goodbye and waits for the end, a second at most. */
  readonly quit: Effect.Effect<void>
  readonly destroy: () => void
}

interface SmtpError extends Error {
  readonly code?: string
  readonly command?: string
  readonly responseCode?: number
  readonly response?: string
}

const trustWords = /certificate|self.signed|issuer|altname|CERT_|DEPTH_ZERO|hostname\/ip|NotValidForName|expired/i

const stageOf = ({ code, command }: SmtpError): SmtpFault["stage"] =>
  code === "EAUTH" || command?.startsWith("AUTH") === true
    ? "login"
    : command === "MAIL FROM"
    ? "sender"
    : command === "RCPT TO"
    ? "recipient"
    : command === "DATA"
    ? "data"
    : "connect"

const causeOf = (error: SmtpError): SmtpFault["cause"] =>
  error instanceof AddressRefused || error.cause instanceof AddressRefused ? "address" : error.code === "ETLS"
    // A server that breaks off may be better off a moment later; one without STARTTLS will not.
    ? error.responseCode !== undefined && error.responseCode >= 500 || trustWords.test(error.message)
      ? "tls"
      : undefined
    : trustWords.test(error.message) && error.responseCode === undefined
    ? "tls"
    : error.code === "EAUTH" && error.responseCode === undefined && /method|credentials/i.test(error.message)
    ? "login"
    : error.code === "EMESSAGE" && error.responseCode === undefined
    ? "size"
    : undefined

const faultOf = (error: SmtpError, began: boolean): SmtpFault => ({
  stage: stageOf(error),
  code: error.responseCode || undefined,
  detail: error.response ?? error.message,
  uncertain: began && !error.responseCode,
  cause: causeOf(error),
})

/** A message as a stream. It begins at the first read, after the server has accepted sender, recipient and DATA. */
const streamOf = (bytes: Uint8Array, progress: Progress): Readable =>
  new Readable({
    read() {
      // Its session is about to be closed. Without its end the server discards the message.
      if (progress.isGivenUp) return
      progress.began = true
      this.push(bytes)
      this.push(null)
    },
  })

const socketTo = (guard: AddressGuard["Service"], { host, port, tls }: LineOptions) =>
  Effect.callback<Socket, SmtpFault>((resume) => {
    const refused = (detail: string) =>
      Effect.fail<SmtpFault>({ stage: "connect", code: undefined, detail, uncertain: false, cause: "address" })
    const refusal = guard.hostRefusalOf(host)
    const isPlain = tls === "none"
    if (refusal !== undefined) return resume(refused(`${host} ${refusal}`))
    if (isPlain && isIP(host) !== 0 && !guard.isListed(host)) {
      return resume(
        refused(`${host} is not listed in OUTBOUND_ALLOW, and unencrypted connections are made only to what is`),
      )
    }
    const socket = connect({ host, port, lookup: isPlain ? guard.lookupListed : guard.lookup })
    const failed = (error: SmtpError) => resume(Effect.fail(faultOf(error, false)))
    socket.once("error", failed)
    socket.once("connect", () => {
      socket.off("error", failed)
      resume(Effect.succeed(socket))
    })
    return Effect.sync(() => {
      socket.on("error", () => {})
      socket.destroy()
    })
  })

const noSuchThing = () => {}

const lineOver = (socket: Socket, options: LineOptions) =>
  Effect.callback<SmtpLine, SmtpFault>((resume) => {
    const { auth, ca, clientName, host, port, tls } = options
    const connection = new SMTPConnection({
      host,
      port,
      connection: socket,
      secure: tls === "tls",
      requireTLS: tls === "starttls",
      ignoreTLS: tls === "none",
      ...(clientName === undefined ? {} : { name: clientName }),
      ...(isIP(host) === 0 ? { servername: host } : {}),
      tls: { ...(ca === undefined ? {} : { ca }), minVersion: "TLSv1.2" },
      connectionTimeout: setupMillis,
      greetingTimeout: setupMillis,
      // The sender's own time limit is shorter.
      socketTimeout: 60_000,
      socketCloseTimeout: 0,
      maxResponseSize: 65_536,
    })
    const destroy = () => {
      connection.close()
      socket.destroy()
    }
    let settled = false
    const fail = (error: SmtpError) => {
      if (settled) return
      settled = true
      destroy()
      resume(Effect.fail(faultOf(error, false)))
    }
    connection.on("error", fail)
    connection.on("end", () => fail(new Error("It ended the connection")))
    const ready = () => {
      if (settled) return
      settled = true
      connection.on("error", noSuchThing)
      resume(Effect.succeed(makeLine(connection, destroy)))
    }
    connection.connect((error) => {
      if (error) return fail(error as SmtpError)
      if (auth === undefined) return ready()
      if (!connection.allowsAuth) {
        return fail(Object.assign(new Error("It offers no method of logging in"), { code: "EAUTH" }))
      }
      connection.login({ user: auth.user, credentials: { user: auth.user, pass: auth.password } }, (error) =>
        error ? fail(error as SmtpError) : ready())
    })
    return Effect.sync(() => {
      settled = true
      destroy()
    })
  })

const makeLine = (connection: SMTPConnection, destroy: () => void): SmtpLine => ({
  send: ({ bytes, from, to }, progress) =>
    Effect.callback((resume) => {
      const message = streamOf(bytes, progress)
      progress.isReady = true
      connection.send({ from, to: [to], size: bytes.length }, message, (error) => {
        if (!error) return resume(Effect.void)
        const fault = faultOf(error as SmtpError, progress.began)
        const failure = Effect.fail<SmtpFault>(
          // A connection that is cut there names no command.
          progress.began && fault.code === undefined ? { ...fault, stage: "data" } : fault,
        )
        // A refusal in so many words leaves the session intact.
        if (!(error as SmtpError).responseCode || connection.destroyed) {
          destroy()
          return resume(failure)
        }
        connection.reset((unreset) => {
          if (unreset) destroy()
          resume(failure)
        })
      })
      return Effect.sync(destroy)
    }),
  isOpen: () => !connection.destroyed,
  quit: Effect.callback((resume) => {
    if (connection.destroyed) return resume(Effect.void)
    const done = () => {
      clearTimeout(timer)
      destroy()
      resume(Effect.void)
    }
    const timer = setTimeout(done, 1_000)
    connection.once("end", done)
    connection.quit()
  }),
  destroy,
})

/** Connects and logs in, within 10 seconds. */
export const open = (guard: AddressGuard["Service"], options: LineOptions): Effect.Effect<SmtpLine, SmtpFault> =>
  Effect.flatMap(socketTo(guard, options), (socket) => lineOver(socket, options)).pipe(
    Effect.timeoutOrElse({
      duration: setupMillis,
      orElse: () =>
        Effect.fail<SmtpFault>({
          stage: "connect",
          code: undefined,
          detail: `it was not ready within ${setupMillis / 1_000} seconds`,
          uncertain: false,
        }),
    }),
  )
