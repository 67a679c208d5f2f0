import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { keyRecordOf } from "../../../src/delivery/dkim/DkimKey.ts"
import { DnsRecords } from "../../../src/delivery/receivers/DnsRecords.ts"
import { keyFindingOf } from "../../../src/delivery/receivers/KeyRecord.ts"
import { startDns } from "../../support/dnsServer.ts"
import { layerSettings } from "../../support/settings.ts"
import { server } from "../connections/support.ts"

const layerOf = (address: string) => DnsRecords.layer.pipe(Layer.provide(layerSettings({ DNS_SERVERS: address })))

const txt = (name: string) => Effect.flatMap(DnsRecords, (dns) => dns.txt(name))

describe("DnsRecords", () => {
  it.live("joins the strings of a record, and distinguishes a missing record from a failure", () =>
    Effect.gen(function* () {
      const long = `v=DKIM1; p=${"A".repeat(392)}`
      const dns = yield* server(() =>
        startDns({
          "shop.example": ["v=spf1 -all", "other"],
          "long.example": [long],
          "empty.example": [],
        })
      )
      yield* Effect.gen(function* () {
        assert.deepStrictEqual(yield* txt("shop.example"), { _tag: "found", texts: ["v=spf1 -all", "other"] })
        assert.deepStrictEqual(yield* txt("long.example"), { _tag: "found", texts: [long] })
        for (const name of ["empty.example", "nowhere.example"]) {
          assert.deepStrictEqual(yield* txt(name), { _tag: "none" }, name)
        }
      }).pipe(Effect.provide(layerOf(dns.address)))
    }))

  it.live("reports that DNS is unavailable if name servers fail or do not answer", () =>
    Effect.gen(function* () {
      const failing = yield* server(() => startDns({ "": "server-failure", "shop.example": "server-failure" }))
      const refused = yield* Effect.provide(txt("shop.example"), layerOf(failing.address))
      assert.deepInclude(refused, { _tag: "unavailable" })
      const dns = yield* server(() => startDns({ "": "silent", "shop.example": "silent" }))
      const answer = yield* Effect.provide(txt("shop.example"), layerOf(dns.address))
      assert.strictEqual(answer._tag, "unavailable")
    }))
})

describe("keyFindingOf", () => {
  const record = keyRecordOf({ domain: "shop.example", selector: "s1", publicKey: "AbC=" })
  const statusOf = (...texts: ReadonlyArray<string>) => keyFindingOf(record, { _tag: "found", texts }).status

  it("accepts the published record in any valid form", () => {
    for (const text of [record.value, "v=DKIM1;k=rsa;p=AbC=", "p=AbC=", "v=DKIM1; h=sha256; p=Ab C= ; t=y"]) {
      assert.strictEqual(statusOf("google-site-verification=x", text), "ok", text)
    }
  })

  it("distinguishes a missing record, a wrong record and no answer", () => {
    assert.strictEqual(keyFindingOf(record, { _tag: "none" }).status, "missing")
    assert.strictEqual(statusOf("v=spf1 -all"), "missing")
    assert.strictEqual(statusOf("v=DKIM1; p=Other"), "wrong")
    assert.strictEqual(statusOf("v=DKIM1; p="), "wrong")
    assert.strictEqual(statusOf(record.value, record.value), "wrong")
    const none = keyFindingOf(record, { _tag: "unavailable", reason: "ETIMEOUT" })
    assert.deepStrictEqual([none.status, none.isPublished], ["unknown", false])
    assert.include(none.detail, "DNS is not available here (ETIMEOUT)")
  })
})
