import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { it } from "vitest"
import { connect, deliveryEnvironment, furnish, signedIn } from "../console/furnished.ts"
import type { Page } from "../support/browser.ts"
import { startWebhook } from "../support/platformServers/PlatformServer.ts"
import { startInProcess } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { describeInBrowser } from "./describeInBrowser.ts"

/** A platform that refuses every message until it is mended. */
const platform = Effect.acquireRelease(
  Effect.promise(async () => {
    const state = { isBroken: true }
    const server = await startWebhook({
      fault: () => state.isBroken ? { status: 422, body: { error: "mailbox is full" } } : undefined,
    })
    return { server, mend: () => void (state.isBroken = false) }
  }),
  ({ server }) => Effect.promise(() => server.close()),
)

const start = Effect.all({ service: startInProcess(temporaryEnvironment, deliveryEnvironment), platform })

describeInBrowser("The core tasks", start, (tried) => {
  const { administrator, manage, signIn } = tried

  it("need at most 30 clicks from the overview", async () => {
    const { platform } = tried.started()
    const { post } = await furnish(tried.service(), "core")
    const deliveries = (states: ReadonlyArray<string>) =>
      tried.service().untilStored(`a delivery is ${states}`, ["deliveries"], async () => {
        const summary = await manage("GET", "/organizations/core/delivery-summary")
        return states.some((state) => summary[state] === 1)
      })
    await connect(tried.service(), "core", platform.server.url)
    await post("/api/deliver/core", { template_id: "welcome", email: "ann@example.com", fields: { name: "Ann" } })
    await deliveries(["failed"])
    platform.mend()

    const context = await tried.browser().newContext({ viewport: { width: 1440, height: 900 } })
    const page = await signIn(context, await administrator("core@example.com"))
    const counts: Array<readonly [task: string, clicks: number]> = []
    const main = page.getByRole("main")
    const menu = page.getByRole("navigation", { name: "Main" })
    const fill = (label: string, text: string) => main.getByLabel(label, { exact: true }).fill(text)
    /** Does a task from the overview. The function counts its clicks. */
    const task = async (
      name: string,
      run: (click: (of: ReturnType<Page["locator"]>) => Promise<void>) => Promise<void>,
    ) => {
      await page.goto(`${tried.service().url}/console/o/core`)
      let clicks = 0
      await run(async (of) => {
        clicks++
        await of.click({ timeout: 15_000 })
      })
      counts.push([name, clicks])
    }
    const link = (name: string | RegExp, within = main) => within.getByRole("link", { name, exact: true })
    const button = (name: string | RegExp) => main.getByRole("button", { name, exact: true })
    const done = (text: string | RegExp) => main.getByText(text).first().waitFor()

    await task("create a template with three variants that go live", async (click) => {
      await click(link("Create a template"))
      await fill("Name", "Cart reminder")
      await click(button("Create template"))
      await click(link("New variant"))
      for (
        const [name, press] of [
          ["Warm", "Activate and write another"],
          ["Brief", "Activate and write another"],
          ["Bold", "Create and activate"],
        ] as const
      ) {
        await fill("Name", name)
        await main.getByLabel("Subject", { exact: true }).fill(`${name}, {{ first_name }}`)
        await main.getByLabel("Body", { exact: true }).fill("<p>Hello {{ first_name }}</p>")
        await click(button(press))
        await done("The variant has been created.")
      }
      const { variants } = await manage("GET", "/organizations/core/templates/cart-reminder")
      assert.deepStrictEqual(variants.map(({ active }: { readonly active: boolean }) => active), [true, true, true])
    })
    await task("change a subject", async (click) => {
      await click(link("Welcome"))
      await click(link("Edit brief"))
      await main.getByLabel("Subject", { exact: true }).fill("Ready when you are")
      await click(button("Save variant"))
      await done("The variant has been saved.")
    })
    await task("pause a variant", async (click) => {
      await click(link("Cart reminder"))
      await click(button("Deactivate Bold"))
      await done(/deactivated/)
    })
    await task("ship a winner", async (click) => {
      await click(link("Welcome · Results"))
      await click(link(/^Ship/))
      await click(button(/^Give all traffic|^Ship/))
      await done(/gets all traffic|shipped/)
    })
    await task("see who got a message", async (click) => {
      await click(link("Deliveries", menu))
      await done("ann@example.com")
    })
    await task("find why a mail failed and send it again", async (click) => {
      await click(link("See reasons and retry"))
      await done(/mailbox is full/)
      await click(button("Retry 1 message"))
      await deliveries(["sent"])
    })
    await task("suppress an address", async (click) => {
      await click(link("Suppress an address"))
      await fill("E-mail address", "bo@example.com")
      await click(button("Add address"))
      await done("bo@example.com")
    })
    await task("create an API key", async (click) => {
      await click(link("Create New API Key"))
      await fill("Name", "Shop 2")
      await click(button(/^Create/))
      await done("Your new API key")
    })
    await task("invite a colleague", async (click) => {
      await click(link("Invite people"))
      await fill("E-mail addresses", "grace@example.com")
      await click(button(/^Invite|^Create/))
      await done("The invitation is ready")
    })
    await task("set a holdout", async (click) => {
      await click(link("General", menu))
      await fill("Share of people held out (%)", "10")
      await click(button("Save settings"))
      await done("The settings have been saved.")
      assert.strictEqual((await manage("GET", "/organizations/core")).holdout.share, 0.1)
    })
    await task("connect a mail provider", async (click) => {
      await click(link("Add a connection"))
      await click(link("Set up Postmark"))
      await fill("Name", "postmark")
      await fill("Sender address", "news@shop.example")
      await fill("Server API token", "a-token")
      await click(button("Set up"))
      await done("postmark")
    })
    await manage("PATCH", "/organizations/core", { template_approval: "editor" })
    const author = await signedIn(tried.service(), "author@example.com", ["core", "editor"])
    await author.post("/console/o/core/templates/cart-reminder/variants/warm/state", { active: "false" })
    await task("approve a change", async (click) => {
      await click(link("1 change waits for approval"))
      await click(button("Approve and make live"))
      await done("approved")
    })
    console.log(counts.map(([name, clicks]) => `${clicks} ${name}`).join("\n"))
    assert.lengthOf(counts, 12)
    assert.isAtMost(counts.reduce((sum, [, clicks]) => sum + clicks, 0), 30, JSON.stringify(counts))
    await context.close()
  }, 240_000)

  it("are done once by a double click, also on a slow network", async () => {
    await manage("POST", "/organizations", { slug: "twice", name: "Twice" })
    const context = await tried.browser().newContext()
    const page = await signIn(context, await administrator("twice@example.com"))
    const posts: Array<string> = []
    const twice = Promise.withResolvers<void>()
    // Answers only after the second click.
    await page.route("**", async (route) => {
      if (route.request().method() === "POST") {
        posts.push(new URL(route.request().url()).pathname)
        await twice.promise
      }
      await route.continue()
    })
    await page.goto(`${tried.service().url}/console/o/twice/settings/keys/new`)
    await page.getByLabel("Name", { exact: true }).fill("Shop")
    const create = page.getByRole("button", { name: /^Create/ })
    await create.scrollIntoViewIfNeeded()
    const { height, width, x, y } = (await create.boundingBox())!
    // A click of the page waits until the form is answered. A click of the mouse does not.
    const press = () => page.mouse.click(x + width / 2, y + height / 2)
    const begun = page.waitForRequest((request) => request.method() === "POST")
    await press()
    await begun
    await press()
    twice.resolve()
    await page.getByRole("heading", { name: "Your new API key" }).first().waitFor()
    assert.lengthOf((await manage("GET", "/organizations/twice/keys")).keys, 1)
    assert.lengthOf(posts, 1)

    await page.goBack()
    await page.getByLabel("Name", { exact: true }).fill("Another")
    await page.getByRole("button", { name: /^Create/ }).click()
    await page.getByRole("heading", { name: "Your new API key" }).first().waitFor()
    assert.lengthOf((await manage("GET", "/organizations/twice/keys")).keys, 2)
    await context.close()
  }, 240_000)
})
