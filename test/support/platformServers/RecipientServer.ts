import type { AddressInfo, Socket } from "node:net"
import { SMTPServer } from "smtp-server"
import { makeWatch } from "./Watch.ts"

/**
 * Behaviours of a recipient, named by the first word of its domain, or else of its local part: `p7@grey3.example` and
 * `grey-7@example.com` are greylisted. All other recipients are accepted.
 *
 *     grey      451 at RCPT until a while after the first attempt, then accepted
 *     busy      450 "too many messages" at RCPT until a while after the first attempt to its domain, then accepted
 *     unknown   550 at RCPT
 *     spam      554 after DATA
 *     cut       the connection is cut after DATA, the first time; then accepted
 *     tar       RCPT is answered very late, then accepted
 */
export const behaviours = ["grey", "busy", "unknown", "spam", "cut", "tar"] as const
export type Behaviour = typeof behaviours[number] | "accepted"

const wordOf = (text: string) => /^[a-z]*/.exec(text.toLowerCase())![0]

export const behaviourOf = (address: string): Behaviour => {
  const at = address.lastIndexOf("@")
  const words = [wordOf(address.slice(at + 1)), wordOf(address.slice(0, at))]
  return behaviours.find((behaviour) => behaviour === words[0]) ??
    behaviours.find((behaviour) => behaviour === words[1]) ?? "accepted"
}

/** One attempt to reach a recipient. `at` is the time of the server's reply, by a monotonic clock. */
export interface Attempt {
  readonly id: string
  readonly email: string
  readonly at: number
  readonly outcome: "accepted" | "451" | "450" | "550" | "554" | "cut"
  /** Number of recipients whose replies were pending at that time, including this recipient. */
  readonly pending: number
}

export interface RecipientOptions {
  /** Time for which an address is greylisted after its first attempt. Default 1,000. Unit: milliseconds. */
  readonly greyMillis?: number
  /** Delay of the reply about a greylisted address. Default 0. Unit: milliseconds. */
  readonly greyReplyMillis?: number
  /** Time for which a busy domain refuses messages after its first attempt. Default 1,000. Unit: milliseconds. */
  readonly busyMillis?: number
  /** Delay of a tarpit's reply. Default 20,000. Unit: milliseconds. */
  readonly tarMillis?: number
  /** Delay of the reply that accepts a message. Default 0. Unit: milliseconds. */
  readonly acceptMillis?: number
  /** Maximum number of sessions. More sessions are refused with 421. Default: unlimited. */
  readonly maxSessions?: number
}

export interface RecipientServer {
  readonly port: number
  /** All attempts, in the order of their replies. */
  readonly attempts: ReadonlyArray<Attempt>
  /** Number of open sessions. */
  readonly sessions: () => number
  /** Largest number of sessions that were open at one time. */
  readonly mostSessions: () => number
  /** Resolves when `holds` returns true. Checked after each attempt. */
  readonly until: (holds: () => boolean) => Promise<void>
  readonly close: () => Promise<void>
}

/** Unix milliseconds of a monotonic clock. */
const now = () => performance.timeOrigin + performance.now()

const replied = (reply: string) => Object.assign(new Error(reply.slice(4)), { responseCode: Number(reply.slice(0, 3)) })

/** Returns functions that decide the replies to recipients. They remember earlier attempts. */
const makeJudge = ({ busyMillis = 1_000, greyMillis = 1_000 }: RecipientOptions) => {
  const firstAt = new Map<string, number>()
  const isEarly = (key: string, millis: number) => {
    if (!firstAt.has(key)) firstAt.set(key, now())
    return now() - firstAt.get(key)! < millis
  }
  const wasCut = new Set<string>()
  return {
    /** Returns the reply to RCPT. Undefined if the recipient is accepted. */
    atRecipient: (email: string): string | undefined => {
      switch (behaviourOf(email)) {
        case "grey":
          return isEarly(email, greyMillis) ? "451 4.7.1 Greylisted, please try again later" : undefined
        case "busy":
          return isEarly(email.slice(email.lastIndexOf("@")), busyMillis)
            ? "450 4.2.1 Too many messages to this domain, slow down"
            : undefined
        case "unknown":
          return "550 5.1.1 No such user"
        default:
          return undefined
      }
    },
    afterData: (email: string): "accepted" | "554" | "cut" => {
      const behaviour = behaviourOf(email)
      if (behaviour === "spam") return "554"
      if (behaviour !== "cut" || wasCut.has(email)) return "accepted"
      wasCut.add(email)
      return "cut"
    },
  }
}

/**
 * Starts an SMTP server on loopback, without encryption and login. The addresses of recipients determine its replies.
 */
export const startRecipientServer = (options: RecipientOptions = {}): Promise<RecipientServer> =>
  new Promise((resolve, reject) => {
    const { acceptMillis = 0, greyReplyMillis = 0, tarMillis = 20_000 } = options
    const judge = makeJudge(options)
    const attempts: Array<Attempt> = []
    const sockets = new Set<Socket>()
    const { changed, until } = makeWatch()
    let mostSessions = 0
    let pending = 0
    const note = (id: string, email: string, outcome: Attempt["outcome"]) => {
      attempts.push({ id, email, at: now(), outcome, pending: Math.max(1, pending) })
      changed()
    }
    const server = new SMTPServer({
      disabledCommands: ["AUTH", "STARTTLS"],
      authOptional: true,
      disableReverseLookup: true,
      logger: false,
      ...(options.maxSessions === undefined ? {} : { maxClients: options.maxSessions }),
      onRcptTo: ({ address }, _session, done) => {
        pending++
        const answer = () => {
          const reply = judge.atRecipient(address)
          if (reply !== undefined) note("", address, reply.slice(0, 3) as Attempt["outcome"])
          pending--
          done(reply === undefined ? undefined : replied(reply))
        }
        const behaviour = behaviourOf(address)
        const millis = behaviour === "tar" ? tarMillis : behaviour === "grey" ? greyReplyMillis : 0
        if (millis > 0) setTimeout(answer, millis)
        else answer()
      },
      onData: (stream, session, done) => {
        let head = ""
        stream.on("data", (chunk: Uint8Array) => {
          if (!head.includes("\r\n\r\n")) head += new TextDecoder("latin1").decode(chunk)
        })
        stream.on("end", () => {
          const email = session.envelope.rcptTo[0]?.address ?? ""
          const id = /^x-tracking-id:\s*(\S+)/im.exec(head)?.[1] ?? ""
          const outcome = judge.afterData(email)
          note(id, email, outcome)
          if (outcome === "554") return done(replied("554 5.7.1 Message looks like spam"))
          if (outcome === "accepted") return acceptMillis === 0 ? done() : void setTimeout(done, acceptMillis)
          for (const socket of sockets) if (socket.remotePort === session.remotePort) socket.destroy()
        })
      },
    })
    server.server.on("connection", (socket: Socket) => {
      sockets.add(socket)
      mostSessions = Math.max(mostSessions, sockets.size)
      socket.on("error", () => {})
      socket.on("close", () => sockets.delete(socket))
    })
    // The server reports aborted sessions here.
    server.on("error", () => {})
    server.server.on("error", reject)
    server.listen(0, "127.0.0.1", () =>
      resolve({
        port: (server.server.address() as AddressInfo).port,
        attempts,
        sessions: () => sockets.size,
        mostSessions: () => mostSessions,
        until,
        close: () =>
          new Promise((done) => {
            for (const socket of sockets) socket.destroy()
            server.close(() => done())
          }),
      }))
  })
