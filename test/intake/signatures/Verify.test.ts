import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { createHmac, generateKeyPairSync, sign } from "node:crypto"
import {
  readsBody,
  settingsOf,
  type SignatureSettings,
  type Source,
  verify,
} from "../../../src/intake/signatures/Verify.ts"

// The forgeries that all sources have in common. Each source has a test of its own for the rest.

const now = Date.parse("2026-02-03T11:00:00Z")
const bytes = (text: string) => new TextEncoder().encode(text)
const body = bytes(`{"id":"x1","name":"Zoë 🎉","n":1}`)

type Headers = Readonly<Record<string, string>>

interface Scheme {
  /** A secret in the form this source has, different for different letters. */
  readonly secret: (letter: string) => string
  /** The headers of a genuine request. `algorithm` is another than the right one. */
  readonly sign: (secret: string, body: Uint8Array, now: number, algorithm?: string) => Headers
  /** The header with the signature or token. */
  readonly header: string
  readonly timestamp?: string
  /** Whether anything of the body is signed. */
  readonly coversBody: boolean
}

const seconds = (time: number) => String(Math.floor(time / 1_000))

const hmac = (algorithm: string, key: string | Uint8Array, parts: ReadonlyArray<string | Uint8Array>) => {
  const made = createHmac(algorithm, key)
  for (const part of parts) made.update(part)
  return made.digest()
}

/** Sources with their signature or token in a header. */
type Headed = Exclude<Source, "ses" | "mailgun">

const letters = ["a", "b", "c"]
const pairs = new Map(letters.map((letter) => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  return [letter, { privateKey, publicKey: publicKey.export({ type: "spki", format: "der" }).toString("base64") }]
}))
const pairOf = (letter: string) => pairs.get(letter)!

const schemes: { readonly [source in Headed]: Scheme } = {
  braze: {
    secret: (letter) => `token-${letter.repeat(20)}`,
    sign: (secret) => ({ authorization: `Bearer ${secret}` }),
    header: "authorization",
    coversBody: false,
  },
  iterable: {
    secret: (letter) => `token-${letter.repeat(20)}`,
    sign: (secret) => ({ authorization: secret }),
    header: "authorization",
    coversBody: false,
  },
  customerio: {
    secret: (letter) => letter.repeat(32),
    sign: (secret, body, now, algorithm = "sha256") => ({
      "x-cio-timestamp": seconds(now),
      "x-cio-signature": hmac(algorithm, secret, [`v0:${seconds(now)}:`, body]).toString("hex"),
    }),
    header: "x-cio-signature",
    timestamp: "x-cio-timestamp",
    coversBody: true,
  },
  segment: {
    secret: (letter) => letter.repeat(32),
    sign: (secret, body, _now, algorithm = "sha1") => ({
      "x-signature": hmac(algorithm, secret, [body]).toString("hex"),
    }),
    header: "x-signature",
    coversBody: true,
  },
  sfmc: {
    secret: (letter) => letter.repeat(32),
    sign: (secret, body, _now, algorithm = "sha256") => ({
      "x-sfmc-ens-signature": hmac(algorithm, secret, [body]).toString("base64"),
    }),
    header: "x-sfmc-ens-signature",
    coversBody: true,
  },
  events: {
    secret: (letter) => `whsec_${btoa(letter.repeat(24))}`,
    sign: (secret, body, now, algorithm = "sha256") => {
      const key = Uint8Array.from(atob(secret.slice("whsec_".length)), (char) => char.charCodeAt(0))
      const signature = hmac(algorithm, key, [`msg_1.${seconds(now)}.`, body]).toString("base64")
      return { "webhook-id": "msg_1", "webhook-timestamp": seconds(now), "webhook-signature": `v1,${signature}` }
    },
    header: "webhook-signature",
    timestamp: "webhook-timestamp",
    coversBody: true,
  },
  resend: {
    secret: (letter) => `whsec_${btoa(`resend-${letter.repeat(24)}`)}`,
    sign: (secret, body, now, algorithm = "sha256") => {
      const key = Uint8Array.from(atob(secret.slice("whsec_".length)), (char) => char.charCodeAt(0))
      const signature = hmac(algorithm, key, [`msg_1.${seconds(now)}.`, body]).toString("base64")
      return { "svix-id": "msg_1", "svix-timestamp": seconds(now), "svix-signature": `v1,${signature}` }
    },
    header: "svix-signature",
    timestamp: "svix-timestamp",
    coversBody: true,
  },
  brevo: {
    secret: (letter) => `brevo-${letter.repeat(20)}`,
    sign: (secret) => ({ authorization: `Bearer ${secret}` }),
    header: "authorization",
    coversBody: false,
  },
  klaviyo: {
    secret: (letter) => `klaviyo-${letter.repeat(24)}`,
    sign: (secret, body, now, algorithm = "sha256") => ({
      "klaviyo-timestamp": seconds(now),
      "klaviyo-signature": hmac(algorithm, secret, [body, seconds(now)]).toString("hex"),
    }),
    header: "klaviyo-signature",
    timestamp: "klaviyo-timestamp",
    coversBody: true,
  },
  sendgrid: {
    secret: (letter) => pairOf(letter).publicKey,
    sign: (secret, body, now, algorithm = "sha256") => {
      const key = letters.find((letter) => pairOf(letter).publicKey === secret)
      const signed = new Uint8Array([...bytes(seconds(now)), ...body])
      return {
        "x-twilio-email-event-webhook-timestamp": seconds(now),
        "x-twilio-email-event-webhook-signature": key === undefined
          ? "AAAA"
          : sign(algorithm, signed, pairOf(key).privateKey).toString("base64"),
      }
    },
    header: "x-twilio-email-event-webhook-signature",
    coversBody: true,
  },
  postmark: {
    secret: (letter) => `postmark-${letter.repeat(20)}`,
    sign: (secret) => ({ authorization: `Bearer ${secret}` }),
    header: "authorization",
    coversBody: false,
  },
  sparkpost: {
    secret: (letter) => `sparkpost-${letter.repeat(20)}`,
    sign: (secret) => ({ authorization: `Bearer ${secret}` }),
    header: "authorization",
    coversBody: false,
  },
}

const sources = Object.keys(schemes) as ReadonlyArray<Headed>

const reasonOf = (source: Source, settings: SignatureSettings, headers: Headers, sent = body, at = now): string => {
  const verdict = verify(source, settings, headers, sent, at)
  if (verdict.ok) assert.fail("was accepted")
  assert.isTrue(verdict.reason.length > 10 && verdict.reason.length < 300, verdict.reason)
  for (const secret of settings.secrets) {
    if (secret.trim() !== "") assert.notInclude(verdict.reason, secret)
  }
  return verdict.reason
}

for (const source of sources) {
  const { coversBody, header, secret, sign, timestamp } = schemes[source]
  const settings = { secrets: [secret("a")] }
  const genuine = sign(secret("a"), body, now)
  const without = (name: string): Headers => Object.fromEntries(Object.entries(genuine).filter(([key]) => key !== name))

  describe(`Webhooks of ${source}`, () => {
    it("are accepted if genuine, even with an empty body", () => {
      assert.deepStrictEqual(verify(source, settings, genuine, body, now), { ok: true })
      const empty = new Uint8Array()
      assert.isTrue(verify(source, settings, sign(secret("a"), empty, now), empty, now).ok)
      assert.isFalse(verify(source, settings, {}, empty, now).ok)
    })

    it("need their body only if the signature covers it", () => {
      assert.strictEqual(readsBody(source, {}), coversBody)
      for (const scheme of ["signature", "token"] as const) {
        const withScheme = { ...settings, scheme }
        const headers = scheme === "token" && source === "segment" ? { authorization: secret("a") } : genuine
        const differs = verify(source, withScheme, headers, new Uint8Array(), now).ok !== true
        assert.strictEqual(readsBody(source, withScheme), differs)
      }
    })

    it("are accepted if the body is part of a larger buffer", () => {
      const larger = new Uint8Array(body.length + 20).fill(0x7b)
      larger.set(body, 7)
      assert.isTrue(verify(source, settings, genuine, larger.subarray(7, 7 + body.length), now).ok)
    })

    it("are accepted with either secret during a rotation, and not with the old one afterwards", () => {
      const rotation = { secrets: [secret("b"), secret("a")] }
      for (const letter of ["a", "b"]) {
        assert.isTrue(verify(source, rotation, sign(secret(letter), body, now), body, now).ok)
      }
      reasonOf(source, rotation, sign(secret("c"), body, now))
      reasonOf(source, { secrets: [secret("b")] }, genuine)
    })

    it("are rejected with the secret of another organization", () => {
      reasonOf(source, settings, sign(secret("b"), body, now))
    })

    it("are rejected without the header and with an empty one", () => {
      for (const name of Object.keys(genuine)) {
        assert.include(reasonOf(source, settings, without(name)), name)
        for (const blank of ["", "   "]) {
          assert.include(reasonOf(source, settings, { ...genuine, [name]: blank }), name)
        }
      }
      reasonOf(source, settings, Object.create({ ...genuine }))
    })

    it("are rejected if a header occurs twice, even if one value is valid", () => {
      for (const name of [header, ...(timestamp === undefined ? [] : [timestamp])]) {
        const right = genuine[name]!
        for (const value of [`${right}, ${right}`, `${right}, x`, `x, ${right}`]) {
          reasonOf(source, settings, { ...genuine, [name]: value })
        }
      }
    })

    it("are rejected if only blank secrets are configured", () => {
      for (const secrets of [[], [""], ["  "], ["", "\t"], ["whsec_"], ["whpk_"]]) {
        for (const key of ["", " "]) {
          const forged = source === "events"
            ? {
              ...genuine,
              "webhook-signature": `v1,${hmac("sha256", key, [`msg_1.${seconds(now)}.`, body]).toString("base64")}`,
            }
            : sign(key, body, now)
          reasonOf(source, { secrets }, forged)
        }
      }
      assert.match(reasonOf(source, { secrets: [] }, genuine), /set up/)
    })

    it("are rejected if the signature or token is cut, extended or changed", () => {
      const right = genuine[header]!
      const flipped = (at: number) => right.slice(0, at) + (right[at] === "A" ? "B" : "A") + right.slice(at + 1)
      const altered = [right.slice(0, -1), right.slice(0, -2), `${right}0`, `${right}==`, `${right} x`]
      // The word before a token may be in either case.
      for (let at = right.lastIndexOf(" ") + 1; at < right.length; at++) altered.push(flipped(at))
      for (const value of altered) {
        if (value.toLowerCase() === right.toLowerCase() && header.endsWith("signature")) continue
        // A second entry of a list is allowed to be no signature.
        if ((source === "events" || source === "resend") && value.startsWith(`${right} `)) continue
        reasonOf(source, settings, { ...genuine, [header]: value })
      }
    })

    it("are rejected with texts that are no signature", () => {
      const texts = [
        "é".repeat(64),
        "Zoë 🎉",
        "\u0000",
        "undefined",
        "null",
        "0".repeat(100_000),
        "=".repeat(44),
        "v1,",
      ]
      for (const value of texts) reasonOf(source, settings, { ...genuine, [header]: value })
    })

    if (coversBody) {
      it("are rejected if a byte of the body was changed, removed or added", () => {
        const without = body.slice(0, -1)
        const longer = new Uint8Array([...body, 0x20])
        for (const sent of [without, longer, new Uint8Array()]) reasonOf(source, settings, genuine, sent)
        for (let at = 0; at < body.length; at++) {
          const changed = body.slice()
          changed[at]! ^= 1
          reasonOf(source, settings, genuine, changed)
        }
      })

      it("are rejected if a signature is sent with another body", () => {
        reasonOf(source, settings, genuine, bytes(`{"id":"x2"}`))
        reasonOf(source, settings, genuine, bytes(`[${new TextDecoder().decode(body)},{"id":"x2"}]`))
      })

      it("are rejected if signed with another algorithm", () => {
        for (const algorithm of ["md5", "sha1", "sha256", "sha512"]) {
          if (algorithm === (source === "segment" ? "sha1" : "sha256")) continue
          reasonOf(source, settings, sign(secret("a"), body, now, algorithm))
        }
      })

      it("are rejected with the plain secret in place of a signature", () => {
        reasonOf(source, settings, { ...genuine, [header]: secret("a") })
        reasonOf(source, settings, { ...without(header), authorization: `Bearer ${secret("a")}` })
      })
    }

    if (timestamp !== undefined) {
      it("are accepted up to and including 5 minutes before and after signing", () => {
        for (const offset of [-300_000, -1, 0, 1, 300_000]) {
          assert.isTrue(verify(source, settings, genuine, body, now + offset).ok, String(offset))
        }
        assert.match(reasonOf(source, settings, genuine, body, now + 300_001), /signed 301 seconds ago/)
        assert.match(reasonOf(source, settings, genuine, body, now - 300_001), /301 seconds in the future/)
      })

      it("are rejected if the timestamp was replaced by a newer one", () => {
        const later = now + 3_600_000
        reasonOf(source, settings, { ...genuine, [timestamp]: seconds(later) }, body, later)
      })

      it("are rejected with an invalid timestamp", () => {
        for (
          const value of ["now", "-1", "1e9", "1770116400.5", "0x6982", "9".repeat(13), "2026-02-03T11:00:00Z", "NaN"]
        ) {
          // Klaviyo sends times in this form, too.
          if (source === "klaviyo" && value.endsWith("Z")) continue
          assert.include(reasonOf(source, settings, { ...genuine, [timestamp]: value }), timestamp)
        }
      })

      it("are accepted within the configured tolerance, or at any time without one", () => {
        const late = now + 86_400_000 * 6
        assert.isTrue(verify(source, { ...settings, tolerance_seconds: null }, genuine, body, late).ok)
        assert.isTrue(verify(source, { ...settings, tolerance_seconds: 600 }, genuine, body, now + 599_000).ok)
        assert.isTrue(verify(source, { ...settings, tolerance_seconds: 0 }, genuine, body, now).ok)
        reasonOf(source, { ...settings, tolerance_seconds: 0 }, genuine, body, now + 1_001)
        reasonOf(source, { ...settings, tolerance_seconds: null }, { ...genuine, [timestamp]: "soon" }, body, late)
      })
    }

    it("are rejected if signed for another source", () => {
      for (const other of sources) {
        if (other === source) continue
        // Both are the same token in the same header.
        if (source === "iterable" && other === "braze") continue
        reasonOf(source, settings, schemes[other].sign(schemes[other].secret("a"), body, now))
      }
    })

    it("have settings that an administrator can enter as JSON", () => {
      const decode = Schema.decodeUnknownSync(settingsOf(source))
      assert.deepStrictEqual(decode(settings), settings)
      assert.deepStrictEqual(decode({ secrets: [secret("a"), secret("b")] }).secrets.length, 2)
      const wrong: ReadonlyArray<unknown> = [
        {},
        { secrets: secret("a") },
        { secrets: [""] },
        { secrets: [" "] },
        { secrets: [`${secret("a")}\n`] },
        { secrets: ["x".repeat(1_001)] },
        { secrets: [secret("a"), secret("b"), secret("c")] },
        ...(source === "sfmc" ? [] : [{ secrets: [] }]),
      ]
      for (const input of wrong) assert.throws(() => decode(input), undefined, undefined, JSON.stringify(input))
    })
  })
}
