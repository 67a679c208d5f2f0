import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { type Relay, relayTo } from "../process/relay.ts"
import { waitUntil } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { get, partsOf } from "./parts.ts"
import { suiteOnTracking } from "./support.ts"

const template = {
  variants: [{
    id: "a",
    vars: {
      subject: "Sale",
      body: '<a href="https://shop.example/sale">Sale</a> <a href="https://shop.example/for/{{ name }}">You</a> ' +
        '<a href="{{ unsubscribe_url }}">Bye</a>',
    },
    formats: { body: "html" },
  }],
}

let relay: Relay

/** A database behind a relay that a test can block. */
const relayed = Effect.gen(function* () {
  const env = yield* temporaryEnvironment
  const url = new URL(env["DATABASE_URL"]!)
  relay = yield* relayTo(Number(url.port))
  url.hostname = "127.0.0.1"
  url.port = String(relay.port)
  return { ...env, DATABASE_URL: url.href, STORE_TIMEOUT: "1 second" }
})

suiteOnTracking("Tracking during a database outage", (bench) => {
  it("answers from memory, and stores the events once the database is back", async () => {
    const shop = await bench.shop("outage", { template })
    const names = ["ada", "bob", "cleo"]
    const mails = []
    for (const name of names) mails.push(partsOf((await shop.send(`${name}@example.com`, { fields: { name } })).raw))
    relay.block()
    for (const [n, mail] of mails.entries()) {
      assert.strictEqual((await get(mail.pixels[0]!)).status, 200)
      const targets = [await get(mail.clicks[0]!), await get(mail.clicks[1]!)]
      assert.deepStrictEqual(
        targets.map(({ headers, status }) => [status, headers.get("location")]),
        [[302, "https://shop.example/sale"], [302, `https://shop.example/for/${names[n]}`]],
      )
    }
    // Nothing promises what a crash would lose. It is kept in memory all the same, as no mail program repeats it.
    const answer = await get(mails[0]!.unsubscribes[0]!, {}, "POST")
    assert.strictEqual(answer.status, 503)
    assert.match(answer.headers.get("retry-after") ?? "", /^[1-9]\d*$/)
    assert.include(answer.body, "This did not work just now")
    assert.include(answer.body, "<button>Unsubscribe</button>")
    assert.strictEqual((await get(mails[1]!.unsubscribes[0]!, {})).status, 200)
    assert.strictEqual((await get(`${bench.service.url}/c/${"A".repeat(56)}`)).status, 404)
    relay.unblock()
    const eventsOf = async () => (await bench.events("outage")).map(({ event }) => event)
    await waitUntil("everything is stored", async () => {
      const events = await eventsOf().catch(() => [])
      return events.filter((event) => event !== "sent").length === 11
    })
    assert.deepStrictEqual(
      (await eventsOf()).filter((event) => event !== "sent"),
      [...Array(6).fill("click"), ...Array(3).fill("open"), "unsubscribe", "unsubscribe_view"],
    )
  })

  it("redirects to targets created by another node, and answers 503 for those it cannot look up", async () => {
    const shop = await bench.shop("nodes", { template })
    const mail = partsOf((await shop.send("ada@example.com", { fields: { name: "ada" } })).raw)
    const other = await bench.otherNode()
    const at = (url: string) => url.replace(bench.service.url, other.url)
    // The target that all recipients share is read when a node starts. The target of one recipient is not.
    await waitUntil("the shared target is known", async () => (await get(at(mail.clicks[0]!))).status === 302)
    relay.block()
    const [shared, own] = [await get(at(mail.clicks[0]!)), await get(at(mail.clicks[1]!))]
    assert.deepStrictEqual([shared.status, shared.headers.get("location")], [302, "https://shop.example/sale"])
    assert.strictEqual(own.status, 503)
    assert.match(own.headers.get("retry-after") ?? "", /^[1-9]\d*$/)
    assert.include(own.body, "try again")
    relay.unblock()
    await waitUntil("the store answers again", async () => (await get(at(mail.clicks[1]!))).status === 302)
    const found = await get(at(mail.clicks[1]!))
    assert.strictEqual(found.headers.get("location"), "https://shop.example/for/ada")
  })

  it("deletes the links of an erased person only", async () => {
    const shop = await bench.shop("erased", { template })
    const mail = partsOf((await shop.send("ada@example.com", { fields: { name: "ada" } })).raw)
    const kept = () =>
      bench.run(bench.sql<{ links: ReadonlyArray<string> | null; targets: number }>`
        SELECT d.links, (SELECT count(*)::int FROM tracked_links l WHERE l.org_slug = d.org_slug) AS targets
        FROM deliveries d WHERE d.org_slug = 'erased'`)
    assert.deepStrictEqual(await kept(), [{ links: ["https://shop.example/for/ada"], targets: 1 }])
    const { status } = await shop.manage("POST", "/erasures", { email: "ada@example.com" })
    assert.include([200, 202], status)
    await bench.service.untilStored(
      "the person is erased",
      ["deliveries"],
      async () => (await kept())[0]!.links === null,
    )
    assert.deepStrictEqual(await kept(), [{ links: null, targets: 1 }])
    const other = await bench.otherNode()
    const answers = []
    for (const url of mail.clicks) answers.push((await get(url.replace(bench.service.url, other.url))).status)
    assert.deepStrictEqual(answers, [302, 404])
  })
}, relayed)
