import { assert, it } from "@effect/vitest"
import { GrantedSessions } from "../../../src/delivery/connections/GrantedSessions.ts"

const second = 1_000
const minute = 60 * second

it("allows as many sessions as the server granted, and one more each minute", () => {
  const granted = new GrantedSessions(5)
  assert.strictEqual(granted.count(10 * minute), 5)
  granted.refuse(2, 10 * minute)
  assert.strictEqual(granted.count(11 * minute - 1), 2)
  assert.strictEqual(granted.count(11 * minute), 3)
  assert.strictEqual(granted.count(11 * minute + 59 * second), 3)
  granted.refuse(2, 11 * minute + 59 * second)
  assert.strictEqual(granted.count(12 * minute), 2)
  assert.strictEqual(granted.count(13 * minute), 3)
  assert.strictEqual(granted.count(60 * minute), 5)
})

it("allows one session at least, and no more than the connection has", () => {
  const granted = new GrantedSessions(2)
  granted.refuse(0, 0)
  assert.strictEqual(granted.count(0), 1)
  granted.refuse(7, 0)
  assert.strictEqual(granted.count(0), 2)
})
