import { assert, describe, it } from "@effect/vitest"
import { armOf, peopleGroups, placeOf } from "../../src/bandit/Holdout.ts"
import { holdoutInput, holdoutText, parseHoldout, type TemplateHoldout } from "../../src/domain/Holdout.ts"
import type { CopyId } from "../../src/domain/Ids.ts"

const person = (userId: string | undefined, trackingId = "x", org = "acme") => ({ org, userId, trackingId })
const even = (share: number): TemplateHoldout => ({ share, content: "even" })
const people = Array.from({ length: 20_000 }, (_, i) => `user-${i}`)

describe("a holdout", () => {
  it("keeps people on their side across messages and when the share grows", () => {
    for (const userId of people.slice(0, 1000)) {
      const before = armOf(even(0.1), ["a", "b"], person(userId, "first"))
      assert.strictEqual(armOf(even(0.1), ["a", "b", "c"], person(userId, "second")), before)
      if (before === "control") assert.strictEqual(armOf(even(0.2), ["a", "b"], person(userId)), "control")
    }
  })

  it("selects people uniformly, independent of their group and organization", () => {
    const held = people.filter((userId) => placeOf(person(userId)).draw < 0.1)
    // Six standard errors.
    assert.isBelow(Math.abs(held.length - 2000), 6 * Math.sqrt(2000 * 0.9))
    const groups = new Array<number>(peopleGroups).fill(0)
    for (const userId of held) groups[placeOf(person(userId)).people]!++
    const expected = held.length / peopleGroups
    const chiSquared = groups.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
    // 31 degrees of freedom: above 70 in one of 10,000 cases.
    assert.isBelow(chiSquared, 70)
    const twice = held.filter((userId) => placeOf(person(userId, "x", "other")).draw < 0.1).length
    assert.isBelow(Math.abs(twice - held.length * 0.1), 6 * Math.sqrt(held.length * 0.09))
  })

  it("uses the tracking id if there is no user id, separate from a user of that name", () => {
    assert.notDeepEqual(placeOf(person(undefined, "ann")), placeOf(person("ann", "ann")))
    assert.deepStrictEqual(placeOf(person(undefined, "ann")), placeOf(person(undefined, "ann")))
    assert.notDeepEqual(placeOf(person(undefined, "ann")), placeOf(person(undefined, "bob")))
  })

  it("applies to everyone or to nobody", () => {
    const all = people.slice(0, 200)
    const arms = (holdout: TemplateHoldout, eligible: ReadonlyArray<string>) =>
      [...new Set(all.map((userId) => armOf(holdout, eligible, person(userId)) ?? "none"))].sort()
    const fixed: TemplateHoldout = { share: 0.5, content: "fixed", copy_id: "a" as CopyId }
    assert.deepStrictEqual(arms(even(0), ["a", "b"]), ["none"])
    assert.deepStrictEqual(arms(even(0.5), ["a", "b"]), ["control", "treated"])
    assert.deepStrictEqual(arms(even(0.5), ["a"]), ["none"], "nothing to choose")
    assert.deepStrictEqual(arms(fixed, ["a", "b"]), ["control", "treated"])
    assert.deepStrictEqual(arms(fixed, ["b", "c"]), ["none"], "the fixed variant may not be chosen")
    assert.deepStrictEqual(arms(fixed, ["a"]), ["none"])
    assert.deepStrictEqual(arms({ share: 0.5, content: "no_message" }, ["a"]), ["control", "treated"])
    assert.deepStrictEqual(arms({ share: 0.5, content: "no_message" }, []), ["none"])
  })

  it("round-trips through its recorded text", () => {
    const holdouts: ReadonlyArray<TemplateHoldout> = [
      even(0.05),
      { share: 0.1, content: "no_message" },
      { share: 0.5, content: "fixed", copy_id: "with  two spaces" as CopyId },
    ]
    for (const holdout of holdouts) assert.deepStrictEqual(parseHoldout(holdoutText(holdout)), holdout)
  })

  it("is parsed from typed input", () => {
    assert.deepStrictEqual(holdoutInput("0.05"), { share: 0.05, content: "even" })
    assert.deepStrictEqual(holdoutInput(" 0.1 fixed a "), { share: 0.1, content: "fixed", copy_id: "a" })
    assert.isNaN(holdoutInput("much").share)
  })
})
