import { assert, it, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { describe } from "vitest"
import type { ModelSnapshot } from "../../src/bandit/Model.ts"
import { Learning, unlearned } from "../../src/learning/Learning.ts"
import { Models } from "../../src/learning/Models.ts"
import { layerQuiet, makeOrg } from "../intake/support.ts"
import { makeOrganization, waitUntil } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { ask, day, makeTemplate, plant, type Services, settle, startServer, type Trace } from "./support.ts"

const modelOf = (version: number): ModelSnapshot => ({ ...unlearned("t", undefined, 0), version: `t:${version}` })
const publication = (template: string, version: number) => ({
  org: "acme",
  template,
  version,
  model: modelOf(version),
})

describe("Models", () => {
  const environment = temporaryEnvironment
  layer(Layer.unwrap(Effect.map(environment, layerQuiet)), { excludeTestServices: true })((it) => {
    it.effect("keeps the newest version for any order of writing and adopting", () =>
      Effect.gen(function* () {
        const models = yield* Models
        const sql = yield* SqlClient.SqlClient
        assert.isUndefined(models.latest("acme", "t"))
        const written: Array<boolean> = []
        for (const version of [2, 1, 2, 5, 3]) written.push(yield* models.write(publication("t", version)))
        assert.deepStrictEqual(written, [true, false, false, true, false])
        const [row] = yield* sql<{ version: string; snapshot: ModelSnapshot }>`
          SELECT m.version::float8 AS version, m.snapshot FROM models m WHERE m.org_slug = 'acme'`
        assert.deepStrictEqual(row, { version: 5 as never, snapshot: modelOf(5) })
        for (const version of [2, 1, 5, 3]) models.adopt(publication("t", version))
        assert.strictEqual(models.latest("acme", "t")!.version, 5)
        assert.isUndefined(models.latest("acme", "other"))
        assert.isUndefined(models.latest("other", "t"))
        // The newer model of this node stays.
        models.adopt(publication("t", 9))
        yield* models.poll
        assert.strictEqual(models.latest("acme", "t")!.version, 9)
      }))

    it.effect("finds a model that was committed after models with a higher number", () =>
      Effect.gen(function* () {
        const models = yield* Models
        const sql = yield* SqlClient.SqlClient
        for (let n = 0; n < 250; n++) yield* models.write(publication(`many-${n}`, 1))
        yield* models.poll
        for (let n = 0; n < 250; n++) assert.strictEqual(models.latest("acme", `many-${n}`)?.version, 1)
        yield* sql`
          INSERT INTO models (org_slug, template_id, version, publication, fitted_at, snapshot)
          VALUES ('acme', 'late', 1, 1, now(), ${JSON.stringify(modelOf(1))}::text::json)`
        yield* models.poll
        assert.deepStrictEqual(models.latest("acme", "late")!.model, modelOf(1))
      }))

    it.effect("reuses the model of a window for display, and fits it at once for a decision", () =>
      Effect.gen(function* () {
        yield* makeOrg("shown")
        yield* plant("shown", { copy: "a", decisions: 20, outcomes: { click: 2 } })
        yield* settle("shown")
        const learning = yield* Learning
        const window = { lookbackDays: 14, offsetDays: 0 }
        const all = yield* Effect.all(
          Array.from({ length: 8 }, () => learning.model("shown", "t", { ...window })),
          { concurrency: "unbounded" },
        )
        assert.strictEqual(all[0]!.variants[0]!.sends, 20)
        assert.strictEqual(new Set(all).size, 1)
        assert.notStrictEqual(yield* learning.model("shown", "t", { ...window, lookbackDays: 7 }), all[0])
        assert.notStrictEqual(yield* learning.windowed("shown", "t", window), all[0])
      }))
  })
})

describe("models on two nodes", () => {
  it.live("reach the other node within 5 seconds, for every version", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* temporaryEnvironment
      const one = yield* Layer.build(layerQuiet(env))
      const two = yield* Layer.build(layerQuiet(env))
      const on = <A, E>(context: typeof one, effect: Effect.Effect<A, E, Services>) =>
        Effect.provideContext(effect, context)
      const model = Effect.flatMap(Learning, ({ model }) => model("acme", "t", undefined))
      yield* on(one, makeOrg("acme"))
      yield* on(one, makeTemplate("acme", "t", ["a", "b"]))
      for (let round = 1; round <= 3; round++) {
        yield* on(
          one,
          plant("acme", { copy: "a", decisions: 50 * round, outcomes: { click: 5 * round }, ago: round * day }),
        )
        yield* on(one, settle("acme"))
        // It may be fitted again without new data: the other node reaches the first node's latest model.
        const same = async () => {
          const [here, there] = [await Effect.runPromise(on(one, model)), await Effect.runPromise(on(two, model))]
          return JSON.stringify(here) === JSON.stringify(there)
        }
        yield* Effect.promise(() => waitUntil("the other node decides by the same model", same, 5))
        const { variants: [variant] } = yield* on(two, model)
        assert.deepInclude(variant, { sends: 25 * round * (round + 1), clicks: 2.5 * round * (round + 1) })
      }
      // The other node continues from that model, without a conflict.
      yield* on(two, plant("acme", { copy: "b", decisions: 10 }))
      yield* on(two, settle("acme"))
      const { trace } = yield* on(two, ask("acme"))
      assert.deepStrictEqual(
        trace.candidates.map(({ id, sends }: { id: string; sends: number }) => [id, sends]),
        [["a", 300], ["b", 10]],
      )
      const version = (text: string) => Number(text.split(":")[1])
      const ahead = yield* on(two, model)
      yield* Effect.promise(() =>
        waitUntil(
          "the first node follows",
          async () => version((await Effect.runPromise(on(one, model))).version) >= version(ahead.version),
          5,
        )
      )
    })))

  it.live("include for a window what the other node has folded", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* temporaryEnvironment
      const one = yield* Layer.build(layerQuiet(env))
      const two = yield* Layer.build(layerQuiet(env))
      const on = <A, E>(context: typeof one, effect: Effect.Effect<A, E, Services>) =>
        Effect.provideContext(effect, context)
      yield* on(one, makeOrg("acme"))
      yield* on(one, plant("acme", { copy: "a", decisions: 20, outcomes: { click: 2 } }))
      yield* on(one, settle("acme"))
      yield* on(two, plant("acme", { copy: "b", decisions: 10 }))
      yield* on(two, settle("acme"))
      for (const node of [two, one]) {
        const { variants } = yield* on(
          node,
          Effect.flatMap(Learning, ({ model }) => model("acme", "t", { lookbackDays: 14, offsetDays: 0 })),
        )
        assert.deepStrictEqual(variants.map(({ clicks, id, sends }) => [id, sends, clicks]), [["a", 20, 2], [
          "b",
          10,
          0,
        ]])
      }
    })))

  it.live("include an event acknowledged by the other node if the caller bypasses the cache", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* temporaryEnvironment
      const one = yield* startServer(env)
      const two = yield* startServer(env)
      const missed = yield* Effect.promise(async () => {
        const key = await makeOrganization(one.service, "acme", ["generate", "events"])
        await one.run(makeTemplate("acme", "t", ["a", "b"]))
        await waitUntil(
          "the other node knows the template",
          async () => (await two.service.generate("acme", key, { template_id: "t" })).status === 200,
        )
        const post = async ({ service }: typeof one, path: string, body: unknown) => {
          const response = await service.request(`/api/${path}/acme`, {
            method: "POST",
            headers: { "x-api-key": key, "content-type": "application/json" },
            body: JSON.stringify(body),
          })
          assert.strictEqual(response.status, 200)
          return response.json()
        }
        // Both awake, so that neither is late because it starts.
        for (const { run } of [one, two]) await run(settle("acme"))
        const missed: Array<number> = []
        for (let round = 1; round <= 20; round++) {
          const { tracking_id } = await post(one, "generate", { template_id: "t" })
          await post(one, "webhook/events", { event: "click", tracking_id })
          const requests = [{ template_id: "t" }]
          const answer = await post(two, "batch-generate", { requests, use_cache: false, offset_days: 0, trace: true })
          const clicks = answer.t.trace.candidates.reduce((sum: number, one: Trace) => sum + one.clicks, 0)
          if (clicks !== round) missed.push(round)
        }
        return missed
      })
      assert.deepStrictEqual(missed, [])
    })))
})
