import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { read } from "../../support/platformServers/MimeReader.ts"
import { opened } from "./openedSmtp.ts"
import { layerLoopback, message, sendTo } from "./support.ts"

describe("SMTP through an e-mail service", () => {
  const { id } = message()

  it.effect("carries the tracking id in a header that the service reports, without encoding its JSON", () =>
    Effect.gen(function* () {
      const { connection, receiver } = yield* opened({}, { sender: "sendgrid" })
      yield* sendTo(connection, "accepted")
      const line = read(receiver.mails[0]!.raw).headers.get("x-smtpapi")!
      assert.deepStrictEqual(JSON.parse(line), { unique_args: { tracking_id: id } })
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("names the configuration set of Amazon SES", () =>
    Effect.gen(function* () {
      const { connection, receiver } = yield* opened({}, { sender: "ses", configuration_set: "main" })
      yield* sendTo(connection, "accepted")
      const { headers } = read(receiver.mails[0]!.raw)
      assert.strictEqual(headers.get("x-ses-configuration-set"), "main")
      assert.strictEqual(headers.get("x-ses-message-tags"), `tracking_id=${id}`)
      assert.strictEqual(headers.get("x-tracking-id"), id)
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("links the service's id in the reply, and shows it with the delivery", () =>
    Effect.gen(function* () {
      const { connection } = yield* opened({ acceptance: "Ok 0100019a-b2c3-000000" }, { sender: "ses" })
      const { links, messageId } = yield* sendTo(connection, "accepted", message({ email: "Ada@example.com" }))
      assert.strictEqual(messageId, "0100019a-b2c3-000000")
      assert.deepStrictEqual(links, [{ source: "ses", messageKey: '["0100019a-b2c3-000000","ada@example.com"]' }])
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("keeps the Message-ID if the reply has no id, and for other mail servers", () =>
    Effect.gen(function* () {
      for (const [acceptance, sender] of [["Great success", "mailgun"], ["Ok 0100-b2c3-0", "none"]] as const) {
        const { connection, receiver } = yield* opened({ acceptance }, { sender })
        const { links, messageId } = yield* sendTo(connection, "accepted")
        assert.deepStrictEqual([messageId, links], [`${id}@shop.example`, []])
        assert.strictEqual(read(receiver.mails[0]!.raw).headers.has("x-mailgun-variables"), sender === "mailgun")
      }
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("names the service in the test of the connection", () =>
    Effect.gen(function* () {
      const { connection } = yield* opened({}, { sender: "brevo" })
      assert.include((yield* connection.test).detail, "Messages carry their tracking ids for Brevo.")
    }).pipe(Effect.provide(layerLoopback)))
})
