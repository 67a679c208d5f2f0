import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { h } from "preact"
import { renderToString } from "preact-render-to-string"
import { report } from "../../src/bandit/Report.ts"
import { choiceOf, chosenColumns } from "../../src/console/pages/results/Columns.ts"
import { leadOf } from "../../src/console/pages/results/Lead.ts"
import { placesOf } from "../../src/console/pages/results/OverTime.tsx"
import { sureText } from "../../src/console/pages/results/SwitchPages.tsx"
import { Variants } from "../../src/console/pages/results/Variants.tsx"
import {
  preferenceTexts,
  shipLabel,
  shippingText,
  shownVerdict,
  waitText,
} from "../../src/console/pages/results/Words.ts"
import { inLanguageOf } from "../../src/languages/Language.ts"
import { prepare } from "../../src/results/Composition.ts"
import { winnerSentence } from "../../src/cli/ResultsText.ts"
import { answerOf } from "../../src/results/Preferences.ts"
import { overNothingOf } from "../../src/results/OverNothing.ts"
import { sendNothingText } from "../../src/results/SendNothingText.ts"
import { input, won } from "../results/Samples.ts"

/** Results in which the plans prefer different variants. */
const divided = (more: Parameters<typeof input>[0] = {}) => {
  const { compose, request } = prepare(input(more))
  return compose(report(request))
}

/** Results in which no segment prefers another variant than all people. */
const results = (more: Parameters<typeof input>[0] = {}) => {
  const found = divided(more)
  return { ...found, segments: [], answer: answerOf({ ...found, segments: [] }, undefined) }
}

describe("sending nothing in results", () => {
  const found = results({ verdict: won("a") })
  const unsent = { ...found.variants[0]!, copy_id: "", name: "Send nothing" }
  const over = { difference_interval: [-0.2, -0.05] as const, value: null, interval: null }
  const judged: typeof found = {
    ...found,
    variants: [unsent, ...found.variants],
    winner: { ...found.winner, copy_id: "", leader: "", lift: null, lift_over_split: null },
    send_nothing: { ...over, copy_id: "a", difference: -0.1, probability: 0.01, share: 0.4 },
  }

  it("is named plainly as the winner", () => {
    const lead = leadOf(judged, [], undefined, "UTC")
    assert.strictEqual(lead.headline, "Sending nothing is best")
    assert.strictEqual(lead.advice, "Messages go only where they are worth their cost")
    assert.match(
      winnerSentence(judged),
      /^(Firm w|W)inner since .*: Send nothing\. On average over all people, a message/,
    )
  })

  it("is one of the choices that do equally well", () => {
    const winner = { ...judged.winner, verdict: "no_difference" as const, copy_id: null }
    const [first, second] = found.variants
    const text = /^(.*\. )?All 3 choices, sending nothing included, are within 5\s% of each other/
    const variants = [unsent, first!, second!]
    assert.match(winnerSentence({ ...judged, variants, winner }), text)
    assert.match(leadOf({ ...judged, variants, winner }, [], undefined, "UTC").headline, text)
    const stopped = { ...unsent, status: "stopped" as const }
    assert.match(
      winnerSentence({ ...judged, variants: [stopped, first!, second!], winner }),
      /Both variants are within 5 % of each other with a probability of 95 %\.$/,
    )
  })

  it("leaves a variant with a net loss its results before it is shipped", () => {
    const [first, ...others] = found.variants
    const loss = { ...judged, variants: [unsent, { ...first!, p_best: 0.02, expected_loss: null }, ...others] }
    assert.include(
      sureText(loss, "a"),
      "Its chance to be best is 2.0\u00a0%, and on average it costs more than it brings.",
    )
  })

  it("has no lift over people who had no outcome", () => {
    const lift = { ...over, best: "a", probability: 0.5, difference: -0.01, differenceInterval: [-0.1, 0.05] as const }
    const known = { ...lift, value: 0.5, interval: [0.1, 0.9] as const }
    const prior = { ...unsent, raw_rate: 0, rate: 1e-9, interval: [1e-10, 1e-8] as const }
    assert.isNull(overNothingOf(known, [prior, ...found.variants]).value)
    assert.strictEqual(overNothingOf(known, [{ ...prior, raw_rate: 0.001 }, ...found.variants]).value, 0.5)
  })

  it("is compared with the best variant in sentences", () => {
    const text = sendNothingText(judged, { nameOf: (id) => `<${id}>`, percent: (share) => `${100 * share} %` })
    assert.strictEqual(
      text,
      "Against sending nothing, <a> is worth −0.10 per send (95\u00a0% interval −0.20 to −0.050). It is better than " +
        "nothing with a probability of 1 %. 40 % of the requests send nothing now.",
    )
    assert.isUndefined(sendNothingText(found, { nameOf: String, percent: String }))
  })
})

describe("the first line of results", () => {
  it("names the leader, its lead, and the advice", () => {
    const lead = leadOf(results(), [], { kind: "days", days: 6 }, "UTC")
    assert.strictEqual(lead.headline, "The a leads, but the lead may be chance")
    assert.strictEqual(lead.advice, "Keep running about 6 days")
    assert.deepStrictEqual(lead.figures.map(({ label }) => label), [
      "Lift over The b, the runner-up",
      "Lift over a random split",
      "Chance to be best",
    ])
    assert.match(lead.figures[0]!.value, /^\+\d/)
    assert.match(lead.figures[0]!.detail, /^[+−].* to [+−]/)
    assert.strictEqual(leadOf(results(), [], { kind: "days", days: 1 }, "UTC").advice, "Keep running about 1 day")
    assert.include(leadOf(results(), [], { kind: "long" }, "UTC").advice, "more than 30 days")
    assert.include(leadOf(results(), [], undefined, "UTC").advice, "too small to say for how long")
  })

  it("says that different people prefer different variants, which ones, and what shipping costs", () => {
    const found = divided()
    const lead = leadOf(found, [], { kind: "long" }, "UTC")
    assert.strictEqual(lead.headline, "Different people prefer different variants")
    assert.strictEqual(lead.advice, "Keep personalizing")
    const pro =
      /Where plan is pro, The b does better: 5\.\d\d\u00a0% \(.* to .*\) instead of 2\.\d\d\u00a0% .* for The a\./
    const free = /Where plan is free, The a does better/
    assert.match(lead.preferences[0]!, pro)
    assert.match(lead.preferences[1]!, free)
    assert.deepStrictEqual(lead.figures.map(({ label }) => label), [
      "Personalizing over the best single variant",
      "Personalizing over a random split",
    ])
    assert.match(lead.figures[0]!.value, /^\+\d/)
    assert.match(lead.detail, /^The a is the best single variant/)
    assert.match(preferenceTexts(found, "a").join(), pro)
    assert.match(preferenceTexts(found, "b").join(), free)
    assert.deepStrictEqual(preferenceTexts(results(), "a"), [])
    const cost = /^Shipping it costs about \d.* clicks per 1,000 sends \(.* to .*\), .*\u00a0% of the present rate/
    assert.match(shippingText(found, "a"), cost)
    assert.match(shippingText(found, "b"), cost)
    assert.strictEqual(shippingText(results(), "a"), "")
  })

  it("advises to keep personalizing even where one variant is the best over all people", () => {
    const found = divided({ verdict: won("a") })
    const lead = leadOf(found, [], undefined, "UTC")
    assert.strictEqual(lead.headline, "Different people prefer different variants")
    assert.strictEqual(lead.advice, "Keep personalizing")
    assert.strictEqual(shipLabel(shownVerdict(found)), "Ship one variant")
    assert.match(
      sureText(found, "a"),
      /^Different people prefer different variants\. Its chance to be the best single variant is \d.*\u00a0%\.$/,
    )
    const place = { path: "/results", query: new URLSearchParams() }
    const table = (shown: typeof found) =>
      renderToString(h(Variants, { columns: ["rate"], results: shown, series: new Map(), place }))
    assert.notInclude(table(found), ">winner<")
    assert.include(table(results({ verdict: won("a") })), ">winner<")
    assert.strictEqual(leadOf(results({ verdict: won("a") }), [], undefined, "UTC").headline, "The a wins")
    const segment = leadOf(divided({ segment: new Map([["plan", "pro"]]) }), [], undefined, "UTC")
    assert.notInclude(segment.headline, "Different people")
  })

  it("says which days and decisions a winner still requires, also before a variant is shipped", () => {
    const found = results()
    const waiting = (days: number, sends: number) => {
      const missing = [...(days < 7 ? ["days" as const] : []), ...(sends < 100 ? ["sends" as const] : [])]
      const winner = { ...found.winner, days, matured_sends: sends, waiting_for: [...missing, "certainty" as const] }
      const variants = found.variants.map((one) => ({ ...one, share: one.copy_id === "a" ? 0.1 : 0.9 }))
      return { ...found, variants, winner }
    }
    const early = "day 1 of at least 7; about 900 more sends"
    const lead = leadOf(waiting(0.4, 12), [], undefined, "UTC")
    assert.strictEqual(lead.headline, `The a leads, but it is too early to name a winner: ${early}`)
    assert.strictEqual(lead.advice, "Keep running")
    assert.include(sureText(waiting(0.4, 12), "a"), `It is too early to name one: ${early}.`)
    assert.include(sureText(waiting(0.4, 12), "other"), `It is too early to name one: ${early}.`)
    assert.strictEqual(waitText(waiting(6.9, 200)), "day 7 of at least 7")
    assert.strictEqual(waitText(waiting(9, 99.99)), "about 1 more sends")
    assert.strictEqual(waitText(waiting(9, 200)), "")
    assert.notInclude(sureText(waiting(9, 200), "a"), "too early")
    const segment = leadOf({ ...waiting(0.4, 12), segment: { plan: "pro" } }, [], undefined, "UTC")
    assert.strictEqual(segment.headline, "The a leads, but the lead may be chance")
  })

  it("advises to ship a winner, and advises nothing for a segment or a single variant", () => {
    assert.strictEqual(leadOf(results({ verdict: won("a") }), [], undefined, "UTC").advice, "Ship it")
    const segment = leadOf(results({ segment: new Map([["plan", "pro"]]) }), [], undefined, "UTC")
    assert.strictEqual(segment.advice, "")
    const alone = leadOf(results({ eligible: new Set(["a"]) }), [], undefined, "UTC")
    assert.deepStrictEqual([alone.advice, alone.figures], ["", []])
  })

  it("says that a shipped variant gets all traffic, and that a single one was never compared", () => {
    const shipped = results({ eligible: new Set(["a"]) })
    const others = (change: (one: typeof shipped.variants[0]) => object) => ({
      ...shipped,
      variants: shipped.variants.map((one) => one.copy_id === "a" ? one : { ...one, ...change(one) }),
    })
    const wordsOf = (found: typeof shipped) => {
      const { badge, headline } = leadOf(found, [], undefined, "UTC")
      return [badge, headline]
    }
    assert.deepStrictEqual(wordsOf(others(() => ({ status: "stopped" }))), ["Shipped", "The a gets all traffic"])
    const never = others(() => ({ status: "stopped", decisions: 0 }))
    assert.deepStrictEqual(wordsOf(never), ["One variant", "The a has nothing to be compared with"])
    const later = others(() => ({ status: "out_of_season" }))
    assert.deepStrictEqual(wordsOf(later), ["One variant", "The a has nothing to be compared with"])
  })

  it("explains a verdict that today's chance to be best would not support", () => {
    const found = results({ verdict: won("a") })
    const lead = (best: number) => leadOf({ ...found, winner: { ...found.winner, p_best: best } }, [], undefined, "UTC")
    assert.match(
      lead(0.93).reason,
      /^The verdict was reached on .*, when the chance to be best was at least 97\.5\u00a0%\./,
    )
    assert.include(lead(0.93).reason, "kept until the evidence turns")
    assert.notInclude(lead(0.99).reason, "when the chance")
    assert.strictEqual(leadOf(results(), [], undefined, "UTC").reason, "")
    assert.notInclude(lead(0.93).reason, "figures below")
    const other = leadOf(results({ verdict: won("a"), segment: new Map([["plan", "pro"]]) }), [], undefined, "UTC")
    assert.include(
      other.reason,
      "The b has the highest rate in this window and segment; the figures below are about it.",
    )
  })

  it("names the day of the verdict in the organization's time zone", () => {
    const lead = (zone: string) => leadOf(results({ verdict: won("a") }), [], undefined, zone)
    assert.strictEqual(lead("UTC").badge, "Firm winner since 19 Nov 2026")
    assert.strictEqual(lead("Pacific/Auckland").badge, "Firm winner since 20 Nov 2026")
    assert.match(lead("Pacific/Auckland").reason, /^The verdict was reached on 20 Nov 2026\./)
  })

  it.effect("writes the numbers of its rules in the language of the page", () =>
    Effect.gen(function* () {
      const found = results({ verdict: won("a") })
      const same = { ...found.winner, verdict: "no_difference" as const, copy_id: null }
      const early = { ...results().winner, matured_sends: 4435.5, waiting_for: ["certainty" as const] }
      const [kept, reached, steps] = yield* Effect.sync(() => [
        leadOf({ ...found, winner: same }, [], undefined, "UTC").reason,
        leadOf({ ...found, winner: { ...found.winner, p_best: 0.93 } }, [], undefined, "UTC").reason,
        leadOf({ ...results(), winner: early }, [], undefined, "UTC").steps.map(({ now }) => now).join(),
      ]).pipe(inLanguageOf("de"))
      assert.include(kept, "7,5")
      assert.include(reached, "97,5")
      assert.include(steps, "4.435")
    }))

  it("says what the recorded probabilities say without a model", () => {
    const alone = {
      copy_id: "a",
      baseline: "b",
      from: "2026-11-01T00:00:00.000Z",
      to: "2026-11-20T00:00:00.000Z",
      decisions: 9000,
      difference: 0.0125,
      interval: [-0.004, 0.021] as const,
      supports: false,
    }
    const text = (without_model: typeof alone | null, verdict = won("a")) =>
      leadOf({ ...results({ verdict }), without_model }, [], undefined, "UTC").withoutModel
    assert.strictEqual(
      text(alone),
      "Without the model, the recorded probabilities of 9,000 sends leave the order open: the click rate of The a differs by " +
        "+1.3 percentage points (−0.40 to +2.1, valid however often you look) from that of The b. The firm verdict rests on " +
        "the model.",
    )
    assert.include(text({ ...alone, interval: [-0.02, -0.01] as never }), "say the opposite")
    assert.match(text({ ...alone, interval: [0.01, 0.02] as never, supports: true }), /confirm the order: .* The b\.$/)
    assert.strictEqual(text(null), "The firm verdict rests on the model.")
    assert.strictEqual(leadOf(results(), [], undefined, "UTC").withoutModel, "")
  })

  it("labels the action as shipping a winner only once there is one", () => {
    assert.strictEqual(shipLabel({ verdict: "undecided" }), "Ship one variant")
    assert.strictEqual(shipLabel({ verdict: "no_difference" }), "Ship one variant")
    assert.strictEqual(shipLabel({ verdict: "firm_winner" }), "Ship winner")
  })
})

describe("the outcomes gained", () => {
  const gainOf = (gained: number, low: number, high: number) =>
    leadOf(results(), [{ gain: { gained, interval: [low, high], even: 100 } }], undefined, "UTC").figures
      .find(({ label }) => label === "Additional clicks so far")

  it("are shown with their interval, unless it rounds to zero", () => {
    assert.deepInclude(gainOf(12, 4, 20), { value: "+12", detail: "+4 to +20" })
    assert.deepInclude(gainOf(1, -3, 5), { value: "+1", detail: "−3 to +5, may be chance" })
    assert.deepInclude(gainOf(0.1, -0.2, 0.3), { value: "+0", detail: "less than one so far" })
  })
})

describe("the table of variants", () => {
  it("shows events of machines in the cell of the count that leaves them out, with a link to the rule", () => {
    const found = results()
    const scanned = {
      ...found,
      set_aside: { clicks: 77, reasons: { ...found.set_aside.reasons, early: 77 } },
      variants: found.variants.map((one) => ({
        ...one,
        outcomes: { ...one.outcomes, click: 0 },
        automated: { ...one.automated, click: one.copy_id === "a" ? 77 : 0 },
      })),
    }
    const place = { path: "/results", query: new URLSearchParams() }
    const text = renderToString(h(Variants, { columns: ["click"], results: scanned, series: new Map(), place }))
    assert.match(text, />0<span class="sub machines">\(<a href="#by-machines">\+77 by machines<\/a>\)<\/span>/)
    assert.strictEqual(text.split("by machines</a>").length, 2, "only variants with such clicks")
    assert.match(text, /<p id="by-machines">.*77 clicks set aside: 77 around the delivery.*10 seconds after it/s)
    assert.notInclude(text, "Clicks on two links")
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
