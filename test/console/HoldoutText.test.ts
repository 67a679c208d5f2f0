import { assert, describe, it } from "@effect/vitest"
import { holdoutLines } from "../../src/cli/ResultsText.ts"
import { comparisonText } from "../../src/console/pages/results/Holdout.tsx"
import { holdoutWords } from "../../src/console/pages/templates/Words.ts"
import { peopleGroups } from "../../src/bandit/Holdout.ts"
import type { CopyId } from "../../src/domain/Ids.ts"
import { holdoutResults } from "../../src/results/HoldoutResults.ts"

const side = (decisions: number, click: number) =>
  Array.from({ length: peopleGroups }, () => [decisions, click, 0, 0, 0])

const resultsOf = (clicks: number) =>
  holdoutResults({ share: 0.1, content: "even" }, [{
    holdout: "0.1 even",
    first: new Date(0),
    last: new Date(0),
    treated: side(900, clicks),
    control: side(100, 5),
  }], "click")!

describe("a holdout in words", () => {
  it("shows a difference with its interval, and the number of sends still needed", () => {
    const within = comparisonText(resultsOf(48).outcomes[0]!)
    assert.match(
      within,
      /^The click rate differs by \+0\.33 percentage points from the holdout .* may still be chance\. /,
    )
    assert.match(within, /takes about \d[^a-z]* more sends\.$/)
    assert.match(comparisonText(resultsOf(90).outcomes[0]!), /^The click rate differs by \+5\.00 .* to \+\d\.\d\d\)\.$/)
    const none = holdoutResults({ share: 0.1, content: "even" }, [], "click")!
    assert.include(comparisonText(none.outcomes[0]!), "nothing to be compared with yet")
  })

  it("has the same figures on a terminal", () => {
    const [about, line] = holdoutLines(resultsOf(48))
    assert.strictEqual(about, "Holdout of 10 %, with a random split:")
    assert.match(line!, /^ {2}click: 5\.3 % of 28800 treated, 5\.0 % of 3200 held out; difference \+0\.33 points \(/)
    assert.deepStrictEqual(holdoutLines(null), [])
    assert.match(
      holdoutLines(holdoutResults({ share: 0.1, content: "no_message" }, [], "click"))[0]!,
      /without a message: no results yet\. Decisions count once they are four days old/,
    )
  })

  it("describes the share and content of the holdout", () => {
    assert.strictEqual(holdoutWords(null), "organization default")
    assert.strictEqual(holdoutWords({ share: 0, content: "even" }), "none")
    assert.strictEqual(holdoutWords({ share: 0.05, content: "even" }), "5 % of people get a random split")
    const fixed = { share: 0.07, content: "fixed", copy_id: "warm" as CopyId } as const
    assert.strictEqual(holdoutWords(fixed), "7 % of people always get warm")
  })
})
