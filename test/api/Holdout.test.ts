import { assert, it } from "@effect/vitest"
import { placeOf } from "../../src/bandit/Holdout.ts"
import { type Json, type Organization, parallel, suiteOnService, variants } from "./harness.ts"

/** Users of an organization on each side of a share. */
const sidesOf = (org: string, share: number, count = 400) => {
  const users = Array.from({ length: count }, (_, i) => `u${i}`)
  const isHeldOut = (userId: string) => placeOf({ org, userId, trackingId: "" }).draw < share
  return { held: users.filter(isHeldOut), others: users.filter((userId) => !isHeldOut(userId)) }
}

const gone = { copy: {}, message: "Held out: send no message", held_out: true }

suiteOnService("Holdout", (bench) => {
  const manage = async (org: Organization, method: string, path: string, body?: Json) => {
    const answer = await bench.service.manage(method, `/organizations/${org.slug}${path}`, body)
    return answer as { readonly status: number; readonly body: Json }
  }
  const stories = async (org: Organization, template: string): Promise<ReadonlyArray<Json>> =>
    (await manage(org, "GET", `/templates/${template}/decisions?limit=1000`)).body.decisions

  it("draws evenly for held-out people, independent of the model, and records the exact probability", async () => {
    const org = await bench.organization("holdout-even")
    await org.template({
      id: "t",
      holdout: { share: 0.5, content: "even" },
      variants: variants("a", "b", "c"),
    })
    const { held, others } = sidesOf(org.slug, 0.5, 600)
    const users = [...held, ...others]
    for (let from = 0; from < users.length; from += 30) {
      const answers = await parallel(
        30,
        (i) => org.batch({ requests: [{ template_id: "t" }], user_id: users[from + i], epsilon: 0 }),
      )
      for (const answer of answers) assert.strictEqual(answer.status, 200, answer.text)
    }
    const decisions = await stories(org, "t")
    const control = decisions.filter(({ mode }) => mode === "control")
    assert.deepStrictEqual([decisions.length, control.length], [600, held.length])
    const counts = new Map<string, number>()
    for (const { copy_id, propensity, weights } of control) {
      assert.strictEqual(propensity, 1 / 3)
      assert.deepStrictEqual(weights, { a: 1 / 3, b: 1 / 3, c: 1 / 3 })
      counts.set(copy_id, (counts.get(copy_id) ?? 0) + 1)
    }
    const expected = control.length / 3
    const chiSquared = ["a", "b", "c"].reduce((sum, id) => sum + ((counts.get(id) ?? 0) - expected) ** 2 / expected, 0)
    // 2 degrees of freedom: above 18.4 in one of 10,000 cases.
    assert.isBelow(chiSquared, 18.4)
    assert.isTrue(decisions.every(({ mode }) => mode === "control" || mode === "epsilon"))
  })

  it("returns the fixed variant while it is eligible, and learns nothing from it", async () => {
    const org = await bench.organization("holdout-fixed")
    await org.template({
      id: "t",
      holdout: { share: 0.5, content: "fixed", copy_id: "b" },
      variants: variants("a", "b"),
    })
    const { held: [user_id] } = sidesOf(org.slug, 0.5)
    for (let i = 0; i < 10; i++) {
      assert.strictEqual((await org.post({ template_id: "t", user_id })).json.copy.id, "b")
    }
    for (const decision of await stories(org, "t")) {
      assert.deepInclude(decision, { mode: "control", propensity: null, weights: null })
    }
    await org.patchVariant("t", "b", { active: false })
    assert.strictEqual((await org.post({ template_id: "t", user_id })).json.copy.id, "a")
    assert.includeMembers((await org.decisions()).map(({ mode }) => mode), ["single"])
  })

  it("answers without content for people who receive no message, and records it once", async () => {
    const org = await bench.organization("holdout-none")
    await org.template({ id: "t", holdout: { share: 0.5, content: "no_message" }, variants: variants("a", "b") })
    const { held: [user_id = ""], others: [other = ""] } = sidesOf(org.slug, 0.5)
    const ask = { template_id: "t", user_id, tracking_id: "x" }
    for (let i = 0; i < 3; i++) {
      const answer = await org.post(ask)
      assert.strictEqual(answer.status, 200)
      assert.deepStrictEqual(answer.json, { tracking_id: "x", ...gone })
    }
    assert.deepStrictEqual((await org.get({ ...ask, tracking_id: "y" })).json, { tracking_id: "y", ...gone })
    const batch = await org.batch({ requests: [{ template_id: "t", tracking_id: "z" }], user_id, trace: true })
    const { trace, ...item } = batch.json.t
    assert.deepStrictEqual(item, { tracking_id: "z", ...gone })
    assert.deepInclude(trace, { mode: "control", chosen: null, propensity: null })
    const recorded = await org.decisions()
    assert.deepStrictEqual(recorded.map((row) => [row.trackingId, row.copyId, row.mode]), [
      ["x", "", "control"],
      ["y", "", "control"],
      ["z", "", "control"],
    ])
    assert.property((await org.post({ template_id: "t", user_id: other })).json.copy, "id")
    const forced = await org.batch({ requests: [{ template_id: "t", copy_id: "a" }], user_id })
    assert.strictEqual(forced.json.t.copy.id, "a", "a variant that the caller names is for everybody")
  })

  it("does not change the answer if nobody is held out", async () => {
    const org = await bench.organization("holdout-nobody")
    await org.template({ id: "t", variants: variants("a") })
    await org.template({ id: "empty" })
    const { json } = await org.post({ template_id: "t", tracking_id: "x" })
    assert.deepStrictEqual(json, { tracking_id: "x", copy: { id: "a", vars: { subject: "a" } } })
    assert.deepStrictEqual((await org.post({ template_id: "empty", tracking_id: "x" })).json, {
      tracking_id: "x",
      copy: {},
      message: "No candidates found",
    })
  })

  it("is inherited from the organization with the same people, unless the template has its own", async () => {
    const org = await bench.organization("holdout-org")
    await org.template({ id: "inherits", variants: variants("a", "b") })
    await org.template({ id: "own", holdout: { share: 0, content: "even" }, variants: variants("a", "b") })
    assert.deepStrictEqual((await manage(org, "GET", "")).body.holdout, { share: 0, content: "even" })
    const set = await manage(org, "PATCH", "", { holdout: { share: 0.3, content: "no_message" } })
    assert.deepStrictEqual(set.body.holdout, { share: 0.3, content: "no_message" })
    const { held, others } = sidesOf(org.slug, 0.3)
    const ask = async (template_id: string, user_id: string) =>
      (await org.post({ template_id, user_id })).json.held_out === true
    for (const user of held.slice(0, 10)) {
      assert.isTrue(await ask("inherits", user))
      assert.isFalse(await ask("own", user))
    }
    for (const user of others.slice(0, 10)) assert.isFalse(await ask("inherits", user))
    await manage(org, "PATCH", "/templates/own", { holdout: null })
    assert.isTrue(await ask("own", held[0]!))
  })

  it("does not reuse a sticky choice of the other side", async () => {
    const org = await bench.organization("holdout-sticky")
    const many = variants("a", "b", "c", "d", "e", "f", "g", "h")
    await org.template({ id: "t", sticky_hours: 24, variants: many })
    const { held: [user_id = ""] } = sidesOf(org.slug, 0.5)
    const ask = async () => (await org.post({ template_id: "t", user_id })).json
    const learned = await ask()
    assert.strictEqual((await ask()).tracking_id, learned.tracking_id)
    await manage(org, "PATCH", "/templates/t", { holdout: { share: 0.5, content: "even" } })
    const held = await ask()
    assert.notStrictEqual(held.tracking_id, learned.tracking_id, "a choice that was learned is not kept")
    assert.deepStrictEqual(await ask(), held, "one of the holdout is")
    await manage(org, "PATCH", "/templates/t", { holdout: { share: 0.5, content: "no_message" } })
    const none = await ask()
    assert.deepStrictEqual(none, { tracking_id: none.tracking_id, ...gone })
    assert.deepStrictEqual(await ask(), none)
    await manage(org, "PATCH", "/templates/t", { holdout: { share: 0, content: "even" } })
    const after = await ask()
    assert.notStrictEqual(after.tracking_id, none.tracking_id)
    assert.deepStrictEqual(await ask(), after)
    assert.deepStrictEqual((await org.decisions()).map(({ mode }) => mode).sort(), [
      "bandit",
      "bandit",
      "control",
      "control",
    ])
  })

  it("is shown by previews that name a user", async () => {
    const org = await bench.organization("holdout-preview")
    await org.template({ id: "t", holdout: { share: 0.5, content: "even" }, variants: variants("a", "b") })
    const { held: [user_id], others: [other] } = sidesOf(org.slug, 0.5)
    const preview = async (body: Json) => (await manage(org, "POST", "/templates/t/preview", body)).body
    assert.isTrue((await preview({ user_id })).held_out)
    assert.isFalse((await preview({ user_id: other, copy_id: "a" })).held_out)
    assert.notProperty(await preview({}), "held_out")
    assert.deepStrictEqual(await org.decisions(), [])
  })

  it("is rejected with the faulty field if it is invalid", async () => {
    const org = await bench.organization("holdout-refused")
    await org.template({ id: "t", variants: variants("a") })
    const faults = async (path: string, holdout: Json) => {
      const { body, status } = await manage(org, "PATCH", path, { holdout })
      assert.strictEqual(status, 400)
      return body.errors.map(({ pointer }: Json) => pointer).sort()
    }
    assert.deepStrictEqual(await faults("/templates/t", { share: 0.6, content: "even" }), ["/holdout/share"])
    assert.deepStrictEqual(await faults("/templates/t", { share: -1, content: "odd" }), [
      "/holdout/content",
      "/holdout/share",
    ])
    assert.deepStrictEqual(await faults("/templates/t", { share: 0.1, content: "fixed" }), ["/holdout/copy_id"])
    assert.deepStrictEqual(await faults("/templates/t", { share: 0.1, content: "even", copy_id: "a" }), [
      "/holdout/copy_id",
    ])
    assert.deepStrictEqual(await faults("/templates/t", { share: 0.1, content: "fixed", copy_id: "z" }), [
      "/holdout/copy_id",
    ])
    assert.deepStrictEqual(await faults("", { share: 0.1, content: "fixed" }), ["/holdout/content"])
    const made = await manage(org, "POST", "/templates", {
      id: "new",
      name: "New",
      holdout: { share: 0.1, content: "fixed", copy_id: "z" },
      variants: variants("a"),
    })
    assert.deepStrictEqual([made.status, made.body.errors[0].pointer], [400, "/holdout/copy_id"])
    const imported = await manage(org, "POST", "/templates/import", {
      templates: [{ id: "t", name: "T", holdout: { share: 0.1, content: "fixed", copy_id: "z" } }],
    })
    assert.deepStrictEqual([imported.status, imported.body.errors[0].pointer], [400, "/templates/0/holdout/copy_id"])
  })

  it("is imported, shown in the history, and compared in the results", async () => {
    const org = await bench.organization("holdout-import")
    const holdout = { share: 0.2, content: "fixed", copy_id: "a" }
    const imported = await manage(org, "POST", "/templates/import", {
      templates: [{ id: "t", name: "T", holdout, variants: variants("a", "b") }],
    })
    assert.deepStrictEqual(imported.body.created, ["t"])
    const stored = (await manage(org, "GET", "/templates/t")).body
    assert.deepStrictEqual(stored.holdout, holdout)
    const again = await manage(org, "POST", "/templates/import", {
      templates: [{ id: "t", name: "T", holdout, variants: variants("a", "b") }],
    })
    assert.deepStrictEqual(again.body.unchanged, ["t"])
    await manage(org, "PATCH", "/templates/t", { name: "Renamed" })
    assert.deepStrictEqual(
      (await manage(org, "GET", "/templates/t")).body.holdout,
      holdout,
      "a patch without it keeps it",
    )
    const results = (await manage(org, "GET", "/templates/t/results")).body
    assert.deepInclude(results.holdout, { ...holdout, running: true, from: null, treated: 0, control: 0 })
    await manage(org, "POST", "/templates/import", { templates: [{ id: "t", name: "T" }] })
    assert.isNull((await manage(org, "GET", "/templates/t")).body.holdout, "what a file lacks has its default")
    assert.isNull((await manage(org, "GET", "/templates/t/results")).body.holdout)
  })
})
