import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { it } from "vitest"
import { connect, deliveryEnvironment, furnish } from "../console/furnished.ts"
import type { Page } from "../support/browser.ts"
import { startWebhook } from "../support/platformServers/PlatformServer.ts"
import { startInProcess } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { describeInBrowser } from "./describeInBrowser.ts"

/** A platform that refuses every third message until it is mended. */
const platform = Effect.acquireRelease(
  Effect.promise(async () => {
    const state = { isBroken: true }
    const fault = (n: number) =>
      state.isBroken && n % 3 === 2
        ? { status: 422, body: { error: `mailbox of person-${n}@example.com is full` } }
        : undefined
    const server = await startWebhook({ fault })
    return { server, mend: () => void (state.isBroken = false) }
  }),
  ({ server }) => Effect.promise(() => server.close()),
)

const start = Effect.all({ service: startInProcess(temporaryEnvironment, deliveryEnvironment), platform })

describeInBrowser("Bulk actions in a browser", start, (tried) => {
  const { administrator, inEveryLook, manage, signIn } = tried

  it("retries 47 of 142 messages with three clicks, and cancels waiting ones with two", async () => {
    const { platform } = tried.started()
    const org = await furnish(tried.service(), "many")
    await connect(tried.service(), "many", platform.server.url)
    const summary = () => manage("GET", "/organizations/many/delivery-summary")
    const deliver = async (from: number, to: number) => {
      for (let n = from; n < to; n++) {
        await org.post("/api/deliver/many", { template_id: "welcome", email: `person-${n}@example.com`, fields: {} })
      }
    }
    await deliver(0, 142)
    await tried.service().untilStored("every message has left or failed", ["deliveries"], async () => {
      const { failed, sent } = await summary()
      return failed + sent === 142
    })
    const email = await administrator("many@example.com")
    const home = `${tried.service().url}/console/o/many`

    await inEveryLook(async (context, keep) => {
      const page = await signIn(context, email)
      for (
        const [name, path] of [
          ["overview", ""],
          ["deliveries", "/deliveries?state=failed"],
          ["deliveries-filtered", "/deliveries?state=failed&template_id=welcome&since=2026-01-01T00:00"],
          ["deliveries-faulty", "/deliveries?state=failed&since=2026-02-31T00:00"],
          ["retry", "/deliveries/-/retry?template_id=welcome"],
          ["retry-nothing", "/deliveries/-/retry?template_id=other"],
          ["cancel", "/deliveries/-/cancel"],
        ]
      ) {
        await page.goto(home + path)
        await keep(page, `bulk-${name}`)
      }
    })

    const context = await tried.browser().newContext()
    const page = await signIn(context, email)
    let clicks = 0
    const click = async (role: "link" | "button", name: string | RegExp) => {
      clicks++
      await page.getByRole("main").getByRole(role, { name }).click()
    }
    platform.mend()
    await page.goto(home)
    await click("link", "47 of 142 messages failed")
    await click("link", "Retry all 47")
    const reasons = page.getByRole("region", { name: /^Reasons/ })
    await reasons.getByText(/mailbox of … is full/).waitFor()
    await click("button", "Retry 47 messages")
    await page.getByText("47 messages have been queued again.").waitFor()
    assert.strictEqual(clicks, 3)
    await tried.service().untilStored("all have been sent", ["deliveries"], async () => (await summary()).sent === 142)
    assert.lengthOf(platform.server.requests, 142 + 47)
    await page.goto(home)
    assert.strictEqual(await page.getByText("messages failed").count(), 0)

    await manage("PUT", "/organizations/many/connections/main", { paused: true })
    await deliver(142, 145)
    await page.goto(`${home}/deliveries?state=queued`)
    clicks = 0
    await click("link", "Cancel all 3")
    await click("button", "Cancel 3 messages")
    await page.getByText("3 messages have been cancelled.").waitFor()
    assert.strictEqual(clicks, 2)
    const done = page.url()
    await context.close()
    await inEveryLook(async (context, keep) => {
      const page: Page = await signIn(context, email)
      await page.goto(done)
      await keep(page, "bulk-done")
    })
  }, 400_000)
})
