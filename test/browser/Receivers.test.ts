import { assert } from "@effect/vitest"
import { it } from "vitest"
import { mailWorld } from "../support/mailWorld.ts"
import { describeInBrowser } from "./describeInBrowser.ts"

describeInBrowser("Signatures and test messages in a browser", mailWorld, (tried) => {
  const { administrator, inEveryLook, manage, signIn, submit } = tried

  const furnish = async (slug: string) => {
    await manage("POST", "/organizations", { slug, name: slug })
    await manage("PUT", `/organizations/${slug}/connections/main`, tried.started().connection(`${slug}.example`))
  }

  it("creates a key, publishes it, signs with it, and sends a test message that arrives signed", async () => {
    const { dns, mail } = tried.started()
    await furnish("signs")
    const context = await tried.browser().newContext()
    const page = await signIn(context, await administrator("signs@example.com"))
    await page.goto(`${tried.service().url}/console/o/signs/connections/main`)
    await page.getByRole("link", { name: "Signatures and test messages" }).click()
    await page.getByLabel("Selector (optional)").fill("s1")
    await submit(page, "Create key")
    await page.getByText("The key has been created.").waitFor()
    const values = await page.locator(".facts dd code").allInnerTexts()
    assert.strictEqual(values[0], "s1._domainkey.signs.example")
    await submit(page, "Sign with this key: s1")
    await page.getByText("There is no DKIM record at s1._domainkey.signs.example.").waitFor()
    dns.entries.set(values[0]!, [values[1]!])
    await submit(page, "Sign with this key: s1")
    await page.getByText("Messages are signed with this key from now on.").waitFor()
    await page.getByLabel("Send to").fill("ada@example.com")
    await submit(page, "Send test message")
    await page.getByText("The test message was sent.").waitFor()
    await page.getByText("v=DMARC1; p=none").waitFor()
    assert.include(mail.mails.at(-1)!.raw, "DKIM-Signature: v=1;")
    await page.getByRole("link", { name: "Delete" }).click()
    await submit(page, "Delete the key")
    await page.getByText("The key has been deleted.").waitFor()
    await context.close()
  })

  it("passes axe, fits phones, and supports light and dark colors", async () => {
    await furnish("looks")
    await manage("POST", "/organizations/looks/connections/main/dkim", { selector: "s1" })
    await inEveryLook(async (context, check) => {
      const page = await signIn(context, await administrator("looks@example.com"))
      await page.goto(`${tried.service().url}/console/o/looks/connections/main/receivers`)
      await check(page, "receivers")
      await submit(page, "Send test message")
      await page.getByText("The test message was sent.").waitFor()
      await check(page, "receivers-tested")
    })
  })
})
