import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { describe } from "vitest"
import { encodeContext } from "../../src/bandit/Contexts.ts"
import { measures } from "../../src/bandit/Tally.ts"
import { bucketAt } from "../../src/bandit/Window.ts"
import { CopyId, OrgSlug, TemplateId } from "../../src/domain/Ids.ts"
import { Learning, unlearned } from "../../src/learning/Learning.ts"
import { Organizations } from "../../src/organizations/Organizations.ts"
import { Checking } from "../../src/checking/Checking.ts"
import { SourceCheck } from "../../src/rendering/SourceCheck.ts"
import { Results } from "../../src/results/Results.ts"
import { RequestNotices } from "../../src/decide/RequestNotices.ts"
import { ResultsWorker } from "../../src/results/ResultsWorker.ts"
import { Changes } from "../../src/organizations/Changes.ts"
import { Templates } from "../../src/templates/Templates.ts"
import { TemplateCache } from "../../src/templates/TemplateCache.ts"
import { layerMigrated, temporaryEnvironment } from "../support/stores.ts"

const hour = 3_600_000
const day = 24 * hour
const org = OrgSlug.make("acme")

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

const count = Effect.fnUntraced(function* (
  template: string,
  copyId: string,
  start: number,
  counts: { readonly decisions?: number; readonly click?: number; readonly softBounce?: number },
  track = "learned",
) {
  const sql = yield* SqlClient.SqlClient
  const values = Object.fromEntries(measures.map((measure) => [measure, 0]))
  yield* sql`INSERT INTO tallies ${
    sql.insert({
      org_slug: org,
      template_id: template,
      copy_id: copyId,
      segment: encodeContext([["daypart", "morning"], ["weekend", "weekday"]]),
      bucket_start: new Date(start),
      track,
      ...values,
      decisions: counts.decisions ?? 0,
      click: counts.click ?? 0,
      soft_bounce: counts.softBounce ?? 0,
    })
  }`
})

describe("the results from the store", () => {
  const environment = temporaryEnvironment
  layer(
    Results.layer.pipe(
      Layer.provide([layerLearning, ResultsWorker.layer, RequestNotices.layer]),
      Layer.provideMerge(Layer.mergeAll(Templates.layer, Organizations.layer, TemplateCache.layer)),
      Layer.provide(SourceCheck.layer.pipe(Layer.provide(Checking.layer))),
      Layer.provideMerge(Changes.layer),
      Layer.provideMerge(layerMigrated(environment)),
    ),
    { excludeTestServices: true },
  )((it) => {
    it.effect("count the decisions in the window by mode, for current and removed variants", () =>
      Effect.gen(function* () {
        const results = yield* Results
        const templates = yield* Templates
        yield* (yield* Organizations).create({ slug: org, name: "Acme" })
        yield* templates.create(org, {
          id: TemplateId.make("welcome"),
          name: "Welcome",
          variants: [
            { id: CopyId.make("warm"), vars: {} },
            { id: CopyId.make("stopped"), vars: {}, active: false },
            { id: CopyId.make("past"), vars: {}, seasons: [{ ends_at: "2020-01-01" }] },
          ],
        })
        const now = Date.now()
        const today = bucketAt(now, now).start
        yield* count("welcome", "warm", today, { decisions: 10, click: 3 })
        yield* count("welcome", "warm", today, { decisions: 5, click: 5 }, "forced")
        yield* count("welcome", "warm", today, { click: 2 }, "automated")
        yield* count("welcome", "warm", bucketAt(now - 20 * day, now).start, { decisions: 100, softBounce: 4 })
        yield* count("welcome", "removed", bucketAt(now - 100 * day, now).start, { decisions: 1000 })
        yield* count("welcome", "warm", now - 300 * day, { decisions: 100_000 })
        yield* count("other", "warm", today, { decisions: 7 })

        const all = yield* results.results(org, "welcome", {})
        assert.deepStrictEqual(
          all.variants.map(({ copy_id, decisions, status }) => [copy_id, status, decisions]),
          [
            ["past", "out_of_season", 0],
            ["removed", "removed", 1000],
            ["stopped", "stopped", 0],
            ["warm", "active", 110],
          ],
        )
        const warm = all.variants[3]!
        assert.deepStrictEqual([warm.outcomes.click, warm.outcomes.soft_bounce], [3, 4])
        assert.deepStrictEqual([warm.forced.decisions, warm.forced.outcomes.click, warm.automated.click], [5, 5, 2])
        assert.strictEqual(warm.share, 1)
        assert.deepStrictEqual(all.segments.map(({ decisions, segment }) => [segment, decisions]), [
          [{ daypart: "morning" }, 1110],
          [{ weekend: "weekday" }, 1110],
        ])

        const decisionsIn = (options: Parameters<typeof results.results>[2]) =>
          Effect.map(results.results(org, "welcome", options), ({ decisions }) => decisions)
        assert.strictEqual(yield* decisionsIn({ lookbackDays: 5, offsetDays: 0 }), 10)
        assert.strictEqual(yield* decisionsIn({ lookbackDays: 30 }), 100)
        // With the default look-back of 14 days, because the parameters have only an offset.
        assert.strictEqual(yield* decisionsIn({ offsetDays: 10 }), 100)
        assert.strictEqual(yield* decisionsIn({ offsetDays: 40 }), 0)
        assert.strictEqual((yield* results.results(org, "welcome", { offsetDays: 40 })).window.lookback_days, 14)
        assert.strictEqual((yield* results.results(org, "welcome", { lookbackDays: 9 })).window.offset_days, 3)
        assert.strictEqual(yield* decisionsIn({ segment: new Map([["daypart", "night"]]) }), 0)
        assert.strictEqual(yield* decisionsIn({ segment: new Map([["daypart", "morning"]]) }), 1110)
      }))

    it.effect("fail with TemplateNotFound for an unknown template and for one of another organization", () =>
      Effect.gen(function* () {
        const results = yield* Results
        const unknown = yield* Effect.flip(results.results(org, "unheard-of", {}))
        assert.strictEqual(unknown._tag, "TemplateNotFound")
        const foreign = yield* Effect.flip(results.results(OrgSlug.make("rival"), "welcome", {}))
        assert.strictEqual(foreign._tag, "TemplateNotFound")
      }))
  })
})
