import { assert, describe, it } from "@effect/vitest"
import { differenceOf, wilson } from "../../src/sendtime/Timing.ts"
import { chance, seedOf } from "../../src/simulation/Chance.ts"

const replications = 300

/** Messages of people who differ in how much they engage, drawn message by message to be sent evenly or as advised. */
const replicate = (
  { drawn, messages, rate, gain }: {
    readonly messages: number
    readonly drawn: number
    readonly rate: number
    readonly gain: number
  },
  seed: number,
) => {
  const { gamma, uniform } = chance(seedOf(seed, "timing"))
  const counts = [0, 1].map(() => ({ sends: 0, engaged: 0 }))
  let level = 1
  for (let n = 0; n < messages; n++) {
    // Ten messages to each person.
    if (n % 10 === 0) level = gamma(4) / 4
    const explored = uniform() < drawn
    const one = counts[explored ? 1 : 0]!
    one.sends++
    if (uniform() < Math.min(1, level * (explored ? rate : rate + gain))) one.engaged++
  }
  const [followed, explored] = counts.map(({ engaged, sends }) => ({
    sends,
    engaged,
    rate: sends === 0 ? null : engaged / sends,
    interval: sends === 0 ? null : wilson(engaged, sends),
  }))
  return differenceOf(followed!, explored!)
}

describe("the gain of send times", () => {
  it("lies in its 95 % interval in 93 to 97 % of replications", () => {
    for (
      const [messages, rate, gain] of [[1000, 0.05, 0], [4000, 0.05, 0.03], [4000, 0.2, 0.05], [
        20000,
        0.1,
        0.02,
      ]] as const
    ) {
      let held = 0
      let known = 0
      for (let seed = 1; seed <= replications; seed++) {
        const found = replicate({ messages, drawn: 0.02, rate, gain }, seed)
        if (found === null) continue
        known++
        if (found.interval[0] <= gain && gain <= found.interval[1]) held++
      }
      assert.isAbove(known, 0.99 * replications)
      const coverage = held / known
      const text = `${messages} messages, rate ${rate}, gain ${gain}: ${coverage}`
      assert.isAtLeast(coverage, 0.93, text)
      assert.isAtMost(coverage, 0.97, text)
    }
  })
})
