import { Effect } from "effect"
import { certificate } from "../../support/platformServers/Certificate.ts"
import { type SmtpOptions, startSmtp } from "../../support/platformServers/SmtpReceiver.ts"
import { connect, server } from "./support.ts"

/** Settings of a connection to the server at `port`. */
export const settingsOf = (port: number, more: Readonly<Record<string, unknown>> = {}) => ({
  host: "localhost",
  port,
  ca: certificate,
  from: "news@shop.example",
  from_name: "The Shop",
  ...more,
})

/** A server with these options, and a connection to it. */
export const opened = Effect.fnUntraced(function* (
  options: SmtpOptions = {},
  more: Readonly<Record<string, unknown>> = {},
  secrets: Readonly<Record<string, string>> = {},
) {
  const receiver = yield* server(() => startSmtp(options))
  const connection = yield* connect("smtp", settingsOf(receiver.port, more), secrets)
  return { receiver, connection }
})
