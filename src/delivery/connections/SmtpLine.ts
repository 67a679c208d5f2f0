import { Effect } from "effect"
import SMTPConnection from "nodemailer/lib/smtp-connection"
import { connect, isIP, type Socket } from "node:net"
import { type AddressGuard, AddressRefused } from "../../settings/AddressGuard.ts"
import type { SmtpFault } from "./SmtpReplies.ts"
import { SmtpSession } from "./SmtpSession.ts"
import { setupMillis, type SmtpTimes } from "./SmtpTimes.ts"

// Opens a session: DNS, TCP, TLS, greeting and login.

interface LineOptions {
  readonly host: string
  readonly port: number
  readonly tls: "starttls" | "tls" | "none"
  /** PEM certificates of trusted authorities, which replace the public authorities. */
  readonly ca: string | undefined
  readonly auth: { readonly user: string; readonly password: string } | undefined
  /** The client's name in EHLO. Default: the machine's name. */
  readonly clientName: string | undefined
  readonly times: SmtpTimes
}

type SmtpError = SMTPConnection.SMTPError

const trustWords = /certificate|self.signed|issuer|altname|CERT_|DEPTH_ZERO|hostname\/ip|NotValidForName|expired/i

const stageOf = ({ code, command }: SmtpError): SmtpFault["stage"] =>
  code === "EAUTH" || command?.startsWith("AUTH") === true ? "login" : "connect"

const causeOf = (error: SmtpError): SmtpFault["cause"] =>
  error instanceof AddressRefused || error.cause instanceof AddressRefused ? "address" : error.code === "ETLS"
    // A temporary refusal may pass, but a server without STARTTLS will not offer it later.
    ? error.responseCode !== undefined && error.responseCode >= 500 || trustWords.test(error.message)
      ? "tls"
      : undefined
    : trustWords.test(error.message) && error.responseCode === undefined
    ? "tls"
    : error.code === "EAUTH" && error.responseCode === undefined && /method|credentials/i.test(error.message)
    ? "login"
    : undefined

const faultOf = (error: SmtpError): SmtpFault => ({
  stage: stageOf(error),
  code: error.responseCode || undefined,
  detail: error.response ?? error.message,
  uncertain: false,
  cause: causeOf(error),
})

const socketTo = (guard: AddressGuard["Service"], { host, port, tls }: LineOptions) =>
  Effect.callback<Socket, SmtpFault>((resume) => {
    const refused = (detail: string) =>
      Effect.fail<SmtpFault>({ stage: "connect", code: undefined, detail, uncertain: false, cause: "address" })
    const isPlain = tls === "none"
    const refusal = guard.hostRefusalOf(host, isPlain)
    if (refusal !== undefined) return resume(refused(`${host} ${refusal}`))
    const socket = connect({ host, port, lookup: isPlain ? guard.lookupListed : guard.lookup })
    const failed = (error: SmtpError) => resume(Effect.fail(faultOf(error)))
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

/** Whether the reply to EHLO announces SMTPUTF8 (RFC 6531). */
const announcesUtf8 = (ehlo: string | false): boolean => ehlo !== false && /^250[ -]SMTPUTF8\b/im.test(ehlo)

const sessionOver = (socket: Socket, options: LineOptions) =>
  Effect.callback<SmtpSession, SmtpFault>((resume) => {
    const { auth, ca, clientName, host, port, times, tls } = options
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
      connectionTimeout: setupMillis(times),
      greetingTimeout: times.greeting,
      // Longer than all other timeouts, because `SmtpSessions` ends slow attempts.
      socketTimeout: times.envelope + times.message,
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
      resume(Effect.fail(faultOf(error)))
    }
    connection.on("error", fail)
    connection.on("end", () => fail(new Error("It ended the connection")))
    const ready = () => {
      if (settled) return
      settled = true
      resume(Effect.succeed(new SmtpSession(connection, takesUtf8)))
    }
    let takesUtf8 = false
    connection.connect((error) => {
      if (error) return fail(error)
      takesUtf8 = announcesUtf8(connection.lastServerResponse)
      if (auth === undefined) return ready()
      if (!connection.allowsAuth) {
        return fail(Object.assign(new Error("It offers no method of logging in"), { code: "EAUTH" }))
      }
      connection.login({ user: auth.user, credentials: { user: auth.user, pass: auth.password } }, (error) =>
        error ? fail(error) : ready())
    })
    return Effect.sync(() => {
      settled = true
      destroy()
    })
  })

/** Fails after this many milliseconds. `what` completes "it was not … within". */
const within = (millis: number, what: string) =>
  Effect.timeoutOrElse({
    duration: millis,
    orElse: () =>
      Effect.fail<SmtpFault>({
        stage: "connect",
        code: undefined,
        detail: `it was not ${what} within ${millis / 1_000} seconds`,
        uncertain: false,
      }),
  })

/** Connects and logs in. Fails with `SmtpFault`. */
export const open = (guard: AddressGuard["Service"], options: LineOptions): Effect.Effect<SmtpSession, SmtpFault> =>
  socketTo(guard, options).pipe(
    within(options.times.connect, "connected"),
    Effect.flatMap((socket) => within(setupMillis(options.times), "ready")(sessionOver(socket, options))),
  )
