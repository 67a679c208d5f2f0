import { assert, it } from "@effect/vitest"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { hasBrowser, launch } from "../support/browser.ts"
import { read } from "../support/platformServers/MimeReader.ts"
import type { Json } from "../http/harness.ts"
import { waitUntil } from "../support/service.ts"
import { get, partsOf } from "./parts.ts"
import { suiteOnTracking } from "./support.ts"

const variants = ["plain", "bold"].map((id) => ({
  id,
  vars: {
    subject: id,
    body: `<p>{{ name }}</p><a href="https://shop.example/${id}">See it</a> <a href="{{ unsubscribe_url }}">Bye</a>`,
  },
  formats: { body: "html" },
}))

/** A page that a link leads to; answers the paths that were asked for. */
const startShop = async () => {
  const asked: Array<string> = []
  const server = createServer((request, response) => {
    asked.push(request.url!)
    response.writeHead(200, { "content-type": "text/html" }).end("<title>The shop</title>Welcome")
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return { asked, server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

suiteOnTracking("From a message to what is learned of it", (bench) => {
  it("closes with nothing but SMTP: the better variant wins", async () => {
    const shop = await bench.shop("circle", { template: { variants } })
    const round = async (name: string, count: number, more: object = {}) => {
      const emails = Array.from({ length: count }, (_, i) => `${name}${i}@example.com`)
      for (let at = 0; at < count; at += 20) {
        await Promise.all(
          emails.slice(at, at + 20).map(async (email) => {
            const answer = await shop.deliver({ email, fields: { name: email }, ...more })
            assert.strictEqual(answer.status, 200, answer.text)
          }),
        )
      }
      const arrived = () => bench.smtp.mails.filter(({ to }) => emails.includes(to[0]!))
      await bench.smtp.until(() => arrived().length === count)
      return arrived().map(({ raw }) => ({ variant: read(raw).headers.get("subject")!, ...partsOf(raw) }))
    }
    const first = await round("first", 120)
    bench.pass(600_000)
    const followed = { plain: 0, bold: 0 }
    for (const [n, { clicks, pixels, variant }] of first.entries()) {
      if (n % 2 === 0) await get(pixels[0]!)
      if (n % (variant === "bold" ? 2 : 20) !== 0) continue
      await get(clicks[0]!)
      followed[variant as keyof typeof followed]++
    }
    bench.pass(3_600_000)
    await waitUntil("the clicks are counted", async () => {
      await bench.takeIn()
      const { json } = await shop.manage("GET", "/templates/t/results?lookback_days=1&offset_days=0")
      return json.variants.every(({ copy_id: id, outcomes }: Json) =>
        (outcomes.click ?? 0) === followed[id as keyof typeof followed]
      )
    })
    const second = await round("second", 60, { use_cache: false, offset_days: 0 })
    assert.isAbove(second.filter(({ variant }) => variant === "bold").length, 45)
  })

  it.runIf(hasBrowser)("begins in a browser that opens the message, loads the pixel and follows a link", async () => {
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
      const reader = await browser.newPage()
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
  })
})
