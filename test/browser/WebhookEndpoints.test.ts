import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { it } from "vitest"
import { deliveryEnvironment, furnish } from "../console/furnished.ts"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { makeWatch } from "../support/platformServers/Watch.ts"
import { startInProcess } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { describeInBrowser } from "./describeInBrowser.ts"

/** A server that takes events, after a first one that it refuses. */
const startServer = async () => {
  const ids: Array<string> = []
  const { changed, until } = makeWatch()
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      ids.push(String(request.headers["webhook-id"]))
      response.writeHead(ids.length === 1 ? 500 : 204).end(ids.length === 1 ? "The database is away" : undefined)
      changed()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { url: `http://127.0.0.1:${port}/hook`, ids, until, close }
}

const start = Effect.all({
  service: startInProcess(temporaryEnvironment, deliveryEnvironment),
  server: Effect.acquireRelease(Effect.promise(startServer), ({ close }) => Effect.promise(close)),
})

describeInBrowser("Webhook endpoints in a browser", start, (tried) => {
  const { administrator, inEveryLook, manage, signIn, submit } = tried
  const at = (slug: string) => `${tried.service().url}/console/o/${slug}/webhook-endpoints`

  it("are added, tested, looked at, replayed, disabled and removed", async () => {
    const { server } = tried.started()
    await manage("POST", "/organizations", { slug: "told", name: "Told" })
    const context = await tried.browser().newContext()
    const page = await signIn(context, await administrator("told@example.com"))
    await page.goto(`${tried.service().url}/console/o/told`)
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Webhook endpoints" }).click()
    await page.getByRole("link", { name: "Add an endpoint" }).click()
    await page.getByLabel("URL").fill("not a url")
    await submit(page, "Add endpoint")
    await page.locator("[role=alert]:focus").waitFor()
    await page.getByLabel("URL").fill(server.url)
    await page.getByLabel("Description").fill("CRM")
    await page.getByRole("checkbox", { name: "suppression.added" }).check()
    await submit(page, "Add endpoint")
    const secret = await page.getByLabel("Secret of CRM").inputValue()
    assert.match(secret, /^whsec_/)
    await page.getByRole("link", { name: "I have copied it" }).click()
    assert.notInclude(await page.content(), secret)

    await submit(page, "Send a test event")
    await page.getByText("A test event is on its way.").waitFor()
    const [endpoint] = (await manage("GET", "/organizations/told/webhook-endpoints")).endpoints
    const events = async () =>
      (await manage("GET", `/organizations/told/webhook-endpoints/${endpoint.id}/events`)).events
    await tried.service().untilStored(
      "the first attempt has failed",
      ["outgoing_webhooks"],
      async () => (await events())[0]?.attempts.length > 0,
    )
    await page.goto(`${at("told")}/${endpoint.id}`)
    await page.getByText("status 500").waitFor()
    await page.getByText("failing").waitFor()

    await manage("POST", "/organizations/told/suppressions", { address: "ann@example.com", reason: "manual" })
    await tried.service().untilStored(
      "an event is delivered",
      ["outgoing_webhooks"],
      async () => (await events())[0]?.state === "delivered",
    )
    await page.reload()
    const [{ id }] = await events()
    await page.getByRole("button", { name: `Replay ${id}` }).click()
    await page.getByText("The event is sent again").waitFor()
    await server.until(() => server.ids.filter((one) => one === id).length === 2)

    await page.getByRole("link", { name: "Edit" }).click()
    assert.isTrue(await page.getByRole("checkbox", { name: "suppression.added" }).isChecked())
    await page.getByLabel("Description").fill("Warehouse")
    await submit(page, "Save")
    await page.getByRole("heading", { name: "Warehouse" }).waitFor()
    await page.getByRole("link", { name: "Replace secret" }).click()
    await submit(page, "Replace the secret")
    assert.notStrictEqual(await page.getByLabel("Secret of Warehouse").inputValue(), secret)
    await page.getByRole("link", { name: "I have copied it" }).click()
    await submit(page, "Disable")
    await page.getByText("The endpoint has been disabled.").waitFor()
    await submit(page, "Enable")
    await page.getByText("The endpoint has been enabled.").waitFor()
    await page.getByRole("link", { name: "Delete" }).click()
    await submit(page, "Delete the endpoint")
    await page.getByText("No webhook endpoints yet").waitFor()
    await context.close()
  }, 200_000)

  it("pass axe, fit phones, and support light and dark colors", async () => {
    await furnish(tried.service(), "hooks")
    await manage("POST", "/organizations", { slug: "bare", name: "Bare" })
    const closed = await startServer()
    await closed.close()
    const add = async (url: string, description: string, events: ReadonlyArray<string>) =>
      (await manage("POST", "/organizations/hooks/webhook-endpoints", { url, description, events })).id as string
    const well = await add(tried.started().server.url, "CRM, production", ["delivery.failed", "suppression.added"])
    const failing = await add(closed.url, "", [])
    for (const id of [well, failing]) await manage("POST", `/organizations/hooks/webhook-endpoints/${id}/ping`)
    await manage("POST", "/organizations/hooks/suppressions", { address: "ann@example.com", reason: "manual" })
    await tried.service().untilStored("both have attempts", ["outgoing_webhooks"], async () => {
      const pages = await Promise.all(
        [well, failing].map((id) => manage("GET", `/organizations/hooks/webhook-endpoints/${id}/events`)),
      )
      return pages.every(({ events }) => events.every(({ attempts }: { attempts: [] }) => attempts.length > 0))
    })
    const email = await administrator("hooks@example.com")
    await inEveryLook(async (context, keep) => {
      const page = await signIn(context, email)
      for (
        const [name, path] of [
          ["list", at("hooks")],
          ["empty", at("bare")],
          ["new", `${at("hooks")}/-/new`],
          ["show", `${at("hooks")}/${well}`],
          ["failing", `${at("hooks")}/${failing}`],
          ["edit", `${at("hooks")}/${well}/edit`],
          ["remove", `${at("hooks")}/${well}/remove`],
        ] as const
      ) {
        const answer = await page.goto(path)
        assert.strictEqual(answer?.status(), 200, path)
        for (const details of await page.locator("main details").all()) {
          await details.evaluate((one) => one.setAttribute("open", ""))
        }
        await keep(page, `endpoints-${name}`)
      }
    })
  }, 300_000)
})
