import { assert, describe, it } from "@effect/vitest"
import { readAddress } from "../../src/text/AddressText.ts"

const ann = "ann@shop.example"

const readable: ReadonlyArray<readonly [text: string, address: string]> = [
  ["ann@shop.example", ann],
  ["  ann@shop.example\r\n", ann],
  ["\u200bann@shop.example\ufeff", ann],
  ["Ann <ann@shop.example>", ann],
  ["Ann<ann@shop.example>", ann],
  ["<ann@shop.example>", ann],
  ["< ann@shop.example >", ann],
  ['"Shopper, Ann" <ann@shop.example>', ann],
  ["Shopper, Ann <ann@shop.example>", ann],
  ['"Ann \\"the\\" Shopper" <ann@shop.example>', ann],
  ['"<other@shop.example>" <ann@shop.example>', ann],
  ["ann@shop.example <ann@shop.example>", ann],
  ["=?utf-8?Q?Ann=2C_S=2E?= <ann@shop.example>", ann],
  ["Änn Übel <ann@shop.example>", ann],
  ["ann@shop.example (Ann Shopper)", ann],
  ["(work (old)) ann@shop.example", ann],
  ["Ann (of \\) shop) <ann@shop.example>", ann],
  ["mailto:ann@shop.example", ann],
  ["MAILTO:ann@shop.example?subject=unsubscribe&body=a@b.example", ann],
  ["mailto:ann%40shop.example", ann],
  ["mailto:ann%2Bnews@shop.example", "ann+news@shop.example"],
  ["<mailto:ann@shop.example>", ann],
  ["rfc822;ann@shop.example", ann],
  ["rfc822; ann@shop.example", ann],
  ["RFC822;<ann@shop.example>", ann],
  ["utf-8;ann@shop.example", ann],
  ["SMTP:ann@shop.example", ann],
  ["smtp:Ann@Shop.Example", "Ann@Shop.Example"],
  ["ann@shop.example.", ann],
  ["ann@shop.example;", ann],
  ["ann@shop.example,", ann],
  [";ann@shop.example", ann],
  ["Ann <ann@shop.example>;", ann],
  ['"ann@shop.example"', ann],
  ["'ann@shop.example'", ann],
  ["'Ann' <'ann@shop.example'>", ann],
  ['"ann"@shop.example', ann],
  ["&lt;ann@shop.example&gt;", ann],
  ["Ann &lt;ann@shop.example&gt;", ann],
  ["<@relay.example:ann@shop.example>", ann],
  ["o'neil@shop.example", "o'neil@shop.example"],
  ["jörg@bücher.example", "jörg@bücher.example"],
  ["Jörg <jörg@xn--bcher-kva.example>", "jörg@xn--bcher-kva.example"],
  ["ann+news=1/2@shop.example", "ann+news=1/2@shop.example"],
  ["ann@[192.0.2.1]", "ann@[192.0.2.1]"],
  ["ann\u200b@shop.example", ann],
  ["ann@shop\u00ad.example", ann],
  ["\u2066ann@shop.example\u2069", ann],
  ["\u201cann@shop.example\u201d", ann],
  ["\u201eShopper, Ann\u201d <ann@shop.example>", ann],
  ["\u00abAnn\u00bb <ann@shop.example>", ann],
  ["\uff1cann@shop.example\uff1e", ann],
  ["ann\uff20shop.example", ann],
  ["mailto://ann@shop.example", ann],
  ["mailto:ann@shop.example,", ann],
  ["o\u2019neil@shop.example", "o\u2019neil@shop.example"],
]

const unreadable: ReadonlyArray<string> = [
  "",
  "   ",
  "ann",
  "Ann Shopper",
  "ann at shop.example",
  "@shop.example",
  "ann@",
  "ann@@shop.example",
  "ann@shop.example, bob@shop.example",
  "ann@shop.example;bob@shop.example",
  "ann@shop.example bob@shop.example",
  "ann@shop.example, Bob <bob@shop.example>",
  "Ann <ann@shop.example>, Bob <bob@shop.example>",
  "Ann <ann@shop.example",
  "Ann <>",
  "mailto:",
  '"ann shopper"@shop.example',
  `<${"a".repeat(1_000)}@shop.example>`,
]

describe("readAddress", () => {
  for (const [text, address] of readable) {
    it(`reads ${JSON.stringify(text)} as ${address}`, () => assert.strictEqual(readAddress(text), address))
  }
  for (const text of unreadable) {
    it(`reads no address in ${JSON.stringify(text.slice(0, 60))}`, () => assert.isUndefined(readAddress(text)))
  }

  it("takes linear time for hostile texts of the maximum length", () => {
    for (const part of ["(", "<", '"', '\\"', "@", ",", "mailto:", "&lt;", "'", "a@b;", "<<>", "@a:"]) {
      assert.isUndefined(readAddress(part.repeat(Math.floor(1_000 / part.length))))
    }
  })
})
