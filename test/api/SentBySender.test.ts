import { assert, it } from "@effect/vitest"
import { makeOrganization, waitUntil } from "../support/service.ts"
import { certificate } from "../support/platformServers/Certificate.ts"
import { resendKey, startResend } from "../support/platformServers/EmailServers.ts"
import { startSmtp } from "../support/platformServers/SmtpReceiver.ts"
import { testSenders } from "../support/testSenders.ts"
import { signedHeaders } from "../../src/intake/samples/PlatformSamples.ts"
import { organizationOf, suiteOnPlatforms } from "./platformSuite.ts"

suiteOnPlatforms("Events of messages that Deliver sent", (server) => {
  const organization = organizationOf(server)

  /** Sends a message of a new organization through a connection. */
  const deliver = async (slug: string, connection: object) => {
    const org = await organization(slug)
    await org.manage("POST", "/templates", {
      id: "mail",
      name: "Mail",
      variants: [{ id: "a", vars: { subject: "Hi", body: "Hello" } }],
    })
    const set = await org.manage("PUT", "/connections/main", connection)
    assert.strictEqual(set.status, 200, JSON.stringify(set.body))
    const key = await makeOrganization(server().service, slug, ["deliver"])
    const answer = await server().service.request(`/api/deliver/${slug}`, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: JSON.stringify({ template_id: "mail", email: "Ann@Example.com" }),
    })
    assert.strictEqual(answer.status, 200)
    return { org, id: answer.headers.get("parlance-delivery-id")! }
  }

  /** Waits until the send is an event. The link of the service's id is stored in the same transaction. */
  const recorded = ({ events }: Awaited<ReturnType<typeof organization>>) =>
    waitUntil("the send is recorded", async () => (await events()).some((one) => one.event === "sent"))

  it("match by Resend's id alone, from its API", async () => {
    const platform = await startResend()
    try {
      const settings = { endpoint: platform.url, from: "news@shop.example" }
      const { id, org } = await deliver("by-api", { platform: "resend", settings, secrets: { api_key: resendKey } })
      await recorded(org)
      const secret = testSenders.resend.secret("a")
      await org.put("resend", { secret })
      const body = JSON.stringify({
        type: "email.opened",
        created_at: new Date().toISOString(),
        data: { email_id: `5f0c1d5e-${id.length}-${id}`, to: ["ann@example.com"] },
      })
      assert.strictEqual(
        (await org.post("resend", body, signedHeaders("resend", secret, {}, body, Date.now()))).status,
        200,
      )
      await org.taken()
      const event = (await org.events()).find((one) => one.event === "open")!
      assert.deepInclude(event, { status: "attributed", tracking_id: id, source: "resend" })
    } finally {
      await platform.close()
    }
  })

  it("match by Brevo's id alone, from its reply by SMTP", async () => {
    const receiver = await startSmtp({ acceptance: "2.0.0 OK: queued as <202602031200.1@smtp-relay.example>" })
    try {
      const settings = {
        host: "localhost",
        port: receiver.port,
        ca: certificate,
        from: "news@shop.example",
        sender: "brevo",
      }
      const { id, org } = await deliver("by-smtp", { platform: "smtp", settings })
      await recorded(org)
      assert.include(receiver.mails[0]!.raw, `X-Mailin-custom: {"tracking_id": "${id}"}`)
      const secret = testSenders.brevo.secret("a")
      await org.put("brevo", { secret })
      const body = JSON.stringify({
        event: "click",
        email: "ann@example.com",
        "message-id": "<202602031200.1@smtp-relay.example>",
        ts_epoch: Date.now(),
        link: "https://shop.example/",
      })
      assert.strictEqual(
        (await org.post("brevo", body, signedHeaders("brevo", secret, {}, body, Date.now()))).status,
        200,
      )
      await org.taken()
      const event = (await org.events()).find((one) => one.event === "click")!
      assert.deepInclude(event, { status: "attributed", tracking_id: id, source: "brevo" })
    } finally {
      await receiver.close()
    }
  })
})
