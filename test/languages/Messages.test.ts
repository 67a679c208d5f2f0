import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { catalogueFaults, cataloguesFolder, completed, messagesOfSource, written } from "../../scripts/Languages.ts"
import { languages } from "../../src/languages/Language.ts"
import { messagesOf } from "../../scripts/Messages.ts"

describe("messagesOf", () => {
  it("finds texts with their values, constants and counts", () => {
    const source = [
      "const a = t`Sent ${n} times`",
      "const b = <p>{t`By ${<b>{t`you`}</b>}`}</p>",
      "const c = { label: english('Role' + ' of it') }",
      "const d = counted(n, 'mail') + counted(n, 'day', 'days') + plural(n, 'It', 'They')",
      "const e = counted(n, noun) + other`no` + other('no')",
      "const f = writes('editor', 'member changed', 'admin')",
    ].join("\n")
    assert.deepStrictEqual(messagesOf("a.tsx", source), [
      { key: "Sent {0} times" },
      { key: "By {0}" },
      { key: "you" },
      { key: "Role of it" },
      { key: "{0} mails", one: "{0} mail" },
      { key: "{0} days", one: "{0} day" },
      { key: "They", one: "It" },
      { key: "member changed" },
    ])
  })
})

describe("the catalogues", () => {
  it("have a translation of every text, with its values, and no others", () => {
    const messages = messagesOfSource()
    for (const { tag } of languages.filter(({ tag }) => tag !== "en")) {
      const catalogue = JSON.parse(readFileSync(`${cataloguesFolder}/${tag}.json`, "utf8"))
      assert.deepStrictEqual(
        catalogueFaults(catalogue, messages, tag),
        [],
        "run scripts/writeLanguages.ts, and translate",
      )
    }
  })
})

describe("catalogueFaults", () => {
  const messages = new Map([["By {0}", { key: "By {0}" }], ["{0} mails", { key: "{0} mails", one: "{0} mail" }]])

  it("names missing, superfluous and altered translations", () => {
    const faulty = { "By {0}": "Von {1}", "{0} mails": { one: "{0} Mail" }, "Old": "Alt" }
    assert.deepStrictEqual(catalogueFaults(faulty, messages, "de"), [
      'no form other of "{0} mails"',
      'other values than in "By {0}": "Von {1}"',
      'not in the source: "Old"',
    ])
    const otherValue = { "By {0}": "Von {0}", "{0} mails": { one: "eine Mail", other: "{1} Mails" } }
    assert.deepStrictEqual(catalogueFaults(otherValue, messages, "de"), [
      'other values than in "{0} mails": "{1} Mails"',
    ])
    assert.deepStrictEqual(catalogueFaults({ "By {0}": "" }, messages, "de"), [
      'no translation of "By {0}"',
      'no translation of "{0} mails"',
    ])
    const right = { "By {0}": "Von {0}", "{0} mails": { one: "{0} Mail", other: "{0} Mails" } }
    assert.deepStrictEqual(catalogueFaults(right, messages, "de"), [])
  })

  it("keeps translations when texts are added", () => {
    const { catalogue, removed } = completed({ "By {0}": "Von {0}", "Old": "Alt" }, messages)
    assert.deepStrictEqual([catalogue, removed], [{ "By {0}": "Von {0}", "{0} mails": "" }, 1])
    assert.strictEqual(written(catalogue), '{\n  "By {0}": "Von {0}",\n  "{0} mails": ""\n}\n')
  })
})
