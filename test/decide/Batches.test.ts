import { assert, describe, layer } from "@effect/vitest"
import { Clock, Effect, Fiber, Layer } from "effect"
import type { BatchRequest } from "../../src/decide/DecideRequest.ts"
import { Decider } from "../../src/decide/Decider.ts"
import type { Answer } from "../../src/decide/Answer.ts"
import type { CopyId, TemplateId } from "../../src/domain/Ids.ts"
import { Templates } from "../../src/templates/Templates.ts"
import { layerQuiet, makeOrg, org } from "../intake/support.ts"
import { temporaryEnvironment } from "../support/stores.ts"

/** The clock of the service under test. Each reading may advance it by some milliseconds. `stopped`: its fixed time. */
const time = {
  millisAReading: 0,
  monotonicAReading: 0,
  /** How often the monotonic clock has been read: for every 4,096 steps of an item that is rendered. */
  monotonicReadings: 0,
  wall: 0,
  monotonic: 0,
  stopped: undefined as number | undefined,
}

const layerClock = Layer.effect(
  Clock.Clock,
  Effect.map(Clock.Clock, (live): Clock.Clock =>
    Object.assign(Object.create(live), {
      currentTimeMillisUnsafe: () =>
        time.stopped ?? live.currentTimeMillisUnsafe() + (time.wall += time.millisAReading),
      monotonicTimeNanosUnsafe: () => {
        time.monotonicReadings++
        return BigInt((time.monotonic += time.monotonicAReading) * 1_000_000)
      },
    })),
)

const real = Effect.sync(() =>
  void Object.assign(time, { millisAReading: 0, monotonicAReading: 0, stopped: undefined })
)

const asked = (templates: ReadonlyArray<string>, more: Partial<BatchRequest> = {}): BatchRequest => ({
  items: templates.map((id) => ({ templateId: id as TemplateId, trackingId: undefined, copyId: undefined })),
  userId: undefined,
  fields: {},
  attrs: new Map(),
  epsilon: undefined,
  window: { lookbackDays: 14, offsetDays: 3 },
  useCache: true,
  trace: false,
  ...more,
})

const told = (outcome: Answer): string =>
  outcome._tag === "NotRendered"
    ? outcome.error.faults.map(({ detail, variable }) => `${variable}: ${detail}`).join("; ")
    : outcome._tag

const ids = (count: number) => Array.from({ length: count }, (_, i) => `t${i}`)

const makeTemplates = Effect.fnUntraced(function* (slug: string, sources: ReadonlyArray<string>) {
  yield* makeOrg(slug)
  const templates = yield* Templates
  for (const [i, source] of sources.entries()) {
    yield* templates.create(org(slug), {
      id: `t${i}` as TemplateId,
      name: "T",
      variants: [{ id: "v" as CopyId, vars: { s: source } }],
    })
  }
})

/** A source that takes more than 4,096 steps and little time. */
const text = (id: string) => `text of ${id}{% for i in (1..5000) %}{% endfor %}`

describe("Batches", () => {
  const environment = temporaryEnvironment
  const services = Layer.unwrap(Effect.map(environment, layerQuiet)).pipe(
    Layer.provide(layerClock),
  )
  layer(services, { excludeTestServices: true })((it) => {
    it.effect("answer the other items if some take too much work", () =>
      Effect.gen(function* () {
        const loop = "{% for i in (1..n) %}{% for j in (1..1000) %}{% endfor %}{% endfor %}"
        yield* makeTemplates("limits", ids(20).map((_, i) => i % 2 === 0 ? loop : `fine ${i}`))
        const decider = yield* Decider
        const outcomes = yield* decider.decideBatch("limits", asked(ids(20), { fields: { n: 1_000 } }))
        assert.deepStrictEqual(outcomes.map(([id]) => id), ids(20))
        for (const [i, [, outcome]] of outcomes.entries()) {
          if (i % 2 === 0) {
            assert.match(told(outcome), /^s: takes too much work to render \(more than 125,000 steps, an even share/)
          } else assert.deepStrictEqual(outcome._tag === "Chosen" && outcome.vars, { s: `fine ${i}` })
        }
      }))

    it.effect("stop a rendering at its time limit, and render the next item", () =>
      Effect.gen(function* () {
        yield* makeTemplates("time", ["{% for i in (1..n) %}{% for j in (1..1000) %}{% endfor %}{% endfor %}", "fine"])
        const decider = yield* Decider
        time.monotonicAReading = 20
        const outcomes = yield* Effect.ensuring(
          decider.decideBatch("time", asked(ids(2), { fields: { n: 100 } })),
          real,
        )
        assert.match(told(outcomes[0]![1]), /^s: takes too long to render \(more than 50 ms, an even share/)
        assert.strictEqual(told(outcomes[1]![1]), "Chosen")
      }))

    /** The numbers of readings of the clock for budgets that another fiber saw between two items of a batch. */
    const seenBeside = Effect.fnUntraced(function* (slug: string, count: number) {
      const decider = yield* Decider
      const before = time.monotonicReadings
      const seen = new Set<number>()
      const other = yield* Effect.forkChild(
        Effect.forever(Effect.andThen(Effect.yieldNow, Effect.sync(() => seen.add(time.monotonicReadings - before)))),
      )
      yield* Effect.yieldNow
      const outcomes = yield* decider.decideBatch(slug, asked(ids(count)))
      const all = time.monotonicReadings - before
      yield* Fiber.interrupt(other)
      assert.deepStrictEqual(outcomes.map(([, outcome]) => told(outcome)), ids(count).map(() => "Chosen"))
      assert.isAtLeast(all, count)
      return [...seen].filter((readings) => readings > 0 && readings < all)
    })

    it.effect("yield to other requests between slow items, and still share a commit", () =>
      Effect.gen(function* () {
        yield* makeTemplates("turns", ids(20).map(text))
        time.millisAReading = 2
        const seen = yield* Effect.ensuring(seenBeside("turns", 20), real)
        assert.isAtLeast(seen.length, 5)
      }))

    it.effect("take one turn for cheap items", () =>
      Effect.gen(function* () {
        yield* makeTemplates("cheap", ids(20).map(text))
        time.stopped = Date.now()
        assert.deepStrictEqual(yield* Effect.ensuring(seenBeside("cheap", 20), real), [])
      }))

    it.effect("limit the rendering of repeated answers by the same budget", () =>
      Effect.gen(function* () {
        yield* makeTemplates("retries", ["{% for i in (1..n) %}{% for j in (1..1000) %}{% endfor %}{% endfor %}"])
        const decider = yield* Decider
        const items = [{ templateId: "t0" as TemplateId, trackingId: "once", copyId: undefined }]
        const decide = (n: number) => decider.decideBatch("retries", asked([], { items, fields: { n } }))
        assert.strictEqual(told((yield* decide(1))[0]![1]), "Chosen")
        assert.match(told((yield* decide(1_000))[0]![1]), /^s: takes too much work/)
        assert.strictEqual(told((yield* decide(100))[0]![1]), "Chosen")
      }))

    it.effect("report targeting that takes too much work", () =>
      Effect.gen(function* () {
        yield* makeOrg("targeting")
        const templates = yield* Templates
        const targeting = Array.from({ length: 50 }, () => ({ attribute: "a", op: "is_not" as const, values: ["x"] }))
        for (const sticky_hours of [0, 1]) {
          yield* templates.create(org("targeting"), {
            id: `sticky${sticky_hours}` as TemplateId,
            name: "T",
            sticky_hours,
            variants: Array.from({ length: 20 }, (_, i) => ({ id: `v${i}` as CopyId, vars: { s: "s" }, targeting })),
          })
        }
        const decider = yield* Decider
        const attrs = new Map([["a", Array.from({ length: 1_000 }, (_, i) => `value ${i}`)]])
        const limit = /^targeting: takes too much work to check \(more than 500,000 steps\): send fewer values/
        for (const id of ["sticky0", "sticky1"]) {
          const ask = { templateId: id as TemplateId, trackingId: undefined, userId: "u", fields: {}, attrs }
          assert.match(told(yield* decider.decide("targeting", ask)), limit)
          assert.match(told(yield* decider.decide("targeting", { ...ask, trace: true, copyId: "v1" as CopyId })), limit)
          assert.strictEqual(
            told(yield* decider.decide("targeting", { ...ask, attrs: new Map([["a", ["y"]]]) })),
            "Chosen",
          )
        }
        const [[, outcome] = []] = yield* decider.decideBatch("targeting", asked(["sticky0"], { attrs, trace: true }))
        assert.match(told(outcome!), limit)
      }))
  })
})
