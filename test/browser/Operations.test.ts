import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { it } from "vitest"
import { webhookSecret } from "../support/platformServers/PlatformServer.ts"
import { connect, deliveryEnvironment, furnish, receiver } from "../console/furnished.ts"
import { startInProcess, waitUntil } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { describeInBrowser } from "./describeInBrowser.ts"

const start = Effect.all({
  service: startInProcess(temporaryEnvironment, deliveryEnvironment),
  sink: receiver,
})

describeInBrowser("Platforms, messages and people in a browser", start, (tried) => {
  const { administrator, inEveryLook, manage, signIn, submit } = tried

  /** Messages to several people, of which every third is refused. */
  const deliver = async (org: Awaited<ReturnType<typeof furnish>>, count: number) => {
    for (let n = 0; n < count; n++) {
      await org.post(`/api/deliver/${org.slug}`, {
        template_id: "welcome",
        email: `person-${n}@example.com`,
        fields: { name: `Person ${n}` },
      })
    }
    await tried.service().untilStored("every message has left or failed", ["deliveries"], async () => {
      const { failed, sent } = await manage("GET", `/organizations/${org.slug}/delivery-summary`)
      return failed + sent >= count
    })
  }

  it("passes axe, fits phones, and supports light and dark colors", async () => {
    const org = await furnish(tried.service(), "looks")
    await connect(tried.service(), "looks", tried.started().sink.url)
    await manage("PUT", "/organizations/looks/webhooks/provider_a", { secret: "braze-token" })
    await manage("PUT", "/organizations/looks/webhooks/provider_a", { secret: "braze-token-2" })
    await deliver(org, 6)
    await manage("POST", "/organizations", { slug: "empty", name: "Empty" })
    const { deliveries } = await manage("GET", "/organizations/looks/deliveries")
    const failed = deliveries.find(({ state }: { state: string }) => state === "failed")
    const sent = deliveries.find(({ state }: { state: string }) => state === "sent")
    const pages: ReadonlyArray<readonly [name: string, path: string]> = [
      ["sources", "/looks/sources"],
      ["source-braze", "/looks/sources/provider_a"],
      ["source-segment", "/looks/sources/provider_d"],
      ["source-salesforce", "/looks/sources/provider_e"],
      ["source-events", "/looks/sources/events"],
      ["inbox", "/looks/sources/events/inbox?all=true"],
      ["inbox-empty", "/looks/sources/provider_b/inbox"],
      ["dry-run", "/looks/sources/events/dry-run"],
      ["source-remove", "/looks/sources/provider_a/remove"],
      ["connections", "/looks/connections"],
      ["connections-empty", "/empty/connections"],
      ["connections-new", "/looks/connections/-/new"],
      ["connections-smtp", "/looks/connections/-/new/smtp"],
      ["connection", "/looks/connections/main"],
      ["deliveries", "/looks/deliveries"],
      ["deliveries-empty", "/empty/deliveries"],
      ["delivery", `/looks/deliveries/${sent.id}`],
      ["delivery-retry", `/looks/deliveries/${failed.id}/retry`],
      ["people", "/looks/people"],
      ["people-message", "/looks/people?q=order-1001"],
      ["people-person", "/looks/people?q=u-1"],
      ["people-nobody", "/looks/people?q=nobody"],
      ["people-delivered", `/looks/people?email=${encodeURIComponent(sent.email)}`],
      ["erase", "/looks/people/erase"],
      ["erase-confirm", "/looks/people/erase?check=yes&user_id=u-1&email=ann@example.com"],
    ]
    const email = await administrator("looks@example.com")
    await inEveryLook(async (context, keep) => {
      const page = await signIn(context, email)
      const check = (name: string) => keep(page, `operations-${name}`)
      for (const [name, path] of pages) {
        const answer = await page.goto(`${tried.service().url}/console/o${path}`)
        assert.strictEqual(answer?.status(), 200, path)
        for (const details of await page.locator("main details").all()) {
          await details.evaluate((one) => one.setAttribute("open", ""))
        }
        assert.isBelow((await answer!.body()).length, 150_000, `${path} is heavy`)
        await check(name)
      }
      await page.goto(`${tried.service().url}/console/o/looks/connections/-/new/smtp`)
      await page.getByLabel("Server").fill("not a host")
      await submit(page, "Set up")
      await page.getByRole("alert").waitFor()
      await page.locator("[role=alert]:focus").waitFor()
      await check("connections-smtp-faulty")
      await page.goto(`${tried.service().url}/console/o/looks/sources/events/dry-run`)
      await submit(page, "Try it")
      await page.getByText("Events by item").waitFor()
      await check("dry-run-result")
    })
  }, 400_000)

  it("sets up a source, shows a refused and an accepted event, and replays bodies after the mapping was corrected", async () => {
    const org = await furnish(tried.service(), "mended")
    const context = await tried.browser().newContext({ permissions: ["clipboard-read", "clipboard-write"] })
    const page = await signIn(context, await administrator("mended@example.com"))
    await page.goto(`${tried.service().url}/console/o/mended`)
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Webhook sources" }).click()
    await page.getByRole("button", { name: "Copy Address for Braze" }).click()
    await page.getByText("Copied", { exact: true }).waitFor()
    const address = await page.evaluate(() => navigator.clipboard.readText())
    const report = () =>
      fetch(address, {
        method: "POST",
        headers: { authorization: "Bearer braze-token", "content-type": "application/json" },
        body: JSON.stringify({ events: [] }),
      }).then(({ status }) => status)
    assert.isAtLeast(await report(), 400, "it is not set up")
    await page.getByRole("link", { name: "Set up Braze" }).click()
    await page.getByLabel("Bearer token").fill("two words")
    await submit(page, "Set up")
    await page.locator("[role=alert]:focus").waitFor()
    assert.strictEqual(await page.locator("[aria-invalid=true]").getAttribute("name"), "secret")
    await page.getByLabel("Bearer token").fill("braze-token")
    await submit(page, "Set up")
    await page.getByText("The source has been saved.").waitFor()
    assert.strictEqual(await report(), 200)
    await page.getByRole("button", { name: "Disable", exact: true }).click()
    await page.getByText("The source has been disabled.").waitFor()
    assert.isAtLeast(await report(), 400)

    // Only the second item is known without a mapping. A body of which nothing is known is refused, and not kept.
    const read = (no: number) => ({ kind: "MailRead", who: { id: "order-1001" }, no })
    const known = { event: "open", tracking_id: "order-1001", event_id: 2 }
    await org.post("/api/webhook/events/mended", [read(1), { ...read(2), ...known }])
    await page.goto(`${tried.service().url}/console/o/mended/sources/events`)
    await page.getByRole("main").getByRole("link", { name: "Inbox" }).click()
    const body = page.locator(".card").filter({ hasText: "Body" }).first()
    await waitUntil("it has been looked at", async () => {
      await page.reload()
      return await body.getByText("partly understood").count() > 0
    })
    await body.getByText("Show the payload").click()
    await body.getByText('"id": "order-1001"').first().waitFor()
    await body.getByText("Show the headers").click()
    await body.getByText("application/json").waitFor()
    assert.notInclude(await page.content(), org.key, "no key is kept with them")
    const mapping = JSON.stringify({
      event: { from: ["$.kind"], table: { MailRead: "open" } },
      tracking_id: "$.who.id",
      event_id: "$.no",
    })
    await page.goto(`${tried.service().url}/console/o/mended/sources/events/dry-run`)
    await page.getByLabel("Mapping", { exact: true }).fill(mapping)
    await page.getByLabel("Sample payload").fill('{"kind":"MailRead","who":{"id":"order-1001"},"no":1}')
    await submit(page, "Try it")
    await page.getByRole("cell", { name: "order-1001 from $.who.id" }).waitFor()
    await page.goto(`${tried.service().url}/console/o/mended/sources/events`)
    await page.getByLabel("Mapping (optional)").fill(mapping)
    await submit(page, "Set up")
    await page.getByText("The source has been saved.").waitFor()
    await page.goto(`${tried.service().url}/console/o/mended/sources/events/inbox`)
    await body.getByRole("button", { name: /^Replay/ }).click()
    await page.getByText("The payload is being read again.").waitFor()
    await waitUntil("it is understood", async () => {
      await page.reload()
      const text = await body.innerText()
      return text.includes("understood") && !text.includes("partly") && text.includes("new events: 1")
    })
    await context.close()
  })

  it("connects a platform, shows a message wait and leave without reloading, cancels one, and erases its recipient", async () => {
    const org = await furnish(tried.service(), "sender")
    const context = await tried.browser().newContext()
    const page = await signIn(context, await administrator("sender@example.com"))
    await page.goto(`${tried.service().url}/console/o/sender/connections`)
    await page.getByRole("link", { name: "Add a connection" }).click()
    await page.getByRole("link", { name: "Set up Signed webhook" }).click()
    await page.getByLabel("Address", { exact: true }).fill(tried.started().sink.url)
    await page.getByLabel("Signing secret").fill(webhookSecret)
    await submit(page, "Set up")
    await page.getByText("The connection has been set up.").waitFor()
    assert.notInclude(await page.content(), webhookSecret)
    await submit(page, "Test the connection")
    await page.getByText("Reachable.").waitFor()
    await submit(page, "Pause")
    await page.getByText("The connection has been paused.").waitFor()

    await page.goto(`${tried.service().url}/console/o/sender/deliveries`)
    await page.getByText("is paused. Due messages wait").waitFor()
    const number = (name: string) =>
      page.locator(".stats > div").filter({ has: page.getByText(name, { exact: true }) }).locator("dd").innerText()
    const message = { template_id: "welcome", fields: { name: "<script>document.title='owned'</script>" } }
    await org.post("/api/deliver/sender", { ...message, email: "bob@example.com" })
    await waitUntil("the page counts it by itself", async () => await number("Due now") === "1")
    await page.getByRole("heading", { name: "Messages per minute" }).waitFor()
    await page.locator("#waiting details summary").click()
    await waitUntil(
      "it is seen to wait",
      async () => (await page.locator("#waiting tbody tr").first().innerText()).endsWith("1"),
      90,
    )
    assert.isTrue(await page.locator("#waiting details").evaluate((one: HTMLDetailsElement) => one.open), "stays open")
    await page.getByRole("button", { name: "Pause", exact: true }).click()
    await page.getByText("Updates paused", { exact: true }).waitFor()
    await page.getByRole("link", { name: "Last 24 hours" }).click()
    await page.locator("#rates").getByText("on the average of 15 minutes").waitFor()
    const later = new Date(Date.now() + 3_600_000).toISOString()
    await org.post("/api/deliver/sender", { ...message, email: "carl@example.com", send_at: later })

    await page.getByLabel("Address").fill("carl@example.com")
    await page.getByRole("button", { name: "Filter" }).click()
    await page.getByRole("link", { name: "carl@example.com" }).click()
    await page.getByRole("link", { name: "Cancel" }).click()
    await submit(page, "Cancel the message")
    await page.getByText("The message has been cancelled.").waitFor()
    assert.strictEqual(await page.getByRole("link", { name: "Cancel" }).count(), 0)

    await page.goto(`${tried.service().url}/console/o/sender/connections/webhook`)
    await submit(page, "Resume")
    await tried.service().untilStored(
      "it has left",
      ["deliveries"],
      async () => (await manage("GET", "/organizations/sender/delivery-summary")).sent === 1,
    )
    await page.goto(`${tried.service().url}/console/o/sender/deliveries`)
    await page.locator("#rates").getByText("1 sent, 0 failed, 0 attempts repeated").waitFor()
    await page.goto(`${tried.service().url}/console/o/sender/deliveries?email=bob%40example.com`)
    await page.getByRole("link", { name: "bob@example.com" }).click()
    const frame = page.frameLocator("iframe.message-frame")
    await frame.getByText(/document\.title|Good to have you|go ahead/).first().waitFor()
    assert.notStrictEqual(await page.title(), "owned")
    await page.getByRole("link", { name: "Full history" }).click()
    await page.getByText("Why this variant").click()
    await page.getByText("Chance of each variant at that time").waitFor()
    await page.getByRole("link", { name: "bob@example.com", exact: true }).click()
    await page.getByRole("heading", { name: "Person bob@example.com" }).waitFor()
    await page.getByRole("link", { name: "Erase this person" }).click()
    await submit(page, "Continue")
    await page.getByText("This cannot be undone.").waitFor()
    await submit(page, "Erase the person")
    await page.getByText("The person has been erased.").waitFor()
    await page.goto(`${tried.service().url}/console/o/sender/people?q=bob%40example.com`)
    await page.getByText("Nothing found").waitFor()
    await context.close()
  })

  it("works without scripts", async () => {
    const org = await furnish(tried.service(), "plain")
    await connect(tried.service(), "plain", tried.started().sink.url)
    await deliver(org, 1)
    const context = await tried.browser().newContext({ javaScriptEnabled: false })
    const page = await signIn(context, await administrator("plain@example.com"))
    await page.goto(`${tried.service().url}/console/o/plain/people`)
    await page.getByLabel("User id, e-mail address or tracking id").fill("order-1001")
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "Message order-1001" }).waitFor()
    await page.getByText("Why this variant").click()
    await page.getByText("Chance of each variant at that time").waitFor()
    await page.goto(`${tried.service().url}/console/o/plain/deliveries`)
    assert.isTrue(await page.locator("#live-switch").isHidden(), "no button that does nothing")
    await page.locator("#oldest details summary").click()
    await page.getByRole("region", { name: "Age of the oldest" }).waitFor()
    await page.getByLabel("State").selectOption("cancelled")
    await page.getByRole("button", { name: "Filter" }).click()
    await page.getByText("No matching deliveries").waitFor()
    await context.close()
  })
})
