import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { it } from "vitest"
import { day, makeTemplate, plant, settle } from "../learning/support.ts"
import { startWith } from "../support/servicesOf.ts"
import { describeInBrowser } from "./describeInBrowser.ts"

describeInBrowser("Lists and the command bar in a browser", startWith(), (tried) => {
  const { administrator, inEveryLook, manage, signIn, submit } = tried

  const organization = async (slug: string) => {
    await manage("POST", "/organizations", { slug, name: "Harbour Books" })
    const templates = Array.from({ length: 60 }, (_, n) => ({
      id: `t-${n}`,
      name: n === 7 ? "תזכורת עגלה 🎂" : `Message ${n}`,
      variants: [{ id: "a", vars: { subject: "a" } }, { id: "b", vars: { subject: "b" }, active: false }],
    }))
    await manage("POST", `/organizations/${slug}/templates/import`, { templates })
    return `${tried.service().url}/console/o/${slug}`
  }

  it("finds, sorts and changes templates without scripts, page by page", async () => {
    const home = await organization("plain-lists")
    const context = await tried.browser().newContext({ javaScriptEnabled: false })
    const page = await signIn(context, await administrator("plain-lists@example.com"))
    await page.goto(`${home}/templates`)
    await page.getByText("1–20 of 60").waitFor()
    await page.getByRole("link", { name: "Next page" }).click()
    await page.getByText("21–40 of 60").waitFor()
    await page.getByRole("columnheader", { name: "Template" }).getByRole("link").click()
    const first = page.getByRole("rowheader").first()
    assert.include(await first.innerText(), "תזכורת")
    await page.getByRole("checkbox", { name: "Choose Message 59" }).check()
    await page.getByRole("checkbox", { name: "Choose Message 58" }).check()
    await submit(page, "Activate all variants")
    await page.getByText("All variants of the chosen templates are active.").waitFor()
    await page.getByLabel("Search", { exact: true }).fill("message 59")
    await submit(page, "Search")
    await page.getByText("1 template of 60 with “message 59”").waitFor()
    await page.getByText("2 active", { exact: true }).waitFor()
    await page.getByRole("group").filter({ hasText: "⋯" }).click()
    await page.getByRole("button", { name: "Archive" }).last().click()
    await page.getByText("The chosen templates have been archived.").waitFor()
    assert.isNotNull((await manage("GET", "/organizations/plain-lists/templates/t-59")).archived_at)
    await page.getByRole("link", { name: "Search", exact: true }).click()
    await page.getByRole("searchbox").fill("t-7")
    await submit(page, "Search")
    await page.getByRole("link", { name: "תזכורת עגלה" }).waitFor()
    await context.close()
  })

  it("shows the first rows on phones, and all of them when asked, without scripts", async () => {
    const home = await organization("on-phones")
    const context = await tried.browser().newContext({
      javaScriptEnabled: false,
      viewport: { width: 390, height: 844 },
    })
    const page = await signIn(context, await administrator("on-phones@example.com"))
    await page.goto(`${home}/templates`)
    const rows = page.locator("tbody > tr")
    assert.strictEqual(await rows.filter({ visible: true }).count(), 12)
    await page.getByRole("checkbox", { name: "Show all 20 rows" }).press("Space")
    assert.strictEqual(await rows.filter({ visible: true }).count(), 20)
    await page.getByRole("checkbox", { name: "Show all 20 rows" }).press("Space")
    await page.setViewportSize({ width: 1440, height: 900 })
    assert.strictEqual(await rows.filter({ visible: true }).count(), 20, "wide screens show all rows")
    assert.strictEqual(await page.locator(".show-rows").filter({ visible: true }).count(), 0)
    await context.close()
  })

  it("offers changes of templates only once one is chosen, and folds filters that do not fit in a line", async () => {
    const home = await organization("chosen")
    const context = await tried.browser().newContext()
    const page = await signIn(context, await administrator("chosen@example.com"))
    await page.goto(`${home}/templates`)
    const archive = page.locator("form.bulk-actions > button").filter({ hasText: /^Archive$/ })
    assert.isTrue(await archive.isDisabled())
    assert.isFalse(await archive.isVisible())
    await page.getByRole("checkbox", { name: /^Choose Message/ }).first().check()
    assert.isTrue(await archive.isEnabled())
    await page.getByText("1 template chosen:").waitFor()
    await page.getByRole("checkbox", { name: "All on this page" }).check()
    assert.isTrue(await archive.isEnabled())
    await page.getByRole("checkbox", { name: "All on this page" }).uncheck()
    assert.isTrue(await archive.isDisabled())
    const boxes = page.getByRole("checkbox", { name: /^Choose Message/ })
    await boxes.nth(3).click()
    await boxes.nth(1).click({ modifiers: ["Shift"] })
    await page.getByText("3 templates chosen:").waitFor()
    await boxes.nth(2).click({ modifiers: ["Shift"] })
    await page.getByText("1 template chosen:").waitFor()
    await boxes.nth(3).click()
    const folded = page.locator(".more-fields select").first()
    assert.isFalse(await folded.isVisible())
    await page.getByText(/\d more filter/).click()
    await folded.selectOption({ index: 1 })
    await submit(page, "Search")
    await page.getByRole("link", { name: "Show all" }).first().waitFor()
    assert.isTrue(await folded.isVisible(), "a filter in use is not folded")
    await context.close()
  })

  it("opens pages and finds templates with Ctrl+K and the keyboard only", async () => {
    const home = await organization("commanded")
    const context = await tried.browser().newContext()
    const page = await signIn(context, await administrator("commanded@example.com"))
    await page.goto(home)
    await page.keyboard.press("Control+k")
    const bar = page.getByRole("dialog", { name: "Search and commands" })
    await bar.waitFor()
    await page.keyboard.type("audit")
    await bar.getByText("1 match. Enter opens the first one.").waitFor()
    await page.keyboard.press("Enter")
    await page.waitForURL(`${home}/settings/audit`)
    await page.keyboard.press("Control+k")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowDown")
    assert.include(await page.locator(":focus").innerText(), "Templates")
    await page.keyboard.press("Escape")
    await bar.waitFor({ state: "hidden" })
    await page.keyboard.press("Control+k")
    await page.keyboard.type("Message 33")
    await bar.getByRole("link", { name: /^Message 33/ }).waitFor()
    await bar.getByRole("button", { name: "Search templates and people" }).click()
    await page.waitForURL(/\/find\?q=Message\+33$/)
    await page.keyboard.press("Control+k")
    // The first response arrives after the text was changed and typed again.
    let first: (() => Promise<void>) | undefined
    await page.route("**/find?q=Message*33", (route) => {
      if (first !== undefined) return route.continue()
      first = () => route.continue()
    })
    const asked = page.waitForRequest(/find\?q=Message/)
    await page.keyboard.type("Message 33")
    await asked
    await page.keyboard.type("3")
    const again = page.waitForResponse(/find\?q=Message\+33$/)
    await page.keyboard.press("Backspace")
    await again
    const late = page.waitForResponse(/find\?q=Message\+33$/)
    await first!()
    await (await late).finished()
    await bar.getByText("1 match. Enter opens the first one.").waitFor()
    assert.strictEqual(await bar.getByRole("link", { name: /^Message 33/ }).count(), 1)
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "Message 33", level: 1 }).waitFor()
    await context.close()
  })

  it("passes axe, fits phones, and supports light and dark colors", async () => {
    const home = await organization("looked-at")
    const email = await administrator("looked-at@example.com")
    await inEveryLook(async (context, check) => {
      const page = await signIn(context, email)
      await page.goto(`${home}/templates?sort=decisions&done=templates-archived`)
      await page.locator(".row-menu summary").first().click()
      await check(page, "lists-templates")
      await page.goto(`${home}/templates?state=active&q=nothing`)
      await check(page, "lists-nothing")
      await page.goto(`${home}/templates/t-7/audience`)
      await check(page, "lists-audience")
      await page.goto(`${home}/find?q=t-7`)
      await check(page, "lists-find")
      await page.keyboard.press("Control+k")
      await check(page, "lists-command-bar")
    })
  }, 240_000)

  it("shows winners on the overview, a month of seasons, and the Monday report in every look", async () => {
    const slug = "in-season"
    await manage("POST", "/organizations", { slug, name: "Harbour Books", time_zone: "Europe/Berlin" })
    const { run } = tried.started()
    await run(makeTemplate(slug, "cart", ["warm", "short"]))
    await manage("PATCH", `/organizations/${slug}/templates/cart/variants/short`, {
      seasons: [{ annual: { from: "01-01", to: "01-01" } }],
    })
    await run(Effect.gen(function* () {
      for (const ago of [1, 3, 5, 7, 9, 11]) {
        yield* plant(slug, { template: "cart", ago: ago * day, copy: "warm", decisions: 600, outcomes: { click: 180 } })
        yield* plant(slug, { template: "cart", ago: ago * day, copy: "short", decisions: 600, outcomes: { click: 30 } })
      }
      yield* settle(slug, "cart")
    }))
    const home = `${tried.service().url}/console/o/${slug}`
    const email = await administrator("in-season@example.com")
    await inEveryLook(async (context, check) => {
      const page = await signIn(context, email)
      await page.goto(`${home}/templates/cart/results`)
      await page.goto(home)
      await page.getByRole("heading", { name: "Winners and gains" }).waitFor()
      await check(page, "overview-winners")
      await page.goto(`${home}/calendar?month=2026-11`)
      assert.strictEqual(await page.getByRole("link", { name: "short" }).count(), 30)
      await check(page, "calendar-month")
      await page.getByRole("link", { name: "List" }).click()
      await page.getByRole("cell", { name: "1–30", exact: true }).waitFor()
      await check(page, "calendar-list")
      await page.goto(`${home}/templates/cart/results/report`)
      await page.getByLabel("Webhook URL").first().fill("hooks.slack.com")
      await page.getByRole("button", { name: "Subscribe by Slack" }).click()
      await page.getByText("One thing needs to be corrected").waitFor()
      await submit(page, "Subscribe by E-mail")
      await page.getByText("Next report:").waitFor()
      await check(page, "monday-report")
      await submit(page, "Unsubscribe from E-mail")
      await page.goto(`${home}/templates/cart/variants/short`)
      await page.getByText("Season 1", { exact: true }).first().waitFor()
      await check(page, "season-days")
    })
  })
})
