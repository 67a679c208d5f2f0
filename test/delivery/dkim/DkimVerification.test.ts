import { assert, describe, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import { generateKeyPairSync } from "node:crypto"
import { signMessage } from "../../../src/delivery/dkim/DkimSignature.ts"
import { readSignedMail } from "../../../src/delivery/dkim/DkimVerification.ts"

/** The example of RFC 8463, appendix A, with a signature of each kind. */
const example = [
  "DKIM-Signature: v=1; a=ed25519-sha256; c=relaxed/relaxed;",
  " d=football.example.com; i=@football.example.com;",
  " q=dns/txt; s=brisbane; t=1528637909; h=from : to :",
  " subject : date : message-id : from : subject : date;",
  " bh=2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=;",
  " b=/gCrinpcQOoIfuHNQIbq4pgh9kyIK3AQUdt9OdqQehSwhEIug4D11Bus",
  " Fa3bT3FY5OsU7ZbnKELq+eXdp1Q1Dw==",
  "DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed;",
  " d=football.example.com; i=@football.example.com;",
  " q=dns/txt; s=test; t=1528637909; h=from : to : subject :",
  " date : message-id : from : subject : date;",
  " bh=2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=;",
  " b=F45dVWDfMbQDGHJFlXUNB2HKfbCeLRyhDXgFpEL8GwpsRe0IeIixNTe3",
  " DhCVlUrSjV4BwcVcOF6+FF3Zo9Rpo1tFOeS9mPYQTnGdaSGsgeefOsk2Jz",
  " dA+L10TeYt9BgDfQNZtKdN1WO//KgIqXP7OdEFE4LjFYNcUxZQ4FADY+8=",
  "From: Joe SixPack <joe@football.example.com>",
  "To: Suzie Q <suzie@shopping.example.net>",
  "Subject: Is dinner ready?",
  "Date: Fri, 11 Jul 2003 21:00:37 -0700 (PDT)",
  "Message-ID: <20030712040037.46341.5F8J@football.example.com>",
  "",
  "Hi.",
  "",
  "We lost the game.  Are you hungry yet?",
  "",
  "Joe.",
  "",
].join("\r\n")

const ed25519Record = "v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
const rsaRecord = "v=DKIM1; k=rsa; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDkHlOQoBTzWRiGs5V6NpP3idY6Wk08a5qhdR6" +
  "wy5bdOKb2jLQiY/J16JYi0Qvx/byYzCNb3W91y3FutACDfzwQ/BC/e/8uBsCR+yz1Lxj+PL6lHvqMKrM3rG4hstT5QjvHO9PzoxZyVYLzBfO2EeC3Ip" +
  "3G+2kryOTIKT+l/K4w3QIDAQAB"

const now = Date.UTC(2026, 10, 29)
const readMail = (text: string, at = now) => readSignedMail(Buffer.from(text, "latin1"), at)
const results = (text: string, at = now) =>
  readMail(text, at).signatures.map(({ keyName, verifies }) => [keyName, verifies(ed25519Record), verifies(rsaRecord)])

const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 1_024 })
const record = `p=${publicKey.export({ format: "der", type: "spki" }).toString("base64")}`
const mail = "From: a@fbl.example\r\nSubject:  A \r\n\tB\r\nTo: b@shop.example\r\n\r\nBody \t text \r\n\r\n\r\n"
const signed = signMessage(Buffer.from(mail), { domain: "FBL.example", selector: "s1" }, privateKey).toString("latin1")
const isValid = (text: string, by = record, at = now) =>
  readMail(text, at).signatures.some(({ verifies }) => verifies(by))

describe("readSignedMail", () => {
  it("verifies the signatures of RFC 8463 with their keys, and with no other key", () => {
    assert.deepStrictEqual(results(example), [
      ["brisbane._domainkey.football.example.com", true, false],
      ["test._domainkey.football.example.com", false, true],
    ])
    assert.strictEqual(readMail(example).from?.trim(), "Joe SixPack <joe@football.example.com>")
  })

  it("rejects a mail whose body or signed header was changed", () => {
    assert.deepStrictEqual(readMail(example.replace("hungry", "angry")).signatures, [])
    const changed = example.replace("dinner", "lunch")
    assert.deepStrictEqual(results(changed).map(([, ...valid]) => valid), [[false, false], [false, false]])
  })

  it("accepts changes of white space where the signature allows them", () => {
    assert.isTrue(isValid(signed))
    assert.isTrue(isValid(signed.replace("Body \t text ", "Body text").replace("Subject:  A \r\n\tB", "subject: A B")))
    assert.isFalse(isValid(signed.replace("Body \t text ", "Bodytext")))
  })

  it("rejects a mail with a second sender", () => {
    const doubled = signed.replace("From: a@fbl.example", "From: x@evil.example\r\nFrom: a@fbl.example")
    assert.isUndefined(readMail(doubled).from)
    assert.isFalse(isValid(doubled))
  })

  it("reads no signature that leaves the sender or a part of the body uncovered", () => {
    assert.deepStrictEqual(readMail(signed.replace(/from:from:/, "to:to:")).signatures, [])
    assert.deepStrictEqual(readMail(signed.replace("v=1;", "v=1; l=4;")).signatures, [])
    assert.deepStrictEqual(readMail(signed.replace("rsa-sha256", "rsa-sha1")).signatures, [])
    assert.deepStrictEqual(readMail(signed.replace("s=s1", "s=a b/../c")).signatures, [])
  })

  it("rejects an expired signature", () => {
    const expiring = example.replaceAll("t=1528637909;", "t=1528637909; x=1528637999;")
    assert.lengthOf(readMail(expiring, 1_528_637_950_000).signatures, 2)
    assert.lengthOf(readMail(expiring).signatures, 0)
  })

  it("rejects records that are revoked, restricted, faulty or too weak", () => {
    const weak = generateKeyPairSync("rsa", { modulusLength: 512 })
    const weakRecord = `p=${weak.publicKey.export({ format: "der", type: "spki" }).toString("base64")}`
    const pkcs1 = `v=DKIM1; p=${publicKey.export({ format: "der", type: "pkcs1" }).toString("base64")}`
    assert.isTrue(isValid(signed, pkcs1))
    for (
      const other of ["", "p=", `v=DKIM2; ${record}`, `${record}; h=sha1`, `${record}; s=tlsrpt`, "p=AAAA", weakRecord]
    ) assert.isFalse(isValid(signed, other), other)
  })

  it("reads at most five signatures of any mail", () => {
    const field = signed.slice(0, signed.indexOf("From:"))
    assert.lengthOf(readMail(field.repeat(9) + mail).signatures, 5)
    for (const text of ["", "\r\n\r\n", "DKIM-Signature", "DKIM-Signature: b=;;=;d\r\n\r\n", ":\r\n :\r\n\r\nx"]) {
      assert.deepStrictEqual(readMail(text).signatures, [], text)
    }
  })
})
