import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Connections } from "../../src/delivery/Connections.ts"
import { org } from "../events/support.ts"
import { type RecipientOptions, startRecipientServer } from "../support/platformServers/RecipientServer.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { deliveriesOf, enqueue, furnish, layerSending, untilDone } from "./support.ts"

/** A server that ends with the test, and an organization whose deliveries leave through it. */
const connected = Effect.fnUntraced(function* (
  slug: string,
  options: RecipientOptions = {},
  settings: Readonly<Record<string, unknown>> = {},
) {
  const server = yield* Effect.acquireRelease(
    Effect.promise(() => startRecipientServer(options)),
    (server) => Effect.promise(() => server.close()),
  )
  yield* furnish(slug)
  yield* (yield* Connections).put(org(slug), "relay", {
    platform: "smtp",
    settings: { host: "127.0.0.1", port: server.port, tls: "none", from: "shop@example.com", ...settings },
    default: true,
    paused: true,
  })
  return {
    /** Queues messages in this order while nothing leaves, then lets them leave. */
    send: Effect.fnUntraced(function* (emails: ReadonlyArray<string>) {
      yield* Effect.forEach(emails, (email) => enqueue(slug, email))
      yield* (yield* Connections).put(org(slug), "relay", { paused: false })
    }),
  }
})

/** `count` addresses at a domain. */
const people = (count: number, domain: string) => Array.from({ length: count }, (_, n) => `p${n}@${domain}`)

describe("Recipients", () => {
  layer(Layer.unwrap(Effect.map(temporaryEnvironment, layerSending)), { excludeTestServices: true })((it) => {
    it.effect("treats each recipient as its server does, and sends to all that are accepted in the end", () =>
      Effect.gen(function* () {
        const { send } = yield* connected("mixed", { greyMillis: 10, busyMillis: 10, tarMillis: 10 })
        const words = ["grey", "busy", "unknown", "spam", "cut", "tar", "good"]
        yield* send(words.flatMap((word) => people(3, `${word}.example`)))
        yield* untilDone("mixed", 120)
        const ended = (yield* deliveriesOf("mixed")).map(({ email, state }) => `${email.slice(3)} ${state}`)
        assert.deepStrictEqual([...new Set(ended)].sort(), [
          "busy.example sent",
          "cut.example sent",
          "good.example sent",
          "grey.example sent",
          "spam.example failed",
          "tar.example sent",
          "unknown.example failed",
        ])
      }))
  })
})
