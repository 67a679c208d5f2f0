import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { it } from "vitest"
import { password } from "../console/furnished.ts"
import { server } from "../delivery/connections/support.ts"
import type { BrowserContext, Page } from "../support/browser.ts"
import { certificate } from "../support/platformServers/Certificate.ts"
import { startSmtp } from "../support/platformServers/SmtpReceiver.ts"
import { startInProcess } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { describeInBrowser, editorsOf } from "./describeInBrowser.ts"

const start = Effect.all({
  service: startInProcess(temporaryEnvironment, {
    SECRET_KEY: "5e".repeat(32),
    OUTBOUND_ALLOW: "127.0.0.1/32,::1/128",
  }),
  receiver: server(() => startSmtp({})),
})

describeInBrowser("Core tasks of the editor", start, (tried) => {
  const { inEveryLook, manage, signIn, submit: press } = tried

  const organization = async (slug: string) => {
    await manage("POST", "/organizations", { slug, name: "Core tasks", time_zone: "Europe/Berlin" })
    const email = `editor@${slug}.example`
    const { id } = await manage("POST", "/accounts", { email, name: "Editor", password })
    await manage("PUT", `/organizations/${slug}/members/${id}`, { role: "editor" })
    await manage("PUT", `/organizations/${slug}/connections/main`, {
      platform: "smtp",
      settings: {
        host: "localhost",
        port: tried.started().receiver.port,
        ca: certificate,
        from: "news@shop.example",
      },
    })
    return { email, base: `${tried.service().url}/console/o/${slug}/templates` }
  }

  /** Counts the clicks of a pointer on all pages of a context. Activations by the keyboard have the detail 0. */
  const countClicks = async (context: BrowserContext) => {
    let clicks = 0
    await context.exposeBinding("countClick", () => void clicks++)
    await context.addInitScript(() => {
      addEventListener("click", ({ detail, isTrusted }) => {
        const { countClick } = globalThis as unknown as { readonly countClick: () => void }
        if (isTrusted && detail > 0) countClick()
      }, true)
    })
    return () => clicks
  }

  const write = async (page: Page, name: string) => {
    await page.getByLabel("Name", { exact: true }).fill(name)
    await editorsOf(page).waitFor()
    await page.getByLabel("Subject", { exact: true }).fill(`${name}, {{ first_name }}`)
    await page.getByLabel("Body", { exact: true }).fill("<p>Hello {{ first_name }}</p>")
  }

  it("creates a template with three active variants in at most 8 clicks, and sends a test in 3", async () => {
    const { base, email } = await organization("tasks")
    const context = await tried.browser().newContext()
    const page = await signIn(context, email)
    const clicks = await countClicks(context)
    await page.goto(base)
    await page.getByRole("link", { name: "Create a template" }).click()
    await page.getByLabel("Name", { exact: true }).fill("Cart reminder")
    await press(page, "Create template")
    for (const name of ["Warm", "Brief", "Bold"]) {
      await page.getByRole("link", { name: "New variant" }).click()
      await write(page, name)
      await press(page, "Create and activate")
      await page.getByText("The variant has been created.").waitFor()
    }
    const { variants } = await manage("GET", "/organizations/tasks/templates/cart-reminder")
    assert.deepStrictEqual(
      variants.map(({ active, name }: { readonly active: boolean; readonly name: string }) => [name, active]),
      [["Warm", true], ["Brief", true], ["Bold", true]],
    )
    assert.strictEqual(clicks(), 8)

    const before = clicks()
    await page.getByRole("link", { name: "Edit Warm" }).click()
    await page.getByText("Send test", { exact: true }).click()
    await press(page, "Send now")
    await page.getByText(`Test sent to ${email}.`).waitFor()
    assert.strictEqual(clicks() - before, 3)
    await context.close()
  }, 240_000)

  it(
    "previews and tests as a person, with the keyboard alone, without scripts, and without findings of axe",
    async () => {
      const { base, email } = await organization("as-person")
      await manage("POST", "/organizations/as-person/templates", {
        id: "cart",
        name: "Cart reminder",
        variants: [{
          id: "warm",
          name: "Warm",
          vars: { subject: "For {{ first_name }}", body: "<p>Hello {{ first_name }}</p>" },
          formats: { body: "html" },
          targeting: [{ attribute: "tier", op: "is", values: ["gold"] }],
        }],
      })
      const url = `${base}/cart/variants/warm`
      const plain = await tried.browser().newContext({ javaScriptEnabled: false })
      const form = await signIn(plain, email)
      await form.goto(url)
      for (const [name, tier] of [["Gold Ann", "gold"], ["Silver Bo", "silver"]] as const) {
        await form.getByLabel("first_name", { exact: true }).fill(name)
        await form.getByLabel("tier", { exact: true }).fill(tier)
        await form.getByText("Save the sample as a person").click()
        await form.getByLabel("Name of the person").fill(name)
        await press(form, "Save person")
        await form.getByText(`${name} has been saved.`).waitFor()
      }
      await form.getByLabel("Preview as").selectOption("Gold Ann")
      await press(form, "Use this person")
      assert.include(await form.getByLabel("Sample fields").inputValue(), "Gold Ann")
      await plain.close()

      await inEveryLook(async (context, keep) => {
        const page = await signIn(context, email)
        const preview = page.frameLocator(".frame-holder iframe:not(.coming)")
        await page.goto(url)
        await page.getByLabel("Preview as").selectOption("Silver Bo")
        await preview.getByText("For Silver Bo").first().waitFor()
        await preview.getByText("does not get it").waitFor()
        await page.getByLabel("Preview as").focus()
        await page.keyboard.press("g")
        await preview.getByText("For Gold Ann").first().waitFor()
        await preview.getByText("gets this variant").waitFor()
        await page.getByRole("button", { name: "Find recent recipients" }).press("Enter")
        await page.getByText("No user got this template in the last 30 days.").waitFor()
        await page.locator("details.save-person summary").press("Enter")
        await preview.getByText("For Gold Ann").first().waitFor()
        await keep(page, "editor-person")
        await page.getByText("Send test", { exact: true }).press("Enter")
        await page.getByRole("button", { name: "Send now" }).press("Enter")
        await page.getByText(`Test sent to ${email}.`).waitFor()
        await keep(page, "editor-test-sent")
      })
      const { deliveries } = await manage("GET", "/organizations/as-person/deliveries")
      assert.deepStrictEqual(deliveries, [], "tests count in nothing")
    },
    300_000,
  )
})
