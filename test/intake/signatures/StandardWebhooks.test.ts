import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Buffer } from "node:buffer"
import { createHmac, generateKeyPairSync, sign } from "node:crypto"
import { check, requestId, StandardWebhooksSettings } from "../../../src/intake/signatures/StandardWebhooks.ts"

const body = new TextEncoder().encode(`{"id":"x1","n":1}`)
const now = 1_770_116_400_000
const secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
const right = "v1,5bqb6+V4O9oxjzgRlYcbl+679XgPOIU5YIndbBYy79Q="
const head = { "webhook-id": "msg_1", "webhook-timestamp": "1770116400" }
const verdict = (signature: string, secrets: ReadonlyArray<string> = [secret], id = "msg_1") =>
  check({ secrets }, { ...head, "webhook-id": id, "webhook-signature": signature }, body, now)

const { privateKey, publicKey } = generateKeyPairSync("ed25519")
const publicBytes = publicKey.export({ format: "der", type: "spki" }).subarray(-32)
const publicSecret = `whpk_${publicBytes.toString("base64")}`
const signed = Buffer.concat([Buffer.from("msg_1.1770116400."), body])
const ed25519 = `v1a,${sign(null, signed, privateKey).toString("base64")}`

describe("StandardWebhooks", () => {
  it("accepts the test vector and the example of a list", () => {
    assert.deepStrictEqual(verdict(right), { ok: true })
    assert.deepStrictEqual(verdict(`v1,bm90LXRoaXMtb25l ${right}`), { ok: true })
  })

  it("accepts a list with any valid signature, and ignores other versions", () => {
    for (const list of [`${right} v1,AAAA`, `v9,xyz  ${right}`, `v1a,AAAA ${right}`, `nonsense ${right}`]) {
      assert.isTrue(verdict(list).ok, list)
    }
  })

  it("accepts the header names of Svix, and prefers the names of the standard", () => {
    const svix = { "svix-id": "msg_1", "svix-timestamp": "1770116400", "svix-signature": right }
    const by = (headers: Record<string, string>) => check({ secrets: [secret] }, headers, body, now)
    assert.deepStrictEqual(by(svix), { ok: true })
    assert.deepStrictEqual(by({ ...svix, "webhook-id": "other" }), { ok: true })
    assert.isFalse(by({ ...svix, "webhook-signature": "v1,AAAA", ...head }).ok)
    assert.isFalse(by({ ...svix, "svix-id": "msg_2" }).ok)
    assert.isFalse(by({ ...svix, "svix-timestamp": "1770116399" }).ok)
    const missing = by({ "svix-signature": right, "svix-timestamp": "1770116400" })
    assert.isTrue(!missing.ok && missing.reason.includes("svix-id"))
    const { "svix-timestamp": _, ...untimed } = svix
    const late = by(untimed)
    assert.isTrue(!late.ok && late.reason.includes("svix-timestamp"))
    assert.strictEqual(requestId(svix), "msg_1")
    assert.strictEqual(requestId({ ...svix, "webhook-id": "other" }), "other")
    assert.isUndefined(requestId({}))
  })

  it("rejects a valid signature under another version", () => {
    const bare = right.slice(3)
    for (const list of [`v2,${bare}`, `v1a,${bare}`, `V1,${bare}`, bare, `,${bare}`, `v1=${bare}`, `v1,v1,${bare}`]) {
      assert.isFalse(verdict(list).ok, list)
    }
  })

  it("rejects a list of more than ten signatures in linear time", () => {
    assert.isFalse(verdict(`${"v1,AAAA ".repeat(10)}${right}`).ok)
    assert.isTrue(verdict(`${"v1,AAAA ".repeat(9)}${right}`).ok)
    const started = performance.now()
    assert.isFalse(verdict("v1,AAAA ".repeat(1_000_000)).ok)
    assert.isBelow(performance.now() - started, 5_000)
  })

  it("rejects another message id, so that an old message cannot be replayed as new", () => {
    for (const id of ["msg_2", "msg_1 ".padEnd(7, "x"), "msg_1, msg_1", "msg_1."]) {
      assert.isFalse(verdict(right, [secret], id).ok)
    }
  })

  it("accepts an ed25519 signature by its public key", () => {
    assert.deepStrictEqual(verdict(ed25519, [publicSecret]), { ok: true })
    assert.deepStrictEqual(verdict(`v1,AAAA ${ed25519}`, [publicSecret]), { ok: true })
    assert.isFalse(
      check(
        { secrets: [publicSecret] },
        { ...head, "webhook-signature": ed25519 },
        new TextEncoder().encode(`{"id":"x1","n":2}`),
        now,
      ).ok,
    )
  })

  it("accepts both kinds of keys during a migration", () => {
    for (const list of [right, ed25519, `${right} ${ed25519}`]) assert.isTrue(verdict(list, [secret, publicSecret]).ok)
  })

  it("rejects an HMAC made with the public key", () => {
    for (const key of [publicBytes, publicSecret, publicSecret.slice(5)]) {
      const forged = createHmac("sha256", key).update(signed).digest("base64")
      for (const version of ["v1", "v1a"]) assert.isFalse(verdict(`${version},${forged}`, [publicSecret]).ok)
    }
  })

  it("rejects the ed25519 signature of another key, a truncated signature, and an invalid key", () => {
    const other = generateKeyPairSync("ed25519")
    const forged = sign(null, signed, other.privateKey).toString("base64")
    assert.isFalse(verdict(`v1a,${forged}`, [publicSecret]).ok)
    assert.isFalse(verdict("v1a,AAAA", [publicSecret]).ok)
    assert.isFalse(verdict(ed25519, [`whpk_${Buffer.alloc(32, 255).toString("base64")}`]).ok)
    assert.isFalse(verdict(`v1a,${Buffer.alloc(64).toString("base64")}`, [publicSecret]).ok)
  })

  it("names the required kind of key", () => {
    const result = verdict(ed25519)
    assert.match(result.ok ? "" : result.reason, /v1a with whpk_/)
  })

  it("accepts only secrets of the specified sizes and forms", () => {
    const decode = Schema.decodeUnknownSync(StandardWebhooksSettings)
    const of = (prefix: string, size: number) => prefix + Buffer.alloc(size, 1).toString("base64")
    for (const good of [of("whsec_", 24), of("whsec_", 64), of("whpk_", 32), secret]) {
      assert.deepStrictEqual(decode({ secrets: [good] }), { secrets: [good] })
    }
    const bad = [
      of("whsec_", 23),
      of("whsec_", 65),
      of("whpk_", 31),
      of("whpk_", 64),
      of("whsk_", 64),
      of("", 32),
      of("WHSEC_", 32),
    ]
    for (const text of [...bad, `${secret.slice(0, -1)}`, `whsec_${"é".repeat(32)}`]) {
      assert.throws(() => decode({ secrets: [text] }), /whsec_/, undefined, text)
      assert.isFalse(verdict(right, [text]).ok)
    }
    assert.throws(() => decode({ secrets: [secret], tolerance_seconds: -1 }))
    assert.throws(() => decode({ secrets: [secret], tolerance_seconds: 1.5 }))
    assert.throws(() => decode({ secrets: [secret], tolerance_seconds: 86_401 }))
    assert.strictEqual(decode({ secrets: [secret], tolerance_seconds: null }).tolerance_seconds, null)
  })
})
