import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { operatorRefusals } from "../../src/service/OperatorRefusals.ts"

const fact = { class: "mailbox-full", phrase: "der Kasten klemmt", source: "our log", date: "2026-11-29" }

const facts = (text: string) => operatorRefusals({ refusalsFile: Option.some({ path: "facts.json", text }) })

describe("facts of an operator about refusals", () => {
  it.effect("are read from the file, and absent without a file", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* operatorRefusals({ refusalsFile: Option.none() }), [])
      assert.deepStrictEqual<unknown>(yield* facts(`[\n${JSON.stringify(fact)}\n]\n`), [fact])
    }))

  it.effect("stop the start with the line of a fault and what to do", () =>
    Effect.gen(function* () {
      const faulty = yield* Effect.flip(facts(`[\n${JSON.stringify({ ...fact, class: "stuck" })}\n]\n`))
      assert.match(
        faulty.message,
        /REFUSALS_FILE: facts\.json: line 2 class must be one of .*\. Correct the file, or unset REFUSALS_FILE/,
      )
    }))
})
