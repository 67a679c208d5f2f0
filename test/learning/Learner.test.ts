import { PgClient } from "@effect/sql-pg"
import { assert, describe, it, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { organizationPriors, type PriorContribution } from "../../src/bandit/Priors.ts"
import { Decider } from "../../src/decide/Decider.ts"
import type { TemplateId } from "../../src/domain/Ids.ts"
import { Rebuild } from "../../src/projections/Rebuild.ts"
import { AttributeStatistics } from "../../src/learning/AttributeStatistics.ts"
import { Learning } from "../../src/learning/Learning.ts"
import * as Sweep from "../../src/learning/Sweep.ts"
import * as Tallies from "../../src/learning/Tallies.ts"
import { Templates } from "../../src/templates/Templates.ts"
import { decide, layerQuiet, makeOrg, org, receive, tallies } from "../intake/support.ts"
import { waitUntil } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { ask, counted, day, makeTemplate, plant, type Services, settle } from "./support.ts"

/** Waits until `ready` answers true. */
const until = <E, R>(what: string, ready: Effect.Effect<boolean, E, R>, seconds?: number) =>
  Effect.flatMap(
    Effect.context<R>(),
    (context) => Effect.promise(() => waitUntil(what, () => Effect.runPromiseWith(context)(ready), seconds)),
  )

describe("Learner", () => {
  const environment = temporaryEnvironment
  layer(Layer.unwrap(Effect.map(environment, layerQuiet)), { excludeTestServices: true })((it) => {
    it.effect("publishes a model after outcomes, which shifts the traffic to the better variant", () =>
      Effect.gen(function* () {
        yield* makeOrg("shift")
        yield* makeTemplate("shift", "t", ["a", "b"])
        const even = yield* ask("shift")
        assert.deepStrictEqual(even.trace.candidates.map(({ weight }: { weight: number }) => weight), [0.5, 0.5])
        yield* plant("shift", { copy: "a", decisions: 400, outcomes: { click: 60 } })
        yield* plant("shift", { copy: "b", decisions: 400, outcomes: { click: 12 } })
        yield* settle("shift")
        const model = yield* (yield* Learning).model("shift", "t", undefined)
        assert.match(model.version, /^t:\d+$/)
        assert.deepStrictEqual(yield* counted("shift"), [
          ["a", 400 + Number(even._tag === "Chosen" && even.copyId === "a"), 60],
          ["b", 400 + Number(even._tag === "Chosen" && even.copyId === "b"), 12],
        ])
        const { trace } = yield* ask("shift", { useCache: false })
        assert.deepStrictEqual(trace.candidates.map(({ clicks, id }: { clicks: number; id: string }) => [id, clicks]), [
          ["a", 60],
          ["b", 12],
        ])
        assert.isAbove(trace.candidates[0].weight, 0.9)
        const decider = yield* Decider
        const chosen = yield* Effect.forEach(Array.from({ length: 50 }), () =>
          Effect.map(
            decider.decide("shift", {
              templateId: "t" as TemplateId,
              trackingId: undefined,
              userId: undefined,
              fields: {},
              attrs: new Map(),
            }),
            (outcome) => outcome._tag === "Chosen" && outcome.copyId === "a" ? 1 : 0 as number,
          ))
        assert.isAbove(chosen.reduce((sum, one) => sum + one, 0), 35)
      }))

    it.effect("folds each decision and event once during concurrent wakes and refreshes", () =>
      Effect.gen(function* () {
        yield* makeOrg("race")
        const learning = yield* Learning
        yield* Effect.forEach(
          Array.from({ length: 300 }, (_, n) => n),
          (n) =>
            Effect.gen(function* () {
              yield* decide("race", `d${n}`, { copy: n % 2 === 0 ? "a" : "b" })
              if (n % 3 === 0) yield* receive("race", { event: "click", tracking_id: `d${n}` })
              if (n % 7 === 0) yield* learning.wake("race", "t", n % 2 === 0)
              if (n % 25 === 0) yield* learning.refresh("race", "t")
            }),
          { concurrency: 30, discard: true },
        )
        yield* Effect.all([settle("race"), learning.wake("race", "t", true), settle("race"), settle("race")], {
          concurrency: "unbounded",
        })
        assert.deepStrictEqual(yield* tallies("race"), [
          "a plan=pro learned: click 50, decisions 150",
          "b plan=pro learned: click 50, decisions 150",
        ])
        assert.deepStrictEqual(yield* counted("race"), [["a", 150, 50], ["b", 150, 50]])
        assert.deepStrictEqual((yield* (yield* Rebuild).run(org("race"), { check: true })).differences, [])
      }))

    it.effect("passes a check and a rebuild while models are published", () =>
      Effect.gen(function* () {
        yield* makeOrg("recomputed")
        const learning = yield* Learning
        const rebuild = yield* Rebuild
        const publishing = yield* Effect.forEach(
          Array.from({ length: 60 }, (_, n) => n),
          (n) => Effect.andThen(decide("recomputed", `d${n}`), learning.refresh("recomputed", "t")),
          { discard: true },
        ).pipe(Effect.forkChild)
        for (let check = true; publishing.pollUnsafe() === undefined; check = !check) {
          assert.deepStrictEqual((yield* rebuild.run(org("recomputed"), { check })).differences, [])
        }
        yield* Fiber.join(publishing)
        yield* settle("recomputed")
        assert.deepStrictEqual(yield* counted("recomputed"), [["a", 60, 0]])
      }))

    it.effect("fits tallies that a stopped node had folded, even without new events", () =>
      Effect.gen(function* () {
        yield* makeOrg("overtaken")
        const sql = yield* SqlClient.SqlClient
        yield* decide("overtaken", "one")
        yield* settle("overtaken")
        assert.deepStrictEqual(yield* counted("overtaken"), [["a", 1, 0]])
        // The commit of another node's actor before it is killed.
        yield* decide("overtaken", "two")
        yield* sql.withTransaction(Effect.andThen(
          Tallies.fold(sql, "overtaken", "t", Date.now()),
          sql`UPDATE bandit_states SET revision = revision + 1 WHERE org_slug = 'overtaken'`,
        ))
        // Runs the sweep of models for the template.
        yield* (yield* Learning).wake("overtaken", "t", true)
        yield* until(
          "the model knows both",
          Effect.map(counted("overtaken"), ([variant]) => variant?.[1] === 2),
          8,
        )
        const [state] = yield* sql`
          SELECT s.revision = s.fitted_revision AS fitted FROM bandit_states s WHERE s.org_slug = 'overtaken'`
        assert.deepStrictEqual(state, { fitted: true })
      }))

    it.effect("learns from another outcome once the template's objective changes", () =>
      Effect.gen(function* () {
        yield* makeOrg("objective")
        yield* makeTemplate("objective", "t", ["a", "b"])
        yield* plant("objective", { copy: "a", decisions: 200, outcomes: { click: 40, conversion: 3 } })
        yield* plant("objective", { copy: "b", decisions: 200, outcomes: { click: 10, conversion: 30 } })
        yield* settle("objective")
        assert.deepStrictEqual(yield* counted("objective"), [["a", 200, 40], ["b", 200, 10]])
        yield* (yield* Templates).update(org("objective"), "t", { objective: "conversion" })
        yield* decide("objective", "next")
        yield* settle("objective")
        assert.deepStrictEqual(yield* counted("objective"), [["a", 201, 3], ["b", 200, 30]])
        yield* (yield* Templates).update(org("objective"), "t", { objective: { click: 1, conversion: 2 } })
        yield* decide("objective", "after")
        yield* settle("objective")
        assert.deepStrictEqual(yield* counted("objective"), [["a", 202, 46], ["b", 200, 70]])
        assert.deepStrictEqual(
          (yield* ask("objective", { useCache: false })).trace.candidates.map(
            ({ clicks }: { clicks: number }) => clicks,
          ),
          [46, 70],
        )
      }))

    it.effect("applies a changed objective on a refit, even without new events", () =>
      Effect.gen(function* () {
        yield* makeOrg("still")
        yield* makeTemplate("still", "t", ["a", "b"])
        yield* plant("still", { copy: "a", decisions: 100, outcomes: { click: 20, conversion: 3 } })
        yield* settle("still")
        yield* (yield* Templates).update(org("still"), "t", { objective: "conversion" })
        yield* settle("still")
        assert.deepStrictEqual(yield* counted("still"), [["a", 100, 3]])
      }))

    it.effect("starts a new template from the organization's templates with at least 30 clicks", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const contributions = (slug: string) =>
          Effect.map(
            sql<{ templateId: string; contribution: PriorContribution }>`
              SELECT s.template_id, s.contribution FROM bandit_states s
              WHERE s.org_slug = ${slug} AND s.contribution IS NOT NULL`,
            (rows) => new Map(rows.map(({ contribution, templateId }) => [templateId, contribution])),
          )
        yield* makeOrg("priors")
        yield* makeOrg("apart")
        for (const slug of ["priors", "apart"]) {
          yield* plant(slug, { template: "few", copy: "a", decisions: 100, outcomes: { click: 29 } })
          yield* settle(slug, "few")
        }
        assert.strictEqual((yield* contributions("priors")).size, 0)
        yield* plant("priors", { template: "much", copy: "a", decisions: 300, outcomes: { click: 75 } })
        yield* plant("priors", { template: "much", copy: "b", decisions: 300, outcomes: { click: 25 } })
        yield* settle("priors", "much")
        const known = yield* contributions("priors")
        assert.deepStrictEqual([...known.keys()], ["much"])
        const priors = organizationPriors(known)
        assert.isAbove(priors.tau0, 0.2)

        const models = yield* Effect.forEach(["priors", "apart"], (slug) =>
          Effect.gen(function* () {
            yield* decide(slug, "first", { template: "new" })
            yield* settle(slug, "new")
            return yield* (yield* Learning).model(slug, "new", undefined)
          }))
        // One send hardly counts: the base rate is the organization's, or 3 % without data.
        assert.approximately(Math.exp(models[0]!.a0), Math.exp(priors.a0), 0.01)
        assert.approximately(Math.exp(models[1]!.a0), 0.03, 0.002)
        assert.isAbove(models[0]!.tau0, models[1]!.tau0)
      }))

    it.effect("selects the learning attributes from the attributes of requests", () =>
      Effect.gen(function* () {
        yield* makeOrg("census")
        yield* makeTemplate("census", "t", ["a", "b"])
        const decider = yield* Decider
        const generate = (n: number) =>
          decider.decide("census", {
            templateId: "t" as TemplateId,
            trackingId: undefined,
            userId: `u${n}`,
            fields: {},
            attrs: new Map([
              ["plan", [n % 3 === 0 ? "pro" : "free"]],
              ["email", [`u${n}@example.com`]],
              ...(n % 30 === 0 ? [["rare", ["x"]] as const] : []),
            ]),
          })
        const before = yield* ask("census", { attrs: { plan: "pro" } })
        assert.deepStrictEqual(Object.keys(before.trace.cell).sort(), ["daypart", "weekend"])
        yield* Effect.forEach(Array.from({ length: 120 }, (_, n) => n), generate, { concurrency: 40 })
        yield* (yield* AttributeStatistics).flush
        yield* settle("census")
        const model = yield* (yield* Learning).model("census", "t", undefined)
        assert.deepStrictEqual(model.scheme.keys, [{ name: "plan", values: ["free", "pro"] }])
        const context = Effect.map(
          ask("census", { attrs: { plan: "pro" }, useCache: false }),
          ({ trace }) => trace.cell,
        )
        assert.strictEqual((yield* context).plan, "pro")
        yield* generate(0)
        const [row] = yield* (yield* SqlClient.SqlClient)<{ segment: string }>`
          SELECT d.segment FROM decisions d WHERE d.org_slug = 'census' ORDER BY d.decided_at DESC LIMIT 1`
        // With the attribute that few requests have, for later models, and without the one that names people.
        assert.match(row!.segment, /^daypart=[a-z]+&plan=pro&rare=x&weekend=[a-z]+$/)
        assert.strictEqual((yield* ask("census", { attrs: { plan: "gold" } })).trace.cell.plan, "other")
        assert.strictEqual((yield* ask("census")).trace.cell.plan, "missing")
      }))

    it.effect("ignores forced and undelivered decisions", () =>
      Effect.gen(function* () {
        yield* makeOrg("forced")
        yield* makeTemplate("forced", "t", ["a", "b"])
        yield* plant("forced", { copy: "a", decisions: 40, outcomes: { bounce: 10 } })
        yield* plant("forced", { copy: "b", decisions: 40, outcomes: { click: 40 }, mode: "forced" })
        yield* settle("forced")
        assert.deepStrictEqual(yield* counted("forced"), [["a", 30, 0]])
        const delays = yield* Tallies.readDelays(yield* SqlClient.SqlClient, "forced", "t")
        assert.deepStrictEqual(delays, [])
      }))
  })

  it.live("decides with the identical model after a restart, before any new event", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* environment
      const during = <A, E>(effect: Effect.Effect<A, E, Services>) =>
        Effect.scoped(
          Effect.flatMap(Layer.build(layerQuiet(env)), (context) => Effect.provideContext(effect, context)),
        )
      const adaptive = Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const [{ snapshot }] = (yield* sql<{ snapshot: unknown }>`SELECT m.snapshot::text FROM models m`) as [
          { snapshot: string },
        ]
        return {
          stored: snapshot,
          model: yield* (yield* Learning).model("acme", "t", undefined),
        }
      })
      const before = yield* during(Effect.gen(function* () {
        yield* makeOrg("acme")
        yield* makeTemplate("acme", "t", ["a", "b", "c"])
        yield* plant("acme", { copy: "a", decisions: 211, outcomes: { click: 23 } })
        yield* plant("acme", { copy: "b", decisions: 107, outcomes: { click: 5 }, ago: 9 * day })
        yield* plant("acme", { copy: "c", decisions: 53, outcomes: { click: 7 }, segment: "plan=free" })
        yield* settle("acme")
        return yield* adaptive
      }))
      const after = yield* during(adaptive)
      assert.deepStrictEqual(after, before)
      assert.strictEqual(JSON.stringify(after.model), JSON.stringify(before.model))
      // Its state is complete: the next fit has all counts and the next version.
      const next = yield* during(Effect.gen(function* () {
        yield* decide("acme", "new")
        yield* settle("acme")
        return yield* adaptive
      }))
      assert.deepStrictEqual(next.model.variants.map(({ clicks, id, sends }) => [id, sends, clicks]), [
        ["a", 212, 23],
        ["b", 107, 5],
        ["c", 53, 7],
      ])
      const version = (text: string) => Number(text.split(":")[1])
      assert.isAbove(version(next.model.version), version(before.model.version))
    })))

  it.live("leaves database connections free while a rebuild locks the tallies, and counts everything afterwards", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* environment
      const context = yield* Layer.build(Layer.provideMerge(Sweep.layer, layerQuiet(env)))
      yield* Effect.gen(function* () {
        yield* makeOrg("acme")
        const learning = yield* Learning
        // More than there are connections.
        const templates = ["a", "b", "c", "d", "e", "f"].map((name) => `t-${name}`)
        for (const template of templates) yield* decide("acme", "before", { template })
        yield* settle("acme", ...templates)
        const [held, released] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const rebuilding = yield* Effect.flatMap(SqlClient.SqlClient, (sql) =>
          sql.withTransaction(
            sql`LOCK TABLE tallies, bandit_states IN SHARE ROW EXCLUSIVE MODE`.pipe(
              Effect.andThen(Deferred.succeed(held, undefined)),
              Effect.andThen(Deferred.await(released)),
            ),
          )).pipe(
            Effect.provide(
              Layer.fresh(PgClient.layer({ url: Redacted.make(env["DATABASE_URL"]!), maxConnections: 1 })),
            ),
            Effect.forkScoped,
          )
        yield* Deferred.await(held)
        for (const template of templates) {
          yield* decide("acme", "during", { template })
          yield* learning.wake("acme", template, true)
        }
        // When this is given up the others have long tried as well.
        assert.isFalse(yield* learning.refresh("acme", "t-a"))
        for (const template of templates) yield* learning.relearn("acme", template)
        const sql = yield* SqlClient.SqlClient
        const [pending] = yield* sql`
          SELECT count(DISTINCT l.template_id)::int AS templates FROM tally_ledger l WHERE l.org_slug = 'acme'`
        assert.deepStrictEqual(pending, { templates: 6 })
        assert.deepStrictEqual((yield* (yield* Rebuild).run(org("acme"), { check: true })).differences, [])
        yield* Deferred.succeed(released, undefined)
        yield* Fiber.join(rebuilding)
        for (const template of templates) {
          yield* until(
            `the model of ${template} knows both`,
            Effect.map(counted("acme", template), ([variant]) => variant?.[1] === 2),
          )
        }
        assert.deepStrictEqual((yield* (yield* Rebuild).run(org("acme"), { check: true })).differences, [])
      }).pipe(Effect.provideContext(context))
    })))

  it.live("refreshes after a start the tallies that were folded but not fitted before the stop", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* environment
      yield* Effect.scoped(Effect.flatMap(Layer.build(layerQuiet(env)), (context) =>
        Effect.gen(function* () {
          yield* makeOrg("acme")
          yield* decide("acme", "one")
          yield* settle("acme")
          const sql = yield* SqlClient.SqlClient
          yield* decide("acme", "two", { copy: "b" })
          // Folded, and killed before the fit.
          yield* sql.withTransaction(Effect.andThen(
            Tallies.fold(sql, "acme", "t", Date.now()),
            sql`UPDATE bandit_states SET revision = revision + 1`,
          ))
        }).pipe(Effect.provideContext(context))))
      const context = yield* Layer.build(layerQuiet(env))
      const variants = yield* Effect.provideContext(Effect.andThen(settle("acme"), counted("acme")), context)
      assert.deepStrictEqual(variants, [["a", 1, 0], ["b", 1, 0]])
    })))

  it.live("fits after a start the tallies that were folded but not fitted before the stop", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* environment
      yield* Effect.scoped(Effect.gen(function* () {
        const context = yield* Layer.build(layerQuiet(env))
        yield* Effect.gen(function* () {
          yield* makeOrg("acme")
          yield* decide("acme", "one")
          yield* settle("acme")
          const sql = yield* SqlClient.SqlClient
          yield* decide("acme", "two", { copy: "b" })
          // Folded, and killed before the fit.
          yield* sql.withTransaction(Effect.andThen(
            Tallies.fold(sql, "acme", "t", Date.now()),
            sql`UPDATE bandit_states SET revision = revision + 1, fitted_revision = NULL`,
          ))
        }).pipe(Effect.provideContext(context))
      }))
      const context = yield* Layer.build(Layer.provideMerge(Sweep.layer, layerQuiet(env)))
      yield* Effect.gen(function* () {
        yield* until("the model knows both variants", Effect.map(counted("acme"), ({ length }) => length === 2))
        const sql = yield* SqlClient.SqlClient
        const [state] = yield* sql`SELECT s.revision = s.fitted_revision AS fitted FROM bandit_states s`
        assert.deepStrictEqual(state, { fitted: true })
      }).pipe(Effect.provideContext(context))
    })))
})
