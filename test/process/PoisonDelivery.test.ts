import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { type Receiver, receiver, signingSecret } from "../delivery/receiver.ts"
import { makeOrganization, scopedProcess, type Service, type ServiceProcess, waitUntil } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { sinkEnvironment } from "./deliverSink.ts"

const poison = "poison@example.com"
const emails = ["a@example.com", "b@example.com", poison, "c@example.com", "d@example.com"]

const manage = async (service: Service, method: string, path: string, body?: unknown) => {
  const answer = await service.manage(method, `/organizations/acme${path}`, body)
  if (answer.status > 201) throw new Error(`${path} was answered ${answer.status}: ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** Queues a message for each address, with a connection to `url`. */
const furnish = async (service: Service, url: string) => {
  const key = await makeOrganization(service, "acme", ["deliver"])
  const variants = [{ id: "a", vars: { subject: "Hello", body: "Dear {{ name }}" } }]
  await manage(service, "POST", "/templates", { id: "offer", name: "offer", variants })
  const connection = { platform: "webhook", settings: { url }, secrets: { signing_secret: signingSecret } }
  await manage(service, "PUT", "/connections/main", { ...connection, paused: true })
  for (const email of emails) {
    const { status } = await service.request("/api/deliver/acme", {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: JSON.stringify({ template_id: "offer", email }),
    })
    assert.strictEqual(status, 200)
  }
  await manage(service, "PUT", "/connections/main", { paused: false })
}

describe("a message that ends the service at every attempt", () => {
  it.live("fails after five attempts, and all others are sent", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = { ...yield* temporaryEnvironment, ...sinkEnvironment }
      const platform: Receiver = yield* receiver({
        // The request is listed by then.
        before: () => Promise.resolve(),
        fault: (n) => platform.requests[n]?.json.data.email === poison ? { how: "hang" } : undefined,
      })
      const received = () => platform.requests.filter(({ json }) => json.data.email === poison).length
      const life = (use: (service: ServiceProcess) => Promise<void>) =>
        Effect.scoped(Effect.flatMap(scopedProcess(env), (service) => Effect.promise(() => use(service))))

      for (let kills = 0; kills < 5; kills++) {
        yield* life(async (service) => {
          if (kills === 0) await furnish(service, platform.url)
          await platform.until(() => received() > kills)
          service.kill("SIGKILL")
          await service.ended
        })
      }
      yield* life(async (service) => {
        let deliveries: ReadonlyArray<{ email: string; state: string; reason: string | null }> = []
        await waitUntil("every message has ended", async () => {
          deliveries = (await manage(service, "GET", "/deliveries")).deliveries
          return deliveries.every(({ state }) => state === "sent" || state === "failed")
        }, 120)
        assert.deepStrictEqual(
          deliveries.map(({ email, state }) => [email, state]).sort(),
          emails.map((email) => [email, email === poison ? "failed" : "sent"]).sort(),
        )
        const { reason } = deliveries.find(({ email }) => email === poison)!
        assert.match(reason!, /stopped.* 5 times in a row while it sent this message/)
      })
      assert.strictEqual(received(), 5)
    })), 300_000)
})
