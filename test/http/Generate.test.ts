import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeOrganization, startInProcess } from "../support/service.ts"
import { describeOnStores } from "../support/stores.ts"

describeOnStores("Generate over HTTP", (_, environment) => {
  it.live("answers with a rendered variant", () =>
    Effect.scoped(Effect.gen(function* () {
      const service = yield* startInProcess(environment)
      const key = yield* Effect.promise(() => makeOrganization(service, "acme"))
      yield* Effect.promise(() => service.manage("POST", "/organizations/acme/templates", { id: "t", name: "T", variants: [{ id: "a", vars: { subject: "Hi {{ name }}" } }] }))
      const { body, status } = yield* Effect.promise(() => service.generate("acme", key, { template_id: "t", tracking_id: "x1", fields: { name: "Ann" } }))
      assert.strictEqual(status, 200)
      assert.deepStrictEqual(body, { tracking_id: "x1", copy: { id: "a", vars: { subject: "Hi Ann" } } })
    })))
})
