import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type ModelSnapshot, priorModel } from "../../src/bandit/Model.ts"
import { defaultPriors } from "../../src/bandit/Priors.ts"
import { Decider } from "../../src/decide/Decider.ts"
import { ExposureCounts } from "../../src/decide/ExposureCounts.ts"
import type { DecideRequest } from "../../src/decide/DecideRequest.ts"
import type { TemplateId } from "../../src/domain/Ids.ts"
import { Models } from "../../src/learning/Models.ts"
import { decide, layerQuiet, makeOrg, settle } from "../intake/support.ts"
import { hour, makeTemplate } from "../learning/support.ts"
import { temporaryEnvironment } from "../support/stores.ts"

const day = 24 * hour

const request = (userId: string | undefined, more: Partial<DecideRequest> = {}): DecideRequest => ({
  templateId: "t" as TemplateId,
  trackingId: undefined,
  userId,
  fields: {},
  attrs: new Map(),
  ...more,
})

/** Two variants of equal rate, known well. */
const model = (fatigue?: ReadonlyArray<number>): ModelSnapshot => ({
  ...priorModel({
    version: "t:1",
    now: Date.now(),
    window: { mode: "adaptive", halfLifeDays: 120 },
    scheme: { keys: [], builtIns: [] },
    organization: defaultPriors,
  }),
  variants: ["a", "b"].map((id) => ({
    id,
    beta: [0],
    covariance: [1e-4],
    sends: 1e5,
    maturedSends: 1e5,
    effectiveSends: 1e5,
    clicks: 3000,
  })),
  ...(fatigue === undefined ? {} : { fatigue }),
})

/** Ann has had `a` four times, and once more long ago; Bob has had nothing. */
const start = Effect.fnUntraced(function* (slug: string, fatigue?: ReadonlyArray<number>) {
  yield* makeOrg(slug)
  yield* makeTemplate(slug, "t", ["a", "b"])
  for (let n = 1; n <= 4; n++) yield* decide(slug, `ann ${n}`, { user: "ann", ago: n * day })
  yield* decide(slug, "another template", { user: "ann", copy: "b", template: "u", ago: day })
  yield* decide(slug, "long ago", { user: "ann", copy: "b", ago: 40 * day })
  ;(yield* Models).adopt({ org: slug, template: "t", version: 1, model: model(fatigue) })
})

/** Brings the counts of users into memory. On a busy machine the store may take longer than a decision waits. */
const known = Effect.fnUntraced(function* (slug: string, ...users: ReadonlyArray<string>) {
  const { of } = yield* ExposureCounts
  for (const user of users) while ((yield* of(slug, user, "t")) === undefined);
})

const effects = [0, -0.2, -0.5, -0.9]

/** The recorded probabilities of a decision. */
const recorded = Effect.fnUntraced(function* (slug: string, trackingId: string) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ copyId: string; propensity: number; weights: Record<string, number> }>`
    SELECT d.copy_id, d.propensity, d.weights FROM decisions d
    WHERE d.org_slug = ${slug} AND d.tracking_id = ${trackingId}`
  return row!
})

describe("Fatigue", () => {
  const services = Layer.unwrap(Effect.map(temporaryEnvironment, layerQuiet))
  layer(services, { excludeTestServices: true })((it) => {
    it.effect("prefers variants that the user has seen less often, and records the probability", () =>
      Effect.gen(function* () {
        const decider = yield* Decider
        yield* start("tired", effects)
        yield* known("tired", "ann", "bob")
        yield* decider.decide("tired", request("ann", { trackingId: "known" }))
        const ann = yield* recorded("tired", "known")
        assert.isBelow(ann.weights["a"]!, 0.01)
        assert.strictEqual(ann.propensity, ann.weights[ann.copyId])
        yield* decider.decide("tired", request("bob", { trackingId: "new" }))
        assert.closeTo((yield* recorded("tired", "new")).weights["a"]!, 0.5, 1e-9)
        yield* decider.decide("tired", request(undefined, { trackingId: "anonymous" }))
        assert.closeTo((yield* recorded("tired", "anonymous")).weights["a"]!, 0.5, 1e-9)
      }))

    it.effect("records and traces probabilities of 8 decimals", () =>
      Effect.gen(function* () {
        yield* start("slight", effects.map((effect) => effect / 500))
        yield* known("slight", "ann")
        const answer = yield* (yield* Decider).decide("slight", request("ann", { trackingId: "traced", trace: true }))
        const { propensity, weights } = yield* recorded("slight", "traced")
        assert.notStrictEqual(weights["a"], weights["b"])
        for (const weight of Object.values(weights)) assert.strictEqual(weight, Number(weight.toFixed(8)))
        if (answer._tag !== "Chosen") return assert.fail(answer._tag)
        const trace = answer.trace as {
          readonly candidates: ReadonlyArray<{ readonly id: string; readonly weight: number }>
          readonly propensity: number
        }
        assert.deepStrictEqual(Object.fromEntries(trace.candidates.map(({ id, weight }) => [id, weight])), weights)
        assert.strictEqual(trace.propensity, propensity)
      }))

    it.effect("is learned from the tallies for all windows, and recorded by a batch in a single commit", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const slug = "batched"
        yield* makeOrg(slug)
        yield* makeTemplate(slug, "t", ["a", "b"])
        for (let n = 1; n <= 4; n++) yield* decide(slug, `ann ${n}`, { user: "ann", ago: n * day })
        yield* sql`
          INSERT INTO fatigue_tallies (org_slug, template_id, day, copy_id, level, seen, decisions, open, click, conversion,
            negative, expected)
          SELECT ${slug}, 't', date_trunc('day', now(), 'UTC') - interval '7 days', v.copy_id, l.level, s.seen, 6000, 0,
            (200 * exp(-0.4 * s.seen))::int, 0, 0, 200
          FROM (VALUES ('a'), ('b')) v (copy_id), generate_series(4, 12) l (level), generate_series(0, 3) s (seen)`
        yield* settle(slug)
        const { fatigue } = (yield* Models).latest(slug, "t")!.model
        assert.closeTo(fatigue![3]! - fatigue![0]!, -1.2, 0.1)

        yield* known(slug, "ann")
        const item = (trackingId: string) => ({ templateId: "t" as TemplateId, trackingId, copyId: undefined })
        yield* (yield* Decider).decideBatch(slug, {
          userId: "ann",
          fields: {},
          attrs: new Map(),
          epsilon: undefined,
          useCache: true,
          trace: false,
          window: { lookbackDays: 14, offsetDays: 0 },
          items: [item("first"), item("second")],
        })
        for (const id of ["first", "second"]) assert.isBelow((yield* recorded(slug, id)).weights["a"]!, 0.05)
      }))

    it.effect("reads no history of the user unless the model uses it", () =>
      Effect.gen(function* () {
        const decider = yield* Decider
        yield* start("fresh")
        const sql = yield* SqlClient.SqlClient
        yield* decider.decide("fresh", request("ann", { trackingId: "plain" }))
        assert.closeTo((yield* recorded("fresh", "plain")).weights["a"]!, 0.5, 1e-9)
        // The first read stays in memory for a minute: after an earlier read, the counts would include the deleted
        // decisions.
        yield* sql`DELETE FROM decisions d WHERE d.org_slug = 'fresh' AND d.tracking_id <> 'ann 1'`
        const counts = yield* (yield* ExposureCounts).of("fresh", "ann", "t")
        assert.deepStrictEqual([...counts!], [["a", 1]])
      }))

    it.effect("reads many users in one query, and each again after at most a minute", () =>
      Effect.gen(function* () {
        yield* start("many", effects)
        const { of } = yield* ExposureCounts
        const users = ["ann", "bob", "ann", "carl"]
        const found = yield* Effect.forEach(users, (user) => of("many", user, "t"), { concurrency: "unbounded" })
        assert.deepStrictEqual(found.map((counts) => counts!.get("a") ?? 0), [4, 0, 4, 0])
        assert.deepStrictEqual([...(yield* of("many", "ann", "u"))!], [["b", 1]])
        yield* decide("many", "one more", { user: "ann" })
        assert.strictEqual((yield* of("many", "ann", "t"))!.get("a"), 4)
      }))
  })
})
