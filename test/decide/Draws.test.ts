import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { createHmac } from "node:crypto"
import { sample } from "../../src/bandit/Weights.ts"
import { drawOf, templateKey } from "../../src/decide/Draws.ts"
import { hmacKey } from "../../src/text/Hmac.ts"

const secret = Uint8Array.from({ length: 32 }, (_, i) => 7 * i + 1)
const key = hmacKey(secret)
const count = 20_000

const welcome = { org: { slug: "acme" }, id: "welcome" }
const welcomeKey = templateKey(key, welcome)

/** The first draw of a request for the template "welcome", or another turn. */
const draw = (trackingId: string, turn = 0) => drawOf(welcomeKey, trackingId, turn)

/** Ids as callers make them. `n` is the number of a message. */
const idsOf: Readonly<Record<string, (n: number) => string>> = {
  "numbers in sequence": String,
  "numbers with leading zeros": (n) => String(n).padStart(12, "0"),
  "ids of 64 bits that differ in the last digits": (n) => String(9_007_199_254_740_993n * 100n + BigInt(n)),
  "ids of message and person": (n) => `spring-2026_user${n % 100}_${Math.floor(n / 100)}`,
  "UUIDs that differ in the last digits": (n) => `0190f3a2-7c1e-7b44-9d3a-${n.toString(16).padStart(12, "0")}`,
  "addresses": (n) => `user+${n}@example.com`,
  "MongoDB ids": (n) => `65a1f0c2e4b0d5a6f7${n.toString(16).padStart(6, "0")}`,
  "times in milliseconds": (n) => String(1_795_871_000_000 + 40 * n),
  "ids in another script": (n) => `Сообщение № ${n}`,
  "long ids that differ at the end": (n) => `${"x".repeat(190)}${n}`,
}

/** Pearson's statistic of counts against expected ones. */
const chiSquare = (counts: ReadonlyArray<number>, expected: (at: number) => number): number =>
  counts.reduce((sum, value, at) => sum + (value - expected(at)) ** 2 / expected(at), 0)

/** Above these a statistic is in one of 100,000 cases, by degrees of freedom. */
const limits = { 3: 25.9, 9: 39.3, 15: 50.3, 99: 175 } as const

describe("Draws", () => {
  it("are the first 53 bits of an HMAC-SHA256 under a key derived for each template", () => {
    const own = createHmac("sha256", secret).update("acme\0welcome").digest()
    fc.assert(fc.property(fc.string({ unit: "grapheme", maxLength: 50 }), fc.nat({ max: 30 }), (id, turn) => {
      const digest = createHmac("sha256", own).update(`${id}\0${turn}`).digest()
      assert.strictEqual(draw(id, turn), Number(digest.readBigUInt64BE() >> 11n) / 2 ** 53)
    }))
  })

  it("are equal for equal requests, and different for another key", () => {
    const first = draw("m-1")
    draw("m-2", 1)
    assert.strictEqual(drawOf(templateKey(hmacKey(secret), welcome), "m-1", 0), first)
    assert.notStrictEqual(drawOf(templateKey(hmacKey(new Uint8Array(32)), welcome), "m-1", 0), first)
  })

  it("use every character of the longest ids", () => {
    const long = "語".repeat(199)
    assert.notStrictEqual(draw(`${long}1`), draw(`${long}2`))
    const keyOf = (end: string) => templateKey(key, { org: { slug: "o".repeat(63) }, id: `${long}${end}` })
    assert.notStrictEqual(drawOf(keyOf("1"), "m-1", 0), drawOf(keyOf("2"), "m-1", 0))
  })

  for (const [name, idOf] of Object.entries(idsOf)) {
    it(`follow the propensities exactly over 20,000 ids: ${name}`, () => {
      const weights = [0.0025, 0.4975, 0.3, 0.2]
      const counts = [0, 0, 0, 0]
      const even = new Array<number>(100).fill(0)
      for (let n = 0; n < count; n++) {
        const u = draw(idOf(n))
        counts[sample(weights, u)]!++
        even[Math.floor(100 * u)]!++
      }
      assert.isBelow(chiSquare(counts, (at) => weights[at]! * count), limits[3])
      assert.isBelow(chiSquare(even, () => count / 100), limits[99])
    })
  }

  /** Pearson's statistic of independence of two draws, each in one of four quarters. */
  const dependence = (first: (n: number) => number, second: (n: number) => number): number => {
    const cells = new Array<number>(16).fill(0)
    for (let n = 0; n < count; n++) cells[4 * Math.floor(4 * first(n)) + Math.floor(4 * second(n))]!++
    return chiSquare(cells, () => count / 16)
  }

  const own = (n: number) => draw(`m-${n}`)
  const of = (slug: string, id: string, installation = key) => {
    const other = templateKey(installation, { org: { slug }, id })
    return (n: number) => drawOf(other, `m-${n}`, 0)
  }
  const others: Readonly<Record<string, (n: number) => number>> = {
    "templates of one batch that share a tracking id": of("acme", "welcome2"),
    "organizations with the same ids": of("acme2", "welcome"),
    "organizations and templates whose texts join alike": of("acmewel", "come"),
    "neighbours in a sequence": (n) => draw(`m-${n + 1}`),
    "the draw after a failed rendering": (n) => draw(`m-${n}`, 1),
    "installations with other keys": of("acme", "welcome", hmacKey(new Uint8Array(32))),
  }
  for (const [name, other] of Object.entries(others)) {
    it(`are independent over ${name}`, () => assert.isBelow(dependence(own, other), limits[15]))
  }

  it("are uniform in a second draw after a first draw that selected a certain variant", () => {
    const tenths = new Array<number>(10).fill(0)
    let drawn = 0
    for (let n = 0; drawn < count; n++) {
      if (draw(`m-${n}`) >= 0.25) continue
      tenths[Math.floor(10 * draw(`m-${n}`, 1))]!++
      drawn++
    }
    assert.isBelow(chiSquare(tenths, () => count / 10), limits[9])
  })
})
