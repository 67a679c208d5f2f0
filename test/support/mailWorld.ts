import { Effect } from "effect"
import { onServer } from "./onServer.ts"
import { startDns } from "./dnsServer.ts"
import { certificate } from "./platformServers/Certificate.ts"
import { startSmtp } from "./platformServers/SmtpReceiver.ts"
import { startInProcess } from "./service.ts"
import { temporaryEnvironment } from "./stores.ts"

/** Starts a service, a mail server and a name server on this machine. */
export const mailWorld = Effect.gen(function* () {
  const mail = yield* Effect.acquireRelease(
    Effect.promise(() => startSmtp()),
    (server) => Effect.promise(server.close),
  )
  const dns = yield* Effect.acquireRelease(
    Effect.promise(() => startDns()),
    (server) => Effect.promise(server.close),
  )
  const environment = yield* temporaryEnvironment
  const service = yield* startInProcess(Effect.succeed(environment), {
    SECRET_KEY: "5e".repeat(32),
    OUTBOUND_ALLOW: "127.0.0.1/32",
    DNS_SERVERS: dns.address,
    PUBLIC_URL: "https://parlance.example",
  })
  /** Returns the settings of an SMTP connection to the mail server with the sender `news@DOMAIN`. */
  const connection = (domain: string) => ({
    platform: "smtp",
    settings: { host: "localhost", port: mail.port, ca: certificate, from: `news@${domain}` },
  })
  /** Runs a statement on the database of the service. */
  const run = (statement: string) => onServer(environment["DATABASE_URL"]!, statement)
  return { service, mail, dns, connection, run }
})
