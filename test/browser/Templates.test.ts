import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { Buffer } from "node:buffer"
import { readFileSync } from "node:fs"
import { it } from "vitest"
import { password } from "../console/furnished.ts"
import { faultsByAxe, type Page, screenshot } from "../support/browser.ts"
import { images } from "../support/testImages.ts"
import { startInProcess, waitUntil } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { describeInBrowser, editorsOf } from "./describeInBrowser.ts"

const script = `<script>top.document.title="owned"</script><img src=x onerror="top.document.title='owned'">`

const start = Effect.map(startInProcess(temporaryEnvironment), (service) => ({ service }))

describeInBrowser("Templates in a browser", start, (tried) => {
  const { inEveryLook, manage, signIn, submit: press } = tried

  const organization = async (slug: string, name: string) => {
    await manage("POST", "/organizations", { slug, name, time_zone: "Europe/Berlin" })
    const email = `${slug}@example.com`
    const { id } = await manage("POST", "/accounts", { email, name: "Grace Hopper", password })
    await manage("PUT", `/organizations/${slug}/members/${id}`, { role: "editor" })
    return email
  }

  const breadcrumbs = (page: Page) => page.getByRole("navigation", { name: "Breadcrumbs" })

  const preview = (page: Page) => page.frameLocator(".frame-holder iframe:not(.coming)")

  it("creates a template and its variants, with a preview that follows the typed text", async () => {
    const email = await organization("written", "Written")
    const context = await tried.browser().newContext()
    const page = await signIn(context, email)
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Templates" }).click()
    await page.getByRole("link", { name: "Create a template" }).click()
    await press(page, "Create template")
    await page.locator("[role=alert]:focus").waitFor()
    await page.getByLabel("Name", { exact: true }).fill("Cart reminder")
    await page.getByText("Advanced settings").click()
    assert.strictEqual(await page.getByLabel("Id", { exact: true }).getAttribute("placeholder"), "cart-reminder")
    await page.getByLabel("Id", { exact: true }).fill("cart")
    await press(page, "Create template")
    await page.getByText("The template has been created.").waitFor()
    await page.getByRole("link", { name: "New variant" }).click()

    await page.getByLabel("Name", { exact: true }).fill("Warm")
    await editorsOf(page).waitFor()
    await page.getByLabel("Subject", { exact: true }).fill("Hello {{ first_name }}")
    const warning = page.getByText("Deliver cannot send the variant Warm: it has no body.")
    await warning.waitFor()
    await page.getByLabel("Body", { exact: true }).fill(`<p style="color: #b00">For {{ first_name }}</p>${script}`)
    await page.getByLabel("first_name", { exact: true }).fill("Ann <3")
    await preview(page).getByText("Hello Ann <3").waitFor()
    const body = preview(page).frameLocator("iframe")
    await body.getByText("For Ann <3").waitFor()
    await warning.waitFor({ state: "hidden" })
    assert.strictEqual(await body.locator("p").evaluate((p) => getComputedStyle(p).color), "rgb(187, 0, 0)")
    const widthOf = () => preview(page).locator("iframe").evaluate((frame) => (frame as HTMLElement).offsetWidth)
    assert.strictEqual(await widthOf(), 600)
    await page.getByLabel("Phone").check()
    await preview(page).getByText("Message, 375 px").waitFor()
    assert.strictEqual(await widthOf(), 375)
    await page.getByLabel("Plain text").check()
    await preview(page).locator("pre").getByText("For Ann <3").waitFor()
    await page.getByLabel("HTML", { exact: true }).check()
    await preview(page).getByText("No unsubscribe link was found").waitFor()

    await page.getByRole("link", { name: "Insert an image" }).click()
    const dialog = page.getByRole("dialog", { name: "Images" })
    const files = dialog.getByLabel("Image files")
    await files.setInputFiles({ name: "icon.png", mimeType: "image/png", buffer: Buffer.from("<svg>") })
    await dialog.getByRole("button", { name: "Upload" }).click()
    await dialog.getByText("icon.png: The file is an SVG").waitFor()
    await files.setInputFiles({ name: "logo.png", mimeType: "image/png", buffer: images.png })
    await dialog.getByRole("button", { name: "Upload" }).click()
    await dialog.getByRole("button", { name: "Insert logo.png" }).click()
    // The cursor is in `alt`.
    await page.keyboard.type("Our logo")
    const src = await body.getByRole("img", { name: "Our logo" }).getAttribute("src")
    assert.strictEqual((await tried.service().request(new URL(src ?? "").pathname)).status, 200)

    const subject = page.getByLabel("Subject", { exact: true })
    await subject.fill("Hello\n{{ first_name | shout }}")
    const error = page.locator("#var_0_source-error")
    await error.getByText(/line 2, column \d+: there is no filter "shout"/).waitFor()
    assert.strictEqual(await subject.getAttribute("aria-invalid"), "true")
    assert.strictEqual(await subject.locator(".cm-lintRange-error").innerText(), "shout")
    assert.isTrue(await subject.evaluate((area) => area === document.activeElement), "typing is not disturbed")
    await body.getByText("For Ann <3").waitFor()
    await press(page, "Create variant")
    await page.getByRole("alert").getByRole("link", { name: /line 2/ }).click()
    assert.isTrue(await subject.evaluate((area) => area === document.activeElement))
    await error.getByText(/there is no filter "shout"/).waitFor()
    await subject.fill("Hello {{ nick }}!")
    await error.getByText('"nick" has no sample value: people would read "Hello !"').waitFor()
    await preview(page).getByRole("region", { name: "Warnings" }).getByText("Hello !").waitFor()
    assert.strictEqual(await subject.locator(".cm-lintRange-warning").innerText(), "nick")
    assert.isNull(await subject.getAttribute("aria-invalid"))
    await subject.fill("Hello {{ first_name }}")
    await error.getByText(/nick/).waitFor({ state: "detached" })

    await press(page, "Add a condition")
    await page.getByLabel("Attribute", { exact: true }).fill("tier")
    await page.getByLabel("Comparison").selectOption("is one of")
    await page.getByLabel("Values, one a line").fill("gold\nsilver")
    await press(page, "Add a season")
    const season = page.getByRole("group", { name: "Season 1" })
    await season.getByLabel("Every year from", { exact: true }).selectOption("15")
    await season.getByLabel("Every year from: month").selectOption("November")
    await season.getByLabel("until before", { exact: true }).first().selectOption("6")
    await season.getByLabel("until before: month").selectOption("January")
    await page.getByLabel("tier", { exact: true }).fill("bronze")
    await page.getByLabel("Sample time").fill("2026-12-24T12:00")
    // The last change, so that only the preview of all changes has its word.
    await page.getByLabel("Friday").check()
    await preview(page).getByText("every year from 15 Nov until 6 Jan, on Friday").waitFor()
    assert.deepStrictEqual(await preview(page).locator(".checks .badge").allInnerTexts(), [
      "no match",
      "no match",
    ])
    await page.getByLabel("Sample time").fill("2026-12-25T12:00")
    await page.getByLabel("tier", { exact: true }).fill("Gold")
    await preview(page).locator(".checks .badge").filter({ hasText: /^match$/ }).nth(1).waitFor()
    await preview(page).getByText("The variant is inactive").waitFor()
    await page.getByLabel("Active", { exact: true }).check()
    await preview(page).getByText("gets this variant").waitFor()
    assert.notStrictEqual(await page.title(), "owned")
    await press(page, "Create variant")
    await page.getByText("The variant has been created.").waitFor()
    assert.notInclude(page.url(), "done=", "a reload does not repeat the message")
    await page.getByRole("link", { name: "Close this message" }).click()
    assert.strictEqual(await page.getByText("The variant has been created.").count(), 0)
    const { variants: [made] } = await manage("GET", "/organizations/written/templates/cart")
    assert.deepInclude(made, {
      id: "warm",
      active: true,
      targeting: [{ attribute: "tier", op: "in", values: ["gold", "silver"] }],
      seasons: [{ annual: { from: "11-15", to: "01-06" }, days: ["fri"] }],
      formats: { body: "html" },
    })

    await page.getByLabel("More for Warm").click()
    await press(page, "Duplicate Warm")
    await page.getByText("The variant has been duplicated.").waitFor()
    await page.getByLabel("Name", { exact: true }).fill("Cool")
    await press(page, "Remove condition 1")
    await page.getByText("Not saved yet.").waitFor()
    await press(page, "Remove season 1")
    // Enter saves, and is not one of the rows' buttons.
    await page.getByLabel("Name", { exact: true }).press("Enter")
    await page.getByText("The variant has been saved.").waitFor()
    // Tab leaves the text, completion takes what Enter chooses, and Ctrl+S saves.
    const text = page.getByLabel("Subject", { exact: true })
    await text.fill("Dear {{ first_name | upc")
    await text.press("Control+Space")
    await page.getByRole("option", { name: "upcase" }).waitFor()
    // Asked for again, the suggestions stay, and Enter takes one at once.
    await text.press("Control+Space")
    await text.press("Enter")
    await text.pressSequentially(" }}")
    await preview(page).getByText("Dear ANN").waitFor()
    await text.press("Tab")
    assert.isFalse(await text.evaluate((area) => area === document.activeElement))
    const saving = page.waitForResponse((response) => response.status() === 303)
    await page.keyboard.press("Control+s")
    await saving
    const { variants } = await manage("GET", "/organizations/written/templates/cart")
    const cool = variants.find(({ name }: { readonly name: string }) => name === "Cool")
    assert.strictEqual(cool.vars.subject, "Dear {{ first_name | upcase }}")
    await breadcrumbs(page).getByRole("link", { name: "Cart reminder" }).click()
    await press(page, "Activate Cool")
    await page.getByText("The variant is now active.").waitFor()
    const card = page.getByRole("listitem").filter({ has: page.getByRole("link", { name: "Cool", exact: true }) })
    await card.getByText("everyone").waitFor()
    await page.getByRole("region", { name: "Changes, newest first" }).getByText("variant activated").waitFor()
    assert.notStrictEqual(await page.title(), "owned")
    await page.getByLabel("More for Cool").click()
    await page.getByRole("link", { name: "Delete Cool" }).click()
    await press(page, "Delete the variant")
    await page.getByText("The variant has been deleted.").waitFor()

    await page.getByRole("link", { name: "Settings", exact: true }).click()
    await page.getByRole("link", { name: "Archive the template" }).click()
    await press(page, "Archive the template")
    await page.getByText("The template has been archived.").waitFor()
    await breadcrumbs(page).getByRole("link", { name: "Templates" }).click()
    await page.getByText("Every template is archived").waitFor()
    await page.getByRole("link", { name: "Archived: 1" }).click()
    await page.getByRole("link", { name: "Cart reminder", exact: true }).click()
    await press(page, "Restore the template")
    await page.getByText("The template has been restored.").waitFor()
    await page.getByRole("link", { name: "All changes, before and after" }).click()
    const restored = page.getByRole("listitem").filter({ hasText: "template restored" })
    await restored.getByText("in use").waitFor()
    await restored.getByRole("link", { name: "template restored" }).click()
    await page.getByRole("heading", { name: "Template restored", level: 1 }).waitFor()
    await page.goto(`${tried.service().url}/console/o/written/templates/cart`)

    // A preview is no step of the history.
    await page.getByRole("link", { name: "Edit Warm" }).click()
    await editorsOf(page).waitFor()
    await page.getByLabel("Subject", { exact: true }).fill("Dear {{ first_name }}")
    await preview(page).getByText("Dear Ann").waitFor()
    await page.goBack()
    await page.getByRole("heading", { name: "Cart reminder", level: 1 }).waitFor()
    await context.close()
  }, 120_000)

  it("works without scripts: rows, preview and import are plain forms", async () => {
    const email = await organization("scriptless", "Scriptless")
    const context = await tried.browser().newContext({ javaScriptEnabled: false })
    const page = await signIn(context, email)
    await page.goto(`${tried.service().url}/console/o/scriptless/templates`)
    await page.getByRole("link", { name: "Import a file" }).click()
    await page.getByLabel("Content of the file").fill("templates:\n  - id: plain\n    nam: Plain")
    await press(page, "Import")
    await page.getByRole("row", { name: /^line 3, column 5 .*nam: Plain/ }).waitFor()
    await page.getByLabel("Content of the file").fill("templates:\n  - id: plain\n    name: Plain")
    await press(page, "Import")
    await page.getByRole("link", { name: "plain" }).click()
    await page.getByRole("link", { name: "New variant" }).click()
    await page.getByLabel("Name", { exact: true }).fill("One")
    await page.getByLabel("Subject", { exact: true }).fill("Hi {{ who }}")
    await press(page, "Add a variable")
    await page.getByLabel("Variable", { exact: true }).nth(3).fill("footer")
    await page.getByLabel("who", { exact: true }).fill("Bo")
    await press(page, "Show the preview")
    await page.frameLocator("iframe[name=preview]").getByText("Hi Bo").waitFor()
    assert.strictEqual(await page.getByLabel("Name", { exact: true }).inputValue(), "One", "the page stays")
    await press(page, "Create variant")
    await page.getByText("The variant has been created.").waitFor()
    const { variants: [made] } = await manage("GET", "/organizations/scriptless/templates/plain")
    assert.deepStrictEqual(made.vars, { subject: "Hi {{ who }}", preheader: "", body: "", footer: "" })
    await context.close()
  })

  it("passes axe, fits phones, and supports light and dark colors", async () => {
    const email = await organization("outdoor", "Fernweh Outdoor")
    const base = "/console/o/outdoor/templates"
    const context = await tried.browser().newContext()
    const first = await signIn(context, email)
    await first.goto(`${tried.service().url}${base}`)
    assert.deepStrictEqual(await faultsByAxe(first), [], "the empty list")
    await screenshot(first, "templates-empty")
    await first.goto(`${tried.service().url}${base}/-/import`)
    const file = new URL("../../src/demo/cart-reminder.yaml", import.meta.url)
    await first.getByLabel("A file from this computer").setInputFiles({
      name: "cart-reminder.yaml",
      mimeType: "application/yaml",
      buffer: readFileSync(file),
    })
    await press(first, "Import")
    await first.getByText("Created: 1").waitFor()
    await context.close()

    const template = "/organizations/outdoor/templates/cart-reminder"
    await manage("PATCH", `${template}/variants/free-shipping`, {
      targeting: [
        { attribute: "tier", op: "in", values: ["gold", "silver"] },
        { attribute: "orders", op: "gte", values: [3] },
      ],
    })
    await manage("PATCH", `${template}/variants/last-pieces`, {
      seasons: [{
        starts_at: "2020-01-01",
        ends_at: "2020-02-01T09:00",
        days: ["mon", "fri"],
        hours: { from: 9, to: 17 },
      }],
    })
    await manage("PATCH", `${template}/variants/ask-mira`, { active: false })
    await manage("PATCH", template, { objective: { click: 1, conversion: 5, negative: -2 }, sticky_hours: 48 })
    await manage("POST", "/organizations/outdoor/templates", { id: "welcome", name: "Welcome" })
    const { vars } = await manage("GET", `${template}/variants/free-shipping`)
    const words: Record<string, string> = Object.fromEntries(
      Object.entries<string>(vars).map(([name, text]) => [name, text.replaceAll("shipping", "delivery to your door")]),
    )
    await manage("PATCH", `${template}/variants/free-shipping`, {
      vars: {
        ...words,
        body: [
          "<table>",
          ...Array.from({ length: 24 }, (_, n) => `  <tr><td>Row ${n} of the letter</td></tr>`),
          "</table>",
          words["body"],
        ].join("\n"),
      },
    })
    await manage("PATCH", `${template}/variants/free-shipping`, {
      vars: {
        ...words,
        body: [
          "<table>",
          ...Array.from({ length: 24 }, (_, n) => `  <tr><td>Row ${n === 12 ? "twelve" : n} of the letter</td></tr>`),
          "</table>",
          `<p>We hold {{ cart.items | size }} things for you until ${
            "the end of the week, ".repeat(8)
          }and not longer.</p>`,
          words["body"],
        ].join("\n"),
      },
    })
    await manage("PATCH", "/organizations/outdoor", {
      quiet_hours: { from: "21:00", to: "08:00" },
      allowed_days: ["mon", "tue", "wed", "thu", "fri"],
      exploration_floor: 0.05,
    })
    await manage("POST", "/organizations/outdoor/templates", {
      id: "summer-sale",
      name: "Summer sale",
      variants: [{ id: "a", vars: { subject: "Half price" } }],
    })
    await manage("PATCH", "/organizations/outdoor/templates/summer-sale", { archived: true })
    const entries = async () => (await manage("GET", `${template}/history`)).changes
    const [{ id: lastChange }] = await entries()
    const { key } = await manage("POST", "/organizations/outdoor/keys", { name: "Shop" })
    for (let index = 0; index < 30; index++) {
      const answer = await tried.service().generate("outdoor", key, {
        template_id: "cart-reminder",
        user_id: `user-${index}`,
        attrs: { tier: index % 2 === 0 ? "gold" : "new", orders: index % 5 },
      })
      assert.strictEqual(answer.status, 200)
    }

    await inEveryLook(async (context, keep) => {
      const page = await signIn(context, email)
      const check = (name: string) => keep(page, `templates-${name}`)
      await waitUntil("the decisions are counted", async () => {
        await page.goto(`${tried.service().url}${base}`)
        return await page.getByText("30 sends").count() > 0
      }, 60)
      await check("list")
      await page.goto(`${tried.service().url}${base}?q=nothing+like+it`)
      await check("list-none")
      await page.goto(`${tried.service().url}${base}?archived=true`)
      await check("list-archived")
      await page.goto(`${tried.service().url}${base}/summer-sale`)
      await check("template-archived")
      await page.goto(`${tried.service().url}${base}/cart-reminder`)
      await page.frameLocator(".variant-card iframe").first().getByText("Back to your cart").waitFor()
      await check("template")
      await page.getByText("Sample fields", { exact: true }).first().click()
      await check("template-samples")
      await page.goto(`${tried.service().url}${base}/welcome`)
      await check("template-empty")
      for (const variant of ["free-shipping", "last-pieces"]) {
        await page.goto(`${tried.service().url}${base}/cart-reminder/variants/${variant}`)
        await preview(page).getByText("Who matches").waitFor()
        await preview(page).frameLocator("iframe").getByText("Back to your cart").waitFor()
        await check(`variant-${variant}`)
      }
      await page.getByLabel("Subject", { exact: true }).fill("Your {{ cart.items | firts }} is waiting")
      await page.locator("#var_0_source-error").getByText(/there is no filter/).waitFor()
      await page.getByLabel("Name", { exact: true }).fill("")
      await press(page, "Save variant")
      await page.getByRole("alert").waitFor()
      assert.strictEqual(await page.getByRole("alert").getByRole("listitem").count(), 2, "all faults at once")
      await preview(page).getByText("there is no filter").waitFor()
      await check("variant-faulty")
      for (
        const [name, path] of [
          ["new-variant", "cart-reminder/new-variant"],
          ["settings", "cart-reminder/settings"],
          ["history", "cart-reminder/history"],
          ["history-entry", `cart-reminder/history/${lastChange}`],
          ["archive", "cart-reminder/archive"],
          ["delete", "cart-reminder/delete"],
          ["delete-variant", "cart-reminder/variants/reviews/delete"],
          ["create", "-/new"],
          ["import", "-/import"],
        ] as const
      ) {
        await page.goto(`${tried.service().url}${base}/${path}`)
        await check(name)
      }
      await page.getByLabel("Content of the file").fill("templates:\n  - id: x\n    nam: X\n    strict: maybe")
      await press(page, "Import")
      await page.getByText("Nothing was imported").waitFor()
      await check("import-faulty")
    })
  }, 300_000)
})
