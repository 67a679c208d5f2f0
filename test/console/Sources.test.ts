import { assert } from "@effect/vitest"
import { describe, it } from "vitest"
import { settingsOf } from "../../src/intake/signatures/Verify.ts"
import { type Platform, platforms, type SourceId } from "../../src/domain/Source.ts"
import { sourceForms, sourceWords } from "../../src/console/pages/sources/SourceForms.ts"
import { setupStepsOf } from "../../src/console/pages/sources/SetupSteps.ts"
import { aroundTests } from "../support/aroundTests.ts"
import { type LocalService, startInProcess } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { deliveryEnvironment, furnish, managed, script, signedIn } from "./furnished.ts"

it("labels every setting of every source, and no others", () => {
  for (const [segment, platform] of Object.entries(platforms) as ReadonlyArray<[SourceId, Platform]>) {
    const { secrets: _, ...members } = settingsOf(platform).fields as Record<string, unknown>
    assert.sameMembers(Object.keys(sourceWords[segment]), Object.keys(members), segment)
    assert.strictEqual(Object.keys(sourceForms[segment].settings.fields).length, Object.keys(members).length)
  }
})

describe("webhook sources in the console", () => {
  let service: LocalService
  aroundTests(startInProcess(temporaryEnvironment, deliveryEnvironment), (started) => service = started)

  it("are listed with the full address to send to", async () => {
    await furnish(service, "shown")
    const admin = await signedIn(service, "shown@example.com")
    const { status, text } = await admin.get("/console/o/shown/sources")
    assert.strictEqual(status, 200)
    for (const segment of Object.keys(platforms)) {
      assert.include(text, `value="${service.url}/api/webhook/${segment}/shown"`)
    }
    assert.notInclude(text, ">provider_a<", "cards name the platform")
    const events = await admin.get("/console/o/shown/sources/events")
    assert.include(events.text, "order-1001")
    assert.include(events.text, "waiting for its send")
  })

  it("are set up without showing the secret, and show until when the old one is accepted", async () => {
    const manage = managed(service)
    await manage("POST", "/organizations", { slug: "setup", name: "Setup" })
    const admin = await signedIn(service, "setup@example.com")
    const at = "/console/o/setup/sources/provider_c"
    const missing = await admin.post(at, { secret: "", "settings-tolerance_seconds": "-5" })
    assert.strictEqual(missing.status, 400)
    assert.include(missing.text, `href="#secret"`)
    assert.include(missing.text, `href="#settings-tolerance_seconds"`)
    const saved = await admin.post(at, { secret: "first-secret-0123456789", "settings-tolerance_seconds": "any" })
    assert.strictEqual(saved.status, 303, saved.text)
    assert.strictEqual(saved.location, `${at}?done=source-saved`)
    const source = async () =>
      (await manage("GET", "/organizations/setup/webhooks")).webhooks.find(({ segment }: { segment: string }) =>
        segment === "provider_c"
      )
    assert.deepStrictEqual((await source()).settings, { tolerance_seconds: null })
    const shown = await admin.get(at)
    assert.notInclude(shown.text, "first-secret")
    assert.match(shown.text, /name="settings-tolerance_seconds"[^>]*value="any"/)
    assert.strictEqual((await admin.post(at, { secret: "second-secret-0123456789" })).status, 303)
    assert.include((await admin.get(at)).text, "The previous one is accepted until")
    assert.strictEqual((await source()).secrets.length, 2)
    assert.strictEqual((await admin.post(`${at}/disable`)).status, 303)
    assert.isFalse((await source()).enabled)
    assert.strictEqual((await admin.post(`${at}/enable`)).status, 303)
    assert.isTrue((await source()).enabled)
    assert.include((await admin.get(`${at}/remove`)).text, "Delete the source")
    assert.strictEqual((await admin.post(`${at}/remove`)).status, 303)
    assert.isUndefined(await source())
    assert.strictEqual((await admin.post(`${at}/remove`)).status, 404)
    assert.strictEqual((await admin.post(`${at}/enable`)).status, 404, "what is not set up cannot be switched on")
    assert.strictEqual((await admin.get("/console/o/setup/sources/provider_z")).status, 404)
  })

  it("wait for the first event, and show how it was understood, or that it was refused", async () => {
    const manage = managed(service)
    await manage("POST", "/organizations", { slug: "first", name: "First" })
    const admin = await signedIn(service, "first@example.com", ["first", "admin"])
    const at = "/console/o/first/sources/provider_a"
    assert.strictEqual((await admin.post(at, { secret: "first-token-0123456789" })).status, 303)
    const { text } = await admin.get(at)
    assert.include(text, `value="${service.url}/api/webhook/provider_a/first"`)
    assert.include(text, "Partner Integrations → Currents → Custom HTTP Export")
    assert.include(text, 'data-live="latest"')
    assert.include(text, "Waiting for the first event")
    const send = async (token: string, body: unknown) =>
      (await service.request("/api/webhook/provider_a/first", {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
        body: JSON.stringify(body),
      })).status
    assert.strictEqual(await send("wrong-token-0123456789", { events: [] }), 401)
    await service.untilStored(
      "the refusal is shown",
      ["audit_entries"],
      async () => (await admin.get(at)).text.includes("was refused because of its signature or secret"),
    )
    const events = [
      { event_type: "users.messages.email.Open", id: "o-1", time: 1_777_000_000, user: { external_user_id: "ann" } },
      { event_type: "users.messages.email.Strange", id: "x-1", time: 1_777_000_000 },
    ]
    assert.strictEqual(await send("first-token-0123456789", { events }), 200)
    await service.untilStored("it is understood", ["inbox"], async () => {
      const { text } = await admin.get(at)
      return text.includes("received") && text.includes("1 new event, 0 duplicates")
    })
    assert.notInclude((await admin.get(at)).text, "Waiting for the first event")
    const { text: tried } = await admin.post(`${at}/dry-run`, { body: JSON.stringify({ events }) })
    assert.include(tried, "2 items")
    assert.include(tried, "ann")
    assert.include((await admin.post(`${at}/dry-run`, { body: "{" })).text, "The body was not understood")
  })

  it("say for every source what to tick at the platform", () => {
    for (const platform of Object.values(platforms)) assert.isDefined(setupStepsOf(platform), platform)
  })

  it("refer to the command line for provider_e", async () => {
    await managed(service)("POST", "/organizations", { slug: "sfmc", name: "S" })
    const admin = await signedIn(service, "sfmc@example.com", ["sfmc", "admin"])
    const { text } = await admin.get("/console/o/sfmc/sources/provider_e")
    assert.include(text, "parlance --org sfmc webhook set provider_e")
    assert.notInclude(text, 'name="secret"')
    for (const name of ["provider_e", "sfmc"]) {
      assert.strictEqual((await admin.post(`/console/o/sfmc/sources/${name}`, { secret: "x".repeat(30) })).status, 403)
      assert.strictEqual((await admin.post(`/console/o/sfmc/sources/${name}/remove`)).status, 403)
    }
  })

  it("are visible to viewers, replayed by editors, and changed by admins", async () => {
    const { slug } = await furnish(service, "roles")
    const { inbox } = await managed(service)("GET", `/organizations/${slug}/webhooks/events/inbox`)
    assert.strictEqual(inbox.length, 2)
    const at = `/console/o/${slug}/sources`
    const viewer = await signedIn(service, "viewer@example.com", [slug, "viewer"])
    const editor = await signedIn(service, "editor@example.com", [slug, "editor"])
    for (const path of ["", "/provider_d", "/events", "/events/inbox", "/events/inbox?all=true"]) {
      const { status, text } = await viewer.get(`${at}${path}`)
      assert.strictEqual(status, 200, path)
      assert.notMatch(text, /<form method="post" action="\/console\/o/, `${path} offers nothing to change`)
    }
    assert.strictEqual((await viewer.get(`${at}/provider_d/remove`)).status, 403)
    for (const path of ["/provider_d", "/provider_d/disable", "/provider_d/remove"]) {
      assert.strictEqual((await editor.post(`${at}${path}`)).status, 403, path)
    }
    const replay = `${at}/events/inbox/${inbox[0].id}/replay`
    assert.strictEqual((await viewer.post(replay)).status, 403)
    assert.include((await editor.get(`${at}/events/inbox`)).text, replay)
    assert.strictEqual((await editor.post(replay)).status, 303)
    assert.strictEqual((await editor.post(`${at}/events/inbox/999999999/replay`)).status, 404)
    assert.strictEqual((await editor.post(`${at}/events/inbox/%00/replay`)).status, 404)
  })

  it("replay everything that was not understood with one button", async () => {
    const slug = "replayed"
    await furnish(service, slug)
    const manage = managed(service)
    const hasBeenRead = async () =>
      (await manage("GET", `/organizations/${slug}/webhooks/events/inbox`)).inbox.length === 2
    await service.untilStored("every body has been read", ["inbox"], hasBeenRead)
    const editor = await signedIn(service, "replayer@example.com", [slug, "editor"])
    const inbox = `/console/o/${slug}/sources/events/inbox`
    const { text } = await editor.get(inbox)
    assert.include(text, "Replay all 2")
    const until = /name="until" value="(\d+)"/.exec(text)![1]!
    const replayed = await editor.post(`${inbox}/replay`, { until })
    assert.strictEqual(replayed.location, `${inbox}?done=bodies-replayed`, replayed.text)
    const { entries: [entry] } = await manage("GET", `/organizations/${slug}/audit?limit=1`)
    assert.deepInclude(entry, { action: "webhook body replayed", actor: "replayer@example.com" })
    assert.deepInclude(entry.details, { replayed: 2 })
    await service.untilStored("every body has been read again", ["inbox"], hasBeenRead)
    assert.strictEqual((await editor.post(`${inbox}/replay`, { until: "x" })).status, 303)
    const viewer = await signedIn(service, "replay-viewer@example.com", [slug, "viewer"])
    assert.strictEqual((await viewer.post(`${inbox}/replay`, { until })).status, 403)
    assert.notInclude((await viewer.get(inbox)).text, "Replay all")
  })

  it("show the reason and the body of a webhook that was not understood, as text", async () => {
    const { slug } = await furnish(service, "bodies")
    const viewer = await signedIn(service, "bodies@example.com", [slug, "viewer"])
    const { text } = await viewer.get(`/console/o/${slug}/sources/events/inbox`)
    assert.include(text, "has no event name")
    assert.include(text, "partly understood")
    assert.include(text, "&lt;script>document.title=")
    assert.notInclude(text, "<script>document.title=")
    const refused = await service.request(`/api/webhook/provider_d/${slug}`, {
      method: "POST",
      headers: { authorization: "Bearer segment-token", "content-type": "application/json" },
      body: JSON.stringify({ batch: [7] }),
    })
    assert.strictEqual(refused.status, 200, await refused.text())
    await service.untilStored("the body has been looked at", ["inbox"], async () => {
      const inbox = await viewer.get(`/console/o/${slug}/sources/provider_d/inbox`)
      return inbox.text.includes("not understood")
    })
    assert.strictEqual((await viewer.get(`/console/o/${slug}/sources/events/inbox?cursor=x&all=y`)).status, 200)
  })

  it("explain the result of a mapping for a sample, and report faults of the mapping", async () => {
    await managed(service)("POST", "/organizations", { slug: "tried", name: "Tried" })
    const viewer = await signedIn(service, "tried@example.com", ["tried", "viewer"])
    const at = "/console/o/tried/sources/events/dry-run"
    assert.strictEqual((await viewer.get(at)).status, 200)
    const mapping = JSON.stringify({ event: { from: ["$.kind"], table: { Read: "open" } }, tracking_id: "$.t" })
    const run = await viewer.post(at, {
      mapping,
      body: JSON.stringify([{ kind: "Read", t: script }, { kind: "Read" }]),
    })
    assert.strictEqual(run.status, 200)
    assert.include(run.text, "2 items")
    assert.include(run.text, "&lt;script>")
    assert.notInclude(run.text, "<script>document")
    assert.include(run.text, "names no message")
    for (const wrong of ["{", "[]", JSON.stringify({ event: "kind", trackingId: "$.t" })]) {
      const answer = await viewer.post(at, { mapping: wrong, body: "{}" })
      assert.strictEqual(answer.status, 400, wrong)
      assert.include(answer.text, `href="#mapping"`)
    }
    assert.include((await viewer.post(at, { mapping, body: "{" })).text, "The body was not understood")
  })

  it("show faults of a stored mapping and of conversions at their position", async () => {
    await managed(service)("POST", "/organizations", { slug: "mapped", name: "Mapped" })
    const admin = await signedIn(service, "mapped@example.com")
    const at = "/console/o/mapped/sources/events"
    const broken = await admin.post(at, { mapping: "{ no json", conversions: "order completed" })
    assert.strictEqual(broken.status, 400)
    assert.include(broken.text, `href="#mapping"`)
    assert.include(broken.text, "order completed", "what was typed stays")
    const faulty = await admin.post(at, { mapping: JSON.stringify({ event: "kind" }), conversions: "x".repeat(300) })
    assert.strictEqual(faulty.status, 400)
    assert.include(faulty.text, `href="#mapping"`)
    assert.include(faulty.text, `href="#conversions"`)
    const mapping = { event: "$.kind", tracking_id: "$.t" }
    assert.strictEqual((await admin.post(at, { mapping: JSON.stringify(mapping) })).status, 303)
    const { webhooks } = await managed(service)("GET", "/organizations/mapped/webhooks")
    assert.deepStrictEqual(webhooks[0].settings, { mapping })
  })
})
