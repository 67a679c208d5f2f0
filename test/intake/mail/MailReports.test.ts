import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import type { Normalized } from "../../../src/domain/Event.ts"
import { deliveryHeader, signedDeliveriesHeader, verifiedSenderHeader } from "../../../src/intake/mail/MailReports.ts"
import { each, postfix, read, receivedAt, told } from "./reading.ts"
import * as samples from "./samples.ts"

const { deliveryId, failed, report } = samples

describe("a delivery report", () => {
  it("becomes one event of the delivery in its address, for any number of reports", async () => {
    const normalized = await read(
      postfix("5.1.1", "smtp; 550 5.1.1 <anna@mailbox.example>: Recipient address rejected: User unknown"),
    )
    assert.deepStrictEqual<unknown>(normalized, {
      items: 1,
      skipped: [],
      events: [{
        event: "bounce",
        trackingId: deliveryId,
        templateId: undefined,
        user: undefined,
        key: `id:${deliveryId} bounce`,
        occurredAt: receivedAt,
        automated: false,
        link: undefined,
      }],
    })
    const again = await read(postfix("5.1.1", "smtp; 550 5.1.1 Another hop says the same")) as Normalized
    assert.strictEqual(again.events[0]!.key, `id:${deliveryId} bounce`)
  })

  it("is read in the formats of Postfix, Exim, Exchange, Gmail, Sendmail and Amazon SES", async () => {
    await each([
      [
        "Postfix, no such domain",
        "bounce",
        postfix(
          "5.4.4",
          "X-Postfix; Host or domain name not found. Name service error for name=mailbox.example type=A: Host not found",
        ),
      ],
      [
        "Postfix, gave up",
        "soft_bounce",
        postfix("4.4.1", "X-Postfix; connect to mx.mailbox.example[192.0.2.7]:25: Connection timed out"),
      ],
      ["Postfix, local user", "bounce", postfix("5.1.1", 'X-Postfix; unknown user: "anna"')],
      [
        "Postfix, mailbox full",
        "soft_bounce",
        postfix("5.2.2", "smtp; 552 5.2.2 <anna@mailbox.example>: Quota exceeded (mailbox for user is full)"),
      ],
      [
        "Postfix, too large",
        "failed",
        postfix("5.3.4", "X-Postfix; message size 20480000 exceeds size limit 10240000 of server"),
      ],
      [
        "Exim, unknown user",
        "bounce",
        postfix("5.0.0", "smtp; 550 5.1.1 No such user here", "Remote-MTA: dns; mx.mailbox.example"),
      ],
      ["Exim, unrouteable", "bounce", postfix("5.0.0", "smtp; Unrouteable address")],
      [
        "SendGrid, expired",
        "soft_bounce",
        report({
          recipients: [[
            "Final-Recipient: rfc822; anna@mailbox.example",
            "Action: expired",
            "Status: ",
            "Diagnostic-Code: Connection timed out",
          ]],
        }),
      ],
      ["Exim, gave up", "soft_bounce", postfix("5.0.0", "smtp; 451 4.3.0 Try again later: retry timeout exceeded")],
      ["Exim, blocked", "failed", postfix("5.0.0", "smtp; 550 JunkMail rejected - 192.0.2.10 is in an RBL")],
      ["Sendmail", "bounce", postfix("5.1.1", "SMTP; 550 5.1.1 <anna@mailbox.example>... User unknown")],
      [
        "Exchange Online, no such recipient",
        "bounce",
        samples.exchangeOnline(
          "5.1.10",
          "550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient anna@mailbox.example not found by SMTP address lookup",
        ),
      ],
      [
        "Exchange Online, refused at the edge",
        "bounce",
        samples.exchangeOnline(
          "5.4.1",
          "550 5.4.1 Recipient address rejected: Access denied. User unknown [DB3PR01.eurprd01.prod.exchangelabs.com]",
        ),
      ],
      [
        "Exchange Online, policy",
        "failed",
        samples.exchangeOnline(
          "5.7.133",
          "550 5.7.133 RESOLVER.RST.SenderNotAuthenticatedForGroup; authentication required",
        ),
      ],
      [
        "Exchange Online, no such domain",
        "bounce",
        samples.exchangeOnline("5.4.310", "550 5.4.310 DNS domain mailbox.example does not exist"),
      ],
      [
        "Exchange Online, expired",
        "soft_bounce",
        samples.exchangeOnline("5.4.300", "550 5.4.300 Message expired -> 421 4.4.1 Connection timed out"),
      ],
      [
        "Exchange Online, mailbox full",
        "soft_bounce",
        samples.exchangeOnline(
          "5.2.2",
          "554 5.2.2 mailbox full; STOREDRV.Deliver.Exception:QuotaExceededException.MapiExceptionShutoffQuotaExceeded",
        ),
      ],
      [
        "Gmail, unknown user",
        "bounce",
        samples.gmail(
          "failed",
          "5.1.1",
          "Failure",
          "Diagnostic-Code: smtp; 550-5.1.1 The email account that you tried to reach does not exist. Please try",
          " 550-5.1.1 double-checking the recipient's email address for typos or",
          " 550 5.1.1 unnecessary spaces. - gsmtp",
        ),
      ],
      [
        "Gmail, over quota",
        "soft_bounce",
        samples.gmail(
          "failed",
          "5.2.2",
          "Failure",
          "Diagnostic-Code: smtp; 552-5.2.2 The recipient's inbox is out of storage space.",
        ),
      ],
      [
        "Gmail, disabled",
        "soft_bounce",
        samples.gmail(
          "failed",
          "5.2.1",
          "Failure",
          "Diagnostic-Code: smtp; 550 5.2.1 The email account that you tried to reach is inactive.",
        ),
      ],
      [
        "Gmail, unauthenticated",
        "failed",
        samples.gmail(
          "failed",
          "5.7.26",
          "Failure",
          "Diagnostic-Code: smtp; 550-5.7.26 This mail has been blocked because the sender is unauthenticated.",
        ),
      ],
      [
        "Yahoo, no such mailbox",
        "bounce",
        postfix(
          "5.0.0",
          "smtp; 554 delivery error: dd This user doesn't have a yahoo.com account (anna@yahoo.example) [0]",
        ),
      ],
      [
        "Yahoo, complaints",
        "failed",
        postfix(
          "4.7.0",
          "smtp; 421 4.7.0 [TSS04] Messages from 192.0.2.10 temporarily deferred due to user complaints",
        ),
      ],
      [
        "Hotmail, no such mailbox",
        "bounce",
        postfix("5.5.0", "smtp; 550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302)."),
      ],
      [
        "Amazon SES",
        "bounce",
        report({
          from: "MAILER-DAEMON@email-bounces.amazonses.com",
          headers: [],
          message: ["Reporting-MTA: dns; a8-31.smtp-out.amazonses.com"],
          recipients: [failed("5.1.1", "smtp; 550 5.1.1 user unknown")],
          subject: "Delivery Status Notification (Failure)",
        }),
      ],
      [
        "Null MX",
        "bounce",
        postfix("5.1.0", "X-Postfix; Domain mailbox.example does not accept mail (nullMX): domain not found"),
      ],
      ["Sender refused", "failed", postfix("5.1.8", "smtp; 550 5.1.8 Sender address rejected: Domain not found")],
      ["Loop", "soft_bounce", postfix("5.4.6", "smtp; 554 5.4.6 Too many hops")],
      ["No reason at all", "soft_bounce", postfix("5.0.0", "smtp; 554 Transaction failed")],
      [
        "No diagnostic",
        "bounce",
        report({ recipients: [["Final-Recipient: rfc822; anna@mailbox.example", "Action: failed", "Status: 5.1.1"]] }),
      ],
      ["Comment in the status", "bounce", postfix("5.1.1 (bad destination mailbox address)", "smtp; 550")],
      ["Words that are not known", "soft_bounce", postfix("5.1.1", "smtp; 550 Nope")],
    ])
  })

  it("is no bounce while the server retries or after it relayed the message", async () => {
    await each([
      [
        "Postfix",
        /^ignored: .*delayed/,
        report({
          subject: "Delayed Mail (still being retried)",
          recipients: [[
            "Final-Recipient: rfc822; anna@mailbox.example",
            "Action: delayed",
            "Status: 4.4.1",
            "Diagnostic-Code: X-Postfix; connect to mx.mailbox.example: Connection timed out",
            "Will-Retry-Until: Sat, 28 Nov 2026 09:00:01 +0000",
          ]],
        }),
      ],
      [
        "Gmail",
        /^ignored: .*delayed/,
        samples.gmail(
          "delayed",
          "4.4.1",
          "Delay",
          "Diagnostic-Code: smtp; The recipient server did not accept our requests to connect.",
        ),
      ],
      [
        "relayed",
        /^ignored: .*passed on/,
        report({ recipients: [["Final-Recipient: rfc822; anna@mailbox.example", "Action: relayed", "Status: 2.1.9"]] }),
      ],
      [
        "expanded",
        /^ignored: .*passed on/,
        report({
          recipients: [[
            "Final-Recipient: rfc822; list@mailbox.example",
            "Action: expanded (to 20 recipients)",
            "Status: 2.1.5",
          ]],
        }),
      ],
      [
        "delivered",
        "delivered",
        report({
          recipients: [["Final-Recipient: rfc822; anna@mailbox.example", "Action: delivered", "Status: 2.1.5"]],
        }),
      ],
    ])
  })

  it("counts the mildest result of several recipients", async () => {
    const bad = failed("5.1.1", "smtp; 550 5.1.1 User unknown")
    const full = failed("5.2.2", "smtp; 552 5.2.2 Mailbox full")
    assert.strictEqual(await told(report({ recipients: [bad, full] })), "soft_bounce")
    assert.strictEqual(await told(report({ recipients: [bad, bad] })), "bounce")
    assert.match(
      await told(
        report({
          recipients: [bad, ["Final-Recipient: rfc822; b@mailbox.example", "Action: relayed", "Status: 2.0.0"]],
        }),
      ),
      /^ignored/,
    )
  })

  it("is found in a gateway's wrapper, encoded, with LF line breaks, and in UTF-8 (RFC 6533)", async () => {
    const inner = postfix("5.1.1", "smtp; 550 5.1.1 User unknown")
    const wrapped = samples.mail(
      "From: MAILER-DAEMON@gateway.example",
      'Content-Type: multipart/mixed; boundary="outer"',
      "",
      "--outer",
      inner.replace(/^[\s\S]*?(?=Content-Type: multipart\/report)/, ""),
      "--outer",
      "Content-Type: text/plain",
      "",
      "Scanned.",
      "--outer--",
    )
    const encoded = inner.replace(
      /Content-Type: message\/delivery-status\r\n\r\n([\s\S]*?)\r\n\r\n--/,
      (_, fields: string) =>
        `Content-Type: message/global-delivery-status; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n${
          btoa(fields)
        }\r\n\r\n--`,
    )
    assert.notInclude(encoded, "Status: 5.1.1")
    await each([
      ["wrapped", "bounce", wrapped],
      ["encoded", "bounce", encoded],
      ["LF", "bounce", inner.replaceAll("\r\n", "\n")],
      ["comment in the type", "bounce", inner.replace("multipart/report;", "multipart/report (RFC 6522);")],
      ["boundary in pieces", "bounce", inner.replace(/boundary="(..)(.*?)"/, 'boundary*0="$1"; boundary*1="$2"')],
      ["cut off behind the fields", "bounce", inner.slice(0, inner.indexOf("Undelivered Message Headers"))],
    ])
  })

  it("is not understood if it names no recipient", async () => {
    assert.match(await told(report({ recipients: [] })), /^fault: .*names no recipient/)
    assert.match(
      await told(
        report({ recipients: [["Final-Recipient: rfc822; a@b.example", "Action: puzzled", "Status: 4.0.0"]] }),
      ),
      /^fault/,
    )
  })
})

describe("a complaint", () => {
  it("belongs to the enclosed message, by return path, tracking id or Message-ID", async () => {
    for (const text of [samples.yahoo, samples.outlook, samples.oldHotmail]) {
      const normalized = await read(text, { [verifiedSenderHeader]: "feedback@provider.example" }) as Normalized
      assert.deepStrictEqual(
        normalized.events.map(({ event, key, trackingId, unproven }) => ({ event, key, trackingId, unproven })),
        [{ event: "spam", key: `id:${deliveryId} spam`, trackingId: deliveryId, unproven: undefined }],
      )
      assert.isUndefined(normalized.incomplete)
    }
  })

  it("suppresses nobody without the message's signed return path or a verified sender", async () => {
    const of = async (headers: Readonly<Record<string, string>>) => {
      const { events: [event], incomplete } = await read(samples.outlook, headers) as Normalized
      return [event!.unproven, incomplete?.length, event!.key.replace(deliveryId, "ID")]
    }
    const other = "11111111-2222-4333-8444-555555555555"
    assert.deepStrictEqual(await of({}), [true, 1, "id:ID spam unproven"])
    assert.deepStrictEqual(await of({ [signedDeliveriesHeader]: other }), [true, 1, "id:ID spam unproven"])
    assert.deepStrictEqual(await of({ [signedDeliveriesHeader]: `${other} ${deliveryId}` }), [
      undefined,
      undefined,
      "id:ID spam",
    ])
  })

  it("belongs to the delivery of its return path, for any enclosed message", async () => {
    const other = "11111111-2222-4333-8444-555555555555"
    const normalized = await read(samples.yahoo, { [deliveryHeader]: other }) as Normalized
    assert.deepStrictEqual(normalized.events.map(({ trackingId }) => trackingId), [other])
  })

  it("is distinguished from other feedback by its type", async () => {
    const feedback = (type: string) => told(samples.complaint([`Feedback-Type: ${type}`, "Version: 1"]))
    assert.strictEqual(await feedback("Abuse"), "spam")
    assert.strictEqual(await feedback("fraud"), "spam")
    assert.strictEqual(await feedback("opt-out"), "unsubscribe")
    assert.match(await feedback("not-spam"), /^ignored: .*"not-spam"/)
    assert.match(await feedback("auth-failure"), /^ignored/)
    assert.match(await feedback("virus"), /^ignored/)
    assert.match(await told(samples.complaint(["Version: 1"])), /^fault: .*Feedback-Type/)
  })

  it("is not understood without a message of this service", async () => {
    const text = samples.complaint(["Feedback-Type: abuse"], {
      lines: ["From: somebody@else.example", "Message-ID: <1@else.example>", "", "Hi"],
    })
    assert.match(await told(text, {}), /^fault: .*encloses no message/)
    assert.match(await told(samples.absence, {}), /^ignored: An automatic reply/)
  })
})

describe("a hostile mail", () => {
  const nested = (depth: number) =>
    Array.from({ length: depth }, (_, i) => `Content-Type: multipart/mixed; boundary="b${i}"\r\n\r\n--b${i}\r\n`).join(
      "",
    )

  it("is read completely for any content", async () => {
    const size = 256 * 1024
    const texts = {
      "1,000 multiparts within each other": nested(1_000),
      "multiparts within each other with the same boundary":
        'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\n'.repeat(4_000),
      "boundaries alone": `Content-Type: multipart/report; boundary=b\r\n\r\n${"--b\r\n".repeat(40_000)}`,
      "one header field": `Subject: ${"a".repeat(size)}`,
      "one folded header field": `Subject: a\r\n${" a\r\n".repeat(60_000)}`,
      "header fields": "a: b\r\n".repeat(40_000),
      "different header fields": Array.from({ length: 30_000 }, (_, i) => `x${i}: b`).join("\r\n"),
      "parameters": `Content-Type: multipart/mixed${'; boundary="'.repeat(20_000)}`,
      "spaces": `Content-Type: multipart/mixed;${" ".repeat(size)}`,
      "groups of fields": report({ recipients: Array.from({ length: 5_000 }, () => failed("5.1.1", "smtp; 550")) }),
      "a diagnostic": postfix("5.0.0", `smtp; 550 ${"user ".repeat(50_000)}`),
      "words that patterns look for": postfix("5.0.0", `smtp; 550 ${"exceed".repeat(40_000)}`),
      "dashes": samples.qmail("-".repeat(size)),
      "dashes in lines": samples.qmail("--\n".repeat(80_000)),
      "base64 of nothing": report({ recipients: [] }).replace(
        "message/delivery-status\r\n",
        `message/delivery-status\r\nContent-Transfer-Encoding: base64\r\n`,
      ),
      "equals signs": `Content-Transfer-Encoding: quoted-printable\r\nX-Failed-Recipients: a\r\n\r\n${
        "= ".repeat(100_000)
      }`,
      "control characters": "\0\u0001\r\n\r\0".repeat(50_000),
      "returns": "\r".repeat(size),
      "newlines": "\n".repeat(size),
    }
    for (const [what, text] of Object.entries(texts)) {
      assert.isNotEmpty(await told(text), what)
      assert.isNotEmpty(await told(text, {}), what)
    }
  })

  it("is rejected if its parts are nested too deep", async () => {
    assert.match(await told(nested(1_000)), /^fault: The mail cannot be read: .*nesting depth/)
  })

  it("cannot name another delivery in a header", async () => {
    const text = postfix("5.1.1", "smtp; 550 5.1.1 User unknown", `X-Tracking-Id: other`, `${deliveryHeader}: other`)
    assert.strictEqual(
      (await read(`${deliveryHeader}: other\r\n${text}`) as Normalized).events[0]!.trackingId,
      deliveryId,
    )
  })

  it("results in one event or one reason for any bytes", async () => {
    const pieces = fc.constantFrom(
      "\r\n",
      "--b",
      "Content-Type: ",
      "multipart/report; boundary=b",
      "message/delivery-status",
      "Action: failed",
      "Status: 5.1.1",
      ":",
      " ",
      "\t",
      "é",
      "\0",
    )
    await fc.assert(fc.asyncProperty(fc.array(fc.oneof(pieces, fc.string()), { maxLength: 60 }), async (parts) => {
      const normalized = await read(parts.join(""))
      if ("reason" in normalized) return assert.isNotEmpty(normalized.reason)
      assert.strictEqual(normalized.events.length + normalized.skipped.length, 1)
    }))
  })
})
