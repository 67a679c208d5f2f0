import { assert, it } from "@effect/vitest"
import { type Answer, assertProblem, parallel, read, suiteOnService } from "./harness.ts"
import { adminToken } from "../support/service.ts"

/** Names of a victim, as JSON escapes them, and names of another caller that V8's `JSON.parse` takes for them. */
const pairs: ReadonlyArray<readonly [victim: string, attacker: string]> = [
  ["pr\\u00e9nom", "pr\\\\u00"],
  ["stra\\u00dfe", "stra\\\\u"],
  ["\\u0438\\u043c\\u044f", "\\\\u"],
  ["\\u540d", "\\\\"],
  ["\\u4f1a\\u5458", "\\\\u4"],
  ["a\\/b", "a\\\\/"],
  ['na\\u00efve \\"x\\"', "na\\\\u00ef"],
  ["city\\u0020name", "city\\\\u002"],
  ["\\ud83c\\udf82", "\\\\u"],
  ["\\u00fc", "\\\\"],
]

/** Names with control characters, as JSON escapes them, and the tokens of their pointers. */
const controls: ReadonlyArray<readonly [name: string, token: string]> = [
  ["a\\u0000b", "a\u0000b"],
  ["\\n", "\n"],
  ["tab\\there", "tab\there"],
  ["\\u001f", "\u001f"],
  ["\\u007F", "\u007f"],
  ["\u007f", "\u007f"],
  ["x~\\b/", "x~0\b~1"],
  ["\\u0065\\u0009", "e\t"],
  ["\\r", "\r"],
  ["\\f", "\f"],
]

suiteOnService("Member names", (bench) => {
  it("have the same meaning for any names sent by another organization", async () => {
    const victim = await bench.organization("victim")
    const attacker = await bench.organization("attacker")
    await attacker.template({ id: "t", variants: [{ id: "a", vars: { s: "x" } }] })
    for (const [at, [escaped, confused]] of pairs.entries()) {
      const first = `first${at}`
      const name: string = JSON.parse(`"${escaped}"`)
      const template = await victim.template({
        id: `t${at}`,
        variants: [{
          id: "x",
          vars: { s: `{{ [${JSON.stringify(name)}] }}` },
          targeting: [{ attribute: name, op: "is", values: ["x"] }],
        }],
      })
      const bodies = (template: string, name: string) => {
        const members = `"fields":{"${first}":1,"${name}":"y"},"attrs":{"${first}":1,"${name}":"x"}`
        return [`{"template_id":"${template}",${members}}`, `{"requests":[{"template_id":"${template}"}],${members}}`]
      }
      for (const [index, body] of bodies("t", confused).entries()) {
        await parallel(3, () => index === 0 ? attacker.post(body) : attacker.batch(body))
      }
      const [single, batch] = bodies(template, escaped)
      const usual = /["'/\\ ]/.test(name) ? undefined : "y"
      const one = await victim.post(single)
      assert.strictEqual(one.json.copy.id, "x", `${escaped}: ${one.text}`)
      if (usual !== undefined) assert.strictEqual(one.json.copy.vars.s, usual, escaped)
      const many = await victim.batch(batch)
      assert.strictEqual(many.json[template].copy.id, "x", `${escaped}: ${many.text}`)
      const query = new URLSearchParams({ template_id: template, attrs: `{"${first}":1,"${escaped}":"x"}` })
      const got = await victim.get(String(query))
      assert.strictEqual(got.json.copy.id, "x", `${escaped}: ${got.text}`)
    }
  })

  it("are stored unchanged in templates for any names sent by another organization", async () => {
    const victim = await bench.organization("owner")
    const other = await bench.organization("stranger")
    const create = async (slug: string, id: string, name: string) =>
      read(
        await bench.service.request(`/console/api/organizations/${slug}/templates`, {
          method: "POST",
          headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
          body: `{"id":"${id}","name":"T","variants":[{"id":"a","vars":{"s${id}":"1","${name}":"2"}}]}`,
        }),
      )
    for (const [at, [escaped, confused]] of pairs.entries()) {
      await create(other.slug, `t${at}`, confused)
      const made = await create(victim.slug, `t${at}`, escaped)
      assert.strictEqual(made.status, 201, made.text)
      assert.deepStrictEqual(Object.keys(made.json.variants[0].vars), [`st${at}`, JSON.parse(`"${escaped}"`)])
    }
  })

  it("must not have control characters, in attributes, fields and variables, at any depth", async () => {
    const org = await bench.organization("controls")
    await org.template({ id: "t", variants: [{ id: "a", vars: { s: "x" } }] })
    const refused = (answer: Answer, pointer: string) => {
      assertProblem(answer, 400, "invalid-request")
      assert.deepStrictEqual(answer.json.errors, [
        { pointer, detail: "the name must not contain control characters" },
      ], answer.text)
      assert.include(answer.json.detail, "control characters")
    }
    for (const [name, token] of controls) {
      // Twice: a name that came lately is not read anew.
      for (let round = 0; round < 2; round++) {
        refused(await org.post(`{"template_id":"t","attrs":{"${name}":1}}`), `/attrs/${token}`)
        refused(await org.post(`{"template_id":"t","fields":{"a":[{"${name}":1}]}}`), `/fields/a/0/${token}`)
      }
      refused(await org.batch(`{"requests":[{"template_id":"t"}],"fields":{"${name}":1}}`), `/fields/${token}`)
      const created = await bench.service.request("/console/api/organizations/controls/templates", {
        method: "POST",
        headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
        body: `{"name":"T","variants":[{"id":"a","vars":{"${name}":"x"}}]}`,
      })
      refused(await read(created), `/variants/0/vars/${token}`)
      const keyed = new URLSearchParams({ template_id: "t", [`fields[${JSON.parse(`"${name}"`)}]`]: "1" })
      assertProblem(await org.get(String(keyed)), 400, "invalid-request")
      const whole = await org.get(String(new URLSearchParams({ template_id: "t", attrs: `{"${name}":1}` })))
      assertProblem(whole, 400, "invalid-request")
      assert.include(whole.json.errors[0].pointer, "attrs[")
    }
    const accepted = await org.post('{"template_id":"t","attrs":{"\\u0080 \\u00a0":"\\n"},"fields":{"":"\\u0000"}}')
    assert.strictEqual(accepted.status, 200, accepted.text)
  })

  it("are reported up to a limit if they contain control characters, at any depth", async () => {
    const org = await bench.organization("deep")
    const many = Array.from({ length: 500 }, (_, index) => `"${index}\\n":1`).join()
    const wide = await org.post(`{"template_id":"t","fields":{${many}}}`)
    assert.strictEqual(wide.json.errors.length, 100)
    const deep = await org.post(`{"template_id":"t","fields":${'{"\\n":'.repeat(50_000)}1${"}".repeat(50_000)}}`)
    assertProblem(deep, 400, "invalid-request")
    assert.isBelow(deep.text.length, 400_000)
  })
})

suiteOnService("Integers beyond 2^53", (bench) => {
  const integers = [
    "9007199254740992",
    "9007199254740993",
    "-9007199254740993",
    "12345678901234567890",
    "100000000000000000000000",
    "653247040368672768",
    "18446744073709551615",
    "1".repeat(100),
  ]

  it("are rendered with all their digits by every way to generate", async () => {
    const org = await bench.organization("digits")
    await org.template({ id: "t", variants: [{ id: "a", vars: { s: "Order {{ n }}, {{ deep.list[0] }}" } }] })
    for (const digits of integers) {
      const fields = `{"n":${digits},"deep":{"list":[${digits}]}}`
      const expected = `Order ${digits}, ${digits}`
      const posted = await org.post(`{"template_id":"t","fields":${fields}}`)
      assert.strictEqual(posted.json.copy.vars.s, expected)
      const batch = await org.batch(`{"requests":[{"template_id":"t"}],"fields":${fields}}`)
      assert.strictEqual(batch.json.t.copy.vars.s, expected)
      const got = await org.get({ template_id: "t", fields })
      assert.strictEqual(got.json.copy.vars.s, expected)
      const preview = await bench.service.request("/console/api/organizations/digits/templates/t/preview", {
        method: "POST",
        headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
        body: `{"copy_id":"a","fields":${fields}}`,
      })
      assert.include(await preview.text(), expected)
    }
  })

  it("match targeting by all their digits", async () => {
    const org = await bench.organization("targets")
    const created = await bench.service.request("/console/api/organizations/targets/templates", {
      method: "POST",
      headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
      body: `{"id":"t","name":"T","variants":[${
        integers.map((digits, index) =>
          `{"id":"v${index}","vars":{"s":"x"},"targeting":[{"attribute":"id","op":"is","values":[${digits}]}]}`
        ).join()
      }]}`,
    })
    assert.strictEqual(created.status, 201, await created.text())
    for (const [index, digits] of integers.entries()) {
      for (const attrs of [`{"id":${digits}}`, `{"id":"${digits}"}`, `{"id":[${digits}]}`]) {
        const answer = await org.post(`{"template_id":"t","attrs":${attrs}}`)
        assert.strictEqual(answer.json.copy?.id, `v${index}`, answer.text)
      }
    }
  })

  it("are rejected outside the range of a member", async () => {
    const org = await bench.organization("ranges")
    await org.template({ id: "t", variants: [{ id: "a", vars: { s: "x" } }] })
    for (const digits of integers) {
      for (const member of ["epsilon", "lookback_days", "offset_days"]) {
        const answer = await org.batch(`{"requests":[{"template_id":"t"}],"${member}":${digits}}`)
        assertProblem(answer, 400, "invalid-request")
        assert.deepStrictEqual(answer.json.errors.map(({ pointer }: { pointer: string }) => pointer), [`/${member}`])
      }
    }
  })
})
