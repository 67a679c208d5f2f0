import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { it } from "vitest"
import { encodeContext } from "../../src/bandit/Contexts.ts"
import { KeptResults, leastDecisions } from "../../src/results/KeptResults.ts"
import { Templates } from "../../src/templates/Templates.ts"
import { org } from "../intake/support.ts"
import { day, makeTemplate, plant, settle, suiteOnServer } from "../learning/support.ts"
import { undoCookieOf, undoOn } from "./found.ts"
import { managed, signedIn } from "./furnished.ts"

const path = "/console/o/acts/templates/t/results"

suiteOnServer("Actions of the results page", (server) => {
  const activeOf = async () => {
    const { variants } = await managed(server().service)("GET", "/organizations/acts/templates/t")
    return variants.filter(({ active }: { active: boolean }) => active).map(({ id }: { id: string }) => id)
  }

  /** An organization with a clear leader, a clear loser, and one in between, over ten days. */
  const prepare = async () => {
    const manage = managed(server().service)
    await manage("POST", "/organizations", { slug: "acts", name: "Acts" })
    await server().run(makeTemplate("acts", "t", ["good", "fair", "poor"]))
    await manage("PATCH", "/organizations/acts/templates/t/variants/good", { name: "<b>Good</b>" })
    await server().run(Effect.gen(function* () {
      for (const ago of [3, 5, 7, 9]) {
        const at = { ago: ago * day, segment: encodeContext([]) }
        yield* plant("acts", { ...at, copy: "good", decisions: 300, outcomes: { click: 90, open: 150 } })
        yield* plant("acts", { ...at, copy: "fair", decisions: 300, outcomes: { click: 84 } })
        yield* plant("acts", { ...at, copy: "poor", decisions: 300, outcomes: { click: 6 } })
      }
      yield* settle("acts")
    }))
    return {
      manage,
      editor: await signedIn(server().service, "editor@example.com", ["acts", "editor"]),
      viewer: await signedIn(server().service, "viewer@example.com", ["acts", "viewer"]),
    }
  }

  it("show the winner first, stop losers, ship the winner, and undo both, for editors only", async () => {
    const { editor, manage, viewer } = await prepare()
    const { winner } = await manage("GET", "/organizations/acts/templates/t/results")
    assert.deepStrictEqual([winner.leader, winner.losers], ["good", ["poor"]])
    assert.isAbove(winner.lift_over_split.value, winner.lift.value)

    const { text } = await editor.get(path)
    const first = text.slice(text.indexOf("lead-line"), text.indexOf("Columns"))
    for (const told of ["runner-up", "random split", "Chance to be best", "Additional clicks so far"]) {
      assert.include(first, told)
    }
    assert.include(text, `href="${path}/ship"`)
    assert.include(text, "Stop 1 loser")
    assert.notInclude(text, "<b>Good</b>")
    const seen = (await viewer.get(path)).text
    assert.notInclude(seen, `${path}/ship`)
    for (const action of ["ship", "stop"]) assert.strictEqual((await viewer.get(`${path}/${action}`)).status, 403)
    assert.strictEqual((await viewer.post(`${path}/ship`, { variant: "poor" })).status, 403)
    const invalid = await editor.post(`${path}/ship`, { variant: "x".repeat(201) })
    assert.strictEqual(invalid.status, 400, "no variant can have this id")

    const question = await editor.get(`${path}/stop`)
    assert.match(question.text, /name="variant" value="poor"/)
    assert.notMatch(question.text, /name="variant" value="fair"/)
    const stopped = await editor.post(`${path}/stop`, { variant: "poor" })
    assert.strictEqual(stopped.location, `${path}?activate=poor&done=losers-stopped`)
    assert.deepStrictEqual(await activeOf(), ["good", "fair"])
    assert.include((await editor.get(stopped.location)).text, "Now inactive: poor")

    const asked = await editor.get(`${path}/ship`)
    assert.include(asked.text, "These become inactive: fair")
    assert.include(asked.text, "Learning stops until")
    const mayStaySilent = { objective: { click: 1, negative: -8 }, send_nothing: true }
    await manage("PATCH", "/organizations/acts/templates/t", mayStaySilent)
    const silent = await editor.get(`${path}/ship`)
    assert.include(silent.text, "will get all messages")
    assert.include(silent.text, "Sending nothing stays a candidate")
    await manage("PATCH", "/organizations/acts/templates/t", { send_nothing: false, objective: "click" })
    const shipped = await editor.post(`${path}/ship`, { variant: "good" })
    assert.deepStrictEqual(await activeOf(), ["good"])
    const afterwards = (await editor.get(shipped.location, undoCookieOf(shipped))).text
    assert.include(afterwards, `${path}/undo`)
    const offered = undoOn(afterwards)
    assert.deepInclude(offered, { action: `${path}/undo` })
    assert.deepInclude(offered!.fields, { activate: "fair" })
    const marked = afterwards.slice(afterwards.indexOf("What changed"))
    assert.match(marked, /<bdi>&lt;b>Good&lt;\/b> shipped<\/bdi>.*<bdi>poor deactivated<\/bdi>/s)
    assert.notInclude((await viewer.get(shipped.location, undoCookieOf(shipped))).text, `${path}/undo`)
    await editor.post(`${path}/undo`, { activate: "fair\npoor" })
    assert.deepStrictEqual(await activeOf(), ["good", "fair", "poor"])
    assert.notInclude((await editor.get(shipped.location)).text, `${path}/undo`, "it is undone already")

    const { changes } = await manage("GET", "/organizations/acts/templates/t/history")
    const switched = changes.filter(({ action }: { action: string }) => action === "variant changed")
    assert.sameMembers(
      switched.map(({ actor, subject }: { actor: string; subject: string }) => `${actor} ${subject}`),
      [...["poor", "fair", "fair", "poor"].map((id) => `editor@example.com t / ${id}`), "Admin token t / good"],
    )
  })

  it("rest on the newest results, as does a shared page, however old the last view of the results is", async () => {
    const manage = managed(server().service)
    await manage("POST", "/organizations", { slug: "kept", name: "Kept" })
    await server().run(makeTemplate("kept", "t", ["a", "b"]))
    const send = (decisions: number, ago: number) =>
      server().run(Effect.gen(function* () {
        for (const copy of ["a", "b"]) yield* plant("kept", { copy, decisions, outcomes: { click: 20 }, ago })
        yield* settle("kept")
      }))
    await send(leastDecisions / 2, 3 * day)
    const view = Effect.gen(function* () {
      const template = yield* (yield* Templates).outline(org("kept"), "t")
      return (yield* (yield* KeptResults).of(org("kept"), template, {})).found.decisions
    })
    const before = Effect.andThen(TestClock.setTime(Date.now() - day), view).pipe(Effect.provide(TestClock.layer()))
    assert.strictEqual(await server().run(before), leastDecisions)
    await send(10, 2 * day)
    const { path: shared } = await manage("POST", "/organizations/kept/templates/t/result-shares", {})
    const editor = await signedIn(server().service, "kept@example.com", ["kept", "editor"])
    assert.include((await editor.get(shared)).text, "2,020 sends")
    const today = new Date().toISOString().slice(0, 10)
    for (const action of ["ship", "stop"]) {
      const { text } = await editor.get(`/console/o/kept/templates/t/results/${action}`)
      assert.match(text, new RegExp(`Results as of <time datetime="${today}`, "i"))
    }
  })

  it("change no variants of an archived template, and say why", async () => {
    const manage = managed(server().service)
    await manage("POST", "/organizations", { slug: "old", name: "Old" })
    await server().run(makeTemplate("old", "t", ["a", "b"]))
    await server().run(Effect.gen(function* () {
      for (const copy of ["a", "b"]) {
        yield* plant("old", { copy, decisions: 200, outcomes: { click: 20 }, ago: 3 * day })
      }
      yield* settle("old")
    }))
    const editor = await signedIn(server().service, "old@example.com", ["old", "editor"])
    const results = "/console/o/old/templates/t/results"
    const { path: shared } = await manage("POST", "/organizations/old/templates/t/result-shares", {})
    for (const page of [results, shared]) assert.include((await editor.get(page)).text, "Keep running")
    await manage("PATCH", "/organizations/old/templates/t", { archived: true })
    for (const page of [results, shared]) {
      const { text } = await editor.get(page)
      assert.match(text, /<b>Archived<\/b> since .*it is not served/s)
      assert.notInclude(text, "Keep running")
      assert.notInclude(text, `${results}/ship`)
    }
    for (const action of ["ship", "stop"]) {
      const { text } = await editor.get(`${results}/${action}`)
      assert.include(text, "This template is archived")
      assert.notInclude(text, `action="${results}/${action}"`)
    }
    assert.include((await editor.get(`${results}/report`)).text, "no report is sent until it is restored")
    const viewer = await signedIn(server().service, "looks@example.com", ["old", "viewer"])
    assert.notInclude(
      (await viewer.get("/console/o/old/templates/t")).text,
      "Actions for t",
      "no menu without an action",
    )
    assert.include((await editor.get("/console/o/old/templates/t")).text, "Actions for t")
  })

  it("say before and after that a change waits for approval, where it does", async () => {
    const manage = managed(server().service)
    await manage("POST", "/organizations", { slug: "asks", name: "Asks" })
    await server().run(makeTemplate("asks", "t", ["a", "b"]))
    const editor = await signedIn(server().service, "asks@example.com", ["asks", "editor"])
    const results = "/console/o/asks/templates/t/results"
    const before = (await editor.get(`${results}/ship`)).text
    assert.include(before, "Requests follow within 5 seconds. ")
    assert.include(before, "You can undo this")
    await manage("PATCH", "/organizations/asks", { template_approval: "admin" })
    const asked = (await editor.get(`${results}/ship`)).text
    assert.include(asked, "This change goes live once it is approved.")
    assert.include(asked, "Requests follow within 5 seconds of the approval.")
    assert.notInclude(asked, "You can undo this")
    assert.notInclude((await editor.get(results)).text, "waits for approval")
    const shipped = await editor.post(`${results}/ship`, { variant: "a" })
    assert.match(shipped.location, /\/reviews\/1/)
    assert.include((await editor.get(results)).text, "Your change waits for approval")
  })

  it("switch several variants in one API call, and report every fault", async () => {
    const manage = managed(server().service)
    await manage("POST", "/organizations", { slug: "several", name: "Several" })
    await server().run(makeTemplate("several", "t", ["a", "b", "c"]))
    const template = "/organizations/several/templates/t"
    const call = (body: unknown) => server().service.manage("POST", `${template}/switch-variants`, body)
    const { body } = await call({ deactivate: ["a", "b"] })
    assert.deepStrictEqual(body.variants.map(({ active }: { active: boolean }) => active), [false, false, true])
    const { revision } = (await call({ deactivate: ["a"] })).body
    assert.strictEqual(revision, body.revision, "nothing changed")
    const refused = await call({ activate: ["a", "x"], deactivate: ["a", "y"] })
    assert.strictEqual(refused.status, 400)
    assert.deepStrictEqual(
      refused.body.errors.map(({ pointer }: { pointer: string }) => pointer),
      ["/activate/1", "/deactivate/0", "/deactivate/1"],
    )
    assert.strictEqual((await manage("GET", template)).revision, revision)
    const missing = await server().service.manage("POST", "/organizations/several/templates/none/switch-variants", {})
    assert.strictEqual(missing.status, 404)
  })

  it("remember the chosen columns without a script", async () => {
    const reader = await signedIn(server().service, "reader@example.com", ["acts", "viewer"])
    const sent = await reader.post(`${path}/columns`, { columns: "machines\nraw", back: `${path}?lookback_days=7` })
    assert.strictEqual(sent.location, `${path}?lookback_days=7`)
    assert.match(sent.headers.get("set-cookie")!, /^parlance_columns=raw\.machines; .*Max-Age=31536000/)
    const reset = await reader.post(`${path}/columns`, { reset: "true", back: "https://elsewhere.example/" })
    assert.strictEqual(reset.location, path)
    assert.match(reset.headers.get("set-cookie")!, /^parlance_columns=; .*Max-Age=0/)
  })
})
