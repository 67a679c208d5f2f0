import { assert, describe, it } from "@effect/vitest"
import { report } from "../../src/bandit/Report.ts"
import { choiceOf, chosenColumns } from "../../src/console/pages/results/Columns.ts"
import { leadOf } from "../../src/console/pages/results/Lead.ts"
import { placesOf } from "../../src/console/pages/results/OverTime.tsx"
import { shipLabel } from "../../src/console/pages/results/Words.ts"
import { prepare } from "../../src/results/Composition.ts"
import { input, won } from "../results/Samples.ts"

const results = (more: Parameters<typeof input>[0] = {}) => {
  const { compose, request } = prepare(input(more))
  return compose(report(request))
}

describe("the first line of results", () => {
  it("names the leader, its lead, and the advice", () => {
    const lead = leadOf(results(), [], { kind: "days", days: 6 })
    assert.strictEqual(lead.headline, "The a leads, but it is too early to name a winner")
    assert.strictEqual(lead.advice, "Keep running about 6 days")
    assert.deepStrictEqual(lead.figures.map(({ label }) => label), [
      "Lift over The b, the runner-up",
      "Lift over a random split",
      "Chance to be best",
    ])
    assert.match(lead.figures[0]!.value, /^\+\d/)
    assert.match(lead.figures[0]!.detail, /^95\u00a0% interval [+−].* to [+−]/)
    assert.strictEqual(leadOf(results(), [], { kind: "days", days: 1 }).advice, "Keep running about 1 day")
    assert.include(leadOf(results(), [], { kind: "long" }).advice, "more than 30 days")
    assert.include(leadOf(results(), [], undefined).advice, "too early to say for how long")
  })

  it("advises to ship a winner, and advises nothing for a segment or a single variant", () => {
    assert.strictEqual(leadOf(results({ verdict: won("a") }), [], undefined).advice, "Ship it")
    const segment = leadOf(results({ segment: new Map([["plan", "pro"]]) }), [], undefined)
    assert.strictEqual(segment.advice, "")
    const alone = leadOf(results({ eligible: new Set(["a"]) }), [], undefined)
    assert.deepStrictEqual([alone.advice, alone.figures], ["", []])
  })

  it("explains a verdict that today's chance to be best would not support", () => {
    const found = results({ verdict: won("a") })
    const lead = (best: number) => leadOf({ ...found, winner: { ...found.winner, p_best: best } }, [], undefined)
    assert.match(
      lead(0.93).reason,
      /^The verdict was reached on .*, when the chance to be best was at least 97\.5\u00a0%\./,
    )
    assert.include(lead(0.93).reason, "kept until the evidence turns")
    assert.notInclude(lead(0.99).reason, "when the chance")
    assert.strictEqual(leadOf(results(), [], undefined).reason, "")
    assert.notInclude(lead(0.93).reason, "figures below")
    const other = leadOf(results({ verdict: won("a"), segment: new Map([["plan", "pro"]]) }), [], undefined)
    assert.include(
      other.reason,
      "The b has the highest rate in this window and segment; the figures below are about it.",
    )
  })

  it("labels the action as shipping a winner only once there is one", () => {
    assert.strictEqual(shipLabel({ verdict: "undecided" }), "Give one variant all traffic")
    assert.strictEqual(shipLabel({ verdict: "no_difference" }), "Ship one variant")
    assert.strictEqual(shipLabel({ verdict: "firm_winner" }), "Ship winner")
  })
})

describe("the outcomes gained", () => {
  const gainOf = (gained: number, low: number, high: number) =>
    leadOf(results(), [{ gain: { gained, interval: [low, high], even: 100 } }], undefined).figures
      .find(({ label }) => label === "Additional clicks so far")

  it("are shown with their interval, unless it rounds to zero", () => {
    assert.deepInclude(gainOf(12, 4, 20), { value: "+12", detail: "95\u00a0% interval +4 to +20" })
    assert.deepInclude(gainOf(1, -3, 5), { value: "+1", detail: "95\u00a0% interval −3 to +5, may be chance" })
    assert.deepInclude(gainOf(0.1, -0.2, 0.3), { value: "+0", detail: "less than one so far" })
  })
})

describe("the columns of the table of variants", () => {
  it("are the default ones without a choice, and otherwise the chosen ones in table order", () => {
    assert.include(chosenColumns(undefined), "click")
    assert.notInclude(chosenColumns(undefined), "machines")
    assert.deepStrictEqual(chosenColumns(choiceOf("click\nrate")), ["rate", "click"])
  })

  it("ignore unknown columns, such as text of an attacker", () => {
    assert.isUndefined(choiceOf(""))
    assert.isUndefined(choiceOf("x; Path=/\n<script>"))
    assert.deepStrictEqual(chosenColumns("nothing.rate.<script>"), ["rate"])
  })
})

describe("the charts over time", () => {
  const idsIn = (
    decisions: Readonly<Record<string, number>>,
    winner: Partial<ReturnType<typeof results>["winner"]>,
  ) => {
    const found = results()
    return [
      ...placesOf({
        variants: Object.entries(decisions).map(([copy_id, decisions]) => ({
          ...found.variants[0]!,
          copy_id,
          decisions,
        })),
        winner: { ...found.winner, lift: null, leader: null, copy_id: null, ...winner },
      }).keys(),
    ]
  }
  const decisions = { a: 600, b: 500, c: 400, d: 300, e: 200, new: 30, next: 20, unused: 0 }

  it("show the five variants with the most decisions", () => {
    assert.deepStrictEqual(idsIn(decisions, {}), ["a", "b", "c", "d", "e"])
  })

  it("show the winner, the leader and the runner-up regardless of their number of decisions", () => {
    const lift = { ...results().winner.lift!, baseline: "next" }
    assert.deepStrictEqual(idsIn(decisions, { leader: "new", lift }), ["a", "b", "c", "new", "next"])
    assert.deepStrictEqual(idsIn(decisions, { copy_id: "e", leader: "new", lift }), ["a", "b", "e", "new", "next"])
    assert.deepStrictEqual(idsIn(decisions, { leader: "unused", lift }), ["a", "b", "c", "d", "next"])
  })
})
