import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { assert, describe, it } from "vitest"
import * as Limits from "../../src/rendering/Limits.ts"
import { aroundTests } from "../support/aroundTests.ts"
import { hostile } from "./hostile.ts"
import type { Ending } from "./hostile.process.ts"

const heapMebibytes = 512
const limitMillis = 120_000

/** Runs the corpus in a process with little memory, killed after two minutes. */
const corpus = Effect.promise(async (signal) => {
  const program = fileURLToPath(new URL("./hostile.process.ts", import.meta.url))
  const { code, stderr, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "--no-lock", "--quiet", `--v8-flags=--max-old-space-size=${heapMebibytes}`, program],
    signal: AbortSignal.any([signal, AbortSignal.timeout(limitMillis)]),
  }).output()
  const lines = new TextDecoder().decode(stdout).split("\n").slice(0, -1)
  return { code, endings: lines.map((line) => JSON.parse(line) as Ending), stderr: new TextDecoder().decode(stderr) }
})

describe("the hostile corpus", () => {
  let ran: Effect.Success<typeof corpus>
  aroundTests(corpus, (ended) => ran = ended)

  it("has at least 60 templates with different names", () => {
    assert.isAtLeast(hostile.length, 60)
    assert.strictEqual(new Set(hostile.map(({ name }) => name)).size, hostile.length)
  })

  it("is rejected or ends within the limits for every template, in little memory and in one process", () => {
    const { code, endings, stderr } = ran
    assert.strictEqual(code, 0, stderr)
    assert.deepStrictEqual(endings.map(({ name }) => name), hostile.flatMap(({ name }) => [name, name]))
    for (const { detail, end, length, name } of endings) {
      assert.isAtMost(length, Limits.outputLength, name)
      assert.isFalse(detail.includes("cannot be rendered"), `${name}: ${detail}`)
      if (end !== "rendered") assert.isNotEmpty(detail, name)
    }
    const slowest = endings.toSorted((left, right) => right.milliseconds - left.milliseconds).slice(0, 3)
    console.log(
      `hostile corpus: ${hostile.length} templates, slowest ` +
        slowest.map(({ milliseconds, name }) => `${milliseconds} ms (${name})`).join(", "),
    )
  })

  it("ends at a limit for every template that grows or runs endlessly", () => {
    const endOf = (name: string) => ran.endings.filter((ending) => ending.name === name).map(({ end }) => end)
    for (
      const name of [
        "capture that doubles itself",
        "capture that doubles itself and is not shown",
        "assign that appends itself",
        "empty loop over a long range",
        "range from data",
        "contains with a needle that is slow to search",
        "printing a folded list",
        "comparing folded lists",
        "data nested a hundred thousand deep",
        // No snippet has this name. Checks before saving refuse it.
        "render",
      ]
    ) assert.deepStrictEqual(endOf(name), ["limited", "limited"], name)
    for (
      const name of [
        "include",
        "layout",
        "expressions from data",
        "nested brackets",
        "a source beyond the limit",
      ]
    ) {
      assert.deepStrictEqual(endOf(name), ["refused", "refused"], name)
    }
    assert.deepStrictEqual(endOf("prototype chain"), ["rendered", "complained"])
    assert.deepStrictEqual(endOf("range beyond exact integers"), ["rendered", "rendered"])
  })
})
