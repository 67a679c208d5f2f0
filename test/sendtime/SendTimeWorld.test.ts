import { assert, describe, it } from "@effect/vitest"
import { bounds, type Group, runSendTimes, sendTimePolicies, shareOf } from "../../bench/simulation/SendTimePolicies.ts"
import { engagedAt, engagement, sendTimeWorld } from "../../bench/simulation/SendTimeWorld.ts"

const policy = (name: string) => sendTimePolicies.find((one) => one.name === name)!

describe("send times in a simulated world", () => {
  it("are identical for the same seed, and within one day after the request", () => {
    const a = sendTimeWorld(3, 60)
    const b = sendTimeWorld(3, 60)
    assert.deepStrictEqual(a.wants.map(({ at }) => at), b.wants.map(({ at }) => at))
    assert.notDeepEqual(sendTimeWorld(4, 60).wants.map(({ at }) => at), a.wants.map(({ at }) => at))
    for (const { at } of a.wants) assert.isTrue(at >= a.from - 14 * 3_600_000 && at < a.until + 24 * 3_600_000)
  })

  it("result in engagements at the given probability", () => {
    const world = sendTimeWorld(1, 20)
    let state = 11
    const uniform = () => (state = (state * 48271) % 2147483647) / 2147483647
    for (const { at, person } of world.wants.slice(0, 5)) {
      let engaged = 0
      for (let n = 0; n < 4000; n++) if (engagedAt(person, at, uniform) !== undefined) engaged++
      assert.closeTo(engaged / 4000, engagement(person, at), 0.04)
    }
  })

  it("capture over half of the possible gain, more for known users, and beat every baseline", () => {
    const names = ["Parlance", "organization's best hour", "most engaged hour", "per-user slots"]
    const world = sendTimeWorld(101, 200)
    const limits = bounds(world)
    const captured = new Map(names.map((name) => [name, runSendTimes(world, limits, policy(name), 101)]))
    const share = (name: string, group: Group) => shareOf(captured.get(name)!.get(group)!)
    assert.isAbove(share("Parlance", "all"), 0.55)
    assert.isAbove(share("Parlance", "20 or more"), 0.7)
    assert.isAtLeast(share("Parlance", "no engagement yet"), share("organization's best hour", "no engagement yet"))
    for (const name of names.slice(1)) assert.isAbove(share("Parlance", "all"), share(name, "all") + 0.15)
  })
})
