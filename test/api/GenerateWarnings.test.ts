import { assert, describe, it } from "@effect/vitest"
import { warningsOfBatch } from "../../src/api/generate/GenerateAnswer.ts"
import * as Warnings from "../../src/api/http/Warnings.ts"
import { type Answer, withWarnings } from "../../src/decide/Answer.ts"
import type { CopyId, TemplateId } from "../../src/domain/Ids.ts"

const plain: Answer = { _tag: "Chosen", trackingId: "1", copyId: "a" as CopyId, vars: {}, durable: true }
const none: Answer = { _tag: "None", trackingId: "2", reason: "no-candidate" }

const batch = (...answers: ReadonlyArray<Answer>) =>
  answers.map((answer, n) => [`t${n}` as TemplateId, answer] as const)

describe("warnings of an answer", () => {
  it("are appended to earlier warnings", () => {
    const warned = withWarnings(withWarnings(plain, ["one thing"]), ["another"])
    assert.deepStrictEqual(warned.warnings, ["one thing", "another"])
    assert.strictEqual(withWarnings(plain, []), plain)
  })

  it("appear once if all items of a batch have them, and otherwise with the name of their template", () => {
    assert.isUndefined(warningsOfBatch(batch(plain, none)))
    assert.deepStrictEqual(
      warningsOfBatch(batch(withWarnings(plain, ["shared", "own"]), withWarnings(none, ["shared"]))),
      ["shared", 'in "t0": own'],
    )
    const many = Array.from({ length: 5 }, () => withWarnings(plain, ["often"]))
    assert.deepStrictEqual(warningsOfBatch(batch(...many, none)), ['in "t0", "t1", "t2" and 2 more: often'])
  })

  it("are limited to ten of printable ASCII in a batch", () => {
    const many = Array.from({ length: 30 }, (_, n) => `warning ${n}`)
    assert.lengthOf(warningsOfBatch(batch(withWarnings(plain, many)))!, 10)
    assert.strictEqual(Warnings.headerOf(["Zoë\r\nset-cookie: x", "b"]), "Zo???set-cookie: x; b")
  })
})
