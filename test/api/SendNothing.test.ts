import { assert, it } from "@effect/vitest"
import { suiteOnSending } from "./deliverySuite.ts"
import { assertProblem, type Json, read } from "./harness.ts"

const gone = { copy: {}, message: "Send nothing: a message is expected to do more harm than good", send_nothing: true }

/** An opt-out costs so much that nearly every message does more harm than good. */
const template = {
  objective: { click: 1, conversion: 2, negative: -1000 },
  send_nothing: true,
  variants: [{ id: "a", vars: { subject: "a" } }, { id: "b", vars: { subject: "b" } }],
}

suiteOnSending("Send nothing", (bench) => {
  const sender = async (slug: string, more: Json = {}) => {
    const org = await bench.sender(slug, {
      template: { ...template, ...more },
      scopes: ["generate", "deliver", "events"],
    })
    const ask = async (path: string, body: Json, headers: Record<string, string> = {}) =>
      read(
        await bench.service.request(`/api/${path}/${slug}`, {
          method: "POST",
          headers: { "x-api-key": org.key, "content-type": "application/json", ...headers },
          body: JSON.stringify(body),
        }),
      )
    /** Batch generate for one user, with a model of all decisions so far. */
    const decide = async (tracking_id: string, user_id: string, more: Json = {}): Promise<Json> => {
      const body = { requests: [{ template_id: "t", tracking_id }], user_id, use_cache: false, trace: true, ...more }
      const answer = await ask("batch-generate", body)
      assert.strictEqual(answer.status, 200, answer.text)
      return answer.json.t
    }
    const decisions = async (): Promise<ReadonlyArray<Json>> =>
      (await org.manage("GET", "/templates/t/decisions?limit=1000")).json.decisions
    return { ...org, ask, decide, decisions }
  }

  it("answers without content, says why, and records the exact probability", async () => {
    const org = await sender("nothing-generate")
    const answers = new Map<string, Json>()
    for (let i = 0; i < 12; i++) answers.set(`x${i}`, await org.decide(`x${i}`, `u${i}`))
    const unsent = [...answers].filter(([, { send_nothing }]) => send_nothing === true)
    assert.isAbove(unsent.length, 6)
    const recorded = new Map((await org.decisions()).map((one) => [one.tracking_id, one]))
    assert.strictEqual(recorded.size, 12, "every answer is a decision")
    for (const [id, { trace, ...answer }] of unsent) {
      assert.deepStrictEqual(answer, { tracking_id: id, ...gone })
      assert.isNull(trace.chosen)
      assert.deepStrictEqual(trace.candidates.map(({ id }: Json) => id), ["", "a", "b"])
      const { copy_id, mode, propensity, weights } = recorded.get(id)
      assert.deepStrictEqual([copy_id, mode], ["", "bandit"])
      assert.strictEqual(propensity, weights[""])
      assert.strictEqual(propensity, trace.propensity)
      assert.closeTo(weights[""] + weights["a"] + weights["b"], 1, 1e-12)
      assert.isAbove(weights["a"], 0, "the exploration floor keeps messages possible")
    }
    const [[id = ""] = []] = unsent
    const { trace: _, ...repeated } = await org.decide(id, "somebody else")
    assert.deepStrictEqual(repeated, { tracking_id: id, ...gone }, "a repeated tracking id gets its decision")
    assert.deepStrictEqual((await org.ask("generate", { template_id: "t", tracking_id: id })).json, {
      tracking_id: id,
      ...gone,
    })
    assert.strictEqual(
      (await org.decide("forced", "u", { requests: [{ template_id: "t", copy_id: "a" }] })).copy.id,
      "a",
    )
    assert.lengthOf((await org.decisions()).filter(({ tracking_id }) => tracking_id === id), 1)
  })

  it("is not a candidate without the setting, without variants, and for held-out people", async () => {
    const org = await sender("nothing-off")
    await org.decide("first", "u")
    assert.strictEqual((await org.manage("PATCH", "/templates/t", { send_nothing: false })).status, 200)
    for (let i = 0; i < 5; i++) assert.property((await org.decide(`off${i}`, `u${i}`)).copy, "id")
    const holdout = { share: 0.5, content: "even" }
    const patch = await org.manage("PATCH", "/templates/t", { send_nothing: true, holdout })
    assert.strictEqual(patch.status, 200, patch.text)
    for (let i = 0; i < 20; i++) await org.decide(`held${i}`, `u${i}`)
    const control = (await org.decisions()).filter(({ mode }) => mode === "control")
    assert.isAbove(control.length, 0)
    for (const { weights } of control) assert.deepStrictEqual(weights, { a: 0.5, b: 0.5 })
    for (const id of ["a", "b"]) await org.manage("PATCH", `/templates/t/variants/${id}`, { active: false })
    const { trace: _, ...none } = await org.decide("last", "u")
    assert.deepStrictEqual(none, { tracking_id: "last", copy: {}, message: "No candidates found" })
  })

  it("is kept for a user of a sticky template", async () => {
    const org = await sender("nothing-sticky", { sticky_hours: 24 })
    await org.decide("first", "u")
    for (let i = 0; i < 10; i++) {
      const first = await org.decide(`x${i}`, `s${i}`)
      const second = await org.decide(`y${i}`, `s${i}`)
      assert.deepStrictEqual([second.copy, second.send_nothing], [first.copy, first.send_nothing])
    }
  })

  it("queues no message, and repeats its answer to a repeated request", async () => {
    const org = await sender("nothing-deliver")
    const statuses = new Map<string, number>()
    const deliver = async (key: string) => {
      const answer = await org.deliver({ template_id: "t", email: `${key}@example.com` }, { "idempotency-key": key })
      if (answer.status !== 200) assertProblem(answer, 422, "send-nothing")
      return answer.status
    }
    for (let i = 0; i < 8; i++) statuses.set(`k${i}`, await deliver(`k${i}`))
    const refused = [...statuses].filter(([, status]) => status === 422)
    assert.isAbove(refused.length, 3)
    assert.lengthOf(await org.deliveries(), 8 - refused.length)
    // The model changes: an opt-out costs next to nothing, so that a new request would get a message.
    const patch = await org.manage("PATCH", "/templates/t", { objective: { click: 1, negative: -0.001 } })
    assert.strictEqual(patch.status, 200, patch.text)
    for (const [key] of refused) assert.strictEqual(await deliver(key), 422, key)
    const other = await org.deliver({ template_id: "t", email: "b@example.com" }, { "idempotency-key": refused[0]![0] })
    assertProblem(other, 409, "idempotency-key-reused")
    assert.lengthOf((await org.decisions()).filter(({ copy_id }) => copy_id === ""), refused.length)
  })

  it("requires an objective that states a cost", async () => {
    const org = await sender("nothing-cost")
    const refusals = [
      await org.manage("PATCH", "/templates/t", { objective: "click" }),
      await org.manage("PATCH", "/templates/t", { objective: { click: 1, negative: 0 } }),
      await org.manage("POST", "/templates", { name: "U", send_nothing: true }),
    ]
    for (const answer of refusals) {
      assertProblem(answer, 400, "invalid-request")
      assert.strictEqual(answer.json.errors[0].pointer, "/send_nothing")
      assert.match(answer.json.errors[0].detail, /^requires an objective that states the cost of a message/)
    }
    const imported = await org.manage("POST", "/templates/import", {
      templates: [{ id: "t", name: "T", send_nothing: true }],
    })
    assert.strictEqual(imported.json.errors[0].pointer, "/templates/0/send_nothing")
    assert.strictEqual((await org.manage("PATCH", "/templates/t", { name: "New" })).status, 200)
    const off = await org.manage("PATCH", "/templates/t", { send_nothing: false, objective: "click" })
    assert.deepStrictEqual([off.status, off.json.send_nothing], [200, false])
  })

  it("counts the conversions of people who got nothing, in results and when counts are rebuilt", async () => {
    const org = await sender("nothing-results")
    const users: Array<string> = []
    for (let i = 0; i < 12; i++) {
      if ((await org.decide(`x${i}`, `u${i}`)).send_nothing === true) users.push(`u${i}`)
    }
    const events = users.flatMap((user_id) => [
      { event: "conversion", user_id, event_id: `c-${user_id}` },
      { event: "click", user_id, event_id: `k-${user_id}` },
    ])
    const sent = await org.ask("webhook/events", { events })
    assert.strictEqual(sent.status, 200, sent.text)
    await bench.service.untilStored("conversions are counted", ["events", "tallies"], async () => {
      const { json } = await org.manage("GET", "/templates/t/results")
      return json.variants.find(({ copy_id }: Json) => copy_id === "")?.outcomes.conversion === users.length
    })
    const { json } = await org.manage("GET", "/templates/t/results")
    assert.deepStrictEqual(json.variants.map(({ copy_id, name, status }: Json) => [copy_id, name, status]), [
      ["", "Send nothing", "active"],
      ["a", "a", "active"],
      ["b", "b", "active"],
    ])
    const [unsent] = json.variants
    assert.deepInclude(unsent, { decisions: users.length, raw_rate: 2 })
    assert.strictEqual(unsent.outcomes.click, 0, "only conversions are attributed to people who got nothing")
    assert.closeTo(json.variants.reduce((sum: number, { share }: Json) => sum + share, 0), 1, 1e-9)
    assert.strictEqual(json.winner.leader, "")
    assert.isBelow(json.send_nothing.difference, 0)
    assert.isBelow(json.send_nothing.probability, 0.1)
    const csv = await org.manage("GET", "/templates/t/results?format=csv")
    assert.notStrictEqual(csv.status, 500)
    const rebuilt = await org.manage("POST", "/rebuild", { check: true })
    assert.deepStrictEqual(rebuilt.json.differences, [])
  })
})
