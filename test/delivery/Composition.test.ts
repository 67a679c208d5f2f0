import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { Buffer } from "node:buffer"
import { compose, outlineOf } from "../../src/delivery/Composition.ts"
import { type Email, lineOf } from "../../src/text/Email.ts"
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

/** The wire format of an e-mail that must be composed. */
const rawOf = async (change: Partial<Email> = {}): Promise<string> => {
  const composition = await compose({ ...email, ...change })
  if (composition._tag === "faulty") throw new Error(composition.reason)
  return Buffer.from(composition.mail.bytes).toString("latin1")
}

/** The reason why an e-mail must not be composed. */
const reasonOf = async (change: Partial<Email>): Promise<string> => {
  const composition = await compose({ ...email, ...change })
  if (composition._tag === "composed") throw new Error("It was composed")
  return composition.reason
}

const composed = async (change: Partial<Email> = {}) => read(await rawOf(change))

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

/** A body with LF line breaks. */
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
  it("preserves any subject, HTML and text, and adds no header for them", () =>
    fc.assert(
      fc.asyncProperty(nasty, nasty, nasty, async (subject, inHtml, inText) => {
        // An empty part is left out.
        const html = `<p>${inHtml}`
        const text = `${inText}.`
        const mail = await composed({ subject, html, text })
        // An empty subject has no header.
        const names = lineOf(subject) === "" ? expectedNames.filter((name) => name !== "subject") : expectedNames
        assert.deepStrictEqual([...mail.names].sort(), names)
        assert.strictEqual(mail.headers.get("subject") ?? "", lineOf(subject))
        const [plain, rich] = mail.parts
        assert.strictEqual(lines(plain!.text), lines(text))
        assert.strictEqual(lines(rich!.text), lines(html))
      }),
      { numRuns: 300, seed: 41 },
    ))

  it("preserves the sender's name or refuses it", () =>
    fc.assert(
      fc.asyncProperty(nasty, async (name) => {
        const composition = await compose({ ...email, from: { email: "news@shop.example", name } })
        if (composition._tag === "faulty") {
          assert.match(composition.reason, /^has a from_name that must/)
          return
        }
        const mail = read(Buffer.from(composition.mail.bytes).toString("latin1"))
        assert.deepStrictEqual([...mail.names].sort(), expectedNames)
        const from = mail.headers.get("from")!
        assert.isTrue(from.endsWith("news@shop.example>") || from === "news@shop.example", from)
      }),
      { numRuns: 300, seed: 42 },
    ))

  for (const name of ["Zoë & Søn, Ltd.", "名前", 'Say "hi"']) {
    it(`shows the sender's name ${JSON.stringify(name)}`, async () => {
      const mail = await composed({ from: { email: "news@shop.example", name } })
      const shown = mail.headers.get("from")!.replace(/ <news@shop\.example>$/, "")
      const bare = shown.startsWith('"') ? shown.slice(1, -1).replace(/\\(.)/g, "$1") : shown
      assert.strictEqual(bare, name)
    })
  }

  it("sends plain text without HTML as text/plain", async () => {
    const mail = await composed({ html: undefined, text: "Bonjour à toutes" })
    assert.match(mail.headers.get("content-type")!, /^text\/plain/)
    assert.strictEqual(mail.text.trim(), "Bonjour à toutes")
  })

  it("has the message id, the tracking id and the ways to unsubscribe in its headers", async () => {
    const url = `https://shop.example/u?${"x".repeat(300)}`
    const mail = await composed({ unsubscribe: { url, mailto: "stop@shop.example" }, replyTo: "help@shop.example" })
    assert.strictEqual(mail.headers.get("message-id"), "<d1@shop.example>")
    assert.strictEqual(mail.headers.get("x-tracking-id"), "d1")
    assert.strictEqual(mail.headers.get("list-unsubscribe"), `<${url}>, <mailto:stop@shop.example>`)
    assert.strictEqual(mail.headers.get("list-unsubscribe-post"), "List-Unsubscribe=One-Click")
    assert.strictEqual(mail.headers.get("reply-to"), "help@shop.example")
    assert.strictEqual(mail.headers.get("date"), "Mon, 11 May 2026 08:00:00 +0000")
  })

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
    it(`refuses a ${what} that would inject headers or recipients: ${JSON.stringify(change)}`, async () =>
      assert.include(await reasonOf(change), `has a ${what} that must`))
  }

  it("addresses international domains by their ASCII names", async () => {
    const composition = await compose({ ...email, to: "ada@münchen.example" })
    assert.strictEqual(composition._tag === "composed" && composition.mail.to, "ada@xn--mnchen-3ya.example")
  })
})

describe("The header lines of an e-mail", () => {
  /** Lengths of the header lines, without their line breaks. */
  const lengthsOf = (raw: string) => raw.slice(0, raw.indexOf("\r\n\r\n")).split("\r\n").map((line) => line.length)

  for (
    const [what, change, header, expected] of [
      ["a subject of 10,000 other characters", { subject: "é".repeat(10_000) }, "subject", "é".repeat(10_000)],
      ["a subject of 10,000 letters without spaces", { subject: "a".repeat(10_000) }, "subject", "a".repeat(10_000)],
      ["a subject with one long word", { subject: `Read ${"b".repeat(1_500)} now` }, "subject", undefined],
      ["a subject of 10,000 words", { subject: "word ".repeat(10_000) }, "subject", undefined],
      ["a subject of words of 899 letters", { subject: `${"c".repeat(899)} `.repeat(5) }, "subject", undefined],
      ["a subject of encoded words", { subject: "=?utf-8?q?a?= ".repeat(500) }, "subject", undefined],
      ["a name of 100 characters", { from: { email: "a@b.example", name: "é".repeat(100) } }, undefined, undefined],
      ["a long name of words", { from: { email: "a@b.example", name: "The Shop ".repeat(300) } }, undefined, undefined],
      ["a tracking id of 200 characters", { trackingId: "t".repeat(200) }, "x-tracking-id", "t".repeat(200)],
      [
        "long targets of List-Unsubscribe",
        { unsubscribe: { url: `https://x.example/${"u".repeat(940)}`, mailto: `stop@${"s".repeat(60)}.example` } },
        "list-unsubscribe",
        undefined,
      ],
    ] as ReadonlyArray<readonly [string, Partial<Email>, string | undefined, string | undefined]>
  ) {
    it(`have at most 998 characters with ${what}`, async () => {
      const raw = await rawOf(change)
      assert.isAtMost(Math.max(...lengthsOf(raw)), 998)
      const wanted = expected ?? (header === "subject" ? lineOf(change.subject!) : undefined)
      if (header !== undefined && wanted !== undefined) {
        assert.strictEqual(read(raw).headers.get(header), wanted)
      }
    })
  }

  for (
    const [name, change] of [
      ["Message-ID", { messageId: `${"m".repeat(1_200)}@shop.example` }],
      ["X-Tracking-ID", { trackingId: "t".repeat(1_200) }],
      ["From", { from: { email: "a@b.example", name: "n".repeat(1_200) } }],
      ["List-Unsubscribe", { unsubscribe: { url: `https://x.example/${"u".repeat(1_000)}` } }],
    ] as ReadonlyArray<readonly [string, Partial<Email>]>
  ) {
    it(`fail the e-mail when ${name} cannot be folded`, async () => {
      assert.match(
        await reasonOf(change),
        new RegExp(`^has the header ${name} with a line of 1,[0-9]{3} characters, which cannot be folded\\. .*shorten`),
      )
    })
  }
})

describe("the plain text generated from HTML", () => {
  it("shows links with their addresses and omits the hidden preheader", async () => {
    const mail = await composed({
      html: '<html><body class="a>b"><h1>News</h1><p>Look <a href="https://s.example/x">here</a></p></body></html>',
      preheader: "Only\r\ntoday <b>",
    })
    const [plain, rich] = mail.parts
    assert.include(plain!.text, "here [https://s.example/x]")
    assert.notInclude(plain!.text, "Only today")
    assert.match(rich!.text, /<body class="a>b"><div style="display:none[^>]*>Only today &lt;b&gt;<\/div><h1>/)
  })

  it("omits frames, which mail programs do not show", async () => {
    const mail = await composed({ html: "<p>Seen</p><iframe><p>Unseen</p></iframe>" })
    assert.strictEqual(mail.parts[0]!.text.trim(), "Seen")
  })

  it("contains text nested 500 elements deep and text of 19,000 unclosed paragraphs", async () => {
    const deep = await composed({ html: "<div>".repeat(490) + "inside" + "</div>".repeat(490) })
    assert.strictEqual(deep.parts[0]!.text.trim(), "inside")
    const flat = await composed({ html: "<p>x".repeat(19_000) })
    assert.strictEqual(flat.parts[0]!.text.match(/x/g)!.length, 19_000)
  })

  const nested = [
    ["tags", "<b>"],
    ["blocks", "<div>"],
    ["tables", "<table><tr><td>"],
    ["lists", "<ul><li>"],
    ["preformatted text", "<pre>\n"],
    ["inline in block", "<div><i>"],
  ] as const
  for (const [what, tag] of nested) {
    it(`is refused for 900 kB of nested ${what}, with a reason that says what to change`, async () => {
      const html = tag.repeat(900_000 / tag.length)
      assert.match(await reasonOf({ html }), /^has HTML elements nested more than 500 deep.* add a `text` variable$/)
    })
  }

  it("is not generated if the message has a text of its own", async () => {
    const html = "<div>".repeat(100_000)
    const mail = await composed({ html, text: "Hello", preheader: "Today" })
    assert.strictEqual(mail.parts[0]!.text.trim(), "Hello")
    assert.match(mail.parts[1]!.text, /^<div style="display:none[^>]*>Today<\/div><div><div>/)
  })

  it("is refused with the reason if the library throws an exception", async () => {
    const reason = await reasonOf({ html: '<ol type="i" start="10000"><li>x</li></ol>' })
    assert.match(reason, /^has HTML that cannot be turned into plain text: .*add a `text` variable$/)
  })

  it("is refused if nested lists or quotations make it longer than a message may be", async () => {
    for (
      const html of [
        "<blockquote>".repeat(450) + "<p>x".repeat(5_000),
        "<ul><li>".repeat(200) + "x<br>".repeat(5_000),
        `${"<blockquote>".repeat(450)}<pre>${"x\n".repeat(5_000)}`,
        `${"<blockquote>".repeat(190)}${"<p>x".repeat(1_000)}${"</blockquote>".repeat(190)}`.repeat(50),
      ]
    ) assert.match(await reasonOf({ html }), /^has lists or quotations nested so deep .*`text` variable$/)
    const html = "<blockquote>".repeat(20) + "<p>x".repeat(5_000)
    const mail = await composed({ html })
    assert.include(mail.parts[0]!.text, `${"> ".repeat(20)}x`)
  })
})

describe("outlineOf", () => {
  it("finds the end of the start tag of body", () => {
    for (
      const [before, after] of [
        ["<body>", "x"],
        ["<html><head><title><body></title></head><BODY\n class='a>b' data-x=\"<body>\">", "<p>"],
        ["<!-- <body> --><!--[if mso]><body class='mso'><![endif]--><body>", "</body>"],
        ["<bodyguard></bodyguard><body/>", ""],
        ["", "<p>no body</p>"],
        ["", "<body class='unclosed>"],
        ["", ""],
      ] as const
    ) assert.strictEqual(outlineOf(before + after).bodyStart, before.length, before + after)
  })

  it("takes linear time for unclosed body tags", () => {
    for (const piece of ["<body", "<body '", "<body \"'", "<body a="]) {
      assert.deepStrictEqual(outlineOf(piece.repeat(150_000)), {
        isTooDeep: false,
        textBound: 150_000 * piece.length,
        bodyStart: 0,
      }, piece)
    }
  })
})
