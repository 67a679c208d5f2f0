import { assert } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { it } from "vitest"
import { OneTimeLinks } from "../../src/accounts/OneTimeLinks.ts"
import { shapeOf } from "../console/found.ts"
import { password, script } from "../console/furnished.ts"
import { startWith } from "../support/servicesOf.ts"
import { describeInBrowser } from "./describeInBrowser.ts"
import { looks, screenshot } from "../support/browser.ts"

describeInBrowser("The console in a browser", startWith(), (tried) => {
  const { administrator, inEveryLook, manage, signIn, submit } = tried

  /** Every page of the console that needs no more than an organization, a member and a key. */
  const pagesOf = (org: string, key: string, member: string) => [
    "/console/organizations",
    `/console/o/${org}`,
    `/console/o/${org}/settings`,
    `/console/o/${org}/settings/keys`,
    `/console/o/${org}/settings/keys/new`,
    `/console/o/${org}/settings/keys/${key}/revoke`,
    `/console/o/${org}/settings/members`,
    `/console/o/${org}/settings/members/invite`,
    `/console/o/${org}/settings/members/groups`,
    `/console/o/${org}/settings/members/${member}`,
    `/console/o/${org}/settings/members/${member}/remove`,
    `/console/o/${org}/settings/audit`,
    "/console/account",
    "/console/accounts",
    "/console/accounts/audit",
    `/console/accounts/${member}/remove`,
    "/console/nowhere",
  ]

  it("signs in with the right password, shows the requested page, and signs out", async () => {
    const email = await administrator("in-and-out@example.com")
    const context = await tried.browser().newContext()
    const wrong = await signIn(context, email, "not the password at all")
    assert.include(await wrong.getByRole("alert").innerText(), "e-mail address or the password is wrong")
    assert.strictEqual(await wrong.getByLabel("E-mail address").inputValue(), email, "what was typed stays")
    const page = await signIn(context, email)
    const [cookie] = await context.cookies()
    assert.deepInclude(cookie, { httpOnly: true, sameSite: "Lax", path: "/" })
    await page.goto(`${tried.service().url}/console/account`)
    await page.getByText("this session").waitFor()
    await page.getByRole("button", { name: "Sign out" }).click()
    await page.getByText("You have signed out.").waitFor()
    await context.addCookies([cookie!])
    await page.goto(`${tried.service().url}/console/account`)
    assert.match(page.url(), /\/console\/sign-in\?next=/, "the old cookie opens nothing")
    await context.close()
  })

  it("rejects every password after ten wrong ones, even the right one", async () => {
    const email = await administrator("guessed@example.com")
    const context = await tried.browser().newContext()
    for (let attempt = 0; attempt < 10; attempt++) {
      const page = await signIn(context, email, `wrong number ${attempt}`)
      await page.getByRole("alert").waitFor()
      await page.close()
    }
    const page = await context.newPage()
    const answered = page.waitForResponse((response) => response.request().method() === "POST")
    await page.goto(`${tried.service().url}/console/sign-in`)
    await page.getByLabel("E-mail address").fill(email)
    await page.getByLabel("Password").fill(password)
    await submit(page, "Sign in")
    const response = await answered
    assert.strictEqual(response.status(), 429)
    assert.isAbove(Number(response.headers()["retry-after"]), 0)
    assert.include(await page.getByRole("alert").innerText(), "Too many attempts")
    await context.close()
  })

  it("creates the first administrator with the one-time link, which then expires", async () => {
    const own = await Effect.runPromise(Scope.make())
    try {
      const { service, run } = await Effect.runPromise(Scope.provide(startWith(), own))
      const token = await run(Effect.flatMap(OneTimeLinks, (links) => links.create("first_run")))
      const context = await tried.browser().newContext()
      const page = await context.newPage()
      await page.goto(`${service.url}/console/first-run?token=${token}`)
      await page.getByLabel("E-mail address").fill("first@example.com")
      await page.getByLabel("Your name").fill("First")
      await page.getByLabel("Password").fill("password123")
      await submit(page, /Create account/)
      assert.include(await page.getByRole("alert").innerText(), "tried first")
      await page.getByLabel("Password").fill(password)
      await submit(page, /Create account/)
      await page.getByText("Welcome! You are signed in.").waitFor()
      await page.goto(`${service.url}/console/first-run?token=${token}`)
      await page.getByText("This link no longer works").waitFor()
      await context.close()
    } finally {
      await Effect.runPromise(Scope.close(own, Exit.void))
    }
  })

  it("creates a key that generates, and revokes it so that it is refused", async () => {
    const email = await administrator("keys@example.com")
    await manage("POST", "/organizations", { slug: "keyed", name: "Keyed" })
    await manage("POST", "/organizations/keyed/templates", {
      id: "t",
      name: "T",
      variants: [{ id: "a", vars: { s: "Hello {{ name }}" } }],
    })
    const context = await tried.browser().newContext({ permissions: ["clipboard-read", "clipboard-write"] })
    const page = await signIn(context, email)
    await page.goto(`${tried.service().url}/console/o/keyed`)
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "API Keys" }).click()
    await page.getByRole("link", { name: "Create New API Key" }).click()
    await submit(page, "Create key")
    assert.include(await page.getByRole("alert").innerText(), "Name")
    await page.getByLabel("Name", { exact: true }).fill("Shop")
    await submit(page, "Create key")
    await screenshot(page, "key-created")
    await page.getByRole("button", { name: "Copy" }).click()
    await page.getByText("Copied", { exact: true }).waitFor()
    const key = await page.evaluate(() => navigator.clipboard.readText())
    assert.match(key, /^plk_/)
    const answer = await tried.service().generate("keyed", key, { template_id: "t", fields: { name: "Ann" } })
    assert.strictEqual(answer.status, 200)
    assert.strictEqual(answer.body.copy.vars.s, "Hello Ann")
    await page.getByRole("link", { name: "I have copied it" }).click()
    assert.notInclude(await page.content(), key, "it is shown once")
    await page.getByLabel("Actions for Shop").click()
    await page.getByRole("link", { name: "Revoke" }).click()
    await submit(page, "Revoke the key")
    await page.getByText("The key has been revoked.").waitFor()
    assert.strictEqual((await tried.service().generate("keyed", key, { template_id: "t" })).status, 401)
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Audit log" }).click()
    await page.getByText("API key revoked").first().waitFor()
    assert.notInclude(await page.content(), key)
    await context.close()
  })

  it("lets an invited viewer read everything and change nothing", async () => {
    const email = await administrator("inviter@example.com")
    await manage("POST", "/organizations", { slug: "viewed", name: "Viewed" })
    const { id: key } = await manage("POST", "/organizations/viewed/keys", { name: "Theirs" })
    await manage("PATCH", "/organizations/viewed", {
      quiet_hours: { from: "21:00", to: "08:00" },
      allowed_days: ["mon", "fri"],
      delay_horizon_hours: 36,
    })
    const context = await tried.browser().newContext()
    const page = await signIn(context, email)
    await page.goto(`${tried.service().url}/console/o/viewed/settings/members/invite`)
    await page.getByLabel("E-mail address").fill("viewer@example.com")
    await submit(page, "Create invitation")
    const link = await page.getByLabel("Link for viewer@example.com").inputValue()

    const other = await tried.browser().newContext()
    const guest = await other.newPage()
    await guest.goto(link)
    await guest.getByLabel("Your name").fill("Vera")
    await guest.getByLabel("Password").fill(password)
    await submit(guest, /Create account/)
    assert.match(guest.url(), /\/console\/o\/viewed/)
    await guest.goto(link)
    await guest.getByText("This invitation no longer works").waitFor()

    const shown = ["", "/settings", "/settings/keys", "/settings/members"]
    for (const path of shown) {
      const response = await guest.goto(`${tried.service().url}/console/o/viewed${path}`)
      assert.strictEqual(response?.status(), 200, path)
      assert.strictEqual(await guest.locator("main form").count(), 0, `${path} offers nothing to change`)
      assert.strictEqual(await guest.getByRole("link", { name: /create|revoke|invite|remove/i }).count(), 0, path)
    }
    await guest.goto(`${tried.service().url}/console/o/viewed/settings`)
    for (const text of ["21:00 to 08:00", "Monday, Friday", "36 hours"]) await guest.getByText(text).waitFor()
    for (
      const path of [
        "/settings/keys/new",
        `/settings/keys/${key}/revoke`,
        "/settings/members/invite",
        "/settings/audit",
      ]
    ) {
      const response = await guest.goto(`${tried.service().url}/console/o/viewed${path}`)
      assert.strictEqual(response?.status(), 403, path)
    }
    for (const path of ["/console/o/keyed", "/console/o/nobody-at-all"]) {
      assert.strictEqual((await guest.goto(`${tried.service().url}${path}`))?.status(), 403, path)
    }
    // With the guest's own token a form is refused for the role, not for its origin.
    await guest.goto(`${tried.service().url}/console/account`)
    const refused = await guest.evaluate(async (path) => {
      const csrf = document.querySelector<HTMLInputElement>("input[name=_csrf]")!.value
      const body = new URLSearchParams({ _csrf: csrf, name: "Mine", time_zone: "UTC", exploration_floor: "0" })
      return (await fetch(path, { method: "POST", body })).status
    }, "/console/o/viewed/settings").catch(() => "blocked")
    // The policy of the page lets no script connect anywhere at all.
    assert.strictEqual(refused, "blocked")
    const [cookie] = await other.cookies()
    const csrf = await guest.locator("input[name=_csrf]").first().inputValue()
    const direct = await fetch(`${tried.service().url}/console/o/viewed/settings`, {
      method: "POST",
      redirect: "manual",
      headers: { cookie: `${cookie!.name}=${cookie!.value}`, origin: tried.service().url },
      body: new URLSearchParams({ _csrf: csrf, name: "Mine", time_zone: "UTC", exploration_floor: "0" }),
    })
    assert.strictEqual(direct.status, 403)
    assert.include(await direct.text(), "role admin")
    assert.strictEqual((await manage("GET", "/organizations/viewed")).name, "Viewed")
    await context.close()
    await other.close()
  })

  it("shows typed HTML as text on every page", async () => {
    const email = await administrator("typed@example.com")
    await manage("POST", "/organizations", { slug: "typed", name: script })
    await manage("POST", "/organizations/typed/keys", { name: script })
    const made = await manage("POST", "/accounts", { email: "scripted@example.com", name: script, password })
    await manage("PUT", `/organizations/typed/members/${made.id}`, { role: "editor" })
    await manage("POST", "/organizations/typed/invitations", { email: "a<script>@example.com", role: "viewer" })
    const { keys } = await manage("GET", "/organizations/typed/keys")
    const context = await tried.browser().newContext()
    const page = await signIn(context, email)
    for (const path of pagesOf("typed", keys[0].id, made.id)) {
      await page.goto(`${tried.service().url}${path}?done=%3Cscript%3E&cursor=%3Cscript%3E`)
      assert.notStrictEqual(await page.title(), "owned", path)
      assert.strictEqual(await page.locator('main script:not([src^="/console/assets/"]), main img').count(), 0, path)
    }
    await page.goto(`${tried.service().url}/console/o/typed/settings/keys`)
    await page.locator("tbody").getByText(script).first().waitFor()
    await page.goto(`${tried.service().url}/console/o/typed/settings/keys/new`)
    await page.getByLabel("Name", { exact: true }).fill(script)
    for (const scope of ["generate", "deliver"]) await page.locator(`input[name=scopes][value=${scope}]`).uncheck()
    await submit(page, "Create key")
    assert.strictEqual(await page.getByLabel("Name", { exact: true }).inputValue(), script)
    assert.notStrictEqual(await page.title(), "owned")
    await context.close()
  })

  it("passes axe, fits phones, and supports light and dark colors", async () => {
    const email = await administrator("looks@example.com")
    await manage("POST", "/organizations", { slug: "looks", name: "Harbour Books", time_zone: "Europe/Berlin" })
    await manage("POST", "/organizations/looks/keys", { name: "Shop, production", scopes: ["generate", "deliver"] })
    await manage("POST", "/organizations/looks/keys", { name: "Staging", expires_at: "2001-01-01T00:00:00Z" })
    const { keys } = await manage("GET", "/organizations/looks/keys")
    const member = await manage("POST", "/accounts", { email: "grace@example.com", name: "Grace Hopper", password })
    await manage("PUT", `/organizations/looks/members/${member.id}`, { role: "editor" })
    await manage("POST", "/organizations/looks/invitations", { email: "linus@example.com", role: "viewer" })
    const invitation = await manage("POST", "/organizations/looks/invitations", {
      email: "new@example.com",
      role: "viewer",
    })
    const reset = await manage("POST", `/accounts/${member.id}/reset`)
    await manage("PUT", "/organizations/looks/group-roles", { group: "4f1c9f0e-crm-editors", role: "editor" })
    await inEveryLook(async (context, check) => {
      const outside = await context.newPage()
      for (const path of ["/console/sign-in", invitation.path, reset.path, "/console/invitation", "/console/nowhere"]) {
        await outside.goto(`${tried.service().url}${path}`)
        await check(outside, `outside${path.split("?")[0]!.replaceAll("/", "-")}${path.includes("?") ? "-open" : ""}`)
      }
      const failed = await signIn(context, "nobody@example.com", "wrong")
      await check(failed, "outside-sign-in-failed")
      const page = await signIn(context, email)
      for (const path of pagesOf("looks", keys[0].id, member.id)) {
        await page.goto(`${tried.service().url}${path}`)
        await check(
          page,
          path.replace("/console/", "").replaceAll("/", "-").replace(keys[0].id, "key").replace(member.id, "member"),
        )
      }
      await page.goto(`${tried.service().url}/console/o/looks/settings`)
      await page.getByLabel("Time zone").fill("Nowhere/Nothing")
      await page.getByLabel("Share of random traffic").fill("70")
      await page.getByLabel("Quiet from").fill("21:00")
      for (const day of await page.getByRole("group", { name: "Allowed sending days" }).getByRole("checkbox").all()) {
        await day.uncheck()
      }
      await submit(page, "Save settings")
      assert.strictEqual(await page.locator("[aria-invalid=true]").count(), 3, "each fault is beside its field")
      assert.include(await page.getByRole("alert").innerText(), "choose at least one")
      await page.locator("[role=alert]:focus").waitFor()
      await check(page, "settings-faulty")
      const [, phone] = looks
      await page.setViewportSize(phone)
      await page.goto(`${tried.service().url}/console/o/looks`)
      await page.getByText("Menu", { exact: true }).click()
      await page.getByRole("link", { name: "API Keys" }).first().waitFor()
      await check(page, "menu-open")
    })
  }, 240_000)

  it("runs the scripts of every page that a link leads to, while fields change", async () => {
    await manage("POST", "/organizations", { slug: "linked", name: "Linked" })
    // The days of a season are several controls of one name.
    const content = { vars: { body: "<p>Hi {{ name }}</p>" }, formats: { body: "html" }, seasons: [{ days: ["mon"] }] }
    await manage("POST", "/organizations/linked/templates", {
      id: "welcome",
      name: "Welcome",
      variants: [{ id: "warm", ...content }, { id: "brief", ...content }],
    })
    const context = await tried.browser().newContext()
    const page = await signIn(context, await administrator("linked@example.com"))
    const shapes = new Set<string>()
    const paths = ["/console/o/linked"]
    for (const path of paths) {
      await page.goto(`${tried.service().url}${path}`)
      const preview = page.locator("form[data-live] iframe").first()
      if (await preview.count() > 0) await preview.contentFrame().locator("main.preview").waitFor()
      await page.evaluate(() => {
        for (const { elements } of document.forms) elements[0]?.dispatchEvent(new Event("input", { bubbles: true }))
      })
      if (await preview.count() > 0) await page.locator("iframe[name^=preview-]:not(.coming)").first().waitFor()
      for (
        const to of await page.locator("a[href]").evaluateAll((links) => links.map((a) => a.getAttribute("href")!))
      ) {
        const isPage = /^\/console(\/o\/linked|\/account)/.test(to) && !/\/(export|raw|download)\b/.test(to)
        if (!isPage || shapes.has(shapeOf(to))) continue
        shapes.add(shapeOf(to))
        paths.push(to)
      }
    }
    assert.isAbove(paths.length, 40, paths.join("\n"))
    await context.close()
  }, 240_000)

  it("works without scripts and by keyboard, and keeps the chosen color scheme", async () => {
    const email = await administrator("plain@example.com")
    await manage("POST", "/organizations", { slug: "plain", name: "Plain" })
    const context = await tried.browser().newContext({ javaScriptEnabled: false })
    const page = await signIn(context, email)
    await page.goto(`${tried.service().url}/console/o/plain/settings`)
    await page.keyboard.press("Tab")
    assert.strictEqual(await page.locator(":focus").innerText(), "Skip to content")
    await page.keyboard.press("Enter")
    assert.match(page.url(), /#main$/)
    await page.getByLabel("Name", { exact: true }).fill("Plainer")
    await page.getByLabel("Quiet from").fill("22:30")
    await page.getByLabel("Quiet until").fill("07:00")
    await page.getByLabel("Sunday").uncheck()
    await page.keyboard.press("Enter")
    await page.getByText("The settings have been saved.").waitFor()
    assert.strictEqual(await page.getByLabel("Name", { exact: true }).inputValue(), "Plainer")
    assert.deepInclude(await manage("GET", "/organizations/plain"), {
      quiet_hours: { from: "22:30", to: "07:00" },
      allowed_days: ["mon", "tue", "wed", "thu", "fri", "sat"],
    })
    await page.getByRole("button", { name: /^Theme/ }).click()
    assert.strictEqual(await page.locator("html").getAttribute("data-theme"), "dark")
    assert.match(page.url(), /\/console\/o\/plain\/settings$/, "one stays where one was")
    await context.close()
  })
})
