import { assert, describe, it } from "@effect/vitest"
import { type CheckName, type HealthFacts, healthLine, healthOf, heldBack } from "../../src/results/Health.ts"
import type { WinnerResults } from "../../src/results/TemplateResults.ts"

const variant = (copyId: string) => ({
  copyId,
  renderings: { some: 0, all: 1_000 },
  sent: { some: 970, all: 1_000 },
})

const sound: HealthFacts = {
  from: Date.UTC(2026, 10, 1),
  decisions: 2_000,
  variants: [variant("a"), variant("b")],
  choices: [
    { copyId: "a", observed: 1_010, expected: 1_000, variance: 500 },
    { copyId: "b", observed: 990, expected: 1_000, variance: 500 },
  ],
  people: { people: 1_500, heaviest: 15, decisions: { some: 60, all: 2_000 }, outcomes: { some: 5, all: 100 } },
  machines: { some: 20, all: 200 },
  outside: { some: 0, all: 300 },
  repeated: { some: 0, all: 2_000 },
}

const found = (facts: Partial<HealthFacts>, check: CheckName) =>
  healthOf({ ...sound, ...facts }).checks.find((one) => one.check === check)!

describe("the health of a test", () => {
  it("is green if no check finds a problem", () => {
    const health = healthOf(sound)
    assert.deepStrictEqual(health.checks.filter(({ state }) => state !== "green"), [])
    assert.strictEqual(health.state, "green")
    assert.include(healthLine(health), "Healthy")
  })

  it("is red if a variant fails for one in ten people, and names the variant", () => {
    const failing = { ...variant("b"), renderings: { some: 100, all: 1_000 } }
    const one = found({ variants: [variant("a"), failing] }, "failed_renderings")
    assert.strictEqual(one.state, "red")
    assert.include(one.summary, `"b" could not be rendered in 100 of 1,000 choices (10 %)`)
    assert.deepStrictEqual(one.variants, [{ copy_id: "b", count: 100, of: 1_000 }])
  })

  it("is amber if a variant failed once", () =>
    assert.strictEqual(
      found({ variants: [variant("a"), { ...variant("b"), renderings: { some: 1, all: 1_000 } }] }, "failed_renderings")
        .state,
      "amber",
    ))

  it("is red if one variant is sent less often than another", () =>
    assert.strictEqual(
      found({ variants: [variant("a"), { ...variant("b"), sent: { some: 900, all: 1_000 } }] }, "sent").state,
      "red",
    ))

  it("is amber if few decisions of every variant are sent", () => {
    const half = (id: string) => ({ ...variant(id), sent: { some: 500, all: 1_000 } })
    assert.strictEqual(found({ variants: [half("a"), half("b")] }, "sent").state, "amber")
  })

  it("is unknown for sent messages if no variant has a sent event", () => {
    const none = (id: string) => ({ ...variant(id), sent: { some: 0, all: 1_000 } })
    assert.strictEqual(found({ variants: [none("a"), none("b")] }, "sent").state, "unknown")
  })

  it("is red if the split differs from the expected one", () =>
    assert.strictEqual(
      found({
        choices: [
          { copyId: "a", observed: 1_100, expected: 1_000, variance: 500 },
          { copyId: "b", observed: 900, expected: 1_000, variance: 500 },
        ],
      }, "split").state,
      "red",
    ))

  it("is red if one tester has a quarter of the decisions and most outcomes", () => {
    const people = { people: 151, heaviest: 2, decisions: { some: 51, all: 200 }, outcomes: { some: 16, all: 20 } }
    const one = found({ people }, "people")
    assert.strictEqual(one.state, "red")
    assert.include(one.summary, "(2 of 151) have 26 % of the decisions and 80 % of the outcomes")
  })

  it("accepts a low rate of outcomes where nobody has two", () => {
    const people = { people: 2_000, heaviest: 20, decisions: { some: 20, all: 2_000 }, outcomes: { some: 20, all: 40 } }
    assert.strictEqual(found({ people }, "people").state, "green")
    const twice = { ...people, outcomes: { some: 29, all: 60 } }
    assert.strictEqual(found({ people: twice }, "people").state, "amber", "9 of 60 are second outcomes")
  })

  it("ignores the outcomes of people if there are only a few", () => {
    const people = { people: 500, heaviest: 5, decisions: { some: 10, all: 600 }, outcomes: { some: 2, all: 4 } }
    assert.strictEqual(found({ people }, "people").state, "green")
  })

  it("is unknown for people in a test of a few decisions", () => {
    const of = (all: number) => ({
      people: 2,
      heaviest: 1,
      decisions: { some: all / 2, all },
      outcomes: { some: 0, all: 0 },
    })
    assert.strictEqual(found({ people: of(2) }, "people").state, "unknown")
    assert.strictEqual(found({ people: of(98) }, "people").state, "unknown")
    assert.strictEqual(found({ people: of(100) }, "people").state, "red")
  })

  it("is unknown for people if no decision names one", () =>
    assert.strictEqual(found({ people: undefined }, "people").state, "unknown"))

  it("is amber if machines cause most opens and clicks", () =>
    assert.strictEqual(found({ machines: { some: 60, all: 100 } }, "machines").state, "amber"))

  it("is red if a third of the events is outside the window", () =>
    assert.strictEqual(found({ outside: { some: 100, all: 300 } }, "outside_window").state, "red"))

  it("is red if one id in seven is reused with different content", () =>
    assert.strictEqual(found({ repeated: { some: 300, all: 2_000 } }, "repeated_ids").state, "red"))

  it("reports the worst finding first, and counts the others in one line", () => {
    const health = healthOf({ ...sound, machines: { some: 60, all: 100 }, outside: { some: 100, all: 300 } })
    assert.deepStrictEqual(health.checks.slice(0, 2).map(({ check }) => check), ["outside_window", "machines"])
    assert.match(healthLine(health), /^Not to be trusted: 100 of 300 events .* 1 more finding\.$/)
  })

  it("reports that decisions could not be read in time", () =>
    assert.include(found({ choices: undefined, people: undefined }, "people").summary, "could not be read"))
})

const firm: WinnerResults = {
  state: "firm",
  verdict: "firm_winner",
  since: "2026-11-01T00:00:00.000Z",
  copy_id: "a",
  leader: "a",
  p_best: 0.999,
  expected_loss: 0,
  value_remaining: 0,
  lift: null,
  lift_over_split: null,
  losers: [],
  days: 20,
  matured_sends: 900,
  waiting_for: [],
}

describe("a verdict", () => {
  it("is not firm while a check is red", () =>
    assert.deepInclude(heldBack(firm, healthOf({ ...sound, outside: { some: 100, all: 300 } }), null), {
      state: "winner",
      verdict: "winner",
      copy_id: "a",
    }))

  it("stays firm while every check is green and the comparison without a model does not contradict it", () => {
    for (const alone of [null, { interval: [-0.01, 0.02] as const }]) {
      assert.deepStrictEqual(heldBack(firm, healthOf(sound), alone), firm)
    }
  })

  it("is not firm while the other variant is better without a model", () =>
    assert.deepInclude(heldBack(firm, healthOf(sound), { interval: [-0.02, -0.01] }), { verdict: "winner" }))
})
