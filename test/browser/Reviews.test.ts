import { assert } from "@effect/vitest"
import { it } from "vitest"
import { password } from "../console/furnished.ts"
import { adminToken } from "../support/service.ts"
import { startWith } from "../support/servicesOf.ts"
import { describeInBrowser } from "./describeInBrowser.ts"

describeInBrowser("Reviews and comments in a browser", startWith(), (tried) => {
  const { inEveryLook, manage, signIn, submit } = tried

  const organization = async (slug: string) => {
    await manage("POST", "/organizations", { slug, name: "Harbour Books" })
    await manage("POST", `/organizations/${slug}/templates`, {
      id: "welcome",
      name: "Welcome ברוכים",
      variants: [
        { id: "warm", name: "Warm", vars: { subject: "Welcome aboard" } },
        { id: "brief", name: "Brief", vars: { subject: "Your account is ready" } },
      ],
    })
    await manage("PATCH", `/organizations/${slug}`, { template_approval: "editor" })
    const { key } = await manage("POST", `/organizations/${slug}/keys`, { name: "Shop", scopes: ["generate"] })
    return { home: `${tried.service().url}/console/o/${slug}`, key: key as string }
  }

  const member = async (slug: string, name: string, role: string) => {
    const email = `${name.toLowerCase().replaceAll(" ", ".")}@${slug}.example`
    const { id } = await manage("POST", "/accounts", { email, name, password })
    await manage("PUT", `/organizations/${slug}/members/${id}`, { role })
    return email
  }

  for (const javaScriptEnabled of [true, false]) {
    it(`publishes a change from an editor after approval, ${javaScriptEnabled ? "with" : "without"} JavaScript`, async () => {
      const slug = javaScriptEnabled ? "scripted" : "plain"
      const { home, key } = await organization(slug)
      const [ed, ann] = [await member(slug, "Ed Itor", "editor"), await member(slug, "Ann Smith", "editor")]
      const served = async () => {
        const { body } = await tried.service().generate(slug, key, { template_id: "welcome" })
        return body.copy.vars.subject as string
      }
      await manage("PATCH", `/organizations/${slug}/templates/welcome/variants/brief`, { active: false })

      const own = await tried.browser().newContext({ javaScriptEnabled })
      const page = await signIn(own, ed)
      await page.goto(`${home}/templates/welcome/variants/warm`)
      await page.getByText("A change of an active variant goes live once it is approved.").waitFor()
      const source = page.locator("textarea[name=var_0_source]")
      if (javaScriptEnabled) {
        await page.locator(".cm-content").first().click()
        await page.keyboard.press("Control+a")
        await page.keyboard.type("Come aboard, friend")
      } else await source.fill("Come aboard, friend")
      await submit(page, "Save variant")
      await page.getByText("The change waits for approval. It is not live yet.").waitFor()
      await page.getByRole("heading", { name: "Review of Welcome" }).waitFor()
      await page.getByText("You proposed this change. Somebody else has to approve it.").waitFor()
      assert.strictEqual(await page.getByRole("button", { name: "Approve and make live" }).count(), 0)
      await page.getByLabel("Message", { exact: true }).fill("Warmer words")
      await submit(page, "Save message")
      await page.getByText("The message to reviewers has been saved.").waitFor()
      assert.strictEqual(await served(), "Welcome aboard")
      const review = page.url().split("?")[0]!
      // The author goes on from the own version.
      await page.getByRole("link", { name: "Edit Warm" }).click()
      await page.getByRole("link", { name: "your change that waits for approval" }).waitFor()
      assert.include(await source.inputValue(), "Come aboard, friend")

      const other = await tried.browser().newContext({ javaScriptEnabled })
      const reviewer = await signIn(other, ann)
      await reviewer.goto(home)
      await reviewer.getByRole("link", { name: "1 change waits for approval" }).click()
      await reviewer.getByText("Warmer words").waitFor()
      await reviewer.locator("del", { hasText: "Welcome aboard" }).waitFor()
      await reviewer.locator("ins", { hasText: "Come aboard, friend" }).waitFor()
      await reviewer.getByLabel("Comment for the author").fill("Lovely")
      await submit(reviewer, "Approve and make live")
      await reviewer.getByText("The change has been approved. It is live within 5 seconds.").waitFor()
      assert.strictEqual(await served(), "Come aboard, friend")
      await page.goto(review)
      await page.getByText("Lovely").waitFor()
      await own.close()
      await other.close()
    })
  }

  it("shows both versions of a conflict, and approves the change once it is up to date", async () => {
    const { home } = await organization("conflicts")
    const [ed, ann] = [await member("conflicts", "Ed Itor", "editor"), await member("conflicts", "Ann Smith", "admin")]
    const own = await tried.browser().newContext({ javaScriptEnabled: false })
    const page = await signIn(own, ed)
    await page.goto(`${home}/templates/welcome/variants/warm`)
    await page.locator("textarea[name=var_0_source]").fill("Mine")
    await submit(page, "Save variant")
    await page.getByText("It is not live yet.").waitFor()
    const review = page.url().split("?")[0]!
    const other = await tried.browser().newContext({ javaScriptEnabled: false })
    const reviewer = await signIn(other, ann)
    await reviewer.goto(review)
    await manage("PATCH", "/organizations/conflicts/templates/welcome/variants/warm", { vars: { subject: "Theirs" } })
    // The page was opened before.
    await submit(reviewer, "Approve and make live")
    await reviewer.getByRole("alert").getByText("The live template has changed").waitFor()
    await reviewer.locator("ins", { hasText: "Theirs" }).waitFor()
    await reviewer.locator("ins", { hasText: "Mine" }).waitFor()
    assert.strictEqual(await reviewer.getByRole("button", { name: "Approve and make live" }).count(), 0)
    await page.goto(review)
    await submit(page, "Bring up to date")
    await page.getByText("is up to date with the live template").waitFor()
    await reviewer.goto(review)
    await reviewer.locator("del", { hasText: "Theirs" }).waitFor()
    await submit(reviewer, "Approve and make live")
    await reviewer.getByText("The change has been approved.").waitFor()
    const { vars } = await manage("GET", "/organizations/conflicts/templates/welcome/variants/warm")
    assert.strictEqual(vars.subject, "Mine")
    await own.close()
    await other.close()
  })

  it("completes mentions by the keyboard, and shows, resolves, edits and deletes comments", async () => {
    const { home } = await organization("talking")
    const [ed] = [await member("talking", "Ed Itor", "viewer"), await member("talking", "Ann Smith", "editor")]
    const context = await tried.browser().newContext()
    const page = await signIn(context, ed)
    await page.goto(`${home}/templates/welcome`)
    await page.getByRole("navigation", { name: "Template" }).getByRole("link", { name: "Comments" }).click()
    await page.getByLabel("Comment", { exact: true }).fill("")
    await page.getByLabel("Comment", { exact: true }).pressSequentially("שלום @an")
    await page.getByRole("option", { name: "Ann Smith" }).waitFor()
    await page.keyboard.press("Enter")
    await page.keyboard.type("<b>look</b>")
    assert.strictEqual(await page.getByLabel("Comment", { exact: true }).inputValue(), "שלום @Ann Smith <b>look</b>")
    await submit(page, "Add comment")
    await page.getByText("The comment has been added.").waitFor()
    await page.locator(".mention", { hasText: "@Ann Smith" }).waitFor()
    await page.getByText("<b>look</b>").waitFor()
    await page.getByRole("link", { name: "Edit the comment of Ed Itor" }).click()
    await page.getByLabel("Comment", { exact: true }).fill("@Ann Smith never mind")
    await submit(page, "Save comment")
    await page.getByText("The comment has been changed.").waitFor()
    await submit(page, "Resolve the comment of Ed Itor")
    await page.getByText("No open comments").waitFor()
    await page.getByRole("link", { name: "Resolved", exact: true }).click()
    await page.getByText("resolved by Ed Itor").waitFor()
    await page.getByRole("link", { name: "Delete the comment of Ed Itor" }).click()
    await submit(page, "Delete the comment")
    await page.getByText("The comment has been deleted.").waitFor()
    await context.close()
  })

  it("passes axe, fits phones, and supports light and dark colors", async () => {
    const { home } = await organization("seen")
    const [ed, ann] = [await member("seen", "Ed Itor", "editor"), await member("seen", "Ann Smith", "admin")]
    const { key } = await manage("POST", "/organizations/seen/keys", { name: "ci", scopes: ["templates:write"] })
    const propose = (path: string, body: unknown) =>
      tried.service().request(`/console/api/organizations/seen/templates/welcome${path}`, {
        method: "PATCH",
        headers: { "x-api-key": key, "content-type": "application/json" },
        body: JSON.stringify(body),
      })
    await propose("/variants/warm", { vars: { subject: "A new subject that is somewhat longer than the one before" } })
    await propose("", { objective: "conversion" })
    await manage("PATCH", "/organizations/seen/templates/welcome", { objective: "open" })
    const comments = `${tried.service().url}/console/api/organizations/seen/templates/welcome/comments`
    for (const text of ["@Ed Itor is the offer still valid?", "כן, עד יום ראשון 🎂", "One more\nline"]) {
      await fetch(comments, {
        method: "POST",
        headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
        body: JSON.stringify({ text, variant_id: "warm" }),
      })
    }
    await inEveryLook(async (context, check) => {
      const page = await signIn(context, ann)
      await page.goto(`${home}/reviews`)
      await check(page, "reviews-list")
      await page.getByRole("rowheader").getByRole("link", { name: "Welcome" }).click()
      await check(page, "reviews-conflict")
      await page.goto(`${home}/templates/welcome`)
      await check(page, "reviews-template")
      await page.goto(`${home}/templates/welcome/comments`)
      await page.getByLabel("Comment", { exact: true }).pressSequentially("@")
      await check(page, "reviews-comments")
      await page.goto(`${home}/reviews?state=rejected`)
      await check(page, "reviews-empty")
    })
    assert.isNotEmpty(ed)
  }, 240_000)
})
