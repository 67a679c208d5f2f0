import { assert, describe, it } from "@effect/vitest"
import { Gate, kindOf, lateMillis, lookMillis, type RequestKind } from "../../src/api/admission/LoadGate.ts"

const enter = (gate: Gate, kind: RequestKind, times: number) => {
  let entered = 0
  for (; entered < times && !gate.isFull(kind); entered++) gate.enter(kind)
  return entered
}

describe("Gate", () => {
  it("admits each kind up to its own limit, and never refuses health checks", () => {
    const gate = new Gate(100)
    assert.strictEqual(enter(gate, "management", 150), 50)
    assert.strictEqual(enter(gate, "webhook", 150), 50)
    assert.strictEqual(enter(gate, "tracking", 150), 50)
    assert.strictEqual(enter(gate, "api", 150), 100)
    assert.strictEqual(enter(gate, "health", 1000), 1000)
    assert.strictEqual(gate.inFlight, 1250)
    for (let i = 0; i < 60; i++) gate.leave("api")
    assert.isTrue(gate.isFull("management"))
    assert.strictEqual(enter(gate, "api", 150), 60)
  })

  it("lowers its limit to the requests answered in 100 ms while the event loop is late, and raises it afterwards", () => {
    const gate = new Gate(1000)
    const turn = (late: number, answers: number) => {
      enter(gate, "api", 2000)
      for (let i = 0; i < answers; i++) gate.leave("api")
      gate.look(late, late + lookMillis)
    }
    // 500 answers in each turn of 125 ms: 4,000 a second.
    turn(100, 500)
    assert.strictEqual(gate.limit, 1000, "one late look alone means nothing")
    turn(100, 500)
    assert.strictEqual(gate.limit, 400)
    for (let i = 0; i < 20; i++) turn(100, 1)
    assert.strictEqual(gate.limit, 256, "fewer would leave each turn of the loop to refusals")
    const before = gate.limit
    turn(lateMillis, 10)
    assert.strictEqual(gate.limit, before, "it does not rise on the edge")
    for (let i = 0; i < 30; i++) turn(1, 100)
    assert.strictEqual(gate.limit, 1000)
  })

  it("keeps its limit while only the store is slow", () => {
    const gate = new Gate(1000)
    enter(gate, "api", 2000)
    for (let i = 0; i < 100; i++) gate.look(2, lookMillis + 2)
    assert.strictEqual(gate.limit, 1000)
  })

  it("classifies requests by their path", () => {
    const kinds = [
      "/api/generate/a",
      "/api/webhook/events/a",
      "/console/api/organizations",
      "/healthz",
      "/readyz?x",
      "/",
      "http://parlance.local/api/generate/a",
      "http://parlance.local",
      "/c/token",
      "/o/token.gif",
      "/u/token?x",
      "/console",
    ]
    assert.deepStrictEqual(kinds.map(kindOf), [
      "api",
      "webhook",
      "management",
      "health",
      "health",
      "management",
      "api",
      "management",
      "tracking",
      "tracking",
      "tracking",
      "management",
    ])
  })
})
