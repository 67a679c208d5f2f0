import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { Budget } from "../../src/rendering/Budget.ts"
import { LimitReached } from "../../src/rendering/LimitReached.ts"
import * as Limits from "../../src/rendering/Limits.ts"
import { parseVars, render } from "../../src/rendering/Renderer.ts"
import { renderVars } from "./variants.ts"

/** A clock that is `millis` later at every reading. */
const ticking = (millis: number) => {
  let readings = 0
  return { now: () => ++readings * millis, readings: () => readings }
}

/** The message with which a budget ends when it spends `steps`, one at a time. */
const endOf = (budget: Budget, steps: number): string | undefined => {
  try {
    for (let i = 0; i < steps; i++) budget.spend(1)
  } catch (error) {
    assert.instanceOf(error, LimitReached)
    return error.message
  }
  return undefined
}

describe("Budget", () => {
  it("allows 500,000 steps for a request of one item, and then ends", () => {
    const budget = new Budget(1, () => 0)
    assert.isUndefined(endOf(budget, 500_000))
    assert.strictEqual(
      endOf(budget, 1),
      "takes too much work to render (more than 500,000 steps): loop over fewer elements, pass shorter values to filters",
    )
  })

  it("can be renewed once it is overdrawn, with its full number of steps", () => {
    const budget = new Budget(20, () => 0)
    assert.isFalse(budget.isOverdrawn)
    assert.isDefined(endOf(budget, 125_001))
    assert.isTrue(budget.isOverdrawn)
    const renewed = budget.renewed()
    assert.isFalse(renewed.isOverdrawn)
    assert.deepStrictEqual([renewed.stepsLeft, renewed.length], [125_000, budget.length])
  })

  it("divides the steps and the length of a request evenly among its items", () => {
    const budget = new Budget(20, () => 0)
    assert.strictEqual(budget.stepsLeft, 125_000)
    assert.strictEqual(budget.length, 209_715)
    assert.isUndefined(endOf(budget, 125_000))
    assert.strictEqual(
      endOf(budget, 1),
      "takes too much work to render (more than 125,000 steps, an even share of what a request for 20 templates has): " +
        "loop over fewer elements, pass shorter values to filters, or ask for fewer templates in one request",
    )
    assert.strictEqual(new Budget(5).stepsLeft, Limits.steps)
    assert.strictEqual(new Budget(2).length, Limits.variantLength)
  })

  it("ends after 50 ms, even with steps left", () => {
    const clock = ticking(10)
    const budget = new Budget(1, clock.now)
    assert.strictEqual(
      endOf(budget, 500_000),
      "takes too long to render (more than 50 ms): loop over fewer elements, pass shorter values to filters",
    )
    assert.isAbove(budget.stepsLeft, 400_000)
    assert.strictEqual(clock.readings(), 7)
  })

  it("ends after 25 ms for one of 20 items", () => {
    assert.match(
      endOf(new Budget(20, ticking(10).now), 125_000) ?? "",
      /^takes too long to render \(more than 25 ms, an/,
    )
  })

  it("stays exhausted with an unchanged message", () => {
    const budget = new Budget(1, ticking(10).now)
    const first = endOf(budget, 500_000)
    assert.isDefined(first)
    assert.strictEqual(endOf(budget, 1), first)
    budget.resume()
    assert.strictEqual(endOf(budget, 1), first)
  })

  it("reads the clock at most every 4,096 steps", () => {
    const clock = ticking(0)
    assert.isUndefined(endOf(new Budget(1, clock.now), 4_096))
    assert.strictEqual(clock.readings(), 0)
    assert.isUndefined(endOf(new Budget(1, clock.now), 500_000))
    assert.isAtMost(clock.readings(), 123)
    assert.isAtLeast(clock.readings(), 120)
  })

  it("does not charge the time between two periods of work", () => {
    const clock = ticking(0)
    let slept = 0
    const budget = new Budget(1, () => clock.now() + slept)
    for (let stretch = 0; stretch < 10; stretch++) {
      budget.resume()
      assert.isUndefined(endOf(budget, 20_000))
      slept += 1_000
    }
  })

  it("ends at a charge that is not a number", () => {
    const budget = new Budget(1, () => 0)
    assert.throws(() => budget.spend(NaN), LimitReached)
    assert.throws(() => budget.spend(0), LimitReached)
  })
})

describe("Rendering within a budget", () => {
  const heavy = "{% for i in (1..1000) %}{% for j in (1..300) %}{{ i }}{% endfor %}{% endfor %}"

  it("reports a limit fault with its position for every remaining variable when the time is over", () => {
    const rendered = renderVars({ a: "fine", b: `x\n${heavy}`, c: "{{ y }}" }, {}, {}, {
      budget: new Budget(1, ticking(10).now),
    })
    assert.isTrue(Result.isFailure(rendered))
    if (Result.isSuccess(rendered)) return
    assert.deepStrictEqual(
      rendered.failure.faults.map(({ kind, line, variable }) => [variable, kind, line]),
      [["b", "limit", 2], ["c", "limit", 1]],
    )
    assert.match(rendered.failure.faults[0]!.message, /^takes too long to render \(more than 50 ms\): /)
  })

  it("is shared by several variants", () => {
    const parsed = Result.getOrThrow(parseVars({ v: "{% for i in (1..1000) %}{{ i }}{% endfor %}" }, {}))
    const budget = new Budget(20, () => 0)
    const ends = Array.from(
      { length: 40 },
      () => Result.isSuccess(render(parsed, {}, { strict: false, now: 0, budget })),
    )
    assert.isTrue(ends[0])
    assert.isFalse(ends.at(-1))
    assert.deepStrictEqual(ends, ends.toSorted((left, right) => Number(right) - Number(left)))
  })

  it("limits the length of a variant to the item's part of the request, including constants", () => {
    const text = "a".repeat(60_000)
    const vars = Object.fromEntries(["a", "b", "c", "d"].map((name) => [name, text]))
    const one = renderVars(vars, {}, {}, { budget: new Budget(1) })
    assert.isTrue(Result.isSuccess(one))
    for (const tail of [{}, { e: "{{ x }}" }]) {
      const many = Result.getOrThrow(Result.flip(renderVars({ ...vars, ...tail }, { x: "y" }, {}, {
        budget: new Budget(20),
      })))
      assert.deepStrictEqual(many.faults.map(({ kind, message }) => [kind, message]), [
        ["limit", "makes the variant longer than 209715 characters"],
      ])
    }
  })

  it("charges texts read as numbers by their length, and does not read those above 400 characters", () => {
    const spentOn = (source: string, fields: Readonly<Record<string, unknown>>) => {
      const budget = new Budget(1, () => 0)
      Result.getOrThrow(renderVars({ v: source }, fields, {}, { budget }))
      return budget.spent
    }
    const short = spentOn("{{ l | sum }}", { l: Array.from({ length: 100 }, () => "9") })
    const long = spentOn("{{ l | sum }}", { l: Array.from({ length: 100 }, () => "9".repeat(300)) })
    assert.isAtLeast(long - short, 1_000)
    for (
      const source of ["{{ a | plus: 1 }}", "{{ 1 | times: a }}", "{% if a < 2 %}{% endif %}", "{{ (1..a) | size }}"]
    ) {
      const longer = { a: `0.${"0".repeat(390)}1` }
      assert.isAtLeast(spentOn(source, longer) - spentOn(source, { a: "0.1" }), 10, source)
    }
    const sum = Result.getOrThrow(renderVars({ v: "{{ l | sum }}" }, { l: ["1", "9".repeat(401), 2] }))
    assert.strictEqual(sum["v"], "")
  })
})

describe("Liquid in a variant", () => {
  const source = `${"text ".repeat(1_000)}${"{{ name | upcase }}".repeat(4_000)}`

  it("is limited to 131,072 characters over all variables, without the surrounding text", () => {
    const html = "<p>text</p>".repeat(40_000)
    const vars = Object.fromEntries(Array.from({ length: 4 }, (_, i) => [`v${i}`, `${html}{{ x }}`]))
    assert.isTrue(Result.isSuccess(parseVars(vars, {})))
    const faults = Result.getOrThrow(Result.flip(parseVars({ a: source, b: source, c: "{{ x }}" }, {}))).faults
    assert.deepStrictEqual(faults, [{
      variable: "b",
      line: 1,
      column: 1,
      message:
        "brings the tags and outputs of the variant above 131072 characters: remove some, or make several variants of it",
    }])
  })

  it("is counted for cached and new sources", () => {
    assert.isTrue(Result.isSuccess(parseVars({ a: source }, {})))
    assert.isTrue(Result.isSuccess(parseVars({ b: `${source} ` }, {})))
    assert.isTrue(Result.isFailure(parseVars({ a: source, b: `${source} ` }, {})))
  })
})
