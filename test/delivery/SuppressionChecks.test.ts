import { assert, describe, it } from "@effect/vitest"
import { type CheckAnswer, freshMillis, SuppressionChecks } from "../../src/delivery/SuppressionChecks.ts"
import type { Claimed } from "../../src/delivery/Outbox.ts"
import type { Suppression } from "../../src/suppressions/Suppression.ts"

const messages = Array.from({ length: 200 }, (_, n) => ({ id: `m${n}` }) as Claimed)

const complaint = { reason: "complaint", suppressedAt: new Date(0) } as unknown as Suppression

/** Questions that a test answers. */
class Asked {
  now = 0
  readonly questions: Array<{
    readonly ids: ReadonlyArray<string>
    readonly answer: (suppressed?: string) => void
    readonly fail: () => void
  }> = []
  readonly answers = new Map<string, CheckAnswer>()
  readonly checks = new SuppressionChecks((asked, onAnswer) => {
    this.questions.push({
      ids: asked.map(({ id }) => id),
      answer: (suppressed) => onAnswer(asked.map(({ id }) => id === suppressed ? complaint : undefined)),
      fail: () => onAnswer(undefined),
    })
  }, () => this.now)

  check(n: number): void {
    const message = messages[n]!
    this.checks.check(message, messages.slice(n + 1, n + 50), (answer) => this.answers.set(message.id, answer))
  }
}

describe("SuppressionChecks", () => {
  it("asks about the next messages in one query and answers them from its result", () => {
    const asked = new Asked()
    asked.check(0)
    assert.deepStrictEqual(asked.questions.map(({ ids }) => ids), [["m0", "m1", "m2"]])
    // Messages that wait for the same answer do not ask again.
    asked.check(1)
    assert.strictEqual(asked.questions.length, 1)
    asked.questions[0]!.answer("m2")
    asked.check(2)
    assert.strictEqual(asked.questions.length, 1)
    assert.deepStrictEqual([...asked.answers], [
      ["m0", { _tag: "checked", found: undefined }],
      ["m1", { _tag: "checked", found: undefined }],
      ["m2", { _tag: "checked", found: complaint }],
    ])
  })

  it("asks again for a message whose answer has expired", () => {
    const asked = new Asked()
    asked.check(0)
    asked.questions[0]!.answer()
    asked.now = freshMillis
    asked.check(1)
    assert.strictEqual(asked.questions.length, 1)
    asked.now = freshMillis + 1
    asked.check(2)
    assert.strictEqual(asked.questions.length, 2)
    asked.questions[1]!.answer("m2")
    assert.deepStrictEqual(asked.answers.get("m2"), { _tag: "checked", found: complaint })
  })

  it("adapts the size of a query to the number of recent messages sent in time", () => {
    const asked = new Asked()
    for (let n = 0; n < 100; n++) {
      asked.check(n)
      asked.questions.at(-1)!.answer()
    }
    const sizes = asked.questions.map(({ ids }) => ids.length)
    assert.deepStrictEqual(sizes, [3, 6, 10, 16, 25, 39, 50])
    // At a slower pace the questions become small again.
    for (let n = 100; n < 110; n++) {
      asked.now += 2 * freshMillis
      asked.check(n)
      asked.questions.at(-1)!.answer()
    }
    assert.isAtMost(asked.questions.at(-1)!.ids.length, 3)
  })

  it("asks about each message separately if a query fails, and reports the messages that still fail", () => {
    const asked = new Asked()
    asked.check(0)
    asked.check(1)
    asked.questions[0]!.fail()
    assert.deepStrictEqual(asked.questions.slice(1).map(({ ids }) => ids), [["m0"], ["m1"]])
    asked.questions[1]!.fail()
    asked.questions[2]!.answer()
    assert.deepStrictEqual([...asked.answers], [
      ["m0", { _tag: "notChecked" }],
      ["m1", { _tag: "checked", found: undefined }],
    ])
    // The failed question is forgotten for the other messages.
    asked.check(2)
    assert.strictEqual(asked.questions.length, 4)
  })
})
