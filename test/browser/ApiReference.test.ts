import { assert } from "@effect/vitest"
import type { Browser } from "playwright-core"
import { afterAll, beforeAll, describe, it } from "vitest"
import { aroundTests } from "../support/aroundTests.ts"
import { hasBrowser, launch } from "../support/browser.ts"
import { makeOrganization, type Service, startInProcess } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"

describe.skipIf(!hasBrowser)("The API reference in a browser", () => {
  let browser: Browser
  let service: Service
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser?.close())
  aroundTests(startInProcess(temporaryEnvironment), (started) => service = started)

  it("shows operations with examples, searches, and sends a request under its content security policy", async () => {
    const key = await makeOrganization(service, "acme")
    await service.manage("POST", "/organizations/acme/templates", {
      id: "cart",
      name: "Cart",
      variants: [{ id: "plain", vars: { subject: "Hello {{ name }}" } }],
    })
    const page = await browser.newPage({ viewport: { width: 1440, height: 1000 } })
    const refused: Array<string> = []
    const foreign: Array<string> = []
    page.on("console", (message) => {
      if (/Content Security Policy|Refused to/.test(message.text())) refused.push(message.text())
    })
    page.on("request", (request) => {
      if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(service.url)) foreign.push(request.url())
    })
    await page.goto(`${service.url}/docs#tag/generate/POST/api/generate/{org}`)
    const operation = page.locator("section", { hasText: "/api/generate/acme" }).first()
    await operation.waitFor()
    await operation.getByText('"Ann"').first().waitFor()

    await operation.getByRole("button", { name: /Test Request/ }).first().click()
    const dialog = page.getByRole("dialog").first()
    await dialog.getByPlaceholder("QUxMIFlPVVIgQkFTRSBBUkUgQkVMT05HIFRPIFVT").fill(key)
    const [answer] = await Promise.all([
      page.waitForResponse((response) => response.url().includes("/api/generate/acme")),
      dialog.getByRole("button", { name: /Send/ }).first().click(),
    ])
    assert.strictEqual(answer.status(), 200)
    await page.keyboard.press("Escape")

    await page.keyboard.press("Control+k")
    await page.getByRole("dialog").locator("input").first().fill("suppression")
    await page.getByRole("option", { name: /suppression/i }).first().waitFor()
    assert.deepStrictEqual(refused, [])
    assert.deepStrictEqual(foreign, [])
    await page.close()
  })
})
