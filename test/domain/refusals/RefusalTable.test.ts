import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { knownRefusals } from "../../../src/domain/refusals/Refusals.ts"
import { readFacts } from "../../../src/domain/refusals/RefusalTable.ts"

const fact = { class: "disabled", code: "X.2.1", source: "a page", date: "2026-11-29" }

const faultsOf = (text: string) => {
  const read = readFacts(text)
  return "faults" in read ? read.faults : []
}

describe("The table of refusals", () => {
  it("has one fact on each line, in the form that an operator's file has", () => {
    const read = readFacts(readFileSync("src/domain/refusals/refusals.json", "utf8"))
    assert.deepStrictEqual<unknown>(read, { facts: knownRefusals })
  })

  it("has each fact once", () => {
    const keys = knownRefusals.map(({ code, phrase }) => JSON.stringify([code, phrase?.toLowerCase()]))
    assert.deepStrictEqual(keys.filter((key, at) => keys.indexOf(key) !== at), [])
  })

  it("knows phrases in at least 12 languages", () => {
    const languages = new Set(
      knownRefusals.flatMap(({ source }) => /compiled for this table: (.+)$/.exec(source)?.[1] ?? []),
    )
    assert.isAtLeast(languages.size, 12)
  })

  it("reads facts with empty lines, brackets and commas between them", () => {
    const line = JSON.stringify(fact)
    assert.deepStrictEqual<unknown>(readFacts(`[\r\n  ${line},\r\n\n${line}\n]\n`), { facts: [fact, fact] })
    assert.deepStrictEqual<unknown>(readFacts(""), { facts: [] })
  })

  it("names the line of each fault", () => {
    assert.deepStrictEqual(faultsOf(`${JSON.stringify(fact)}\n{"class":\n7\n`), [
      "line 2 is not JSON: write one object on each line",
      "line 3 is no JSON object",
    ])
  })

  it("refuses facts that no refusal could meet", () => {
    const faulty: ReadonlyArray<readonly [object, RegExp]> = [
      [{ ...fact, class: "gone" }, /class must be one of sender-policy, /],
      [{ ...fact, code: undefined }, /needs a code, a phrase, or both/],
      [{ ...fact, code: "5.2.1" }, /code must be like X\.1\.1/],
      [{ ...fact, code: "X.7.1-" }, /code must be like/],
      [{ ...fact, phrase: "a" }, /at least three characters/],
      [{ ...fact, phrase: "mailbox * a" }, /at least three characters/],
      [{ ...fact, phrase: "{user|a}" }, /at least three characters/],
      [{ ...fact, phrase: "{user|account unknown" }, /must close each {/],
      [{ ...fact, phrase: "{user|{account}} unknown" }, /must close each {/],
      [{ ...fact, phrase: "{one|two} ".repeat(20) }, /at most 300 texts/],
      [{ ...fact, phrase: "x".repeat(201) }, /phrase must be a text of 1 to 200 characters/],
      [{ ...fact, weak: false }, /weak must be true, or left out/],
      [{ ...fact, source: undefined }, /needs a source/],
      [{ ...fact, date: "29.11.2026" }, /date must be a day/],
      [{ ...fact, klass: "disabled" }, /unknown member "klass"/],
    ]
    for (const [given, expected] of faulty) assert.match(faultsOf(JSON.stringify(given))[0] ?? "", expected)
  })

  it("reports ten faults of a file and reads 10,000 facts at most", () => {
    assert.lengthOf(faultsOf("x\n".repeat(50)), 10)
    assert.deepStrictEqual(faultsOf(`${JSON.stringify(fact)}\n`.repeat(10_001)), [
      "line 10001 is one fact too many: at most 10000 are read",
    ])
  })
})
