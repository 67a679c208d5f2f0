import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { describe, it } from "vitest"
import { encodeContext } from "../../src/bandit/Contexts.ts"
import { Groups } from "../../src/sendtime/Groups.ts"
import { day, makeTemplate, plant, type Running, settle, startServer } from "../learning/support.ts"
import { aroundTests } from "../support/aroundTests.ts"
import { waitUntil } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { managed, script, signedIn } from "./furnished.ts"

const segment = encodeContext([["daypart", "morning"], ["weekend", "weekday"]])

describe("results and overview in the console", () => {
  let running: Running
  const start = Effect.orDie(Effect.flatMap(temporaryEnvironment, (env) => startServer(env)))
  aroundTests(start, (started) => running = started)

  it("guide through the missing steps, limited to steps that the role allows", async () => {
    const manage = managed(running.service)
    await manage("POST", "/organizations", { slug: "empty", name: "Empty" })
    const admin = await signedIn(running.service, "admin@example.com", ["empty", "admin"])
    const first = await admin.get("/console/o/empty")
    assert.strictEqual(first.status, 200)
    for (const step of ["Create an API key", "Write a template", "Receive events"]) assert.include(first.text, step)
    for (const href of ["settings/keys/new", "templates/-/new", "sources"]) {
      assert.include(first.text, `href="/console/o/empty/${href}"`)
      assert.strictEqual((await admin.get(`/console/o/empty/${href}`)).status, 200, "no step leads nowhere")
    }
    const viewer = await signedIn(running.service, "viewer@example.com", ["empty", "viewer"])
    const seen = (await viewer.get("/console/o/empty")).text
    assert.include(seen, "Create an API key")
    assert.notInclude(seen, "Create New API Key")
    assert.notInclude(seen, "Create a template")
    const other = await signedIn(running.service, "other@example.com", ["empty", "viewer"])
    await manage("POST", "/organizations", { slug: "theirs", name: "Theirs" })
    for (const path of ["/console/o/theirs", "/console/o/theirs/templates/t/results"]) {
      assert.strictEqual((await other.get(path)).status, 403)
    }
  })

  it("list problems that need attention with links", async () => {
    const manage = managed(running.service)
    await manage("POST", "/organizations", { slug: "trouble", name: "Trouble" })
    const { key } = await manage("POST", "/organizations/trouble/keys", { name: "k", scopes: ["events", "generate"] })
    await manage("POST", "/organizations/trouble/templates", { id: "mute", name: "Mute", variants: [] })
    const answer = await running.service.request("/api/webhook/events/trouble", {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: JSON.stringify([{ event: "click" }, { event: "click", tracking_id: "unknown" }]),
    })
    assert.strictEqual(answer.status, 200, await answer.text())
    await running.run(settle("trouble", "mute"))
    const viewer = await signedIn(running.service, "trouble@example.com", ["trouble", "viewer"])
    let text = ""
    await waitUntil("the body has been looked at", async () => {
      text = (await viewer.get("/console/o/trouble")).text
      return text.includes("not understood")
    })
    assert.include(text, "Needs attention")
    assert.include(text, "Mute has no active variant")
    assert.include(text, "Custom events: 1 not understood")
    for (const href of ["sources/events/inbox", "templates/mute"]) {
      assert.include(text, `href="/console/o/trouble/${href}"`)
      assert.strictEqual((await viewer.get(`/console/o/trouble/${href}`)).status, 200, href)
    }
  })

  it("show results with charts and tables to every member, and typed HTML as text", async () => {
    const manage = managed(running.service)
    await manage("POST", "/organizations", { slug: "shown", name: script, time_zone: "Europe/Berlin" })
    await running.run(makeTemplate("shown", "t", ["a", "b"]))
    await manage("PATCH", "/organizations/shown/templates/t", { name: script })
    await manage("PATCH", "/organizations/shown/templates/t/variants/a", { name: script })
    await running.run(Effect.gen(function* () {
      yield* plant("shown", { copy: "a", decisions: 120, outcomes: { click: 24, open: 60 }, segment })
      yield* plant("shown", { copy: "b", decisions: 110, outcomes: { click: 6 }, segment })
      yield* settle("shown")
    }))
    const viewer = await signedIn(running.service, "shown@example.com", ["shown", "viewer"])
    const path = "/console/o/shown/templates/t/results"
    const page = await viewer.get(path)
    assert.strictEqual(page.status, 200)
    assert.include(page.headers.get("content-security-policy")!, "connect-src 'self'")
    assert.isBelow(page.text.length, 150_000)
    assert.notInclude(page.text, "<script>document")
    assert.notMatch(page.text, / style="|<style|NaN|Infinity|undefined/)
    for (const id of ["rate", "share", "best", "gain", "hours", "segments"]) assert.include(page.text, `id="${id}"`)
    for (const figure of page.text.split("<figure").slice(1)) {
      assert.include(figure, "<figcaption>")
      assert.match(figure, /<details>.*<table>/s, "every picture has its table")
    }
    assert.include(page.text, "230 sends")
    const none = await viewer.get(`${path}?segment=daypart%3Dnight`)
    assert.strictEqual(none.status, 200)
    assert.include(none.text, "No sends in this segment")
    const form = await viewer.get(`${path}?lookback_days=7&offset_days=0&segment=`)
    assert.strictEqual(form.status, 200, "an empty field asks for nothing")
    assert.match(form.text, /aria-current="true"[^>]*>Last 7 days/)
    const bad = await viewer.get(
      `${path}?lookback_days=abc&offset_days=-1&segment=${encodeURIComponent(`${script}&plan`)}`,
    )
    assert.strictEqual(bad.status, 400)
    assert.notInclude(bad.text, "<script>document")
    for (const field of ["lookback_days", "offset_days", "segment"]) {
      assert.include(bad.text, `href="#${field}"`)
      assert.include(bad.text, `id="${field}-error"`)
    }
    const explored = await viewer.get(`${path}/explore`)
    assert.strictEqual(explored.status, 200)
    assert.include(explored.text, "No sends of both variants yet", "sends count after four days")
    assert.notInclude(explored.text, "<script>document")
    const odd = await viewer.get(`${path}/explore?variant=${encodeURIComponent(script)}&against=a&first=x&second=`)
    assert.strictEqual(odd.status, 200)
    assert.strictEqual((await viewer.get("/console/o/shown/templates/none/results/explore")).status, 404)
    const file = await viewer.get(/href="([^"]*\/results\/export[^"]*)"/.exec(form.text)![1]!.replaceAll("&amp;", "&"))
    assert.strictEqual(file.status, 200)
    assert.strictEqual(file.headers.get("content-disposition"), 'attachment; filename="t-results.csv"')
    assert.include(file.text, "lift_over_split_high\r\nt,,")
    assert.strictEqual((await viewer.get(`${path}/export?lookback_days=abc`)).status, 400)
    assert.strictEqual((await viewer.get("/console/o/shown/templates/none/results/export")).status, 404)
    assert.strictEqual((await viewer.get("/console/o/shown/templates/none/results")).status, 404)
    const overview = await viewer.get("/console/o/shown")
    assert.notInclude(overview.text, "<script>document")
    assert.include(overview.text, path)
  })

  it("report a template without variants or decisions", async () => {
    const manage = managed(running.service)
    await manage("POST", "/organizations", { slug: "quiet", name: "Quiet" })
    await manage("POST", "/organizations/quiet/templates", { id: "bare", name: "Bare", variants: [] })
    await running.run(makeTemplate("quiet", "t", ["a", "b"]))
    const editor = await signedIn(running.service, "quiet@example.com", ["quiet", "editor"])
    const bare = await editor.get("/console/o/quiet/templates/bare/results")
    assert.include(bare.text, "This template has no variants yet")
    const href = "/console/o/quiet/templates/bare/new-variant"
    assert.include(bare.text, `href="${href}"`)
    assert.strictEqual((await editor.get(href)).status, 200)
    const { text } = await editor.get("/console/o/quiet/templates/t/results")
    assert.include(text, "No sends yet")
    assert.include(text, "Charts appear with the first sends")
    for (const judged of ["Health", "Last 7 days", "Keep running"]) assert.notInclude(text, judged)
    const week = await editor.get("/console/o/quiet/templates/t/results?lookback_days=7")
    assert.include(week.text, "No sends in this window yet")
    assert.include(week.text, "No data yet")
  })

  it("show the hours of the week to every member, and report missing data", async () => {
    const manage = managed(running.service)
    await manage("POST", "/organizations", { slug: "hours", name: "Hours", time_zone: "Europe/Berlin" })
    await running.run(makeTemplate("hours", "t", ["a", "b"]))
    await manage("PATCH", "/organizations/hours/templates/t", { name: script })
    await manage("PATCH", "/organizations/hours/templates/t/variants/a", { name: script })
    await manage("PATCH", "/organizations/hours", {
      quiet_hours: { from: "20:30", to: "08:00" },
      allowed_days: ["mon"],
    })
    const viewer = await signedIn(running.service, "hours@example.com", ["hours", "viewer"])
    const path = "/console/o/hours/templates/t/send-times"
    let text = ""
    await waitUntil("people have been counted", async () => {
      const answer = await viewer.get(path)
      assert.strictEqual(answer.status, 200, answer.text)
      text = answer.text
      return !text.includes("Send times are being calculated")
    })
    assert.include(text, "No data yet")
    assert.notInclude(text, "<figure")
    await running.run(Effect.gen(function* () {
      yield* plant("hours", { copy: "a", decisions: 60, outcomes: { click: 24 }, ago: 3 * day, segment })
      yield* settle("hours")
      yield* (yield* Groups).refresh("hours", "Europe/Berlin")
    }))
    const page = await viewer.get(path)
    assert.notInclude(page.text, "<script>document")
    assert.notMatch(page.text, / style="|<style|NaN|Infinity|undefined/)
    assert.isBelow(page.text.length, 150_000)
    for (const id of ["week", "attention"]) assert.include(page.text, `id="${id}"`)
    assert.include(page.text, "nothing is sent from 20:30 to 08:00 and only Mondays are used")
    // All were sent at one hour, so that nothing tells hours apart.
    assert.include(page.text, "So far the hours differ only by chance")
    assert.notInclude(page.text, "is the best hour to send")
    assert.strictEqual(page.text.match(/class="off partly"/g)?.length, 1)
    assert.strictEqual((await viewer.get("/console/o/hours/templates/none/send-times")).status, 404)
    assert.strictEqual((await viewer.get("/console/o/empty/templates/t/send-times")).status, 403)
  })
})
