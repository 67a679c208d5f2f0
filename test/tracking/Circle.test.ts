import { assert, it } from "@effect/vitest"
import { read } from "../support/platformServers/MimeReader.ts"
import type { Json } from "../api/harness.ts"
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

suiteOnTracking("From a message to learning from its events", (bench) => {
  it("sends by SMTP and learns from its own events: the better variant wins", async () => {
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
    // On a busy machine, a decision does not wait until the model is fitted; later ones use the new model.
    await waitUntil("a model that knows the clicks decides", async () => {
      const answer = await bench.service.request(`/api/batch-generate/${shop.slug}`, {
        method: "POST",
        headers: { "x-api-key": shop.key, "content-type": "application/json" },
        body: JSON.stringify({ requests: [{ template_id: "t" }], use_cache: false, offset_days: 0, trace: true }),
      })
      const { t } = await answer.json()
      return t.trace.cache_used === false
    })
    const second = await round("second", 60, { use_cache: false, offset_days: 0 })
    assert.isAbove(second.filter(({ variant }) => variant === "bold").length, 45)
  })
})
