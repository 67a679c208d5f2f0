import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { Brake, type BrakeState } from "../../src/delivery/Brake.ts"

const denied = (n: number) => `The SMTP server answered 554 5.7.1 <p${n}@d${n % 7}.example>: Relay access denied`
const unknown = (n: number) => `The SMTP server answered 550 5.1.1 <p${n}@gone.example>: User unknown`
/** Refusals of which no two in a row have one reason. */
const varied = (n: number) => `The SMTP server answered 554 5.${n % 2 === 0 ? "7.1" : "6.0"} No`

const refuse = (brake: Brake, count: number, reason: (n: number) => string = denied, at = "shop.example") => {
  for (let n = 0; n < count; n++) brake.refused(at, reason(n))
}
const accept = (brake: Brake, count: number, at = "shop.example") => {
  for (let n = 0; n < count; n++) brake.accepted(at)
}

/**
 * Messages that are refused before the brake trips, of answers that come in this order, all from one recipient domain.
 */
const burned = (answers: Iterable<string | undefined>, brake = new Brake()): number | undefined => {
  let refused = 0
  for (const reason of answers) {
    if (reason === undefined) brake.accepted("shop.example")
    else {
      brake.refused("shop.example", reason)
      refused++
    }
    if (brake.suspects.length > 0) brake.noOthers()
    if (brake.trip !== undefined) return refused
  }
  return undefined
}

interface Queued {
  readonly domain: string
  /** The platform's refusal; undefined if it accepts the message. */
  readonly reason?: string
}

/** Sends a queue as a lane does: the first message whose domain is not suspected, one after another. */
const send = (queue: ReadonlyArray<Queued>, brake = new Brake()) => {
  const waiting = [...queue]
  let refused = 0
  let held = 0
  while (brake.trip === undefined && waiting.length > 0) {
    const place = waiting.findIndex(({ domain }) => !brake.suspects.includes(domain))
    if (place < 0) {
      brake.noOthers()
      continue
    }
    if (place > 0) held++
    const [{ domain, reason }] = waiting.splice(place, 1) as [Queued]
    if (reason === undefined) brake.accepted(domain)
    else {
      brake.refused(domain, reason)
      refused++
    }
  }
  return { isTripped: brake.trip !== undefined, refused, left: waiting.length, held }
}
const messages = (count: number, domain: (n: number) => string, reason?: (n: number) => string): Array<Queued> =>
  Array.from({ length: count }, (_, n) => ({
    domain: domain(n),
    ...(reason === undefined ? {} : { reason: reason(n) }),
  }))

const many = (count: number, answer: (n: number) => string | undefined) =>
  Array.from({ length: count }, (_, n) => answer(n))

describe("Brake", () => {
  it("trips after 20 servers in a row refuse the sender, in whatever words", () => {
    const words = [
      "550 5.7.1 Client host [192.0.2.7] blocked using a block list",
      "554 5.7.1 reverse DNS required",
      "550 5.2.0 Mail rejete. OFR_506 [506]",
      "554 Your IP has a bad reputation",
    ]
    const brake = new Brake()
    for (let n = 0; n < 19; n++) brake.refused(`d${n}.example`, `The SMTP server answered ${words[n % 4]}`)
    assert.isFalse(brake.trip !== undefined)
    brake.refused("d19.example", `The SMTP server answered ${words[3]}`)
    assert.match(brake.trip?.reason ?? "", /^20 messages in a row were refused for one reason/)
  })

  it("trips at the twentieth consecutive refusal for one reason and reports that reason", () => {
    const brake = new Brake()
    accept(brake, 1_000)
    refuse(brake, 19)
    assert.isUndefined(brake.trip)
    refuse(brake, 1)
    brake.noOthers()
    assert.match(
      brake.trip!.reason,
      /^20 messages in a row were refused for one reason\. .*554 5\.7\.1 .*Relay access denied$/,
    )
  })

  it("restarts the count after an acceptance, another reason, or a refusal of an address", () => {
    for (
      const other of [
        (brake: Brake) => brake.accepted("shop.example"),
        (brake: Brake) => brake.refused("shop.example", "The SMTP server answered 554 5.6.0 Bad content"),
        (brake: Brake) => brake.refused("shop.example", unknown(1)),
      ]
    ) {
      const brake = new Brake()
      accept(brake, 100)
      refuse(brake, 19)
      other(brake)
      refuse(brake, 19)
      assert.isUndefined(brake.trip)
      refuse(brake, 1)
      brake.noOthers()
      assert.isDefined(brake.trip)
    }
  })

  it("trips when half of the last hundred messages are refused, for any reasons", () => {
    const brake = new Brake()
    accept(brake, 1_000)
    for (let n = 0; n < 49; n++) {
      brake.refused("shop.example", varied(n))
      brake.accepted("shop.example")
    }
    assert.isUndefined(brake.trip)
    brake.refused("shop.example", varied(0))
    brake.noOthers()
    assert.match(brake.trip!.reason, /^50 of the last 100 messages were refused, the last one with: /)
    assert.strictEqual(burned(many(1_000, (n) => n % 5 < 2 ? varied(n) : undefined)), undefined, "forty of a hundred")
  })

  it("does not trip for 1 % bad addresses or 25 addresses of a closed domain", () => {
    const oneInHundred = many(20_000, (n) => n % 100 === 0 ? unknown(n) : undefined)
    assert.isUndefined(burned(oneInHundred))
    const sorted = many(20_000, (n) => n >= 7_000 && n < 7_025 ? unknown(n) : n % 100 === 0 ? unknown(n) : undefined)
    assert.isUndefined(burned(sorted))
  })

  it("loses fewer than 120 messages to a platform that refuses everything, with any reasons", () => {
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

  it("holds a domain that refuses everything until other domains have accepted enough messages", () => {
    const gone = messages(1_000, () => "gone.example", unknown)
    const { held, isTripped, left, refused } = send([...gone, ...messages(1_000, (n) => `d${n % 50}.example`)])
    assert.deepStrictEqual({ isTripped, left, refused }, { isTripped: false, left: 0, refused: 1_000 })
    assert.isAbove(held, 0)
    const brake = new Brake()
    refuse(brake, 50, unknown, "gone.example")
    assert.deepStrictEqual(brake.suspects, ["gone.example"])
    for (let n = 0; n < 8; n++) brake.accepted(`d${n}.example`)
    assert.deepStrictEqual(brake.suspects, ["gone.example"])
    brake.accepted("d8.example")
    assert.deepStrictEqual(brake.suspects, [])
  })

  it("does not stop a campaign for refused addresses of a few domains, wherever they are in the queue", () => {
    for (const reason of [unknown, denied, varied]) {
      const bad = messages(200, (n) => `gone${Math.floor(n / 70)}.example`, reason)
      const good = messages(4_800, (n) => `d${n % 300}.example`)
      for (const place of [0, 1, 40, 2_000, 4_700]) {
        const queue = [...good.slice(0, place), ...bad, ...good.slice(place)]
        const { isTripped, left, refused } = send(queue)
        assert.deepStrictEqual({ isTripped, left, refused }, { isTripped: false, left: 0, refused: 200 }, `at ${place}`)
      }
    }
  })

  it("loses at most 120 messages to a platform that starts to refuse everything, in any order of recipients", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(denied, unknown, varied),
        fc.array(fc.tuple(fc.integer({ min: 1, max: 200 }), fc.nat(30)), { minLength: 1, maxLength: 30 }),
        fc.nat(300),
        fc.nat(30),
        (reason, parts, accepted, from) => {
          const before = messages(accepted, (n) => `d${n % (from + 1)}.example`)
          const after = parts.flatMap(([count, domain]) => messages(count, () => `d${domain}.example`, reason))
          const { isTripped, refused } = send([...before, ...after, ...after, ...after])
          assert.isAtMost(refused, 120)
          if (after.length > 40) assert.isTrue(isTripped)
        },
      ),
      { numRuns: 500 },
    )
  })

  it("stays tripped", () => {
    const brake = new Brake()
    refuse(brake, 20)
    brake.noOthers()
    const { trip } = brake
    accept(brake, 200)
    refuse(brake, 200, varied)
    assert.strictEqual(brake.trip, trip)
  })

  it("continues from the stored state of another brake, and stores no state before the first refusal", () => {
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
          for (const brake of [whole, restarted]) {
            reason === undefined ? brake.accepted("shop.example") : brake.refused("shop.example", reason)
            if (brake.suspects.length > 0) brake.noOthers()
          }
          assert.deepStrictEqual(restarted.trip?.reason.slice(0, 3), whole.trip?.reason.slice(0, 3))
          if (whole.trip !== undefined) return
        }
      }),
    )
  })

  it("is tripped from the start if the stored state is tripped", () => {
    const brake = new Brake()
    refuse(brake, 20, denied, "")
    assert.isDefined(brake.trip)
    assert.strictEqual(new Brake(brake.state).trip?.reason, brake.trip?.reason)
  })
})
