import { assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import Dkim from "nodemailer/lib/dkim"
import { Buffer } from "node:buffer"
import { createPrivateKey, type KeyObject } from "node:crypto"
import { buffer } from "node:stream/consumers"
import { compose } from "../../../src/delivery/Composition.ts"
import { type DkimKey, keyRecordOf, makeKey } from "../../../src/delivery/dkim/DkimKey.ts"
import { signMessage } from "../../../src/delivery/dkim/DkimSignature.ts"
import type { Email } from "../../../src/text/Email.ts"
import { verifyDkim } from "../../support/dkimVerifier.ts"

const domain = "shop.example"
const selector = "s1"

let key: DkimKey
let keyObject: KeyObject
let record = ""
beforeAll(async () => {
  key = await Effect.runPromise(makeKey(1024))
  keyObject = createPrivateKey(key.privateKey)
  record = keyRecordOf({ domain, selector, publicKey: key.publicKey }).value
})

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

const signedBytes = async (change: Partial<Email> = {}): Promise<Buffer> => {
  const composition = await compose({ ...email, dkim: { domain, selector, privateKey: key.privateKey }, ...change })
  if (composition._tag === "faulty") throw new Error(composition.reason)
  return Buffer.from(composition.mail.bytes)
}

const resultOf = (message: Buffer) => verifyDkim(message, record).result

/** Bytes that canonicalization changes. */
const pieces = fc.constantFrom(" ", "\t", "\r\n", ".", "a", "ü", "  \r\n", "\r\n\r\n", "word", "\u00a0", "=", ":")
const anyBody = fc.array(pieces, { maxLength: 30 }).map((parts) => parts.join(""))

const messageOf = (subject: string, body: string) =>
  Buffer.from(`From: a@shop.example\r\nSubject:${subject}\r\nTo: ada@example.com\r\n\r\n${body}`)

/** `bh=` and the fields that are signed, as nodemailer's signer makes them. */
const bodyHashByNodemailer = async (message: Buffer): Promise<string | undefined> => {
  const signer = new Dkim({ domainName: domain, keySelector: selector, privateKey: key.privateKey })
  const text = (await buffer(signer.sign(message))).toString("latin1")
  return /bh=([^;]+);/.exec(text)?.[1]?.replace(/\s/g, "")
}

describe("signMessage", () => {
  it("returns signatures that verify for any subject and body", () =>
    fc.assert(fc.property(anyBody, anyBody, (subject, body) => {
      // A fold is followed by white space, or it would end the header section.
      const message = messageOf(subject.replace(/(?:\r\n)+/g, "\r\n x"), body)
      assert.strictEqual(resultOf(signMessage(message, { domain, selector }, keyObject)), "pass")
    })))

  it("hashes any body as nodemailer's signer does", () =>
    fc.assert(
      fc.asyncProperty(anyBody, async (body) => {
        const message = messageOf(" x", body)
        const own = signMessage(message, { domain, selector }, keyObject).toString("latin1")
        assert.strictEqual(/bh=([^;]+);/.exec(own)?.[1], await bodyHashByNodemailer(message))
      }),
      { numRuns: 50 },
    ))

  it("hashes a body of empty lines like an empty body", () => {
    const hashOf = (body: string) =>
      /bh=([^;]+);/.exec(signMessage(messageOf(" x", body), { domain, selector }, keyObject).toString("latin1"))?.[1]
    for (const body of ["\r\n", "\r\n\r\n", " \t\r\n\r\n", "  "]) assert.strictEqual(hashOf(body), hashOf(""))
  })

  it("takes linear time for white space", () => {
    const body = `${" ".repeat(300_000)}x${" \r\n".repeat(100_000)}`
    assert.strictEqual(resultOf(signMessage(messageOf(" x", body), { domain, selector }, keyObject)), "pass")
  })
})

describe("compose with a DKIM key", () => {
  it("signs composed e-mails of all kinds", async () => {
    for (
      const change of [
        {},
        { subject: "Grüße an alle ".repeat(40) },
        { html: undefined, text: "a  \r\n.\r\n..b\t \r\n\r\n\r\n" },
        { html: `<p>${"x".repeat(3_000)}</p>`, text: " " },
        { from: { email: "nëws@shöp.example", name: "Ünï" } },
        { unsubscribe: { url: "https://shop.example/u", mailto: "stop@shop.example" }, isAutomatic: true },
      ] satisfies ReadonlyArray<Partial<Email>>
    ) {
      assert.strictEqual(resultOf(await signedBytes(change)), "pass", JSON.stringify(change))
    }
  })

  it("signs the headers that receivers rely on, and prevents adding another header of the same name", async () => {
    const { domain: by, names, result, selector: with_ } = verifyDkim(
      await signedBytes({
        replyTo: "help@shop.example",
        unsubscribe: { url: "https://shop.example/u" },
        feedbackId: "a:welcome:bulk:acme-shop",
        isAutomatic: true,
      }),
      record,
    )
    assert.deepStrictEqual([result, by, with_], ["pass", domain, selector])
    const times = (name: string) => names.filter((one) => one === name).length
    for (
      const name of ["from", "to", "subject", "reply-to", "date", "message-id", "mime-version", "content-type"].concat(
        "list-unsubscribe",
        "list-unsubscribe-post",
      )
    ) assert.strictEqual(times(name), 2, name)
    // No copy is addressed, and none may be claimed.
    assert.deepStrictEqual([times("cc"), times("feedback-id"), times("auto-submitted")], [1, 1, 1])
    // Relays may remove fields of their own kind.
    assert.strictEqual(times("x-tracking-id"), 0)
  })

  it("returns a signature that fails after the message is changed or a header is added", async () => {
    const bytes = await signedBytes({ unsubscribe: { url: "https://shop.example/u" } })
    const text = bytes.toString("latin1")
    const changed = (from: string | RegExp, to: string) => resultOf(Buffer.from(text.replace(from, to), "latin1"))
    assert.strictEqual(changed("<p>Hello</p>", "<p>Hallo</p>"), "body hash")
    assert.strictEqual(changed(/^Subject: Hello/m, "Subject: Hallo"), "signature")
    assert.strictEqual(changed("<https://shop.example/u>", "<https://eve.example/u>"), "signature")
    for (
      const field of [
        "From: eve@eve.example",
        "To: bob@example.com",
        "Cc: bob@example.com",
        "Subject: Buy",
        "Reply-To: eve@eve.example",
        "List-Unsubscribe: <https://eve.example>",
        "Content-Type: text/html",
      ]
    ) {
      assert.strictEqual(resultOf(Buffer.concat([Buffer.from(`${field}\r\n`), bytes])), "signature", field)
    }
    // Servers add these on the way.
    const relayed = Buffer.concat([Buffer.from("Received: by mx.example\r\nFeedback-ID: 1:relay\r\n"), bytes])
    assert.strictEqual(resultOf(relayed), "pass")
    // Relays may fold lines anew, and white space at the end of lines may get lost.
    assert.strictEqual(changed("The Shop <news@", "The Shop\r\n\t<news@"), "pass")
  })

  it("leaves an e-mail unsigned if there is no key", async () => {
    assert.strictEqual(resultOf(await signedBytes({ dkim: undefined })), "no signature")
  })
})
