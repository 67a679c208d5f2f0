import { assert, describe, it } from "@effect/vitest"
import { missingLine, samplesOf, shapeDifference } from "../support/documents.ts"

describe("samples of documents", () => {
  it("are read with their language, words and reasons", () => {
    const [a, b] = samplesOf('1. x\n   ```sh not-run="needs DNS"\n   dig\n   ```\n```json output\n{}\n```')
    assert.deepInclude(a, { language: "sh", notRun: "needs DNS", text: "dig", line: 2, words: [] })
    assert.deepInclude(b, { language: "json", words: ["output"], notRun: undefined })
  })

  it("match JSON by its shape", () => {
    const difference = (stated: unknown) =>
      shapeDifference(stated, { id: "a-17", state: "ok", list: [{ n: 1 }, { n: 2 }] })
    assert.isUndefined(difference({ id: "b-3", state: "ok", list: [{ n: 9 }] }))
    assert.isUndefined(difference({ id: "…", "…": "…" }))
    assert.strictEqual(difference({ id: "…", state: "bad", list: [] }), '$.state: "ok"')
    assert.strictEqual(difference({ id: "…" }), "$.state is not stated")
    assert.strictEqual(difference({ id: 3, "…": "" }), '$.id: "a-17"')
  })

  it("match lines of text except for figures", () => {
    assert.isUndefined(
      missingLine("welcome: 3 decisions…\nbest 0.5 %", "first\nwelcome: 12 decisions in 180 days\nbest   94 %"),
    )
    assert.strictEqual(missingLine("best 1 %\nwelcome: 3", "welcome: 12\nbest 94 %"), "welcome: 3")
  })
})
