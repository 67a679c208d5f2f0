import { assert, it } from "@effect/vitest"
import { accessTable } from "../../src/api/AccessTable.ts"
import endpoints from "../../src/cli/endpoints.json" with { type: "json" }
import { adminToken } from "../support/service.ts"
import { type Answer, assertProblem, type Json, read, suiteOnService } from "./harness.ts"

const password = "four unrelated words here"

/** A template that is served, with a draft. */
const welcome = {
  id: "welcome",
  name: "Welcome",
  locale: { attribute: "language", default: "en" },
  variants: [
    { id: "a", vars: { subject: "Hello" } },
    { id: "b", vars: { subject: "Welcome" } },
    { id: "draft", vars: { subject: "Draft" }, active: false },
  ],
}

const at = "/organizations/ORG/templates/welcome"

/** A change of served content, for each endpoint that writes content. */
const samples: Readonly<Record<string, { readonly path: string; readonly body?: unknown }>> = {
  createTemplate: {
    path: "/organizations/ORG/templates",
    body: { id: "new", name: "New", variants: [{ id: "a", vars: { subject: "x" } }] },
  },
  importTemplates: {
    path: "/organizations/ORG/templates/import",
    body: { templates: [{ ...welcome, variants: [{ id: "a", vars: { subject: "Imported" } }] }] },
  },
  importCopy: {
    path: "/organizations/ORG/templates/import-copy",
    body: { csv: "template,variant,subject\nwelcome,a,Imported\n" },
  },
  importStrings: {
    path: `${at}/strings`,
    body: { text: "variant,variable,en,de\na,subject,Hello,Hallo\n" },
  },
  changeTemplates: { path: "/organizations/ORG/templates/batch", body: { ids: ["welcome"], active: false } },
  updateTemplate: { path: at, body: { objective: "conversion" } },
  deleteTemplate: { path: at },
  createVariant: { path: `${at}/variants`, body: { id: "c", vars: { subject: "Third" } } },
  updateVariant: { path: `${at}/variants/a`, body: { vars: { subject: "Changed" } } },
  deleteVariant: { path: `${at}/variants/a` },
  publishDraft: { path: `${at}/draft/publish?variant=a` },
  restoreVersion: { path: `${at}/variants/a/versions/FIRST/restore` },
  switchVariants: { path: `${at}/switch-variants`, body: { activate: ["a"], deactivate: ["b"] } },
}

/** Endpoints with the scope of template changes that do not change content. */
const others = [
  "saveSamplePerson",
  "deleteSamplePerson",
  // `Snippets.test.ts` tests their approval.
  "saveSnippet",
  "deleteSnippet",
  "dismissSnippet",
  // An image changes no text.
  "uploadImage",
  "deleteImage",
  // `Suggestions.test.ts` tests that a kept suggestion waits for approval.
  "suggestVariants",
  "keepSuggestion",
  "discardSuggestion",
  "reviseProposal",
  "withdrawProposal",
  "createComment",
  "updateComment",
  "deleteComment",
]

suiteOnService("Approval of changes to live templates", (bench) => {
  const send = async (method: string, path: string, headers: Record<string, string>, body?: unknown): Promise<Answer> =>
    read(
      await bench.service.request(`/console/api${path}`, {
        method,
        headers: { "content-type": "application/json", ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    )

  const manage = async (method: string, path: string, body?: unknown, status = 200): Promise<Json> => {
    const answer = await bench.service.manage(method, path, body)
    assert.strictEqual(answer.status, status, `${method} ${path} ${JSON.stringify(answer.body)}`)
    return answer.body
  }

  /** An organization that requires approval, with the template. */
  const approving = async (slug: string, approval = "editor") => {
    const org = await bench.organization(slug)
    await manage("POST", `/organizations/${slug}/templates`, welcome, 201)
    // There is an earlier version of a variant, to be restored.
    await manage("PATCH", `/organizations/${slug}/templates/welcome/variants/a`, { vars: { subject: "First" } })
    await manage("PATCH", `/organizations/${slug}/templates/welcome/variants/a`, { vars: { subject: "Hello" } })
    await manage("PATCH", `/organizations/${slug}`, { template_approval: approval })
    return org
  }

  const key = async (slug: string, ...scopes: ReadonlyArray<string>) => {
    const made = await manage("POST", `/organizations/${slug}/keys`, { name: "k", scopes }, 201)
    return { id: made.id as string, headers: { "x-api-key": made.key as string } }
  }

  /** A member who is signed in; the headers of the member's requests. */
  const member = async (slug: string, name: string, role: string) => {
    const email = `${name.toLowerCase().replaceAll(" ", ".")}@${slug}.example`
    const { id } = await manage("POST", "/accounts", { email, name, password }, 201)
    await manage("PUT", `/organizations/${slug}/members/${id}`, { role })
    const signedIn = await bench.service.request("/console/sign-in", {
      method: "POST",
      redirect: "manual",
      headers: { origin: bench.service.url },
      body: new URLSearchParams({ email, password }),
    })
    const cookie = signedIn.headers.get("set-cookie")!.split(";")[0]!
    const session: Json = await (await bench.service.request("/console/api/session", { headers: { cookie } })).json()
    return {
      id: id as string,
      email,
      headers: { cookie, origin: bench.service.url, "x-csrf-token": session.csrf_token as string },
    }
  }

  const live = (slug: string) => manage("GET", `/organizations/${slug}/templates/welcome`)

  const methods = new Map(Object.entries(endpoints).map(([name, endpoint]) => [name, endpoint.split(" ")[0]!]))

  const propose = async (slug: string, by: Record<string, string>, name: string): Promise<Answer> => {
    const { body, path } = samples[name]!
    const of = `/organizations/${slug}/templates/welcome`
    if (name === "publishDraft") {
      const { status, text } = await send("PUT", `${of}/draft?variant=a`, by, {
        change: { vars: { subject: "Drafted" } },
      })
      assert.strictEqual(status, 200, text)
    }
    const first = name === "restoreVersion" ? (await manage("GET", `${of}/variants/a/versions`)).versions[1].id : ""
    return await send(methods.get(name)!, path.replace("ORG", slug).replace("FIRST", first), by, body)
  }

  it("has a sample of every endpoint that writes templates", () => {
    const writing = [...accessTable].flatMap(([name, { action, scope }]) =>
      action !== undefined && scope === "templates:write" ? [name] : []
    )
    assert.sameMembers(writing, [...Object.keys(samples), ...others])
    const ofTemplates = Object.entries(endpoints).flatMap(([name, endpoint]) =>
      /^(?!GET)\w+ .*\/templates/.test(endpoint) ? [name] : []
    )
    assert.sameMembers(ofTemplates, [
      ...Object.keys(samples),
      "preview",
      "convertCopy",
      "putDraft",
      "discardDraft",
      "resumeLearning",
      "createComment",
      "updateComment",
      "deleteComment",
      "createResultShare",
      "revokeResultShare",
      "previewSuggestions",
      "suggestVariants",
      "keepSuggestion",
      "discardSuggestion",
      "putReport",
      "deleteReport",
      "sendReport",
    ])
  })

  for (const name of Object.keys(samples)) {
    it(`makes a proposal of ${name} for every caller, and keeps the live template`, async () => {
      const slug = `all-${name.toLowerCase()}`
      await approving(slug)
      const before = await live(slug)
      const editor = await member(slug, "Ed Itor", "editor")
      const admin = await member(slug, "Ad Min", "admin")
      const writer = await key(slug, "templates:write")
      for (const by of [editor, admin, writer]) {
        const answer = await propose(slug, by.headers, name)
        assert.strictEqual(answer.status, 202, answer.text)
        assert.include(answer.json.detail, "waits for approval")
        assert.deepStrictEqual(answer.json.proposals.map(({ template_id }: Json) => template_id), [
          name === "createTemplate" ? "new" : "welcome",
        ])
        assert.deepStrictEqual(await live(slug), before)
      }
      const { proposals } = await manage("GET", `/organizations/${slug}/proposals`)
      assert.deepStrictEqual(proposals.map(({ author }: Json) => author), [`API key ${writer.id}`, "Ad Min", "Ed Itor"])
      if (name === "createTemplate") {
        assert.strictEqual((await bench.service.manage("GET", `/organizations/${slug}/templates/new`)).status, 404)
      }
      const { entries } = await manage("GET", `/organizations/${slug}/audit`)
      const told = entries.filter(({ action }: Json) => action === "change proposed")
      assert.strictEqual(told.length, 3)
      assert.strictEqual(told[0].subject, name === "createTemplate" ? "new" : "welcome")
      assert.isAbove(told[0].changes.fields.length, 0)
      assert.deepStrictEqual(
        entries.filter(({ action }: Json) => /^(template|variant)/.test(action)).map(({ action }: Json) => action),
        ["variant changed", "variant changed", "template created"],
      )
    })
  }

  for (const name of Object.keys(samples)) {
    it(`makes ${name} live at once for the admin token and a key that may publish`, async () => {
      for (const how of ["token", "key", "admin"]) {
        const slug = `by-${how}-${name.toLowerCase()}`
        await approving(slug)
        const headers: Record<string, string> = how === "token"
          ? { authorization: `Bearer ${adminToken}` }
          : (await key(slug, how === "key" ? "templates:publish" : "admin")).headers
        const answer = await propose(slug, headers, name)
        assert.include([200, 201, 204], answer.status, answer.text)
        assert.deepStrictEqual((await manage("GET", `/organizations/${slug}/proposals`)).proposals, [])
      }
    })
  }

  it("applies changes at once that do not affect live messages", async () => {
    await approving("harmless")
    const { headers } = await member("harmless", "Ed Itor", "editor")
    const path = "/organizations/harmless/templates"
    const harmless: ReadonlyArray<readonly [method: string, path: string, body: unknown, status: number]> = [
      ["PATCH", `${path}/welcome`, { name: "Renamed" }, 200],
      ["PATCH", `${path}/welcome/variants/draft`, { vars: { subject: "Other" } }, 200],
      ["POST", `${path}/welcome/variants`, { id: "d2", vars: { subject: "x" }, active: false }, 201],
      ["DELETE", `${path}/welcome/variants/d2`, undefined, 204],
      ["POST", path, { id: "empty", name: "Empty" }, 201],
      ["PATCH", `${path}/empty`, { objective: "open" }, 200],
      ["DELETE", `${path}/empty`, undefined, 204],
    ]
    for (const [method, at, body, status] of harmless) {
      const answer = await send(method, at, headers, body)
      assert.strictEqual(answer.status, status, `${method} ${at} ${answer.text}`)
    }
    const { changes } = await manage("GET", "/organizations/harmless/templates/welcome/history")
    assert.deepStrictEqual(changes.map(({ action }: Json) => action), [
      "variant deleted",
      "variant created",
      "variant changed",
      "template changed",
      "variant changed",
      "variant changed",
      "template created",
    ])
    // Faults are found before anything waits for approval.
    const faulty = await send("PATCH", `${path}/welcome/variants/a`, headers, { vars: { subject: "{{ x" } })
    assertProblem(faulty, 400, "invalid-request")
    assertProblem(await send("DELETE", `${path}/none`, headers), 404, "template-not-found")
    assert.deepStrictEqual((await manage("GET", "/organizations/harmless/proposals")).proposals, [])
  })

  it("collects the changes of an author, shows them, and publishes all of them with another person's approval", async () => {
    const org = await approving("collects")
    const [ed, ann] = [await member("collects", "Ed Itor", "editor"), await member("collects", "Ann Smith", "editor")]
    const viewer = await member("collects", "Vi Ewer", "viewer")
    const path = "/organizations/collects/templates/welcome"
    const first = await send("POST", `${path}/variants`, ed.headers, { id: "c", vars: { subject: "Third" } })
    const id = first.json.proposals[0].id
    // The proposed variant exists for its author alone.
    const second = await send("PATCH", `${path}/variants/c`, ed.headers, { vars: { subject: "Third, better" } })
    assert.deepStrictEqual(second.json.proposals, [{ id, template_id: "welcome" }])
    assertProblem(await send("PATCH", `${path}/variants/c`, ann.headers, { active: false }), 404, "variant-not-found")
    const third = await send("PATCH", path, ed.headers, { objective: "conversion", name: "Hello" })
    assert.strictEqual(third.status, 202, third.text)
    const proposal = `/organizations/collects/proposals/${id}`
    const noted = await send("PATCH", proposal, ed.headers, { note: "A third variant" })
    assert.deepInclude(noted.json, { note: "A third variant", version: 3 })

    const seen = (await send("GET", proposal, viewer.headers)).json
    assert.deepInclude(seen, {
      author: "Ed Itor",
      author_id: ed.id,
      kind: "changed",
      state: "requested",
      is_outdated: false,
    })
    const fields = Object.fromEntries(seen.changes.fields.map(({ field, ...rest }: Json) => [field, rest]))
    assert.deepStrictEqual(fields["/name"], { before: "Welcome", after: "Hello" })
    assert.deepStrictEqual(fields["/objective"], { before: "click", after: "conversion" })
    assert.deepStrictEqual(fields["/variants/c/vars/subject"], { after: "Third, better" })

    for (const [by, detail] of [[ed, "You proposed"], [viewer, "role editor"]] as const) {
      const refused = await send("POST", `${proposal}/approve`, by.headers, { version: 3 })
      assertProblem(refused, 403, "forbidden")
      assert.include(refused.json.detail, detail)
    }
    const stale = await send("POST", `${proposal}/approve`, ann.headers, { version: 2 })
    assertProblem(stale, 409, "proposal-conflict")
    const approved = await send("POST", `${proposal}/approve`, ann.headers, { version: 3, comment: "Nice" })
    assert.strictEqual(approved.status, 200, approved.text)
    assert.deepInclude(approved.json, { state: "approved", decided_by: "Ann Smith", comment: "Nice" })
    const now = await live("collects")
    assert.deepInclude(now, { name: "Hello", objective: "conversion" })
    assert.deepStrictEqual(now.variants.map(({ id }: Json) => id), ["a", "b", "draft", "c"])
    const served = await org.batch({ requests: [{ template_id: "welcome", copy_id: "c" }] })
    assert.include(served.text, "Third, better")
    assertProblem(await send("POST", `${proposal}/approve`, ann.headers, { version: 3 }), 409, "proposal-conflict")
    const { changes } = await manage("GET", `${path}/history`)
    assert.deepInclude(changes[0], { actor: ann.email, action: "template changed", subject: "welcome" })
    assert.deepInclude(changes[0].details, { by: "approval", proposal: String(id) })
  })

  it("refuses a change of a template that has changed since, shows both, and approves it once it is updated", async () => {
    await approving("moves")
    const [ed, ann] = [await member("moves", "Ed Itor", "editor"), await member("moves", "Ann Smith", "admin")]
    const path = "/organizations/moves/templates/welcome"
    const { json } = await send("PATCH", `${path}/variants/a`, ed.headers, { vars: { subject: "Mine" } })
    const proposal = `/organizations/moves/proposals/${json.proposals[0].id}`
    await manage("PATCH", `${path}/variants/a`, { vars: { subject: "Theirs" } })
    await manage("PATCH", path, { objective: "open" })
    const refused = await send("POST", `${proposal}/approve`, ann.headers, { version: 1 })
    assertProblem(refused, 409, "proposal-conflict")
    assert.include(refused.json.detail, "has changed")
    assert.strictEqual((await live("moves")).variants[0].vars.subject, "Theirs")
    const both = (await send("GET", proposal, ann.headers)).json
    assert.isTrue(both.is_outdated)
    assert.deepStrictEqual(both.both, ["/variants/a/vars/subject"])
    assert.deepStrictEqual(both.changes.fields, [
      { field: "/variants/a/vars/subject", before: "Hello", after: "Mine" },
    ])
    assert.deepStrictEqual(both.live_changes.fields, [
      { field: "/objective", before: "click", after: "open" },
      { field: "/variants/a/vars/subject", before: "Hello", after: "Theirs" },
    ])
    assertProblem(await send("PATCH", proposal, ann.headers, { update: true }), 403, "forbidden")
    const updated = await send("PATCH", proposal, ed.headers, { update: true })
    assert.deepInclude(updated.json, { version: 2, state: "requested" })
    const clean = (await send("GET", proposal, ann.headers)).json
    assert.isFalse(clean.is_outdated)
    assert.deepStrictEqual(clean.changes.fields, [
      { field: "/variants/a/vars/subject", before: "Theirs", after: "Mine" },
    ])
    assert.strictEqual((await send("POST", `${proposal}/approve`, ann.headers, { version: 2 })).status, 200)
    const now = await live("moves")
    assert.deepStrictEqual([now.variants[0].vars.subject, now.objective], ["Mine", "open"])
  })

  it("rejects with a comment, withdraws, and does not change closed proposals", async () => {
    await approving("closes", "admin")
    const [ed, other] = [await member("closes", "Ed Itor", "editor"), await member("closes", "Other One", "editor")]
    const admin = await member("closes", "Ad Min", "admin")
    const path = "/organizations/closes/templates/welcome"
    const proposed = async () => {
      const { json } = await send("DELETE", `${path}/variants/b`, ed.headers)
      return `/organizations/closes/proposals/${json.proposals[0].id}`
    }
    const first = await proposed()
    const refused = await send("POST", `${first}/reject`, other.headers, {})
    assertProblem(refused, 403, "forbidden")
    assert.include(refused.json.detail, "role admin")
    const rejected = await send("POST", `${first}/reject`, admin.headers, { comment: "Keep it" })
    assert.deepInclude(rejected.json, { state: "rejected", comment: "Keep it", decided_by: "Ad Min" })
    assertProblem(await send("POST", `${first}/withdraw`, ed.headers), 409, "proposal-conflict")
    const second = await proposed()
    assert.notStrictEqual(second, first)
    assertProblem(await send("POST", `${second}/withdraw`, other.headers), 403, "forbidden")
    assert.strictEqual((await send("POST", `${second}/withdraw`, ed.headers)).json.state, "withdrawn")
    const third = await proposed()
    assert.strictEqual((await send("POST", `${third}/withdraw`, admin.headers)).json.decided_by, "Ad Min")
    const all = await manage("GET", "/organizations/closes/proposals?state=all&template=welcome")
    assert.deepStrictEqual(all.proposals.map(({ state }: Json) => state), ["withdrawn", "withdrawn", "rejected"])
    const page = await manage("GET", "/organizations/closes/proposals?state=all&limit=1")
    assert.strictEqual(page.next, page.proposals[0].id)
    const whole = await manage("GET", "/organizations/closes/proposals?state=all&limit=3")
    assert.lengthOf(whole.proposals, 3)
    assert.isNull(whole.next)
    for (const id of ["0", "x", "999999", "9".repeat(40)]) {
      assertProblem(await send("GET", `/organizations/closes/proposals/${id}`, ed.headers), 404, "proposal-not-found")
    }
    assert.strictEqual((await live("closes")).variants.length, 3)
    const { entries } = await manage("GET", "/organizations/closes/audit")
    const told = entries.filter(({ action }: Json) => /^change (rejected|withdrawn)/.test(action))
    assert.deepStrictEqual(told.map(({ action, actor }: Json) => [action, actor]), [
      ["change withdrawn", admin.email],
      ["change withdrawn", ed.email],
      ["change rejected", admin.email],
    ])
    assert.deepInclude(told[2], { subject: "welcome", details: { comment: "Keep it", id: first.split("/").at(-1) } })
  })

  it("withdraws a proposal without remaining changes, and separates proposals of different authors", async () => {
    await approving("undoes")
    const [ed, ann] = [await member("undoes", "Ed Itor", "editor"), await member("undoes", "Ann Smith", "editor")]
    const path = "/organizations/undoes/templates/welcome/variants/a"
    await send("PATCH", path, ed.headers, { vars: { subject: "Mine" } })
    await send("PATCH", path, ann.headers, { active: false })
    const open = async () => (await manage("GET", "/organizations/undoes/proposals")).proposals
    assert.strictEqual((await open()).length, 2)
    assert.strictEqual((await send("PATCH", path, ed.headers, { vars: { subject: "Hello" } })).status, 202)
    assert.deepStrictEqual((await open()).map(({ author }: Json) => author), ["Ann Smith"])
  })

  it("imports into the author's open change, and proposes one change for each template", async () => {
    await approving("imports")
    const ed = await member("imports", "Ed Itor", "editor")
    await manage("POST", "/organizations/imports/templates", { ...welcome, id: "other" }, 201)
    await send("PATCH", "/organizations/imports/templates/welcome", ed.headers, { objective: "open" })
    const imported = await send("POST", "/organizations/imports/templates/import", ed.headers, {
      templates: ["welcome", "other"].map((id) => ({
        ...welcome,
        id,
        variants: [{ id: "a", vars: { subject: "New" } }],
      })),
    })
    assert.strictEqual(imported.status, 202, imported.text)
    assert.sameMembers(imported.json.proposals.map(({ template_id }: Json) => template_id), ["welcome", "other"])
    const { proposals } = await manage("GET", "/organizations/imports/proposals?template=welcome")
    const { changes } = await manage("GET", `/organizations/imports/proposals/${proposals[0].id}`)
    assert.deepStrictEqual(changes.fields.map(({ field }: Json) => field), ["/objective", "/variants/a/vars/subject"])
    const dry = await send("POST", "/organizations/imports/templates/import?dry_run=true", ed.headers, {
      templates: [welcome],
    })
    assert.strictEqual(dry.status, 200, dry.text)
  })

  it("creates and deletes templates with an approval, but does not overwrite one created meanwhile", async () => {
    await approving("whole")
    const [ed, ann] = [await member("whole", "Ed Itor", "editor"), await member("whole", "Ann Smith", "editor")]
    const made = await propose("whole", ed.headers, "createTemplate")
    assert.strictEqual((await propose("whole", ed.headers, "createTemplate")).status, 409)
    const proposal = `/organizations/whole/proposals/${made.json.proposals[0].id}`
    await manage("POST", "/organizations/whole/templates", { id: "new", name: "Taken" }, 201)
    assertProblem(await send("POST", `${proposal}/approve`, ann.headers, { version: 1 }), 409, "proposal-conflict")
    await manage("DELETE", "/organizations/whole/templates/new", undefined, 204)
    assert.strictEqual((await send("POST", `${proposal}/approve`, ann.headers, { version: 1 })).status, 200)
    assert.strictEqual((await manage("GET", "/organizations/whole/templates/new")).variants.length, 1)
    const gone = await propose("whole", ed.headers, "deleteTemplate")
    assert.strictEqual(gone.status, 202)
    const deletion = `/organizations/whole/proposals/${gone.json.proposals[0].id}`
    assert.strictEqual((await manage("GET", deletion)).kind, "deleted")
    assert.strictEqual((await send("POST", `${deletion}/approve`, ann.headers, { version: 1 })).status, 200)
    assert.strictEqual((await bench.service.manage("GET", "/organizations/whole/templates/welcome")).status, 404)
  })

  it("notifies reviewers, the author and mentioned people", async () => {
    await approving("told")
    const [ed, ann] = [await member("told", "Ed Itor", "editor"), await member("told", "Ann Smith", "editor")]
    const made = await send("PATCH", "/organizations/told/templates/welcome/variants/a", ed.headers, { active: false })
    const proposal = `/organizations/told/proposals/${made.json.proposals[0].id}`
    await send("POST", `${proposal}/reject`, ann.headers, { comment: "No" })
    await send("POST", "/organizations/told/templates/welcome/comments", ann.headers, { text: "@Ed Itor why?" })
    const rows = await bench.notifications("told")
    assert.deepStrictEqual(rows.map(({ accountId, kind }) => [kind, accountId]), [
      ["review.requested", ann.id],
      ["review.rejected", ed.id],
      ["comment.mention", ed.id],
    ])
  })

  it("stores comments with mentions, and marks former members", async () => {
    await approving("talks")
    const [ed, ann] = [await member("talks", "Ed Itor", "editor"), await member("talks", "Ann Smith", "admin")]
    const viewer = await member("talks", "Vi Ewer", "viewer")
    const path = "/organizations/talks/templates/welcome/comments"
    const text = "@Ann Smith see <b>this</b>\nשלום"
    const added = await send("POST", path, viewer.headers, { text, variant_id: "a" })
    assert.strictEqual(added.status, 201, added.text)
    assert.deepInclude(added.json, { author: "Vi Ewer", author_id: viewer.id, text, variant_id: "a" })
    assert.deepStrictEqual(added.json.mentions, [{ account_id: ann.id, name: "Ann Smith" }])
    const one = `${path}/${added.json.id}`
    for (const patch of [{ text: "Mine now" }, { text: " " }, { text: "x".repeat(5001) }]) {
      assert.include([400, 403], (await send("PATCH", one, ed.headers, patch)).status)
    }
    assertProblem(await send("DELETE", one, ed.headers), 403, "forbidden")
    assertProblem(await send("POST", path, ed.headers, { text: "x", variant_id: "none" }), 404, "variant-not-found")
    const edited = await send("PATCH", one, viewer.headers, { text: `${text}!` })
    assert.isNotNull(edited.json.edited_at)
    const resolved = await send("PATCH", one, ed.headers, { resolved: true })
    assert.strictEqual(resolved.json.resolved_by, "Ed Itor")
    assert.deepStrictEqual((await manage("GET", `${path}?state=open`)).comments, [])
    assert.isNull((await send("PATCH", one, ed.headers, { resolved: false })).json.resolved_at)
    await manage("DELETE", `/organizations/talks/members/${viewer.id}`, undefined, 204)
    await manage("DELETE", `/accounts/${ann.id}`, undefined, 204)
    const { comments: [left] } = await manage("GET", `${path}?variant=a`)
    assert.deepInclude(left, { author: "former member", text: "@former member see <b>this</b>\nשלום!" })
    assert.strictEqual((await bench.service.manage("DELETE", one)).status, 204)
    assertProblem(await send("DELETE", one, ed.headers), 404, "comment-not-found")
    const { entries } = await manage("GET", "/organizations/talks/audit")
    const entry = entries.find(({ action }: Json) => action === "comment added")
    assert.notInclude(JSON.stringify(entry), "שלום")
  })
})
