import { assert, layer } from "@effect/vitest"
import { Clock, Effect, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { describe } from "vitest"
import { encodeContext } from "../../src/bandit/Contexts.ts"
import { measures } from "../../src/bandit/Tally.ts"
import { Checking } from "../../src/checking/Checking.ts"
import { CopyId, OrgSlug, TemplateId } from "../../src/domain/Ids.ts"
import type { Work } from "../../src/erasure/Work.ts"
import { Learning, unlearned } from "../../src/learning/Learning.ts"
import { Models } from "../../src/learning/Models.ts"
import { Changes } from "../../src/organizations/Changes.ts"
import { Organizations } from "../../src/organizations/Organizations.ts"
import { SourceCheck } from "../../src/rendering/SourceCheck.ts"
import { eraseKeptResults } from "../../src/results/ErasedResults.ts"
import { KeptResults, leastDecisions } from "../../src/results/KeptResults.ts"
import { Results } from "../../src/results/Results.ts"
import { RequestNotices } from "../../src/decide/RequestNotices.ts"
import { ResultsWorker } from "../../src/results/ResultsWorker.ts"
import { Series } from "../../src/results/Series.ts"
import { TemplateCache } from "../../src/templates/TemplateCache.ts"
import { Templates } from "../../src/templates/Templates.ts"
import { waitUntil } from "../support/service.ts"
import { makeTableChanges } from "../support/tableChanges.ts"
import { layerMigrated, temporaryEnvironment } from "../support/stores.ts"

const org = OrgSlug.make("acme")
const segment = encodeContext([["daypart", "morning"], ["weekend", "weekday"]])

/** Models as they are before any fit. */
const layerLearning = Layer.succeed(
  Learning,
  Learning.of({
    model: (_, template, window) => Effect.sync(() => unlearned(template, window, Date.now())),
    windowed: () => Effect.undefined,
    refresh: () => Effect.succeed(true),
    wake: () => Effect.void,
    relearn: () => Effect.void,
    traceWake: () => {},
    stopped: () => Effect.succeed([]),
    resume: () => Effect.void,
  }),
)

const addDecisions = Effect.fnUntraced(function* (template: string, decisions: number) {
  const sql = yield* SqlClient.SqlClient
  const none = Object.fromEntries(measures.map((measure) => [measure, 0]))
  const start = Math.floor(Date.now() / 3_600_000) * 3_600_000
  yield* sql`INSERT INTO tallies AS t ${
    sql.insert({
      org_slug: org,
      template_id: template,
      copy_id: "warm",
      segment,
      bucket_start: new Date(start),
      track: "learned",
      ...none,
      decisions,
    })
  } ON CONFLICT (org_slug, template_id, copy_id, segment, bucket_start, track) DO UPDATE
    SET decisions = t.decisions + EXCLUDED.decisions`
})

const create = Effect.fnUntraced(function* (id: string, decisions: number) {
  const template = yield* (yield* Templates).create(org, {
    id: TemplateId.make(id),
    name: id,
    variants: [{ id: CopyId.make("warm"), vars: {} }, { id: CopyId.make("cold"), vars: {} }],
  })
  yield* addDecisions(id, decisions)
  return template
})

/** Runs an effect as if some seconds had passed. */
const after = <A, E, R>(seconds: number, effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Clock.Clock, (clock) =>
    Effect.provideService(
      effect,
      Clock.Clock,
      Object.create(clock, {
        currentTimeMillisUnsafe: { value: () => clock.currentTimeMillisUnsafe() + seconds * 1000 },
        currentTimeMillis: { value: Effect.map(clock.currentTimeMillis, (now) => now + seconds * 1000) },
      }),
    ))

const layerKept = KeptResults.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(Results.layer, Series.layer)),
  Layer.provide([layerLearning, ResultsWorker.layer, RequestNotices.layer]),
)

/** Decisions of the results that another node shows. */
const onAnotherNode = Effect.fnUntraced(function* (template: Parameters<KeptResults["Service"]["of"]>[1]) {
  const context = yield* Layer.buildWithScope(Layer.fresh(layerKept), yield* Effect.scope as Effect.Effect<Scope.Scope>)
  const kept = yield* Effect.provide(KeptResults, context)
  return (yield* kept.of(org, template, {})).found.decisions
}, Effect.scoped)

const storedIn = (template: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      sql<{ decisions: number }>`
        SELECT (k.answer->'found'->>'decisions')::int AS decisions FROM kept_results k
        WHERE k.org_slug = ${org} AND k.template_id = ${template}`,
      (rows) => rows.map(({ decisions }) => decisions),
    ))

const untilStored = (template: string) =>
  Effect.flatMap(makeTableChanges, (changes) =>
    changes.until(
      `the results of ${template} are stored`,
      ["kept_results"],
      Effect.map(storedIn(template), (rows) => rows.length === 1),
    ))

describe("the cached results of pages", () => {
  layer(
    layerKept.pipe(
      Layer.provideMerge(Layer.mergeAll(Templates.layer, Organizations.layer, TemplateCache.layer, Models.layer)),
      Layer.provide(SourceCheck.layer.pipe(Layer.provide(Checking.layer))),
      Layer.provideMerge(Changes.layer),
      Layer.provideMerge(layerMigrated(temporaryEnvironment)),
    ),
    { excludeTestServices: true },
  )((it) => {
    it.effect("are recomputed on every view of a template with few decisions", () =>
      Effect.gen(function* () {
        const kept = yield* KeptResults
        yield* (yield* Organizations).create({ slug: org, name: "Acme" })
        const small = yield* create("small", leastDecisions - 1)
        assert.strictEqual((yield* kept.of(org, small, {})).found.decisions, leastDecisions - 1)
        yield* addDecisions("small", 1)
        assert.strictEqual((yield* after(10, kept.of(org, small, {}))).found.decisions, leastDecisions)
      }))

    it.effect("are shown with their time for many decisions, and recomputed for the next view", () =>
      Effect.gen(function* () {
        const kept = yield* KeptResults
        const context = yield* Effect.context<never>()
        const busy = yield* create("busy", 5_000)
        const first = yield* kept.of(org, busy, {})
        assert.deepStrictEqual([first.found.decisions, first.over.points[0]?.decisions], [5_000, 5_000])
        yield* addDecisions("busy", 500)
        const second = yield* after(10, kept.of(org, busy, {}))
        assert.deepStrictEqual([second.found.decisions, second.madeAt], [5_000, first.madeAt])
        yield* Effect.promise(() =>
          waitUntil("newer results are made", async () => {
            const next = await Effect.runPromiseWith(context)(after(11, kept.of(org, busy, {})))
            return next.found.decisions === 5_500 && next.madeAt > first.madeAt
          })
        )
        const other = yield* kept.of(org, busy, { segment: new Map([["daypart", "night"]]) })
        assert.strictEqual(other.found.decisions, 0, "a segment has results of its own")
      }))

    it.effect("are shared with other nodes and later processes until the template changes or a person is erased", () =>
      Effect.gen(function* () {
        const kept = yield* KeptResults
        const sql = yield* SqlClient.SqlClient
        const templates = yield* Templates
        const shared = yield* create("shared", 3_000)
        yield* kept.of(org, shared, {})
        yield* untilStored("shared")
        yield* addDecisions("shared", 300)
        assert.strictEqual(yield* onAnotherNode(shared), 3_000)
        const changed = yield* templates.update(org, shared.id, { name: "Another name" })
        assert.strictEqual(yield* onAnotherNode(changed), 3_300)
        yield* eraseKeptResults({ org, sql, step: (step: Effect.Effect<unknown>) => step } as unknown as Work)
        assert.deepStrictEqual(yield* storedIn("shared"), [])
      }))

    it.effect("are prepared in advance for the busiest templates", () =>
      Effect.gen(function* () {
        const kept = yield* KeptResults
        const models = yield* Models
        for (const [id, sends] of [["quiet", leastDecisions - 1], ["loud", leastDecisions]] as const) {
          yield* create(id, 4_000)
          const model = { ...unlearned(id, undefined, Date.now()), traffic: [{ cell: segment, sends }] }
          models.adopt({ org, template: id, version: 1, model })
        }
        yield* kept.prepare(org)
        yield* untilStored("loud")
        assert.deepStrictEqual(yield* storedIn("quiet"), [])
      }))
  })
})
