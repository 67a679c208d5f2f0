import { assert } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { describe, it } from "vitest"
import { recipientFaults, recipientsOf } from "../../src/console/pages/templates/VariantTest.tsx"
import { read } from "../support/platformServers/MimeReader.ts"
import { startSmtp } from "../support/platformServers/SmtpReceiver.ts"
import { certificate } from "../support/platformServers/Certificate.ts"
import { server } from "../delivery/connections/support.ts"
import { base, describeShop, variantForm } from "./shop.ts"

describe("recipients of a test", () => {
  it("are distinct addresses of members, or any addresses for admins", () => {
    assert.deepStrictEqual(recipientsOf(" a@x.example, b@x.example;a@x.example\n"), ["a@x.example", "b@x.example"])
    assert.deepStrictEqual(recipientFaults(["Ann@x.example"], new Set(["ann@x.example"])), [])
    assert.match(recipientFaults(["bo@x.example"], new Set(["ann@x.example"]))[0]!, /is no member/)
    assert.deepStrictEqual(recipientFaults(["bo@x.example"], undefined), [])
    assert.lengthOf(recipientFaults(["nonsense", "bo@"], undefined), 2)
    assert.lengthOf(recipientFaults(["a", "b", "c", "d", "e", "f"].map((name) => `${name}@x.example`), undefined), 1)
  })
})

describeShop("Test messages of the editor", (shop) => {
  it("receive the text of the form with the sample fields, which counts in no result", async () => {
    const scope = await Effect.runPromise(Scope.make())
    const receiver = await Effect.runPromise(Scope.provide(server(() => startSmtp({})), scope))
    const editor = await shop.signIn("editor@example.com")
    await shop.manage("POST", "/organizations/shop/templates", { id: "cart", name: "Cart" })
    const form = variantForm({
      var_0_source: "Hello {{ name }}, unsaved",
      var_1_name: "body",
      var_1_format: "html",
      var_1_source: '<p>Dear {{ name }}</p><a href="{{ unsubscribe_url }}">Unsubscribe</a>',
      fields: '{"name": "Ann"}',
      test_to: "editor@example.com viewer@example.com",
    })
    const none = await editor.post(`${base}/cart/new-variant/test`, form)
    assert.strictEqual(none.status, 400)
    assert.include(none.text, "no enabled connection can send it")

    await shop.manage("PUT", "/organizations/shop/connections/main", {
      platform: "smtp",
      settings: { host: "localhost", port: receiver.port, ca: certificate, from: "news@shop.example" },
    })
    const sent = await editor.post(`${base}/cart/new-variant/test`, form)
    assert.strictEqual(sent.status, 200, sent.text)
    assert.include(sent.text, "Test sent to editor@example.com, viewer@example.com.")
    assert.include(sent.text, "Hello {{ name }}, unsaved", "the text stays")
    // They are sent at once, in any order.
    assert.sameDeepMembers(receiver.mails.map(({ to }) => to), [["editor@example.com"], ["viewer@example.com"]])
    const mail = read(receiver.mails[0]!.raw)
    assert.strictEqual(mail.headers.get("subject"), "Hello Ann, unsaved")
    assert.include(receiver.mails[0]!.raw, "Dear Ann")

    const stranger = await editor.post(`${base}/cart/new-variant/test`, { ...form, test_to: "x@elsewhere.example" })
    assert.strictEqual(stranger.status, 400)
    assert.include(stranger.text, "x@elsewhere.example is no member of the organization")
    const viewer = await shop.signIn("viewer@example.com")
    assert.strictEqual((await viewer.post(`${base}/cart/new-variant/test`, form)).status, 403)
    const broken = await editor.post(`${base}/cart/new-variant/test`, { ...form, var_1_source: "{{ name | nope }}" })
    assert.include(broken.text, "No test was sent to editor@example.com, viewer@example.com.")
    assert.include(broken.text, "there is no filter &quot;nope&quot;")
    const nobody = await editor.post(`${base}/cart/new-variant/test`, { ...form, test_to: " " })
    assert.include(nobody.text, "enter an e-mail address, or choose a test group")
    assert.lengthOf(receiver.mails, 2)

    await shop.manage("POST", "/organizations/shop/suppressions", { email: "gone@agency.example" })
    const admin = await shop.signIn("admin@example.com")
    const create = 'href="/console/o/shop/settings/test-groups/-/new"'
    const ofForm = (text: string) => text.slice(text.indexOf('class="test-send"'))
    assert.include(ofForm((await admin.get(`${base}/cart/new-variant`)).text), create)
    assert.notInclude(
      ofForm((await editor.get(`${base}/cart/new-variant`)).text),
      create,
      "editors may not create groups",
    )
    const groups = "/console/o/shop/settings/test-groups"
    const made = await admin.post(`${groups}/-/new`, {
      name: "Design team",
      emails: "ann@agency.example, Editor@example.com\ngone@agency.example ann@agency.example",
    })
    assert.include(made.headers.get("location")!, "done=test-group-saved")
    const offered = await editor.get(`${base}/cart/new-variant`)
    assert.include(offered.text, 'name="test_group" value="design-team"')
    assert.notInclude(ofForm((await admin.get(`${base}/cart/new-variant`)).text), create, "there is a group")
    const grouped = await editor.post(`${base}/cart/new-variant/test`, {
      ...form,
      test_to: "editor@example.com",
      test_group: "design-team",
    })
    assert.include(grouped.text, "Test sent to editor@example.com, ann@agency.example.", grouped.text)
    assert.include(grouped.text, "No test was sent to gone@agency.example.")
    assert.match(grouped.text, /value="design-team" checked/, "the choice stays")
    assert.lengthOf(receiver.mails, 4)

    assert.lengthOf((await shop.manage("GET", "/organizations/shop/deliveries")).deliveries, 0)
    const { entries } = await shop.manage("GET", "/organizations/shop/audit")
    const tests = entries.filter(({ action }: { readonly action: string }) => action === "test message sent")
    assert.include(JSON.stringify(tests), "viewer@example.com")
    assert.include(JSON.stringify(tests), "design-team")
    assert.notInclude(JSON.stringify(entries), "Ann")
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })
}, { OUTBOUND_ALLOW: "127.0.0.1/32,::1/128" })
