import { assert, it } from "@effect/vitest"
import { GrantedSessions } from "../../../src/delivery/connections/GrantedSessions.ts"

const second = 1_000

it("limits sessions to the number granted by the server, plus one every ten seconds", () => {
  let now = 100 * second
  const granted = new GrantedSessions(5, () => now)
  const countAt = (seconds: number) => {
    now = seconds * second
    return granted.count
  }
  assert.deepStrictEqual([granted.count, granted.isLimited], [5, false])
  granted.refuse(2)
  assert.isTrue(granted.isLimited)
  assert.deepStrictEqual([109.999, 110, 119].map(countAt), [2, 3, 3])
  granted.refuse(2)
  assert.deepStrictEqual([120, 129, 1_000].map(countAt), [2, 3, 5])
  assert.isFalse(granted.isLimited)
})

it("allows at least one session and at most the configured number", () => {
  const granted = new GrantedSessions(2, () => 0)
  granted.refuse(0)
  assert.strictEqual(granted.count, 1)
  granted.refuse(7)
  assert.strictEqual(granted.count, 2)
})
