import { assert } from "@effect/vitest"
import { describe, it } from "vitest"
import * as Braze from "../../src/delivery/connections/Braze.ts"
import * as CustomerIo from "../../src/delivery/connections/CustomerIo.ts"
import * as Iterable from "../../src/delivery/connections/Iterable.ts"
import * as Sfmc from "../../src/delivery/connections/Sfmc.ts"
import * as Postmark from "../../src/delivery/connections/Postmark.ts"
import * as Resend from "../../src/delivery/connections/Resend.ts"
import * as Ses from "../../src/delivery/connections/Ses.ts"
import * as Smtp from "../../src/delivery/connections/Smtp.ts"
import * as Webhook from "../../src/delivery/connections/Webhook.ts"
import { connectionWords, platformForms } from "../../src/console/pages/delivery/ConnectionForms.ts"
import { failureTroubles } from "../../src/console/pages/OverviewTroubles.ts"
import { startWebhook, webhookSecret } from "../support/platformServers/PlatformServer.ts"
import { aroundTests } from "../support/aroundTests.ts"
import { type LocalService, startInProcess } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { foundOn, undoCookieOf, undoOn } from "./found.ts"
import { connect, deliveryEnvironment, furnish, managed, receiver, script, signedIn } from "./furnished.ts"

const modules = {
  smtp: Smtp,
  braze: Braze,
  iterable: Iterable,
  customerio: CustomerIo,
  ses: Ses,
  resend: Resend,
  postmark: Postmark,
  sfmc: Sfmc,
  webhook: Webhook,
}

it("labels every setting and secret of every platform", () => {
  for (const [platform, { Secrets, Settings }] of Object.entries(modules)) {
    const { secrets, settings } = platformForms[platform as keyof typeof modules]
    const words = connectionWords[platform as keyof typeof modules]
    const paths = Object.values({ ...settings.fields, ...secrets.fields }).map(({ at }) => at!.slice(1))
    assert.sameMembers(Object.keys(words), paths.map((path) => path.join(".")), platform)
    const roots = new Set(paths.map(([root]) => root))
    assert.sameMembers([...roots], [...Object.keys(Settings.fields), ...Object.keys(Secrets.fields)], platform)
  }
})

it("reads the settings back from a filled form", () => {
  const { settings } = platformForms.smtp
  const stored = {
    host: "smtp.example.com",
    port: 25,
    tls: "starttls",
    from: "news@example.com",
    unsubscribe: { mailto: "stop@example.com" },
    connections: 3,
  }
  assert.deepStrictEqual(settings.read(settings.valuesOf({ settings: stored })), { settings: stored })
  const tracked = { region: "eu", from: "a@example.com", tracked: false }
  const other = platformForms.customerio.settings
  assert.deepStrictEqual(other.read(other.valuesOf({ settings: tracked })), { settings: tracked })
})

it("warns about failed messages from a share of 1 %, and reports trouble from the threshold and 10 messages", () => {
  const since = new Date("2026-11-22T09:00:00Z")
  const told = (failed: number, sent: number, threshold = 0.1) =>
    failureTroubles({ since, failed, sent }, "/console/o/a/deliveries", threshold).map(({ kind, title }) =>
      `${kind} ${title}`
    )
  assert.deepStrictEqual(told(0, 100), [])
  assert.deepStrictEqual(told(0, 0), [])
  assert.deepStrictEqual(told(9, 991), [])
  assert.deepStrictEqual(told(10, 890), ["warn 10 of 900 messages failed"])
  assert.deepStrictEqual(told(9, 0), ["warn 9 of 9 messages failed"])
  assert.deepStrictEqual(told(47, 95), ["bad 47 of 142 messages failed"])
  assert.deepStrictEqual(told(47, 95, 0.5), ["warn 47 of 142 messages failed"])
  assert.deepStrictEqual(told(10, 890, 0.01), ["bad 10 of 900 messages failed"])
  assert.deepStrictEqual(told(10, 1990, 0.005), ["bad 10 of 2,000 messages failed"])
  const [trouble] = failureTroubles({ since, failed: 47, sent: 95 }, "/console/o/a/deliveries", 0.1)
  assert.strictEqual(trouble!.href, "/console/o/a/deliveries?state=failed&since=2026-11-22T09:00:00.000Z")
  assert.include(trouble!.detail, "33\u00a0%")
})

describe("delivery in the console", () => {
  let service: LocalService
  let sink: string
  aroundTests(startInProcess(temporaryEnvironment, deliveryEnvironment), (started) => service = started)
  aroundTests(receiver, ({ url }) => sink = url)

  it("creates a connection, tests, pauses, changes and deletes it, and never shows a secret", async () => {
    const manage = managed(service)
    await manage("POST", "/organizations", { slug: "out", name: "Out" })
    const admin = await signedIn(service, "out@example.com")
    const at = "/console/o/out/connections"
    assert.include((await admin.get(at)).text, "No connections yet")
    const faulty = await admin.post(`${at}/-/new/webhook`, { name: "Not A Name", "settings-url": "ftp://x" })
    assert.strictEqual(faulty.status, 400)
    for (const name of ["name", "settings-url", "secrets-signing_secret"]) {
      assert.include(faulty.text, `href="#${name}"`)
    }
    assert.include(faulty.text, "ftp://x", "what was typed stays")
    const typedSecret = await admin.post(`${at}/-/new/webhook`, { name: "w", "secrets-signing_secret": "whsec_nope" })
    assert.notInclude(typedSecret.text, "whsec_nope")
    const added = await admin.post(`${at}/-/new/webhook`, {
      name: "new",
      "settings-url": sink,
      "secrets-signing_secret": webhookSecret,
    })
    assert.strictEqual(added.status, 303, added.text)
    assert.strictEqual(added.location, `${at}/new?done=connection-added`)
    const again = await admin.post(`${at}/-/new/webhook`, { name: "new", "settings-url": sink })
    assert.include(again.text, "is used by another connection")
    const tested = await admin.post(`${at}/new/test`)
    assert.strictEqual(tested.status, 200)
    assert.match(tested.text, /Reachable\.<\/b>.*No message was sent\./s)
    assert.notInclude(tested.text, webhookSecret)
    assert.notInclude(tested.text, "Send me a message", "only SMTP connections send test messages")
    await manage("PUT", "/organizations/out/connections/mail", {
      platform: "smtp",
      settings: { host: "localhost", port: 9, from: "news@out.example" },
    })
    const [button] = foundOn(`${at}/mail`, (await admin.get(`${at}/mail`)).text).forms
      .filter(({ action }) => action.endsWith("/test-message"))
    const to = button!.controls.find(({ name }) => name === "to")!.value
    assert.strictEqual(to, "out@example.com", "the address of the account")
    const sent = await admin.post(button!.action, { to })
    assert.include(sent.text, "The test message was not sent.", "nothing listens there")
    const unknown = await admin.post(button!.action, { to, template_id: "unknown" })
    assert.match(unknown.text, /aria-invalid="true"[^>]*>[^]*There is no template (?:"|&quot;)unknown(?:"|&quot;) here/)
    await manage("DELETE", "/organizations/out/connections/mail")
    const setup = async () => (await manage("GET", "/organizations/out/connections")).connections[0]
    for (
      const [to, expected, back] of [
        ["paused", { paused: true }, "resumed"],
        ["resumed", { paused: false }, "paused"],
        ["disabled", { enabled: false }, "enabled"],
        ["enabled", { enabled: true }, "disabled"],
        ["default", { default: true }, undefined],
      ] as const
    ) {
      const switched = await admin.post(`${at}/new/switch`, { to })
      assert.strictEqual(switched.status, 303)
      assert.deepInclude(await setup(), expected)
      const undo = undoOn((await admin.get(switched.location, undoCookieOf(switched))).text)
      assert.strictEqual(undo?.fields["to"], back)
    }
    assert.strictEqual((await admin.post(`${at}/new/switch`, { to: "constructor" })).status, 400)
    const changed = await admin.post(`${at}/new`, { "settings-url": `${sink}/other`, "settings-deduplicates": "true" })
    assert.strictEqual(changed.status, 303, changed.text)
    assert.deepStrictEqual((await setup()).settings, { url: `${sink}/other`, deduplicates: true })
    assert.deepStrictEqual((await setup()).secrets, ["signing_secret"], "an empty field keeps the secret")
    await admin.post(`${at}/new`, { "settings-url": "http://127.0.0.1:9/" })
    assert.include((await admin.post(`${at}/new/test`)).text, "The test failed.")
    assert.include((await admin.get(`${at}/new/remove`)).text, "Delete the connection")
    assert.strictEqual((await admin.post(`${at}/new/remove`)).status, 303)
    for (const path of ["new", "%00", "-", "constructor", "-/new/constructor"]) {
      assert.strictEqual((await admin.get(`${at}/${path}`)).status, 404, path)
    }
    assert.strictEqual((await admin.post(`${at}/new/test`)).status, 404)
  })

  it("shows at its field that an address is forbidden", async () => {
    await managed(service)("POST", "/organizations", { slug: "inside", name: "Inside" })
    const admin = await signedIn(service, "inside@example.com")
    const org = "/console/o/inside"
    await managed(service)("POST", "/organizations/inside/templates", { id: "cart", name: "Cart", variants: [] })
    const report = `${org}/templates/cart/results/report`
    const smtp = { name: "mail", "settings-host": "10.0.0.25", "settings-from": "news@example.com" }
    for (
      const [path, field, fields] of [
        [`${org}/connections/-/new/smtp`, "settings-host", smtp],
        [`${org}/webhook-endpoints/-/new`, "url", { url: "https://0xa9fea9fe/" }],
        [`${report}/slack`, "url_slack", { url_slack: "https://0xa9fea9fe/" }],
        [`${report}/teams`, "url_teams", { url_teams: " https:\\\\[::ffff:a00:1]\\ " }],
      ] as const
    ) {
      const { status, text } = await admin.post(path, fields)
      assert.strictEqual(status, 400, text)
      assert.include(text, `href="#${field}"`)
      assert.include(text, "OUTBOUND_ALLOW")
    }
  })

  it("deletes a secret that is no longer needed", async () => {
    const manage = managed(service)
    await manage("POST", "/organizations", { slug: "login", name: "Login" })
    const admin = await signedIn(service, "login@example.com")
    const at = "/console/o/login/connections"
    const settings = { "settings-host": "127.0.0.1", "settings-from": "news@example.com" }
    const added = await admin.post(`${at}/-/new/smtp`, {
      name: "smtp",
      ...settings,
      "settings-user": "me",
      "secrets-password": "pass-word",
    })
    assert.strictEqual(added.status, 303, added.text)
    const half = await admin.post(`${at}/smtp`, settings)
    assert.include(half.text, `href="#settings-user"`)
    assert.strictEqual((await admin.post(`${at}/smtp`, { ...settings, "remove-secrets-password": "yes" })).status, 303)
    assert.deepStrictEqual((await manage("GET", "/organizations/login/connections")).connections[0].secrets, [])
  })

  it("lists deliveries by state and address, and shows the message in a frame without scripts", async () => {
    const manage = managed(service)
    const org = await furnish(service, "sent")
    await connect(service, "sent", sink)
    const admin = await signedIn(service, "sent@example.com")
    for (let n = 0; n < 4; n++) {
      await org.post("/api/deliver/sent", {
        template_id: "welcome",
        email: `p${n}@example.com`,
        fields: { name: script },
      })
    }
    await service.untilStored("all have left or failed", ["deliveries"], async () => {
      const { failed, sent } = await manage("GET", "/organizations/sent/delivery-summary")
      return failed + sent === 4
    })
    const at = "/console/o/sent/deliveries"
    const all = await admin.get(at)
    assert.strictEqual(all.status, 200)
    for (let n = 0; n < 4; n++) assert.include(all.text, `p${n}@example.com`)
    assert.include(all.headers.get("content-security-policy") ?? "", "connect-src 'self'")
    const { deliveries } = await manage("GET", "/organizations/sent/deliveries?state=sent")
    const failed = await admin.get(`${at}?state=failed`)
    assert.notInclude(failed.text, deliveries[0].email)
    const one = await admin.get(`${at}?email=p1%40example.com`)
    assert.notInclude(one.text, "p2@example.com")
    assert.include(
      (await admin.get(`${at}?email=nobody%40example.com&state=wrong&cursor=%00`)).text,
      "No matching deliveries",
    )
    const shown = await admin.get(`${at}/${deliveries[0].id}`)
    assert.include(shown.text, `sandbox`)
    assert.notInclude(shown.text, "<script>document.title")
    assert.notInclude(shown.headers.get("content-security-policy") ?? "", "connect-src")
    const part = await admin.get(`${at}/${deliveries[0].id}/message?part=body`)
    assert.strictEqual(part.status, 200)
    assert.include(part.headers.get("content-security-policy") ?? "", "default-src 'none'")
    assert.match(part.headers.get("content-security-policy") ?? "", /;\s*sandbox(;|$)/)
    for (const path of ["message?part=subject", "message?part=constructor", "message"]) {
      assert.strictEqual((await admin.get(`${at}/${deliveries[0].id}/${path}`)).status, 404, path)
    }
    assert.strictEqual((await admin.get(`${at}/nothing/message?part=body`)).status, 404)
    const nobody = await service.request(`${at}/${deliveries[0].id}/message?part=body`, { redirect: "manual" })
    assert.strictEqual(nobody.headers.get("location"), "/console/sign-in")
    const stranger = await signedIn(service, "stranger@example.com", ["out", "viewer"])
    assert.strictEqual((await stranger.get(`${at}/${deliveries[0].id}/message?part=body`)).status, 403)
    assert.strictEqual((await stranger.get(at)).status, 403)
  })

  it("shows a refusing connection on the overview and its page, and resumes it", async () => {
    let isBlocked = true
    const server = await startWebhook({
      fault: () => isBlocked ? { status: 422, body: { error: `${script} suspended` } } : undefined,
    })
    const manage = managed(service)
    const org = await furnish(service, "refusing")
    await connect(service, "refusing", server.url)
    for (let n = 0; n < 30; n++) {
      await org.post("/api/deliver/refusing", { template_id: "welcome", email: `p${n}@example.com` })
    }
    const summary = () => manage("GET", "/organizations/refusing/delivery-summary")
    const { connections: [{ name }] } = await manage("GET", "/organizations/refusing/connections")
    const trouble = async () => (await manage("GET", "/organizations/refusing/connections")).connections[0].trouble
    await service.untilStored("it refuses", ["connections"], async () => (await trouble())?.state === "refusing")
    const admin = await signedIn(service, "refusing@example.com")
    const at = `/console/o/refusing/connections/${name}`
    const overview = (await admin.get("/console/o/refusing")).text
    assert.include(overview, `${name} refuses messages and is paused`)
    const page = (await admin.get(at)).text
    assert.include(page, "Paused because the platform refuses messages")
    assert.include(page, "resume the connection")
    assert.match(page, /value="resumed"/)
    for (const text of [overview, page]) {
      assert.include(text, "20 messages in a row were refused for one reason")
      assert.notInclude(text, script)
    }
    isBlocked = false
    assert.strictEqual((await admin.post(`${at}/switch`, { to: "resumed" })).status, 303)
    assert.isNull(await trouble())
    await service.untilStored("the rest is sent", ["deliveries"], async () => (await summary()).sent === 10)
    assert.strictEqual((await summary()).failed, 20)
    assert.notInclude((await admin.get("/console/o/refusing")).text, "refuses messages")
    await server.close()
  })

  it("cancels queued and retries failed messages after a confirmation, for editors but not for viewers", async () => {
    const manage = managed(service)
    const org = await furnish(service, "queue")
    await connect(service, "queue", "http://127.0.0.1:9/")
    const at = "/console/o/queue/deliveries"
    const viewer = await signedIn(service, "queue-viewer@example.com", ["queue", "viewer"])
    const editor = await signedIn(service, "queue-editor@example.com", ["queue", "editor"])
    await org.post("/api/deliver/queue", {
      template_id: "welcome",
      email: "later@example.com",
      send_at: new Date(Date.now() + 3_600_000).toISOString(),
    })
    await org.post("/api/deliver/queue", { template_id: "welcome", email: "now@example.com" })
    await service.untilStored(
      "one has failed",
      ["deliveries"],
      async () => (await manage("GET", "/organizations/queue/delivery-summary")).failed === 1,
    )
    const byState = async (state: string) =>
      (await manage("GET", `/organizations/queue/deliveries?state=${state}`)).deliveries
    const [later] = await byState("queued")
    const [failed] = await byState("failed")
    for (const path of [later.id, failed.id]) {
      const { text } = await viewer.get(`${at}/${path}`)
      assert.notMatch(text, /\/(cancel|retry)"/)
    }
    for (const path of [`${later.id}/cancel`, `${failed.id}/retry`]) {
      assert.strictEqual((await viewer.get(`${at}/${path}`)).status, 403)
      assert.strictEqual((await viewer.post(`${at}/${path}`)).status, 403)
    }
    assert.include((await editor.get(`${at}/${later.id}/cancel`)).text, "Cancel the message")
    assert.strictEqual((await byState("cancelled")).length, 0, "asking changes nothing")
    assert.strictEqual((await editor.post(`${at}/${later.id}/cancel`)).status, 303)
    assert.strictEqual((await byState("cancelled")).length, 1)
    assert.include((await editor.get(`${at}/${later.id}/retry`)).text, "so you cannot retry it")
    assert.strictEqual((await editor.post(`${at}/${later.id}/retry`)).status, 409)
    assert.include((await editor.get(`${at}/${failed.id}/retry`)).text, "Queue it again")
    assert.strictEqual((await editor.post(`${at}/${failed.id}/retry`)).status, 303)
    for (const path of ["nothing", "%00"]) assert.strictEqual((await editor.get(`${at}/${path}`)).status, 404)
    for (const path of ["-/new", "-/new/smtp", "main/remove"]) {
      assert.strictEqual((await editor.get(`/console/o/queue/connections/${path}`)).status, 403, path)
    }
    const { text } = await viewer.get("/console/o/queue/connections/main")
    assert.notMatch(text, /<form method="post" action="\/console\/o/)
  })

  it("retries and cancels all filtered messages once per preview, for editors but not for viewers", async () => {
    const manage = managed(service)
    const org = await furnish(service, "bulk")
    await connect(service, "bulk", "http://127.0.0.1:9/")
    const at = "/console/o/bulk/deliveries"
    const viewer = await signedIn(service, "bulk-viewer@example.com", ["bulk", "viewer"])
    const editor = await signedIn(service, "bulk-editor@example.com", ["bulk", "editor"])
    for (let n = 0; n < 3; n++) {
      await org.post("/api/deliver/bulk", { template_id: "welcome", email: `p${n}@example.com` })
    }
    const summary = () => manage("GET", "/organizations/bulk/delivery-summary")
    await service.untilStored("all have failed", ["deliveries"], async () => (await summary()).failed === 3)
    await manage("PUT", "/organizations/bulk/connections/main", { paused: true })
    const overview = await viewer.get("/console/o/bulk")
    assert.include(overview.text, "3 of 3 messages failed")
    const [, since] = /deliveries\?state=failed&amp;since=([^"]+)"/.exec(overview.text)!
    const failed = `${at}?state=failed&since=${since}`
    assert.include((await editor.get(failed)).text, "Retry all 3")
    assert.notInclude((await viewer.get(failed)).text, "Retry all")
    assert.notInclude((await editor.get(at)).text, "Retry all")
    assert.notInclude((await editor.get(`${at}?state=failed&reason=nothing+of+the+kind`)).text, "Retry all")
    assert.include((await editor.get(`${at}?state=failed&template_id=welcome&connection=main`)).text, "Retry all 3")
    // On the clocks of the organization, as a form sends it.
    assert.include((await editor.get(`${at}?state=failed&until=2020-06-01T12:00`)).text, "No matching deliveries")
    const faulty = await editor.get(`${at}?state=failed&since=2026-02-31T00:00`)
    assert.include(faulty.text, 'id="since-error"')
    assert.notInclude(faulty.text, "Retry all")
    assert.strictEqual((await editor.get(`${at}/-/retry?since=2026-02-31T00:00`)).status, 400)
    for (const kind of ["retry", "cancel"]) {
      assert.strictEqual((await viewer.get(`${at}/-/${kind}`)).status, 403)
      assert.strictEqual((await viewer.post(`${at}/-/${kind}`)).status, 403)
      assert.strictEqual((await editor.post(`${at}/-/${kind}`, { reason: "", template: "welcome" })).status, 400)
    }
    const preview = await editor.get(`${at}/-/retry?since=${since}`)
    assert.include(preview.text, "Retry 3 messages?")
    const fields = Object.fromEntries(
      [...preview.text.matchAll(/type="hidden" name="(since|until|key)" value="([^"]*)"/g)].map(([, name, value]) => [
        name!,
        value!,
      ]),
    )
    assert.hasAllKeys(fields, ["since", "until", "key"])
    assert.strictEqual((await summary()).failed, 3, "asking changes nothing")
    const [first, second] = await Promise.all([
      editor.post(`${at}/-/retry`, { ...fields, _account: "bulk-viewer@example.com" }),
      editor.post(`${at}/-/retry`, fields),
    ])
    assert.strictEqual(first.status, 303, first.text)
    assert.strictEqual(first.location, second.location)
    const done = (await viewer.get(first.location)).text
    assert.include(done, "3 messages have been queued again.")
    assert.include(done, `href="${at}?state=failed&amp;since=`)
    assert.deepInclude(await summary(), { failed: 0 })
    assert.notInclude((await viewer.get("/console/o/bulk")).text, "messages failed")
    const { entries } = await manage("GET", "/organizations/bulk/audit")
    const retried = entries.filter(({ action }: { action: string }) => action === "deliveries retried")
    assert.strictEqual(retried.length, 1)
    assert.deepInclude(retried[0], { actor: "bulk-editor@example.com" })
    assert.deepInclude(retried[0].details, { since: fields["since"], until: fields["until"], matched: 3 })
    assert.include((await editor.get(`${at}?state=queued`)).text, "Cancel all 3")
    assert.include((await editor.get(`${at}/-/cancel?email=p1@example.com`)).text, "Cancel 1 message")
    const cancelled = await editor.post(`${at}/-/cancel`, { email: "p1@example.com" })
    assert.include((await editor.get(cancelled.location)).text, "1 message has been cancelled.")
    assert.deepInclude(await summary(), { cancelled: 1 })
    assert.strictEqual((await editor.get(`${at}/-/actions/nothing`)).status, 404)
  })

  it("answers nonsense in every form without an error", async () => {
    const { slug } = await furnish(service, "nonsense")
    await connect(service, slug, sink)
    const admin = await signedIn(service, "nonsense@example.com")
    const paths = [
      "sources/provider_a",
      "sources/provider_c",
      "sources/provider_d",
      "sources/events",
      "sources/events/dry-run",
      "sources/events/inbox/0/replay",
      "sources/%00/disable",
      "connections/main",
      "connections/main/switch",
      "connections/%00/test",
      ...Object.keys(platformForms).map((platform) => `connections/-/new/${platform}`),
      "deliveries/%00/cancel",
      "deliveries/-/retry",
    ]
    const names = [
      ...Object.values(platformForms).flatMap(({ secrets, settings }) =>
        Object.keys({ ...secrets.fields, ...settings.fields })
      ),
      ...["secret", "conversions", "mapping", "body", "name", "to"],
      ...["tolerance_seconds", "header", "scheme", "unsigned_items"].map((name) => `settings-${name}`),
    ]
    for (
      const value of [
        "\0",
        script,
        "null",
        "[]",
        '{"event":"$","tracking_id":"$"}',
        "9".repeat(400),
        "-1",
        "\uffff\n\r",
      ]
    ) {
      const fields = Object.fromEntries(names.map((name) => [name, value]))
      for (const path of paths) {
        const { status, text } = await admin.post(`/console/o/${slug}/${path}`, fields)
        assert.isBelow(status, 500, `${path} ${JSON.stringify(value.slice(0, 50))}`)
        assert.notInclude(text, script, path)
      }
      for (const path of ["deliveries", "people", "people/erase", "sources/events/inbox"]) {
        const query = new URLSearchParams({
          state: value,
          email: value,
          before: value,
          q: value,
          after: value,
          check: value,
        })
        const { status, text } = await admin.get(`/console/o/${slug}/${path}?${query}`)
        assert.isBelow(status, 500, `${path} ${value.slice(0, 50)}`)
        assert.notInclude(text, script, path)
      }
    }
  }, 120_000)
})
