import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Buffer } from "node:buffer"
import { createHash } from "node:crypto"
import { check, signedText, SnsSettings } from "../../../src/intake/signatures/SnsSignature.ts"
import { certificateUrl, confirmation, makeSigner, message, signed, topic } from "../../support/snsMessages.ts"

const signer = makeSigner()
const stranger = makeSigner()
const settings = { secrets: [], topics: [topic], certificates: { [certificateUrl]: signer.pem } }

const verdict = (
  sent: unknown,
  more: Partial<SnsSettings> = {},
  headers: Record<string, string> = {},
  now = Date.now(),
) => check({ ...settings, ...more }, headers, Buffer.from(typeof sent === "string" ? sent : JSON.stringify(sent)), now)

const reasonOf = (...request: Parameters<typeof verdict>): string => {
  const found = verdict(...request)
  return found.ok ? assert.fail("was accepted") : found.reason
}

const digest = (text: string | undefined) => createHash("sha256").update(text ?? "").digest("hex")

describe("SnsSignature", () => {
  it("signs the members that AWS documents, in their order", () => {
    const of = { TopicArn: topic, Timestamp: "2026-02-03T11:00:00.000Z" }
    const notification = { ...of, Type: "Notification", MessageId: "m-1", Message: '{"id":"x1","n":1}' }
    assert.strictEqual(
      digest(signedText(notification)),
      "95041ab758b57963a9ff276b048088c2e0dd3552fdc7359f4db5b5a203e2a1de",
    )
    const request = {
      ...of,
      Type: "SubscriptionConfirmation",
      MessageId: "m-2",
      Message: "hello",
      Token: "t-1",
      SubscribeURL: "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription",
    }
    assert.strictEqual(digest(signedText(request)), "d732ed76f7326b8d24f0ec5b541829f552aa1fc12eb77a0b10f36be0a8c3b82b")
  })

  it("accepts both versions of the signature, and texts with escapes", () => {
    for (const SignatureVersion of ["1", "2"]) {
      for (const Message of ["x", '{"a":"Zoë \\u00e9\\n"}', "line\nline"]) {
        for (const more of [{}, { Subject: "Amazon SES Email Event Notification" }]) {
          assert.deepStrictEqual(verdict(signed(signer, message({ SignatureVersion, Message, ...more }))), { ok: true })
        }
      }
      assert.isTrue(verdict(signed(signer, confirmation({ SignatureVersion }))).ok)
      assert.isTrue(verdict(signed(signer, confirmation({ Type: "UnsubscribeConfirmation", SignatureVersion }))).ok)
    }
  })

  it("refuses topics that the source does not name, before it asks for a certificate", () => {
    const foreign = signed(signer, message({ TopicArn: "arn:aws:sns:us-east-1:999999999999:mail" }))
    assert.include(reasonOf(foreign), "999999999999:mail")
    assert.notProperty(verdict(foreign, { certificates: {} }), "certificate")
    assert.include(reasonOf(signed(signer, message()), { topics: [] }), "not among the topics")
    assert.isFalse(verdict(signed(signer, message()), { topics: [], secrets: ["token-0123456789"] }).ok)
  })

  it("names the certificate that it needs", () => {
    assert.deepInclude(verdict(signed(signer, message()), { certificates: {} }), { certificate: certificateUrl })
  })

  it("refuses certificates outside of Amazon's SNS in the region of the topic", () => {
    const path = "/SimpleNotificationService-0123abcd.pem"
    for (
      const SigningCertURL of [
        `http://sns.us-east-1.amazonaws.com${path}`,
        `https://sns.us-east-1.amazonaws.com.evil.example${path}`,
        `https://sns.us-east-1.s3.amazonaws.com${path}`,
        `https://evil.s3.amazonaws.com${path}`,
        `https://sns.eu-west-1.amazonaws.com${path}`,
        `https://user@sns.us-east-1.amazonaws.com${path}`,
        `https://sns.us-east-1.amazonaws.com:8443${path}`,
        "https://sns.us-east-1.amazonaws.com/evil.pem",
        `https://sns.us-east-1.amazonaws.com/x${path}`,
        "file:///etc/passwd",
        "",
        5,
      ]
    ) {
      const found = verdict(signed(signer, message({ SigningCertURL })), { certificates: {} })
      assert.isFalse(found.ok)
      assert.notProperty(found, "certificate", String(SigningCertURL))
      const SubscribeURL = SigningCertURL
      assert.isFalse(verdict(signed(signer, confirmation({ SubscribeURL }))).ok, String(SubscribeURL))
    }
  })

  it("refuses changed, foreign, unsigned and stale messages", () => {
    const right = signed(signer, message())
    const now = Date.now()
    for (
      const wrong of [
        { ...right, Message: "another" },
        { ...right, MessageId: "m-9" },
        { ...right, Subject: "added" },
        { ...right, Signature: right.Signature.slice(4) },
        { ...right, Signature: undefined },
        { ...right, Signature: [right.Signature] },
        { ...right, SignatureVersion: "1" },
        { ...right, SignatureVersion: "3" },
        { ...right, SignatureVersion: 2 },
        { ...right, Type: "SubscriptionConfirmation" },
        { ...right, Type: "constructor" },
        { ...right, Message: { a: 1 } },
        signed(stranger, message()),
        signed(signer, message({ Timestamp: new Date(now - 7_201_000).toISOString() })),
        signed(signer, message({ Timestamp: new Date(now + 7_260_000).toISOString() })),
        signed(signer, message({ Timestamp: "soon" })),
      ]
    ) assert.isFalse(verdict(wrong, {}, {}, now).ok, JSON.stringify(wrong))
    assert.include(reasonOf(right, {}, {}, now + 3 * 86_400_000), "hours")
  })

  it("refuses headers that contradict the body", () => {
    const right = signed(signer, message())
    assert.isTrue(verdict(right, {}, { "x-amz-sns-message-type": "Notification", "x-amz-sns-topic-arn": topic }).ok)
    for (const name of ["x-amz-sns-message-type", "x-amz-sns-message-id", "x-amz-sns-topic-arn"]) {
      assert.include(reasonOf(right, {}, { [name]: "other" }), name)
    }
  })

  it("accepts other bodies only with the token", () => {
    const secrets = ["token-0123456789"]
    const event = { "detail-type": "Email Sent", detail: {} }
    assert.isTrue(verdict(event, { secrets }, { authorization: "Bearer token-0123456789" }).ok)
    assert.isTrue(verdict(event, { secrets, header: "x-own" }, { "x-own": "token-0123456789" }).ok)
    assert.isFalse(verdict(event, { secrets }, { authorization: "Bearer other" }).ok)
    assert.include(reasonOf(event), "raw message delivery")
    for (const body of ["", "{", "[]", "null", "5"]) assert.isFalse(verdict(body).ok)
  })

  it("has settings with topics or a token, and certificates by their URL", () => {
    const decode = Schema.decodeUnknownSync(SnsSettings)
    assert.deepStrictEqual(decode(settings), settings)
    decode({ secrets: ["token-0123456789"] })
    for (
      const wrong of [
        { secrets: [] },
        { secrets: [], topics: [] },
        { secrets: [], topics: ["mail"] },
        { secrets: [], topics: ["arn:aws:sqs:us-east-1:123456789012:mail"] },
        { ...settings, certificates: { "https://evil.example/x.pem": signer.pem } },
        { ...settings, certificates: { [certificateUrl]: "no certificate" } },
      ]
    ) assert.throws(() => decode(wrong), undefined, undefined, JSON.stringify(wrong))
  })
})
