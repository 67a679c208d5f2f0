import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { Buffer } from "node:buffer"
import { createHmac, randomBytes, randomUUID } from "node:crypto"
import type { OrgSlug } from "../../src/domain/Ids.ts"
import { hmac, hmacKey } from "../../src/text/Hmac.ts"
import { orgTag, readToken, targetKey, type TokenKind, writeToken } from "../../src/tracking/Token.ts"

const org = (slug: string) => slug as OrgSlug
const key = hmacKey(Buffer.alloc(32, 7))
const orgs = [org("acme"), org("harbour")]
const orgsOf = (tag: number) => orgs.filter((one) => orgTag(one) === tag)
const kinds: ReadonlyArray<TokenKind> = ["open", "click", "unsubscribe"]

const sample = (kind: TokenKind) => ({
  org: orgs[0]!,
  id: randomUUID(),
  link: kind === "click" ? targetKey("https://shop.example/") : undefined,
})

describe("a token", () => {
  it("round-trips in at most 60 characters that need no encoding in a URL", () => {
    for (const kind of kinds) {
      for (const link of kind === "click" ? [0, 1, 999, targetKey("https://shop.example/")] : [undefined]) {
        const token = { ...sample(kind), link }
        const text = writeToken(key, kind, token)
        assert.deepStrictEqual(readToken(key, kind, text, orgsOf), token)
        assert.isAtMost(text.length, 60)
        assert.match(text, /^[A-Za-z0-9_-]+$/)
      }
    }
  })

  it("is independent of tokens written before it", () => {
    const links = [
      undefined,
      0xffffff,
      targetKey("https://shop.example/"),
      0,
      undefined,
      targetKey("https://other.example/"),
    ]
    const tokens = links.map((link) => ({ org: orgs[0]!, id: randomUUID(), link }))
    const texts = tokens.map((token) => writeToken(key, token.link === undefined ? "open" : "click", token))
    for (const [place, token] of tokens.entries()) {
      assert.deepStrictEqual(readToken(key, token.link === undefined ? "open" : "click", texts[place]!, orgsOf), token)
    }
  })

  it("is not written for an incomplete UUID, or for a link of another form", () => {
    const id = randomUUID()
    const wrong = [
      { id: id.slice(0, -2), link: undefined },
      { id: "", link: undefined },
      { id: `${id}00`, link: undefined },
      { id, link: -1 },
      { id, link: 2 ** 24 },
      { id, link: "AAAA" },
      { id, link: `${targetKey("https://shop.example/")}AAAA` },
    ]
    for (const { id, link } of wrong) assert.throws(() => writeToken(key, "click", { org: orgs[0]!, id, link }))
  })

  it("is valid for its own route, organization and key only", () => {
    for (const kind of kinds) {
      const token = sample(kind)
      const text = writeToken(key, kind, token)
      for (const other of kinds.filter((one) => one !== kind)) {
        assert.isUndefined(readToken(key, other, text, orgsOf))
      }
      assert.isUndefined(readToken(hmacKey(randomBytes(32)), kind, text, orgsOf))
      assert.isUndefined(readToken(key, kind, text, () => []))
      // Of another organization whose slug begins with the same digest.
      assert.isUndefined(readToken(key, kind, text, () => [orgs[1]!]))
      assert.deepStrictEqual(readToken(key, kind, text, () => [orgs[1]!, orgs[0]!]), token)
    }
  })

  it("is invalid with any character changed, removed or added", () => {
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    for (const kind of kinds) {
      const text = writeToken(key, kind, sample(kind))
      for (let at = 0; at < text.length; at++) {
        for (const one of alphabet) {
          if (one === text[at]) continue
          assert.isUndefined(readToken(key, kind, text.slice(0, at) + one + text.slice(at + 1), orgsOf))
        }
        assert.isUndefined(readToken(key, kind, text.slice(0, at) + text.slice(at + 1), orgsOf))
      }
      for (const more of ["A", "=", "AAAA", " ", "/", "%00"]) {
        assert.isUndefined(readToken(key, kind, text + more, orgsOf))
      }
    }
  })

  it("is not read from any other text", () => {
    fc.assert(fc.property(fc.string({ maxLength: 80 }), fc.constantFrom(...kinds), (text, kind) => {
      assert.isUndefined(readToken(key, kind, text, () => orgs))
    }))
  })

  it("is signed with HMAC-SHA256", () => {
    fc.assert(fc.property(
      fc.uint8Array({ minLength: 1, maxLength: 100 }),
      fc.uint8Array({ maxLength: 300 }),
      (secret, message) => {
        const expected = createHmac("sha256", secret).update(message).digest("hex")
        const key = hmacKey(secret)
        // Twice, since the key keeps a state that must not change.
        for (let time = 0; time < 2; time++) {
          assert.strictEqual(Buffer.from(hmac(key, message)).toString("hex"), expected)
          assert.strictEqual(Buffer.from(hmac(key, message.slice(0, 3), message.slice(3))).toString("hex"), expected)
        }
      },
    ))
  })
})
