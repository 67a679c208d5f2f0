import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { it } from "vitest"
import { deliveryEnvironment } from "../console/furnished.ts"
import type { Json } from "../api/harness.ts"
import { startInProcess, waitUntil } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { describeInBrowser } from "./describeInBrowser.ts"

/** A server from which nothing may be loaded. Returns the requested paths. */
const outside = Effect.acquireRelease(
  Effect.promise(async () => {
    const asked: Array<string> = []
    const server = createServer((request, response) => {
      asked.push(request.url!)
      response.writeHead(200, { "content-type": "text/html" }).end("<title>The shop</title>Welcome")
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    return { asked, server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
  }),
  ({ server }) => Effect.sync(() => server.close()),
)

const start = Effect.all({ service: startInProcess(temporaryEnvironment, deliveryEnvironment), outside })

describeInBrowser("The sandbox in a browser", start, (tried) => {
  const { administrator, inEveryLook, manage, signIn, submit } = tried

  const templated = async (slug: string) => {
    const { url } = tried.started().outside
    await manage("POST", "/organizations", { slug, name: "Acme Shoes" })
    const tracking = { opens: false, clicks: false, url: tried.service().url }
    await manage("PATCH", `/organizations/${slug}`, { tracking })
    await manage("POST", `/organizations/${slug}/templates`, {
      id: "welcome",
      name: "Welcome",
      list_unsubscribe: true,
      tracking: { opens: true, clicks: true },
      variants: [{
        id: "warm",
        vars: {
          subject: "Welcome, {{ name }}",
          body: `<body><h1 style="color:#b30">Hello {{ name }}</h1><p><a href="${url}/sale">See the sale</a></p>` +
            `<img src="${url}/picture.png" alt="A shoe"><script src="${url}/script.js"></script>` +
            `<script>parent.document.title = "owned"</script><p><a href="{{ unsubscribe_url }}">Stop</a></p></body>`,
        },
        formats: { body: "html" },
      }],
    })
  }

  const deliver = async (slug: string, key: string, ...emails: ReadonlyArray<string>) => {
    for (const email of emails) {
      const answer = await tried.service().request(`/api/deliver/${slug}`, {
        method: "POST",
        headers: { "x-api-key": key, "content-type": "application/json" },
        body: JSON.stringify({ template_id: "welcome", email, fields: { name: "Ada" } }),
      })
      assert.strictEqual(answer.status, 200, await answer.text())
    }
    await tried.service().untilStored(
      "the messages are in the sink",
      ["sink_messages"],
      async () => (await manage("GET", `/organizations/${slug}/sandbox/messages`)).messages.length >= emails.length,
    )
  }

  const storyOf = (slug: string, email: string) =>
    manage("GET", `/organizations/${slug}~test/stories?email=${encodeURIComponent(email)}`)

  it(
    "shows a message of a sandbox key without loading content, and links to its person, deliveries and suppressions",
    async () => {
      await templated("tried")
      const context = await tried.browser().newContext()
      const page = await signIn(context, await administrator("tried@example.com"))
      const at = `${tried.service().url}/console/o/tried`
      await page.goto(`${at}/sandbox`)
      await page.getByText("No messages yet").waitFor()
      await page.goto(`${at}/settings/keys/new`)
      await page.getByLabel("Name").fill("Staging")
      await page.getByLabel("Test", { exact: true }).check()
      await submit(page, "Create key")
      const key = await page.locator("#new-key").inputValue()
      assert.match(key, /^plt_/)
      await page.getByRole("link", { name: "I have copied it" }).click()
      await page.getByText("plt_").waitFor()
      await deliver("tried", key, "clicked+ada@sandbox.test", "bounced@sandbox.test")

      await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Sandbox" }).click()
      const row = page.getByRole("row").filter({ hasText: "clicked+ada@sandbox.test" })
      await row.getByText("test", { exact: true }).waitFor()
      const framed = page.waitForResponse((response) => response.url().endsWith("/html"))
      await row.getByRole("link", { name: "Welcome, Ada" }).click()
      const { "content-security-policy": policy } = (await framed).headers()
      assert.strictEqual(
        policy,
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; sandbox; frame-ancestors 'self'",
      )
      const frame = page.frameLocator("iframe")
      await frame.getByRole("heading", { name: "Hello Ada" }).waitFor()
      await page.waitForLoadState("networkidle")
      assert.deepStrictEqual(tried.started().outside.asked, [], "neither picture nor script is loaded")
      assert.include(await page.title(), "Welcome, Ada")
      for (const name of ["From", "To", "Subject", "X-Tracking-ID", "List-Unsubscribe"]) {
        await page.getByRole("region", { name: "Headers" }).getByText(name, { exact: true }).first().waitFor()
      }
      await page.getByRole("region", { name: "Plain text" }).getByText("Hello Ada").waitFor()
      await waitUntil("the reactions of the magic addresses are told", async () => {
        const [{ decisions: [clicked] }, { decisions: [bounced] }] = [
          await storyOf("tried", "clicked+ada@sandbox.test"),
          await storyOf("tried", "bounced@sandbox.test"),
        ]
        const names = ({ events }: Json) => events.map(({ event }: Json) => event)
        return names(clicked).includes("click") && names(bounced).includes("bounce")
      })
      const opened = (await storyOf("tried", "clicked+ada@sandbox.test")).decisions[0].events
        .filter(({ event }: Json) => event === "open")
      assert.lengthOf(opened, 1, "looking at the message counts no open")

      const popup = context.waitForEvent("page")
      await page.getByRole("region", { name: "Links" }).getByRole("link").first().click()
      await (await popup).waitForURL(`${tried.started().outside.url}/sale`)

      await page.goto(`${at}/sandbox`)
      await page.getByRole("link", { name: "people and messages" }).click()
      await page.getByText("This is the sandbox of Acme Shoes").waitFor()
      await page.getByLabel("User id, e-mail address or tracking id").fill("bounced@sandbox.test")
      await submit(page, "Find")
      await page.getByText("hard bounce", { exact: true }).first().waitFor()
      await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Suppressions" }).click()
      await page.getByText("bounced@sandbox.test").waitFor()
      await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Deliveries" }).click()
      await page.getByRole("link", { name: "bounced@sandbox.test" }).waitFor()
      await page.getByRole("link", { name: "Back to Acme Shoes" }).click()
      await page.goto(`${at}/suppressions`)
      assert.strictEqual(await page.getByText("bounced@sandbox.test").count(), 0)
      await page.goto(`${at}/sandbox`)
      await submit(page, "Remove all messages")
      await page.getByText("All messages of the sandbox have been removed").waitFor()
      await page.getByText("No messages yet").waitFor()
      const refused = await page.goto(`${at}~test/templates`)
      assert.strictEqual(refused?.status(), 403)
      await context.close()
    },
    200_000,
  )

  it("passes axe, fits phones, and supports light and dark colors", async () => {
    await templated("looks")
    const { key } = await manage("POST", "/organizations/looks/keys", {
      name: "Staging",
      kind: "test",
      scopes: ["deliver"],
    })
    await deliver("looks", key, "ada@example.com", "complained@sandbox.test")
    await manage("POST", "/organizations/looks/templates", {
      id: "unfit",
      name: "Unfit",
      variants: [{ id: "a", vars: { headline: "No subject" } }],
    })
    await tried.service().request("/api/deliver/looks", {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: JSON.stringify({ template_id: "unfit", email: "ada@example.com" }),
    })
    await tried.service().untilStored(
      "all are in the sink",
      ["sink_messages"],
      async () => (await manage("GET", "/organizations/looks/sandbox/messages")).messages.length === 3,
    )
    await tried.service().untilStored(
      "the complaint is taken in",
      ["suppressions"],
      async () => (await manage("GET", "/organizations/looks~test/suppressions")).suppressions.length === 1,
    )
    const { messages } = await manage("GET", "/organizations/looks/sandbox/messages")
    const [unfit] = messages.filter(({ fault }: Json) => fault !== null)
    const pages: ReadonlyArray<readonly [name: string, path: string]> = [
      ["messages", "/looks/sandbox"],
      ["message", `/looks/sandbox/${messages.find(({ email }: Json) => email.startsWith("complained")).id}`],
      ["unfit", `/looks/sandbox/${unfit.id}`],
      ["keys", "/looks/settings/keys"],
      ["key-new", "/looks/settings/keys/new"],
      ["connection", "/looks/connections/-/new/sink"],
      ["people", "/looks~test/people?q=complained@sandbox.test"],
      ["deliveries", "/looks~test/deliveries"],
      ["suppressions", "/looks~test/suppressions"],
      ["inbox", "/looks~test/sources/events/inbox?all=true"],
    ]
    const email = await administrator("looks@example.com")
    await inEveryLook(async (context, keep) => {
      const page = await signIn(context, email)
      for (const [name, path] of pages) {
        const answer = await page.goto(`${tried.service().url}/console/o${path}`)
        assert.strictEqual(answer?.status(), 200, path)
        await keep(page, `sandbox-${name}`)
      }
    })
  }, 400_000)
})
