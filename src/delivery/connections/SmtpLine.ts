import { Effect } from "effect"
import SMTPConnection from "nodemailer/lib/smtp-connection"
import { connect, isIP, type Socket } from "node:net"
import { type AddressGuard, AddressRefused } from "../AddressGuard.ts"
import type { SmtpFault } from "./SmtpReplies.ts"
import { SmtpSession } from "./SmtpSession.ts"

// The way to a session that is ready, from the DNS to the login. nodemailer speaks until then, `SmtpSession` from then on.

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

interface SmtpError extends Error {
  readonly code?: string
  readonly command?: string
  readonly responseCode?: number
  readonly response?: string
}

const trustWords = /certificate|self.signed|issuer|altname|CERT_|DEPTH_ZERO|hostname\/ip|NotValidForName|expired/i

const stageOf = ({ code, command }: SmtpError): SmtpFault["stage"] =>
  code === "EAUTH" || command?.startsWith("AUTH") === true ? "login" : "connect"

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
    const refusal = guard.hostRefusalOf(host)
    const isPlain = tls === "none"
    if (refusal !== undefined) return resume(refused(`${host} ${refusal}`))
    if (isPlain && isIP(host) !== 0 && !guard.isListed(host)) {
      return resume(
        refused(`${host} is not listed in OUTBOUND_ALLOW, and unencrypted connections are made only to what is`),
      )
    }
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

/** Parts of nodemailer's connection that it does not publish. */
interface Unpublished {
  readonly _supportedExtensions: ReadonlyArray<string>
  readonly _maxAllowedSize: number
  readonly _onSocketData: (chunk: Uint8Array) => void
  readonly _onSocketTimeout: () => void
  readonly _onSocketClose: () => void
  readonly _onSocketEnd: () => void
  readonly _onSocketError: (error: Error) => void
}

/** The session that goes on where nodemailer ends: over its socket, encrypted or not, without its listeners. */
const takeOver = (connection: SMTPConnection): SmtpSession => {
  const socket = connection._socket as Socket
  const inner = connection as unknown as Unpublished
  const has = (extension: string) => inner._supportedExtensions.includes(extension)
  socket.off("data", inner._onSocketData)
  socket.off("timeout", inner._onSocketTimeout)
  socket.off("close", inner._onSocketClose)
  socket.off("end", inner._onSocketEnd)
  socket.off("error", inner._onSocketError)
  socket.setTimeout(0)
  return new SmtpSession(socket, {
    pipelining: has("PIPELINING"),
    size: has("SIZE"),
    utf8: has("SMTPUTF8"),
    maxSize: inner._maxAllowedSize,
  })
}

const sessionOver = (socket: Socket, options: LineOptions) =>
  Effect.callback<SmtpSession, SmtpFault>((resume) => {
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
      resume(Effect.fail(faultOf(error)))
    }
    connection.on("error", fail)
    connection.on("end", () => fail(new Error("It ended the connection")))
    const ready = () => {
      if (settled) return
      settled = true
      resume(Effect.succeed(takeOver(connection)))
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

/** Connects and logs in, within 10 seconds. */
export const open = (guard: AddressGuard["Service"], options: LineOptions): Effect.Effect<SmtpSession, SmtpFault> =>
  Effect.flatMap(socketTo(guard, options), (socket) => sessionOver(socket, options)).pipe(
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
