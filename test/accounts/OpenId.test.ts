import { assert, describe } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, it } from "vitest"
import { isVerified } from "../../src/accounts/OpenId.ts"
import { makeOrganization, type Service } from "../support/service.ts"
import { startWith } from "../support/servicesOf.ts"
import { type Behaviour, provider } from "./provider.ts"

const secret = "a-client-secret-of-the-test"

describe("sign-in with OpenID Connect", () => {
  let scope: Scope.Closeable
  let service: Service
  let behaviour: Behaviour

  beforeAll(async () => {
    scope = await Effect.runPromise(Scope.make())
    const started = await Effect.runPromise(Scope.provide(
      Effect.gen(function* () {
        const { behaviour, issuer } = yield* provider("parlance", secret)
        const { service } = yield* startWith({
          OIDC_ISSUER: issuer,
          OIDC_CLIENT_ID: "parlance",
          OIDC_CLIENT_SECRET: secret,
        })
        return { behaviour, service }
      }),
      scope,
    ))
    service = started.service
    behaviour = started.behaviour
    await makeOrganization(service, "acme")
  })
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

  const get = (path: string, cookie = "") =>
    fetch(path.startsWith("http") ? path : `${service.url}${path}`, { redirect: "manual", headers: { cookie } })

  /**
   * Follows all redirects of a sign-in as a browser does. Returns the last response, the address of the callback and
   * the cookie.
   */
  const goThrough = async (as: Partial<Behaviour>, next = "") => {
    Object.assign(behaviour, {
      verified: true,
      forged: false,
      nonce: undefined,
      claims: {},
      userinfo: {},
      ...as,
    })
    const begun = await get(`/console/openid${next}`)
    assert.strictEqual(begun.status, 303)
    const cookie = begun.headers.get("set-cookie")!.split(";")[0]!
    assert.match(begun.headers.get("set-cookie")!, /HttpOnly; SameSite=Lax/)
    const provided = await get(begun.headers.get("location")!)
    const callback = provided.headers.get("location")!
    return { response: await get(callback, cookie), callback, cookie }
  }

  const sessionOf = async (response: Response) => {
    const cookie = response.headers.get("set-cookie")?.split(";")[0]
    if (cookie === undefined) return undefined
    return (await get("/console/api/session", cookie)).json()
  }

  it("is offered on the page", async () => {
    assert.include(await (await get("/console/sign-in")).text(), "/console/openid")
  })

  it("signs in an existing account, and redirects to the requested page", async () => {
    await service.manage("POST", "/accounts", { email: "known@example.com", name: "Known" })
    const { response } = await goThrough({ email: "Known@Example.com" }, "?next=%2Fconsole%2Faccount")
    assert.strictEqual(response.headers.get("location"), "/console/account")
    assert.strictEqual((await sessionOf(response)).account.name, "Known")
    const elsewhere = await goThrough({ email: "known@example.com" }, "?next=https%3A%2F%2Fevil.example")
    assert.strictEqual(elsewhere.response.headers.get("location"), "/console")
  })

  it("creates an account for an invited person with the role of the invitation", async () => {
    await service.manage("POST", "/organizations/acme/invitations", { email: "invited@example.com", role: "editor" })
    const { response } = await goThrough({ email: "invited@example.com" })
    const session = await sessionOf(response)
    assert.deepStrictEqual(session.roles, { acme: "editor" })
    assert.strictEqual(session.account.name, "By Provider")
    const { body } = await service.manage("GET", "/organizations/acme/invitations")
    assert.deepStrictEqual(body.invitations, [], "the invitation is spent")
  })

  /** A session that begins with a form, as its cookie. */
  const submitted = async (path: string, fields: Record<string, string>) => {
    const response = await service.request(path, {
      method: "POST",
      redirect: "manual",
      body: new URLSearchParams(fields),
    })
    assert.strictEqual(response.status, 303, await response.text())
    return response.headers.get("set-cookie")!.split(";")[0]!
  }
  const statusOf = async (cookie: string) => (await get("/console/api/session", cookie)).status
  const password = "chosen by somebody else"

  it("removes a password chosen by another holder of the invitation, and its sessions", async () => {
    const { body } = await service.manage("POST", "/organizations/acme/invitations", {
      email: "victim@example.com",
      role: "viewer",
    })
    const token = new URL(body.path, service.url).searchParams.get("token")!
    const attacker = await submitted("/console/invitation", { token, name: "Not the victim", password })
    assert.strictEqual(await statusOf(attacker), 200)

    const { response } = await goThrough({ email: "victim@example.com" })
    assert.strictEqual(response.headers.get("location"), "/console?done=password-removed")
    const victim = response.headers.get("set-cookie")!.split(";")[0]!
    assert.strictEqual(await statusOf(victim), 200)
    assert.strictEqual(await statusOf(attacker), 401, "the attacker is signed out")
    const again = await service.request("/console/sign-in", {
      method: "POST",
      redirect: "manual",
      body: new URLSearchParams({ email: "victim@example.com", password }),
    })
    assert.strictEqual(again.status, 401, "the attacker's password opens nothing")
    const account = await (await get("/console/account", victim)).text()
    assert.include(account, "Choose password")
    assert.notInclude(account, "Current password")
    const { csrf_token: csrf } = await (await get("/console/api/session", victim)).json()
    const chosen = await service.request("/console/account/password", {
      method: "POST",
      redirect: "manual",
      headers: { cookie: victim },
      body: new URLSearchParams({ _csrf: csrf, password: "my own unrelated words" }),
    })
    assert.strictEqual(chosen.headers.get("location"), "/console/account?done=password-changed")
    const second = await goThrough({ email: "victim@example.com" })
    assert.strictEqual(second.response.headers.get("location"), "/console", "the owner's own password stays")
    const { body: audit } = await service.manage("GET", "/audit")
    assert.include(audit.entries.map(({ action }: { action: string }) => action), "password of unproven origin removed")
  })

  it("refuses unknown and uninvited people, and unverified addresses", async () => {
    const unknown = await goThrough({ email: "unknown@example.com" })
    assert.strictEqual(unknown.response.headers.get("location"), "/console/sign-in?failed=openid")
    assert.isNull(unknown.response.headers.get("set-cookie"))
    const { response } = await goThrough({ email: "known@example.com", verified: false })
    assert.strictEqual(response.status, 400)
    assert.isNull(response.headers.get("set-cookie"))
  })

  it("accepts the verified domain of Entra ID only in place of an absent email_verified", async () => {
    const known = { email: "known@example.com" }
    const entra = await goThrough({ ...known, verified: undefined, claims: { xms_edov: true } })
    assert.isNotNull(entra.response.headers.get("set-cookie"))
    for (const xms_edov of [1, "1", "true"]) assert.isTrue(isVerified({ xms_edov }), String(xms_edov))
    for (const xms_edov of [undefined, null, false, 0, "0", "false", [true]]) assert.isFalse(isVerified({ xms_edov }))
    for (const email_verified of [false, null, "true"]) assert.isFalse(isVerified({ email_verified, xms_edov: true }))
    const { response } = await goThrough({ ...known, verified: undefined })
    assert.strictEqual(response.status, 400)
    assert.include(await response.text(), "Single sign-on")
  })

  it("refuses a forged token, a wrong nonce, a callback of another browser, and a used callback", async () => {
    for (const wrong of [{ forged: true }, { nonce: "another" }]) {
      const { response } = await goThrough({ email: "known@example.com", ...wrong })
      assert.strictEqual(response.status, 400, JSON.stringify(wrong))
      assert.isNull(response.headers.get("set-cookie"))
    }
    const { callback, cookie } = await goThrough({ email: "known@example.com" })
    const others = [["", "no state"], [cookie, "used twice"], [`${cookie}x`, "changed"], [
      "parlance_openid=AAAA",
      "made up",
    ]]
    for (const [state, why] of others) {
      const response = await get(callback, state)
      assert.strictEqual(response.status, 400, why)
      assert.isNull(response.headers.get("set-cookie"), why)
    }
    const forgedState = callback.replace(/state=[^&]+/, "state=other")
    assert.strictEqual((await get(forgedState, cookie)).status, 400)
  })

  describe("with roles by groups", () => {
    const groupRoles = "/organizations/acme/group-roles"
    const give = async (group: string, role: string, org = "acme") => {
      const { body, status } = await service.manage("PUT", `/organizations/${org}/group-roles`, { group, role })
      assert.strictEqual(status, 200)
      return body.id as string
    }
    const as = async (email: string, groups: unknown, more: Partial<Behaviour> = {}) => {
      const { response } = await goThrough({ email, claims: groups === undefined ? {} : { groups }, ...more })
      return response.headers.get("set-cookie")?.split(";")[0]
    }
    const rolesOf = async (cookie: string | undefined) =>
      (await (await get("/console/api/session", cookie)).json()).roles
    const memberOf = async (email: string, org = "acme") => {
      const { body } = await service.manage("GET", `/organizations/${org}/members`)
      return body.members.find((one: { email: string }) => one.email === email)
    }
    const actionsOn = async (email: string) => {
      const { body } = await service.manage("GET", "/organizations/acme/audit?limit=100")
      return body.entries.filter(({ subject }: { subject: string }) => subject === email)
        .map(({ action, details }: { action: string; details: unknown }) => [action, details])
    }

    it("adds, changes and removes members, also in running sessions", async () => {
      await give("crm-viewers", "viewer")
      await give("crm-editors", "editor")
      await give("/crm/admins", "admin")
      assert.isUndefined(await as("follows@example.com", ["others"]), "no account without a group with a role")
      const first = await as("follows@example.com", ["crm-editors", "crm-viewers", "others"])
      assert.deepStrictEqual(await rolesOf(first), { acme: "editor" })
      assert.strictEqual((await memberOf("follows@example.com")).from_group, "crm-editors")
      await as("follows@example.com", "crm-viewers")
      assert.deepStrictEqual(await rolesOf(first), { acme: "viewer" }, "one group as a text")
      const many = Array.from({ length: 5_000 }, (_, at) => `group ${at}`)
      await as("follows@example.com", [...many, "crm-editors", "a\0b", "\ud800"])
      assert.deepStrictEqual(await rolesOf(first), { acme: "editor" })
      await as("follows@example.com", undefined)
      assert.deepStrictEqual(await rolesOf(first), {}, "a provider leaves the claim out for a person without groups")
      assert.deepStrictEqual((await actionsOn("follows@example.com")).toReversed(), [
        ["member added by a group", { group: "crm-editors", role: "editor" }],
        ["member changed by a group", { group: "crm-viewers", role: "viewer" }],
        ["member changed by a group", { group: "crm-editors", role: "editor" }],
        ["member removed by a group", { group: "crm-editors", role: "editor" }],
      ])
    })

    it("reads groups of the userinfo endpoint if the token has none", async () => {
      const cookie = await as("userinfo@example.com", undefined, { userinfo: { groups: ["crm-editors"] } })
      assert.deepStrictEqual(await rolesOf(cookie), { acme: "editor" })
    })

    it("changes nothing while the groups are unknown", async () => {
      const cookie = await as("unknown-groups@example.com", ["crm-editors"])
      const overage = { _claim_names: { groups: "src1" }, _claim_sources: { src1: { endpoint: "https://graph" } } }
      const cases: ReadonlyArray<Partial<Behaviour>> = [
        { claims: overage },
        { claims: { hasgroups: true } },
        { claims: { groups: { "crm-viewers": {} } } },
        { claims: { groups: ["crm-viewers", 7] } },
        { userinfo: undefined },
      ]
      for (const one of cases) {
        const { response } = await goThrough({ email: "unknown-groups@example.com", ...one })
        assert.isNotNull(response.headers.get("set-cookie"), "signed in all the same")
        assert.deepStrictEqual(await rolesOf(cookie), { acme: "editor" }, JSON.stringify(one))
      }
      const { body } = await service.manage("GET", "/audit?action=groups%20of%20a%20person%20unknown")
      assert.strictEqual(body.entries.length, cases.length)
      assert.include(JSON.stringify(body.entries), "too many groups")
    })

    it("leaves members whom a person invited, added or changed", async () => {
      await service.manage("POST", "/organizations/acme/invitations", { email: "hand@example.com", role: "viewer" })
      const cookie = await as("hand@example.com", ["/crm/admins"])
      assert.deepStrictEqual(await rolesOf(cookie), { acme: "viewer" })
      await as("hand@example.com", [])
      assert.deepStrictEqual(await rolesOf(cookie), { acme: "viewer" })
      const pinned = await as("pinned@example.com", ["crm-viewers"])
      const { account_id: id } = await memberOf("pinned@example.com")
      await service.manage("PUT", `/organizations/acme/members/${id}`, { role: "editor" })
      await as("pinned@example.com", [])
      assert.deepStrictEqual(await rolesOf(pinned), { acme: "editor" })
    })

    it("keeps the only admin of an organization", async () => {
      await makeOrganization(service, "pier")
      const admins = await give("pier-admins", "admin", "pier")
      const cookie = await as("only@example.com", ["pier-admins"])
      await as("only@example.com", [])
      assert.deepStrictEqual(await rolesOf(cookie), { pier: "admin" })
      await give("pier-admins", "viewer", "pier")
      assert.deepStrictEqual(await rolesOf(cookie), { pier: "admin" })
      await service.manage("DELETE", `/organizations/pier/group-roles/${admins}`)
      assert.isNull((await memberOf("only@example.com", "pier")).from_group)
      const others = await give("pier-others", "admin", "pier")
      const other = await as("other@example.com", ["pier-others"])
      assert.strictEqual((await service.manage("DELETE", `/organizations/pier/group-roles/${others}`)).status, 204)
      assert.deepStrictEqual(await rolesOf(other), {}, "another admin is left")
      assert.strictEqual((await service.manage("DELETE", `/organizations/pier/group-roles/${others}`)).status, 404)
    })

    it("shows groups on the pages of the members", async () => {
      const cookie = await as("pages@example.com", ["/crm/admins"])
      const page = async (path: string) => (await get(`/console/o/acme/settings/members${path}`, cookie)).text()
      assert.match(await page(""), /from the group <bdi>\/crm\/admins<\/bdi>/)
      await as("viewed@example.com", ["crm-viewers"])
      const { account_id: id } = await memberOf("viewed@example.com")
      assert.include(await page(`/${id}`), "A role that you save here stays")
      assert.include(await page(`/${id}/remove`), "unless they have left the group crm-viewers")
      const { csrf_token: _csrf } = await (await get("/console/api/session", cookie)).json()
      const post = (path: string, fields: Record<string, string>) =>
        service.request(`/console/o/acme/settings/members/groups${path}`, {
          method: "POST",
          redirect: "manual",
          headers: { cookie: cookie! },
          body: new URLSearchParams({ _csrf, ...fields }),
        })
      assert.strictEqual((await post("", { group: "", role: "viewer" })).status, 400)
      assert.strictEqual((await post("", { group: "<b>guests</b>", role: "viewer" })).status, 303)
      const listed = await page("/groups")
      assert.include(listed, "&lt;b>guests&lt;/b>")
      const [, group] = /groups\/(grp_\w+)\/remove" aria-label="Remove &lt;b>guests/.exec(listed)!
      assert.include(await page(`/groups/${group}/remove`), "lose access")
      assert.strictEqual((await post(`/${group}/remove`, {})).status, 303)
      assert.notInclude(await page("/groups"), "guests")
    })

    it("refuses empty groups, unknown roles and unknown organizations", async () => {
      const { body, status } = await service.manage("PUT", groupRoles, { group: "", role: "owner" })
      assert.strictEqual(status, 400)
      assert.deepStrictEqual(body.errors.map(({ pointer }: { pointer: string }) => pointer).sort(), ["/group", "/role"])
      const unknown = await service.manage("PUT", "/organizations/none/group-roles", { group: "a", role: "viewer" })
      assert.strictEqual(unknown.status, 404)
    })
  })
})
