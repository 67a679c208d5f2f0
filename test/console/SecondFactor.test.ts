import { assert, it } from "@effect/vitest"
import { Secret, TOTP } from "otpauth"
import { type Answer, assertProblem, type Json, read, suiteOnService } from "../api/harness.ts"
import { password } from "./furnished.ts"

const key = "5e".repeat(32)

/**
 * The code of so many steps of 30 seconds from now. Set-up takes the current one and the next sign-in the code of the next step, so
 * that both are accepted for at least 30 seconds, however slow this machine is.
 */
const codeOf = (secret: string, steps = 0) =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * 30_000 })

suiteOnService("The second factor", (bench) => {
  const call = async (path: string, init: RequestInit = {}): Promise<Answer> =>
    read(await bench.service.request(path, { redirect: "manual", ...init }))
  const manage = async (method: string, path: string, body?: unknown): Promise<Json> => {
    const answer = await bench.service.manage(method, path, body)
    assert.isBelow(answer.status, 300, `${method} ${path} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const cookiesOf = ({ headers }: Answer): Record<string, string> =>
    Object.fromEntries(
      headers.getSetCookie().map((text) => {
        const [name = "", value = ""] = text.split(";", 1)[0]!.split("=")
        return [name, value]
      }),
    )
  const header = (cookies: Record<string, string>) =>
    Object.entries(cookies).map(([name, value]) => `${name}=${value}`).join("; ")
  const post = (path: string, fields: Record<string, string>, cookies: Record<string, string> = {}) =>
    call(path, { method: "POST", headers: { cookie: header(cookies) }, body: new URLSearchParams(fields) })

  const account = async (email: string, org?: string, role = "viewer"): Promise<string> => {
    const { id } = await manage("POST", "/accounts", { email, name: "Ada", password, administrator: org === undefined })
    if (org !== undefined) await manage("PUT", `/organizations/${org}/members/${id}`, { role })
    return id
  }

  /** A browser with a session: asks for pages, posts forms, and calls the API. */
  const browser = async (cookies: Record<string, string>) => {
    const cookie = header(cookies)
    const csrf: string = (await call("/console/api/session", { headers: { cookie } })).json.csrf_token
    return {
      cookies,
      get: (path: string) => call(path, { headers: { cookie } }),
      post: (path: string, fields: Record<string, string> = {}) => post(path, { _csrf: csrf, ...fields }, cookies),
      api: (method: string, path: string, body?: unknown) =>
        call(`/console/api${path}`, {
          method,
          headers: { cookie, "x-csrf-token": csrf, "content-type": "application/json" },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        }),
    }
  }

  const signedIn = async (email: string) => {
    const answer = await post("/console/sign-in", { email, password })
    assert.strictEqual(answer.status, 303, answer.text)
    return { answer, ...(await browser(cookiesOf(answer))) }
  }

  /** Turns the second factor on by the API. */
  const secure = async (ask: Awaited<ReturnType<typeof signedIn>>) => {
    const begun = await ask.api("POST", "/account/second-factor", { current_password: password })
    assert.strictEqual(begun.status, 201, begun.text)
    const confirmed = await ask.api("PUT", "/account/second-factor", { code: codeOf(begun.json.secret) })
    assert.strictEqual(confirmed.status, 200, confirmed.text)
    return { secret: begun.json.secret as string, recovery: confirmed.json.recovery_codes as ReadonlyArray<string> }
  }

  it("is set up on a page, and required at the next sign-in", async () => {
    await account("pages@example.com")
    const ask = await signedIn("pages@example.com")
    assert.include((await ask.get("/console/account/second-factor")).text, "Set up an authenticator app")
    const wrong = await ask.post("/console/account/second-factor", { current_password: "not the password" })
    assert.strictEqual(wrong.status, 400)
    assert.include(wrong.text, "is not the password of this account")
    const begun = await ask.post("/console/account/second-factor", { current_password: password })
    assert.include(begun.text, "<svg")
    const secret = /id="secret"[^>]*value="([A-Z2-7 ]+)"/.exec(begun.text)![1]!.replaceAll(" ", "")
    const unsure = await ask.post("/console/account/second-factor/confirm", { code: "000000" })
    assert.strictEqual(unsure.status, 400)
    assert.include(unsure.text, secret.slice(0, 4), "the same secret is shown again")
    const confirmed = await ask.post("/console/account/second-factor/confirm", { code: codeOf(secret) })
    assert.strictEqual(confirmed.status, 200, confirmed.text)
    const codes = confirmed.text.match(/\b[a-z2-9]{4}(-[a-z2-9]{4}){3}\b/g)!
    assert.strictEqual(codes.length, 10)

    const asked = await post("/console/sign-in", { email: "pages@example.com", password, next: "/console/account" })
    assert.strictEqual(asked.headers.get("location"), "/console/sign-in/code?next=%2Fconsole%2Faccount")
    const pending = cookiesOf(asked)
    assert.deepStrictEqual(Object.keys(pending), ["parlance_pending"], "no session yet")
    assert.include(
      (await call("/console/sign-in/code", { headers: { cookie: header(pending) } })).text,
      "recovery codes",
    )
    const refused = await post("/console/sign-in/code", { code: "123" }, pending)
    assert.strictEqual(refused.status, 401)
    assert.include(refused.text, "The code is wrong or has been used")
    const entered = await post("/console/sign-in/code", { code: codeOf(secret, 1), next: "/console/account" }, pending)
    assert.strictEqual(entered.headers.get("location"), "/console/account", entered.text)
    const { get } = await browser(cookiesOf(entered))
    assert.include((await get("/console/account/second-factor")).text, "10 of 10")
    const recovered = await post("/console/sign-in/code", { code: codes[3]! }, pending)
    assert.strictEqual(recovered.headers.get("location"), "/console?done=recovery-code-used")
    const nobody = await post("/console/sign-in/code", { code: codeOf(secret, 1) })
    assert.match(nobody.headers.get("location")!, /sign-in\?done=sign-in-expired/)
  })

  it("is set up, renewed, turned off and reset through the API, and audited without secrets", async () => {
    const id = await account("api@example.com")
    const administrator = await signedIn("api@example.com")
    const state = (await administrator.api("GET", "/account/second-factor")).json
    assert.deepStrictEqual(state, { enabled: false, enabled_at: null, recovery_codes_left: 0 })
    const at = "/account/second-factor"
    const wrong = await administrator.api("POST", at, { current_password: "no" })
    assertProblem(wrong, 400, "invalid-request")
    assert.strictEqual(wrong.json.errors[0].pointer, "/current_password")
    assertProblem(await administrator.api("PUT", at, { code: "000000" }), 422, "unprocessable")
    const { recovery, secret } = await secure(administrator)
    assertProblem(await administrator.api("POST", at, { current_password: password }), 422, "unprocessable")
    const [member] = (await manage("GET", "/accounts")).accounts.filter((one: Json) => one.id === id)
    assert.isTrue(member.second_factor)
    const missing = await administrator.api("POST", `${at}/recovery-codes`, {})
    assert.deepStrictEqual(missing.json.errors.map(({ pointer }: Json) => pointer).sort(), [
      "/code",
      "/current_password",
    ])
    const both = { current_password: password, code: codeOf(secret, 1) }
    const renewed = await administrator.api("POST", `${at}/recovery-codes`, both)
    assert.strictEqual(renewed.json.recovery_codes.length, 10)
    const replayed = await administrator.api("POST", `${at}/disable`, both)
    assertProblem(replayed, 400, "invalid-request")
    assert.strictEqual(replayed.json.errors[0].pointer, "/code")
    assert.strictEqual((await administrator.api("POST", `${at}/disable`, { ...both, code: recovery[0] })).status, 400)
    const off = await administrator.api("POST", `${at}/disable`, { ...both, code: renewed.json.recovery_codes[0] })
    assert.strictEqual(off.status, 204)
    const again = await secure(administrator)
    await manage("DELETE", `/accounts/${id}/second-factor`)
    assertProblem(await administrator.api("GET", "/session"), 401, "unauthorized", "sessions end with a reset")
    const { body, status } = await bench.service.manage("DELETE", `/accounts/${id}/second-factor`)
    assert.strictEqual(status, 422, JSON.stringify(body))
    const token = await bench.service.manage("GET", "/account/second-factor")
    assert.strictEqual(token.status, 422, "the admin token belongs to no account")
    const { entries } = await manage("GET", "/audit?limit=200")
    const found = entries.map(({ action, actor }: Json) => `${actor}: ${action}`)
    for (
      const action of [
        "second factor set-up begun",
        "second factor turned on",
        "recovery codes renewed",
        "second factor turned off",
      ]
    ) assert.include(found, `api@example.com: ${action}`)
    assert.include(found, "Admin token: second factor reset")
    const text = JSON.stringify(entries)
    for (const hidden of [secret, again.secret, password, ...recovery]) assert.notInclude(text, hidden)
  })

  it("is required of the members of an organization that requires it, and of nobody else", async () => {
    const org = await bench.organization("strict")
    const other = await bench.organization("lenient")
    const adminId = await account("strict-admin@example.com", org.slug, "admin")
    await account("strict-viewer@example.com", org.slug)
    const admin = await signedIn("strict-admin@example.com")
    await manage("PUT", `/organizations/${other.slug}/members/${adminId}`, { role: "viewer" })
    const require = { require_second_factor: true }
    const early = await admin.api("PATCH", `/organizations/${org.slug}`, require)
    assertProblem(early, 400, "invalid-request")
    assert.strictEqual(early.json.errors[0].pointer, "/require_second_factor")
    const earlyForm = await admin.post(`/console/o/${org.slug}/settings/members/second-factor`, { require: "yes" })
    assert.strictEqual(earlyForm.status, 400)
    assert.include(earlyForm.text, "needs a second factor of your own first")
    const before = await signedIn("strict-viewer@example.com")
    await secure(admin)
    const on = await admin.post(`/console/o/${org.slug}/settings/members/second-factor`, { require: "yes" })
    assert.match(on.headers.get("location")!, /done=second-factor-required/)
    assert.isTrue((await admin.api("GET", `/organizations/${org.slug}`)).json.require_second_factor)

    for (const viewer of [before, await signedIn("strict-viewer@example.com")]) {
      const refused = await viewer.api("GET", `/organizations/${org.slug}/templates`)
      assertProblem(refused, 403, "forbidden")
      assert.include(refused.json.detail, "requires a second factor")
      const page = await viewer.get(`/console/o/${org.slug}/templates`)
      assert.match(
        page.headers.get("location")!,
        /second-factor\?required=strict&next=%2Fconsole%2Fo%2Fstrict%2Ftemplates/,
      )
      const session = (await viewer.api("GET", "/session")).json
      assert.deepStrictEqual([session.second_factor, session.closed_to], [false, ["strict"]])
    }
    const viewer = await signedIn("strict-viewer@example.com")
    assert.match(viewer.answer.headers.get("location")!, /^\/console\/account\/second-factor\?required=strict&next=/)
    assert.include((await viewer.get(viewer.answer.headers.get("location")!)).text, "requires a second factor")
    await secure(viewer)
    assert.strictEqual((await viewer.api("GET", `/organizations/${org.slug}/templates`)).status, 200)
    assert.strictEqual((await viewer.get(`/console/o/${org.slug}/templates`)).status, 200)
    assert.strictEqual((await admin.api("GET", `/organizations/${other.slug}/templates`)).status, 200)
    const { members } = await manage("GET", `/organizations/${org.slug}/members`)
    assert.deepStrictEqual(members.map(({ second_factor }: Json) => second_factor), [true, true])
    const stranger = await account("strict-stranger@example.com", other.slug)
    const hidden = await (await signedIn("strict-stranger@example.com")).api(
      "GET",
      `/organizations/${org.slug}/templates`,
    )
    assert.notInclude(hidden.text, "second factor", `${stranger} learns nothing of the organization`)
    await manage("PATCH", `/organizations/${org.slug}`, { require_second_factor: false })
  })

  it("records refused codes", async () => {
    await account("traces@example.com")
    const { secret } = await secure(await signedIn("traces@example.com"))
    await post("/console/sign-in", { email: "traces@example.com", password: "wrong words here" })
    const asked = await post("/console/sign-in", { email: "traces@example.com", password })
    await post("/console/sign-in/code", { code: "000000" }, cookiesOf(asked))
    await post("/console/sign-in/code", { code: codeOf(secret, 1) }, cookiesOf(asked))
    const metrics = await (await bench.service.request("/metrics")).text()
    for (const reason of ["bad_password", "bad_code"]) {
      assert.match(metrics, new RegExp(`parlance_refused_total\\{reason="${reason}"\\} [1-9]`))
    }
  })
}, { SECRET_KEY: key })
