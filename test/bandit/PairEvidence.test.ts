import { assert, describe, it } from "@effect/vitest"
import { Contexts, encodeContext, schemeText } from "../../src/bandit/Contexts.ts"
import { schemeOf } from "../../src/bandit/AttributeCounts.ts"
import { withPairs } from "../../src/bandit/PairEvidence.ts"
import { eligibleSet, Policy } from "../../src/bandit/Policy.ts"
import { day, fitRows, now, type Row } from "./Samples.ts"

const scheme = {
  keys: [
    { name: "device", values: ["desktop", "mobile"] },
    { name: "plan", values: ["free", "pro"] },
    { name: "zone", values: ["east", "west"] },
  ],
  builtIns: [],
}
const context = (device: string, plan: string, zone: string) =>
  encodeContext([["device", device], ["plan", plan], ["zone", zone]])
const start = Math.floor(now / day) * day - 5 * day

/** Which variant is better depends on device and plan together, or on nothing. */
const rows = (sends: number, matters: boolean): ReadonlyArray<Row> =>
  ["a", "b"].flatMap((variant) =>
    ["desktop", "mobile"].flatMap((device) =>
      ["free", "pro"].flatMap((plan) =>
        ["east", "west"].map((zone) => {
          const good = (device === "mobile") === (plan === "pro") === (variant === "a")
          const rate = matters ? (good ? 0.05 : 0.02) : 0.035
          return { variant, context: context(device, plan, zone), start, sends, clicks: Math.round(sends * rate) }
        })
      )
    )
  )

describe("pairs of attributes", () => {
  it("are used once the data support them, and then change the decisions", () => {
    const before = fitRows(rows(500, true), { scheme })
    const used = withPairs(scheme, before.pairEvidence!)
    assert.deepStrictEqual(used.pairs, [["device", "plan"]])
    const eligible = eligibleSet(["a", "b"])
    const weight = (model: typeof before, device: string, plan: string) => {
      const policy = new Policy(model)
      return policy.choice(policy.contexts.parse(context(device, plan, "east")), eligible).weights[0]!
    }
    const after = fitRows(rows(500, true), { scheme: used, start: before, rounds: 20 })
    for (
      const [device, plan, good] of [["mobile", "pro", true], ["mobile", "free", false], [
        "desktop",
        "free",
        true,
      ]] as const
    ) {
      assert.closeTo(weight(before, device, plan), 0.5, 0.1)
      assert.isAbove(good ? weight(after, device, plan) : 1 - weight(after, device, plan), 0.95)
    }
  })

  it("stay in use while their evidence lasts, without adding evidence for other pairs", () => {
    const used = withPairs(scheme, fitRows(rows(500, true), { scheme }).pairEvidence!)
    const model = fitRows(rows(500, true), { scheme: used, rounds: 20 })
    assert.strictEqual(withPairs(used, model.pairEvidence!), used)
    for (const [a, b, evidence] of model.pairEvidence!) {
      if (a !== "device" || b !== "plan") assert.isBelow(evidence, 0)
    }
    // A model without effects drops them.
    const { pairs: _, ...without } = withPairs(used, [["device", "plan", -1], ["device", "zone", 1]])
    assert.deepStrictEqual([without, "pairs" in withPairs(used, [["device", "plan", -1]])], [scheme, false])
  })

  it("are not used without evidence", () => {
    const model = fitRows(rows(500, false), { scheme })
    assert.strictEqual(withPairs(scheme, model.pairEvidence!), scheme)
  })

  it("have their own coefficients, which survive a change of the scheme", () => {
    const used = { ...scheme, pairs: [["device", "plan"]] as const }
    const contexts = new Contexts(used)
    const { coefficients, key } = contexts.parse(context("mobile", "pro", "west"))
    assert.strictEqual(key, context("mobile", "pro", "west"))
    assert.strictEqual(coefficients.length, 4)
    assert.strictEqual(contexts.parse(encodeContext([["device", "mobile"]])).coefficients[3], -1)
    const hour = contexts.contextOf(new Map([["device", ["mobile"]], ["plan", ["pro"]], ["zone", ["west"]]]), 0)
    assert.deepStrictEqual(hour.coefficients, coefficients)
    const turned = new Contexts({ ...scheme, keys: scheme.keys.toReversed(), pairs: [["plan", "device"]] })
    const theirs = turned.parse(context("mobile", "pro", "west")).coefficients[3]!
    assert.strictEqual(turned.coefficientsOf(contexts)[theirs], coefficients[3])
    assert.notStrictEqual(schemeText(used), schemeText(scheme))
    const totals = { sends: 10, keys: new Map([["plan", { present: 10, values: new Map([["pro", 9], ["free", 1]]) }]]) }
    assert.isFalse("pairs" in schemeOf(totals, [], used))
  })
})
