import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { anyValues, Counts } from "../../src/bandit/Counts.ts"
import { bucketAt, bucketWeight, isExpired, type Window } from "../../src/bandit/Window.ts"
import { adaptive, countsOf, day, fitRows, hour, now, promptCurve } from "./Samples.ts"
import { fit } from "../../src/bandit/Fit.ts"
import { defaultPriors } from "../../src/bandit/Priors.ts"

interface Send {
  readonly variant: string
  readonly context: string
  readonly age: number
  readonly clicked: boolean
}

const log = fc.array(
  fc.record({
    variant: fc.constantFrom("a", "b"),
    context: fc.constantFrom("plan=free", "plan=pro"),
    age: fc.integer({ min: 1, max: 200 * day }),
    clicked: fc.boolean(),
  }),
  { maxLength: 60 },
)

const rowOf = ({ age, context, clicked, variant }: Send, at = now) => ({
  variant,
  context,
  start: bucketAt(now - age, at).start,
  sends: 1,
  clicks: clicked ? 1 : 0,
})

const plain = (counts: Counts) =>
  counts.series().map(({ context, clicks, sends, starts, variant }) => ({ variant, context, starts, sends, clicks }))

describe("counts", () => {
  it("sum over a window to the logged sends", () => {
    const windows = fc.oneof(
      fc.constant<Window>({ mode: "adaptive", halfLifeDays: 30 }),
      fc.record({
        mode: fc.constant("window" as const),
        lookbackDays: fc.double({ min: 0.1, max: 200, noNaN: true }),
        offsetDays: fc.double({ min: 0, max: 30, noNaN: true }),
      }),
    )
    fc.assert(fc.property(log, windows, (sends, window) => {
      const model = fitRows(sends.map((send) => rowOf(send)), { window })
      for (const id of ["a", "b"]) {
        const inside = sends.filter(({ age, variant }) =>
          variant === id && bucketWeight(window, bucketAt(now - age, now), now) > 0
        )
        const variant = model.variants.find((known) => known.id === id)
        assert.strictEqual(variant?.sends ?? 0, inside.length)
        assert.strictEqual(variant?.clicks ?? 0, inside.filter(({ clicked }) => clicked).length)
      }
    }))
  })

  it("and their model are identical for any order of arrival", () => {
    fc.assert(fc.property(log, fc.infiniteStream(fc.nat()), (sends, chance) => {
      const shuffled = sends.map((send) => ({ send, at: chance.next().value as number }))
        .sort((a, b) => a.at - b.at).map(({ send }) => send)
      const first = countsOf(sends.map((send) => rowOf(send)))
      const second = countsOf(shuffled.map((send) => rowOf(send)))
      assert.deepStrictEqual(plain(first), plain(second))
      assert.deepStrictEqual(
        fitRows(sends.map((send) => rowOf(send))),
        fitRows(shuffled.map((send) => rowOf(send))),
      )
    }))
  })

  it("rolled up step by step equal counts rolled up at the end", () => {
    fc.assert(fc.property(log, (sends) => {
      const stepwise = countsOf(sends.map((send) => rowOf(send, now - 100 * day)))
      for (const age of [90, 60, 36, 20, 5, 4, 0]) stepwise.rollUp(now - age * day)
      const kept = sends.filter(({ age }) => !isExpired(bucketAt(now - age, now).start, now))
      assert.deepStrictEqual(plain(stepwise), plain(countsOf(kept.map((send) => rowOf(send)))))
    }))
  })

  it("not yet rolled up yield the same model as rolled up ones", () => {
    fc.assert(fc.property(log, (sends) => {
      const waiting = countsOf(sends.map((send) => rowOf(send, now - 150 * day)))
      const rolled = countsOf(sends.map((send) => rowOf(send, now - 150 * day)))
      rolled.rollUp(now)
      const model = (counts: Counts) =>
        fit({
          version: "t:1",
          counts,
          scheme: { keys: [], builtIns: [] },
          window: adaptive,
          curve: promptCurve,
          now,
          organization: defaultPriors,
        })
      const a = model(waiting)
      const b = model(rolled)
      assert.strictEqual(a.variants.length, b.variants.length)
      a.variants.forEach(({ beta, clicks, sends }, i) => {
        assert.closeTo(beta[0]!, b.variants[i]!.beta[0]!, 1e-9)
        assert.deepStrictEqual([sends, clicks], [b.variants[i]!.sends, b.variants[i]!.clicks])
      })
    }))
  })

  it("credit a late click to the bucket of its send", () => {
    const counts = new Counts()
    counts.add("a", "", now - 2 * hour, 1, 0)
    counts.add("a", "", now - hour, 1, 0)
    counts.add("a", "", now - 2 * hour, 0, 1)
    assert.deepStrictEqual(plain(counts), [
      { variant: "a", context: "", starts: [now - 2 * hour, now - hour], sends: [1, 1], clicks: [1, 0] },
    ])
  })

  it("value an outcome as the sum of squared weights over the sum of weights", () => {
    const counts = (values: ReadonlyArray<number>) =>
      new Counts({
        values,
        squares: values.map((value) => value ** 2),
        mostPerSend: Infinity,
        firstWorth: Math.max(...values),
      })
    const none = counts([3, 0.5])
    assert.strictEqual(none.worth(), 3)
    none.add("a", "", now - hour, 100, 0, 4)
    assert.closeTo(none.worth(), 0.5, 1e-12)
    none.add("b", "", now - 2 * hour, 100, 2, 0)
    assert.closeTo(none.worth(), (4 * 0.25 + 2 * 9) / (4 * 0.5 + 2 * 3), 1e-12)
    assert.deepStrictEqual(none.totals(), [
      { start: now - 2 * hour, sends: 100, value: 6 },
      { start: now - hour, sends: 100, value: 2 },
    ])
    // A cost that takes all value away leaves a positive unit: the noise of the sum.
    const costly = counts([1, -10])
    costly.add("a", "", now - hour, 100, 10, 2)
    assert.closeTo(costly.worth(), Math.sqrt(10 + 200), 1e-12)
    // Revenue comes as sums of values and of their squares.
    const revenue = new Counts(anyValues)
    revenue.add("a", "", now - hour, 10, 30, 500)
    revenue.add("a", "", now - hour, 0, 20, 400)
    assert.closeTo(revenue.worth(), 900 / 50, 1e-12)
  })

  it("keep their value of an outcome through a roll-up and in any order", () => {
    const valuation = { values: [0.02, 0.7], squares: [0.0004, 0.49], mostPerSend: 0.72, firstWorth: 0.7 }
    fc.assert(fc.property(log, (sends) => {
      const of = (all: ReadonlyArray<Send>) => {
        const counts = new Counts(valuation)
        for (const send of all) {
          const { context, clicks, start, variant } = rowOf(send)
          counts.add(variant, context, start, 1, clicks, 1 - clicks)
        }
        return counts
      }
      const rolled = of(sends)
      rolled.rollUp(now)
      const kept = of(sends.filter(({ age }) => !isExpired(bucketAt(now - age, now).start, now)).toReversed())
      assert.deepStrictEqual(plain(rolled), plain(kept))
      assert.strictEqual(rolled.worth(), kept.worth())
      assert.deepStrictEqual(rolled.totals(), kept.totals())
    }))
  })

  it("remove a variant whose last sends have expired", () => {
    const counts = countsOf([{ variant: "old", context: "", start: now - 190 * day, sends: 5, clicks: 1 }])
    assert.deepStrictEqual([...counts.contexts()], [""])
    counts.rollUp(now)
    assert.deepStrictEqual(plain(counts), [])
    assert.deepStrictEqual([...counts.contexts()], [])
  })
})
