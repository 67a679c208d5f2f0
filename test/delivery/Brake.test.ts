import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { Brake, type BrakeState } from "../../src/delivery/Brake.ts"

const denied = (n: number) => `The SMTP server answered 554 5.7.1 <p${n}@d${n % 7}.example>: Relay access denied`
const unknown = (n: number) => `The SMTP server answered 550 5.1.1 <p${n}@gone.example>: User unknown`
/** Refusals of which no two in a row have one reason. */
const varied = (n: number) => `The SMTP server answered 554 5.${n % 2 === 0 ? "7.1" : "6.0"} No`

const refuse = (brake: Brake, count: number, reason: (n: number) => string = denied) => {
  for (let n = 0; n < count; n++) brake.refused(reason(n))
}
const accept = (brake: Brake, count: number) => {
  for (let n = 0; n < count; n++) brake.accepted()
}

/** Messages that are refused before the brake trips, of answers that come in this order. */
const burned = (answers: Iterable<string | undefined>, brake = new Brake()): number | undefined => {
  let refused = 0
  for (const reason of answers) {
    if (reason === undefined) brake.accepted()
    else {
      brake.refused(reason)
      refused++
    }
    if (brake.trip !== undefined) return refused
  }
  return undefined
}
const many = (count: number, answer: (n: number) => string | undefined) =>
  Array.from({ length: count }, (_, n) => answer(n))

describe("Brake", () => {
  it("trips at the twentieth refusal in a row for one reason, and says which", () => {
    const brake = new Brake()
    accept(brake, 1_000)
    refuse(brake, 19)
    assert.isUndefined(brake.trip)
    refuse(brake, 1)
    assert.match(
      brake.trip!.reason,
      /^20 messages in a row were refused for one reason\. .*554 5\.7\.1 .*Relay access denied$/,
    )
  })

  it("begins anew with an acceptance, another reason, or a refusal that is about an address", () => {
    for (
      const other of [
        (brake: Brake) => brake.accepted(),
        (brake: Brake) => brake.refused("The SMTP server answered 554 5.6.0 Bad content"),
        (brake: Brake) => brake.refused(unknown(1)),
      ]
    ) {
      const brake = new Brake()
      accept(brake, 100)
      refuse(brake, 19)
      other(brake)
      refuse(brake, 19)
      assert.isUndefined(brake.trip)
      refuse(brake, 1)
      assert.isDefined(brake.trip)
    }
  })

  it("trips when half of the last hundred messages are refused, for whatever reasons", () => {
    const brake = new Brake()
    accept(brake, 1_000)
    for (let n = 0; n < 49; n++) {
      brake.refused(varied(n))
      brake.accepted()
    }
    assert.isUndefined(brake.trip)
    brake.refused(varied(0))
    assert.match(brake.trip!.reason, /^50 of the last 100 messages were refused, the last one with: /)
    assert.strictEqual(burned(many(1_000, (n) => n % 5 < 2 ? varied(n) : undefined)), undefined, "forty of a hundred")
  })

  it("does not trip for bad addresses: one in a hundred, twenty-five of a domain that is gone", () => {
    const oneInHundred = many(20_000, (n) => n % 100 === 0 ? unknown(n) : undefined)
    assert.isUndefined(burned(oneInHundred))
    const sorted = many(20_000, (n) => n >= 7_000 && n < 7_025 ? unknown(n) : n % 100 === 0 ? unknown(n) : undefined)
    assert.isUndefined(burned(sorted))
  })

  it("lets a platform that refuses everything burn fewer than 120 messages, whatever it says", () => {
    assert.strictEqual(burned(many(1_000, denied)), 20)
    assert.strictEqual(burned(many(1_000, varied)), 50)
    assert.strictEqual(burned(many(1_000, unknown)), 50)
    assert.strictEqual(burned([...many(500, () => undefined), ...many(1_000, unknown)]), 50)
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(denied, unknown, varied), { minLength: 1, maxLength: 10 }),
        fc.nat(300),
        (reasons, accepted) => {
          const refused = many(200, (n) => reasons[n % reasons.length]!(n))
          assert.isAtMost(burned([...many(accepted, () => undefined), ...refused])!, 50)
        },
      ),
    )
  })

  it("stays tripped", () => {
    const brake = new Brake()
    refuse(brake, 20)
    const { trip } = brake
    accept(brake, 200)
    refuse(brake, 200, varied)
    assert.strictEqual(brake.trip, trip)
  })

  it("goes on where another one stopped, and remembers nothing while nothing was refused", () => {
    const first = new Brake()
    accept(first, 500)
    assert.isNull(first.state)
    const answer = fc.constantFrom(undefined, denied(1), unknown(1), varied(0), varied(1))
    fc.assert(
      fc.property(fc.array(answer, { maxLength: 200 }), fc.nat(200), (answers, place) => {
        const whole = new Brake()
        let restarted = new Brake()
        for (const [n, reason] of answers.entries()) {
          if (n === place) restarted = new Brake(JSON.parse(JSON.stringify(restarted.state)) as BrakeState | null)
          for (const brake of [whole, restarted]) reason === undefined ? brake.accepted() : brake.refused(reason)
          assert.deepStrictEqual(restarted.trip?.reason.slice(0, 3), whole.trip?.reason.slice(0, 3))
          if (whole.trip !== undefined) return
        }
      }),
    )
  })

  it("is tripped from the start where another one had tripped", () => {
    const brake = new Brake()
    refuse(brake, 20)
    assert.strictEqual(new Brake(brake.state).trip?.reason, brake.trip?.reason)
  })
})
