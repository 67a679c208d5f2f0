import { assert, describe, it } from "@effect/vitest"
import { validMillis } from "../../src/delivery/AnswerValidity.ts"
import type { Claimed } from "../../src/delivery/Outbox.ts"
import { SuppressionChecks } from "../../src/delivery/SuppressionChecks.ts"
import type { Suppression } from "../../src/suppressions/Suppression.ts"
import { seeded } from "../support/load.ts"

// Seeded histories of two nodes that send, and of opt-outs at either of them. Time, the database and its delays are
// simulated; the checks before messages are the real ones.

const schedules = 100
const people = 40
/** Milliseconds that a history lasts, before its last messages. */
const length = 6_000

interface Rules {
  /** How long an opt-out waits for the answers of the other node. */
  readonly lapse: number
  /** Whether a message asks again right before it begins. */
  readonly asksAgain: boolean
  /** Whether an opt-out ends earlier answers of its own node. */
  readonly endsOwn: boolean
}

/** The rules of the service. */
const rules: Rules = { lapse: validMillis + 1, asksAgain: true, endsOwn: true }

const found = { reason: "unsubscribe", suppressedAt: new Date(0) } as unknown as Suppression

/** One history: when each opt-out was acknowledged, and when messages began. */
const historyOf = (seed: number, { asksAgain, endsOwn, lapse }: Rules) => {
  const random = seeded(seed)
  let now = 0
  const due: Array<{ readonly at: number; readonly run: () => void }> = []
  const later = (millis: number, run: () => void) => void due.push({ at: now + millis, run })
  const committed = new Set<string>()
  const acknowledged = new Map<string, number>()
  const begun: Array<{ readonly email: string; readonly at: number }> = []
  let cancelled = 0

  const nodes = [0, 1].map(() => {
    const node = { epoch: 0, checks: undefined as unknown as SuppressionChecks }
    node.checks = new SuppressionChecks(
      (asked, onAnswer) => {
        // The database reads at some time between the question and the answer.
        const slow = random() < 0.05 ? 20 : 1
        later(random() * 20 * slow, () => {
          const answers = asked.map(({ email }) => committed.has(email) ? found : undefined)
          later(random() * 20 * slow, () => onAnswer(random() < 0.02 ? undefined : answers))
        })
      },
      () => now,
      () => node.epoch,
    )
    return node
  })

  const send = (node: typeof nodes[number], email: string, ahead: ReadonlyArray<Claimed>) => {
    const message = { email } as Claimed
    node.checks.check(message, ahead, (answer) => {
      if (answer._tag === "notChecked" || answer.found !== undefined) return
      // Composing takes its time, and so does the wait for a session.
      later(random() < 0.5 ? 0 : random() * 3_000, () => {
        if (!asksAgain) return void begun.push({ email, at: now })
        node.checks.begin(message, (asked) => {
          if (asked._tag === "checked" && asked.found === undefined) begun.push({ email, at: now })
          else cancelled++
        })
      })
    })
  }

  const optOut = (email: string) => {
    const own = Math.floor(random() * 2)
    // Each person's messages leave by one node at a time.
    const isElsewhere = own !== nodeOf(email)
    later(random() * 10, () => {
      committed.add(email)
      later(random() * 5, () => {
        if (endsOwn) nodes[own]!.epoch++
        later(isElsewhere ? lapse : 0, () => acknowledged.set(email, now))
      })
    })
  }

  const nodeOf = (email: string) => Number(email) % 2
  for (let n = 0; n < people; n++) {
    const email = String(n)
    for (let m = 0; m < 15; m++) later(random() * length, () => send(nodes[nodeOf(email)]!, email, []))
    if (random() < 0.7) later(random() * length, () => optOut(email))
  }
  while (due.length > 0) {
    let first = 0
    for (let i = 1; i < due.length; i++) if (due[i]!.at < due[first]!.at) first = i
    const [next] = due.splice(first, 1)
    now = next!.at
    next!.run()
  }
  const late = begun.filter(({ at, email }) => at > (acknowledged.get(email) ?? Infinity))
  return { late: late.length, begun: begun.length, acknowledged: acknowledged.size, cancelled }
}

const sumOf = (given: Rules) => {
  const sum = { late: 0, begun: 0, acknowledged: 0, cancelled: 0 }
  for (let seed = 0; seed < schedules; seed++) {
    const one = historyOf(seed, given)
    for (const key of Object.keys(sum) as Array<keyof typeof sum>) sum[key] += one[key]
  }
  return sum
}

describe("Opt-outs of two nodes in simulated time", () => {
  it("no message begins after the opt-out of its person is acknowledged", () => {
    const { acknowledged, begun, cancelled, late } = sumOf(rules)
    assert.strictEqual(late, 0)
    assert.isAbove(acknowledged, schedules)
    assert.isAbove(begun, 100 * schedules)
    assert.isAbove(cancelled, schedules)
  })

  for (
    const [name, change] of [
      ["does not wait for the other node", { lapse: 0 }],
      ["waits shorter than answers are valid", { lapse: validMillis / 2 }],
      ["leaves earlier answers of its own node valid", { endsOwn: false }],
      ["lets messages begin on the answer at their departure", { asksAgain: false }],
    ] as const
  ) {
    it(`finds the fault of a service that ${name}`, () => {
      assert.isAbove(sumOf({ ...rules, ...change }).late, 0)
    })
  }
})
