import { assert, it } from "@effect/vitest"
import { GrantedSessions } from "../../../src/delivery/connections/GrantedSessions.ts"

const second = 1_000

it("allows as many sessions as the server granted, and one more every ten seconds", () => {
  const granted = new GrantedSessions(5)
  assert.strictEqual(granted.count(100 * second), 5)
  granted.refuse(2, 100 * second)
  assert.strictEqual(granted.count(110 * second - 1), 2)
  assert.strictEqual(granted.count(110 * second), 3)
  assert.strictEqual(granted.count(119 * second), 3)
  granted.refuse(2, 119 * second)
  assert.strictEqual(granted.count(120 * second), 2)
  assert.strictEqual(granted.count(129 * second), 3)
  assert.strictEqual(granted.count(1_000 * second), 5)
})

it("allows one session at least, and no more than the connection has", () => {
  const granted = new GrantedSessions(2)
  granted.refuse(0, 0)
  assert.strictEqual(granted.count(0), 1)
  granted.refuse(7, 0)
  assert.strictEqual(granted.count(0), 2)
})
