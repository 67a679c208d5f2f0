import { assert, it } from "@effect/vitest"
import { adminToken } from "../support/service.ts"
import { assertProblem, type Json, read, suiteOnService } from "./harness.ts"

const template = {
  id: "welcome",
  name: "Welcome",
  variants: [
    {
      id: "a",
      vars: { subject: "Hi", body: "<p>Hi {{ name }}</p>{% render 'footer', year: 2026, name: name %}" },
      formats: { body: "html" },
    },
  ],
}

suiteOnService("Snippets", (bench) => {
  const send = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    read(
      await bench.service.request(`/console/api${path}`, {
        method,
        headers: {
          "content-type": "application/json",
          authorization: `Bearer ${adminToken}`,
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    )

  const ok = async (method: string, path: string, body?: unknown, status = 200): Promise<Json> => {
    const answer = await send(method, path, body)
    assert.strictEqual(answer.status, status, `${method} ${path} ${answer.text}`)
    return answer.json
  }

  /** An organization with a footer in its only template, through a second snippet. */
  const started = async (slug: string) => {
    const org = await bench.organization(slug)
    const at = `/organizations/${slug}/snippets`
    await ok("PUT", `${at}/legal`, { text: "© {{ year }}" })
    const footer = { name: "Footer", format: "html", text: "<hr>{% render 'legal', year: year %} {{ name }}" }
    await ok("PUT", `${at}/footer`, footer)
    await ok("POST", `/organizations/${slug}/templates`, template, 201)
    const body = async () =>
      (await org.post({ template_id: "welcome", fields: { name: "<Ann>" } })).json.copy?.vars.body as string
    return { org, at, body }
  }

  const faultsOf = ({ json }: { readonly json: Json }): ReadonlyArray<string> =>
    (json.errors ?? []).map(({ detail, pointer }: Json) => `${pointer} ${detail}`)

  it("are rendered by Generate, and a change takes effect in the next message", async () => {
    const { at, body } = await started("served")
    assert.strictEqual(await body(), "<p>Hi &lt;Ann&gt;</p><hr>© 2026 &lt;Ann&gt;")
    await ok("PUT", `${at}/legal`, { text: "(c) {{ year }}" })
    assert.strictEqual(await body(), "<p>Hi &lt;Ann&gt;</p><hr>(c) 2026 &lt;Ann&gt;")
  })

  it("show where they are used, and what a change affects before it is saved", async () => {
    const { at } = await started("used")
    const users = [{ template_id: "welcome", name: "Welcome", copy_ids: ["a"], served: true }]
    const { snippets, templates } = await ok("GET", `${at}/legal`)
    assert.deepStrictEqual([snippets, templates], [["footer"], users])
    const checked = await send("POST", `${at}/footer/check`, { text: "{{ name }} {{ city }}" })
    assert.deepStrictEqual(checked.json, { templates: users })
    assert.include(
      checked.headers.get("parlance-warnings") ?? "",
      'the snippet "footer" needs "city"',
    )
    assert.strictEqual((await ok("GET", `${at}/footer`)).text, "<hr>{% render 'legal', year: year %} {{ name }}")
  })

  it("refuse cycles, deep nesting, faulty Liquid, too much text, and a format that users cannot have", async () => {
    const { at } = await started("refused")
    const refused = async (id: string, body: unknown) => {
      const answer = await send("PUT", `${at}/${id}`, body)
      assertProblem(answer, 400)
      return faultsOf(answer).join("\n")
    }
    assert.include(
      await refused("legal", { text: "{% render 'footer' %}" }),
      '"legal" renders "footer" renders "legal"',
    )
    assert.include(
      await refused("x", { text: "{% render 'gone' %}" }),
      '/text line 1, column 11: there is no snippet "gone"',
    )
    assert.include(await refused("x", { text: "{{ a | nope }}" }), '/text line 1, column 8: there is no filter "nope"')
    assert.include(await refused("x", { text: "a".repeat(65_537) }), "/text")
    assert.include(await refused("X", { text: "a" }), "snippet must be 1 to 64 lowercase letters")
    assert.include(
      await refused("footer", { text: "x", format: "text" }),
      "/format cannot change while the snippet is used",
    )
    const loop = "{% for i in (1..9) %}{% for j in (1..99999) %}{% endfor %}{% endfor %}"
    assert.include(await refused("legal", { text: loop }), "takes too much work")
    const much = "{{ a }}".repeat(9_362)
    await ok("PUT", `${at}/one`, { text: much })
    assert.include(await refused("two", { text: `x${much}` }), "above 131072 characters")
    assert.strictEqual((await ok("GET", at)).snippets.length, 3)
  })

  it("refuse a change that would break a variant, and name the variant", async () => {
    const { at } = await started("broken")
    await ok("POST", "/organizations/broken/templates/welcome/variants", {
      id: "many",
      vars: { v: "{% for i in (1..900) %}{% render 'legal', year: i %}{% endfor %}" },
    }, 201)
    const answer = await send("PUT", `${at}/legal`, { text: "{% for i in (1..1000) %}{% endfor %}" })
    assertProblem(answer, 400)
    assert.include(
      faultsOf(answer)[0],
      '/text the variant "many" of the template "welcome", variable "v": takes too much work',
    )
  })

  it("cannot be deleted while something renders them", async () => {
    const { at } = await started("deleted")
    const answer = await send("DELETE", `${at}/footer`)
    assertProblem(answer, 409, "conflict")
    assert.include(answer.json.detail, 'is used by the variant "a" of the template "welcome"')
    assert.include((await send("DELETE", `${at}/legal`)).json.detail, 'is used by the snippet "footer"')
    await ok("DELETE", "/organizations/deleted/templates/welcome", undefined, 204)
    await ok("DELETE", `${at}/footer`, undefined, 204)
    assertProblem(await send("GET", `${at}/footer`), 404, "snippet-not-found")
    const saved = await send("POST", "/organizations/deleted/templates", template)
    assertProblem(saved, 400)
    assert.include(faultsOf(saved)[0], 'there is no snippet "footer"')
  })

  it("are checked in imports and previews", async () => {
    const { at } = await started("imported")
    const body = { templates: [{ ...template, id: "two" }] }
    await ok("POST", "/organizations/imported/templates/import", body)
    const wrong = {
      templates: [{ id: "three", name: "T", variants: [{ id: "a", vars: { v: "{% render 'gone' %}" } }] }],
    }
    const answer = await send("POST", "/organizations/imported/templates/import", wrong)
    assert.include(faultsOf(answer)[0], 'there is no snippet "gone"')
    assert.deepStrictEqual((await ok("GET", `${at}/legal`)).templates.map(({ template_id }: Json) => template_id), [
      "two",
      "welcome",
    ])
    const preview = await ok("POST", "/organizations/imported/templates/welcome/preview", {
      vars: { v: "{% render 'legal' %}|{% render 'legal', year: 1 %}" },
    })
    assert.strictEqual(preview.vars.v, "© |© 1")
    assert.include(preview.warnings[0].message, 'the snippet "legal" needs "year"')
  })

  it("are saved by an import with the templates that render them, or nothing is", async () => {
    await bench.organization("files")
    const at = "/organizations/files"
    const file = {
      snippets: [
        { id: "footer", format: "html", text: "{% render 'legal', year: year %}" },
        { id: "legal", text: "© {{ year }}" },
      ],
      templates: [template],
    }
    const dry = await ok("POST", `${at}/templates/import?dry_run=true`, file)
    const all = [{ id: "footer", proposed: false }, { id: "legal", proposed: false }]
    assert.deepStrictEqual(dry.snippets, all)
    assert.deepStrictEqual((await ok("GET", `${at}/snippets`)).snippets, [])
    const faulty = [
      { ...file, templates: [{ ...template, owner: "nobody@example.com" }] },
      { ...file, snippets: [file.snippets[0], { id: "legal", text: "{{ year" }] },
      { ...file, snippets: [...file.snippets, { id: "Legal" }] },
      { ...file, snippets: [...file.snippets, { id: "legal", text: "twice" }] },
    ]
    const pointers = ["/templates/0/owner", "/snippets/1/text", "/snippets/2/text", "/snippets/2/id"]
    for (const [index, body] of faulty.entries()) {
      const answer = await send("POST", `${at}/templates/import`, body)
      assertProblem(answer, 400)
      assert.include(faultsOf(answer).join("\n"), `${pointers[index]} `)
    }
    assert.deepStrictEqual((await ok("GET", `${at}/snippets`)).snippets, [])
    assert.deepStrictEqual((await ok("POST", `${at}/templates/import`, file)).snippets, all)
    assert.isUndefined((await ok("POST", `${at}/templates/import`, file)).snippets)
    assert.strictEqual((await ok("GET", `${at}/snippets/legal`)).text, "© {{ year }}")
  })

  it("keep versions with their authors, and refuse a save over another person's", async () => {
    const { at } = await started("versions")
    const { updated_at } = await ok("GET", `${at}/legal`)
    await ok("PUT", `${at}/legal`, { text: "second" })
    await ok("PUT", `${at}/legal`, { text: "second" })
    const { versions } = await ok("GET", `${at}/legal/versions`)
    assert.deepStrictEqual(versions.map(({ author, text }: Json) => [author, text]), [
      ["Admin token", "second"],
      ["Admin token", "© {{ year }}"],
    ])
    assert.strictEqual((await ok("GET", `${at}/legal/versions/${versions[1].id}`)).text, "© {{ year }}")
    assertProblem(await send("GET", `${at}/legal/versions/1x`), 404, "version-not-found")
    assertProblem(await send("PUT", `${at}/legal`, { text: "third" }, { "if-match": updated_at }), 409)
    const { entries } = await ok("GET", "/organizations/versions/audit")
    const [last] = entries.filter(({ action, changes }: Json) => action === "snippet saved" && changes !== null)
    assert.strictEqual(last.subject, "legal")
    assert.deepInclude(last.changes.fields, { field: "/text", before: "© {{ year }}", after: "second" })
  })

  it("wait for approval if they change live messages", async () => {
    const { at, body } = await started("approved")
    const made = await ok("POST", "/organizations/approved/keys", { name: "k", scopes: ["templates:write"] }, 201)
    const writer = { authorization: `Bearer ${made.key}` }
    await ok("PATCH", "/organizations/approved", { template_approval: "editor" })
    const other = await send("PUT", `${at}/unused`, { text: "x" }, writer)
    assert.deepStrictEqual([other.status, other.json.proposal], [200, null])
    const live = await body()
    const first = await send("PUT", `${at}/legal`, { text: "one {{ year }}" }, writer)
    assert.strictEqual(first.status, 202)
    assert.deepInclude(first.json.proposal, { text: "one {{ year }}", version: 1, author: `API key ${made.id}` })
    const second = await send("PUT", `${at}/legal`, { text: "two {{ year }}" }, writer)
    assert.strictEqual(second.json.proposal.version, 2)
    assert.strictEqual(await body(), live)
    assertProblem(await send("POST", `${at}/legal/approve`, { version: 2 }, writer), 403)
    assertProblem(await send("POST", `${at}/legal/approve`, { version: 1 }), 409)
    await ok("POST", `${at}/legal/approve`, { version: 2 })
    assert.include(await body(), "two 2026")
    await send("PUT", `${at}/legal`, { text: "three {{ year }}" }, writer)
    await ok("PUT", `${at}/legal`, { text: "four {{ year }}" })
    assertProblem(await send("POST", `${at}/legal/approve`, { version: 1 }), 409)
    assert.strictEqual((await send("DELETE", `${at}/legal/proposal`, undefined, writer)).status, 204)
    assertProblem(await send("DELETE", `${at}/legal/proposal`), 404, "proposal-not-found")
  })
})
