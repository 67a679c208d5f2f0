import { assert, it } from "@effect/vitest"
import { HttpApi } from "effect/http-api"
import { accessTable } from "../../src/api/AccessTable.ts"
import { Api } from "../../src/api/Api.ts"
import { adminToken } from "../support/service.ts"
import { type Answer, assertProblem, type Json, read, suiteOnService } from "../api/harness.ts"

interface Endpoint {
  readonly name: string
  readonly method: string
  readonly path: string
}

const endpoints: Array<Endpoint> = []
HttpApi.reflect(Api, {
  onGroup: () => {},
  onEndpoint: ({ endpoint }) => {
    if (endpoint.path.startsWith("/console/api")) {
      endpoints.push({ name: endpoint.identifier, method: endpoint.method, path: endpoint.path })
    }
  },
})

const password = "four unrelated words here"
const roles = ["viewer", "editor", "admin"] as const

it("every management endpoint that changes data has an action for the audit log", () => {
  const unrecorded = [
    "preview",
    "previewSuggestions",
    "checkSnippet",
    "convertCopy",
    "dryRun",
    "putDraft",
    "discardDraft",
    "readNotifications",
  ]
  for (const { method, name } of endpoints) {
    assert.strictEqual(
      accessTable.get(name)!.action !== undefined,
      method !== "GET" && !unrecorded.includes(name),
      name,
    )
  }
})

suiteOnService("Sessions in the management API", (bench) => {
  const call = async (path: string, init: RequestInit = {}): Promise<Answer> =>
    read(await bench.service.request(path, { redirect: "manual", ...init }))
  const manage = async (method: string, path: string, body?: unknown): Promise<Json> => {
    const answer = await bench.service.manage(method, path, body)
    assert.isBelow(answer.status, 300, `${method} ${path} ${JSON.stringify(answer.body)}`)
    return answer.body
  }

  /** An account that is signed in, and how it asks. */
  const signedIn = async (email: string, administrator = false) => {
    const { id } = await manage("POST", "/accounts", { email, name: email, password, administrator })
    const answer = await call("/console/sign-in", {
      method: "POST",
      body: new URLSearchParams({ email, password }),
    })
    assert.strictEqual(answer.status, 303, answer.text)
    const cookie = answer.headers.get("set-cookie")!.split(";")[0]!
    const session = await call("/console/api/session", { headers: { cookie } })
    const csrf: string = session.json.csrf_token
    const ask = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
      call(`/console/api${path}`, {
        method,
        headers: { cookie, "x-csrf-token": csrf, "content-type": "application/json", ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
    return { id: id as string, email, cookie, csrf, ask }
  }

  const member = async (org: string, role: (typeof roles)[number], email: string) => {
    const account = await signedIn(email)
    await manage("PUT", `/organizations/${org}/members/${account.id}`, { role })
    return account
  }

  const fill = (path: string, org: string) =>
    path.replace("/console/api", "").replace(":org", org).replace(":segment", "provider_a").replace(/:\w+/g, "none")

  it("may do what their role allows on every endpoint, and nothing in any other organization", async () => {
    const own = await bench.organization("policy-own")
    const other = await bench.organization("policy-other")
    for (const role of roles) {
      const { ask } = await member(own.slug, role, `policy-${role}@example.com`)
      for (const { method, name, path } of endpoints) {
        // One's own session must last.
        if (name === "updateOwnAccount" || name === "revokeSession") continue
        // With an invalid body, an allowed request fails later than at the check of its role.
        const body = method === "GET" || method === "DELETE" ? undefined : []
        const { needs } = accessTable.get(name)!
        const allowed = needs === "signed-in" ||
          (needs !== "administrator" && roles.indexOf(role) >= roles.indexOf(needs))
        const answer = await ask(method, fill(path, own.slug), body)
        assert.strictEqual(answer.status !== 403, allowed, `${role} ${name} ${answer.text}`)
        if (!allowed) assertProblem(answer, 403, "forbidden", name)
        if (!path.includes(":org")) continue
        const [foreign, unknown] = [
          await ask(method, fill(path, other.slug), body),
          await ask(method, fill(path, "policy-nobody"), body),
        ]
        assertProblem(foreign, 403, "forbidden", name)
        assert.strictEqual(
          foreign.text.replaceAll(other.slug, "X"),
          unknown.text.replaceAll("policy-nobody", "X"),
          "whether an organization exists is not told",
        )
      }
    }
  })

  it("need a CSRF token and the same origin for every change", async () => {
    const org = await bench.organization("csrf")
    const { ask, cookie, csrf } = await member(org.slug, "admin", "csrf@example.com")
    const path = `/organizations/${org.slug}/keys`
    const refused: ReadonlyArray<Record<string, string>> = [
      { "x-csrf-token": "" },
      { "x-csrf-token": `${csrf}x` },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { origin: "https://evil.example" },
      { origin: "null" },
    ]
    for (const headers of refused) {
      assertProblem(await ask("POST", path, { name: "k" }, headers), 403, "forbidden", JSON.stringify(headers))
    }
    const bearer = { authorization: `Bearer ${adminToken}x` }
    assertProblem(
      await ask("POST", path, { name: "k" }, bearer),
      401,
      "unauthorized",
      "a wrong token is not overlooked",
    )
    assert.strictEqual((await ask("POST", path, { name: "k" }, { "sec-fetch-site": "same-origin" })).status, 201)
    assert.strictEqual((await ask("POST", path, { name: "k" }, { origin: bench.service.url })).status, 201)
    const forged = await call(`/console/o/${org.slug}/settings/keys/new`, {
      method: "POST",
      headers: { cookie },
      body: new URLSearchParams({ name: "k", scopes: "generate" }),
    })
    assert.strictEqual(forged.status, 403)
    assert.strictEqual((await manage("GET", path)).keys.length, 3, "the organization's own, and the two")
  })

  it("see only their own organizations, except administrators", async () => {
    const org = await bench.organization("mine")
    const { ask } = await member(org.slug, "viewer", "mine@example.com")
    const own = (await ask("GET", "/organizations")).json.organizations.map(({ slug }: Json) => slug)
    assert.deepStrictEqual(own, [org.slug])
    const administrator = await signedIn("all@example.com", true)
    const all = (await administrator.ask("GET", "/organizations")).json.organizations.map(({ slug }: Json) => slug)
    assert.includeMembers(all, [org.slug, "csrf"])
    assertProblem(await administrator.ask("GET", "/organizations/nobody"), 404, "organization-not-found")
  })

  it("cannot set up provider_e, whatever their role and the name it is called by", async () => {
    const org = await bench.organization("restricted")
    const administrator = await signedIn("restricted@example.com", true)
    for (const segment of ["provider_e", "sfmc"]) {
      const answer = await administrator.ask("PUT", `/organizations/${org.slug}/webhooks/${segment}`, { enabled: true })
      assertProblem(answer, 403, "forbidden", segment)
      assert.include(answer.json.detail, "command line")
    }
  })

  it("cannot change their own role, add unknown accounts, or keep access after their membership ends", async () => {
    const org = await bench.organization("members")
    const admin = await member(org.slug, "admin", "members-admin@example.com")
    const guest = await signedIn("members-guest@example.com")
    const at = `/organizations/${org.slug}/members`
    assertProblem(await admin.ask("PUT", `${at}/${admin.id}`, { role: "viewer" }), 422, "unprocessable")
    assertProblem(await admin.ask("DELETE", `${at}/${admin.id}`), 422, "unprocessable")
    assertProblem(await admin.ask("PUT", `${at}/${guest.id}`, { role: "viewer" }), 404, "account-not-found")
    await manage("PUT", `${at}/${guest.id}`, { role: "editor" })
    assert.strictEqual((await guest.ask("GET", at)).status, 200)
    assert.strictEqual((await admin.ask("DELETE", `${at}/${guest.id}`)).status, 204)
    assertProblem(await guest.ask("GET", at), 403, "forbidden")
  })

  it("have pages in the language of the account, or else of the browser", async () => {
    const { ask, cookie } = await signedIn("language@example.com")
    const pageIn = async (accepted: string) => {
      const page = await call("/console/account", { headers: { cookie, "accept-language": accepted } })
      return /<html lang="([^"]+)"/.exec(page.text)?.[1]
    }
    assert.deepStrictEqual([await pageIn("en-GB,en;q=0.9"), await pageIn("de-CH,de;q=0.9,en;q=0.8")], ["en", "de"])
    assert.strictEqual((await ask("PATCH", "/account", { language: "de" })).json.language, "de")
    assert.strictEqual(await pageIn("en"), "de")
    const unknown = await ask("PATCH", "/account", { language: "tlh" })
    assertProblem(unknown, 400, "invalid-request")
    assert.strictEqual(unknown.json.errors[0].pointer, "/language")
    assert.strictEqual((await ask("PATCH", "/account", { name: "Ann" })).json.language, "de")
    assert.strictEqual((await ask("PATCH", "/account", { language: null })).json.language, null)
    assert.strictEqual(await pageIn("en"), "en")
  })

  it("are listed, ended one by one, and all by a new password, which needs the old one", async () => {
    const account = await signedIn("own@example.com")
    const again = await call("/console/sign-in", {
      method: "POST",
      body: new URLSearchParams({ email: account.email, password }),
    })
    const second = again.headers.get("set-cookie")!.split(";")[0]!
    const listed = (await account.ask("GET", "/sessions")).json.sessions
    assert.strictEqual(listed.length, 2)
    const other = listed.find(({ current }: Json) => !current)
    assert.strictEqual((await account.ask("DELETE", `/sessions/${other.id}`)).status, 204)
    assert.strictEqual((await call("/console/api/session", { headers: { cookie: second } })).status, 401)
    assertProblem(await account.ask("DELETE", `/sessions/${other.id}`), 404, "session-not-found")
    const wrong = await account.ask("PATCH", "/account", { password: "another set of words", current_password: "no" })
    assertProblem(wrong, 400, "invalid-request")
    assert.strictEqual(wrong.json.errors[0].pointer, "/current_password")
    const changed = await account.ask("PATCH", "/account", {
      password: "another set of words",
      current_password: password,
    })
    assert.strictEqual(changed.status, 200, changed.text)
    assert.match(changed.headers.get("set-cookie") ?? "", /HttpOnly; SameSite=Lax/)
    assertProblem(await account.ask("GET", "/session"), 401, "unauthorized", "the old token is gone")
  })

  it("are written to the audit log with what they changed, without secrets and persons", async () => {
    const org = await bench.organization("audited")
    const admin = await member(org.slug, "admin", "audited@example.com")
    const at = `/organizations/${org.slug}`
    await admin.ask("PATCH", at, { name: "Renamed", time_zone: "Europe/Berlin" })
    await admin.ask("PATCH", at, { name: "" })
    const { json: key } = await admin.ask("POST", `${at}/keys`, { name: "Shop" })
    await admin.ask("PUT", `${at}/webhooks/provider_a`, { secret: "whsec_very-secret-indeed", enabled: true })
    await admin.ask("POST", `${at}/erasures`, { user_id: "private-person" })
    await manage("POST", `${at}/templates`, { id: "by-token", name: "T" })
    const { json } = await admin.ask("GET", `${at}/audit`)
    const text = JSON.stringify(json)
    for (const hidden of ["very-secret", "private-person", key.key]) assert.notInclude(text, hidden)
    const found = json.entries.map(({ action, actor }: Json) => `${actor}: ${action}`)
    assert.include(found, "audited@example.com: organization changed")
    assert.include(found, "audited@example.com: person erased")
    assert.include(found, "Admin token: template created")
    assert.strictEqual(
      found.filter((one: string) => one.endsWith("organization changed")).length,
      1,
      "a refusal is no change",
    )
    const renamed = json.entries.find(({ action }: Json) => action === "organization changed")
    assert.deepStrictEqual(renamed.details, { name: "Renamed", time_zone: "Europe/Berlin" })
    const page = (await admin.ask("GET", `${at}/audit?limit=2`)).json
    assert.deepStrictEqual(
      [...page.entries, ...(await admin.ask("GET", `${at}/audit?before=${page.next}&limit=200`)).json.entries],
      json.entries,
    )
    assertProblem(await admin.ask("GET", `${at}/audit?limit=0&before=x`), 400, "invalid-request")
  })
})
