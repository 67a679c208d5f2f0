import "../../src/runtime/leakGuard.ts"
// Sends one composed e-mail repeatedly with only the service's SMTP client, in a separate process. Shows the limit of
// the client, the machine and the platform. Prints one line of JSON.
//
//   deno run -A bench/support/smtpLoad.ts '{"port": 2525, "sessions": 5, "messages": 4000}'
import { Effect } from "effect"
import process from "node:process"
import { open } from "../../src/delivery/connections/SmtpLine.ts"
import { makeSessions } from "../../src/delivery/connections/SmtpSessions.ts"
import { rfcTimes } from "../../src/delivery/connections/SmtpTimes.ts"
import { compose } from "../../src/delivery/Composition.ts"

const options: { readonly port: number; readonly sessions: number; readonly messages: number } = JSON.parse(
  Deno.args[0]!,
)
const composed = compose({
  from: { email: "shop@example.com", name: undefined },
  to: "p1@example.com",
  replyTo: undefined,
  subject: "Hi Ann, offer 1 for you",
  preheader: "Only in OSLO today",
  text: "Dear Ann, we picked boots for you.",
  html: undefined,
  messageId: "00000000-0000-7000-8000-000000000001@example.com",
  trackingId: "00000000-0000-7000-8000-000000000001",
  unsubscribe: undefined,
  date: new Date(),
} as never)
if (composed._tag !== "composed") throw new Error(composed.reason)
const { mail } = composed
const guard = {
  hostRefusalOf: () => undefined,
  isListed: () => true,
  lookupListed: undefined,
  lookup: undefined,
} as never
const open1 = open(guard, {
  host: "127.0.0.1",
  port: options.port,
  tls: "none",
  ca: undefined,
  auth: undefined,
  clientName: undefined,
  times: rfcTimes,
})
const began = process.cpuUsage()
let left = options.messages
await Effect.runPromise(Effect.scoped(Effect.gen(function* () {
  const { send } = yield* makeSessions(open1, options.sessions, rfcTimes)
  const caller = Effect.whileLoop({ while: () => left-- > 0, body: () => send(mail, undefined), step: () => {} })
  yield* Effect.all(Array.from({ length: options.sessions }, () => caller), { concurrency: "unbounded", discard: true })
})))
const used = process.cpuUsage(began)
console.log(JSON.stringify({ cpuMicros: (used.user + used.system) / options.messages }))
