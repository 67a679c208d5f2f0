import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { randomBytes, randomUUID } from "node:crypto"
import { deliveryOfMailbox, readMailbox, writeMailbox } from "../../src/tracking/BounceAddress.ts"
import { validateAddress } from "../../src/text/Email.ts"
import type { OrgSlug } from "../../src/domain/Ids.ts"
import { hmacKey } from "../../src/text/Hmac.ts"
import { orgTag, readToken } from "../../src/tracking/Token.ts"

const acme = "acme" as OrgSlug
const key = hmacKey(new Uint8Array(32).fill(7))
const orgsOf = (tag: number) => tag === orgTag(acme) ? [acme] : []

describe("a mailbox for mail about deliveries", () => {
  it("round-trips in any case of its letters", () => {
    fc.assert(fc.property(fc.uuid(), (delivery) => {
      const written = writeMailbox(key, { org: acme, delivery })
      assert.match(written, /^bounce\+[0-9a-v]{48}$/)
      assert.isUndefined(validateAddress(`${written}@bounces.shop.example`))
      for (const text of [written, written.toUpperCase()]) {
        assert.deepStrictEqual(readMailbox(key, text, orgsOf), { org: acme, delivery })
      }
      assert.strictEqual(deliveryOfMailbox(`<${written.toUpperCase()}@bounces.shop.example>`), delivery)
    }))
    const complaints = writeMailbox(key, { org: acme, delivery: undefined })
    assert.match(complaints, /^complaint\+[0-9a-v]{48}$/)
    assert.deepStrictEqual(readMailbox(key, complaints, orgsOf), { org: acme, delivery: undefined })
  })

  it("is rejected if it was written with another key, organization or use", () => {
    const written = writeMailbox(key, { org: acme, delivery: randomUUID() })
    const flipped = (at: number) => {
      const digit = written[at] === "0" ? "1" : "0"
      return `${written.slice(0, at)}${digit}${written.slice(at + 1)}`
    }
    const forged = [
      ...Array.from({ length: 48 }, (_, at) => flipped(at + "bounce+".length)),
      written.replace("bounce+", "complaint+"),
      writeMailbox(key, { org: acme, delivery: undefined }).replace("complaint+", "bounce+"),
      writeMailbox(hmacKey(randomBytes(32)), { org: acme, delivery: randomUUID() }),
      writeMailbox(key, { org: "harbour" as OrgSlug, delivery: randomUUID() }),
      `${written}0`,
      written.slice(0, -1),
      "bounce+",
      "bounce",
      "postmaster",
      "",
    ]
    for (const text of forged) assert.isUndefined(readMailbox(key, text, orgsOf), text)
  })

  it("is not valid as a token of a tracked link", () => {
    const written = writeMailbox(key, { org: acme, delivery: randomUUID() })
    for (const kind of ["open", "click", "unsubscribe"] as const) {
      assert.isUndefined(readToken(key, kind, written, orgsOf))
      assert.isUndefined(readToken(key, kind, written.slice("bounce+".length), orgsOf))
    }
  })
})
