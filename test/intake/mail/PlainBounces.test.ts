import { describe, it } from "@effect/vitest"
import { each } from "./reading.ts"
import * as samples from "./samples.ts"

describe("a bounce in plain text", () => {
  it("is read up to the enclosed message", async () => {
    await each([
      ["qmail, no mailbox", "bounce", samples.qmail("Sorry, no mailbox here by that name. (#5.1.1)")],
      [
        "qmail, full",
        "soft_bounce",
        samples.qmail(
          "192.0.2.7 does not like recipient.\nRemote host said: 552 5.2.2 mailbox full\nGiving up on 192.0.2.7.",
        ),
      ],
      [
        "qmail, gave up",
        "soft_bounce",
        samples.qmail("I'm not going to try again; this message has been in the queue too long. (#4.4.3)"),
      ],
      [
        "qmail, blocked",
        "failed",
        samples.qmail(
          "192.0.2.7 failed after I sent the message.\nRemote host said: 554 5.7.1 Message rejected as spam",
        ),
      ],
      [
        "Exim, unknown",
        "bounce",
        samples.oldExim(
          "Mail delivery failed: returning message to sender",
          "  anna@mailbox.example",
          "    SMTP error from remote mail server after RCPT TO:<anna@mailbox.example>:",
          "    host mx.mailbox.example [192.0.2.7]: 550 No Such User Here",
        ),
      ],
      [
        "Exim, gave up",
        "soft_bounce",
        samples.oldExim(
          "Mail delivery failed: returning message to sender",
          "  anna@mailbox.example",
          "    retry timeout exceeded",
        ),
      ],
      [
        "Exim, delayed",
        /^ignored: .*delayed/,
        samples.oldExim(
          "Warning: message 1xYz delayed 24 hours",
          "A message that you sent has not yet been delivered to one or more of its recipients",
          "No action is required on your part. Delivery attempts will continue for some time",
        ),
      ],
      [
        "encoded subject and text",
        "bounce",
        samples.mail(
          "From: postmaster@mailbox.example",
          "Subject: =?UTF-8?B?VW56dXN0ZWxsYmFyOiBJaHIgR3J1w58=?=",
          "Content-Type: text/plain; charset=utf-8",
          "Content-Transfer-Encoding: base64",
          "",
          btoa("The user anna does not exist. 550 unknown user"),
        ),
      ],
      [
        "any other server",
        "bounce",
        samples.mail(
          "From: postmaster@mailbox.example",
          "Subject: Undeliverable mail",
          "",
          "The user anna does not exist. 550 unknown user",
        ),
      ],
    ])
  })

  it("is distinguished from automatic replies and from mail written by people", async () => {
    await each([
      ["absence", /^ignored: An automatic reply/, samples.absence],
      [
        "absence in German",
        /^ignored: An automatic reply/,
        samples.mail("From: anna@mailbox.example", "Subject: Abwesenheitsnotiz: Ihr Warenkorb", "", "Bin weg."),
      ],
      [
        "read receipt",
        /^ignored: An automatic reply/,
        samples.mail(
          "From: anna@mailbox.example",
          'Content-Type: multipart/report; report-type=disposition-notification; boundary="b"',
          "",
          "--b",
          "Content-Type: message/disposition-notification",
          "",
          "Disposition: manual-action/MDN-sent-manually; displayed",
          "--b--",
        ),
      ],
      [
        "a person",
        /^fault: The mail is neither/,
        samples.mail(
          "From: anna@mailbox.example",
          "Subject: Re: Your basket",
          "",
          "Please stop. User unknown 550 5.1.1",
        ),
      ],
      ["nothing", /^fault: The mail is neither/, ""],
    ])
  })
})
