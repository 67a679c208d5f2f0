import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Random } from "effect"
import { SqlClient } from "effect/sql"
import { contextsOf, decodeContext, encodeContext } from "../../src/bandit/Contexts.ts"
import { logBaseRate } from "../../src/bandit/Model.ts"
import { Decider } from "../../src/decide/Decider.ts"
import type { Answer } from "../../src/decide/Answer.ts"
import type { CopyId, TemplateId } from "../../src/domain/Ids.ts"
import { Rebuild } from "../../src/projections/Rebuild.ts"
import { AttributeStatistics } from "../../src/learning/AttributeStatistics.ts"
import { Learning } from "../../src/learning/Learning.ts"
import { layerQuiet, makeOrg, org, receive } from "../intake/support.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { makeTemplate, settle, type Trace } from "./support.ts"

/** Recorded segments of the decisions of a template, in the order in which they were made. */
const recorded = Effect.fnUntraced(function* (slug: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ segment: string }>`
    SELECT d.segment FROM decisions d WHERE d.org_slug = ${slug} ORDER BY d.decided_at, d.tracking_id`
  return rows.map(({ segment }) => decodeContext(segment))
})

const user = (n: number) => ({ plan: ["free", "pro", "team"][n % 3]!, country: ["no", "se"][n % 2]! })

const complete = (values: ReadonlyMap<string, string>) => values.has("plan") && values.has("country")

/** Sends that the adaptive model knows plan and country of. */
const known = Effect.fnUntraced(function* (slug: string) {
  const model = yield* (yield* Learning).model(slug, "t", undefined)
  return model.traffic.filter(({ cell }) => complete(decodeContext(cell))).reduce((sum, { sends }) => sum + sends, 0)
})

const asked = (attrs: Readonly<Record<string, string>>) => ({
  templateId: "t" as TemplateId,
  trackingId: undefined,
  userId: undefined,
  fields: {},
  attrs: new Map(Object.entries(attrs).map(([name, value]) => [name, [value]])),
})

/** Five decisions by batch over the default window. */
const batch = Effect.fnUntraced(function* (slug: string, attrs: Readonly<Record<string, string>>) {
  const { attrs: given, userId, fields, ...item } = asked(attrs)
  return yield* (yield* Decider).decideBatch(slug, {
    items: Array.from({ length: 5 }, () => ({ ...item, copyId: undefined })),
    userId,
    fields,
    attrs: given,
    epsilon: undefined,
    window: { lookbackDays: 14, offsetDays: 3 },
    useCache: true,
    trace: false,
  })
})

const clickOn = (slug: string, outcome: Answer) =>
  receive(slug, [{ event: "click", tracking_id: (outcome as { readonly trackingId: string }).trackingId }])

const flush = Effect.flatMap(AttributeStatistics, ({ flush }) => flush)

/** The background jobs of a service: write the counts, fold them and fit. */
const learn = (slug: string) => Effect.andThen(flush, settle(slug))

const differences = (slug: string) =>
  Effect.flatMap(Rebuild, (rebuild) => Effect.map(rebuild.run(org(slug), { check: true }), (done) => done.differences))

describe("recorded contexts of a new template", () => {
  const environment = temporaryEnvironment
  const seededChance = Layer.effect(Random.Random, Random.withSeed(Random.Random, "segments"))
  const services = Layer.unwrap(Effect.map(environment, layerQuiet)).pipe(Layer.provide(seededChance))

  layer(services, { excludeTestServices: true })((it) => {
    it.effect("are stored by batch requests that use the earlier model of a window", () =>
      Effect.gen(function* () {
        yield* makeOrg("batch")
        yield* makeTemplate("batch", "t", ["a", "b"])
        for (let n = 0; n < 42; n++) {
          const [[, outcome] = []] = yield* batch("batch", user(n))
          yield* clickOn("batch", outcome!)
          if (n % 20 === 1) yield* learn("batch")
        }
        const segments = yield* recorded("batch")
        assert.strictEqual(segments.length, 210)
        assert.isAtLeast(segments.filter(complete).length, 205)
        yield* learn("batch")
        assert.isAtLeast(yield* known("batch"), 205)
        assert.deepStrictEqual(yield* differences("batch"), [])
      }))

    it.effect("contribute once the model uses attributes that it did not use at the decision", () =>
      Effect.gen(function* () {
        yield* makeOrg("later")
        yield* makeTemplate("later", "t", ["a", "b"])
        const decider = yield* Decider
        const outcomes = yield* Effect.forEach(
          Array.from({ length: 200 }, (_, n) => n),
          (n) => Effect.map(decider.decide("later", { ...asked(user(n)), trace: true }), (outcome) => ({ n, outcome })),
          { concurrency: 50 },
        )
        for (const { outcome } of outcomes) {
          assert.hasAllKeys((outcome as { readonly trace?: Trace }).trace.cell, ["daypart", "weekend"])
        }
        yield* Effect.forEach(
          outcomes.filter(({ n }) => n % 3 === 1 && n % 2 === 0),
          ({ outcome }) => clickOn("later", outcome),
          { concurrency: 10 },
        )
        yield* settle("later")
        assert.strictEqual(yield* known("later"), 0)

        yield* flush
        // The next fit uses the attributes.
        yield* decider.decide("later", asked(user(0)))
        yield* settle("later")
        assert.isAtLeast(yield* known("later"), 200)
        const model = yield* (yield* Learning).model("later", "t", undefined)
        const contexts = contextsOf(model.scheme)
        const rates = ["free", "pro", "team"].map((plan) =>
          Math.exp(logBaseRate(model, contexts.parse(encodeContext([["plan", plan], ["country", "no"]]))))
        )
        assert.isAbove(rates[1]!, 2 * Math.max(rates[0]!, rates[2]!))
        assert.deepStrictEqual(yield* differences("later"), [])
      }))

    it.effect("are stored for forced decisions too", () =>
      Effect.gen(function* () {
        yield* makeOrg("forced")
        yield* makeTemplate("forced", "t", ["a", "b"])
        yield* (yield* Decider).decide("forced", { ...asked(user(0)), copyId: "a" as CopyId })
        assert.deepStrictEqual((yield* recorded("forced")).map(complete), [true])
      }))
  })
})
