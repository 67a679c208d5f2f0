import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { it } from "vitest"
import { password } from "../console/furnished.ts"
import type { Page } from "../support/browser.ts"
import { startInProcess, waitUntil } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { describeInBrowser } from "./describeInBrowser.ts"

const start = Effect.map(startInProcess(temporaryEnvironment), (service) => ({ service }))

describeInBrowser("Drafts in a browser", start, (tried) => {
  const { inEveryLook, manage, signIn, submit: press } = tried

  /** An organization with a template, and two editors of it. */
  const furnish = async (slug: string) => {
    await manage("POST", "/organizations", { slug, name: "Drafted", time_zone: "Europe/Berlin" })
    const people = [`grace@${slug}.example`, `linus@${slug}.example`] as const
    for (const email of people) {
      const { id } = await manage("POST", "/accounts", { email, name: "Editor", password })
      await manage("PUT", `/organizations/${slug}/members/${id}`, { role: "editor" })
    }
    await manage("POST", `/organizations/${slug}/templates`, {
      id: "cart",
      name: "Cart reminder",
      variants: [{
        id: "warm",
        name: "Warm",
        vars: { subject: "Your cart is waiting", body: "<p>One</p>\n<p>Two</p>" },
        formats: { body: "html" },
      }],
    })
    const path = `/organizations/${slug}/templates/cart`
    return {
      people,
      path,
      page: `${tried.service().url}/console/o/${slug}/templates/cart/variants/warm`,
      drafts: async () => (await manage("GET", `${path}/drafts`)).drafts,
    }
  }

  const subject = (page: Page) => page.getByLabel("Subject", { exact: true })

  it("stores typed text, and warns before it is lost", async () => {
    const { drafts, page: url, path, people } = await furnish("typed")
    const context = await tried.browser().newContext()
    const page = await signIn(context, people[0])
    await page.goto(url)
    // A text that cannot be stored, and its correction.
    await subject(page).evaluate((box) => {
      const clipboardData = new DataTransfer()
      clipboardData.setData("text/plain", "\0")
      box.dispatchEvent(new ClipboardEvent("paste", { clipboardData, cancelable: true }))
    })
    await page.locator("[data-draft-problem]").getByText("without NUL").waitFor()
    const leavingRefused = page.waitForEvent("dialog")
    const cancelling = page.getByRole("link", { name: "Cancel" }).click()
    await (await leavingRefused).dismiss()
    await cancelling
    await subject(page).fill("Your cart misses you")
    const asked = page.waitForEvent("dialog")
    const leaving = page.getByRole("link", { name: "Cancel" }).click()
    const dialog = await asked
    assert.strictEqual(dialog.type(), "beforeunload")
    await dialog.dismiss()
    await leaving
    await page.getByText(/^Draft saved/).waitFor()
    assert.isFalse(await page.locator("[data-draft-problem]").isVisible())
    // It is stored now, so that nothing is asked.
    await page.getByRole("link", { name: "Cancel" }).click()
    await page.getByRole("link", { name: "Warm" }).first().waitFor()
    await page.getByText("Drafts that are not live").waitFor()
    await page.getByRole("link", { name: "Edit Warm" }).click()
    // The editor takes the text over once its script has run.
    await subject(page).filter({ hasText: /^Your cart misses you$/ }).waitFor()

    // A second window of the same author.
    const other = await context.newPage()
    await other.goto(url)
    await subject(other).fill("From the other window")
    await other.getByText(/^Draft saved/).waitFor()
    await subject(page).fill("From the first window")
    await page.getByText("Another window has stored a newer draft of yours.").waitFor()
    assert.strictEqual((await drafts()).length, 1)
    await other.close()
    await page.goto(url)
    assert.strictEqual(await subject(page).innerText(), "From the other window")
    // Typed before the script of the page ran.
    const script = /\/drafts\.\w+\.js$/
    await page.route(script, async (route) => {
      await page.locator("textarea[name^='var_']", { hasText: "From the other window" })
        .evaluate((field: HTMLTextAreaElement) => field.value = "Your cart is waiting")
      await route.continue()
    })
    await page.reload()
    await page.getByText("No changes").waitFor()
    assert.deepStrictEqual(await drafts(), [])
    await page.unroute(script)

    await subject(page).fill("Published")
    await page.keyboard.press("Control+s")
    await page.getByText("The variant has been saved.").waitFor()
    assert.strictEqual((await manage("GET", `${path}/variants/warm`)).vars.subject, "Published")
    assert.deepStrictEqual(await drafts(), [])
    await context.close()
  }, 240_000)

  it("continues a draft after the session has ended, for the same account", async () => {
    const { drafts, page: url, path, people } = await furnish("ended")
    const context = await tried.browser().newContext()
    const page = await signIn(context, people[0])
    await page.goto(url)
    const endSession = async () => {
      const token = (await context.cookies()).find(({ name }) => name.endsWith("parlance_session"))!
      await context.clearCookies({ name: token.name })
    }
    await endSession()
    await subject(page).fill("Typed after the end")
    await page.getByText("Your session has ended.").waitFor()
    const opening = context.waitForEvent("page")
    await page.getByRole("link", { name: "Sign in in a new tab" }).click()
    const tab = await opening
    await tab.getByLabel("E-mail address").fill(people[1])
    await tab.getByLabel("Password").fill(password)
    await press(tab, "Sign in")
    await tab.getByText("go back to the one with your text").waitFor()
    await page.bringToFront()
    await subject(page).press("End")
    await subject(page).pressSequentially("!")
    await page.getByText(`this text was written as ${people[0]}`).waitFor()
    assert.deepStrictEqual(await drafts(), [], "nothing is stored for another account")
    await endSession()
    await tab.goto(`${tried.service().url}/console/sign-in`)
    await tab.getByLabel("E-mail address").fill(people[0])
    await tab.getByLabel("Password").fill(password)
    await press(tab, "Sign in")
    await tab.waitForURL(({ pathname }) => pathname !== "/console/sign-in")
    await page.bringToFront()
    await subject(page).press("End")
    await subject(page).pressSequentially("!")
    await page.getByText(/^Draft saved/).waitFor()
    assert.strictEqual((await drafts())[0].author, people[0])
    await press(page, "Save variant")
    await page.getByText("The variant has been saved.").waitFor()
    assert.strictEqual((await manage("GET", `${path}/variants/warm`)).vars.subject, "Typed after the end!!")

    // Without scripts, or where the button was pressed first, the page that answers keeps the text.
    const plain = await tried.browser().newContext({ javaScriptEnabled: false })
    const form = await signIn(plain, people[0])
    await form.goto(url)
    await subject(form).fill('Kept "in" the page')
    await plain.clearCookies()
    await press(form, "Save variant")
    await form.getByText("Your text is kept in this page.").waitFor()
    const second = await signIn(plain, people[0])
    await press(form, "Continue with your text")
    await form.getByText("You are signed in again, and your text is here.").waitFor()
    assert.strictEqual(await subject(form).inputValue(), 'Kept "in" the page')
    await press(form, "Save as draft")
    await form.getByText("The draft has been saved.").waitFor()
    await press(form, "Discard draft")
    await form.getByText("Your draft has been discarded.").waitFor()
    await second.close()
    await plain.close()
    await context.close()
  }, 240_000)

  it("shows drafts and conflicts on phones and desktops, without findings of axe", async () => {
    const { page: url, path, people } = await furnish("looked")
    await inEveryLook(async (context, keep) => {
      const page = await signIn(context, people[0])
      await page.goto(url)
      await subject(page).fill("Your cart is waiting, still")
      await page.getByText(/^Draft saved/).waitFor()
      await manage("PATCH", `${path}/variants/warm`, { vars: { subject: "Theirs", body: "<p>One</p>" } })
      await press(page, "Save variant")
      await page.getByRole("region", { name: "Saved by somebody else meanwhile" }).waitFor()
      await page.locator(".frame-holder iframe:not(.coming)").waitFor()
      await keep(page, "draft-conflict")
      await press(page, "Combine both")
      await page.getByText("The form has the changes of both texts.").waitFor()
      await page.getByText(/^Draft saved/).waitFor()
      await keep(page, "draft-combined")
      await page.goto(url)
      await page.getByText("Your draft of").waitFor()
      await keep(page, "draft-own")
      await page.getByRole("link", { name: "Show changes" }).click()
      await keep(page, "draft-changes")
      const other = await signIn(await tried.browser().newContext(), people[1])
      await other.goto(url)
      await other.getByRole("link", { name: `Draft by ${people[0]}` }).waitFor()
      await keep(other, "draft-of-colleague")
      await other.context().close()
      const again = await context.newPage()
      await again.goto(url)
      await subject(again).fill("Kept")
      await context.clearCookies({ name: /session/ })
      await press(again, "Save variant")
      await again.getByText("Your text is kept in this page.").waitFor()
      await keep(again, "draft-kept")
      const last = await signIn(context, people[0])
      await last.goto(`${tried.service().url}/console/signed-in`)
      await keep(last, "draft-signed-in")
      await last.goto(url)
      await press(last, "Discard draft")
      await last.getByRole("link", { name: "Versions" }).click()
      await keep(last, "versions")
      await last.getByRole("link", { name: /^Version/ }).last().click()
      await last.getByText("Restoring it makes these changes").waitFor()
      await keep(last, "version")
    })
    await waitUntil("all drafts are discarded", async () => (await manage("GET", `${path}/drafts`)).drafts.length === 0)
  }, 300_000)
})
