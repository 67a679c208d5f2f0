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
const signaturesIn = (text: string, at = now) => readMail(text, at).signaturesOf(() => true)
const results = (text: string, at = now) =>
  signaturesIn(text, at).map(({ keyName, verifies }) => [keyName, verifies(ed25519Record), verifies(rsaRecord)])

const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 1_024 })
const record = `p=${publicKey.export({ format: "der", type: "spki" }).toString("base64")}`
const mail = "From: a@fbl.example\r\nSubject:  A \r\n\tB\r\nTo: b@shop.example\r\n\r\nBody \t text \r\n\r\n\r\n"
const signOf = (text: string) =>
  signMessage(Buffer.from(text, "latin1"), { domain: "FBL.example", selector: "s1" }, privateKey).toString("latin1")
const signed = signOf(mail)
const isValid = (text: string, by = record, at = now) => signaturesIn(text, at).some(({ verifies }) => verifies(by))

describe("readSignedMail", () => {
  it("verifies the signatures of RFC 8463 with their keys, and with no other key", () => {
    assert.deepStrictEqual(results(example), [
      ["brisbane._domainkey.football.example.com", true, false],
      ["test._domainkey.football.example.com", false, true],
    ])
    assert.strictEqual(readMail(example).from?.trim(), "Joe SixPack <joe@football.example.com>")
  })

  it("rejects a mail whose body or signed header was changed", () => {
    assert.deepStrictEqual(signaturesIn(example.replace("hungry", "angry")), [])
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
    assert.deepStrictEqual(signaturesIn(signed.replace(/from:from:/, "to:to:")), [])
    assert.deepStrictEqual(signaturesIn(signed.replace("v=1;", "v=1; l=4;")), [])
    assert.deepStrictEqual(signaturesIn(signed.replace("rsa-sha256", "rsa-sha1")), [])
    assert.deepStrictEqual(signaturesIn(signed.replace("s=s1", "s=a b/../c")), [])
  })

  it("reads no signature of a mail that programs split into different fields", () => {
    const report = "Content-Type: multipart/report; boundary=x\n\n--x\nContent-Type: message/feedback-report\n"
    const bareReturn = report.replaceAll("\n", "\r")
    const starts = [`X-A: b\n${report}\r\n`, `X-A: b\r${bareReturn}\r\n`, "\r\n", "X-A\r\n", "\xef\xbb\xbfX-A: b\r\n"]
    for (const start of starts) {
      assert.deepStrictEqual(signaturesIn(start + signed), [], JSON.stringify(start))
      assert.isUndefined(readMail(start + signed).from)
    }
    assert.isTrue(isValid(`X-A: b\r\n${signed}`))
    for (const body of ["Body\n.", "Body\r."]) {
      assert.isFalse(isValid(signOf(mail.replace("Body", body))), JSON.stringify(body))
    }
  })

  it("reads no signature that leaves a field of the structure uncovered", () => {
    for (const field of ["Content-Type: text/plain", "content-type : text/plain", "MIME-Version: 1.0"]) {
      assert.isFalse(isValid(`${field}\r\n${signed}`), field)
      assert.isTrue(isValid(signOf(`${field}\r\n${mail}`)), field)
      assert.isFalse(isValid(`${field}\r\n${signOf(`${field}\r\n${mail}`)}`), field)
    }
  })

  it("reads no signature of a mail with more than 1,000 fields, or with more than 100 names", () => {
    assert.isTrue(isValid("X-A: b\r\n".repeat(900) + signed))
    assert.isFalse(isValid("X-A: b\r\n".repeat(1_000) + signed))
    const fields = "a:\r\n".repeat(32 * 1_024)
    const names = signed.replace("h=from:", `h=${"a:".repeat(64 * 1_024)}from:`)
    assert.deepStrictEqual(signaturesIn(fields + names), [])
    assert.deepStrictEqual(signaturesIn(signed.replace("h=from:", `h=${"a:".repeat(100)}from:`)), [])
    assert.lengthOf(signaturesIn(signed.replace("h=from:", `h=${"a:".repeat(50)}from:`)), 1)
  })

  it("reads the signatures of accepted domains only", () => {
    assert.lengthOf(readMail(signed).signaturesOf((domain) => domain === "fbl.example"), 1)
    assert.deepStrictEqual(readMail(signed).signaturesOf((domain) => domain === "other.example"), [])
  })

  it("rejects an expired signature", () => {
    const expiring = example.replaceAll("t=1528637909;", "t=1528637909; x=1528637999;")
    assert.lengthOf(signaturesIn(expiring, 1_528_637_950_000), 2)
    assert.lengthOf(signaturesIn(expiring), 0)
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
    assert.lengthOf(signaturesIn(field.repeat(9) + mail), 5)
    for (const text of ["", "\r\n\r\n", "DKIM-Signature", "DKIM-Signature: b=;;=;d\r\n\r\n", ":\r\n :\r\n\r\nx"]) {
      assert.deepStrictEqual(signaturesIn(text), [], text)
    }
  })
})
