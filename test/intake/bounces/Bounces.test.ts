import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { Buffer } from "node:buffer"
import { generateKeyPairSync } from "node:crypto"
import { signMessage } from "../../../src/delivery/dkim/DkimSignature.ts"
import { writeMailbox } from "../../../src/tracking/BounceAddress.ts"
import type { OrgSlug } from "../../../src/domain/Ids.ts"
import { hmacKey } from "../../../src/text/Hmac.ts"
import { absence, complaint, deliveryId, failed, mail, report } from "../mail/samples.ts"
import type { Mail } from "../../support/platformServers/SmtpReceiver.ts"
import { type DnsServer, startDns } from "../../support/dnsServer.ts"
import { freePort } from "../../support/service.ts"
import { temporaryEnvironment } from "../../support/stores.ts"
import { suiteOnTracking } from "../../tracking/support.ts"
import { sendMail } from "./support.ts"

const bounceDomain = { bounce_domain: "bounces.shop.example" }
const unknownUser = failed("5.1.1", "smtp; 550 5.1.1 <anna@mailbox.example>: User unknown")
const full = failed("5.2.2", "smtp; 552 5.2.2 Mailbox full")
const blocked = failed("5.7.1", "smtp; 550 5.7.1 Blocked by policy")

const headerOf = ({ raw }: Mail, name: string): string =>
  new RegExp(`^${name}: (.*)\r$`, "im").exec(raw)?.[1] ?? assert.fail(`no ${name} in ${raw}`)

const trackingIdOf = (sent: Mail) => headerOf(sent, "X-Tracking-Id")

/** The headers of a message, as reports enclose them. */
const enclosed = ({ raw }: Mail) => raw.slice(0, raw.indexOf("\r\n\r\n")).split("\r\n")

let port = 0
let dns: DnsServer
const environment = Effect.gen(function* () {
  port = yield* Effect.promise(freePort)
  dns = yield* Effect.acquireRelease(Effect.promise(() => startDns()), (server) => Effect.promise(server.close))
  return { ...yield* temporaryEnvironment, BOUNCE_LISTEN: `127.0.0.1:${port}`, DNS_SERVERS: dns.address }
})

suiteOnTracking("Bounces by mail", (bench) => {
  const kinds = async (slug: string) =>
    (await bench.events(slug)).map(({ event }) => event).filter((one) => one !== "sent")

  it("suppress the recipient of the bounced message once, for any number of reports", async () => {
    const shop = await bench.shop("hard", { connection: bounceDomain })
    const sent = await shop.send("anna@mailbox.example")
    assert.match(sent.from, /^bounce\+[0-9a-v]{48}@bounces\.shop\.example$/)
    assert.strictEqual(headerOf(sent, "From"), "news@shop.example")
    const text = report({ recipients: [unknownUser] })
    assert.match(await sendMail(port, sent.from, text), /^250 /)
    assert.match(await sendMail(port, sent.from.toUpperCase(), text), /^250 /)
    await bench.takeIn()
    const events = (await bench.events("hard")).filter(({ event }) => event !== "sent")
    assert.deepStrictEqual(
      events.map(({ event, source, status, trackingId }) => ({ event, source, status, trackingId })),
      [
        { event: "bounce", source: "mail", status: "attributed", trackingId: trackingIdOf(sent) },
      ],
    )
    const refused = await shop.deliver({ email: "anna@mailbox.example" })
    assert.strictEqual(refused.status, 422)
    assert.include(refused.text, "recipient-suppressed")
    assert.include(refused.text, "hard_bounce")
    const { json } = await shop.manage("GET", "/suppressions/anna%40mailbox.example")
    assert.deepInclude(json.suppressions[0], { reason: "hard_bounce", source: "mail" })
  })

  it("count a full mailbox as a soft bounce, and do not suppress for a policy refusal", async () => {
    const shop = await bench.shop("soft", { connection: bounceDomain })
    for (const [email, fields] of [["full@mailbox.example", full], ["blocked@mailbox.example", blocked]] as const) {
      const sent = await shop.send(email)
      assert.match(await sendMail(port, sent.from, report({ recipients: [fields] })), /^250 /)
    }
    await bench.takeIn()
    assert.deepStrictEqual(await kinds("soft"), ["failed", "soft_bounce"])
    for (const email of ["full@mailbox.example", "blocked@mailbox.example"]) await shop.send(email)
  })

  it("suppress after the organization's number of consecutive full mailboxes", async () => {
    const shop = await bench.shop("repeated", { connection: bounceDomain, organization: { soft_bounce_limit: 2 } })
    for (let i = 0; i < 2; i++) {
      const sent = await shop.send("full@mailbox.example")
      await sendMail(port, sent.from, report({ recipients: [full] }))
      await bench.takeIn()
    }
    const refused = await shop.deliver({ email: "full@mailbox.example" })
    assert.strictEqual(refused.status, 422)
    assert.include(refused.text, "soft_bounce")
  })

  it("appear in the history of the person and in the inbox, where they can be replayed", async () => {
    const shop = await bench.shop("story", { connection: bounceDomain })
    const sent = await shop.send("anna@mailbox.example")
    await sendMail(port, sent.from, report({ recipients: [unknownUser] }))
    await sendMail(port, sent.from, absence)
    await bench.takeIn()
    const story = await shop.manage("GET", "/stories?email=anna%40mailbox.example")
    const [decision] = story.json.decisions
    assert.deepInclude(
      decision.events.find(({ event }: { readonly event: string }) => event === "bounce"),
      { source: "mail", effect: "counted" },
    )
    const { json: { inbox } } = await shop.manage("GET", "/webhooks/mail/inbox?all=true")
    assert.deepStrictEqual(
      inbox.map(({ ignored, status, unused }: Record<string, unknown>) => ({ ignored, status, unused })),
      [
        {
          ignored: 1,
          status: "done",
          unused: [{ reason: "An automatic reply says nothing about the delivery", count: 1, pointer: "" }],
        },
        { ignored: 0, status: "done", unused: [] },
      ],
    )
    assert.deepInclude(inbox[1].headers, { "delivery-id": trackingIdOf(sent), "mail-from": "", "rcpt-to": sent.from })
    assert.include(inbox[1].body, "Diagnostic-Code")
    assert.strictEqual((await shop.manage("POST", `/webhooks/mail/inbox/${inbox[1].id}/replay`)).status, 204)
    await bench.takeIn()
    assert.deepStrictEqual(await kinds("story"), ["bounce"])
  })

  it("are emptied in the inbox when the person of their message is erased", async () => {
    const shop = await bench.shop("erased", { connection: bounceDomain })
    const sent = await shop.send("anna@mailbox.example")
    await sendMail(port, sent.from, report({ recipients: [unknownUser] }))
    await bench.takeIn()
    const erased = await shop.manage("POST", "/erasures", { email: "anna@mailbox.example" })
    assert.strictEqual(erased.status, 200, erased.text)
    const { json: { inbox } } = await shop.manage("GET", "/webhooks/mail/inbox?all=true")
    assert.deepStrictEqual(inbox.map(({ body }: { readonly body: string }) => body), [""])
  })

  it("are accepted only for messages of this service", async () => {
    const shop = await bench.shop("forged", { connection: bounceDomain })
    const sent = await shop.send("anna@mailbox.example")
    const forged = writeMailbox(hmacKey(new Uint8Array(32)), {
      org: "forged" as OrgSlug,
      delivery: trackingIdOf(sent),
    })
    const text = report({ recipients: [unknownUser] })
    for (const to of [`${forged}@bounces.shop.example`, "postmaster@bounces.shop.example", "anna@mailbox.example"]) {
      assert.match(await sendMail(port, to, text), /^550 5\.1\.1 No such mailbox/)
    }
    // A person and a program that reply from addresses of their own.
    const answer = mail("From: anna@mailbox.example", "Subject: Re: Sale", "", "No, thanks")
    assert.match(await sendMail(port, sent.from, answer, "anna@mailbox.example"), /^550 5\.7\.1 Nobody reads/)
    await bench.takeIn()
    assert.deepStrictEqual(await kinds("forged"), [])
    await shop.send("anna@mailbox.example")
  })

  it("do not change the sender on connections without a bounce domain", async () => {
    const shop = await bench.shop("plain")
    assert.strictEqual((await shop.send("anna@mailbox.example")).from, "news@shop.example")
    const refused = await shop.manage("PUT", "/connections/main", {
      settings: { host: "127.0.0.1", from: "news@shop.example", bounce_domain: "a@b" },
    })
    assert.strictEqual(refused.status, 400)
    assert.include(refused.text, "/settings/bounce_domain")
  })
}, environment)

suiteOnTracking("Complaints by mail", (bench) => {
  const addressOf = async (shop: Awaited<ReturnType<typeof bench.shop>>): Promise<string> => {
    const { json } = await shop.manage("GET", "/connections")
    return json.connections[0].complaint_address
  }

  const fields = ["Feedback-Type: abuse", "User-Agent: Provider/1", "Version: 1"]
  const domain = "arf.mail.yahoo.com"
  const loop = `feedback@${domain}`
  const keyName = `s1._domainkey.${domain}`
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 1_024 })
  const keyRecord = `v=DKIM1; p=${publicKey.export({ format: "der", type: "spki" }).toString("base64")}`

  /** A complaint that names the message by its ids only, as providers do that leave out the return path. */
  const byIds = (sent: Mail, from = loop) =>
    complaint(fields, { lines: enclosed(sent) }).replace("feedback@arf.provider.example", from)
  const signed = (text: string, signer = domain) =>
    signMessage(Buffer.from(text, "latin1"), { domain: signer, selector: "s1" }, privateKey).toString("latin1")
  const statusOf = async (shop: Awaited<ReturnType<typeof bench.shop>>, email: string) =>
    (await shop.deliver({ email })).status

  it("suppress the recipient of the message whose signed return path they contain", async () => {
    const shop = await bench.shop("fbl", { connection: bounceDomain })
    const to = await addressOf(shop)
    assert.match(to, /^complaint\+[0-9a-v]{48}@bounces\.shop\.example$/)
    const inHeaders = await shop.send("anna@mailbox.example")
    const inFields = await shop.send("bert@mailbox.example")
    const reports = [
      complaint(fields, { lines: [`Return-Path: <${inHeaders.from.toUpperCase()}>`, ...enclosed(inHeaders)] }),
      complaint([...fields, `Original-Mail-From: <${inFields.from}>`], { lines: ["Subject: hidden"] }),
    ]
    for (const text of reports) {
      assert.match(await sendMail(port, to, text, "feedback@provider.example"), /^250 /)
    }
    await bench.takeIn()
    for (const email of ["anna@mailbox.example", "bert@mailbox.example"]) {
      const refused = await shop.deliver({ email })
      assert.strictEqual(refused.status, 422, email)
      assert.include(refused.text, "complaint")
    }
  })

  it("suppress the recipient of a message without return path if a known feedback loop has signed them", async () => {
    dns.entries.set(keyName, [keyRecord])
    const shop = await bench.shop("signed", { connection: bounceDomain })
    const sent = await shop.send("anna@mailbox.example")
    assert.match(await sendMail(port, await addressOf(shop), signed(byIds(sent)), loop), /^250 /)
    await bench.takeIn()
    assert.strictEqual(await statusOf(shop, "anna@mailbox.example"), 422)
    const { json: { inbox } } = await shop.manage("GET", "/webhooks/mail/inbox?all=true")
    assert.deepInclude(inbox[0].headers, { "verified-sender": loop })
  })

  it("count, but suppress nobody, if nothing proves where they come from", async () => {
    dns.entries.set(keyName, [keyRecord])
    const shop = await bench.shop("unproven", { connection: bounceDomain })
    const to = await addressOf(shop)
    const sent = await shop.send("anna@mailbox.example")
    const own = await shop.send("eve@mailbox.example")
    const byOwnPath = complaint(fields, { lines: [...enclosed(sent), `X-Note: ${own.from}`] })
    const forgedPath = sent.from.replace(/\+./, (start) => start === "+a" ? "+b" : "+a")
    const forgeries = [
      byIds(sent),
      signed(byIds(sent, "eve@mailbox.example"), "mailbox.example"),
      signed(byIds(sent), "mailbox.example"),
      signed(byIds(sent)).replace("Feedback-Type: abuse", "Feedback-Type: fraud"),
      `X-A: b\n${byIds(sent).replaceAll("\r\n", "\n")}\r\n${signed(`From: ${loop}\r\n\r\nGenuine`)}`,
      byOwnPath,
      complaint([...fields, `Original-Mail-From: <${forgedPath}>`], { lines: enclosed(sent) }),
      complaint(["Feedback-Type: opt-out"], { lines: enclosed(sent) }),
      report({ recipients: [unknownUser] }).replace(/^Return-Path: <bounce.*$/m, "X-A: b").replaceAll(
        deliveryId,
        trackingIdOf(sent),
      ),
    ]
    for (const text of forgeries) assert.match(await sendMail(port, to, text, "eve@mailbox.example"), /^250 /)
    await bench.takeIn()
    assert.deepStrictEqual(
      (await bench.events("unproven")).filter(({ event, trackingId }) =>
        event !== "sent" && trackingId === trackingIdOf(sent)
      ).map(({ event, status }) => [event, status]).sort(),
      [["bounce", "attributed"], ["spam", "attributed"], ["unsubscribe", "attributed"]],
    )
    for (const email of ["anna@mailbox.example", "eve@mailbox.example"]) {
      assert.strictEqual(await statusOf(shop, email), 200, email)
    }
    const { json: { inbox } } = await shop.manage("GET", "/webhooks/mail/inbox?all=true")
    assert.include(JSON.stringify(inbox), "counts but suppresses no address")

    assert.match(await sendMail(port, to, signed(byIds(sent)), loop), /^250 /)
    await bench.takeIn()
    assert.strictEqual(await statusOf(shop, "anna@mailbox.example"), 422, "a later report with proof")
  })

  it("are kept if DNS fails or has no key", async () => {
    const shop = await bench.shop("no-dns", { connection: bounceDomain })
    const to = await addressOf(shop)
    const sent = await shop.send("anna@mailbox.example")
    for (const entry of ["server-failure", [], ["v=DKIM1; p="]] as const) {
      dns.entries.set(keyName, entry)
      assert.match(await sendMail(port, to, signed(byIds(sent)), loop), /^250 /)
    }
    await bench.takeIn()
    assert.deepStrictEqual((await bench.events("no-dns")).map(({ event }) => event).sort(), ["sent", "spam"])
    assert.strictEqual(await statusOf(shop, "anna@mailbox.example"), 200)
  })

  it("are attributed to the message of their return path", async () => {
    const shop = await bench.shop("ses", { connection: bounceDomain })
    const sent = await shop.send("anna@mailbox.example")
    const text = complaint(["Feedback-Type: abuse", "User-Agent: Amazon SES", "Version: 1"])
    assert.match(await sendMail(port, sent.from, text, "complaints@email-abuse.amazonses.com"), /^250 /)
    await bench.takeIn()
    assert.strictEqual((await shop.deliver({ email: "anna@mailbox.example" })).status, 422)
  })

  it("about messages of another organization change nothing", async () => {
    const other = await bench.shop("other", { connection: bounceDomain })
    const shop = await bench.shop("curious", { connection: bounceDomain })
    const sent = await other.send("anna@mailbox.example")
    const text = complaint(["Feedback-Type: abuse"], { lines: enclosed(sent) })
    assert.match(await sendMail(port, await addressOf(shop), text, "feedback@provider.example"), /^250 /)
    await bench.takeIn()
    await other.send("anna@mailbox.example")
    assert.deepStrictEqual((await bench.events("other")).filter(({ event }) => event === "spam"), [])
  })
}, environment)
