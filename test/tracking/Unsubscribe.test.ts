import { assert, it } from "@effect/vitest"
import type { OrgSlug } from "../../src/domain/Ids.ts"
import { read } from "../support/platformServers/MimeReader.ts"
import { waitUntil } from "../support/service.ts"
import { partsOf } from "./parts.ts"
import { suiteOnTracking } from "./support.ts"

const body = '<p>Hi</p><a href="{{ unsubscribe_url }}">Unsubscribe</a>'
const template = {
  list_unsubscribe: true,
  variants: [{ id: "a", vars: { subject: "Sale", body }, formats: { body: "html" } }],
}

const linkOf = (raw: string) => /http:\/\/127\.0\.0\.1:\d+\/u\/[\w-]+/.exec(read(raw).parts[1]!.text)![0]

suiteOnTracking("Unsubscribing", (bench) => {
  const recorded = async (slug: string) => {
    await bench.takeIn()
    return (await bench.events(slug)).filter(({ event }) => event === "unsubscribe")
  }

  it("shows a confirmation page in the reader's language, and changes nothing on a visit", async () => {
    const shop = await bench.shop("ask", { template, organization: { name: "Böhm & Söhne" } })
    const url = linkOf((await shop.send("ada@example.com")).raw)
    const page = async (headers: Record<string, string>) => {
      const response = await fetch(url, { headers })
      assert.deepStrictEqual([response.status, response.redirected], [200, false])
      assert.isNull(response.headers.get("set-cookie"))
      return await response.text()
    }
    const english = await page({})
    assert.include(english, "Do you want to stop receiving e-mails from Böhm &amp; Söhne?")
    assert.include(english, '<html lang="en">')
    assert.match(english, /<form method="post">.*<button>Unsubscribe<\/button>/)
    assert.include(await page({ "accept-language": "xx, de-AT;q=0.9, en;q=0.8" }), '<html lang="de">')
    await shop.manage("PATCH", "", {
      unsubscribe_page: {
        language: "sv",
        title: "Avsluta",
        question: "Inga fler mejl från {organization}?",
        button: "Ja, avsluta",
        done: "Klart, <b>{organization}</b>.",
      },
    })
    const own = await page({ "accept-language": "de" })
    for (const text of ['<html lang="sv">', "Inga fler mejl från Böhm &amp; Söhne?", "<button>Ja, avsluta</button>"]) {
      assert.include(own, text)
    }
    // A scanner follows the link, also with HEAD and as a prefetch.
    await fetch(url, { method: "HEAD" })
    await fetch(url, { headers: { "user-agent": "BarracudaCentral" } })
    assert.deepStrictEqual(await recorded("ask"), [])
    const done = await (await fetch(url, { method: "POST" })).text()
    assert.include(done, "Klart, &lt;b&gt;Böhm &amp; Söhne&lt;/b&gt;.")
    assert.lengthOf(await recorded("ask"), 1)
  })

  it("counts once if the first attempt was stored although its answer was lost", async () => {
    const shop = await bench.shop("lost", { template })
    const mail = await shop.send("ada@example.com")
    const [{ id }] = await bench.run(bench.sql<{ id: string }>`
      SELECT d.id FROM deliveries d WHERE d.org_slug = 'lost'`) as [{ id: string }]
    assert.isFalse(await bench.run(bench.unanswered.record("lost" as OrgSlug, id)))
    // Stored after the second attempt.
    await fetch(partsOf(mail.raw).pixels[0]!)
    await bench.service.untilStored("the open", ["events"], async () => {
      await bench.takeIn()
      return (await bench.events("lost")).some(({ event }) => event === "open")
    })
    assert.lengthOf(await recorded("lost"), 1)
  })

  it("accepts the one-click request of mail programs without a redirect, once it is stored", async () => {
    const shop = await bench.shop("post", { template })
    const mail = await shop.send("ada@example.com")
    const { headers } = read(mail.raw)
    const url = linkOf(mail.raw)
    const listed = /^<(.*)>$/.exec(headers.get("list-unsubscribe")!)![1]!
    assert.strictEqual(listed, url)
    // RFC 8058 wants https, which an address of this machine has not.
    assert.isFalse(headers.has("list-unsubscribe-post"))
    const form = new FormData()
    form.set("List-Unsubscribe", "One-Click")
    const bodies: ReadonlyArray<RequestInit> = [
      {
        headers: { "content-type": "application/x-www-form-urlencoded", "user-agent": "Gmail" },
        body: "List-Unsubscribe=One-Click",
      },
      { body: form },
      { headers: { cookie: "a=b", origin: "https://mail.example" } },
    ]
    for (const init of bodies) {
      const response = await fetch(listed, { method: "POST", redirect: "error", ...init })
      assert.strictEqual(response.status, 200)
      assert.isNull(response.headers.get("set-cookie"))
      assert.include(await response.text(), "You are unsubscribed")
      // In force before the answer.
      const [row] = await bench.run(bench.sql<{ reason: string }>`
        SELECT s.reason FROM suppressions s WHERE s.org_slug = 'post' AND s.address_key = 'ada@example.com'`)
      assert.strictEqual(row?.reason, "unsubscribe")
    }
    const found = await recorded("post")
    assert.lengthOf(found, bodies.length)
    assert.deepInclude(found[0]!, {
      trackingId: headers.get("x-tracking-id")!,
      automated: false,
      status: "attributed",
      source: "deliver",
    })
    const results = async () =>
      (await shop.manage("GET", "/templates/t/results?lookback_days=1&offset_days=0")).json.variants[0]
    await waitUntil("it counts against the variant", async () => (await results()).outcomes.unsubscribe === 1)
    assert.strictEqual((await results()).decisions, 1)
  })

  it("suppresses again if a person removed from the list reuses an old link", async () => {
    const shop = await bench.shop("again", { template })
    const url = linkOf((await shop.send("ada@example.com")).raw)
    for (let n = 0; n < 2; n++) {
      assert.strictEqual((await fetch(url, { method: "POST" })).status, 200)
      const refused = await shop.deliver({ email: "ada@example.com" })
      assert.deepStrictEqual([refused.status, refused.json.type], [422, "/problems/recipient-suppressed"])
      assert.strictEqual((await shop.manage("DELETE", "/suppressions?email=ada@example.com")).status, 204)
    }
  })

  it("is offered in the headers if template or connection request it, with https for one click", async () => {
    const organization = { tracking: { opens: false, clicks: false, url: "https://links.shop.example" } }
    const shop = await bench.shop("headers", { template: { ...template, list_unsubscribe: false }, organization })
    const headersOf = async (email: string) => read((await shop.send(email)).raw).headers
    assert.isFalse((await headersOf("none@example.com")).has("list-unsubscribe"))
    await shop.manage("PATCH", "/templates/t", { list_unsubscribe: true })
    const byTemplate = await headersOf("template@example.com")
    assert.match(byTemplate.get("list-unsubscribe")!, /^<https:\/\/links\.shop\.example\/u\/[\w-]{40}>$/)
    assert.strictEqual(byTemplate.get("list-unsubscribe-post"), "List-Unsubscribe=One-Click")
    await shop.manage("PATCH", "/templates/t", { list_unsubscribe: false })
    const { json } = await shop.manage("GET", "/connections")
    const settings = json.connections?.[0]?.settings ?? json[0].settings
    const put = (unsubscribe: unknown) =>
      shop.manage("PUT", "/connections/main", { settings: { ...settings, unsubscribe } })
    assert.strictEqual((await put({ one_click: true, mailto: "stop@shop.example" })).status, 200)
    const byConnection = await headersOf("connection@example.com")
    assert.match(
      byConnection.get("list-unsubscribe")!,
      /^<https:\/\/links\.shop\.example\/u\/[\w-]{40}>, <mailto:stop@shop\.example>$/,
    )
    assert.strictEqual(byConnection.get("list-unsubscribe-post"), "List-Unsubscribe=One-Click")
    const both = await put({ one_click: true, url: "https://shop.example/bye" })
    assert.deepStrictEqual([both.status, both.json.errors[0].pointer], [400, "/settings/unsubscribe/url"])
    assert.strictEqual((await put({ one_click: false })).status, 400)
  })
})
