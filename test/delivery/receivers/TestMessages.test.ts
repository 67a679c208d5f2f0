import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Buffer } from "node:buffer"
import { Connections } from "../../../src/delivery/Connections.ts"
import { DkimKeys } from "../../../src/delivery/dkim/DkimKeys.ts"
import { limits, type TestMessageRequest, TestMessages } from "../../../src/delivery/receivers/TestMessages.ts"
import { InvalidInput } from "../../../src/domain/Errors.ts"
import type { CopyId, TemplateId } from "../../../src/domain/Ids.ts"
import { Suppressions } from "../../../src/suppressions/Suppressions.ts"
import { Templates } from "../../../src/templates/Templates.ts"
import { makeOrg, org } from "../../intake/support.ts"
import { verifyDkim } from "../../support/dkimVerifier.ts"
import { certificate } from "../../support/platformServers/Certificate.ts"
import { read } from "../../support/platformServers/MimeReader.ts"
import { type SmtpOptions, startSmtp } from "../../support/platformServers/SmtpReceiver.ts"
import { server } from "../connections/support.ts"
import { layerWithDns, TestDns } from "../dnsSupport.ts"
import { decisionsOf, deliveriesOf } from "../support.ts"

/** An organization with a connection `main` to a mail server on this machine. */
const furnish = Effect.fnUntraced(function* (slug: string, options: SmtpOptions = {}) {
  const receiver = yield* server(() => startSmtp(options))
  yield* makeOrg(slug)
  yield* (yield* Connections).put(org(slug), "main", {
    platform: "smtp",
    settings: { host: "localhost", port: receiver.port, ca: certificate, from: `news@${slug}.example` },
  })
  return receiver
})

const send = (slug: string, ask: Partial<TestMessageRequest> = {}, connection = "main") =>
  Effect.flatMap(
    TestMessages,
    (tests) => tests.send(org(slug), connection, { to: "ada@example.com", ...ask }),
  )

const statusesOf = (findings: ReadonlyArray<{ readonly check: string; readonly status: string }>) =>
  Object.fromEntries(findings.map(({ check, status }) => [check, status]))

describe("TestMessages", () => {
  layer(layerWithDns, { excludeTestServices: true })((it) => {
    it.effect("sends a test message and lists its problems for receivers", () =>
      Effect.gen(function* () {
        const receiver = yield* furnish("plain")
        const { detail, findings, messageId, ok } = yield* send("plain")
        assert.isTrue(ok, detail)
        const [mail] = receiver.mails
        assert.deepStrictEqual(mail!.to, ["ada@example.com"])
        const { headers } = read(mail!.raw)
        assert.strictEqual(headers.get("message-id"), `<${messageId}>`)
        assert.include(headers.get("subject"), "Test message of the connection main")
        assert.deepStrictEqual(statusesOf(findings), {
          spf: "missing",
          dkim: "unknown",
          dmarc: "missing",
          alignment: "unknown",
          unsubscribe: "missing",
          "plain-text": "ok",
          encryption: "ok",
        })
        const { asked } = yield* TestDns
        assert.include(asked, "_dmarc.plain.example")
      }))

    it.effect("reports no problem for a sender that signs and has published its records", () =>
      Effect.gen(function* () {
        const receiver = yield* furnish("ready")
        const { entries } = yield* TestDns
        const keys = yield* DkimKeys
        const { record, selector } = yield* keys.add(org("ready"), "main", {})
        entries.set("ready.example", ["v=spf1 include:mail.example ~all"])
        entries.set("_dmarc.ready.example", ["v=DMARC1; p=quarantine"])
        entries.set(record.name, [record.value])
        yield* keys.change(org("ready"), "main", selector, { signing: true })
        const { findings } = yield* send("ready")
        const { unsubscribe: _, ...statuses } = statusesOf(findings)
        assert.deepStrictEqual([...new Set(Object.values(statuses))], ["ok"])
        const [mail] = receiver.mails
        assert.strictEqual(verifyDkim(Buffer.from(mail!.raw, "latin1"), record.value).result, "pass")
      }))

    it.effect("sends the content of a template without recording a decision or delivery", () =>
      Effect.gen(function* () {
        const receiver = yield* furnish("content")
        yield* (yield* Templates).create(org("content"), {
          id: "welcome" as TemplateId,
          name: "welcome",
          list_unsubscribe: true,
          variants: [{
            id: "a" as CopyId,
            vars: { subject: "Hello {{ name }}", body: '<img src="x"><a href="{{ unsubscribe_url }}"></a>' },
            formats: { body: "html" },
          }],
        })
        const { findings, ok } = yield* send("content", { template_id: "welcome", fields: { name: "Ada" } })
        assert.isTrue(ok)
        const { headers } = read(receiver.mails[0]!.raw)
        assert.strictEqual(headers.get("subject"), "Hello Ada")
        assert.strictEqual(headers.get("feedback-id"), "a:welcome:bulk:content")
        assert.include(headers.get("list-unsubscribe"), "/u/")
        // A link without https has no one-click unsubscribe.
        assert.strictEqual(statusesOf(findings)["unsubscribe"], "missing")
        assert.deepStrictEqual(yield* deliveriesOf("content"), [])
        assert.deepStrictEqual(yield* decisionsOf("content"), [])
        const sql = yield* SqlClient.SqlClient
        assert.deepStrictEqual(yield* sql`SELECT i.id FROM inbox i WHERE i.org_slug = 'content'`, [])
        assert.deepStrictEqual(yield* sql`SELECT c.state FROM delivery_counts c WHERE c.org_slug = 'content'`, [])
        const unknown = yield* Effect.flip(send("content", { template_id: "nowhere" }))
        assert.strictEqual(unknown._tag, "TemplateNotFound")
        const variant = yield* Effect.flip(send("content", { template_id: "welcome", copy_id: "z" }))
        assert.strictEqual(variant._tag, "VariantNotFound")
        assert.strictEqual(receiver.mails.length, 1)
      }))

    it.effect("reports a failed message with the reason and the findings", () =>
      Effect.gen(function* () {
        yield* furnish("refuses", { fault: () => ({ at: "recipient", reply: "550 5.1.1 No such user" }) })
        const refused = yield* send("refuses")
        assert.deepStrictEqual([refused.ok, refused.messageId], [false, null])
        assert.include(refused.detail, "No such user")
        assert.strictEqual(refused.findings.length, 7)
        yield* (yield* Connections).put(org("refuses"), "main", {
          settings: { host: "127.0.0.1", port: 9, tls: "none", from: "news@refuses.example" },
        })
        const nobody = yield* send("refuses")
        assert.isFalse(nobody.ok)
        assert.strictEqual(statusesOf(nobody.findings)["encryption"], "missing")
      }))

    it.effect("succeeds without DNS and reports that DNS is unavailable", () =>
      Effect.gen(function* () {
        yield* furnish("offline")
        const { entries } = yield* TestDns
        const root = entries.get("")!
        entries.set("", "server-failure")
        const { findings, ok } = yield* send("offline")
        entries.set("", root)
        assert.isTrue(ok)
        const statuses = statusesOf(findings)
        assert.deepStrictEqual([statuses["spf"], statuses["dmarc"]], ["unknown", "unknown"])
        assert.include(findings[0]!.detail, "DNS is not available here")
      }))

    it.effect("does not send to a suppressed address, for every reason", () =>
      Effect.gen(function* () {
        const receiver = yield* furnish("listed")
        yield* (yield* Suppressions).add([{
          org: org("listed"),
          address: "ada@example.com",
          reason: "unsubscribe",
          source: "api",
          at: 0,
        }])
        const refused = yield* Effect.flip(send("listed", { to: "Ada@Example.com" }))
        assert.include(refused.message, "unsubscribed on 1970-01-01. No test message was sent")
        assert.deepStrictEqual(receiver.mails, [])
      }))

    it.effect("rejects invalid input with every fault, and webhook connections", () =>
      Effect.gen(function* () {
        yield* furnish("strict")
        const refused = (ask: Partial<TestMessageRequest>, connection?: string) =>
          Effect.map(
            Effect.flip(send("strict", ask, connection)),
            (error) => error instanceof InvalidInput ? error.faults.map(({ pointer }) => pointer) : [error._tag],
          )
        assert.deepStrictEqual(yield* refused({ to: "ada@example.com, bob@example.com", copy_id: "a" }), [
          "/to",
          "/template_id",
        ])
        assert.deepStrictEqual(yield* refused({}, "nowhere"), ["ConnectionNotFound"])
        yield* (yield* Connections).put(org("strict"), "hook", {
          platform: "webhook",
          settings: { url: "https://shop.example/hook" },
          secrets: { signing_secret: `whsec_${"A".repeat(43)}=` },
        })
        assert.deepStrictEqual(yield* refused({}, "hook"), ["connection"])
      }))

    it.effect("limits test messages per organization by hour and by day", () =>
      Effect.gen(function* () {
        const receiver = yield* furnish("busy")
        yield* furnish("calm")
        const sql = yield* SqlClient.SqlClient
        const addAged = (count: number, minutes: number) =>
          sql`
            INSERT INTO test_messages (id, org_slug, sent_at)
            SELECT 'busy' || ${minutes}::text || n, 'busy', now() - ${minutes} * interval '1 minute'
            FROM generate_series(1, ${count}::integer) n`
        yield* addAged(limits.hour - 2, 30)
        // Two fit, and of three that come at once the third does not.
        const outcomes = yield* Effect.forEach([1, 2, 3], () => Effect.result(send("busy")), { concurrency: 3 })
        assert.deepStrictEqual(outcomes.map(({ _tag }) => _tag).sort(), ["Failure", "Success", "Success"])
        const refused = yield* Effect.flip(send("busy"))
        assert.strictEqual(refused._tag, "TooManyTestMessages")
        assert.include(refused.message, "Try again in 30 minutes")
        assert.isTrue((yield* send("calm")).ok)

        yield* sql`DELETE FROM test_messages t WHERE t.org_slug = 'busy'`
        yield* addAged(limits.day, 61)
        assert.include((yield* Effect.flip(send("busy"))).message, "Try again in 1379 minutes")
        yield* sql`UPDATE test_messages t SET sent_at = now() - interval '25 hours' WHERE t.org_slug = 'busy'`
        assert.isTrue((yield* send("busy")).ok)
        assert.strictEqual(receiver.mails.length, 3)
      }))
  })
})
