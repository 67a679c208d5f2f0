import { assert, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { adminToken } from "../support/service.ts"
import { type Json, suiteOnService } from "./harness.ts"

suiteOnService("Imports", (bench) => {
  const organization = async (slug: string) => {
    const { post } = await bench.organization(slug)
    const call = (method: string, path: string, body?: unknown) =>
      bench.service.manage(method, `/organizations/${slug}${path}`, body)
    return {
      call,
      post,
      take: (templates: ReadonlyArray<unknown>) => call("POST", "/templates/import", { templates }),
      variantsOf: async (id: string): Promise<ReadonlyArray<Json>> =>
        (await call("GET", `/templates/${id}`)).body.variants,
    }
  }
  const variants = (count: number, source: (at: number) => string) =>
    Array.from({ length: count }, (_, at) => ({ id: `v${at}`, vars: { s: source(at) } }))

  it("adds variants in their order, and changes only variants that differ", async () => {
    const { take, variantsOf } = await organization("order")
    const first = variants(300, (at) => `Hi {{ name }} ${at}`)
    assert.deepStrictEqual((await take([{ id: "t", name: "T", variants: first }])).body.created, ["t"])
    const before = await variantsOf("t")
    assert.deepStrictEqual(before.map(({ id }) => id), first.map(({ id }) => id))

    const changed = [...first.slice(0, 150), { id: "v150", vars: { s: "other" } }, ...first.slice(151), {
      id: "new",
      vars: { s: "new" },
    }]
    assert.deepStrictEqual((await take([{ id: "t", name: "T", variants: changed }])).body.updated, ["t"])
    const after = await variantsOf("t")
    assert.deepStrictEqual(after.map(({ id }) => id), [...first.map(({ id }) => id), "new"])
    assert.strictEqual(after[150].vars.s, "other")
    const touched = after.filter(({ updated_at }, at) => updated_at !== before[at]?.updated_at).map(({ id }) => id)
    assert.deepStrictEqual(touched, ["v150", "new"])
  })

  it("creates, changes and keeps templates in one import with the given settings", async () => {
    const { call, take } = await organization("mixed")
    const settings = {
      strict: true,
      sticky_hours: 2,
      objective: { click: 1, conversion: 5 },
      link_domains: ["a.example"],
    }
    await take([{ id: "same", name: "Same" }, { id: "old", name: "Old", archived: true }])
    const { body } = await take([
      { id: "same", name: "Same" },
      { id: "old", name: "Young", ...settings },
      { name: "Without id", archived: true, variants: [{ vars: { s: "{{ x }}" } }] },
    ])
    assert.deepStrictEqual([body.updated, body.unchanged, body.created.length], [["old"], ["same"], 1])
    const old = (await call("GET", "/templates/old")).body
    assert.deepInclude(old, { name: "Young", ...settings, archived_at: null })
    const made = (await call("GET", `/templates/${body.created[0]}`)).body
    assert.isNotNull(made.archived_at)
    assert.strictEqual(made.variants[0].name, made.variants[0].id)
    assert.isAbove(old.revision, 0)
  })

  it("names doubtful parts of saved content in the header Parlance-Warnings", async () => {
    await bench.organization("doubts")
    const send = async (method: string, path: string, body: unknown) => {
      const { headers, status } = await bench.service.request(`/console/api/organizations/doubts${path}`, {
        method,
        headers: { Authorization: `Bearer ${adminToken}`, "Content-Type": "application/json" },
        body: JSON.stringify(body),
      })
      assert.isBelow(status, 300, path)
      return headers.get("parlance-warnings")
    }
    const vars = { s: "x", footer: "Stop:\n  {{ unsubscribeUrl }}" }
    const template = { id: "t", name: "T", variants: [{ id: "plain", vars: { s: "x" } }, { id: "v", vars }] }
    const inTemplate = /^\/variants\/1\/vars\/footer: line 2, column 3: "unsubscribeUrl" .* \{\{ unsubscribe_url \}\}/
    assert.match((await send("POST", "/templates", template))!, inTemplate)
    assert.match(
      (await send("POST", "/templates/t/variants", { id: "w", vars }))!,
      /^\/vars\/footer: line 2, column 3: /,
    )
    assert.match((await send("PATCH", "/templates/t/variants/plain", { vars }))!, /^\/vars\/footer: /)
    assert.isNull(await send("PATCH", "/templates/t/variants/plain", { active: false }))
    const imported = /^\/templates\/0\/variants\/1\/vars\/footer: line 2, column 3: /
    assert.match((await send("POST", "/templates/import?dry_run=true", { templates: [template] }))!, imported)
    assert.match((await send("POST", "/templates/import", { templates: [template] }))!, imported)
    const many = Array.from({ length: 30 }, (_, at) => ({ id: `v${at}`, vars: { s: `${at} {{ unsubscribeUrl }}` } }))
    const header = await send("POST", "/templates/import", { templates: [{ id: "m", name: "M", variants: many }] })
    assert.match(header!, /; 20 more warnings\. A preview lists all$/)
    assert.isBelow(header!.length, 3_500)
  })

  it("reports every fault with its position, and writes nothing", async () => {
    const { call, take } = await organization("faults")
    const { body, status } = await take([
      { id: "a", name: "A", variants: [{ id: "v", vars: { s: "{{" }, formats: { t: "html" } }, { id: "v", vars: {} }] },
      { id: "a", name: "B" },
    ])
    assert.strictEqual(status, 400)
    assert.deepStrictEqual(body.errors.map(({ pointer }: Json) => pointer), [
      "/templates/0/variants/0/formats/t",
      "/templates/0/variants/0/vars/s",
      "/templates/0/variants/1/id",
      "/templates/1/id",
    ])
    for (const wrong of [[], 5, null, {}, { templates: 5 }, { templates: [{}] }]) {
      assert.strictEqual((await call("POST", "/templates/import", wrong)).status, 400, JSON.stringify(wrong))
    }
    assert.deepStrictEqual((await call("GET", "/templates")).body.templates, [])
  })

  it("reports faults of the form, of Liquid and against stored templates together", async () => {
    const { call, take } = await organization("all-faults")
    const held = { share: 0.1, content: "fixed", copy_id: "none" }
    const { body, status } = await take([
      { id: 5, variants: [{ id: "a", vars: { s: "{{" } }, { id: "b", vars: { s: 1, t: "{% if %}" } }] },
      { id: "held", name: "Held", holdout: held },
      { id: "fine", name: "Fine" },
    ])
    assert.strictEqual(status, 400)
    assert.deepStrictEqual(body.errors.map(({ pointer }: Json) => pointer), [
      "/templates/0/id",
      "/templates/0/name",
      "/templates/0/variants/1/vars/s",
      "/templates/0/variants/0/vars/s",
      "/templates/0/variants/1/vars/t",
      "/templates/1/holdout/copy_id",
    ])
    assert.deepStrictEqual((await call("GET", "/templates")).body.templates, [])
  })

  it("reports members without effect at every depth, in imports and in single templates", async () => {
    await organization("unknown")
    const template = {
      id: "t",
      name: "T",
      variants: [{ id: "a", vars: { s: "x" }, targetting: [], seasons: [{ kind: "annual" }] }],
    }
    const warnings = async (path: string, body: unknown) => {
      const answer = await bench.service.request(`/console/api/organizations/unknown${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      })
      assert.isBelow(answer.status, 300)
      return answer.headers.get("parlance-warnings")?.match(/"[^"]*"/g)
    }
    const members = ['"/variants/0/targetting"', '"/variants/0/seasons/0/kind"']
    assert.sameMembers((await warnings("/templates", { ...template, id: "u" }))!, members)
    const imported = { templates: [template] }
    const expected = members.map((member) => member.replace("/", "/templates/0/"))
    assert.sameMembers((await warnings("/templates/import?dry_run=true", imported))!, expected)
    assert.sameMembers((await warnings("/templates/import", imported))!, expected)
    assert.isUndefined(await warnings("/templates/import", { templates: [{ id: "t", name: "T" }] }))
  })

  it("returns the changes of a dry run by field without making them", async () => {
    const { call, take } = await organization("dry-run")
    const dry = (templates: ReadonlyArray<unknown>, value = "true") =>
      call("POST", `/templates/import?dry_run=${value}`, { templates })
    const first = { id: "t", name: "T", variants: [{ id: "a", vars: { s: "old", gone: "x" } }] }
    await take([first, { id: "same", name: "Same" }])
    const entries = async () => (await call("GET", "/audit")).body.entries.length
    const [before, revision] = [await entries(), (await call("GET", "/templates/t")).body.revision]
    const { body, status } = await dry([
      { id: "t", name: "T", sticky_hours: 2, variants: [{ id: "a", vars: { s: "new" } }, { id: "b", vars: {} }] },
      { id: "same", name: "Same" },
      { id: "made", name: "Made" },
    ])
    assert.strictEqual(status, 200, JSON.stringify(body))
    assert.deepInclude(body, { created: ["made"], updated: ["t"], unchanged: ["same"] })
    const [changed, made] = body.changes
    assert.deepInclude(changed, { template_id: "t", outcome: "updated", omitted: 0 })
    const fields = new Map<string, Json>(changed.fields.map((one: Json) => [one.field, one]))
    assert.deepStrictEqual(fields.get("/sticky_hours"), { field: "/sticky_hours", before: 0, after: 2 })
    assert.deepStrictEqual(fields.get("/variants/a/vars/s"), {
      field: "/variants/a/vars/s",
      before: "old",
      after: "new",
    })
    assert.deepStrictEqual(fields.get("/variants/a/vars/gone"), { field: "/variants/a/vars/gone", before: "x" })
    assert.deepStrictEqual(fields.get("/variants/b/active"), { field: "/variants/b/active", after: true })
    assert.isFalse(fields.has("/name"))
    assert.deepInclude(made, { template_id: "made", outcome: "created" })
    assert.strictEqual((await call("GET", "/templates/made")).status, 404)
    assert.strictEqual((await call("GET", "/templates/t")).body.revision, revision)
    assert.strictEqual(await entries(), before, "a dry run is no change")

    assert.deepStrictEqual((await dry([first])).body, { created: [], updated: [], unchanged: ["t"], changes: [] })
    assert.notProperty((await call("POST", "/templates/import?dry_run=false", { templates: [first] })).body, "changes")
    const unclear = await dry([first], "yes")
    assert.strictEqual(unclear.status, 400)
    assert.deepStrictEqual(unclear.body.errors.map(({ pointer }: Json) => pointer), ["dry_run"])
    assert.strictEqual((await dry([{ id: "t" }])).status, 400)
  })

  it("serves the JSON Schema of template files", async () => {
    const response = await bench.service.request("/schemas/template-file.json")
    assert.strictEqual(response.headers.get("content-type"), "application/schema+json")
    const stored = readFileSync(new URL("../../schema/template-file.schema.json", import.meta.url), "utf8")
    assert.deepStrictEqual(await response.json(), JSON.parse(stored))
  })

  it("accepts at most 1,000 templates and 2,000 variants in total, and 1,000 variants per template", async () => {
    const { call, take } = await organization("limits")
    const templates = Array.from({ length: 1_001 }, (_, at) => ({ id: `t${at}`, name: "T" }))
    const many = await take(templates)
    assert.strictEqual(many.status, 400)
    assert.match(many.body.detail, /^\/templates: has 1001 templates\. One import has at most 1000; split it/)
    const wide = await take([0, 1, 2].map((at) => ({ id: `w${at}`, name: "W", variants: variants(700, () => "x") })))
    assert.match(wide.body.detail, /has 2100 variants\. One import has at most 2000/)

    assert.strictEqual((await take([{ id: "full", name: "F", variants: variants(1_000, () => "x") }])).status, 200)
    const over = await take([{ id: "full", name: "F", variants: [{ id: "one-more", vars: { s: "x" } }] }])
    assert.deepStrictEqual(over.body.errors, [{
      pointer: "/templates/0/variants",
      detail: "would give the template 1001 variants. A template has at most 1000",
    }])
    const added = await call("POST", "/templates/full/variants", { vars: { s: "x" } })
    assert.strictEqual(added.status, 400)
    assert.match(added.body.detail, /has 1000 variants, the most that one can have/)
    assert.strictEqual((await call("GET", "/templates/full")).body.variants.length, 1_000)
  })

  it("imports, changes, previews and renders bodies of 512 KiB in a library of 7 MiB", async () => {
    const { call, post, take } = await organization("library")
    const row = `<!--[if mso]><a href="https://shop.example/b">x</a><![endif]--><td>{{ name | default: "you" }}</td>\n`
    const bodyOf = (name: string) => `${row.repeat(2_000)}${"<p>text</p>".repeat(40_000)}`.slice(0, 520_000) + name
    const formats = { body: "html" }
    const library = Array.from({ length: 13 }, (_, at) => ({
      id: `t${at}`,
      name: "T",
      link_domains: ["shop.example"],
      variants: [{ id: "v", formats, vars: { body: bodyOf(`number ${at}`) } }],
    }))
    assert.strictEqual((await take(library)).body.created.length, 13)
    assert.strictEqual((await take(library)).body.unchanged.length, 13)
    const changed = await call("PATCH", "/templates/t1/variants/v", { vars: { body: bodyOf("changed") } })
    assert.strictEqual(changed.status, 200)
    const preview = await call("POST", "/templates/t1/preview", { vars: { body: bodyOf("typed") }, formats })
    assert.isTrue(preview.body.vars.body.endsWith("typed"))
    const longer = await call("PATCH", "/templates/t1/variants/v", { vars: { body: "x".repeat(524_289) } })
    assert.deepStrictEqual(longer.body.errors, [
      { pointer: "/vars/body", detail: "must have a length of at most 524288" },
    ])
    const { json } = await post({ template_id: "t2", fields: { name: "Ann" } })
    const links = json.copy.vars.body.split(`https://shop.example/b?tracking_id=${json.tracking_id}`)
    assert.strictEqual(links.length, 2_001)
  })

  it("completes concurrent imports of the same templates", async () => {
    const { take, variantsOf } = await organization("races")
    const names = ["first", "second", "third", "fourth"]
    const answers = await Promise.all(
      names.map((name) => take([{ id: "t", name, variants: variants(20, () => name) }, { id: name, name }])),
    )
    assert.deepStrictEqual(answers.map(({ status }) => status), [200, 200, 200, 200])
    const sources = new Set((await variantsOf("t")).map(({ vars }) => vars.s))
    assert.strictEqual(sources.size, 1)
    assert.include(names, [...sources][0])
  })

  it("limits the record of a large import", async () => {
    const { call, take } = await organization("record")
    const templates = Array.from({ length: 40 }, (_, t) => ({
      id: `t${t}`,
      name: "T",
      variants: variants(12, (at) => `${at} ${"x".repeat(1_500)}`),
    }))
    assert.strictEqual((await take(templates)).status, 200)
    const { entries } = (await call("GET", "/audit?limit=100")).body
    assert.lengthOf(entries.filter(({ details }: Json) => details.by === "import"), 40)
    assert.isBelow(JSON.stringify(entries).length, 700_000)
    const last = entries.find(({ subject }: Json) => subject === "t39")
    assert.deepStrictEqual(last.changes.fields, [])
    assert.isAbove(last.changes.omitted, 12)
  })

  it("reports faults of the sample in previews and dry runs instead of an error", async () => {
    const { call, take } = await organization("tries")
    await take([{ id: "t", name: "T", variants: [{ id: "a", vars: { s: "{{ a | join: ',' }}" } }] }])
    const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`
    const tried = await call("POST", "/webhooks/events/dry-run", { mapping: { event: "$.e", user: "$.u" }, body: deep })
    assert.strictEqual(tried.status, 200)
    const shown = await call("POST", "/templates/t/preview", {
      copy_id: "a",
      fields: { a: Array.from({ length: 70_000 }, (_, at) => at % 10) },
    })
    assert.strictEqual(shown.status, 200)
    assert.strictEqual(shown.body.vars.s.length, 139_999)
    const wide = await call("PATCH", "/templates/t/variants/a", {
      vars: Object.fromEntries(Array.from({ length: 60_001 }, (_, at) => [`v${at}`, ""])),
    })
    assert.strictEqual(wide.status, 400)
    assert.match(wide.body.detail, /more than 60000 values/)
  })

  it("converts copy of other platforms, with findings and fields, and stores nothing", async () => {
    const { call } = await organization("copy")
    const vars = {
      subject: "{{#if points}}{{firstName}}{{/if}}",
      body: '<a href="{{viewInBrowserUrl}}">Web</a>\n{{sendSkip}}',
    }
    const { body, status } = await call("POST", "/templates/convert", {
      from: "iterable",
      vars,
      formats: { body: "html" },
    })
    assert.strictEqual(status, 200)
    assert.deepStrictEqual(body.vars, {
      subject: "{% if points != blank and points != 0 %}{{ firstName }}{% endif %}",
      body: '<a href="{{ browser_url }}">Web</a>\n{{sendSkip ??? }}',
    })
    assert.deepStrictEqual(body.findings.map(({ message: _, ...place }: Json) => place), [
      { variable: "body", line: 1, column: 10, text: "{{viewInBrowserUrl}}", state: "check" },
      { variable: "body", line: 2, column: 1, text: "{{sendSkip}}", state: "mend" },
    ])
    assert.deepInclude(body.fields, { from: "{{viewInBrowserUrl}}", to: "browser_url" })
    assert.deepStrictEqual((await call("GET", "/templates")).body.templates, [])
  })

  it("refuses to convert bytes that are no text, and unknown platforms", async () => {
    const { call } = await organization("binary")
    const refusal = async (from: string, body: string) => {
      const answer = await call("POST", "/templates/convert", { from, vars: { body } })
      assert.strictEqual(answer.status, 400)
      return answer.body.detail
    }
    assert.match(await refusal("braze", "\u0001PNG"), /\/vars\/body: is no text: the character U\+0001 is at offset 0/)
    assert.match(await refusal("fax", "Hi"), /"braze"/)
    const bomb = "{{#if (and ".repeat(40_000)
    assert.include([200, 400], (await call("POST", "/templates/convert", { from: "iterable", vars: { bomb } })).status)
  })

  it("imports copy as CSV with a preview, and places faults at rows and columns", async () => {
    const { call, take, variantsOf } = await organization("sheet")
    const variant = { id: "v1", name: "Warm", vars: { subject: "Old", body: "Same" }, components: { tone: "warm" } }
    await take([{ id: "cart", name: "Cart", strict: true, variants: [variant] }])
    const csv = "template,variant,subject\nCart,Warm,New\nCart,Cold,Brr\n"
    const preview = await call("POST", "/templates/import-copy?dry_run=true", { csv })
    assert.deepStrictEqual(preview.body.updated, ["cart"])
    const changed = preview.body.changes[0].fields.map(({ field }: Json) => field)
    assert.include(changed, "/variants/v1/vars/subject")
    assert.notInclude(changed, "/strict")
    assert.strictEqual((await variantsOf("cart"))[0].vars.subject, "Old")

    assert.deepStrictEqual((await call("POST", "/templates/import-copy", { csv })).body.updated, ["cart"])
    const [warm, cold] = await variantsOf("cart")
    assert.deepInclude(warm, { vars: { subject: "New", body: "Same" }, components: { tone: "warm" }, active: true })
    assert.deepInclude(cold, { id: "cold", name: "Cold", vars: { subject: "Brr" }, active: false })
    assert.isTrue((await call("GET", "/templates/cart")).body.strict)
    assert.deepStrictEqual((await call("POST", "/templates/import-copy", { csv })).body.unchanged, ["cart"])

    const wrong = await call("POST", "/templates/import-copy", { csv: `${csv}Cart,Third,{{ name\n` })
    assert.strictEqual(wrong.status, 400)
    assert.match(wrong.body.errors[0].detail, /^row 4, column C \(subject\): line 1, column 1: /)
    assert.lengthOf(await variantsOf("cart"), 2)
  })
})
