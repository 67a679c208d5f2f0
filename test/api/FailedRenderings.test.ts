import { assert, it } from "@effect/vitest"
import { suiteOnSending } from "./deliverySuite.ts"
import { type Answer, read } from "./harness.ts"

// A body without a declared length is answered by the router, any other one directly.

suiteOnSending("A variant that cannot be rendered", (bench) => {
  const strict = (id: string, ...texts: ReadonlyArray<string>) => ({
    id,
    name: id,
    strict: true,
    variants: texts.map((subject, place) => ({ id: `v${place}`, vars: { subject, body: "Hello" } })),
  })

  const prepare = async (slug: string) => {
    const org = await bench.sender(slug)
    for (
      const template of [
        strict("some", "Hi", "{{ code }}", "{{ user.name }}"),
        strict("broken", "{{ code }}", "{{ name }}"),
      ]
    ) {
      assert.isBelow((await org.manage("POST", "/templates", template)).status, 300)
    }
    const send = async (path: string, body: unknown, isStreamed: boolean): Promise<Answer> => {
      const text = JSON.stringify(body)
      return read(
        await bench.service.request(`/api/${path}/${slug}`, {
          method: "POST",
          headers: { "x-api-key": org.key, "content-type": "application/json" },
          body: isStreamed ? (new Blob([text]).stream() as BodyInit) : text,
        }),
      )
    }
    return { org, send }
  }

  const warningOf = ({ headers }: Answer) => headers.get("parlance-warnings")

  it("is replaced in Generate with a warning, with and without the router", async () => {
    const { send } = await prepare("failed-generate")
    for (const isStreamed of [false, true]) {
      const warnings = new Set<string>()
      for (let i = 0; i < 40; i++) {
        const answer = await send("generate", { template_id: "some", tracking_id: `${isStreamed} ${i}` }, isStreamed)
        assert.strictEqual(answer.status, 200)
        assert.deepStrictEqual(answer.json.copy, { id: "v0", vars: { subject: "Hi", body: "Hello" } })
        for (const warning of warningOf(answer)?.split("; ") ?? []) warnings.add(warning)
      }
      assert.sameMembers([...warnings], [
        'the variant "v1" could not be rendered: /fields/code is missing, needed by "subject". The variant "v0" was sent instead',
        'the variant "v2" could not be rendered: /fields/user is missing, needed by "subject". The variant "v0" was sent instead',
      ])
      const refused = await send("generate", { template_id: "broken" }, isStreamed)
      assert.strictEqual(refused.status, 422)
      assert.match(refused.json.detail, /^The variant "v[01]" of the template "broken" cannot be rendered/)
    }
  })

  it("is replaced for its item of a batch, with a warning that names the template", async () => {
    const { send } = await prepare("failed-batch")
    let warned = 0
    for (const isStreamed of [false, true]) {
      for (let i = 0; i < 20; i++) {
        const requests = [{ template_id: "some" }, { template_id: "broken" }]
        const answer = await send("batch-generate", { requests, trace: true }, isStreamed)
        assert.strictEqual(answer.status, 200)
        const { broken, some } = answer.json
        assert.strictEqual(some.copy.id, "v0")
        assert.deepStrictEqual(broken.copy, {})
        assert.match(broken.message, /^Not rendered: subject: undefined variable/)
        const failed = (some.trace.failed ?? []).map(({ id }: { readonly id: string }) => id)
        const warning = warningOf(answer) ?? ""
        for (const id of failed) assert.include(warning, `in "some": the variant "${id}" could not be rendered`)
        if (failed.length > 0) {
          warned++
          assert.deepInclude(some.trace, { mode: "fallback", chosen: "v0", propensity: null })
        }
      }
    }
    assert.isAbove(warned, 0)
  })

  it("is replaced in the message of Deliver with a warning", async () => {
    const { org, send } = await prepare("failed-deliver")
    let warned = 0
    for (const isStreamed of [false, true]) {
      for (let i = 0; i < 20; i++) {
        const answer = await send("deliver", { template_id: "some", email: `u${i}@example.com` }, isStreamed)
        assert.strictEqual(answer.status, 200)
        if (warningOf(answer) === null) continue
        warned++
        assert.match(warningOf(answer)!, /^the variant "v[12]" could not be rendered: \/fields\/\w+ is missing/)
      }
      assert.strictEqual(
        (await send("deliver", { template_id: "broken", email: "ann@example.com" }, isStreamed)).status,
        422,
      )
    }
    assert.isAbove(warned, 0)
    const { json: body } = await org.manage("GET", "/templates/some/decisions?limit=1000")
    assert.lengthOf(body.decisions, 40)
    const fallbacks = body.decisions.filter(({ mode }: { readonly mode: string }) => mode === "fallback")
    assert.lengthOf(fallbacks, warned)
    for (const { copy_id, failed, propensity } of fallbacks) {
      assert.deepStrictEqual([copy_id, propensity], ["v0", null])
      assert.closeTo(failed[0].propensity, 1 / 3, 1e-9)
    }
  })
})
