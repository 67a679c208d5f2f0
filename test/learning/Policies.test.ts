import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Random } from "effect"
import { eligibleSet } from "../../src/bandit/Policy.ts"
import type { ModelSnapshot } from "../../src/bandit/Model.ts"
import { Decider } from "../../src/decide/Decider.ts"
import type { TemplateId } from "../../src/domain/Ids.ts"
import { AttributeStatistics } from "../../src/learning/AttributeStatistics.ts"
import { Learning } from "../../src/learning/Learning.ts"
import { Policies } from "../../src/learning/Policies.ts"
import { layerQuiet, makeOrg, tallies } from "../intake/support.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { makeWatch } from "../support/platformServers/Watch.ts"
import { makeOrganization, waitUntil } from "../support/service.ts"
import { ask, counted, day, makeTemplate, plant, type Services, settle, suiteOnServer, type Trace } from "./support.ts"

/** The real policies, with a note of every window that is fitted, and a door that fits wait at while it is closed. */
const observed = Effect.gen(function* () {
  const learning = yield* Learning
  const fitted: Array<string> = []
  const { changed, until } = makeWatch()
  const door = { opened: Promise.resolve() as Promise<void>, open: () => {} }
  const close = () => {
    door.opened = new Promise((resolve) => door.open = resolve)
  }
  const layerLearning = Layer.succeed(
    Learning,
    Learning.of({
      ...learning,
      windowed: (org, template, window) => {
        fitted.push(`${org}/${template} ${window.lookbackDays}/${window.offsetDays}`)
        changed()
        return Effect.andThen(Effect.promise(() => door.opened), learning.windowed(org, template, window))
      },
    }),
  )
  const context = yield* Effect.context<Services>()
  const own = yield* Layer.build(
    // Another one than the services have.
    Layer.fresh(Policies.layer).pipe(Layer.provide(layerLearning), Layer.provide(Layer.succeedContext(context))),
  )
  return { policies: yield* Effect.provideContext(Policies, own), fitted, until, close, open: () => door.open() }
})

const subject = (slug: string, floor = 0.01, runnerUpFloor = 0) => ({
  id: "t",
  org: { slug, explorationFloor: floor },
  runnerUpFloor,
})

const sends = ({ model }: { readonly model: { readonly variants: ReadonlyArray<{ readonly sends: number }> } }) =>
  model.variants.reduce((sum, variant) => sum + variant.sends, 0)

describe("Policies", () => {
  const environment = temporaryEnvironment
  const seededChance = Layer.effect(Random.Random, Random.withSeed(Random.Random, "policies"))
  const services = Layer.unwrap(Effect.map(environment, layerQuiet)).pipe(Layer.provide(seededChance))

  layer(services, { excludeTestServices: true })((it) => {
    it.effect("fits a window once for concurrent requests", () =>
      Effect.scoped(Effect.gen(function* () {
        yield* makeOrg("once")
        yield* plant("once", { copy: "a", decisions: 20, outcomes: { click: 2 } })
        yield* settle("once")
        const { fitted, policies } = yield* observed
        const window = { lookbackDays: 14, offsetDays: 0 }
        const template = subject("once")
        const now = Date.now()
        assert.isFalse(policies.isReady(template, window, now))
        yield* Effect.all(
          [
            ...Array.from({ length: 20 }, () => policies.prepare(template, window, now)),
            policies.prepare(template, { ...window, lookbackDays: 7 }, now),
          ],
          { concurrency: "unbounded", discard: true },
        )
        assert.deepStrictEqual(fitted.toSorted(), ["once/t 14/0", "once/t 7/0"])
        assert.isTrue(policies.isReady(template, window, now))
        assert.strictEqual(sends(policies.policy(template, window, now)), 20)
        // The policy object is reused with its computed weights.
        assert.strictEqual(policies.policy(template, window, now), policies.policy(template, window, now + 1000))
      })))

    for (
      const { fresh, offsetDays } of [{ offsetDays: 0, fresh: 5_000 }, { offsetDays: 1, fresh: 60_000 }]
    ) {
      it.effect(`reuses the fit of a window that ends ${offsetDays} days ago for ${fresh / 1000} s, and then while it is refitted`, () =>
        Effect.scoped(Effect.gen(function* () {
          const slug = `fresh-${offsetDays}`
          yield* makeOrg(slug)
          yield* plant(slug, { copy: "a", decisions: 10 })
          yield* settle(slug)
          const { close, fitted, open, policies, until } = yield* observed
          const window = { lookbackDays: 14, offsetDays }
          const template = subject(slug)
          const start = Date.now()
          yield* policies.prepare(template, window, start)
          const first = policies.policy(template, window, start)
          assert.strictEqual(sends(first), 10)
          assert.isTrue(policies.isReady(template, window, start + fresh))
          assert.strictEqual(fitted.length, 1)

          yield* plant(slug, { copy: "b", decisions: 5 })
          yield* settle(slug)
          close()
          const later = start + fresh + 1
          assert.isTrue(policies.isReady(template, window, later))
          assert.isTrue(policies.isReady(template, window, later))
          yield* Effect.promise(() => until(() => fitted.length === 2))
          assert.isTrue(policies.isReady(template, window, later + 1000))
          assert.strictEqual(policies.policy(template, window, later), first)
          open()
          yield* Effect.promise(() =>
            waitUntil("the new fit is used", () => policies.policy(template, window, later) !== first)
          )
          assert.strictEqual(sends(policies.policy(template, window, later)), 15)
          assert.isTrue(policies.isReady(template, window, later + fresh))
          assert.strictEqual(fitted.length, 2)
          // Two minutes old it is no longer good enough even for that.
          assert.isFalse(policies.isReady(template, window, later + 120_001))
        })))
    }

    it.effect("refits a requested window within 5 seconds after the adaptive model changes its attributes", () =>
      Effect.scoped(Effect.gen(function* () {
        yield* makeOrg("attributes")
        yield* makeTemplate("attributes", "t", ["a", "b"])
        const { fitted, policies } = yield* observed
        const learning = yield* Learning
        const window = { lookbackDays: 14, offsetDays: 3 }
        const template = subject("attributes")
        const start = Date.now()
        yield* policies.prepare(template, window, start)
        const namesOf = ({ model }: { readonly model: ModelSnapshot }) => model.scheme.keys.map(({ name }) => name)
        const shown = Effect.map(learning.model("attributes", "t", window), (model) => namesOf({ model }))
        assert.deepStrictEqual(yield* shown, [])

        for (let n = 0; n < 20; n++) policies.observe(template, new Map([["plan", [n % 2 ? "pro" : "free"]]]), start)
        yield* (yield* AttributeStatistics).flush
        yield* plant("attributes", { copy: "a", decisions: 10 })
        yield* settle("attributes")
        assert.deepStrictEqual(namesOf(policies.policy(template, undefined, start)), ["plan"])
        assert.deepStrictEqual(yield* shown, ["plan"])
        // Five seconds of traffic need no new fit, and no request arrived since.
        assert.isTrue(policies.isReady(template, window, start + 5_000))
        assert.strictEqual(fitted.length, 1)
        assert.isTrue(policies.isReady(template, window, start + 5_001))
        yield* Effect.promise(() =>
          waitUntil(
            "the window's model uses the attribute",
            () => namesOf(policies.policy(template, window, start)).length === 1,
          )
        )
        assert.isTrue(policies.isReady(template, window, start + 60_000))
        assert.strictEqual(fitted.length, 2)
      })))

    it.effect("applies a changed share of exploration at once", () =>
      Effect.scoped(Effect.gen(function* () {
        yield* makeOrg("floor")
        yield* plant("floor", { copy: "a", decisions: 400, outcomes: { click: 200 } })
        yield* plant("floor", { copy: "b", decisions: 400 })
        yield* settle("floor")
        const { policies } = yield* observed
        const now = Date.now()
        const set = eligibleSet(["a", "b"])
        for (const window of [undefined, { lookbackDays: 14, offsetDays: 0 }]) {
          for (const floor of [0.01, 0.2, 0]) {
            const template = subject("floor", floor)
            if (window !== undefined) {
              assert.isFalse(policies.isReady(template, window, now))
              yield* policies.prepare(template, window, now)
            }
            const policy = policies.policy(template, window, now)
            const { weights } = policy.choice(policy.contextOf(new Map(), 0), set)
            assert.approximately(weights[1]!, floor / 2, 1e-6)
          }
        }
        yield* makeOrg("close")
        yield* makeTemplate("close", "t", ["a", "b"])
        yield* plant("close", { copy: "a", decisions: 1000, outcomes: { click: 48 }, ago: 9 * day })
        yield* plant("close", { copy: "b", decisions: 1000, outcomes: { click: 30 }, ago: 9 * day })
        yield* settle("close")
        const share = (runnerUpFloor: number) => {
          const policy = policies.policy(subject("close", 0, runnerUpFloor), undefined, now)
          return policy.choice(policy.contextOf(new Map(), 0), set).weights[1]!
        }
        assert.approximately(share(0.1), 0.05, 1e-6)
        assert.isBelow(share(0), 0.04)
      })))

    it.effect("uses the fit of each window if many windows are requested at the same time", () =>
      Effect.gen(function* () {
        yield* makeOrg("many")
        for (const template of ["t", "u"]) {
          yield* makeTemplate("many", template, ["a", "b"])
          yield* plant("many", { template, copy: "a", decisions: 10 })
        }
        // The actor of the first template runs. The actor of the second one has not read its state yet.
        yield* settle("many", "t", "u")
        const decider = yield* Decider
        const unfitted: Array<string> = []
        yield* Effect.forEach(
          Array.from({ length: 60 }, (_, n) => 10 + n / 10),
          (lookbackDays) =>
            Effect.map(
              decider.decideBatch("many", {
                items: ["t", "u"].map((template) => ({
                  templateId: template as TemplateId,
                  trackingId: undefined,
                  copyId: undefined,
                })),
                userId: undefined,
                fields: {},
                attrs: new Map(),
                epsilon: undefined,
                window: { lookbackDays, offsetDays: 0 },
                useCache: true,
                trace: true,
              }),
              (outcomes) => {
                for (const [template, { trace }] of outcomes as ReadonlyArray<readonly [string, { trace?: Trace }]>) {
                  if (trace.candidates[0].sends < 10) unfitted.push(`${template} ${lookbackDays}`)
                }
              },
            ),
          { concurrency: "unbounded" },
        )
        assert.deepStrictEqual(unfitted, [])
      }))

    it.effect("chooses the best estimate with epsilon 0, and evenly with epsilon 1", () =>
      Effect.gen(function* () {
        yield* makeOrg("epsilon")
        const ids = ["a", "b", "c", "d"]
        yield* makeTemplate("epsilon", "t", ids)
        for (const [n, copy] of ids.entries()) {
          yield* plant("epsilon", { copy, decisions: 200, outcomes: { click: 20 + (copy === "c" ? 10 : n) } })
        }
        yield* settle("epsilon")
        const draw = (epsilon: number) =>
          Effect.map(ask("epsilon", { epsilon }), (outcome) => {
            assert.strictEqual(outcome._tag, "Chosen")
            const { copyId } = outcome as { readonly copyId: string }
            assert.strictEqual(outcome.trace.mode, "epsilon")
            assert.strictEqual(
              outcome.trace.propensity,
              epsilon === 1 ? 0.25 : copyId === "c" ? 1 : Number.NaN,
            )
            return copyId
          })
        const greedy = yield* Effect.all(Array.from({ length: 100 }, () => draw(0)), { concurrency: 20 })
        assert.deepStrictEqual([...new Set(greedy)], ["c"])
        const times = 800
        const even = yield* Effect.all(Array.from({ length: times }, () => draw(1)), { concurrency: 50 })
        const chiSquare = ids.reduce((sum, id) => {
          const drawn = even.filter((one) => one === id).length
          return sum + (drawn - times / 4) ** 2 / (times / 4)
        }, 0)
        // Three degrees of freedom: beyond this once in a thousand seeds.
        assert.isBelow(chiSquare, 16.27)
      }))

    it.effect("reports forced decisions and never learns from them", () =>
      Effect.gen(function* () {
        yield* makeOrg("forced")
        yield* makeTemplate("forced", "t", ["a", "b"])
        for (let n = 0; n < 10; n++) {
          const { trace } = yield* ask("forced", { copy: "b", attrs: { plan: "pro" } })
          assert.strictEqual(trace.mode, "forced")
          assert.isNull(trace.propensity)
        }
        yield* settle("forced")
        assert.match((yield* tallies("forced")).join(), /^b \S+ forced: decisions 10$/)
        assert.deepStrictEqual(yield* counted("forced"), [])
        const { trace } = yield* ask("forced", { useCache: false })
        assert.deepStrictEqual(trace.candidates.map(({ sends }: { sends: number }) => sends), [0, 0])
      }))
  })
})

suiteOnServer("Policies in API calls", (server) => {
  it("includes a just acknowledged event if the caller bypasses the cache", async () => {
    const { service } = server()
    const key = await makeOrganization(service, "acme", ["generate", "events"])
    const post = async (path: string, body: unknown) => {
      const response = await service.request(path, {
        method: "POST",
        headers: { "x-api-key": key, "content-type": "application/json" },
        body: JSON.stringify(body),
      })
      assert.strictEqual(response.status, 200)
      return response.json()
    }
    await service.manage("POST", "/organizations/acme/templates", {
      id: "t",
      name: "T",
      variants: ["a", "b"].map((id) => ({ id, vars: { s: id } })),
    })
    const batch = async (useCache: boolean): Promise<Trace> =>
      (await post("/api/batch-generate/acme", {
        requests: [{ template_id: "t" }],
        use_cache: useCache,
        offset_days: 0,
        trace: true,
      })).t.trace
    const seen = (trace: Trace) => {
      const sum = (name: string) => trace.candidates.reduce((all: number, candidate: Trace) => all + candidate[name], 0)
      return { sends: sum("sends"), clicks: sum("clicks") }
    }
    // The promise holds for an actor that answers in time, which the first start of a worker may not leave.
    await server().run(settle("acme"))
    let decisions = 0
    for (let round = 1; round <= 15; round++) {
      const { tracking_id } = await post("/api/generate/acme", { template_id: "t" })
      decisions++
      assert.deepStrictEqual(
        await post("/api/webhook/events/acme", { event: "click", tracking_id }),
        { status: "ok", received: 1, items: [{ index: 0, status: "accepted" }] },
      )
      // Others ask for the same window, so that a fit may be under way that does not know of the event.
      const others = round % 3 === 0 ? [batch(true), batch(true), batch(false)] : []
      const trace = await batch(false)
      await Promise.all(others)
      assert.isFalse(trace.cache_used)
      const { clicks, sends } = seen(trace)
      assert.strictEqual(clicks, round, `round ${round}`)
      assert.isAtLeast(sends, decisions)
      decisions += 1 + others.length
    }
  })
})
