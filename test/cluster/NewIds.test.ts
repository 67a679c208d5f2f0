import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { startInProcess } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"

const template = (id: string) => ({ id, name: id, variants: [{ id: "a", vars: { subject: "Hi", body: "<p>Hi</p>" } }] })

describe("keys and templates created on another node", () => {
  it.live("are usable on every node at the first request", () =>
    Effect.scoped(Effect.gen(function* () {
      const environment = Effect.succeed(yield* temporaryEnvironment)
      const one = yield* startInProcess(environment)
      const two = yield* startInProcess(environment)
      yield* Effect.promise(async () => {
        const made = async (path: string, body: unknown) => {
          const answer = await one.manage("POST", path, body)
          assert.strictEqual(answer.status, 201)
          return answer.body
        }
        for (let n = 0; n < 5; n++) {
          const org = `acme-${n}`
          await made("/organizations", { slug: org, name: org })
          const { key } = await made(`/organizations/${org}/keys`, { name: "k", scopes: ["generate", "deliver"] })
          await made(`/organizations/${org}/templates`, template("offer"))
          const answer = await two.generate(org, key, { template_id: "offer" })
          assert.strictEqual(answer.status, 200, JSON.stringify(answer.body))
          const { key: second } = await made(`/organizations/${org}/keys`, { name: "k2", scopes: ["generate"] })
          await made(`/organizations/${org}/templates`, template("another"))
          const batch = await two.request(`/api/batch-generate/${org}`, {
            method: "POST",
            headers: { "x-api-key": second, "content-type": "application/json" },
            body: JSON.stringify({ user_id: "ann", requests: [{ template_id: "another" }, { template_id: "offer" }] }),
          })
          assert.strictEqual(batch.status, 200)
          assert.deepStrictEqual(Object.keys(await batch.json()), ["another", "offer"])
        }
      })
    })), 60_000)

  it.live(
    "cause one query for any number of unknown ids",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const environment = Effect.succeed(yield* temporaryEnvironment)
        const service = yield* startInProcess(environment)
        yield* Effect.promise(async () => {
          await service.manage("POST", "/organizations", { slug: "acme", name: "acme" })
          const { body: { key } } = await service.manage("POST", "/organizations/acme/keys", { name: "k" })
          const ask = (key: string, template_id: string) => service.generate("acme", key, { template_id })
          const unknown = await Promise.all(Array.from({ length: 50 }, () => ask(key, "nothing")))
          assert.deepStrictEqual([...new Set(unknown.map(({ status }) => status))], [404])
          const strange = await Promise.all(
            Array.from(
              { length: 50 },
              (_, n) => ask(key.replace(/_[^_]+_/, `_${String(n).padStart(8, "0")}_`), "nothing"),
            ),
          )
          assert.deepStrictEqual([...new Set(strange.map(({ status }) => status))], [401])
          // An id that was refused a moment ago is created now, and works on this node at once.
          await service.manage("POST", "/organizations/acme/templates", template("nothing"))
          assert.strictEqual((await ask(key, "nothing")).status, 200)
        })
      })),
    60_000,
  )
})
