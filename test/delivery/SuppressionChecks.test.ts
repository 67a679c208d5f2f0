import { assert, describe, it } from "@effect/vitest"
import { type CheckAnswer, freshMillis, SuppressionChecks } from "../../src/delivery/SuppressionChecks.ts"
import type { Claimed } from "../../src/delivery/Outbox.ts"

const messages = Array.from({ length: 200 }, (_, n) => ({ id: `m${n}` }) as Claimed)

/** Questions that a test answers. */
class Asked {
  now = 0
  readonly questions: Array<{ readonly ids: ReadonlyArray<string>; readonly answer: (suppressed?: string) => void }> =
    []
  readonly answers = new Map<string, CheckAnswer>()
  readonly checks = new SuppressionChecks((asked, onAnswer) => {
    this.questions.push({
      ids: asked.map(({ id }) => id),
      answer: (suppressed) =>
        onAnswer(
          asked.map(({ id }) => ({
            _tag: "checked",
            found: id === suppressed ? { reason: "complaint" } as never : undefined,
          })),
        ),
    })
  }, () => this.now)

  check(n: number): void {
    const message = messages[n]!
    this.checks.check(message, messages.slice(n + 1, n + 50), (answer) => this.answers.set(message.id, answer))
  }
}

describe("SuppressionChecks", () => {
  it("asks about messages that leave next together, and answers them without another question", () => {
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
      ["m2", { _tag: "checked", found: { reason: "complaint" } }],
    ])
  })

  it("asks again for a message whose answer is not fresh any more", () => {
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
    assert.deepStrictEqual(asked.answers.get("m2"), { _tag: "checked", found: { reason: "complaint" } })
  })

  it("asks about more messages the more of the last ones left in time", () => {
    const asked = new Asked()
    for (let n = 0; n < 100; n++) {
      asked.check(n)
      asked.questions.at(-1)!.answer()
    }
    const sizes = asked.questions.map(({ ids }) => ids.length)
    assert.deepStrictEqual(sizes, [3, 7, 15, 31, 50])
    // At a slower pace the questions become small again.
    for (let n = 100; n < 110; n++) {
      asked.now += 2 * freshMillis
      asked.check(n)
      asked.questions.at(-1)!.answer()
    }
    assert.isAtMost(asked.questions.at(-1)!.ids.length, 3)
  })

  it("passes on that the list could not be read", () => {
    const answers: Array<CheckAnswer> = []
    const checks = new SuppressionChecks(
      (asked, onAnswer) => onAnswer(asked.map(() => ({ _tag: "notChecked" }))),
      () => 0,
    )
    checks.check(messages[0]!, [], (answer) => answers.push(answer))
    assert.deepStrictEqual(answers, [{ _tag: "notChecked" }])
  })
})
