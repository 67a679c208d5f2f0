import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { VerdictState } from "../../src/bandit/VerdictState.ts"
import { winnerFound } from "../../src/learning/LearnerStore.ts"
import { Learning } from "../../src/learning/Learning.ts"
import { Models } from "../../src/learning/Models.ts"
import { WebhookEndpoints } from "../../src/webhooks/WebhookEndpoints.ts"
import { layerQuiet, makeOrg, org } from "../intake/support.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { day, makeTemplate, plant, settle } from "./support.ts"

const verdict = (name: VerdictState["verdict"], winner: string | null): VerdictState => ({
  verdict: name,
  winner,
  contenders: ["a", "b"],
  since: Date.parse("2026-05-11T09:00:00Z"),
  evidenceFrom: null,
  lookedAt: 0,
  objective: "",
})

describe("winner.found", () => {
  const found = (before: VerdictState | undefined, after: VerdictState | undefined) =>
    winnerFound("shop", "welcome", before, after).map(({ data }) => "verdict" in data && [data.copy_id, data.verdict])

  it("is sent for each change to a winner and to a firm winner", () => {
    const [none, a, firm, b] = [
      verdict("undecided", null),
      verdict("winner", "a"),
      verdict("firm_winner", "a"),
      verdict("winner", "b"),
    ]
    assert.deepStrictEqual(found(undefined, a), [["a", "winner"]])
    assert.deepStrictEqual(found(none, a), [["a", "winner"]])
    assert.deepStrictEqual(found(a, firm), [["a", "firm_winner"]])
    assert.deepStrictEqual(found(a, b), [["b", "winner"]])
    assert.deepStrictEqual(found(a, a), [])
    assert.deepStrictEqual(found(firm, none), [])
    assert.deepStrictEqual(found(none, verdict("no_difference", null)), [])
    assert.deepStrictEqual(found(a, undefined), [])
  })

  layer(Layer.unwrap(Effect.map(temporaryEnvironment, (env) => layerQuiet({ ...env, SECRET_KEY: "5e".repeat(32) }))), {
    excludeTestServices: true,
  })((it) => {
    it.effect("is announced once, by the fit that reaches the verdict", () =>
      Effect.gen(function* () {
        yield* makeOrg("won")
        yield* makeTemplate("won", "t", ["a", "b"])
        const endpoints = yield* WebhookEndpoints
        const sql = yield* SqlClient.SqlClient
        const models = yield* Models
        const { endpoint } = yield* endpoints.create(org("won"), {
          url: "https://example.com/hook",
          description: "",
          events: ["winner.found"],
          enabled: true,
        })
        const announced = Effect.map(
          endpoints.messages(org("won"), endpoint.id, { before: undefined, limit: 10 }),
          (messages) => messages.map(({ body }) => JSON.parse(body!)),
        )
        for (const ago of [24, 20, 16, 12, 9].map((days) => days * day)) {
          yield* plant("won", { copy: "a", decisions: 300, outcomes: { click: 90 }, ago })
          yield* plant("won", { copy: "b", decisions: 300, outcomes: { click: 15 }, ago })
        }
        yield* settle("won")
        yield* (yield* Learning).model("won", "t", undefined)
        const state = models.latest("won", "t")!.model.verdict!
        assert.include(["winner", "firm_winner"], state.verdict)
        const [first, ...more] = yield* announced
        assert.deepStrictEqual(more, [])
        assert.deepStrictEqual(first.data, {
          org: "won",
          template_id: "t",
          copy_id: "a",
          verdict: state.verdict,
          compared: ["a", "b"],
          found_at: new Date(state.since).toISOString(),
        })
        // A later fit, also of a process that has forgotten the earlier ones, has the same winner.
        yield* plant("won", { copy: "a", decisions: 10, outcomes: { click: 3 }, ago: 8 * day })
        yield* settle("won")
        const [{ count }] = (yield* sql<{ count: number }>`
          SELECT version::int AS count FROM models WHERE org_slug = 'won'`) as [{ count: number }]
        assert.isAbove(count, 1)
        assert.lengthOf(yield* announced, 1)
      }))
  })
})
