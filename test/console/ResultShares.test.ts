import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { it } from "vitest"
import { encodeContext } from "../../src/bandit/Contexts.ts"
import { day, makeTemplate, plant, settle, suiteOnServer } from "../learning/support.ts"
import { managed, signedIn } from "./furnished.ts"

const segment = encodeContext([["plan", "a-secret-plan"]])

suiteOnServer("Links to results", (server) => {
  const start = async (slug: string, copies = ["warm", "short"]) => {
    const manage = managed(server().service)
    await manage("POST", "/organizations", { slug, name: "Harbour Books" })
    await server().run(makeTemplate(slug, "t", copies))
    await manage("PATCH", `/organizations/${slug}/templates/t`, { name: "Cart reminder" })
    await server().run(Effect.gen(function* () {
      for (const ago of [3, 5, 7, 9]) {
        yield* plant(slug, { segment, ago: ago * day, copy: "warm", decisions: 300, outcomes: { click: 90 } })
        yield* plant(slug, { segment, ago: ago * day, copy: "short", decisions: 300, outcomes: { click: 30 } })
      }
      yield* settle(slug)
    }))
    return {
      manage,
      path: `/console/o/${slug}/templates/t/results/share`,
      shares: `/organizations/${slug}/templates/t/result-shares`,
      editor: await signedIn(server().service, `${slug}@example.com`, [slug, "editor"]),
    }
  }

  /** The page of a link, as somebody without a session gets it. */
  const visit = async (path: string) => {
    const answer = await server().service.request(path)
    return { status: answer.status, headers: answer.headers, text: await answer.text() }
  }

  /** The path of the link that a page shows. */
  const linkOn = (text: string): string =>
    /value="https?:\/\/[^/"]+(\/console\/shared-results\?token=[\w-]{43})"/.exec(text)![1]!

  const entries = async (slug: string) => {
    const { entries } = await managed(server().service)("GET", `/organizations/${slug}/audit`)
    return entries.filter(({ action }: { action: string }) =>
      action.startsWith("results") || action.startsWith("shared")
    )
  }

  it("open only the results without signing in", async () => {
    const { editor, path } = await start("opens")
    assert.include((await editor.get(path.replace("/share", ""))).text, `href="${path}"`)
    const asked = await editor.get(path)
    assert.match(asked.text, /<option value="7" selected[^>]*>7 days</)
    const made = await editor.post(path, { expires_in_days: "7" })
    assert.strictEqual(made.status, 200)
    const page = await visit(linkOn(made.text))
    assert.match(page.text, /<header><span class="brand"><span class="monogram" aria-hidden="true">\w<\/span><bdi>/)
    assert.match(page.text, /<span class="muted">\d+ \w+ 20\d\d · /)
    assert.strictEqual(page.status, 200)
    for (
      const told of ["Cart reminder · Results", "warm", "Click rate over time", "Chance to be best", "Harbour Books"]
    ) {
      assert.include(page.text, told)
    }
    assert.strictEqual(page.headers.get("x-robots-tag"), "noindex, nofollow")
    assert.strictEqual(page.headers.get("referrer-policy"), "no-referrer")
    assert.strictEqual(page.headers.get("cache-control"), "no-store")
    assert.include(page.text, '<meta name="robots" content="noindex"')
    assert.notMatch(page.text, /href="\/console\/o\/|<nav[^>]*aria-label="(Main|Template|Breadcrumbs)"|a-secret-plan/)
    assert.notInclude(page.text, "Ship one variant")
    assert.notInclude(page.text, "opens@example.com")
  })

  it("keep the token in links of the table, so that sorting works", async () => {
    const { manage, shares } = await start("sorts", [
      "warm",
      "short",
      ...Array.from({ length: 10 }, (_, n) => `other-${n}`),
    ])
    const { path } = await manage("POST", shares, {})
    const [, sorted] = /href="(\/console\/shared-results\?[^"]*sort=[^"]*)"/.exec((await visit(path)).text)!
    const page = await visit(sorted!.replaceAll("&amp;", "&"))
    assert.strictEqual(page.status, 200)
    assert.include(page.text, "Cart reminder · Results")
  })

  it("store only a digest of the token, and show the link once", async () => {
    const { editor, path } = await start("digests")
    const token = linkOn((await editor.post(path, { expires_in_days: "30" })).text).split("=")[1]!
    const rows = await server().run(Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      return yield* sql`SELECT s.* FROM result_shares s WHERE s.org_slug = 'digests'`
    }))
    assert.strictEqual(rows.length, 1)
    assert.notInclude(JSON.stringify(rows), token)
    assert.notInclude((await editor.get(path)).text, token)
    assert.notInclude(JSON.stringify(await entries("digests")), token)
  })

  it("work for the chosen number of days until they are revoked, with audit entries", async () => {
    const { editor, manage, path, shares } = await start("ends")
    for (const days of [1, 7, 30, 90]) {
      const share = await manage("POST", shares, { expires_in_days: days })
      assert.strictEqual(Date.parse(share.expires_at) - Date.parse(share.created_at), days * day)
      assert.strictEqual(share.created_by, "Admin token")
    }
    const refused = await server().service.manage("POST", shares, { expires_in_days: 365 })
    assert.strictEqual(refused.status, 400)
    assert.strictEqual((await editor.post(path, { expires_in_days: "2" })).status, 400)
    const link = linkOn((await editor.post(path, { expires_in_days: "1" })).text)
    const { shares: [newest] } = await manage("GET", shares)
    assert.strictEqual(newest.created_by, "Ada Lovelace")
    const revoked = await editor.post(`${path}/${newest.id}/revoke`)
    assert.strictEqual(revoked.location, `${path}?done=share-revoked`)
    const dead = await visit(link)
    assert.strictEqual(dead.status, 404)
    assert.include(dead.text, "This link no longer works")
    assert.notInclude(dead.text, "Cart reminder")
    assert.strictEqual((await server().service.manage("DELETE", `${shares}/${newest.id}`)).status, 404)
    const actions = (await entries("ends")).map(({ action, details, subject }: Record<string, unknown>) => [
      action,
      subject,
      details,
    ])
    assert.deepStrictEqual(actions.slice(0, 3), [
      ["shared results revoked", `t / ${newest.id}`, {}],
      ["results shared", "t", { expires_in_days: "1" }],
      ["results shared", "t", { expires_in_days: 90 }],
    ])
  })

  it("are refused after they expire, and after the template is deleted", async () => {
    const { manage, shares } = await start("expires")
    const { path } = await manage("POST", shares, {})
    const { path: other } = await manage("POST", shares, {})
    await server().run(Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        UPDATE result_shares s SET expires_at = now() - interval '1 second'
        WHERE s.org_slug = 'expires' AND s.id = (SELECT min(o.id) FROM result_shares o WHERE o.org_slug = 'expires')`
    }))
    const statuses = [(await visit(path)).status, (await visit(other)).status]
    assert.sameMembers(statuses, [404, 200])
    assert.lengthOf((await manage("GET", shares)).shares, 1)
    await manage("PATCH", "/organizations/expires/templates/t", { archived: true })
    assert.strictEqual((await visit(statuses[0] === 200 ? path : other)).status, 200, "results of the past stay shared")
    await manage("DELETE", "/organizations/expires/templates/t")
    assert.deepStrictEqual([(await visit(path)).status, (await visit(other)).status], [404, 404])
  })

  it("are created by editors, and visible only to members of the organization", async () => {
    const { manage, path, shares } = await start("roles")
    const viewer = await signedIn(server().service, "looks@example.com", ["roles", "viewer"])
    assert.strictEqual((await viewer.post(path, { expires_in_days: "7" })).status, 403)
    assert.notInclude((await viewer.get(path.replace("/share", ""))).text, `href="${path}"`)
    const { id } = await manage("POST", shares, {})
    assert.include((await viewer.get(path)).text, "Admin token")
    assert.strictEqual((await viewer.post(`${path}/${id}/revoke`)).status, 403)
    await manage("POST", "/organizations", { slug: "strangers", name: "Strangers" })
    const stranger = await signedIn(server().service, "stranger@example.com", ["strangers", "admin"])
    assert.strictEqual((await stranger.get(path)).status, 403)
    const theirs = await server().service.manage("DELETE", `/organizations/strangers/templates/t/result-shares/${id}`)
    assert.strictEqual(theirs.status, 404)
    assert.lengthOf((await manage("GET", shares)).shares, 1)
  })

  it("are limited to 20 per template", async () => {
    const { editor, manage, path, shares } = await start("many")
    for (let n = 0; n < 20; n++) await manage("POST", shares, {})
    const refused = await editor.post(path, { expires_in_days: "7" })
    assert.strictEqual(refused.status, 400)
    assert.include(refused.text, "The template has 20 links already")
  })

  it("are rate limited per network, for valid and invalid tokens", async () => {
    const { manage, shares } = await start("limits")
    const { path } = await manage("POST", shares, {})
    let answer = await visit("/console/shared-results?token=nothing")
    assert.strictEqual(answer.status, 404)
    for (let n = 0; n < 121 && answer.status === 404; n++) answer = await visit("/console/shared-results")
    assert.strictEqual(answer.status, 429)
    assert.isAbove(Number(answer.headers.get("retry-after")), 0)
    assert.strictEqual((await visit(path)).status, 429)
  })
})
