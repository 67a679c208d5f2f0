import { assert, describe } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, it } from "vitest"
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
    Object.assign(behaviour, { verified: true, forged: false, nonce: undefined, ...as })
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
})
