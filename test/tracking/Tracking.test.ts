import { assert, it } from "@effect/vitest"
import { randomBytes } from "node:crypto"
import { waitUntil } from "../support/service.ts"
import { chrome, get, partsOf } from "./parts.ts"
import { suiteOnTracking } from "./support.ts"

const source =
  '<a href="https://shop.example/sale?a=1&amp;b=2">Sale</a> <a href="https://shop.example/for/{{ name }}">For you</a> ' +
  '<a href="mailto:help@shop.example">Help</a> <a href="{{ unsubscribe_url }}">Unsubscribe</a>'
const template = {
  link_domains: ["shop.example"],
  variants: [{
    id: "a",
    vars: { subject: "Sale", body: source, text: "Sale: https://shop.example/sale. Bye: {{ unsubscribe_url }}" },
    formats: { body: "html" },
  }],
}

suiteOnTracking("Tracking", (bench) => {
  it("redirects links through the service and adds the pixel, without changing the rest of a message", async () => {
    const shop = await bench.shop("links", { template })
    const mail = partsOf((await shop.send("ada@example.com", { fields: { name: "ada" } })).raw)
    const id = mail.headers.get("x-tracking-id")!
    assert.deepStrictEqual(
      [mail.pixels, mail.clicks, mail.unsubscribes, mail.textClicks, mail.textUnsubscribes].map(({ length }) => length),
      [1, 2, 1, 1, 1],
    )
    const [sale, forAda] = mail.clicks
    assert.strictEqual(
      mail.html.trimEnd(),
      `<a href="${sale}">Sale</a> <a href="${forAda}">For you</a> <a href="mailto:help@shop.example">Help</a> ` +
        `<a href="${mail.unsubscribes[0]}">Unsubscribe</a><img src="${mail.pixels[0]}" width="1" height="1" alt="" ` +
        'style="display:block;width:1px;height:1px;border:0">',
    )
    assert.strictEqual(mail.text.trimEnd(), `Sale: ${mail.textClicks[0]}. Bye: ${mail.textUnsubscribes[0]}`)
    for (const url of [...mail.pixels, ...mail.clicks, ...mail.textClicks, ...mail.unsubscribes]) {
      assert.isAtMost(url.split("/").at(-1)!.replace(/\.gif$/, "").length, 60)
    }

    const targets = [
      [sale, `https://shop.example/sale?a=1&b=2&tracking_id=${id}`],
      [forAda, `https://shop.example/for/ada?tracking_id=${id}`],
      [mail.textClicks[0], "https://shop.example/sale"],
    ] as const
    for (const [url, target] of targets) {
      const answer = await get(url!)
      assert.deepStrictEqual([answer.status, answer.headers.get("location")], [302, target])
      assert.strictEqual(answer.headers.get("cache-control"), "no-store")
      assert.isNull(answer.headers.get("set-cookie"))
    }
    const pixel = await get(mail.pixels[0]!)
    assert.deepStrictEqual([pixel.status, pixel.headers.get("content-type")], [200, "image/gif"])
    assert.match(pixel.body, /^GIF89a/)
    // Clicks wait three seconds before they count.
    bench.pass(3_000)
    await waitUntil("the events are stored", async () => {
      await bench.takeIn()
      return (await bench.events("links")).filter(({ status }) => status === "attributed").length === 5
    })
    assert.deepStrictEqual(
      (await bench.events("links")).map(({ automated, event, link, source, status, trackingId }) => ({
        event,
        link,
        isOf: trackingId === id,
        automated,
        source,
        status,
      })),
      [
        ...["https://shop.example/sale", "https://shop.example/sale?a=1&b=2", "link 1"].map((link) => ({
          event: "click",
          link,
        })),
        { event: "open", link: null },
        { event: "sent", link: null },
      ].map((one) => ({ ...one, isOf: true, automated: false, source: "deliver", status: "attributed" })),
    )
  })

  it("answers a link the same, whether directly or through the router", async () => {
    const shop = await bench.shop("direct")
    const { clicks, pixels } = partsOf((await shop.send("ada@example.com")).raw)
    for (const url of [clicks[0]!, pixels[0]!]) {
      // The direct route leaves requests with a query to the router.
      const answers = await Promise.all([get(url), get(`${url}?utm_source=x`)])
      const [direct, routed] = answers.map(({ body, headers, status }) => {
        const { date: _date, ["x-request-id"]: requestId, ...rest } = Object.fromEntries(headers)
        assert.match(requestId!, /^[0-9a-f-]{36}$/)
        return { status, body, headers: rest }
      })
      assert.deepStrictEqual(direct, routed)
    }
    await bench.service.untilStored("the events are stored", ["inbox"], async () => {
      await bench.takeIn()
      return (await bench.events("direct")).length === 3
    })
  })

  it("counts an open and a click once for any number of repetitions", async () => {
    const shop = await bench.shop("once")
    const { clicks, pixels } = partsOf((await shop.send("ada@example.com")).raw)
    for (let i = 0; i < 3; i++) await Promise.all([get(pixels[0]!), get(clicks[0]!)])
    bench.pass(60_000)
    await Promise.all([get(pixels[0]!), get(clicks[0]!)])
    // HEAD requests do not count as opens or clicks.
    await Promise.all([get(pixels[0]!, {}, "HEAD"), get(clicks[0]!, {}, "HEAD")])
    const results = async () => {
      await bench.takeIn()
      return (await shop.manage("GET", "/templates/t/results?lookback_days=1&offset_days=0")).json
    }
    await waitUntil("both are counted", async () => (await results()).variants[0].outcomes.click === 1)
    const { decisions, outcomes } = (await results()).variants[0]
    assert.deepInclude({ decisions, ...outcomes }, { decisions: 1, sent: 1, open: 1, click: 1 })
    assert.deepStrictEqual((await bench.events("once")).map(({ event }) => event), ["click", "click", "open", "sent"])
  })

  it("counts opens and clicks of machines separately", async () => {
    const links = ["a", "b", "c"].map((name) => `<a href="https://shop.example/${name}">${name}</a>`).join(" ")
    const shop = await bench.shop("machines", {
      template: { variants: [{ id: "a", vars: { subject: "x", body: links }, formats: { body: "html" } }] },
    })
    const mails = []
    for (const name of ["apple", "scanner", "person"]) {
      mails.push(partsOf((await shop.send(`${name}@example.com`)).raw))
    }
    const [apple, scanner, person] = mails
    await get(apple!.pixels[0]!, { "user-agent": "Mozilla/5.0" })
    // A scanner that poses as a browser follows everything at once.
    await Promise.all([...scanner!.pixels, ...scanner!.clicks].map((url) => get(url)))
    bench.pass(60_000)
    await get(person!.pixels[0]!, { "user-agent": "Mozilla/5.0 (via ggpht.com GoogleImageProxy)" })
    await get(person!.clicks[0]!)
    // The recipient of the scanned message follows it by himself later on.
    const outcomes = async () => {
      await bench.takeIn()
      const { json } = await shop.manage("GET", "/templates/t/results?lookback_days=1&offset_days=0")
      return json.variants[0]
    }
    const holds = (found: { outcomes: Record<string, number>; automated: Record<string, number> }) =>
      found.outcomes["click"] === 1 && found.outcomes["open"] === 2 && found.automated["click"] === 1
    await waitUntil("machines and people are counted", async () => holds(await outcomes()))
    assert.deepInclude((await outcomes()).automated, { open: 1, click: 1 })
    bench.pass(3_600_000)
    await get(scanner!.clicks[0]!)
    await waitUntil("the person counts as well", async () => (await outcomes()).outcomes.click === 2)
    assert.deepInclude((await outcomes()).automated, { open: 1, click: 1 })
  })

  it("sets aside a click next to a request for the unsubscribe page, which has no count", async () => {
    const body = '<p><a href="https://shop.example/a">a</a> <a href="{{ unsubscribe_url }}">Bye</a></p>'
    const shop = await bench.shop("scanned", {
      template: { variants: [{ id: "a", vars: { subject: "x", body }, formats: { body: "html" } }] },
    })
    const { clicks, unsubscribes } = partsOf((await shop.send("ada@example.com")).raw)
    bench.pass(60_000)
    await Promise.all([get(clicks[0]!), get(unsubscribes[0]!, {})])
    const results = async () => {
      await bench.takeIn()
      return (await shop.manage("GET", "/templates/t/results?lookback_days=1&offset_days=0")).json
    }
    await waitUntil("the scanner is recognized", async () => (await results()).set_aside.clicks === 1)
    const { automated, click_rates, outcomes, set_aside } = await results()
    assert.strictEqual(set_aside.reasons.unsubscribe, 1)
    assert.deepInclude(outcomes, { click: 0, other: 0, unsubscribe: 0 })
    assert.deepInclude(automated, { click: 1, other: 0 })
    assert.deepStrictEqual(click_rates, { people: 0, all: 1 })
  })

  it("answers 404 to 1,000 forged tokens, and never redirects them", async () => {
    const shop = await bench.shop("forged")
    const { clicks, pixels, unsubscribes } = partsOf((await shop.send("ada@example.com")).raw)
    assert.deepStrictEqual(unsubscribes, [])
    const text = (url: string) => url.split("/").at(-1)!.replace(/\.gif$/, "")
    const forge = (genuine: string, n: number) => {
      const at = n % genuine.length
      const other = genuine[at] === "A" ? "B" : "A"
      return n % 3 === 0
        ? randomBytes(42).toString("base64url")
        : n % 3 === 1
        ? genuine.slice(0, at) + other + genuine.slice(at + 1)
        : `${genuine.slice(0, at)}${encodeURIComponent("https://evil.example/")}`
    }
    for (let n = 0; n < 1_000; n += 50) {
      await Promise.all(Array.from({ length: 50 }, async (_, i) => {
        const [route, genuine, method] = ([
          ["o", text(pixels[0]!), "GET"],
          ["c", text(clicks[0]!), "GET"],
          ["u", text(clicks[0]!), "POST"],
          ["c", text(pixels[0]!), "GET"],
        ] as const)[(n + i) % 4]!
        const token = forge(genuine, n + i)
        const { headers, status } = await get(
          `${bench.service.url}/${route}/${token}${route === "o" ? ".gif" : ""}`,
          { "user-agent": chrome },
          method,
        )
        assert.deepStrictEqual([status, headers.get("location")], [404, null], token)
      }))
    }
    // One of another route is as good as forged.
    for (const url of [`u/${text(clicks[0]!)}`, `c/${text(pixels[0]!)}`, `o/${text(clicks[0]!)}.gif`]) {
      assert.strictEqual((await get(`${bench.service.url}/${url}`)).status, 404)
    }
    await bench.takeIn()
    assert.deepStrictEqual((await bench.events("forged")).map(({ event }) => event), ["sent"])
  })

  it("applies the settings of template and organization, including the host of links", async () => {
    const shop = await bench.shop("settings", {
      organization: { tracking: { opens: false, clicks: false } },
      template: { ...template, link_domains: [] },
    })
    const fields = { name: "ada" }
    const off = partsOf((await shop.send("off@example.com", { fields })).raw)
    assert.deepStrictEqual([off.pixels, off.clicks, off.textClicks, off.unsubscribes.length], [[], [], [], 1])
    assert.include(off.html, '<a href="https://shop.example/sale?a=1&amp;b=2">Sale</a>')
    await shop.manage("PATCH", "/templates/t", { tracking: { opens: false, clicks: true } })
    const clicks = partsOf((await shop.send("clicks@example.com", { fields })).raw)
    assert.deepStrictEqual([clicks.pixels.length, clicks.clicks.length], [0, 2])
    const url = "https://links.shop.example"
    await shop.manage("PATCH", "", { tracking: { opens: true, clicks: true, url } })
    await shop.manage("PATCH", "/templates/t", { tracking: null })
    const { html } = partsOf((await shop.send("own@example.com", { fields })).raw)
    assert.match(html, /<img src="https:\/\/links\.shop\.example\/o\/[\w-]{40}\.gif"/)
    assert.match(html, /<a href="https:\/\/links\.shop\.example\/u\/[\w-]{40}">Unsubscribe/)
    assert.strictEqual(html.match(/https:\/\/links\.shop\.example\/c\/[\w-]+/g)!.length, 2)
    // A link that the caller has of his own is left alone.
    const own = partsOf(
      (await shop.send("caller@example.com", {
        fields: { name: "ada", unsubscribe_url: "https://shop.example/bye?u=1" },
      }))
        .raw,
    )
    assert.include(own.html, '<a href="https://shop.example/bye?u=1">Unsubscribe</a>')
  })
})
