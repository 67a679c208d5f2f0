import { assert, it } from "@effect/vitest"
import { type Answer, type Organization, parallel, suiteOnService, variants } from "./harness.ts"

const eight = variants("a", "b", "c", "d", "e", "f", "g", "h")
const warningsOf = ({ headers }: Answer) => headers.get("parlance-warnings")
const told = (members: string, id = "x") =>
  `the tracking id "${id}" already has a decision, for a request with another ${members}, which is returned: ` +
  "use another tracking id for each message to each person"

/** The three forms of a call that names a tracking id. */
const forms: Readonly<Record<string, (org: Organization, user: string, attrs: object) => Promise<Answer>>> = {
  "Generate by POST": (org, user_id, attrs) => org.post({ template_id: "t", tracking_id: "x", user_id, attrs }),
  "Generate by GET": (org, user_id, attrs) =>
    org.get({ template_id: "t", tracking_id: "x", user_id, attrs: JSON.stringify(attrs) }),
  "Batch generate": (org, user_id, attrs) =>
    org.batch({ requests: [{ template_id: "t", tracking_id: "x" }], user_id, attrs }),
}

suiteOnService("A tracking id used for several people", (bench) => {
  for (const [name, ask] of Object.entries(forms)) {
    it(`is reported in Parlance-Warnings of ${name}, with the differing members`, async () => {
      const org = await bench.organization(`people-${name.replaceAll(" ", "-").toLowerCase()}`)
      await org.template({ id: "t", variants: eight })
      assert.isNull(warningsOf(await ask(org, "ann", { tier: "gold" })), "the first")
      assert.isNull(warningsOf(await ask(org, "ann", { tier: "gold" })), "a retry")
      assert.strictEqual(warningsOf(await ask(org, "bob", { tier: "gold" })), told("user_id"))
      assert.strictEqual(warningsOf(await ask(org, "ann", { tier: "new" })), told("attrs.tier"))
      assert.strictEqual(warningsOf(await ask(org, "bob", {})), told("user_id, attrs.tier"))
      assert.isNull(warningsOf(await ask(org, "ann", { tier: "GOLD" })), "a retry after the others")
    })
  }

  it("returns one variant and one decision for 40 people, with a warning for all but the first", async () => {
    const org = await bench.organization("forty")
    await org.template({ id: "t", variants: eight })
    const answers = await parallel(40, (i) => org.post({ template_id: "t", tracking_id: "x", user_id: `u${i}` }))
    assert.strictEqual(new Set(answers.map(({ json }) => json.copy.id)).size, 1)
    assert.lengthOf(await org.decisions(), 1)
    assert.deepStrictEqual(
      answers.map(warningsOf).filter((warning) => warning !== null),
      new Array(39).fill(told("user_id")),
    )
    const metrics = await (await bench.service.request("/metrics")).text()
    assert.match(metrics, /^parlance_repeated_tracking_ids_total(?:\{[^}]*\})? [1-9]\d+$/m)
  })

  it("causes no warning for concurrent retries of the same request", async () => {
    const org = await bench.organization("same")
    await org.template({ id: "t", variants: eight })
    const answers = await parallel(60, (i) => {
      const n = i % 20
      return org.post({ template_id: "t", tracking_id: `m-${n}`, user_id: `u${n}`, attrs: { tier: `t${n}`, age: n } })
    })
    assert.deepStrictEqual(answers.map(warningsOf).filter((warning) => warning !== null), [])
    assert.lengthOf(await org.decisions(), 20)
  })

  it("causes a warning in templates with sticky choices", async () => {
    const org = await bench.organization("sticky")
    await org.template({ id: "t", sticky_hours: 24, variants: eight })
    const ask = (user_id: string) => org.post({ template_id: "t", tracking_id: "x", user_id })
    const first = await ask("ann")
    assert.isNull(warningsOf(first))
    const second = await ask("bob")
    assert.strictEqual(second.json.copy.id, first.json.copy.id)
    assert.strictEqual(warningsOf(second), told("user_id"))
  })

  it("causes a warning if the first decision is to send no message", async () => {
    const org = await bench.organization("silent")
    await org.template({ id: "t", holdout: { share: 0.5, content: "no_message" }, variants: eight })
    const ask = (tracking_id: string, user_id: string) => org.post({ template_id: "t", tracking_id, user_id })
    let held = 0
    while ((await ask(`m-${held}`, `u${held}`)).json.held_out !== true) held++
    const other = await ask(`m-${held}`, "other")
    assert.strictEqual(other.json.held_out, true)
    assert.strictEqual(warningsOf(other), told("user_id", `m-${held}`))
  })

  it("names the affected templates of a batch", async () => {
    const org = await bench.organization("batch")
    await org.template({ id: "t", variants: eight })
    await org.template({ id: "u", variants: eight })
    const ask = (user_id: string, ids: readonly [string, string]) =>
      org.batch({
        requests: [{ template_id: "t", tracking_id: ids[0] }, { template_id: "u", tracking_id: ids[1] }],
        user_id,
      })
    assert.isNull(warningsOf(await ask("ann", ["x", "x"])))
    assert.strictEqual(warningsOf(await ask("bob", ["x", "y"])), `in "t": ${told("user_id")}`)
  })
})

suiteOnService("A variant forced for a used tracking id", (bench) => {
  it("is rejected with 409 as the only item of a batch, counted once, without a change", async () => {
    const org = await bench.organization("only")
    await org.template({ id: "t", variants: variants("a", "b") })
    const force = (copy_id: string) => org.batch({ requests: [{ template_id: "t", tracking_id: "x", copy_id }] })
    assert.strictEqual((await force("a")).json.t.copy.id, "a")
    const { headers, json, status } = await force("b")
    assert.strictEqual(status, 409)
    assert.strictEqual(json.type, "/problems/tracking-id-reused")
    assert.include(json.detail, 'has a decision for the variant "a", and `copy_id` forces "b"')
    assert.strictEqual(headers.get("parlance-warnings"), told("copy_id"))
    assert.strictEqual((await force("a")).json.t.copy.id, "a")
    assert.lengthOf(await org.decisions(), 1)
  })

  const forced = (org: Organization, copy_id: string | undefined, tracking_id = "x") =>
    org.batch({ requests: [{ template_id: "t", tracking_id, copy_id }, { template_id: "u" }], user_id: "ann" })

  it("is a problem of its item if the decision is for another variant, without a change", async () => {
    const org = await bench.organization("forced")
    await org.template({ id: "t", variants: variants("a", "b") })
    await org.template({ id: "u", variants: variants("c") })
    assert.strictEqual((await forced(org, "a")).json.t.copy.id, "a")
    const { headers, json, status } = await forced(org, "b")
    assert.strictEqual(status, 200)
    const detail =
      'The tracking id "x" has a decision for the variant "a", and `copy_id` forces "b". Use another tracking ' +
      "id, or leave `copy_id` out to get the decision again."
    assert.deepStrictEqual(json.t, {
      tracking_id: "x",
      copy: {},
      message: `Tracking id reused: ${detail}`,
      problem: {
        type: "/problems/tracking-id-reused",
        status: 409,
        title: "The tracking id has a decision for another variant",
        detail,
      },
    })
    assert.strictEqual(json.u.copy.id, "c", "other items are not affected")
    assert.strictEqual(headers.get("parlance-warnings"), `in "t": ${told("copy_id")}`)
    const ofT = (await org.decisions()).filter(({ templateId }) => templateId === "t")
    assert.deepStrictEqual(ofT.map(({ copyId }) => copyId), ["a"])
    assert.strictEqual((await bench.service.request("/problems/tracking-id-reused")).status, 200)
  })

  it("is a retry for the same variant, regardless of how it was selected", async () => {
    const org = await bench.organization("forced-again")
    await org.template({ id: "t", variants: eight })
    await org.template({ id: "u", variants: variants("c") })
    const drawn = (await forced(org, undefined)).json.t.copy.id
    const again = await forced(org, drawn)
    assert.deepStrictEqual([again.json.t.copy.id, warningsOf(again)], [drawn, null])
  })

  it("causes a warning for a request without copy_id", async () => {
    const org = await bench.organization("forced-first")
    await org.template({ id: "t", variants: eight })
    await org.template({ id: "u", variants: variants("c") })
    await forced(org, "h")
    const answer = await forced(org, undefined)
    assert.deepStrictEqual([answer.json.t.copy.id, warningsOf(answer)], ["h", `in "t": ${told("copy_id")}`])
  })

  it("is accepted for one variant only if many requests run concurrently", async () => {
    const org = await bench.organization("forced-race")
    await org.template({ id: "t", variants: eight })
    await org.template({ id: "u", variants: variants("c") })
    const answers = await parallel(40, (i) => forced(org, eight[i % 8]!.id))
    const given = new Set(answers.flatMap(({ json }) => json.t.copy.id ?? []))
    assert.strictEqual(given.size, 1)
    assert.lengthOf(answers.filter(({ json }) => json.t.problem?.status === 409), 35)
  })
})
