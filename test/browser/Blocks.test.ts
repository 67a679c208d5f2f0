import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { it } from "vitest"
import { password } from "../console/furnished.ts"
import type { Page } from "../support/browser.ts"
import { startInProcess } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { describeInBrowser } from "./describeInBrowser.ts"

const start = Effect.all({ service: startInProcess(temporaryEnvironment) })

describeInBrowser("Blocks of a message", start, ({ inEveryLook, manage, service, signIn, submit }) => {
  const body = (page: Page) => page.locator("textarea.source").nth(2).inputValue()
  const blocks = (page: Page) => page.locator(".blocks:visible")
  const row = (page: Page, text: string) => blocks(page).locator("summary", { hasText: text }).first()
  const opened = (page: Page, text: string) => blocks(page).locator("details.block[open]", { hasText: text }).first()

  const furnish = async (slug: string) => {
    await manage("POST", "/organizations", { slug, name: "Shop" })
    const email = `editor@${slug}.example`
    const { id } = await manage("POST", "/accounts", { email, name: "Editor", password })
    await manage("PUT", `/organizations/${slug}/members/${id}`, { role: "editor" })
    await manage("POST", `/organizations/${slug}/templates`, { id: "news", name: "News" })
    return { email, url: `${service().url}/console/o/${slug}/templates/news/new-variant` }
  }

  it("change the texts, links, pictures and order of a layout without its code", async () => {
    const { email, url } = await furnish("shop")
    await inEveryLook(async (context, keep) => {
      const page = await signIn(context, email)
      const preview = page.frameLocator(".frame-holder iframe:not(.coming)").frameLocator("iframe")
      await page.goto(url)
      await page.getByRole("radio", { name: "Announcement" }).focus()
      await page.keyboard.press("ArrowRight")
      await keep(page, "layout-choice")
      await page.keyboard.press("ArrowLeft")
      await submit(page, "Use this layout")
      await row(page, "Something new is here").click()
      const begun = await body(page)

      // The text of a field that is missing.
      await opened(page, "Something new").locator(".chip").click()
      await page.getByLabel("Text if it is missing").fill("Spring is here")
      await preview.getByRole("heading", { name: "Spring is here" }).waitFor()
      assert.strictEqual(await body(page), begun.replace('"Something new is here"', '"Spring is here"'))

      // An impossible name is explained, and the text keeps the last one.
      const field = opened(page, "Something new").getByRole("combobox")
      await field.fill("head line!")
      await opened(page, "Something new").getByRole("alert").waitFor()
      assert.strictEqual(await body(page), begun.replace('"Something new is here"', '"Spring is here"'))
      await field.fill("headline")
      await opened(page, "Something new").getByRole("alert").waitFor({ state: "hidden" })

      // A link in the preview leads nowhere, and a subject has one line.
      await preview.getByRole("link").first().press("Enter")
      await preview.getByRole("heading", { name: "Spring is here" }).waitFor()
      const subject = page.locator("textarea.source").first()
      const written = await subject.inputValue()
      await page.locator(".cm-content").first().press("End")
      await page.keyboard.press("Enter")
      await page.keyboard.press("Shift+Enter")
      assert.strictEqual(await subject.inputValue(), written)

      // Liquid key by key, and pasted lines.
      await row(page, "Say in two sentences").click()
      const text = opened(page, "Say in two").getByRole("textbox", { name: "Text" })
      await text.fill("")
      await page.keyboard.type("{{ first_name }}{% if vip %}!{% endif %}")
      await text.evaluate((box) => {
        const clipboardData = new DataTransfer()
        clipboardData.setData("text/plain", "\none\ntwo")
        box.dispatchEvent(new ClipboardEvent("paste", { clipboardData, cancelable: true }))
      })
      assert.include(
        await body(page),
        "<mj-text>{{ first_name }}{% if vip %}!{% endif %}<br />one<br />two</mj-text>\n        <mj-button",
      )

      // A text with bold words, a link and signs of HTML.
      await text.fill("New & <fresh>")
      await text.press("Home")
      await page.keyboard.press("Shift+ControlOrMeta+ArrowRight")
      await page.getByRole("button", { name: "Bold" }).click()
      await text.press("End")
      await text.press("Enter")
      await page.keyboard.type("more")
      await page.keyboard.press("Shift+Home")
      await page.getByRole("button", { name: "Link the selected words" }).click()
      await page.getByLabel("Link to").fill("https://shop.example/?a=1&b=2")
      assert.include(
        await body(page),
        '<mj-text><strong>New</strong> &amp; &lt;fresh&gt;<br /><a href="https://shop.example/?a=1&b=2">more</a></mj-text>',
      )
      await keep(page, "blocks-text")

      // Order: the button before the text, twice, and back by undo.
      const ordered = await body(page)
      await row(page, "See what is new").click()
      const button = opened(page, "See what is new")
      await button.getByRole("button", { name: "Move up" }).click()
      await page.keyboard.press("Enter")
      assert.isBelow((await body(page)).indexOf("<mj-button href"), (await body(page)).indexOf("Hello {{"))
      await page.keyboard.press("ControlOrMeta+z")
      await page.keyboard.press("ControlOrMeta+z")
      assert.strictEqual(await body(page), ordered)
      await blocks(page).getByRole("button", { name: "Redo" }).click()
      await blocks(page).getByRole("button", { name: "Undo" }).click()
      assert.strictEqual(await body(page), ordered)

      // A link, a color and the space of the button, and a block below it.
      await button.getByRole("textbox", { name: "Link" }).fill("https://shop.example/spring")
      await button.getByText("Look and spacing").click()
      await button.getByLabel("Background").fill("#8a1f7a")
      await button.getByLabel("Space below").fill("1999")
      // The boxes follow a message that scrolls itself.
      await page.waitForFunction(() => document.querySelector(".preview-blocks")!.scrollHeight > 1200)
      for (const top of [60, 0]) {
        // A preview that arrives meanwhile begins at its top, so that the message scrolls until its boxes have followed.
        await page.waitForFunction((top) => {
          const frame = document.querySelector<HTMLIFrameElement>(".frame-holder iframe:not(.coming)")
          frame?.contentDocument?.querySelector("iframe")?.contentWindow?.scrollTo(0, top)
          return (document.querySelector(".preview-blocks")!.scrollTop > 0) === (top > 0)
        }, top)
      }
      await button.getByLabel("Space below").fill("40")
      await button.getByRole("button", { name: "Divider" }).click()
      assert.include(
        await body(page),
        '<mj-button href="https://shop.example/spring" background-color="#8a1f7a" padding-bottom="40px">See what is new</mj-button>\n        <mj-divider />',
      )
      await blocks(page).locator("details.of-divider").getByRole("button", { name: "Remove" }).click()
      assert.notInclude(await body(page), "<mj-divider />")

      // A text of the footer, dragged above the button.
      const dragged = await body(page)
      await row(page, "You get this e-mail").dragTo(row(page, "See what is new"), { targetPosition: { x: 40, y: 2 } })
      assert.isBelow((await body(page)).indexOf("You get this"), (await body(page)).indexOf("See what is new"))
      await page.keyboard.press("ControlOrMeta+z")
      assert.strictEqual(await body(page), dragged)

      // The code, and the blocks again.
      await page.getByRole("button", { name: "Code", exact: true }).and(page.locator(":visible")).click()
      assert.isTrue(await page.getByLabel("Body", { exact: true }).isVisible())
      await page.getByRole("button", { name: "Blocks", exact: true }).and(page.locator(":visible")).click()
      await row(page, "See what is new").waitFor()

      // A click in the preview opens the form of a block, and the open block is outlined there.
      await preview.getByRole("link", { name: "See what is new" }).waitFor()
      await page.getByRole("heading", { name: "Preview" }).scrollIntoViewIfNeeded()
      // Boxes come once the message of a new preview is there. A heading has no place while another message takes over.
      const shown = preview.getByRole("heading", { name: "Spring is here" })
      const placeUnderBox = async () => {
        const place = await shown.boundingBox()
        const isUnder = place !== null && await page.evaluate(
          ([x, y]) => document.elementFromPoint(x!, y!)?.matches(".preview-blocks [data-path]") === true,
          [place.x + place.width / 2, place.y + place.height / 2],
        )
        return isUnder ? place : undefined
      }
      await page.waitForFunction(() => document.querySelectorAll(".frame-holder iframe").length === 1)
      let place = await placeUnderBox()
      while (place === undefined) {
        await page.evaluate(() => new Promise((done) => requestAnimationFrame(done)))
        place = await placeUnderBox()
      }
      const { height, width, x, y } = place
      await page.mouse.click(x + width / 2, y + height / 2)
      await opened(page, "Spring is here").locator(".rich:focus").waitFor()
      // The outline surrounds the heading.
      await page.waitForFunction(([top, bottom]) => {
        const outline = document.querySelector(".preview-blocks .chosen")?.getBoundingClientRect()
        return outline !== undefined && outline.top <= top! && bottom! <= outline.bottom
      }, [y, y + height])
      await row(page, "See what is new").click()
      await page.waitForFunction((top) => {
        const [chosen, ...others] = document.querySelectorAll(".preview-blocks .chosen")
        return others.length === 0 && chosen !== undefined && chosen.getBoundingClientRect().top > top
      }, y)
      assert.strictEqual(
        await page.frameLocator(".frame-holder iframe:not(.coming)").locator("iframe").getAttribute("sandbox"),
        "allow-same-origin",
      )
      await page.evaluate(() => scrollTo(0, 0))
      await keep(page, "blocks-button")

      // A block becomes a snippet in a tab of its own. The snippet is inserted as a block.
      const unsaved = await body(page)
      const opening = page.waitForEvent("popup")
      await button.getByRole("button", { name: "Save as snippet" }).click()
      const tab = await opening
      await tab.getByLabel("Name", { exact: true }).fill("Call to action")
      await submit(tab, "Create snippet")
      await tab.getByText("The snippet has been saved.").waitFor()
      await tab.close()
      await button.getByRole("button", { name: "Snippet", exact: true }).click()
      const dialog = page.getByRole("dialog", { name: "Snippets" })
      await dialog.getByRole("button", { name: "Insert Call to action" }).waitFor()
      await page.evaluate(() => scrollTo(0, 0))
      await keep(page, "snippets-dialog")
      await dialog.getByRole("button", { name: "Insert Call to action" }).click()
      await preview.getByRole("link", { name: "See what is new" }).nth(1).waitFor()
      assert.include(await body(page), "<mj-text padding=\"0\">{% render 'call-to-action' %}</mj-text>")
      await page.evaluate(() => scrollTo(0, 0))
      await keep(page, "blocks-snippet")
      await blocks(page).getByRole("button", { name: "Undo" }).click()
      assert.strictEqual(await body(page), unsaved)
      await page.getByLabel("Name", { exact: true }).fill("Spring")
      await submit(page, "Create and activate")
      await page.getByText("The variant has been created.").waitFor()
    })
    const { variants: [made] } = await manage("GET", "/organizations/shop/templates/news")
    assert.include(made.vars.body, "Spring is here")
    assert.deepStrictEqual(made.formats, { body: "mjml" })
  }, 240_000)

  it("shows the fields of a subject as chips, which the keyboard inserts, changes and removes", async () => {
    const { email, url } = await furnish("chips")
    await inEveryLook(async (context, keep) => {
      const page = await signIn(context, email)
      await page.goto(url)
      await page.locator("#editor-keys").waitFor()
      const subject = page.getByLabel("Subject", { exact: true })
      const source = () => page.locator("textarea.source").first().inputValue()
      const chips = () => subject.locator(".chip").allInnerTexts()
      const group = page.getByRole("group", { name: "Subject" })

      // Liquid by hand is code until the cursor leaves it.
      await subject.click()
      await page.keyboard.type("Hi {{ first_name")
      assert.deepStrictEqual(await chips(), [])
      await page.keyboard.type(" }}, {{ cart.items | size }} things")
      assert.deepStrictEqual(await chips(), ["first_name", "cart.items | size"])
      await subject.locator(".chip").first().focus()
      await page.keyboard.press("Enter")
      await page.getByLabel("Text if it is missing").fill("you & me")
      assert.strictEqual(await source(), 'Hi {{ first_name | default: "you & me" }}, {{ cart.items | size }} things')
      await page.keyboard.press("ControlOrMeta+z")
      assert.strictEqual(await source(), "Hi {{ first_name }}, {{ cart.items | size }} things")
      assert.isTrue(await subject.evaluate((box) => box === document.activeElement), "undo is for the text")

      // A new field at the cursor, and the code of a chip.
      await page.keyboard.press("ControlOrMeta+End")
      await page.keyboard.type(" for ")
      await group.getByRole("button", { name: "Insert field" }).click()
      await page.keyboard.type("city")
      await page.getByLabel("Text if it is missing").fill("home")
      const whole = 'Hi {{ first_name }}, {{ cart.items | size }} things for {{ city | default: "home" }}'
      assert.strictEqual(await source(), whole)
      assert.deepStrictEqual(await chips(), ["first_name", "cart.items | size", "home"])
      await keep(page, "subject-chips")
      await group.getByRole("button", { name: "Edit as code" }).click()
      await page.keyboard.type("| upcase ")
      assert.deepStrictEqual(await chips(), ["first_name", "cart.items | size"])
      assert.strictEqual(await source(), whole.replace('"home" }}', '"home" | upcase }}'))

      // A chip whose Liquid is emptied has no code.
      await subject.locator(".chip").first().click()
      await page.getByLabel("Text if it is missing").fill("C:\\new\\")
      assert.include(await source(), String.raw`Hi {{ first_name | default: "C:\\new\\" }}, `)
      await page.keyboard.press("ControlOrMeta+z")
      await page.keyboard.press("ControlOrMeta+Home")
      await page.keyboard.insertText("{{ city | upcase }}")
      await subject.locator(".chip").first().click()
      await page.getByLabel("Liquid", { exact: true }).fill("")
      await group.getByRole("button", { name: "Edit as code" }).click()
      await page.keyboard.press("ControlOrMeta+z")
      await page.keyboard.press("ControlOrMeta+z")
      assert.match(await source(), /^Hi \{\{ first_name \}\}, /)

      // The cursor passes a chip as one character, and Backspace removes it.
      await page.keyboard.press("ControlOrMeta+End")
      await page.keyboard.press("Backspace")
      assert.strictEqual(await source(), "Hi {{ first_name }}, {{ cart.items | size }} things for ")
      await page.keyboard.press("ControlOrMeta+z")
      await page.keyboard.press("ControlOrMeta+Home")
      for (const _ of "Hi {") await page.keyboard.press("ArrowRight")
      await page.keyboard.type("!")
      assert.match(await source(), /^Hi \{\{ first_name \}\}!, /)
    })
  }, 120_000)
})
