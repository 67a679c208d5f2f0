import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { foldLines } from "nodemailer/lib/mime-funcs"
import MimeNode from "nodemailer/lib/mime-node"
import { Buffer } from "node:buffer"
import { quotedPrintable, writeMessage } from "../../src/delivery/Mime.ts"

const message = {
  headers: [],
  from: { email: "news@shop.example" },
  to: "ada@example.com",
  replyTo: undefined,
  subject: { value: "Hello" },
  messageId: "d1@shop.example",
  date: new Date(1_778_486_400_000),
  text: "Hello\r\n",
  html: undefined,
}

const headOf = (change: Partial<Parameters<typeof writeMessage>[0]>): string => {
  const text = writeMessage({ ...message, ...change }).toString()
  return text.slice(0, text.indexOf("\r\n\r\n"))
}

/** Decodes quoted-printable as RFC 2045 has it. */
const decode = (text: string): string =>
  Buffer.from(
    text.replace(/=\r\n/g, "").replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  ).toString()

const anyBody = fc.array(
  fc.oneof(
    fc.constantFrom("\r\n", " ", "\t", "=", ".", "é", "😀", "word ", "x".repeat(80)),
    fc.string({ unit: "binary" }),
  ),
  { maxLength: 40 },
).map((parts) => parts.join("").toWellFormed().replace(/\r\n|\r|\n/g, "\r\n"))

describe("quotedPrintable", () => {
  it("round-trips any text in lines of at most 76 characters without trailing white space", () =>
    fc.assert(
      fc.property(anyBody, (text) => {
        const encoded = quotedPrintable(Buffer.from(text)).toString("latin1")
        assert.strictEqual(decode(encoded), text)
        for (const line of encoded.split("\r\n")) {
          assert.isAtMost(line.length, 76)
          assert.notMatch(line, /[ \t]$/)
        }
      }),
      { numRuns: 500 },
    ))

  it("does not split a character across two lines", () => {
    for (const line of quotedPrintable(Buffer.from("😀é".repeat(50))).toString("latin1").split("=\r\n")) {
      assert.isTrue(Buffer.from(line.replaceAll("=", ""), "hex").toString().isWellFormed())
      assert.notInclude(Buffer.from(line.replaceAll("=", ""), "hex").toString(), "\ufffd")
    }
  })
})

describe("writeMessage", () => {
  it("encodes every subject as nodemailer does", () =>
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.constantFrom("=?utf-8?q?a?=", "word ".repeat(40))),
        (text) => {
          const value = text.replace(/\p{Cc}/gu, "").toWellFormed().trim()
          const encoded = MimeNode.encodeHeaderValue("Subject", value)
          const head = headOf({ subject: { value } })
          if (encoded.trim() === "") assert.notInclude(head, "Subject:")
          else assert.include(`${head}\r\n`, `\r\n${foldLines(`Subject: ${encoded}`, 76)}\r\n`)
        },
      ),
      { numRuns: 500 },
    ))

  it("encodes every address as nodemailer does", () => {
    for (
      const email of ["ada@example.com", "Ada.L+x@Example.COM", "zoë@example.com", "ada@münchen.example", "a!b@c.d"]
    ) {
      for (const name of [undefined, "The Shop", 'Say "hi"', "名前"]) {
        const value = MimeNode.encodeHeaderValue("From", { address: email, name: name ?? "" })
        assert.include(headOf({ from: { email, name } }), foldLines(`From: ${value}`, 76))
      }
    }
  })

  it("selects the encoding by the characters of the body", () => {
    const encodingOf = (text: string) => /^Content-Transfer-Encoding: (.*)$/m.exec(headOf({ text }))?.[1]?.trim()
    assert.strictEqual(encodingOf("Hello"), "7bit")
    assert.strictEqual(encodingOf("word ".repeat(20)), "quoted-printable")
    assert.strictEqual(encodingOf("Grüße aus Köln"), "quoted-printable")
    assert.strictEqual(encodingOf("こんにちは"), "base64")
  })

  it("ends the body with one line break, and wraps base64 at 76 characters", () => {
    const text = "日本語".repeat(100)
    const body = writeMessage({ ...message, text }).toString().split("\r\n\r\n")[1]!
    assert.isTrue(body.endsWith("\r\n"))
    assert.isAtMost(Math.max(...body.split("\r\n").map(({ length }) => length)), 76)
    assert.strictEqual(Buffer.from(body, "base64").toString(), text)
  })
})
