import { assert, it } from "@effect/vitest"
import { type Json, parallel, suiteOnService, uuid, variants } from "./harness.ts"

const idsOf = (answers: ReadonlyArray<Json>) => [...new Set(answers.map(({ json }) => json.copy.id))]
const eight = ["a", "b", "c", "d", "e", "f", "g", "h"]

suiteOnService("Retries of Generate", (bench) => {
  it("return the variant of the first decision, freshly rendered, and are recorded once", async () => {
    const org = await bench.organization("retry")
    await org.template({ id: "t", variants: eight.map((id) => ({ id, vars: { s: `${id} {{ name }}` } })) })
    const first = (await org.post({ template_id: "t", tracking_id: "x", fields: { name: "0" } })).json.copy.id
    for (let i = 1; i <= 30; i++) {
      const { json } = i % 2 === 0
        ? await org.post({ template_id: "t", tracking_id: "x", fields: { name: String(i) } })
        : await org.get({ template_id: "t", tracking_id: "x", "fields[name]": String(i) })
      assert.deepStrictEqual(json, { tracking_id: "x", copy: { id: first, vars: { s: `${first} ${i}` } } })
    }
    assert.strictEqual((await org.decisions()).length, 1)
  })

  it("agree for fifty concurrent requests in any commits", async () => {
    const org = await bench.organization("retry-parallel")
    await org.template({ id: "t", variants: variants(...eight) })
    const answers = await parallel(100, (i) => org.post({ template_id: "t", tracking_id: i % 2 === 0 ? "x" : `y${i}` }))
    assert.strictEqual(idsOf(answers.filter((_, i) => i % 2 === 0)).length, 1)
    const recorded = new Map((await org.decisions()).map((row) => [row.trackingId, row.copyId]))
    assert.strictEqual(recorded.size, 51)
    for (const { json } of answers) assert.strictEqual(json.copy.id, recorded.get(json.tracking_id))
  })

  it("return the current text of the variant", async () => {
    const org = await bench.organization("retry-edited")
    await org.template({ id: "t", variants: [{ id: "a", vars: { s: "old" } }] })
    await org.post({ template_id: "t", tracking_id: "x" })
    await org.patchVariant("t", "a", { vars: { s: "new" } })
    assert.strictEqual((await org.post({ template_id: "t", tracking_id: "x" })).json.copy.vars.s, "new")
  })

  it("are separate decisions for another template or organization", async () => {
    const org = await bench.organization("retry-separate")
    const other = await bench.organization("retry-separate-2")
    await org.template({ id: "t", variants: variants("a") })
    await org.template({ id: "u", variants: variants("b") })
    await other.template({ id: "t", variants: variants("c") })
    const ask = async (who: typeof org, template: string) =>
      (await who.post({ template_id: template, tracking_id: "x" })).json.copy.id
    assert.deepStrictEqual([await ask(org, "t"), await ask(org, "u"), await ask(other, "t")], ["a", "b", "c"])
    assert.deepStrictEqual((await org.decisions()).map(({ templateId }) => templateId), ["t", "u"])
    assert.strictEqual((await other.decisions()).length, 1)
  })

  it("return the variant of the first decision even if it is no longer eligible", async () => {
    const org = await bench.organization("retry-ineligible")
    const targeting = (values: ReadonlyArray<string>) => [{ attribute: "tier", op: "in", values }]
    await org.template({
      id: "t",
      variants: [
        { id: "a", vars: {}, targeting: targeting(["gold"]) },
        { id: "b", vars: {}, targeting: targeting(["silver"]) },
      ],
    })
    const ask = async (attrs: Json) => (await org.post({ template_id: "t", tracking_id: "x", attrs })).json.copy.id
    assert.strictEqual(await ask({ tier: "gold" }), "a")
    assert.strictEqual(await ask({ tier: "silver" }), "a")
    assert.strictEqual(await ask({}), "a", "no variant is eligible any more")
    await org.patchVariant("t", "a", { active: false })
    assert.strictEqual(await ask({ tier: "silver" }), "a")
    assert.strictEqual(await ask({ tier: "gold" }), "a", "the variant was switched off")
  })

  it("do not fail because of a variant that was not selected", async () => {
    const org = await bench.organization("retry-strict")
    await org.template({
      id: "t",
      strict: true,
      variants: eight.map((id) => ({ id, vars: { s: `{{ for_${id} }}` } })),
    })
    const all = Object.fromEntries(eight.map((id) => [`for_${id}`, "x"]))
    const { json } = await org.post({ template_id: "t", tracking_id: "x", fields: all })
    const own = { [`for_${json.copy.id}`]: "again" }
    const answers = await parallel(20, () => org.post({ template_id: "t", tracking_id: "x", fields: own }))
    for (const answer of answers) {
      assert.deepStrictEqual([answer.status, answer.json.copy?.vars], [200, { s: "again" }], answer.text)
    }
  })

  it("contain a trace with the returned variant", async () => {
    const org = await bench.organization("retry-traced")
    await org.template({ id: "t", variants: variants(...eight) })
    const requests = [{ template_id: "t", tracking_id: "x" }]
    const answers = await parallel(20, () => org.batch({ requests, trace: true, epsilon: 1 }))
    assert.strictEqual(new Set(answers.map(({ json }) => json.t.copy.id)).size, 1)
    for (const { json } of answers) assert.strictEqual(json.t.trace.chosen, json.t.copy.id)
  })
})

suiteOnService("Sticky templates", (bench) => {
  it("return the same variant to a user for every tracking id, and record one decision", async () => {
    const org = await bench.organization("sticky")
    await org.template({ id: "t", sticky_hours: 24, variants: eight.map((id) => ({ id, vars: { s: "{{ n }}" } })) })
    const first = (await org.post({ template_id: "t", user_id: "u", fields: { n: 0 } })).json
    assert.match(first.tracking_id, uuid)
    for (let i = 1; i <= 10; i++) {
      const omitted = (await org.post({ template_id: "t", user_id: "u", fields: { n: i } })).json
      assert.deepStrictEqual(omitted, {
        tracking_id: first.tracking_id,
        copy: { id: first.copy.id, vars: { s: String(i) } },
      })
      const given = (await org.get({ template_id: "t", user_id: "u", tracking_id: `x${i}` })).json
      assert.deepStrictEqual([given.tracking_id, given.copy.id], [`x${i}`, first.copy.id])
    }
    assert.strictEqual((await org.decisions()).length, 1)
  })

  it("agree for twenty concurrent first calls of one user", async () => {
    const org = await bench.organization("sticky-parallel")
    await org.template({ id: "t", sticky_hours: 1, variants: variants(...eight) })
    const answers = await parallel(
      20,
      (i) => org.post({ template_id: "t", user_id: "u", ...(i % 2 === 0 ? {} : { tracking_id: `x${i}` }) }),
    )
    assert.strictEqual(idsOf(answers).length, 1)
    assert.strictEqual((await org.decisions()).length, 1)
    assert.strictEqual(new Set(answers.filter((_, i) => i % 2 === 0).map(({ json }) => json.tracking_id)).size, 1)
    for (const [i, { json }] of answers.entries()) if (i % 2 === 1) assert.strictEqual(json.tracking_id, `x${i}`)
  })

  it("select again for other users, for calls without a user and for other templates", async () => {
    const org = await bench.organization("sticky-fresh")
    for (const id of ["t", "u"]) await org.template({ id, sticky_hours: 1, variants: variants(...eight) })
    const users = await parallel(40, (i) => org.post({ template_id: "t", user_id: `u${i}` }))
    const nobody = await parallel(40, () => org.post({ template_id: "t" }))
    assert.isAbove(idsOf(users).length, 1)
    assert.isAbove(idsOf(nobody).length, 1)
    const before = (await org.decisions()).length
    assert.strictEqual(before, 80)
    await org.post({ template_id: "u", user_id: "u0" })
    assert.strictEqual((await org.decisions()).length, 81)
  })

  it("replace a variant that is no longer eligible, and keep the next one", async () => {
    const org = await bench.organization("sticky-ineligible")
    await org.template({ id: "t", sticky_hours: 24, variants: variants("a", "b", "c") })
    const ask = async (more: Json = {}) => (await org.post({ template_id: "t", user_id: "u", ...more })).json
    const first = await ask()
    await org.patchVariant("t", first.copy.id, { active: false })
    const second = await ask()
    assert.notStrictEqual(second.copy.id, first.copy.id)
    assert.notStrictEqual(second.tracking_id, first.tracking_id)
    for (let i = 0; i < 5; i++) assert.deepStrictEqual(await ask(), second)
    await org.patchVariant("t", first.copy.id, { active: true })
    assert.deepStrictEqual(await ask(), second)
    // Two tracking ids that a user's choice began with are two decisions.
    assert.strictEqual((await org.decisions()).length, 2)
  })

  it("return the recorded variant of a tracking id, even if its user has another one now", async () => {
    const org = await bench.organization("sticky-retry")
    await org.template({ id: "t", sticky_hours: 24, variants: variants(...eight) })
    const ask = async (tracking_id: string, more: Json = {}) =>
      (await org.post({ template_id: "t", tracking_id, ...more })).json.copy.id
    const first = await ask("x1", { user_id: "u" })
    assert.strictEqual(await ask("x2", { user_id: "u" }), first)
    await org.patchVariant("t", first, { active: false })
    const second = await ask("x3", { user_id: "u" })
    assert.notStrictEqual(second, first)
    await org.patchVariant("t", first, { active: true })
    assert.strictEqual(await ask("x3", { user_id: "u" }), second)
    assert.strictEqual(await ask("x1", { user_id: "u" }), first, "events of x1 count for the variant in its decision")
  })

  it("return the recorded variant of a tracking id, even if it was recorded before the user was known", async () => {
    const org = await bench.organization("sticky-late-user")
    await org.template({ id: "t", sticky_hours: 24, variants: variants("a", "b") })
    const ask = async (tracking_id: string, more: Json = {}) =>
      (await org.post({ template_id: "t", tracking_id, ...more })).json.copy.id
    await org.patchVariant("t", "b", { active: false })
    assert.strictEqual(await ask("x1"), "a")
    await org.patchVariant("t", "a", { active: false })
    await org.patchVariant("t", "b", { active: true })
    assert.strictEqual(await ask("x2", { user_id: "u" }), "b")
    await org.patchVariant("t", "a", { active: true })
    assert.strictEqual(await ask("x1", { user_id: "u" }), "a")
    assert.strictEqual(await ask("x2", { user_id: "u" }), "b")
  })

  it("are sticky for Batch generate too, and not for a forced variant", async () => {
    const org = await bench.organization("sticky-batch")
    await org.template({ id: "t", sticky_hours: 24, variants: variants(...eight) })
    const { copy } = (await org.post({ template_id: "t", user_id: "u" })).json
    for (let i = 0; i < 5; i++) {
      const { json } = await org.batch({ requests: [{ template_id: "t" }], user_id: "u", epsilon: 1 })
      assert.strictEqual(json.t.copy.id, copy.id)
    }
    const other = eight.find((id) => id !== copy.id)!
    const { json } = await org.batch({ requests: [{ template_id: "t", copy_id: other }], user_id: "u" })
    assert.strictEqual(json.t.copy.id, other)
    assert.strictEqual((await org.post({ template_id: "t", user_id: "u" })).json.copy.id, copy.id)
  })
})
