import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { readFileSync } from "node:fs"
import { peers } from "../../src/simulation/Learners.ts"
import { run } from "../../src/simulation/Run.ts"
import { parse, worldOf } from "../../src/simulation/Scenario.ts"
import { worldStart } from "../../src/simulation/World.ts"

const example = readFileSync(new URL("../../examples/scenarios/newsletter.yaml", import.meta.url), "utf8")
const read = (text: string) => Result.getOrThrow(parse(text, "file"))
const faultsOf = (text: string) => {
  const parsed = parse(text, "s.yaml")
  assert.isTrue(Result.isFailure(parsed))
  return Result.isFailure(parsed)
    ? parsed.failure.map(({ column, line, message, path }) => `${line}:${column} ${path}: ${message}`)
    : []
}

describe("a scenario", () => {
  it("of the examples can be read and simulated", () => {
    const world = worldOf(read(example), 1, 3)
    assert.strictEqual(world.decisions, 1_800)
    for (const policy of peers) assert.isBelow(run(world, policy, 1).share, 1)
  })

  it("creates a world with its numbers", () => {
    const world = worldOf(
      read(`
days: 10
sends_per_day: 200
base_rate: 0.02
variants:
  - {id: z, from_day: 4}
  - {id: a, rate: 1.5}
  - {id: b, until_day: 5}
attributes:
  - name: Plan
    values:
      - {value: free, share: 3}
      - {value: pro, share: 1, rate: 2, variants: {a: 0.5, z: 3}}
`),
      1,
    )
    assert.deepStrictEqual(world.arms, ["a", "b", "z"])
    const out = new Float64Array(3)
    const seen = new Set<string>()
    for (let i = 0; i < world.decisions; i++) {
      world.rates(i, out)
      const plan = world.requests[world.requestOf[i]!]!.attrs.get("plan")![0]!
      seen.add(plan)
      const expected = plan === "pro" ? [0.03, 0.04, 0.12] : [0.03, 0.02, 0.02]
      out.forEach((rate, arm) => assert.closeTo(rate, expected[arm]!, 1e-12))
      const day = (world.at[i]! - worldStart) / 86_400_000
      assert.deepStrictEqual(
        world.eligible[world.eligibleOf[i]!]!.set.ids,
        day < 4 ? ["a", "b"] : day < 5 ? ["a", "b", "z"] : ["a", "z"],
      )
    }
    assert.deepStrictEqual([...seen].sort(), ["free", "pro"])
    assert.isTrue(world.delayHours.every((hours) => hours === 0))
  })

  it("changes its rates by its drift", () => {
    const text = (drift: number) =>
      `{days: 200, sends_per_day: 5, base_rate: 0.02, drift: ${drift}, variants: [{id: a}, {id: b}]}`
    const steps = (drift: number) => {
      const world = worldOf(read(text(drift)), 3)
      const out = new Float64Array(2)
      world.rates(0, out)
      const first = Math.log(out[0]!)
      world.rates(world.decisions - 1, out)
      return Math.abs(Math.log(out[0]!) - first)
    }
    assert.strictEqual(steps(0), 0)
    assert.isAbove(steps(0.05), 0.01)
  })

  it("is rejected with every faulty value and its position", () => {
    assert.deepStrictEqual(
      faultsOf(`days: -1
sends_per_day: many
variants:
  - id: a
    rate: 0
  - rate: 1
    colour: red
attributes:
  - name: plan
    values: []
`),
      [
        "1:1 days: must be a value between 1 and 3650",
        "1:1 base_rate: is missing",
        "2:1 sends_per_day: must be a number",
        "5:5 variants[0].rate: must be a value between 0.01 and 100",
        "6:5 variants[1].id: is missing",
        "7:5 variants[1].colour: is unknown",
        "10:5 attributes[0].values: must be a value with a length of at least 1",
      ],
    )
  })

  it("is rejected if its parts are inconsistent", () => {
    assert.deepStrictEqual(
      faultsOf(`days: 30
sends_per_day: 1000000
base_rate: 0.02
variants:
  - {id: a, until_day: 10}
  - {id: b, from_day: 12, until_day: 11}
  - {id: a, from_day: 15}
attributes:
  - name: plan
    values:
      - {value: x, share: 1, variants: {c: 2}}
      - {value: x, share: 1}
  - name: PLAN
    values: [{value: y, share: 1}]
`),
      [
        "2:1 sends_per_day: makes more than 2000000 decisions in 30 days",
        "4:1 variants: leave nothing to choose on day 10",
        "6:27 variants[1].until_day: must be after from_day",
        "7:6 variants[2].id: a occurs twice",
        "11:41 attributes[0].values[0].variants.c: is not the id of a variant",
        "12:10 attributes[0].values[1].value: x occurs twice",
        "13:5 attributes[1].name: plan occurs twice",
      ],
    )
  })

  it("is rejected if it is not YAML or not a mapping", () => {
    assert.match(faultsOf("days: [1, 2")[0]!, /^1:\d+ : /)
    assert.lengthOf(faultsOf("- a"), 1)
    assert.lengthOf(faultsOf(""), 1)
    assert.match(faultsOf("days: 1\ndays: 2\n").join(), /2:1 days: occurs twice/)
  })
})
