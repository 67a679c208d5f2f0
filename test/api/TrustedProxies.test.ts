import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import { addressRangeOf } from "../../src/text/Addresses.ts"
import { seenThrough } from "../../src/api/http/TrustedProxies.ts"
import { adminToken, makeOrganization } from "../support/service.ts"
import { startWith } from "../support/servicesOf.ts"

const ranges = ["10.0.0.0/8", "fd00::/8", "192.0.2.7"].map((text) => addressRangeOf(text)!)

/** The address and scheme of a request that comes from `remote`. */
const seen = (remote: string, headers: Record<string, string>, trusted = ranges) => {
  const request = HttpServerRequest.fromWeb(new Request("http://x/console", { headers }))
    .modify({ remoteAddress: Option.some(remote) })
  const { headers: left, remoteAddress } = seenThrough(trusted, request)
  return [Option.getOrUndefined(remoteAddress), left["x-forwarded-proto"]]
}

describe("trusted proxies", () => {
  it("report the client's address, also through several proxies", () => {
    const forwarded = (text: string) => ({ "x-forwarded-for": text, "x-forwarded-proto": "https" })
    assert.deepStrictEqual(seen("10.1.2.3", forwarded("203.0.113.5")), ["203.0.113.5", "https"])
    assert.deepStrictEqual(seen("::ffff:10.1.2.3", forwarded("203.0.113.5, 10.9.9.9")), ["203.0.113.5", "https"])
    assert.deepStrictEqual(seen("fd00::1", forwarded("2001:db8::5")), ["2001:db8::5", "https"])
    assert.deepStrictEqual(seen("192.0.2.7", forwarded("[2001:db8::5]:443")), ["2001:db8::5", "https"])
    assert.deepStrictEqual(seen("10.1.2.3", forwarded("203.0.113.5:1234")), ["203.0.113.5", "https"])
    assert.deepStrictEqual(seen("10.1.2.3", forwarded("10.4.4.4, 10.5.5.5")), ["10.4.4.4", "https"])
  })

  it("ignore headers that the client has set itself", () => {
    const spoofed = { "x-forwarded-for": "127.0.0.1, 198.51.100.1", "x-forwarded-proto": "https" }
    assert.deepStrictEqual(seen("203.0.113.9", spoofed), ["203.0.113.9", undefined])
    assert.deepStrictEqual(seen("203.0.113.9", spoofed, []), ["203.0.113.9", undefined])
    assert.deepStrictEqual(seen("10.1.2.3", spoofed), ["198.51.100.1", "https"])
    assert.deepStrictEqual(seen("10.1.2.3", { "x-forwarded-for": "203.0.113.5, nonsense" }), ["10.1.2.3", undefined])
    assert.deepStrictEqual(seen("10.1.2.3", { "x-forwarded-proto": "javascript" }), ["10.1.2.3", undefined])
    assert.deepStrictEqual(seen("10.1.2.3", { "x-forwarded-for": "" }), ["10.1.2.3", undefined])
  })

  it.live(
    "determine the address in the audit log and for the limits of signing in",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const answers = yield* Effect.forEach(["127.0.0.0/8", ""], (trusted) =>
          Effect.gen(function* () {
            const { service } = yield* startWith({ TRUSTED_PROXIES: trusted })
            return yield* Effect.promise(async () => {
              await makeOrganization(service, "acme")
              const authorization = `Bearer ${adminToken}`
              const forwarded = { "x-forwarded-for": "198.51.100.1, 203.0.113.5" }
              await service.request("/console/api/organizations/acme", {
                method: "PATCH",
                headers: { authorization, "content-type": "application/json", ...forwarded },
                body: JSON.stringify({ name: "Acme Ltd" }),
              })
              const { body } = await service.manage("GET", "/organizations/acme/audit")
              const signIn = async (address: string) =>
                (await service.request("/console/sign-in", {
                  method: "POST",
                  headers: { "content-type": "application/x-www-form-urlencoded", "x-forwarded-for": address },
                  body: new URLSearchParams({ email: `${crypto.randomUUID()}@example.com`, password: "wrong word" }),
                })).status
              // Sixty of one address, which here anybody can claim to be.
              const statuses: Array<number> = []
              for (let i = 0; i < 60; i++) statuses.push(await signIn(`203.0.113.${i}`))
              return { address: body.entries[0].address, first: statuses[0], last: await signIn("203.0.113.77") }
            })
          }))
        assert.strictEqual(answers[0]!.address, "203.0.113.5")
        assert.strictEqual(answers[0]!.last, answers[0]!.first, "every address has attempts of its own")
        assert.match(answers[1]!.address, /127\.0\.0\.1$/)
        assert.strictEqual(answers[1]!.last, 429, "whatever the header says, it is one address")
      })),
    180_000,
  )
})
