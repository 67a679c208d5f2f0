import { assert, describe, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import { compose } from "../../../src/delivery/Composition.ts"
import { keyRecordOf } from "../../../src/delivery/dkim/DkimKey.ts"
import type { Composed, Email } from "../../../src/text/Email.ts"
import type { DnsAnswer } from "../../../src/delivery/receivers/DnsRecords.ts"
import { type DeliverabilityCheck, type Facts, findingsOf } from "../../../src/delivery/receivers/Findings.ts"
import { keyFindingOf } from "../../../src/delivery/receivers/KeyRecord.ts"

const found = (...texts: ReadonlyArray<string>): DnsAnswer => ({ _tag: "found", texts })
const none: DnsAnswer = { _tag: "none" }
const unavailable: DnsAnswer = { _tag: "unavailable", reason: "ETIMEOUT" }

const record = keyRecordOf({ domain: "shop.example", selector: "s1", publicKey: "AbC=" })
const key = {
  domain: "shop.example",
  selector: "s1",
  bits: 2048,
  isSigning: true,
  record,
  createdAt: new Date(0),
}
const signing = { key, published: keyFindingOf(record, found(record.value)) }

/** A sender for whom everything is right. */
const facts: Facts = {
  fromDomain: "shop.example",
  returnDomain: "shop.example",
  isTransactional: false,
  isEncrypted: true,
  spf: found("v=spf1 include:mail.example -all"),
  dmarc: [{ domain: "shop.example", answer: found("v=DMARC1; p=reject") }],
  signing,
  idle: undefined,
  mail: undefined,
}

const findingOf = (check: DeliverabilityCheck, change: Partial<Facts>) => {
  const finding = findingsOf({ ...facts, ...change }).find((one) => one.check === check)
  if (finding === undefined) throw new Error(`There is no finding ${check}`)
  return finding
}

const statusOf = (check: DeliverabilityCheck, change: Partial<Facts>) => findingOf(check, change).status

const mailOf = async (change: Partial<Email>): Promise<Composed> => {
  const composition = await compose({
    from: { email: "news@shop.example" },
    to: "ada@example.com",
    subject: "Hello",
    html: "<p>Hello</p>",
    text: undefined,
    messageId: "d1@shop.example",
    trackingId: "d1",
    date: new Date(0),
    ...change,
  })
  if (composition._tag === "faulty") throw new Error(composition.reason)
  return composition.mail
}

describe("findingsOf", () => {
  it("reports no problem if all records and headers are correct", async () => {
    const mail = await mailOf({ unsubscribe: { url: "https://shop.example/u" } })
    const findings = findingsOf({ ...facts, mail })
    assert.deepStrictEqual(findings.map(({ check, record, status }) => [check, status, record]), [
      ["spf", "ok", null],
      ["dkim", "ok", null],
      ["dmarc", "ok", null],
      ["alignment", "ok", null],
      ["unsubscribe", "ok", null],
      ["plain-text", "ok", null],
      ["encryption", "ok", null],
    ])
  })

  it("checks the SPF record of the return path", () => {
    for (const spf of [none, found("google-site-verification=x"), found("v=spf10")]) {
      const finding = findingOf("spf", { spf, returnDomain: "bounces.shop.example" })
      assert.strictEqual(finding.status, "missing")
      assert.strictEqual(finding.record?.name, "bounces.shop.example")
      assert.match(finding.record!.value, /^v=spf1 include:/)
    }
    assert.strictEqual(statusOf("spf", { spf: found("v=spf1 -all", "v=spf1 ~all") }), "wrong")
    for (const text of ["v=spf1 +all", "v=spf1 a all"]) {
      assert.strictEqual(statusOf("spf", { spf: found(text) }), "wrong")
    }
    for (const text of ["v=spf1 mx ~all", "V=SPF1 redirect=spf.example"]) {
      assert.strictEqual(statusOf("spf", { spf: found(text) }), "ok", text)
    }
  })

  it("shows the DKIM record to publish for the current or possible key", () => {
    const missing = findingOf("dkim", { signing: { key, published: keyFindingOf(record, none) } })
    assert.deepStrictEqual([missing.status, missing.record], ["missing", record])
    const wrong = findingOf("dkim", { signing: { key, published: keyFindingOf(record, found("v=DKIM1; p=Z")) } })
    assert.deepStrictEqual([wrong.status, wrong.record], ["wrong", record])
    const idle = findingOf("dkim", { signing: undefined, idle: key })
    assert.deepStrictEqual([idle.status, idle.record], ["missing", record])
    const without = findingOf("dkim", { signing: undefined })
    assert.deepStrictEqual([without.status, without.record], ["unknown", null])
    assert.include(without.detail, "parlance connection dkim make")
    assert.include(findingOf("dkim", { signing: { ...signing, key: { ...key, bits: 1024 } } }).detail, "1024 bits")
  })

  it("checks the DMARC policy of the sender's domain or its parent domain", () => {
    const missing = findingOf("dmarc", { dmarc: [{ domain: "shop.example", answer: none }] })
    assert.strictEqual(missing.status, "missing")
    assert.deepStrictEqual(missing.record, { name: "_dmarc.shop.example", type: "TXT", value: "v=DMARC1; p=none" })
    const ofParent = findingOf("dmarc", {
      fromDomain: "news.shop.example",
      dmarc: [{ domain: "news.shop.example", answer: none }, ...facts.dmarc],
    })
    assert.strictEqual(ofParent.status, "ok")
    assert.include(ofParent.detail, "shop.example has a DMARC policy: p=reject")
    for (const text of ["v=DMARC1", "v=DMARC1; p=maybe"]) {
      assert.strictEqual(statusOf("dmarc", { dmarc: [{ domain: "shop.example", answer: found(text) }] }), "wrong", text)
    }
  })

  it("reports a signature or return path outside the sender's domain", () => {
    const at = (domain: string) => ({ ...signing, key: { ...key, domain } })
    const policy = (more: string) => [{ domain: "shop.example", answer: found(`v=DMARC1; p=none; ${more}`) }]
    const withoutPolicy = [{ domain: "shop.example", answer: none }]
    assert.strictEqual(statusOf("alignment", { signing: at("mail.shop.example"), dmarc: withoutPolicy }), "ok")
    assert.strictEqual(statusOf("alignment", { signing: at("shop.example"), fromDomain: "news.shop.example" }), "ok")
    assert.strictEqual(statusOf("alignment", { signing: at("a.shop.example"), fromDomain: "b.shop.example" }), "ok")
    assert.strictEqual(statusOf("alignment", { signing: at("mail.shop.example"), dmarc: policy("adkim=s") }), "wrong")
    const other = findingOf("alignment", { signing: at("relay.example") })
    assert.strictEqual(other.status, "wrong")
    assert.include(other.detail, "Make a key for shop.example")
    assert.strictEqual(statusOf("alignment", { signing: undefined, returnDomain: "bounce.shop.example" }), "unknown")
    assert.strictEqual(statusOf("alignment", { signing: undefined, returnDomain: "relay.example" }), "wrong")
    assert.strictEqual(statusOf("alignment", { signing: at("notshop.example") }), "wrong")
  })

  it("requires one-click List-Unsubscribe in bulk messages only", async () => {
    const url = "https://shop.example/u"
    for (
      const [unsubscribe, isTransactional, status] of [
        [undefined, false, "missing"],
        [{ mailto: "stop@shop.example" }, false, "missing"],
        [{ url: "http://shop.example/u" }, false, "missing"],
        [{ url }, false, "ok"],
        [undefined, true, "ok"],
      ] as const
    ) {
      const mail = await mailOf({ unsubscribe })
      assert.strictEqual(statusOf("unsubscribe", { mail, isTransactional }), status, JSON.stringify(unsubscribe))
    }
  })

  it("reports an empty plain-text part", async () => {
    for (
      const [change, status] of [
        [{ html: "<p>Hello</p>" }, "ok"],
        [{ html: undefined, text: "Hello" }, "ok"],
        [{ html: '<img src="https://shop.example/a.png">' }, "missing"],
        [{ html: '<img src="https://shop.example/a.png">', text: "Grüße 😀 ".repeat(50) }, "ok"],
      ] as const
    ) assert.strictEqual(statusOf("plain-text", { mail: await mailOf(change) }), status, JSON.stringify(change))
    const signed = { from: "", to: "", bytes: Buffer.from("DKIM-Signature: x\r\nContent-Type: text/plain\r\n\r\nHi") }
    assert.strictEqual(statusOf("plain-text", { mail: signed }), "ok")
  })

  it("reports checks as unknown instead of missing while DNS is unavailable", () => {
    const findings = findingsOf({
      ...facts,
      isEncrypted: false,
      spf: unavailable,
      dmarc: [{ domain: "shop.example", answer: unavailable }],
      signing: { key, published: keyFindingOf(record, unavailable) },
    })
    const statuses = findings.map(({ check, status }) => [check, status])
    assert.deepStrictEqual(statuses.slice(0, 3), [["spf", "unknown"], ["dkim", "unknown"], ["dmarc", "unknown"]])
    for (const { detail } of findings.slice(0, 3)) assert.include(detail, "DNS is not available here (ETIMEOUT)")
    assert.deepStrictEqual(statuses.at(-1), ["encryption", "missing"])
  })
})
