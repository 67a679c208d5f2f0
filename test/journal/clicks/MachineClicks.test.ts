import { assert, describe, it } from "@effect/vitest"
import { machineClicks } from "../../../src/journal/events/MachineClicks.ts"
import type { AttributedEvent } from "../../../src/journal/events/AttributedEvent.ts"
import { chance, seedOf } from "../../../src/simulation/Chance.ts"
import { gateways } from "./Gateways.ts"
import { people } from "./People.ts"
import { click, open, page, sceneOf, second, type Visitor } from "./Scenes.ts"

const at = 1_700_000_000_000
const report = (event: "sent" | "delivered", occurredAt: number): AttributedEvent => ({
  ...open(occurredAt),
  event,
  key: `${event} ${occurredAt}`,
})

/** Reasons of the clicks among `events`, in their order. */
const reasonsOf = (...events: ReadonlyArray<AttributedEvent>) => {
  const found = machineClicks(events)
  return events.filter(({ event }) => event === "click").map((one) => found.get(one))
}

describe("machineClicks", () => {
  it("sets aside clicks from a minute before the delivery to 10 seconds after it", () => {
    const delivered = report("delivered", at)
    for (const after of [-60 * second, -5 * second, 0, 10 * second - 1]) {
      assert.deepStrictEqual(reasonsOf(delivered, click("a", at + after)), ["early"])
    }
    for (const after of [-60 * second - 1, 10 * second, 3600 * second]) {
      assert.deepStrictEqual(reasonsOf(delivered, click("a", at + after)), [undefined])
    }
  })

  it("starts at the sending if no delivery is reported, or if the delivery comes later", () => {
    const sent = report("sent", at)
    assert.deepStrictEqual(reasonsOf(sent, click("a", at + 9 * second), click("a", at + 10 * second)), [
      "early",
      undefined,
    ])
    assert.deepStrictEqual(reasonsOf(sent, report("delivered", at + 300 * second), click("a", at + second)), ["early"])
  })

  it("ignores a sending that is reported after the delivery", () => {
    const events = [report("delivered", at - 20 * second), report("sent", at)]
    assert.deepStrictEqual(reasonsOf(...events, click("a", at)), [undefined])
  })

  it("uses the first delivery only, and needs one", () => {
    assert.deepStrictEqual(
      reasonsOf(report("delivered", at), report("delivered", at + 100 * second), click("a", at + 101 * second)),
      [undefined],
    )
    assert.deepStrictEqual(reasonsOf(click("a", at)), [undefined])
  })

  it("follows a gateway that begins around the delivery from link to link", () => {
    const walked = ["a", "b", "c", "d"].map((link, n) => click(link, at + n * 9 * second))
    assert.deepStrictEqual(reasonsOf(report("sent", at), ...walked, click("a", at + 45 * second)), [
      "early",
      "early",
      "early",
      "early",
      undefined,
    ])
  })

  it("sets aside clicks on two links within 2 seconds, whichever comes first", () => {
    assert.deepStrictEqual(reasonsOf(click("a", at), click("b", at + 2 * second)), ["burst", "burst"])
    assert.deepStrictEqual(reasonsOf(click("a", at), click("a", at + 1), click("b", at + 2)), [
      "burst",
      "burst",
      "burst",
    ])
    assert.deepStrictEqual(reasonsOf(click("a", at), click("b", at + 2 * second + 1)), [undefined, undefined])
    assert.deepStrictEqual(reasonsOf(click("a", at), click("a", at + 1)), [undefined, undefined])
    const unnamed = { ...click("b", at + 1), link: undefined }
    assert.deepStrictEqual(reasonsOf(click("a", at), unnamed), [undefined, undefined])
  })

  it("sets aside a click within 2 seconds of a request for the unsubscribe page", () => {
    for (const after of [-2 * second, 0, 2 * second]) {
      assert.deepStrictEqual(reasonsOf(click("a", at), page(at + after)), ["unsubscribe"])
    }
    for (const after of [-2 * second - 1, 2 * second + 1]) {
      assert.deepStrictEqual(reasonsOf(click("a", at), page(at + after)), [undefined])
    }
  })

  it("sets aside four links at equal intervals, or six after an open by a person", () => {
    const steady = (count: number) => Array.from({ length: count }, (_, n) => click(`${n}`, at + n * 20 * second))
    assert.deepStrictEqual(reasonsOf(...steady(3)), [undefined, undefined, undefined])
    assert.deepStrictEqual(reasonsOf(...steady(4)), ["series", "series", "series", "series"])
    const opened = open(at - second)
    assert.deepStrictEqual(reasonsOf(opened, ...steady(5)), Array(5).fill(undefined))
    assert.deepStrictEqual(reasonsOf(opened, ...steady(6)), Array(6).fill("series"))
    assert.deepStrictEqual(reasonsOf({ ...opened, automated: true }, ...steady(4)), Array(4).fill("series"))
  })

  it("sets aside six links within 30 seconds without an open, however spaced", () => {
    const spaced = [0, 3, 9, 13, 22, 29].map((after, n) => click(`${n}`, at + after * second))
    assert.deepStrictEqual(reasonsOf(...spaced), Array(6).fill("series"))
    assert.deepStrictEqual(reasonsOf(open(at), ...spaced), Array(6).fill(undefined))
    assert.deepStrictEqual(reasonsOf(...spaced.slice(1)), Array(5).fill(undefined))
  })

  it("reports the source's word before all other reasons", () => {
    const reported = { ...click("a", at), automated: true }
    assert.deepStrictEqual(reasonsOf(report("sent", at), reported, click("b", at + 1)), ["reported", "early"])
  })

  it("keeps a person's click whose link Office or a gateway checks a second earlier", () => {
    const checked = { ...click("a", at), automated: true }
    assert.deepStrictEqual(reasonsOf(checked, click("a", at + second)), ["reported", undefined])
  })
})

describe("clicks in a simulation", () => {
  const messages = 3_000

  /**
   * Counts the clicks of a visitor, and the clicks that are set aside, over many messages. A gateway visits this share of the
   * messages as well.
   */
  const count = (name: string, visitor: Visitor, seed: number, guarded: number) => {
    const others = Object.values(gateways)
    const random = chance(seedOf(seed, name))
    let all = 0
    let found = 0
    for (let n = 0; n < messages; n++) {
      const { reports, scene } = sceneOf(random)
      const own = visitor(scene)
      const other = random.uniform() < guarded ? others[Math.floor(random.uniform() * others.length)]!(scene) : []
      const machines = machineClicks([...reports, ...other, ...own])
      const clicks = own.filter(({ event }) => event === "click")
      all += clicks.length
      found += clicks.filter((one) => machines.has(one)).length
    }
    return { name, all, found }
  }

  const countAll = (visitors: Readonly<Record<string, Visitor>>, seed: number, guarded = 0) => {
    const counts = Object.entries(visitors).map(([name, visitor]) => count(name, visitor, seed, guarded))
    const sum = (of: "all" | "found") => counts.reduce((total, one) => total + one[of], 0)
    return {
      counts,
      share: sum("found") / sum("all"),
      text: counts.map(({ all, found, name }) => `${name}: ${(100 * found / all).toFixed(2)} %`).join(", "),
    }
  }

  for (const seed of [1, 2, 3]) {
    it(`sets aside at least 95 % of the clicks of ten kinds of gateways (seed ${seed})`, () => {
      const { counts, share, text } = countAll(gateways, seed)
      assert.strictEqual(counts.length, 10)
      assert.isAtLeast(share, 0.95, text)
      for (const { all, found, name } of counts) assert.isAtLeast(found / all, 0.9, name)
    })

    it(`sets aside at most 1 % of the clicks of five kinds of people, a quarter behind a gateway (seed ${seed})`, () => {
      const { counts, share, text } = countAll(people, seed, 0.25)
      assert.strictEqual(counts.length, 5)
      assert.isAtMost(share, 0.01, text)
      assert.isAtMost(countAll(people, seed).share, 0.002, "without gateways")
    })
  }
})
