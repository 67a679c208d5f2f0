import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { BatchGenerated } from "../../src/api/Api.ts"
import { assertProblem, type Json, parallel, pointersOf, suiteOnService, uuid, variants } from "./harness.ts"

const eight = ["a", "b", "c", "d", "e", "f", "g", "h"]
const itemsOf = (count: number) => Array.from({ length: count }, (_, i) => ({ template_id: `t${i}` }))

suiteOnService("Batch generate", (bench) => {
  it("answers one to twenty items by template_id, each like Generate", async () => {
    const org = await bench.organization("sizes")
    for (const { template_id } of itemsOf(20)) {
      await org.template({ id: template_id, variants: [{ id: `v-${template_id}`, vars: { s: "Hi {{ name }}" } }] })
    }
    for (const count of [1, 2, 20]) {
      const { headers, json, status } = await org.batch({ requests: itemsOf(count), fields: { name: "Ann" } })
      assert.strictEqual(status, 200)
      assert.strictEqual(headers.get("cache-control"), "no-store")
      assert.deepStrictEqual(Object.keys(json).sort(), itemsOf(count).map((item) => item.template_id).sort())
      for (const [id, value] of Object.entries<Json>(json)) {
        assert.match(value.tracking_id, uuid)
        assert.deepStrictEqual(value, {
          tracking_id: value.tracking_id,
          copy: { id: `v-${id}`, vars: { s: "Hi Ann" } },
        })
      }
    }
    assert.strictEqual((await org.decisions()).length, 23)
  })

  it("rejects no item, more than twenty items, and two items of one template, and names each", async () => {
    const org = await bench.organization("refused")
    for (const { template_id } of itemsOf(21)) await org.template({ id: template_id, variants: variants("a") })
    const cases: ReadonlyArray<readonly [requests: Json, pointers: ReadonlyArray<string>]> = [
      [[], ["/requests"]],
      [itemsOf(21), ["/requests"]],
      [undefined, ["/requests"]],
      [null, ["/requests"]],
      [{ template_id: "t0" }, ["/requests"]],
      [[{}, { template_id: 1 }, "t0"], ["/requests/0/template_id", "/requests/1/template_id", "/requests/2"]],
      [[...itemsOf(3), ...itemsOf(2)], ["/requests/3/template_id", "/requests/4/template_id"]],
      [[{ template_id: "t0", tracking_id: "1" }, { template_id: "t0", tracking_id: "2" }], ["/requests/1/template_id"]],
      [[{ template_id: "t0", copy_id: "", tracking_id: 5 }], ["/requests/0/copy_id", "/requests/0/tracking_id"]],
    ]
    for (const [requests, pointers] of cases) {
      const answer = await org.batch({ requests })
      assertProblem(answer, 400, "invalid-request", JSON.stringify(requests))
      assert.deepStrictEqual(pointersOf(answer), pointers, JSON.stringify(requests))
    }
    assert.deepStrictEqual(await org.decisions(), [])
  })

  it("keeps tracking ids per item and applies user, fields and attrs to all", async () => {
    const org = await bench.organization("shared")
    const targeting = [{ attribute: "tier", op: "is", values: ["gold"] }]
    for (const id of ["t", "u"]) {
      await org.template({
        id,
        sticky_hours: 1,
        variants: eight.map((variant) => ({ id: variant, vars: { s: "{{ n }}" }, targeting })),
      })
    }
    const requests = [{ template_id: "t", tracking_id: "x" }, { template_id: "u", tracking_id: "x" }]
    const { json } = await org.batch({
      requests,
      user_id: "u1",
      fields: { n: 1 },
      attrs: { tier: "GOLD" },
      tracking_id: "ignored",
    })
    for (const id of ["t", "u"]) {
      assert.deepStrictEqual([json[id].tracking_id, json[id].copy.vars], ["x", { s: "1" }])
      const { copy } = (await org.post({ template_id: id, user_id: "u1", attrs: { tier: "gold" } })).json
      assert.strictEqual(copy.id, json[id].copy.id)
    }
    assert.strictEqual((await org.decisions()).length, 2)
    const fresh = requests.map((request) => ({ ...request, tracking_id: "y" }))
    const none = (await org.batch({ requests: fresh, attrs: { tier: "silver" } })).json
    assert.deepStrictEqual(none.t.message, "No candidates found")
    const nulls = await org.batch({
      requests: [{ template_id: "t", copy_id: null, tracking_id: null }],
      user_id: null,
      fields: null,
      attrs: null,
      lookback_days: null,
      offset_days: null,
      use_cache: null,
      epsilon: null,
      trace: null,
    })
    assert.strictEqual(nulls.status, 200, nulls.text)
    assert.match(nulls.json.t.tracking_id, uuid)
  })

  it("repeats the decision of an earlier Batch generate or Generate with the same tracking id", async () => {
    const org = await bench.organization("retries")
    for (const id of ["t", "u"]) await org.template({ id, variants: variants(...eight) })
    const first = (await org.post({ template_id: "t", tracking_id: "x" })).json.copy.id
    const requests = [{ template_id: "t", tracking_id: "x" }, { template_id: "u", tracking_id: "x" }]
    const answers = await parallel(50, () => org.batch({ requests, epsilon: 1 }))
    assert.deepStrictEqual([...new Set(answers.map(({ json }) => json.t.copy.id))], [first])
    assert.strictEqual(new Set(answers.map(({ json }) => json.u.copy.id)).size, 1)
    assert.strictEqual((await org.decisions()).length, 2)
  })

  it("answers the valid items next to items that cannot be served", async () => {
    const org = await bench.organization("partial")
    await org.template({ id: "good", variants: variants("a") })
    await org.template({ id: "empty" })
    await org.template({ id: "strict", strict: true, variants: [{ id: "a", vars: { s: "{{ missing_one }}" } }] })
    const { json, status } = await org.batch({
      requests: [
        { template_id: "nope", tracking_id: "1" },
        { template_id: "empty", tracking_id: "2" },
        { template_id: "strict", tracking_id: "3" },
        { template_id: "good", tracking_id: "4" },
        { template_id: "GOOD", tracking_id: "5", copy_id: "a" },
      ],
    })
    assert.strictEqual(status, 200)
    const { strict, ...others } = json
    assert.deepStrictEqual(others, {
      nope: { tracking_id: "1", copy: {}, message: "Template not found" },
      empty: { tracking_id: "2", copy: {}, message: "No candidates found" },
      good: { tracking_id: "4", copy: { id: "a", vars: { subject: "a" } } },
      GOOD: { tracking_id: "5", copy: {}, message: "Template not found" },
    })
    assert.deepStrictEqual([strict.tracking_id, strict.copy], ["3", {}])
    assert.include(strict.message, "missing_one")
    assert.deepStrictEqual((await org.decisions()).map(({ trackingId }) => trackingId), ["4"])
  })

  it("reports members without effect in Parlance-Warnings, including the members of an item", async () => {
    const org = await bench.organization("misplaced")
    await org.template({ id: "t", variants: variants("a") })
    const misplaced = await org.batch({ requests: [{ template_id: "t", fields: {} }], lookback: 7 })
    assert.strictEqual(misplaced.status, 200)
    assert.strictEqual(
      misplaced.headers.get("parlance-warnings"),
      'the member "/lookback" is unknown and has no effect; ' +
        'the member "/requests/0/fields" is unknown and has no effect',
    )
  })

  it("returns a forced variant regardless of targeting, season and activity, and records it as forced", async () => {
    const org = await bench.organization("forced")
    await org.template({
      id: "t",
      variants: [
        { id: "a", vars: {} },
        { id: "targeted", vars: { s: "{{ n }}" }, targeting: [{ attribute: "x", op: "exists" }] },
        { id: "old", vars: {}, seasons: [{ ends_at: "2001-01-01" }] },
        { id: "off", vars: {}, active: false },
      ],
    })
    for (const id of ["targeted", "old", "off", "a"]) {
      const { json } = await org.batch({
        requests: [{ template_id: "t", copy_id: id, tracking_id: id }],
        fields: { n: 1 },
      })
      assert.strictEqual(json.t.copy.id, id)
    }
    const unknown = await org.batch({ requests: [{ template_id: "t", copy_id: "zzz", tracking_id: "x" }] })
    assert.deepStrictEqual(unknown.json, { t: { tracking_id: "x", copy: {}, message: "Variant not found" } })
    assert.deepStrictEqual(
      (await org.decisions()).map(({ copyId, mode }) => [copyId, mode]),
      [["a", "forced"], ["off", "forced"], ["old", "forced"], ["targeted", "forced"]],
    )
  })

  it("draws evenly among variants without data for any epsilon", async () => {
    const org = await bench.organization("epsilon")
    await org.template({ id: "t", variants: variants("a", "b", "c", "d") })
    const idsWith = async (epsilon: number) => {
      const answers = await parallel(80, () => org.batch({ requests: [{ template_id: "t" }], epsilon }))
      return [...new Set(answers.map(({ json }) => json.t.copy.id))].sort()
    }
    for (const epsilon of [0, 0.4, 1]) {
      assert.deepStrictEqual(await idsWith(epsilon), ["a", "b", "c", "d"])
      const { trace } = (await org.batch({ requests: [{ template_id: "t" }], epsilon, trace: true })).json.t
      assert.deepStrictEqual([trace.mode, trace.epsilon], ["epsilon", epsilon])
      for (const { weight } of trace.candidates) assert.closeTo(weight, 0.25, 1e-12)
    }
  })

  it("validates the ranges of epsilon, lookback_days and offset_days, and accepts fractions", async () => {
    const org = await bench.organization("limits")
    await org.template({ id: "t", variants: variants("a", "b") })
    const requests = [{ template_id: "t" }]
    const cases: Record<string, readonly [good: ReadonlyArray<unknown>, bad: ReadonlyArray<unknown>]> = {
      epsilon: [[0, 0.5, 1], [-0.001, 1.001, "0.5", true, [0]]],
      lookback_days: [[1, 1.5, 14, 365], [0.999, 0, -1, 365.001, 366, "14", [14], {}]],
      offset_days: [[0, 0.25, 365], [-0.001, 365.001, "3", false]],
      use_cache: [[true, false], ["true", 0, {}]],
      trace: [[true, false], ["yes", 1]],
    }
    for (const [name, [good, bad]] of Object.entries(cases)) {
      for (const value of good) {
        const { status, text } = await org.batch({ requests, [name]: value })
        assert.strictEqual(status, 200, `${name} ${JSON.stringify(value)} ${text}`)
      }
      for (const value of bad) {
        const answer = await org.batch({ requests, [name]: value })
        assertProblem(answer, 400, "invalid-request", `${name} ${JSON.stringify(value)}`)
        assert.deepStrictEqual(pointersOf(answer), [`/${name}`])
      }
      for (const text of ["1e400", "-1e400"]) {
        const answer = await org.batch(`{"requests":[{"template_id":"t"}],"${name}":${text}}`)
        assertProblem(answer, 400, "invalid-request", `${name} ${text}`)
      }
    }
  })

  it("traces the requested window, by default 14 days up to 3 days ago", async () => {
    const org = await bench.organization("window")
    await org.template({ id: "t", variants: variants("a", "b") })
    const traceOf = async (more: Json) =>
      (await org.batch({ requests: [{ template_id: "t" }], trace: true, ...more })).json.t.trace
    for (
      const [more, lookback, offset] of [[{}, 14, 3], [{ lookback_days: 1.5, offset_days: 0.5 }, 1.5, 0.5]] as const
    ) {
      const { cache_used, window } = await traceOf(more)
      assert.deepStrictEqual([window.mode, window.lookback_days, window.offset_days], ["window", lookback, offset])
      assert.isTrue(Date.parse(window.from) < Date.parse(window.to) && Date.parse(window.to) <= Date.now())
      assert.isTrue(cache_used)
    }
    assert.isFalse((await traceOf({ use_cache: false })).cache_used)
  })

  it("traces every variant with weights that sum to one, and the condition or season that excludes it", async () => {
    const org = await bench.organization("trace")
    await org.template({
      id: "t",
      variants: [
        ...variants("a", "b", "c"),
        { id: "off", vars: {}, active: false },
        { id: "old", vars: {}, seasons: [{ ends_at: "2001-01-01" }] },
        { id: "rich", vars: {}, targeting: [{ attribute: "tier", op: "in", values: ["gold", "black"] }] },
      ],
    })
    await org.template({ id: "single", variants: variants("only") })
    await org.template({ id: "nobody", variants: [{ id: "off", vars: {}, active: false }] })
    const { json } = await org.batch({
      requests: [{ template_id: "t" }, { template_id: "single" }, { template_id: "nobody" }, { template_id: "nope" }],
      attrs: { tier: "silver" },
      user_id: "u",
      trace: true,
    })
    // The answer has only the documented members.
    Schema.decodeUnknownSync(Schema.Record(Schema.String, BatchGenerated))(json, { onExcessProperty: "error" })
    const { copy, trace } = json.t
    const eligible = trace.candidates.filter((candidate: Json) => candidate.eligible)
    const out = Object.fromEntries(
      trace.candidates.filter((candidate: Json) => !candidate.eligible).map(({ id, reason }: Json) => [id, reason]),
    )
    assert.deepStrictEqual(eligible.map(({ id }: Json) => id), ["a", "b", "c"])
    assert.closeTo(eligible.reduce((sum: number, { weight }: Json) => sum + weight, 0), 1, 1e-9)
    for (const candidate of eligible) {
      for (const name of ["sends", "effective_sends", "clicks", "rate", "p_best", "weight"]) {
        assert.isTrue(Number.isFinite(candidate[name]), name)
      }
      assert.isTrue(candidate.interval.length === 2 && candidate.interval[0] <= candidate.interval[1])
    }
    assert.deepStrictEqual(Object.keys(out).sort(), ["off", "old", "rich"])
    assert.strictEqual(out.off, "not active")
    assert.match(out.old, /^season: .*2001-01-01/)
    assert.match(out.rich, /^targeting: .*tier.*gold.*black/)
    assert.strictEqual(trace.chosen, copy.id)
    assert.strictEqual(trace.propensity, eligible.find(({ id }: Json) => id === copy.id).weight)
    assert.strictEqual(trace.mode, "bandit")
    assert.strictEqual(typeof trace.policy_version, "string")
    assert.strictEqual(typeof trace.cell, "object")
    for (const name of ["kappa", "floor", "base_rate"]) assert.isTrue(Number.isFinite(trace[name]), name)
    assert.deepStrictEqual([trace.epsilon, trace.half_life_days], [null, null])

    assert.deepStrictEqual([json.single.trace.mode, json.single.trace.propensity, json.single.trace.chosen], [
      "single",
      1,
      "only",
    ])
    assert.deepStrictEqual([json.nobody.trace.chosen, json.nobody.trace.propensity], [null, null])
    assert.deepStrictEqual(json.nobody.trace.candidates, [{ id: "off", eligible: false, reason: "not active" }])
    assert.strictEqual(json.nobody.message, "No candidates found")
    assert.deepStrictEqual(Object.keys(json.nope).sort(), ["copy", "message", "tracking_id"])

    const forced = (await org.batch({ requests: [{ template_id: "t", copy_id: "off" }], trace: true })).json.t.trace
    assert.deepStrictEqual([forced.mode, forced.chosen, forced.propensity], ["forced", "off", null])
    const plain = (await org.batch({ requests: [{ template_id: "t" }], trace: false })).json.t
    assert.notProperty(plain, "trace")
  })

  it("accepts any template id as a key of its answer, including names of object members", async () => {
    const org = await bench.organization("names")
    const ids = ["__proto__", "constructor", "toString", "1", "a/b~c", "ключ"]
    for (const id of ids) await org.template({ id, variants: variants(`v${id}`) })
    const body = { requests: ids.map((template_id) => ({ template_id })) }
    const { json, text } = await org.batch(body)
    assert.deepStrictEqual(Object.keys(json).sort(), [...ids].sort(), text)
    for (const id of ids) assert.strictEqual(Object.getOwnPropertyDescriptor(json, id)?.value.copy.id, `v${id}`)
    const unknown = await org.batch({ requests: [{ template_id: "hasOwnProperty", tracking_id: "x" }] })
    assert.deepStrictEqual(unknown.json.hasOwnProperty, { tracking_id: "x", copy: {}, message: "Template not found" })
  })
})
