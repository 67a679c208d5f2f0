import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Connections } from "../../src/delivery/Connections.ts"
import { org } from "../intake/support.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { briskness } from "./briskClock.ts"
import { type Fault, receiver } from "./receiver.ts"
import { deliveriesOf, enqueue, furnish, layerSendingBriskly, until } from "./support.ts"

/** What the platform answers for bad recipients, by the first word of their addresses. */
const faults: Readonly<Record<string, Fault>> = {
  invalid: { status: 400, body: { error: "invalid recipient address" } },
  unprocessable: { status: 422, body: { error: "The email address is not valid" } },
  missing: { status: 404, body: { error: "recipient not found" } },
  busy: { status: 429, body: { error: "slow down" } },
  failing: { status: 500, body: { error: "oops" } },
  cut: { how: "lose" },
  slow: { how: "slow", millis: 3_000 / briskness },
}

/**
 * Sends to `bad` and then to 120 good recipients, until all good ones are reached. Returns the server and the bad rows.
 */
const sendBehind = Effect.fnUntraced(function* (slug: string, bad: ReadonlyArray<string>) {
  const server = yield* receiver({ faultOf: (email) => faults[/^[a-z]*/.exec(email)![0]] })
  yield* furnish(slug, { url: server.url })
  const connections = yield* Connections
  yield* connections.put(org(slug), "main", { paused: true })
  const good = Array.from({ length: 120 }, (_, n) => `p${n}@good.example`)
  yield* Effect.forEach([...bad, ...good], (email) => enqueue(slug, email), { concurrency: 10 })
  yield* connections.put(org(slug), "main", { paused: false })
  const emails = new Map((yield* deliveriesOf(slug)).map(({ email, id }) => [id, email]))
  const reached = () => server.arrivals.filter(({ id }) => emails.get(id)!.endsWith("@good.example")).length
  yield* Effect.promise(() => server.until(() => reached() === good.length))
  const connection = yield* connections.get(org(slug), "main")
  return { server, trouble: connection.trouble }
})

const isBad = ({ email }: { readonly email: string }) => !email.endsWith("@good.example")

describe("recipients of HTTP platforms", () => {
  layer(Layer.unwrap(Effect.map(temporaryEnvironment, layerSendingBriskly)), { excludeTestServices: true })((it) => {
    it.effect("receive 120 messages although 40 recipients with mixed failures come first", () =>
      Effect.gen(function* () {
        const kinds = Object.keys(faults)
        const bad = Array.from({ length: 40 }, (_, n) => `${kinds[Math.floor(n * kinds.length / 40)]}${n}@bad.example`)
        const { server, trouble } = yield* sendBehind("mixed", bad)
        assert.notInclude(["refusing", "broken"], trouble?.state)
        const isRefused = ({ email }: { readonly email: string }) => /^(?:invalid|unprocessable|missing)/.test(email)
        yield* until(
          "the refused ones have failed",
          Effect.map(deliveriesOf("mixed"), (rows) => rows.filter(isRefused).every(({ state }) => state === "failed")),
        )
        const rows = yield* deliveriesOf("mixed")
        assert.deepStrictEqual(rows.filter(isRefused).filter(({ attempts }) => attempts !== 1), [])
        assert.deepStrictEqual(
          [...server.repeated.keys()].filter((id) => rows.some((row) => row.id === id && !isBad(row))),
          [],
        )
      }))

    for (const kind of ["invalid", "failing"]) {
      it.effect(`receive 120 messages although 40 recipients with this failure come first: ${kind}`, () =>
        Effect.gen(function* () {
          const { trouble } = yield* sendBehind(kind, Array.from({ length: 40 }, (_, n) => `${kind}${n}@bad.example`))
          assert.notInclude(["refusing", "broken"], trouble?.state)
        }))
    }
  })
})
