import { assert, it } from "@effect/vitest"
import {
  type Answer,
  assertProblem,
  type Json,
  parallel,
  pointersOf,
  read,
  suiteOnService,
  uuid,
  variants,
} from "./harness.ts"

const dayMillis = 86_400_000
const days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
/** A moment `shift` days from now, as seasons write it. */
const at = (shift: number) => {
  const date = new Date(Date.now() + shift * dayMillis)
  return {
    date: date.toISOString().slice(0, 10),
    monthDay: date.toISOString().slice(5, 10),
    weekday: days[date.getUTCDay()]!,
  }
}
const hour = (shift: number) => (new Date().getUTCHours() + shift) % 24

suiteOnService("Generate", (bench) => {
  it("answers POST with exactly the tracking id, the variant's id and its rendered variables", async () => {
    const org = await bench.organization("plain")
    await org.template({
      id: "t",
      variants: [{ id: "a", vars: { subject: "Hi {{ name }}", body: "{{ n }} for {{ name }}" } }],
    })
    const answer = await org.post({ template_id: "t", tracking_id: "x1", fields: { name: "Ann", n: 3 } })
    assert.strictEqual(answer.status, 200, answer.text)
    assert.deepStrictEqual(answer.json, {
      tracking_id: "x1",
      copy: { id: "a", vars: { subject: "Hi Ann", body: "3 for Ann" } },
    })
    assert.match(answer.headers.get("content-type") ?? "", /^application\/json/)
    assert.strictEqual(answer.headers.get("cache-control"), "no-store")
    assert.deepStrictEqual(await org.decisions(), [{ trackingId: "x1", templateId: "t", copyId: "a", mode: "single" }])
  })

  it("shows times in the zone of the organization, with a warning, if a field has an unknown zone", async () => {
    const org = await bench.organization("odd-zone", { time_zone: "Europe/Berlin" })
    await org.template({ id: "t", variants: [{ id: "a", vars: { s: "{{ at | time_zone: zone | date: '%H:%M' }}" } }] })
    const answerFor = (zone: string) => org.post({ template_id: "t", fields: { at: "2026-07-14T20:00:00Z", zone } })
    const odd = await answerFor("Mars/Base")
    assert.strictEqual(odd.json.copy.vars.s, "22:00")
    assert.strictEqual(
      odd.headers.get("parlance-warnings"),
      '"s", line 1, column 1: time_zone: there is no time zone "Mars/Base": send an IANA name, such as Europe/Berlin',
    )
    const windows = await answerFor("Eastern Standard Time")
    assert.deepStrictEqual([windows.json.copy.vars.s, windows.headers.get("parlance-warnings")], ["16:00", null])
  })

  it("creates a new UUID for every call without a tracking id, by either method", async () => {
    const org = await bench.organization("uuids")
    await org.template({ id: "t", variants: variants("a", "b") })
    const answers = await parallel(
      20,
      (i) => i % 2 === 0 ? org.post({ template_id: "t" }) : org.get({ template_id: "t" }),
    )
    const ids = answers.map((answer) => answer.json.tracking_id)
    for (const id of ids) assert.match(id, uuid)
    assert.strictEqual(new Set(ids).size, 20)
    assert.deepStrictEqual((await org.decisions()).map((row) => row.trackingId), [...ids].sort())
  })

  it("treats null members as absent, and ignores unknown members", async () => {
    const org = await bench.organization("nulls")
    await org.template({ id: "t", variants: [{ id: "a", vars: { s: "[{{ name }}]" } }] })
    const { json, status } = await org.post({
      template_id: "t",
      tracking_id: null,
      user_id: null,
      fields: null,
      attrs: null,
      copy_id: "zzz",
      org_slug: "other",
      epsilon: 7,
      active: false,
      weights: { a: 0 },
    })
    assert.strictEqual(status, 200)
    assert.match(json.tracking_id, uuid)
    assert.deepStrictEqual(json.copy, { id: "a", vars: { s: "[]" } })
  })

  it("reads plain parameters, JSON objects and brackets from a GET request", async () => {
    const org = await bench.organization("get")
    await org.template({
      id: "t",
      variants: [
        {
          id: "gold",
          vars: { s: "{{ a }}|{{ b }}|{{ c | join: '+' }}" },
          targeting: [{ attribute: "tier", op: "is", values: ["gold"] }],
        },
        {
          id: "other",
          vars: { s: "-{{ user.name }}" },
          targeting: [{ attribute: "tier", op: "is_not", values: ["gold"] }],
        },
      ],
    })
    const cases: ReadonlyArray<readonly [query: string, copy: Json]> = [
      [`attrs={"tier":"GOLD"}&fields={"a":1,"b":"x","c":["p","q"]}`, { id: "gold", vars: { s: "1|x|p+q" } }],
      ["attrs[tier]=Gold&fields[a]=1&fields[b]=%C3%A9%26+x", { id: "gold", vars: { s: "1|é& x|" } }],
      ["attrs%5Btier%5D=gold&fields%5Ba%5D=2", { id: "gold", vars: { s: "2||" } }],
      ["attrs[tier]=gold&fields[c]=p&fields[c]=q", { id: "gold", vars: { s: "||p+q" } }],
      ["attrs[tier]=silver&attrs[tier]=gold", { id: "gold", vars: { s: "||" } }],
      [`attrs={"tier":"silver"}&attrs[tier]=gold&fields={"a":"json","b":"kept"}&fields[a]=bracket`, {
        id: "gold",
        vars: { s: "bracket|kept|" },
      }],
      [`attrs[tier]=gold&attrs={"tier":"silver"}`, { id: "gold", vars: { s: "||" } }],
      ["attrs.tier=gold&fields.a=dot", { id: "gold", vars: { s: "dot||" } }],
      ["attrs[tier][]=gold&fields[c][]=p", { id: "gold", vars: { s: "||p" } }],
      ["attrs[tier]=silver&attrs.tier=gold", { id: "gold", vars: { s: "||" } }],
      ["attrs[tier]=gold&fields.c.0=p&fields[c][1]=q", { id: "gold", vars: { s: "||p+q" } }],
      ["fields.user.name=Ann", { id: "other", vars: { s: "-Ann" } }],
      ["fields[user].name=Ann", { id: "other", vars: { s: "-Ann" } }],
      ["attrs={}&fields={}&unknown=1&epsilon=x&template=y&fieldsx[a]=1", { id: "other", vars: { s: "-" } }],
      ["", { id: "other", vars: { s: "-" } }],
    ]
    for (const [query, copy] of cases) {
      const { json, status } = await org.get(
        `template_id=t&user_id=u&${query}`,
      )
      assert.strictEqual(status, 200, query)
      assert.deepStrictEqual(json.copy, copy, query)
    }
    const { json } = await org.get("template_id=t&tracking_id=my%20id&user_id=u%2F1")
    assert.strictEqual(json.tracking_id, "my id")
  })

  it("reports every fault of a GET request by parameter", async () => {
    const org = await bench.organization("get-faults")
    await org.template({ id: "t", variants: variants("a") })
    const cases: ReadonlyArray<readonly [query: string, pointers: ReadonlyArray<string>]> = [
      ["", ["template_id"]],
      ["template_id=", ["template_id"]],
      ["template_id=t&template_id=u", ["template_id"]],
      ["template_id=t&attrs=gold", ["attrs"]],
      ["template_id=t&amp;user_id=u&amp;attrs[tier]=gold", ["amp;attrs[tier]", "amp;user_id"]],
      ["template_id=t&attrs[]=gold", ["attrs[]"]],
      ["template_id=t&attrs=[1]&fields=null", ["attrs", "fields"]],
      [`template_id=t&attrs={"a":{"b":1}}`, ["attrs[a]"]],
      ["template_id=t&fields[city]=K%F6ln&user_id=M%FCller", ["fields[city]", "user_id"]],
      ["template_id=t&fields.user=x&fields.user.name=y", ["fields.user.name"]],
      ["template_id=t&tracking_id=%00&user_id=", ["tracking_id", "user_id"]],
      [`attrs={&fields=1&tracking_id=${"x".repeat(201)}`, ["attrs", "fields", "template_id", "tracking_id"]],
    ]
    for (const [query, pointers] of cases) {
      const answer = await org.get(query)
      assertProblem(answer, 400, "invalid-request", query)
      assert.deepStrictEqual(pointersOf(answer), pointers, query)
    }
  })

  it("answers and reports unknown parameters and members in Parlance-Warnings", async () => {
    const org = await bench.organization("warnings")
    await org.template({ id: "t", variants: variants("a") })
    const warnings = async (answer: Promise<Answer>) => {
      const { headers, status, text } = await answer
      assert.strictEqual(status, 200, text)
      return headers.get("parlance-warnings")
    }
    assert.isNull(await warnings(org.get("template_id=t&attrs.a=1&attrs[b]=2&fields[c][]=3&attrs[b]=4")))
    assert.strictEqual(
      await warnings(org.get("template_id=t&template=t")),
      'the parameter "template" is unknown and has no effect',
    )
    const whole = { template_id: "t", tracking_id: "x", user_id: "u", fields: { any: 1 }, attrs: { any: 1 } }
    assert.isNull(await warnings(org.post(whole)))
    assert.strictEqual(
      await warnings(org.post({ ...whole, userId: "u", epsilon: 1 })),
      'the member "/userId" is unknown and has no effect; the member "/epsilon" is unknown and has no effect',
    )
    const posted = (path: string, body: unknown) =>
      bench.service.request(path, {
        method: "POST",
        headers: { "x-api-key": org.key, "content-type": "application/json" },
        body: JSON.stringify(body),
      }).then(read)
    assert.strictEqual(
      await warnings(posted(`/api/generate/${org.slug}?user_id=u`, { ...whole, userId: "u" })),
      'the parameter "user_id" is unknown and has no effect; the member "/userId" is unknown and has no effect',
    )
    assert.strictEqual(
      await warnings(posted(`/api/batch-generate/${org.slug}?attrs[tier]=gold`, { requests: [{ template_id: "t" }] })),
      'the parameter "attrs[tier]" is unknown and has no effect',
    )
  })

  const operators: ReadonlyArray<
    readonly [op: string, values: ReadonlyArray<unknown>, holds: Json, fails: ReadonlyArray<Json>]
  > = [
    ["is", ["Gold"], ["GOLD", ["silver", "gold"]], ["golden", undefined, []]],
    ["is_not", ["gold"], ["silver", undefined], ["Gold", ["silver", "gold"]]],
    ["in", ["gold", "Silver"], ["SILVER", ["x", "gold"]], ["bronze", undefined]],
    ["not_in", ["gold", "silver"], ["bronze", undefined], ["Gold", ["x", "silver"]]],
    ["exists", [], ["", 0, false], [undefined, null, []]],
    ["not_exists", [], [undefined, null], ["x", 0]],
    ["starts_with", ["go"], ["Gold", ["x", "go"]], ["a go", undefined]],
    ["contains", ["OL"], ["gold", ["x", "cold"]], ["red", undefined]],
    ["gt", [18], [18.5, "19", [1, 20]], [18, "abc", undefined]],
    ["gte", [18], [18, "18.0"], [17.9, undefined, true]],
    ["lt", [18], [-1, "1e1"], [18, "", undefined]],
    ["lte", ["18"], [18, ["19", "18"]], [18.01, undefined]],
  ]
  it("selects only variants whose conditions hold, with every operator", async () => {
    const org = await bench.organization("targeting")
    for (const [op, values] of operators) {
      await org.template({ id: op, variants: [{ id: "a", vars: {}, targeting: [{ attribute: "x", op, values }] }] })
    }
    for (const [op, , holds, fails] of operators) {
      for (const [list, id] of [[holds, "a"], [fails, undefined]] as const) {
        for (const x of list) {
          const { json, status } = await org.post({ template_id: op, attrs: { x, other: "y" } })
          assert.strictEqual(status, 200)
          assert.strictEqual(json.copy.id, id, `${op} ${JSON.stringify(x)}`)
        }
      }
    }
  })

  it("requires every condition of a variant, and selects a variant without conditions for everyone", async () => {
    const org = await bench.organization("every-condition")
    const both = [{ attribute: "tier", op: "is", values: ["gold"] }, { attribute: "age", op: "gte", values: [18] }]
    await org.template({ id: "t", variants: [{ id: "a", vars: {}, targeting: both }] })
    await org.template({ id: "open", variants: [{ id: "o", vars: {} }] })
    const copyOf = async (attrs: Json, template = "t") =>
      (await org.post({ template_id: template, attrs })).json.copy.id
    assert.strictEqual(await copyOf({ tier: "gold", age: 18 }), "a")
    assert.strictEqual(await copyOf({ tier: "gold" }), undefined)
    assert.strictEqual(await copyOf({ age: 20 }), undefined)
    // Names are compared as sent; only values are lowercased.
    assert.strictEqual(await copyOf({ Tier: "gold", age: 18 }), undefined)
    assert.strictEqual(await copyOf({ anything: ["x", 1, true] }, "open"), "o")
  })

  it("selects a variant only in its season in the organization's time zone", async () => {
    const org = await bench.organization("seasons")
    const cases: ReadonlyArray<readonly [seasons: Json, inSeason: boolean]> = [
      [[], true],
      [[{ starts_at: "2999-01-01" }], false],
      [[{ ends_at: "2001-01-01T00:00:00Z" }], false],
      [[{ starts_at: at(-1).date, ends_at: at(2).date }], true],
      [[{ annual: { from: at(2).monthDay, to: at(20).monthDay } }], false],
      [[{ annual: { from: at(-20).monthDay, to: at(20).monthDay } }], true],
      [[{ days: [at(2).weekday, at(3).weekday] }], false],
      [[{ days: [at(-1).weekday, at(0).weekday, at(1).weekday] }], true],
      [[{ hours: { from: hour(4), to: hour(8) } }], false],
      [[{ hours: { from: hour(22), to: hour(2) } }], true],
      // All members of one season must hold; one season of several is enough.
      [[{ starts_at: "2001-01-01", hours: { from: hour(4), to: hour(8) } }], false],
      [[{ starts_at: "2999-01-01" }, { starts_at: "2001-01-01" }], true],
    ]
    for (const [index, [seasons]] of cases.entries()) {
      await org.template({ id: `t${index}`, variants: [{ id: "a", vars: {}, seasons }] })
    }
    for (const [index, [seasons, inSeason]] of cases.entries()) {
      const { json } = await org.post({ template_id: `t${index}` })
      assert.strictEqual(json.copy.id, inSeason ? "a" : undefined, JSON.stringify(seasons))
    }
    // 12 hours apart from UTC, the hours around now are the middle of the other half of the day.
    const far = await bench.organization("seasons-far", { time_zone: "Etc/GMT-12" })
    await far.template({
      id: "utc",
      variants: [{ id: "a", vars: {}, seasons: [{ hours: { from: hour(22), to: hour(2) } }] }],
    })
    await far.template({
      id: "local",
      variants: [{ id: "a", vars: {}, seasons: [{ hours: { from: hour(10), to: hour(14) } }] }],
    })
    assert.deepStrictEqual((await far.post({ template_id: "utc" })).json.copy, {})
    assert.strictEqual((await far.post({ template_id: "local" })).json.copy.id, "a")
  })

  it("answers 200 with an empty copy if there is no candidate, and records nothing", async () => {
    const org = await bench.organization("nobody")
    const none: Record<string, Json> = {
      empty: [],
      inactive: [{ id: "a", vars: {}, active: false }],
      targeted: [{ id: "a", vars: {}, targeting: [{ attribute: "x", op: "exists" }] }],
      "out-of-season": [{ id: "a", vars: {}, seasons: [{ ends_at: "2001-01-01" }] }],
    }
    for (const [id, variants] of Object.entries(none)) {
      await org.template({ id, variants, sticky_hours: id === "inactive" ? 1 : 0 })
      for (
        const answer of [
          await org.post({ template_id: id, tracking_id: "x", user_id: "u" }),
          await org.get(`template_id=${id}&tracking_id=x`),
        ]
      ) {
        assert.strictEqual(answer.status, 200)
        assert.deepStrictEqual(answer.json, { tracking_id: "x", copy: {}, message: "No candidates found" }, id)
      }
      const { json } = await org.post({ template_id: id })
      assert.match(json.tracking_id, uuid)
    }
    assert.deepStrictEqual(await org.decisions(), [])
    // No decision was recorded, so the tracking id can be used for a variant that becomes eligible later.
    await org.patchVariant("inactive", "a", { active: true })
    assert.strictEqual((await org.post({ template_id: "inactive", tracking_id: "x" })).json.copy.id, "a")
  })

  it("never selects an inactive variant if another one is active", async () => {
    const org = await bench.organization("inactive")
    await org.template({
      id: "t",
      variants: [{ id: "a", vars: {}, active: false }, { id: "b", vars: {} }, { id: "c", vars: {} }],
    })
    const answers = await parallel(60, () => org.post({ template_id: "t" }))
    assert.deepStrictEqual([...new Set(answers.map(({ json }) => json.copy.id))].sort(), ["b", "c"])
  })

  it("answers 404 for an unknown or removed template", async () => {
    const org = await bench.organization("unknown-template")
    await org.template({ id: "gone", variants: variants("a") })
    await bench.service.manage("DELETE", `/organizations/${org.slug}/templates/gone`)
    for (const id of ["nope", "gone", "__proto__", "constructor", "T ", "' OR 1=1 --"]) {
      assertProblem(await org.post({ template_id: id }), 404, "template-not-found", id)
      assertProblem(await org.get({ template_id: id }), 404, "template-not-found", id)
    }
    assert.deepStrictEqual(await org.decisions(), [])
  })

  it("reports every unknown variable of a strict template in a 422, and records nothing", async () => {
    const org = await bench.organization("strict")
    const vars = { subject: "{{ name }} {{ user.city }}", body: "{{ name }} {{ code }} {{ known }}" }
    await org.template({ id: "strict", strict: true, variants: [{ id: "a", vars }] })
    await org.template({ id: "lax", variants: [{ id: "a", vars }] })
    const answer = await org.post({ template_id: "strict", tracking_id: "x", fields: { known: 1, user: {} } })
    assertProblem(answer, 422, "unprocessable")
    for (const name of ["name", "user.city", "code"]) assert.include(answer.json.detail, name)
    assert.deepStrictEqual(pointersOf(answer), ["/copy/vars/body", "/copy/vars/subject"])
    assert.notInclude(JSON.stringify(answer.json.errors), "known")
    assert.deepStrictEqual(await org.decisions(), [])
    const whole = { name: "Ann", user: { city: "Rome" }, code: 7, known: 1 }
    assert.deepStrictEqual((await org.post({ template_id: "strict", fields: whole })).json.copy.vars, {
      subject: "Ann Rome",
      body: "Ann 7 1",
    })
    assert.deepStrictEqual((await org.post({ template_id: "lax", fields: { known: 1 } })).json.copy.vars, {
      subject: " ",
      body: "  1",
    })
  })

  it("names a remedy if rendering or targeting takes too much work, also in previews, and records nothing", async () => {
    const org = await bench.organization("work")
    await org.template({ id: "loop", variants: [{ id: "a", vars: { s: "{% for i in (1..n) %}{% endfor %}" } }] })
    const slow = await org.post({ template_id: "loop", fields: { n: 1e12 } })
    assertProblem(slow, 422, "unprocessable")
    assert.deepStrictEqual(pointersOf(slow), ["/copy/vars/s"])
    // On a busy machine the 50 ms pass before the steps are spent.
    assert.match(slow.json.detail, /takes too (much work|long) to render \(more than .*\): loop over fewer elements/)
    assert.strictEqual((await org.post({ template_id: "loop", fields: { n: 9 } })).status, 200)

    const targeting = Array.from({ length: 50 }, () => ({ attribute: "a", op: "is_not", values: ["x"] }))
    await org.template({
      id: "wide",
      variants: Array.from({ length: 20 }, (_, i) => ({ id: `v${i}`, vars: { s: "s" }, targeting })),
    })
    const attrs = { a: Array.from({ length: 1_000 }, (_, i) => i) }
    const previewed = await bench.service.manage("POST", "/organizations/work/templates/wide/preview", { attrs })
    const asked = await org.post({ template_id: "wide", attrs })
    for (const { json, status } of [asked, { json: previewed.body, status: previewed.status }]) {
      assert.strictEqual(status, 422)
      assert.deepStrictEqual(json.errors.map((fault: { pointer: string }) => fault.pointer), ["/attrs"])
      assert.match(json.detail, /takes too (much work|long) to check \(more than .*\): send fewer values/)
    }
    assert.lengthOf(await org.decisions(), 1)
  })

  it("escapes values in HTML unless they are marked raw, and never parses them as Liquid", async () => {
    const org = await bench.organization("html")
    const source = "<p>{{ x }}</p>{{ x | raw }}"
    await org.template({
      id: "t",
      variants: [{ id: "a", vars: { html: source, text: source }, formats: { html: "html" } }],
    })
    const x = `<b a="1">&'{{ y }}{% if %}`
    const { json } = await org.post({ template_id: "t", fields: { x, y: "no" } })
    assert.strictEqual(json.copy.vars.text, `<p>${x}</p>${x}`)
    assert.strictEqual(json.copy.vars.html, `<p>&lt;b a=&#34;1&#34;&gt;&amp;&#39;{{ y }}{% if %}</p>${x}`)
  })

  it("reads only own members of fields, for any name", async () => {
    const org = await bench.organization("own")
    const names = ["constructor", "toString", "__proto__", "hasOwnProperty", "length"]
    await org.template({
      id: "t",
      variants: [{ id: "a", vars: { s: names.map((name) => `{{ ${name} }}`).join("|") } }],
    })
    assert.strictEqual((await org.post({ template_id: "t" })).json.copy.vars.s, "||||")
    const fields = `{${names.map((name, i) => `"${name}":"${i}"`).join(",")}}`
    const { json } = await org.post(`{"template_id":"t","fields":${fields}}`)
    assert.strictEqual(json.copy.vars.s, "0|1|2|3|4")
  })

  it("echoes a short printable X-Request-Id and replaces any other", async () => {
    const org = await bench.organization("request-ids")
    await org.template({ id: "t", variants: variants("a") })
    const idOf = async (id?: string) =>
      (await org.post({ template_id: "t" }, id === undefined ? {} : { "x-request-id": id })).headers.get("x-request-id")
    for (const id of ["a", "req-1/2:3", "x".repeat(128)]) assert.strictEqual(await idOf(id), id)
    for (const id of [undefined, "", "x".repeat(129), "with space", "tab\tbed", "\u00e9"]) {
      assert.match(await idOf(id) ?? "", uuid)
    }
    const { headers } = await bench.service.request("/nowhere", { headers: { "x-request-id": "mine" } }).then(
      async (answer) => {
        await answer.body?.cancel()
        return answer
      },
    )
    assert.strictEqual(headers.get("x-request-id"), "mine")
  })

  it("applies a change of a variant, a template and a time zone from the next call", async () => {
    const org = await bench.organization("changes")
    await org.template({ id: "t", variants: [{ id: "a", vars: { s: "one" } }] })
    const ask = (template = "t") => org.post({ template_id: template })
    const words = async () => (await ask()).json.copy.vars?.s
    assert.strictEqual(await words(), "one")
    await org.patchVariant("t", "a", { vars: { s: "two {{ x }}" } })
    assert.strictEqual(await words(), "two ")
    await bench.service.manage("PATCH", `/organizations/${org.slug}/templates/t`, { strict: true })
    assertProblem(await ask(), 422, "unprocessable")
    await org.patchVariant("t", "a", { active: false })
    assert.strictEqual(await words(), undefined)
    const seasons = [{ hours: { from: hour(10), to: hour(14) } }]
    await org.template({ id: "noon", variants: [{ id: "n", vars: {}, seasons }] })
    assert.deepStrictEqual((await ask("noon")).json.copy, {})
    await bench.service.manage("PATCH", `/organizations/${org.slug}`, { time_zone: "Etc/GMT-12" })
    assert.strictEqual((await ask("noon")).json.copy.id, "n")
  })
})
