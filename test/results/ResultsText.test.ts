import { assert, describe, it } from "@effect/vitest"
import { report } from "../../src/bandit/Report.ts"
import {
  bar,
  componentLines,
  fatigueLines,
  percent,
  resultsText,
  segmentText,
  variantsTable,
  winnerSentence,
  withoutModelLines,
} from "../../src/cli/ResultsText.ts"
import { rateDecimals } from "../../src/results/ObjectiveText.ts"
import { prepare, type ResultsInput } from "../../src/results/Composition.ts"
import type { WinnerResults } from "../../src/results/TemplateResults.ts"
import { contextOf, input, row, rows, variant, won } from "./Samples.ts"

const resultsOf = (more: Partial<ResultsInput> = {}) => {
  const { compose, request } = prepare(input(more))
  return compose(report(request))
}

describe("a bar", () => {
  it("shows an interval and its estimate on the common scale", () => {
    assert.strictEqual(bar([0, 10], 5, [0, 10], 11), "╶────●────╴")
    assert.strictEqual(bar([2, 6], 3, [0, 10], 11), "  ╶●──╴    ")
  })

  it("is a point if the interval or the scale has no length", () => {
    assert.strictEqual(bar([4, 4], 4, [0, 8], 5), "  ●  ")
    assert.strictEqual(bar([4, 4], 4, [4, 4], 5), "●    ")
  })
})

describe("the comparison without a model", () => {
  const alone = {
    copy_id: "a",
    baseline: "b",
    from: "2026-11-01T00:00:00.000Z",
    to: "2026-11-20T00:00:00.000Z",
    decisions: 9000,
    difference: 0.0125,
    interval: [0.004, 0.021] as const,
    supports: true,
  }
  const { winner } = resultsOf({ verdict: won("a") })
  const lines = (without_model: typeof alone | null, verdict = winner.verdict) =>
    withoutModelLines({ objective: "click", winner: { ...winner, verdict }, without_model })

  it("has a line, which says if a firm verdict rests on the model", () => {
    const text =
      "Without a model, by the recorded probabilities of 9000 decisions: a has +1.3 percentage points over b " +
      "(+0.40 to +2.1)."
    assert.deepStrictEqual(lines(alone), [text])
    assert.deepStrictEqual(lines({ ...alone, supports: false }), [`${text} The firm verdict rests on the model.`])
    assert.deepStrictEqual(lines({ ...alone, supports: false }, "winner"), [text])
    assert.deepStrictEqual(lines(null), ["The firm verdict rests on the model."])
    assert.deepStrictEqual(lines(null, "undecided"), [])
  })
})

describe("fatigue", () => {
  it("has a line for each number of earlier messages, and none without evidence", () => {
    assert.deepStrictEqual(fatigueLines([]), [])
    const [title, first, last] = fatigueLines([
      { earlier_from: 1, earlier_to: 1, change: -0.12, interval: [-0.2, 0.01] },
      { earlier_from: 4, earlier_to: null, change: -0.4, interval: [-0.5, -0.3] },
    ])
    assert.include(title!, "Fatigue")
    assert.strictEqual(first, "  after 1 earlier: -12 % (-20 % to +1 %).")
    assert.strictEqual(last, "  after 4 or more earlier: -40 % (-50 % to -30 %).")
  })
})

describe("a share in percent", () => {
  it("has only significant digits", () => {
    assert.deepStrictEqual(
      [0, 0.00004, 0.0035, 0.042, 0.83, 0.9996, 1, 3.2].map(percent),
      ["0 %", "<0.01 %", "0.35 %", "4.2 %", "83 %", ">99 %", "100 %", "320 %"],
    )
  })
})

describe("rates in percent", () => {
  it("have three digits, or two decimals if nothing was counted", () => {
    assert.deepStrictEqual(
      [0, 0.5, 0.042, 0.0035, 1e-12].map((largest) => rateDecimals(true, largest)),
      [2, 1, 2, 3, 6],
    )
    assert.deepStrictEqual([0, 40, 4.2, 0.35].map((largest) => rateDecimals(false, largest)), [2, 1, 2, 3])
  })

  it("are 0.00 % before the first outcome", () => {
    const counts = { decisions: 10, sent: 10 }
    const { variants } = resultsOf({ rows: [row("a", "", "learned", counts), row("b", "", "learned", counts)] })
    assert.match(variantsTable(variants, "click").split("\n")[2]!, / 0\.00 % +no data/)
  })
})

describe("the table of the variants", () => {
  it("is sorted by rate, with rates in percent and bars that start at the lowest bound", () => {
    const results = resultsOf()
    const lines = variantsTable(results.variants, "click").split("\n")
    assert.match(lines[0]!, /^variant +decisions +voided +matured +delivered +opens +clicks +conversions +raw rate/)
    assert.match(lines[2]!, /^a +10040 +40 +10000 .* 4\.70 % +4\.\d\d % +\d\.\d\d % to \d\.\d\d % .*●.* \d+ % /)
    assert.match(lines[3]!, /^b +10040 /)
    assert.isTrue(lines[2]!.includes("╴") && lines[3]!.includes("╶"))
    // Every column starts at the same place in every line.
    assert.strictEqual(lines[2]!.length, lines[3]!.length)
  })

  it("shows three digits of rates below 0, next to a rate of almost 0", () => {
    const [a, b] = resultsOf().variants
    const loss = { ...b!, rate: -0.085, interval: [-0.37, 0.03] as const }
    const lines = variantsTable([{ ...a!, rate: 1e-9, interval: [0, 1e-8] }, loss], { click: 1, negative: -8 }).split(
      "\n",
    )
    assert.match(lines[2]!, / 0\.0000 +0\.0000 to 0\.0000 /)
    assert.match(lines[3]!, / -0\.0850 +-0\.3700 to 0\.0300 /)
  })

  it("shows the revenue of a goal with revenue, and the amount in another currency", () => {
    const objective = { revenue: 1, revenue_cap: 200 }
    const results = resultsOf({
      template: { ...input().template, objective },
      rows: [
        row("a", "", "learned", {
          decisions: 10,
          conversion: 2,
          revenue: 45_500,
          revenue_square: 40,
          other_currency: 1,
        }),
        row("b", "", "learned", { decisions: 10 }),
      ],
    })
    assert.deepStrictEqual(results.revenue, { value: 45.5, other_currency: 1 })
    assert.strictEqual(results.variants[0]!.raw_rate, 4.55)
    const [head, , first] = variantsTable(results.variants, objective).split("\n")
    assert.match(head!, /conversions +revenue +raw rate/)
    assert.match(first!, / 2 +45\.50 +4\.55/)
    const text = resultsText(results, { segments: false })
    assert.include(text, "Rates are revenue up to 200 per decision")
    assert.include(text, "1 conversion is in another currency than the organization's and counts without value.")
    assert.isNull(resultsOf().revenue)
  })

  it("omits outcomes without counts, unless they are part of the goal", () => {
    const few = resultsOf({ rows: [row("a", "", "learned", { decisions: 10, open: 2 })] })
    const [head] = variantsTable(few.variants, "click").split("\n")
    assert.include(head, "opens")
    assert.include(head, "clicks")
    assert.notInclude(head, "delivered")
    assert.notInclude(head, "voided")
  })

  it("shows a dash for unknown values, and marks variants that cannot be selected", () => {
    const results = resultsOf({
      template: { ...input().template, variants: [variant("a"), variant("b", { active: false }), variant("new")] },
      eligible: new Set(["a", "new"]),
    })
    const lines = variantsTable(results.variants, "click").split("\n")
    assert.match(lines.find((line) => line.startsWith("new"))!, /^new +active +0 +0 +0 .* – /)
    assert.match(lines.at(-1)!, /^b +stopped .* – .* –$/)
  })

  it("shows the value of a mix as a number", () => {
    const text = variantsTable(resultsOf().variants, { click: 1, conversion: 5 })
    assert.match(text, / 0\.0470 +0\.04\d\d +0\.04\d\d to 0\.0\d\d\d /)
  })
})

describe("the sentence about the winner", () => {
  const { variants } = resultsOf()
  const lift = {
    baseline: "b",
    value: 0.31,
    interval: [0.12, 0.5],
    difference: 0.0092,
    difference_interval: [0.004, 0.015],
  } as const
  const sentence = (more: Partial<WinnerResults>, shown = variants) =>
    winnerSentence({
      objective: "click",
      variants: shown,
      winner: {
        state: "undecided",
        verdict: "undecided",
        since: null,
        lift: null,
        lift_over_split: null,
        losers: [],
        copy_id: null,
        leader: "warm",
        p_best: 0.72,
        expected_loss: 0.034,
        value_remaining: 0.1,
        days: 3.25,
        matured_sends: 41.7,
        waiting_for: [],
        ...more,
      },
    })

  it("shows the effect of each component", () => {
    const text = componentLines([
      { kind: "image", value: null, decisions: 40, lift: -0.052, interval: [-0.1, 0.01] },
      { kind: "image", value: "shoe", decisions: 60, lift: 0.048, interval: [-0.01, 0.11] },
    ]).join("\n")
    assert.match(text, /image\s+none\s+40\s+-5\.2 %\s+-10\.0 % to \+1\.0 %/)
    assert.match(text, /image\s+shoe\s+60\s+\+4\.8 %/)
    assert.deepStrictEqual(componentLines([]), [])
  })

  it("names a winner, its probability, and its lift", () => {
    assert.strictEqual(
      sentence({ verdict: "winner", copy_id: "warm", p_best: 0.98, since: "2026-11-20T08:00:00.000Z", lift }),
      "Winner since 2026-11-20: warm. It is the best with a probability of 98 %. Against b, the next best, warm has +31 % " +
        "(+12 % to +50 %), that is +0.92 percentage points (+0.40 to +1.5).",
    )
    assert.match(sentence({ verdict: "firm_winner", copy_id: "warm", p_best: 0.97 }), /^Firm winner: warm\. .* 97 %\.$/)
    assert.include(sentence({ verdict: "firm_winner", copy_id: "cold" }), "Here warm leads.")
  })

  it("reports that no variant is meaningfully better", () => {
    assert.strictEqual(
      sentence({ verdict: "no_difference" }),
      "No meaningful difference. Both variants are within 5 % of each other with a probability of 95 %.",
    )
  })

  it("lists the conditions of a winner and the progress toward them", () => {
    assert.strictEqual(
      sentence({ waiting_for: ["days", "sends", "certainty"] }),
      "Undecided: warm leads, the best with a probability of 72 %. A winner takes 7 days of data (3.2 days so far), 100 " +
        "matured decisions for warm (41 so far) and evidence that one is better than each of the others.",
    )
    assert.match(
      sentence({ leader: null, p_best: null, days: 0, matured_sends: 0, waiting_for: ["outcomes", "days"] }),
      /^Undecided: there is no data yet\. A winner/,
    )
    assert.strictEqual(sentence({}, variants.slice(0, 1)), "Undecided: a is the only active variant.")
    assert.strictEqual(sentence({}, []), "Undecided: no variant is active now.")
  })
})

describe("the results as text", () => {
  it("list the counts outside the table", () => {
    const text = resultsText(
      resultsOf({ rows: [...rows, row("a", contextOf("pro", "morning"), "forced", { decisions: 12, click: 2 })] }),
      { segments: false },
    )
    assert.match(text, /^welcome: 20080 decisions since 20\d\d-\d\d-\d\d; choices count older outcomes less/)
    assert.include(
      text,
      "Not in the table: 2000 opens and 40 clicks of machines and 12 decisions that were not drawn (forced, fixed or fallbacks) with 2 clicks.",
    )
    assert.match(text, /\n(Undecided|Winner|Firm winner): a/)
    assert.match(text, /next to the model's estimate for 20\d\d-\d\d-\d\d to 20\d\d-\d\d-\d\d\./)
    assert.lengthOf(text.match(/95 % intervals? held/g)!, 1)
    assert.notInclude(text, "plan=free")
  })

  it("say how many clicks were set aside, why, and both click rates", () => {
    const machines = row("a", contextOf("pro", "morning"), "automated", {
      click: 4,
      set_aside_early: 5,
      set_aside_burst: 2,
      only_set_aside: 3,
    })
    const learned = row("a", contextOf("pro", "morning"), "learned", { decisions: 100, click: 10 })
    assert.include(
      resultsText(resultsOf({ rows: [learned, machines] }), { segments: false }),
      "\n7 clicks set aside: 5 around the delivery and 2 on two links at once. Click rate: 10 % by people, 13 % with machines.",
    )
    assert.notInclude(resultsText(resultsOf({ rows: [learned] }), { segments: false }), "set aside")
  })

  it("contain a table for every segment on request", () => {
    const text = resultsText(resultsOf(), { segments: true })
    assert.match(text, /\nplan=free: 18040 decisions\n\nvariant /)
    assert.strictEqual(text.match(/^variant /gm)!.length, 5)
  })

  it("report a segment without decisions", () => {
    const text = resultsText(resultsOf({ segment: new Map([["plan", "gold"]]) }), { segments: false })
    assert.match(text, /^welcome, only plan=gold: 0 decisions/)
    assert.include(text, "There are no decisions in this segment.")
  })

  it("escape control characters in a caller's attributes", () => {
    assert.strictEqual(segmentText({ plan: "\u001b[31mred" }), "plan=%1B%5B31mred")
  })

  it("report a template without variants", () => {
    const text = resultsText(
      resultsOf({ template: { ...input().template, variants: [] }, eligible: new Set(), rows: [] }),
      { segments: true },
    )
    assert.include(text, "The template has no variants.")
    assert.notInclude(text, "Undecided")
  })
})
