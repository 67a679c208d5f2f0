import { assert, describe, it } from "@effect/vitest"
import { proxyAdvice } from "../../src/api/http/ProxyAdvice.ts"

describe("proxyAdvice", () => {
  it("warns of an address that other machines reach, if no proxy is trusted", () => {
    for (const host of ["0.0.0.0", "::", "192.0.2.1", "parlance.example.com", "1127.0.0.1"]) {
      const advice = proxyAdvice(host, [])
      assert.include(advice, `HOST ${host}`)
      assert.include(advice, "set TRUSTED_PROXIES")
    }
  })

  it("is silent at loopback addresses and behind a trusted proxy", () => {
    for (const host of ["127.0.0.1", "127.1.2.3", "localhost", "::1"]) assert.isUndefined(proxyAdvice(host, []))
    assert.isUndefined(proxyAdvice("0.0.0.0", ["10.0.0.0/8"]))
  })
})
