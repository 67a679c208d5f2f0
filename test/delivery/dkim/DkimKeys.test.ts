import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Buffer } from "node:buffer"
import { generateKeyPairSync } from "node:crypto"
import { Connections } from "../../../src/delivery/Connections.ts"
import { DkimKeys, type NewDkimKey } from "../../../src/delivery/dkim/DkimKeys.ts"
import { InvalidInput } from "../../../src/domain/Errors.ts"
import { ChangeTrail, emptyTrail } from "../../../src/store/ChangeTrail.ts"
import { makeOrg, org } from "../../intake/support.ts"
import { verifyDkim } from "../../support/dkimVerifier.ts"
import { certificate } from "../../support/platformServers/Certificate.ts"
import { startSmtp } from "../../support/platformServers/SmtpReceiver.ts"
import { message, server } from "../connections/support.ts"
import { layerWithDns, TestDns } from "../dnsSupport.ts"

/** An organization with an SMTP connection `main` to a server on this machine. */
const furnish = Effect.fnUntraced(function* (slug: string) {
  const receiver = yield* server(() => startSmtp())
  yield* makeOrg(slug)
  yield* (yield* Connections).put(org(slug), "main", {
    platform: "smtp",
    settings: { host: "localhost", port: receiver.port, ca: certificate, from: `news@${slug}.example` },
  })
  return receiver
})

const add = (slug: string, input: NewDkimKey = {}, connection = "main") =>
  Effect.flatMap(DkimKeys, (keys) => keys.add(org(slug), connection, input))

const change = (slug: string, selector: string, signing: boolean, unchecked = false) =>
  Effect.flatMap(DkimKeys, (keys) => keys.change(org(slug), "main", selector, { signing, unchecked }))

const list = (slug: string) => Effect.flatMap(DkimKeys, (keys) => keys.list(org(slug), "main"))

/** Sends one message through the connection as it is set up now. */
const send = (slug: string) =>
  Effect.scoped(Effect.gen(function* () {
    const connection = yield* (yield* Connections).open(org(slug), "main")
    return yield* connection.send(message({ org: slug }))
  }))

const faultsOf = (error: unknown) =>
  error instanceof InvalidInput ? error.faults.map(({ pointer }) => pointer) : [String(error)]

describe("DkimKeys", () => {
  layer(layerWithDns, { excludeTestServices: true })((it) => {
    it.effect("creates a key, and signs messages once its DNS record is published", () =>
      Effect.gen(function* () {
        const receiver = yield* furnish("signs")
        const dns = yield* TestDns
        const { bits, domain, isSigning, record, selector } = yield* add("signs")
        assert.deepStrictEqual([bits, domain, isSigning], [2048, "signs.example", false])
        assert.match(selector, /^parlance-[0-9a-f]{4}$/)
        assert.strictEqual(record.name, `${selector}._domainkey.signs.example`)

        const early = yield* Effect.flip(change("signs", selector, true))
        assert.include(early.message, "There is no DKIM record")
        yield* send("signs")

        dns.entries.set(record.name, [record.value])
        assert.isTrue((yield* change("signs", selector, true)).isSigning)
        yield* send("signs")

        yield* change("signs", selector, false)
        yield* send("signs")
        const results = receiver.mails.map(({ raw }) => verifyDkim(Buffer.from(raw, "latin1"), record.value))
        assert.deepStrictEqual(results.map(({ result }) => result), ["no signature", "pass", "no signature"])
        assert.deepStrictEqual([results[1]!.domain, results[1]!.selector], ["signs.example", selector])
      }))

    it.effect("replaces the signing key by another for all later messages", () =>
      Effect.gen(function* () {
        const receiver = yield* furnish("rotates")
        const first = yield* add("rotates", { selector: "s1" })
        const second = yield* add("rotates", { selector: "s2", domain: "Mail.Rotates.example" })
        yield* change("rotates", "s1", true, true)
        yield* send("rotates")
        yield* change("rotates", "s2", true, true)
        yield* send("rotates")
        const keys = yield* list("rotates")
        assert.deepStrictEqual(keys.map((key) => [key.selector, key.isSigning]), [["s2", true], ["s1", false]])
        const results = receiver.mails.map(({ raw }, n) =>
          verifyDkim(Buffer.from(raw, "latin1"), [first, second][n]!.record.value)
        )
        assert.deepStrictEqual(results.map(({ domain, result, selector }) => [result, selector, domain]), [
          ["pass", "s1", "rotates.example"],
          ["pass", "s2", "mail.rotates.example"],
        ])
        const keysService = yield* DkimKeys
        yield* keysService.remove(org("rotates"), "main", "s2")
        yield* send("rotates")
        assert.strictEqual(verifyDkim(Buffer.from(receiver.mails[2]!.raw, "latin1"), "").result, "no signature")
        const gone = yield* Effect.flip(keysService.remove(org("rotates"), "main", "s2"))
        assert.include(gone.message, "no DKIM key")
      }))

    it.effect("stores the private key encrypted and never returns it", () =>
      Effect.gen(function* () {
        yield* furnish("sealed")
        const pem = String(
          generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey.export({ type: "pkcs8", format: "pem" }),
        )
        const trail = emptyTrail()
        const shown = yield* Effect.provideService(
          add("sealed", { selector: "s1", private_key: pem }),
          ChangeTrail,
          trail,
        )
        const sql = yield* SqlClient.SqlClient
        const rows = yield* sql`SELECT k::text AS row FROM dkim_keys k WHERE k.org_slug = 'sealed'`
        const middle = pem.split("\n")[5]!
        for (const text of [JSON.stringify(rows), JSON.stringify(shown), JSON.stringify(trail)]) {
          assert.notInclude(text, middle)
          assert.notInclude(text, "PRIVATE")
        }
        assert.include(JSON.stringify(trail), "s1._domainkey.sealed.example")
        // The sealed key of one selector cannot stand for another.
        yield* change("sealed", "s1", true, true)
        yield* sql`UPDATE dkim_keys k SET selector = 's2' WHERE k.org_slug = 'sealed'`
        const opened = yield* Effect.flip(send("sealed"))
        assert.include(JSON.stringify(opened), "cannot be decrypted")
      }))

    it.effect("rejects invalid input with every fault, and keys of other connections and organizations", () =>
      Effect.gen(function* () {
        yield* furnish("strict")
        const refused = (input: NewDkimKey, connection?: string) =>
          Effect.map(Effect.flip(add("strict", input, connection)), faultsOf)
        assert.deepStrictEqual(yield* refused({ domain: "no domain", selector: "-", private_key: "secret" }), [
          "/domain",
          "/selector",
          "/private_key",
        ])
        yield* add("strict", { selector: "s1" })
        assert.deepStrictEqual(yield* refused({ selector: "S1 " }), ["/selector"])
        assert.deepStrictEqual(yield* refused({ selector: "s1", domain: "other.example" }), ["/selector"])
        yield* (yield* Connections).put(org("strict"), "hook", {
          platform: "webhook",
          settings: { url: "https://shop.example/hook" },
          secrets: { signing_secret: `whsec_${"A".repeat(43)}=` },
        })
        assert.deepStrictEqual(yield* refused({ domain: "shop.example" }, "hook"), ["connection"])
        assert.include((yield* Effect.flip(add("strict", {}, "nowhere"))).toString(), "nowhere")
        yield* furnish("stranger")
        assert.strictEqual((yield* Effect.flip(change("stranger", "s1", true)))._tag, "DkimKeyNotFound")
        assert.deepStrictEqual(yield* list("stranger"), [])
        const pem = String(
          generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey.export({ type: "pkcs8", format: "pem" }),
        )
        for (let n = 2; n <= 10; n++) yield* add("strict", { selector: `s${n}`, private_key: pem })
        assert.deepStrictEqual(yield* refused({ selector: "s11" }), [""])
      }))

    it.effect("deletes the key with its connection", () =>
      Effect.gen(function* () {
        yield* furnish("gone")
        yield* add("gone", { selector: "s1" })
        yield* (yield* Connections).remove(org("gone"), "main")
        const sql = yield* SqlClient.SqlClient
        assert.deepStrictEqual(yield* sql`SELECT k.selector FROM dkim_keys k WHERE k.org_slug = 'gone'`, [])
      }))
  })
})
