import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  acceptedLanguage,
  CurrentLanguage,
  english,
  fill,
  type Language,
  plural,
  retold,
  t,
  translated,
} from "../../src/languages/Language.ts"

const test: Language = {
  tag: "xx",
  name: "Test",
  locale: "pl",
  texts: new Map<string, string | Readonly<Record<string, string>>>([
    ["Sent to {0} by {1}", "{1} an {0} gesendet"],
    ["One line and the next", "zwei"],
    ["Save", "Speichern"],
    ["Open", ""],
    ["{0} of {1} failed.", "Von {1} schlugen {0} fehl."],
    ["{0} mails", { one: "{0} list", few: "{0} listy", many: "{0} listów", other: "{0} listu" }],
  ]),
}

const inTest = <A>(make: () => A) => Effect.sync(make).pipe(Effect.provideService(CurrentLanguage, test))

describe("t", () => {
  it("is English outside of a request", () => {
    assert.strictEqual(t`Sent to ${"Ann"} by ${3}`, "Sent to Ann by 3")
  })

  it.effect("is the translation in the language of the fiber, with values where the translation has them", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* inTest(() => t`Sent to ${"Ann"} by ${"Bob"}`), "Bob an Ann gesendet")
      assert.strictEqual(
        yield* inTest(() =>
          t`One line
            and the next`
        ),
        "zwei",
      )
    }))

  it.effect("is a list of pieces for a page when an element is among its values", () =>
    Effect.gen(function* () {
      const element = { type: "b" }
      assert.deepStrictEqual(yield* inTest(() => t`Sent to ${element} by ${"Bob"}`), [
        "Bob",
        " an ",
        element,
        " gesendet",
      ])
    }))

  it.effect("leaves a text without a translation in English, and a value that looks like a placeholder as it is", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* inTest(() => t`Open`), "Open")
      assert.strictEqual(yield* inTest(() => t`Unknown ${"{0}"}`), "Unknown {0}")
    }))

  it.effect("translates constants where they are shown", () =>
    Effect.gen(function* () {
      const label = english("Save")
      assert.strictEqual(label, "Save")
      assert.strictEqual(yield* inTest(() => translated(label)), "Speichern")
    }))
})

describe("plural", () => {
  it("has two forms in English", () => {
    assert.deepStrictEqual([0, 1, 2].map((n) => plural(n, "{0} mail", "{0} mails")), [
      "{0} mails",
      "{0} mail",
      "{0} mails",
    ])
  })

  it.effect("has the forms of the language", () =>
    Effect.gen(function* () {
      const forms = yield* inTest(() => [1, 2, 5, 1.5].map((n) => plural(n, "{0} mail", "{0} mails")))
      assert.deepStrictEqual(forms, ["{0} list", "{0} listy", "{0} listów", "{0} listu"])
    }))
})

describe("retold", () => {
  const patterns = [english("{0} failed."), english("{0} of {1} failed.")]

  it.effect("is the translation of a stored text, with its values", () =>
    Effect.gen(function* () {
      const stored = fill(patterns[1]!, ["3", "4 (a|b)"])
      assert.strictEqual(retold(stored, patterns), "3 of 4 (a|b) failed.")
      assert.strictEqual(yield* inTest(() => retold(stored, patterns.slice(1))), "Von 4 (a|b) schlugen 3 fehl.")
    }))

  it.effect("leaves a text that fits no pattern, or only one without a translation, as it is", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* inTest(() => retold("It failed. Why?", patterns)), "It failed. Why?")
      assert.strictEqual(yield* inTest(() => retold("It failed.", patterns)), "It failed.")
    }))

  it.effect("writes numbers and percentages of a stored text in the language of the page", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* inTest(() => retold("2.4 % of 17,619 failed.", patterns.slice(1))),
        "Von 17\u00a0619 schlugen 2,4 % fehl.",
      )
    }))
})

describe("acceptedLanguage", () => {
  it("is the first language of the browser that the console has", () => {
    const headers: ReadonlyArray<readonly [string | undefined, string]> = [
      [undefined, "en"],
      ["", "en"],
      ["*", "en"],
      ["de", "de"],
      ["de-AT,de;q=0.9,en;q=0.8", "de"],
      ["DE-ch", "de"],
      ["en-US,en;q=0.9,de;q=0.8", "en"],
      ["fr-FR,fr;q=0.9,de;q=0.7,en;q=0.3", "de"],
      ["en;q=0.2, de;q=0.6", "de"],
      ["de;q=0, en", "en"],
      ["den", "en"],
      ["de;q=x", "en"],
      ["ja", "en"],
    ]
    for (const [header, tag] of headers) assert.strictEqual(acceptedLanguage(header).tag, tag, header)
  })
})
