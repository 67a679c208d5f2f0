import { Buffer } from "node:buffer"
import type { AddressInfo, Socket } from "node:net"
import { SMTPServer, type SMTPServerOptions } from "smtp-server"
import { certificate, certificateKey } from "./Certificate.ts"
import { read } from "./MimeReader.ts"
import type { Arrival } from "./PlatformServer.ts"
import { makeWatch } from "./Watch.ts"

/** A fault of one message: a reply to one of the commands, or a closed connection. */
export interface SmtpFault {
  readonly at: "sender" | "recipient" | "data"
  /**
   * A reply such as `550 5.1.1 No such user`. If absent, the server closes the connection: at `data` after it accepted
   * the message.
   */
  readonly reply?: string
  /** Whether the server never replies. */
  readonly hang?: boolean
}

export interface SmtpOptions {
  readonly faults?: Array<SmtpFault | undefined>
  readonly fault?: (n: number) => SmtpFault | undefined
  /** Whether sessions begin with TLS. Otherwise the server offers STARTTLS, except with `plain`. */
  readonly tls?: boolean
  readonly plain?: boolean
  /** The credentials that the server requires. Default: no login. */
  readonly login?: { readonly user: string; readonly password: string }
  /** A reply to every login, such as `535 5.7.8 Bad credentials`. */
  readonly loginReply?: string
  /** The text after 250 in the reply to an accepted message. */
  readonly acceptance?: string
  readonly size?: number
  readonly host?: string
  /** Extensions that the server does not announce. */
  readonly hidden?: ReadonlyArray<"SMTPUTF8" | "PIPELINING">
  /** Delays the greeting, the replies to RCPT or the replies to messages until the promise resolves. */
  readonly slow?: { readonly at: "connect" | "recipient" | "data"; readonly until: Promise<void> }
  /**
   * From the message with this number on (the first is 1), the server replies after this number of sessions were
   * opened.
   */
  readonly holdReplies?: { readonly fromMessage: number; readonly untilSessions: number }
  /** Open sessions beyond the first `most` get this reply, at one of these places. */
  readonly limit?: { readonly at: "connect" | "login" | "sender"; readonly most: () => number; readonly reply: string }
}

/** A received message. */
export interface Mail {
  readonly from: string
  readonly to: ReadonlyArray<string>
  readonly raw: string
}

export interface SmtpReceiver {
  readonly port: number
  readonly mails: ReadonlyArray<Mail>
  readonly arrivals: ReadonlyArray<Arrival>
  readonly faults: Array<SmtpFault | undefined>
  /** Number of open sessions. */
  readonly connections: () => number
  /** Number of all sessions so far. */
  readonly sessions: () => number
  /** Number of RCPT commands so far. */
  readonly recipients: () => number
  /** Closes all sessions, as servers do with idle sessions. */
  readonly cut: () => void
  readonly until: (holds: () => boolean) => Promise<void>
  readonly close: () => Promise<void>
}

const replied = (reply: string) => Object.assign(new Error(reply.slice(4)), { responseCode: Number(reply.slice(0, 3)) })

/** Starts a real SMTP server on loopback with a self-signed certificate. */
export const startSmtp = (options: SmtpOptions = {}): Promise<SmtpReceiver> =>
  new Promise((resolve, reject) => {
    const { acceptance, fault, faults = [], holdReplies, host = "127.0.0.1", limit, login, loginReply, slow } = options
    const accept = (done: (error: null, message?: string) => void) =>
      acceptance === undefined ? done(null) : done(null, acceptance)
    const mails: Array<Mail> = []
    const arrivals: Array<Arrival> = []
    const sockets = new Set<Socket>()
    const { changed, until } = makeWatch()
    const open = new Set<number>()
    let sessions = 0
    let recipients = 0
    let messages = 0
    const current = new Map<string, SmtpFault | undefined>()
    const cutOne = (port: number) => {
      for (const socket of sockets) if (socket.remotePort === port) socket.destroy()
    }
    /** Applies the session's fault at this place. Returns false if the session has no fault here. */
    const spoil = (
      at: SmtpFault["at"],
      session: { readonly id: string; readonly remotePort: number },
      done: (error?: Error | null) => void,
    ) => {
      const wrong = current.get(session.id)
      if (wrong?.at !== at) return false
      if (wrong.hang === true) changed()
      else if (wrong.reply === undefined) cutOne(session.remotePort)
      else done(replied(wrong.reply))
      return true
    }
    /** Returns the reply to a session beyond the limit at this place. Undefined for other sessions and places. */
    const limitAt = (at: "connect" | "login" | "sender", { remotePort }: { readonly remotePort: number }) =>
      limit?.at === at && [...open].indexOf(remotePort) >= limit.most() ? replied(limit.reply) : undefined
    const whenDue = (at: "connect" | "recipient" | "data", reply: () => void) => {
      if (slow?.at === at) void slow.until.then(reply)
      else reply()
    }
    const handlers: SMTPServerOptions = {
      onConnect: (session, done) => {
        const refusal = limitAt("connect", session)
        whenDue("connect", () => done(refusal))
      },
      // The end of the socket is not reported after the session was encrypted, so this event is used.
      onClose: ({ remotePort }) => {
        for (const socket of sockets) if (socket.remotePort === remotePort || socket.destroyed) sockets.delete(socket)
        open.delete(remotePort)
        changed()
      },
      onAuth: (auth, session, done) => {
        const refusal = loginReply === undefined ? limitAt("login", session) : replied(loginReply)
        if (refusal !== undefined) done(refusal)
        else if (auth.username === login?.user && auth.password === login?.password) done(null, { user: auth.username })
        else done(replied("535 5.7.8 Authentication credentials invalid"))
      },
      onMailFrom: (_address, session, done) => {
        const refusal = limitAt("sender", session)
        if (refusal !== undefined) return done(refusal)
        current.set(session.id, fault === undefined ? faults.shift() : fault(messages++))
        if (!spoil("sender", session, done)) done()
      },
      onRcptTo: (_address, session, done) => {
        recipients++
        changed()
        if (!spoil("recipient", session, done)) whenDue("recipient", () => done())
      },
      onData: (stream, session, done) => {
        const chunks: Array<Uint8Array> = []
        stream.on("data", (chunk: Uint8Array) => chunks.push(chunk))
        stream.on("end", () => {
          const raw = Buffer.concat(chunks).toString("latin1")
          const wrong = current.get(session.id)
          if (wrong?.at !== "data" || wrong.reply === undefined) {
            const { mailFrom, rcptTo } = session.envelope
            mails.push({
              from: mailFrom === false ? "" : mailFrom.address,
              to: rcptTo.map(({ address }) => address),
              raw,
            })
            arrivals.push({ id: read(raw).headers.get("x-tracking-id") ?? "", at: Date.now() })
          }
          changed()
          if (spoil("data", session, done)) return
          if (holdReplies === undefined || mails.length < holdReplies.fromMessage) whenDue("data", () => accept(done))
          else void until(() => sessions >= holdReplies.untilSessions).then(() => accept(done))
        })
      },
    }
    const server = new SMTPServer({
      ...handlers,
      key: certificateKey,
      cert: certificate,
      secure: options.tls === true,
      authOptional: login === undefined && loginReply === undefined,
      disabledCommands: [
        ...(options.plain === true ? ["STARTTLS"] : []),
        ...(login === undefined && loginReply === undefined ? ["AUTH"] : []),
      ],
      ...(options.size === undefined ? {} : { size: options.size }),
      ...(options.hidden === undefined ? {} : {
        hideSMTPUTF8: options.hidden.includes("SMTPUTF8"),
        hidePIPELINING: options.hidden.includes("PIPELINING"),
      }),
      disableReverseLookup: true,
      logger: false,
    })
    server.server.on("connection", (socket: Socket) => {
      sessions++
      sockets.add(socket)
      open.add(socket.remotePort ?? 0)
      changed()
      socket.on("error", () => {})
    })
    // The server reports aborted sessions here.
    server.on("error", () => {})
    server.server.on("error", reject)
    server.listen(0, host, () => {
      resolve({
        port: (server.server.address() as AddressInfo).port,
        mails,
        arrivals,
        faults,
        connections: () => open.size,
        sessions: () => sessions,
        recipients: () => recipients,
        cut: () => {
          for (const socket of sockets) socket.destroy()
        },
        until,
        close: () =>
          new Promise((done) => {
            for (const socket of sockets) socket.destroy()
            server.close(() => done())
          }),
      })
    })
  })
