import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { compose, type Email, lineOf, textOf, validateAddress } from "../../src/delivery/Email.ts"
import { read } from "../support/platformServers/MimeReader.ts"

const email: Email = {
  from: { email: "news@shop.example", name: "The Shop" },
  to: "ada@example.com",
  subject: "Hello",
  html: "<p>Hello</p>",
  text: undefined,
  messageId: "d1@shop.example",
  trackingId: "d1",
  date: new Date(1_778_486_400_000),
}

const composed = (change: Partial<Email> = {}) =>
  Effect.map(compose({ ...email, ...change }), ({ bytes }) => read(bytes.toString("latin1")))

const expectedNames = [
  "content-type",
  "date",
  "from",
  "message-id",
  "mime-version",
  "subject",
  "to",
  "x-tracking-id",
]

/** A body as mail has it: lines end in CRLF, and the last line break is the format's own. */
const lines = (text: string) => text.toWellFormed().replace(/\r\n|\r|\n/g, "\n")

const anyText = fc.string({ unit: "binary", maxLength: 200 })
const nasty = fc.oneof(
  anyText,
  fc.array(
    fc.constantFrom(
      "\r\n",
      "\n",
      "\r",
      "Bcc: x@y.example",
      " ",
      "\t",
      "=?utf-8?q?a?=",
      "é",
      "\u202e",
      "\0",
      "\ud800",
      "😀",
      ".",
    ),
    { maxLength: 20 },
  ).map((parts) => parts.join("")),
)

describe("compose", () => {
  it.effect("reads back as it was written, whatever the text, and never has another header", () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(nasty, nasty, nasty, async (subject, inHtml, inText) => {
          // An empty part is left out.
          const html = `<p>${inHtml}`
          const text = `${inText}.`
          const mail = await Effect.runPromise(composed({ subject, html, text }))
          // An empty subject has no header.
          const names = lineOf(subject) === "" ? expectedNames.filter((name) => name !== "subject") : expectedNames
          assert.deepStrictEqual([...mail.names].sort(), names)
          assert.strictEqual(mail.headers.get("subject") ?? "", lineOf(subject))
          const [plain, rich] = mail.parts
          assert.strictEqual(lines(plain!.text), lines(text))
          assert.strictEqual(lines(rich!.text), lines(html))
        }),
        { numRuns: 300, seed: 41 },
      )
    ))

  it.effect("reads names back as they were written, or refuses them", () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(nasty, async (name) => {
          const result = await Effect.runPromise(
            Effect.result(composed({ from: { email: "news@shop.example", name } })),
          )
          if (result._tag === "Failure") {
            assert.match(result.failure, /^has a from_name that must/)
            return
          }
          assert.deepStrictEqual([...result.success.names].sort(), expectedNames)
          const from = result.success.headers.get("from")!
          assert.isTrue(from.endsWith("news@shop.example>") || from === "news@shop.example", from)
        }),
        { numRuns: 300, seed: 42 },
      )
    ))

  for (const name of ["Zoë & Søn, Ltd.", "名前", 'Say "hi"']) {
    it.effect(`shows the sender's name ${JSON.stringify(name)}`, () =>
      Effect.gen(function* () {
        const mail = yield* composed({ from: { email: "news@shop.example", name } })
        const shown = mail.headers.get("from")!.replace(/ <news@shop\.example>$/, "")
        const bare = shown.startsWith('"') ? shown.slice(1, -1).replace(/\\(.)/g, "$1") : shown
        assert.strictEqual(bare, name)
      }))
  }

  it.effect("makes the text from the html where there is none, without the hidden preheader", () =>
    Effect.gen(function* () {
      const mail = yield* composed({
        html: '<html><body class="a>b"><h1>News</h1><p>Look <a href="https://s.example/x">here</a></p></body></html>',
        preheader: "Only\r\ntoday <b>",
      })
      const [plain, rich] = mail.parts
      assert.include(plain!.text, "here [https://s.example/x]")
      assert.notInclude(plain!.text, "Only today")
      assert.match(rich!.text, /<body class="a>b"><div style="display:none[^>]*>Only today &lt;b&gt;<\/div><h1>/)
    }))

  it.effect("sends a text alone as text", () =>
    Effect.gen(function* () {
      const mail = yield* composed({ html: undefined, text: "Bonjour à toutes" })
      assert.match(mail.headers.get("content-type")!, /^text\/plain/)
      assert.strictEqual(mail.text.trim(), "Bonjour à toutes")
    }))

  it.effect("names message, tracking id and ways to unsubscribe", () =>
    Effect.gen(function* () {
      const url = `https://shop.example/u?${"x".repeat(300)}`
      const mail = yield* composed({ unsubscribe: { url, mailto: "stop@shop.example" }, replyTo: "help@shop.example" })
      assert.strictEqual(mail.headers.get("message-id"), "<d1@shop.example>")
      assert.strictEqual(mail.headers.get("x-tracking-id"), "d1")
      assert.strictEqual(mail.headers.get("list-unsubscribe"), `<${url}>, <mailto:stop@shop.example>`)
      assert.strictEqual(mail.headers.get("list-unsubscribe-post"), "List-Unsubscribe=One-Click")
      assert.strictEqual(mail.headers.get("reply-to"), "help@shop.example")
      assert.strictEqual(mail.headers.get("date"), "Mon, 11 May 2026 08:00:00 +0000")
    }))

  for (
    const [what, change] of [
      ["recipient", { to: "ada@example.com\r\nBcc: eve@example.com" }],
      ["recipient", { to: "ada@example.com, eve@example.com" }],
      ["from_name", { from: { email: "a@shop.example", name: "Shop\nBcc: x" } }],
      ["from_name", { from: { email: "a@shop.example", name: "Shop \u202e" } }],
      ["from", { from: { email: "a@shop.example\0" } }],
      ["reply_to", { replyTo: "a@b.example\r\nX: y" }],
      ["unsubscribe link", { unsubscribe: { url: "https://x.example/>\r\nX: y" } }],
      ["tracking id", { trackingId: "d1\r\nX: y" }],
    ] as ReadonlyArray<readonly [string, Partial<Email>]>
  ) {
    it.effect(`refuses a ${what} that would be more than itself: ${JSON.stringify(change)}`, () =>
      Effect.gen(function* () {
        assert.include(yield* Effect.flip(compose({ ...email, ...change })), `has a ${what} that must`)
      }))
  }

  it.effect("addresses foreign domains by their ASCII names", () =>
    Effect.gen(function* () {
      const { to } = yield* compose({ ...email, to: "ada@münchen.example" })
      assert.strictEqual(to, "ada@xn--mnchen-3ya.example")
    }))
})

describe("validateAddress", () => {
  for (
    const address of [
      "ada@example.com",
      "a.b+c@sub.example.co",
      "o'brien@example.com",
      "jörg@münchen.example",
      "x@y.museum",
    ]
  ) {
    it(`takes ${address}`, () => assert.isUndefined(validateAddress(address)))
  }

  for (
    const address of [
      "",
      "ada",
      "@example.com",
      "ada@",
      "ada@localhost",
      "ada@example.com,eve@example.com",
      "ada@example.com;eve@example.com",
      "Ada <ada@example.com>",
      "<ada@example.com>",
      "ada@example.com eve@example.com",
      " ada@example.com",
      "ada@example.com\r\nBcc: eve@example.com",
      "ada@example.com\n",
      "ada\0@example.com",
      "ada@exam\u202eple.com",
      "ada\u200b@example.com",
      "ada@@example.com",
      "ada@eve@example.com",
      '"ada eve"@example.com',
      "ada(comment)@example.com",
      "ada@[127.0.0.1]",
      "ada@127.0.0.1",
      ".ada@example.com",
      "ada..b@example.com",
      "ada@-example.com",
      "ada@example..com",
      "ada@exa_mple.com",
      `${"a".repeat(65)}@example.com`,
      `ada@${"a".repeat(60)}.${"b".repeat(60)}.${"c".repeat(60)}.${"d".repeat(70)}.com`,
      "\ud800@example.com",
      "undisclosed:ada@example.com",
    ]
  ) {
    it(`refuses ${JSON.stringify(address)}, and says why`, () => assert.match(validateAddress(address) ?? "", /^must /))
  }
})

describe("lineOf and textOf", () => {
  it("makes one line of many", () => {
    assert.strictEqual(lineOf("  Hello\r\n  Ada,\u0000\u2028it's\t\ttime \u202e!"), "Hello Ada, it's time !")
  })

  it("ends on html that is nested without end", () => {
    assert.isBelow(textOf("<div>".repeat(50_000) + "x").length, 100_000)
  })
})
