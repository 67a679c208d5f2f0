import { assert, describe, it } from "@effect/vitest"
import { foreignSettings, idInReply, senderHeaders, type SenderName, senderOf } from "../../src/domain/Senders.ts"

const id = "0192f0c1-7c1e-7000-8000-000000000001"

describe("senderOf", () => {
  const hosts: ReadonlyArray<readonly [string, SenderName | undefined]> = [
    ["email-smtp.eu-west-1.amazonaws.com", "ses"],
    ["email-smtp-fips.us-gov-west-1.amazonaws.com", "ses"],
    ["email-smtp.cn-north-1.amazonaws.com.cn", "ses"],
    ["vpce-0a1b-2c3d.email-smtp.us-east-1.vpce.amazonaws.com", "ses"],
    ["smtp.sendgrid.net", "sendgrid"],
    ["smtp.eu.sendgrid.net", "sendgrid"],
    ["smtp.postmarkapp.com", "postmark"],
    ["smtp-broadcasts.postmarkapp.com", "postmark"],
    ["smtp.mailgun.org", "mailgun"],
    ["SMTP.EU.Mailgun.org.", "mailgun"],
    ["smtp.resend.com", "resend"],
    ["smtp-relay.brevo.com", "brevo"],
    ["smtp-relay.sendinblue.com", "brevo"],
    ["smtp.mandrillapp.com", "mandrill"],
    ["smtp.eu.sparkpostmail.com", "sparkpost"],
    ["smtp.example.com", undefined],
    ["bucket.s3.amazonaws.com", undefined],
    ["email-smtp.eu-west-1.amazonaws.com.attacker.example", undefined],
    ["notsendgrid.net", undefined],
    ["127.0.0.1", undefined],
  ]
  for (const [host, name] of hosts) {
    it(`returns ${name ?? "no service"} for the host ${host}`, () => assert.strictEqual(senderOf({ host }), name))
  }

  it("prefers the chosen service, and returns no service for none", () => {
    assert.strictEqual(senderOf({ host: "relay.shop.example", sender: "mailgun" }), "mailgun")
    assert.strictEqual(senderOf({ host: "smtp.sendgrid.net", sender: "none" }), undefined)
  })
})

describe("senderHeaders", () => {
  const headers: ReadonlyArray<readonly [SenderName, Readonly<Record<string, string>>]> = [
    ["ses", { "X-SES-MESSAGE-TAGS": `tracking_id=${id}` }],
    ["sendgrid", { "X-SMTPAPI": `{"unique_args": {"tracking_id": "${id}"}}` }],
    ["postmark", { "X-PM-Metadata-tracking_id": id }],
    ["mailgun", { "X-Mailgun-Variables": `{"tracking_id": "${id}"}` }],
    ["resend", { "Resend-Idempotency-Key": id }],
    ["brevo", { "X-Mailin-custom": `{"tracking_id": "${id}"}` }],
    ["mandrill", { "X-MC-Metadata": `{"tracking_id": "${id}"}` }],
    ["sparkpost", { "X-MSYS-API": `{"metadata": {"tracking_id": "${id}"}}` }],
  ]
  for (const [sender, expected] of headers) {
    it(`carries the tracking id to ${sender}`, () => assert.deepStrictEqual(senderHeaders({ sender }, id), expected))
  }

  it("adds the configuration set of SES and the stream of Postmark", () => {
    assert.strictEqual(
      senderHeaders({ sender: "ses", configuration_set: "main" }, id)["X-SES-CONFIGURATION-SET"],
      "main",
    )
    assert.strictEqual(
      senderHeaders({ sender: "postmark", message_stream: "news" }, id)["X-PM-Message-Stream"],
      "news",
    )
  })

  it("adds nothing for other mail servers", () => {
    assert.deepStrictEqual(senderHeaders({ host: "smtp.example.com" }, id), {})
  })
})

describe("foreignSettings", () => {
  it("names settings of a service that does not send", () => {
    const found = foreignSettings({ host: "smtp.sendgrid.net", configuration_set: "main", message_stream: "news" })
    assert.deepStrictEqual(found, [
      { setting: "configuration_set", name: "ses" },
      { setting: "message_stream", name: "postmark" },
    ])
    assert.deepStrictEqual(foreignSettings({ host: "smtp.postmarkapp.com", message_stream: "news" }), [])
  })
})

describe("idInReply", () => {
  const replies: ReadonlyArray<readonly [SenderName, string, string | undefined]> = [
    [
      "ses",
      "250 Ok 0100019a1b2c3d4e-11b5a7d2-0c6e-4a41-9d21-0a4f5e6b7c8d-000000",
      "0100019a1b2c3d4e-11b5a7d2-0c6e-4a41-9d21-0a4f5e6b7c8d-000000",
    ],
    ["ses", "250 Ok", undefined],
    ["ses", "250 2.0.0 Ok: queued as 4XyZ12", undefined],
    ["sendgrid", "250 Ok: queued as Ab3-dE_f9hIjKlMnOpQrSt", "Ab3-dE_f9hIjKlMnOpQrSt"],
    ["postmark", "250 2.0.0 OK 5f0c1d5e-0000-4000-8000-000000000001", "5f0c1d5e-0000-4000-8000-000000000001"],
    ["mailgun", "250 Great success", undefined],
    ["resend", "250 4ef9a417-02e9-4d39-ad75-9611e0fcc33c", "4ef9a417-02e9-4d39-ad75-9611e0fcc33c"],
    ["resend", "250 Ok", undefined],
    [
      "brevo",
      "250 2.0.0 OK: queued as <202602031200.1234567890@smtp-relay.example>",
      "202602031200.1234567890@smtp-relay.example",
    ],
    ["mandrill", "250 2.0.0 Ok: queued as 1F83F1A0B4", undefined],
    ["sparkpost", "250 2.0.0 OK 3D/8B-11111-ABCDEF", undefined],
  ]
  for (const [name, reply, expected] of replies) {
    it(`reads ${expected ?? "no id"} in "${reply}" of ${name}`, () =>
      assert.strictEqual(idInReply(name, reply), expected))
  }
})
