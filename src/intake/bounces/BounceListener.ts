import { Duration, Effect, Layer, Option, Schema } from "effect"
import type { SMTPServerOptions, SMTPServerSession } from "smtp-server"
import type { HostAndPort } from "../../settings/SettingReaders.ts"
import { Settings } from "../../settings/Settings.ts"
import { Limits, type ListenerLimits, makeReception } from "./Reception.ts"
import { initializeMetrics, refusals, refuse } from "./Replies.ts"

/** The listener for bounces cannot listen at the address of `BOUNCE_LISTEN`. */
class BounceListenFailed extends Schema.TaggedError<BounceListenFailed>()("BounceListenFailed", {
  host: Schema.String,
  port: Schema.Int,
  reason: Schema.String,
}) {
  override get message() {
    return `BOUNCE_LISTEN: nothing can listen at ${this.host}:${this.port}: ${this.reason}. ` +
      "Stop the process that listens there, set another port, or unset BOUNCE_LISTEN."
  }
}

/** The members of a connection of `smtp-server` that this file uses. */
interface ServerConnection {
  readonly session: SMTPServerSession
  readonly send: (code: number, text: string) => void
  readonly close: () => void
}

const serverOptions = (limits: ListenerLimits): SMTPServerOptions => ({
  banner: "Parlance reports",
  size: limits.mailBytes,
  maxClients: limits.connections,
  // A report has one recipient: the return path of its message.
  ...({ maxRecipients: 1 } as SMTPServerOptions),
  socketTimeout: Duration.toMillis(Duration.fromInputUnsafe(limits.idle)),
  authOptional: true,
  // The listener has no accounts, and the library's default certificate is public, so AUTH and STARTTLS are disabled.
  disabledCommands: ["AUTH", "STARTTLS"],
  disableReverseLookup: true,
  logger: false,
})

type Reception = Effect.Success<typeof makeReception>

/** The handlers of the server. `end` sends a last reply and closes the connection of a session. */
const handlersOf = (
  { admit, begin, close, open, receive, sessions }: Reception,
  end: (session: SMTPServerSession, reply: string) => void,
): SMTPServerOptions => ({
  onConnect: (session, done) =>
    open(session.id, session.remoteAddress, () => end(session, "421 4.4.2 The session takes too long"))
      ? done()
      : refuse(done, refusals.tooManyConnections),
  onClose: ({ id }) => close(id),
  onMailFrom: (_, { id }, done) => {
    if (!begin(id)) return refuse(done, refusals.tooManyMails)
    done()
  },
  onRcptTo: ({ address }, { id }, done) => {
    const session = sessions.get(id)
    if (session === undefined) return refuse(done, refusals.unavailable)
    admit(session, address, done)
  },
  onData: (stream, smtp, done) => {
    const session = sessions.get(smtp.id)
    if (session === undefined) return refuse(done, refusals.unavailable)
    receive(stream, smtp, session, done, ({ reply }) => end(smtp, reply))
  },
})

/** Listens until the scope closes. A mail in progress then has `SHUTDOWN_TIMEOUT` to arrive. */
const listen = Effect.fnUntraced(function* ({ host, port }: HostAndPort) {
  const limits = yield* Limits
  const { shutdownTimeout } = yield* Settings
  const reception = yield* makeReception
  // Loaded only if used, because each module delays the start.
  const { SMTPServer } = yield* Effect.promise(() => import("smtp-server"))

  const connections = () => [...server.connections as Set<ServerConnection>]
  const end = ({ id }: SMTPServerSession, reply: string) => {
    const connection = connections().find(({ session }) => session.id === id)
    connection?.send(Number(reply.slice(0, 3)), reply.slice(4))
    connection?.close()
  }
  const server = new SMTPServer({
    ...serverOptions(limits),
    ...handlersOf(reception, end),
    closeTimeout: Duration.toMillis(shutdownTimeout),
  })
  // Emitted when a client closes its connection early.
  server.on("error", () => {})

  const start = Effect.callback<void, BounceListenFailed>((resume) => {
    const fail = (error: Error) => resume(new BounceListenFailed({ host, port, reason: error.message }))
    server.server.once("error", fail)
    server.listen(port, host, () => {
      server.server.off("error", fail)
      resume(Effect.void)
    })
  })
  const stop = Effect.callback<void>((resume) => {
    server.close(() => resume(Effect.void))
    for (const { session } of connections()) {
      if (!reception.isReceiving(session.id)) end(session, "421 4.3.2 The service stops. Try again in a moment")
    }
  })
  yield* Effect.acquireRelease(start, () => stop)
})

/** Accepts mail about deliveries at `BOUNCE_LISTEN`. Without this setting, does nothing. */
export const layer = Layer.unwrap(Effect.map(Settings, ({ bounceListen }) =>
  Option.match(bounceListen, {
    // The documented metrics exist even without the listener.
    onNone: () => Layer.effectDiscard(initializeMetrics),
    onSome: (at) => Layer.effectDiscard(listen(at)),
  })))
