import { assert, it } from "@effect/vitest"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { hasBrowser, launch } from "../support/browser.ts"
import { waitUntil } from "../support/service.ts"
import { partsOf } from "../tracking/parts.ts"
import { suiteOnTracking } from "../tracking/support.ts"

/** The target page of a link. Returns the requested paths. */
const startShop = async () => {
  const asked: Array<string> = []
  const server = createServer((request, response) => {
    asked.push(request.url!)
    response.writeHead(200, { "content-type": "text/html" }).end("<title>The shop</title>Welcome")
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return { asked, server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

suiteOnTracking("A message in a browser", (bench) => {
  it.runIf(hasBrowser)(
    "is measured when a browser opens it, loads the pixel, follows a link and unsubscribes",
    async () => {
      const page = await startShop()
      const browser = await launch()
      try {
        const shop = await bench.shop("browser", {
          template: {
            link_domains: ["127.0.0.1"],
            variants: [{
              id: "a",
              vars: {
                subject: "Sale",
                body:
                  `<body><a href='${page.url}/sale?a=1&amp;b=2'>See it</a> <a href="{{ unsubscribe_url }}">Bye</a></body>`,
              },
              formats: { body: "html" },
            }],
          },
        })
        const { headers, html, unsubscribes } = partsOf((await shop.send("ada@example.com")).raw)
        const id = headers.get("x-tracking-id")
        // A browser without a window names itself HeadlessChrome, whose opens and clicks count as a machine's.
        const reader = await browser.newPage({
          userAgent:
            `Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${browser.version()} Safari/537.36`,
        })
        // Sooner, a click would be a link scanner's.
        bench.pass(60_000)
        const loaded = reader.waitForResponse((response) => response.url().includes("/o/"))
        await reader.setContent(html)
        assert.deepStrictEqual([(await loaded).status(), await reader.locator("img").count()], [200, 1])
        await reader.getByText("See it").click()
        await reader.waitForURL(`${page.url}/**`)
        assert.strictEqual(await reader.title(), "The shop")
        assert.include(page.asked, `/sale?a=1&b=2&tracking_id=${id}`)
        assert.deepStrictEqual(await (await browser.newContext()).cookies(), [])
        const counted = async () => {
          await bench.takeIn()
          return (await shop.manage("GET", "/templates/t/results?lookback_days=1&offset_days=0")).json.variants[0]
            .outcomes
        }
        await waitUntil("open and click are counted", async () => {
          const { click, open } = await counted()
          return open === 1 && click === 1
        })
        await reader.goto(unsubscribes[0]!)
        assert.strictEqual((await counted()).unsubscribe ?? 0, 0)
        await reader.getByRole("button", { name: "Unsubscribe" }).click()
        await reader.getByText("You are unsubscribed").waitFor()
        await waitUntil("it is counted", async () => (await counted()).unsubscribe === 1)
      } finally {
        await browser.close()
        page.server.close()
      }
    },
  )
})
