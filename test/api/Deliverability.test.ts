import { assert } from "@effect/vitest"
import type { Effect } from "effect"
import { Buffer } from "node:buffer"
import { generateKeyPairSync } from "node:crypto"
import { describe, it } from "vitest"
import { managed, signedIn } from "../console/furnished.ts"
import { aroundTests } from "../support/aroundTests.ts"
import { verifyDkim } from "../support/dkimVerifier.ts"
import { mailWorld } from "../support/mailWorld.ts"
import { adminToken } from "../support/service.ts"
import { assertProblem, type Json, pointersOf, read } from "./harness.ts"

describe("DKIM keys and test messages", () => {
  let world: Effect.Success<typeof mailWorld>
  aroundTests(mailWorld, (started) => world = started)

  /** An organization with an SMTP connection `main`, and management requests below it. */
  const furnish = async (slug: string) => {
    const manage = managed(world.service)
    await manage("POST", "/organizations", { slug, name: slug })
    await manage("PUT", `/organizations/${slug}/connections/main`, world.connection(`${slug}.example`))
    return async (method: string, path: string, body?: unknown) =>
      read(
        await world.service.request(`/console/api/organizations/${slug}/connections${path}`, {
          method,
          headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        }),
      )
  }

  const vars = { subject: "Hello", body: "<p>Hello</p>" }

  const audited = async (slug: string): Promise<ReadonlyArray<Json>> =>
    (await managed(world.service)("GET", `/organizations/${slug}/audit`)).entries

  it("makes a key, lets it sign once it is published, sends a signed test message, and removes the key", async () => {
    const call = await furnish("keys")
    const made = await call("POST", "/main/dkim", { selector: "s1" })
    assert.strictEqual(made.status, 201, made.text)
    assert.deepInclude(made.json, { domain: "keys.example", selector: "s1", bits: 2048, signing: false })
    const { record } = made.json
    assert.deepInclude(record, { name: "s1._domainkey.keys.example", type: "TXT" })
    assert.deepStrictEqual((await call("GET", "/main/dkim")).json.keys, [made.json])
    assert.notInclude(made.text, "PRIVATE")

    const early = await call("PATCH", "/main/dkim/s1", { signing: true })
    assertProblem(early, 422, "unprocessable")
    assert.include(early.json.detail, "There is no DKIM record at s1._domainkey.keys.example")
    world.dns.entries.set(record.name, [record.value])
    assert.isTrue((await call("PATCH", "/main/dkim/s1", { signing: true })).json.signing)

    const sent = await call("POST", "/main/test-message", { to: "ada@example.com" })
    assert.strictEqual(sent.status, 200, sent.text)
    assert.isTrue(sent.json.ok, sent.text)
    const statuses = Object.fromEntries(sent.json.findings.map(({ check, status }: Json) => [check, status]))
    assert.deepInclude(statuses, { spf: "missing", dkim: "ok", dmarc: "missing", alignment: "ok", encryption: "ok" })
    const mail = world.mail.mails.find(({ raw }) => raw.includes(sent.json.message_id))
    assert.strictEqual(verifyDkim(Buffer.from(mail!.raw, "latin1"), record.value).result, "pass")

    assert.strictEqual((await call("DELETE", "/main/dkim/s1")).status, 204)
    assertProblem(await call("DELETE", "/main/dkim/s1"), 404, "dkim-key-not-found")
    const actions = (await audited("keys")).map(({ action, subject }) => `${action}: ${subject}`)
    assert.deepStrictEqual(actions.slice(0, 4), [
      "DKIM key removed: main",
      "test message sent: main",
      "DKIM key changed: main",
      "DKIM key made: main",
    ])
  })

  it("imports a private key, and repeats it nowhere", async () => {
    const call = await furnish("imports")
    const pem = String(
      generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey.export({ type: "pkcs8", format: "pem" }),
    )
    const made = await call("POST", "/main/dkim", { private_key: pem })
    assert.strictEqual(made.json.bits, 1024, made.text)
    const refused = await call("POST", "/main/dkim", { private_key: pem.replace(/\n.{64}\n/, "\n"), domain: "-" })
    assert.deepStrictEqual(pointersOf(refused), ["/domain", "/private_key"])
    const secret = pem.split("\n")[3]!
    for (const text of [made.text, refused.text, JSON.stringify(await audited("imports"))]) {
      assert.notInclude(text, secret)
    }
  })

  it("names the recipient of a test message in the audit log, and none of its content", async () => {
    const call = await furnish("audit")
    await managed(world.service)("POST", "/organizations/audit/templates", {
      id: "t",
      name: "T",
      variants: [{ id: "a", vars: { subject: "Hi {{ name }}", body: "x" } }],
    })
    const sent = await call("POST", "/main/test-message", {
      to: "ada@example.com",
      template_id: "t",
      fields: { name: "Very private" },
    })
    assert.isTrue(sent.json.ok, sent.text)
    const [entry] = await audited("audit")
    assert.deepStrictEqual(entry.details, { to: "ada@example.com", template_id: "t" })
  })

  it("refuses test messages to suppressed addresses, and more than 100 in an hour", async () => {
    const call = await furnish("limits")
    await managed(world.service)("POST", "/organizations/limits/suppressions", { email: "eve@example.com" })
    const suppressed = await call("POST", "/main/test-message", { to: "eve@example.com" })
    assertProblem(suppressed, 422, "recipient-suppressed")
    assert.strictEqual(suppressed.json.reason, "manual")
    assertProblem(await call("POST", "/main/test-message", {}), 400, "invalid-request")
    const manage = managed(world.service)
    await manage("POST", "/organizations/limits/templates", { id: "t", name: "T", variants: [{ id: "v", vars }] })
    const emails = Array.from({ length: 20 }, (_, n) => `ada.${n}@example.com`)
    await manage("PUT", "/organizations/limits/test-groups/all", { name: "All", emails })
    for (let n = 0; n < 5; n++) {
      const { sent } = await manage("POST", "/organizations/limits/test-groups/all/send", {
        template_id: "t",
        connection: "main",
      })
      assert.isTrue(sent.every(({ ok }: Json) => ok), JSON.stringify(sent))
    }
    const refused = await call("POST", "/main/test-message", { to: "ada@example.com" })
    assertProblem(refused, 429, "too-many-test-messages")
    assert.isAtLeast(Number(refused.headers.get("retry-after")), 3_000)
  })

  it("answers 404 for unknown connections and keys", async () => {
    const call = await furnish("nothing")
    assertProblem(await call("GET", "/nowhere/dkim"), 404, "connection-not-found")
    assertProblem(await call("POST", "/nowhere/dkim", {}), 404, "connection-not-found")
    assertProblem(await call("PATCH", "/main/dkim/s1", { signing: true }), 404, "dkim-key-not-found")
    assertProblem(await call("POST", "/nowhere/test-message", { to: "a@example.com" }), 404, "connection-not-found")
  })

  it("shows keys to viewers in the console, and lets admins alone change them or send messages", async () => {
    const call = await furnish("roles")
    await call("POST", "/main/dkim", { selector: "s1" })
    const at = "/console/o/roles/connections/main/receivers"
    const viewer = await signedIn(world.service, "viewer@example.com", ["roles", "viewer"])
    const { status, text } = await viewer.get(at)
    assert.strictEqual(status, 200)
    assert.include(text, "s1._domainkey.roles.example")
    assert.notMatch(text, /<form method="post" action="\/console\/o/)
    for (const path of ["/dkim", "/dkim/s1", "/dkim/s1/remove", "/test-message"]) {
      assert.strictEqual((await viewer.post(`${at}${path}`, { to: "a@example.com" })).status, 403, path)
    }
    const admin = await signedIn(world.service, "admin@example.com", ["roles", "admin"])
    const early = await admin.post(`${at}/dkim/s1`, { signing: "yes" })
    assert.strictEqual(early.status, 400)
    assert.include(early.text, "There is no DKIM record")
    assert.strictEqual((await admin.post(`${at}/dkim/s1`, { signing: "yes", unchecked: "yes" })).status, 303)
    for (const fields of [{ to: "no address" }, { to: "\0" }, { to: "a@example.com", template_id: "\0" }]) {
      assert.isBelow((await admin.post(`${at}/test-message`, fields)).status, 500)
    }
    for (const fields of [{ domain: "\0" }, { selector: "../x" }, { private_key: "\ud800" }]) {
      assert.strictEqual((await admin.post(`${at}/dkim`, fields)).status, 400)
    }
    assert.strictEqual((await admin.get("/console/o/roles/connections/%00/receivers")).status, 404)
    assert.strictEqual((await admin.post(`${at}/dkim/s1/remove`)).status, 303)
    assert.strictEqual((await admin.post(`${at}/dkim/s1/remove`)).status, 404)
  })
})
