import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { Buffer } from "node:buffer"
import type { PlatformName } from "../../../src/delivery/connections/Platforms.ts"
import { signed } from "../../../src/delivery/AwsSignature.ts"
import {
  isSigned,
  postmarkToken,
  resendKey,
  sesKey,
  sesRegion,
  startPostmark,
  startResend,
  startSes,
} from "../../support/platformServers/EmailServers.ts"
import { read } from "../../support/platformServers/MimeReader.ts"
import type { Fault } from "../../support/platformServers/PlatformServer.ts"
import { connect, layerLoopback, message, sendTo, server } from "./support.ts"

const servers = { ses: startSes, resend: startResend, postmark: startPostmark }

const secrets = { ses: sesKey, resend: { api_key: resendKey }, postmark: { server_token: postmarkToken } }

/** Starts a server of a service with these faults, and a connection to it. */
const opened = Effect.fnUntraced(
  function* (name: PlatformName & keyof typeof servers, faults: Array<Fault | undefined>, more: object = {}) {
    const platform = yield* server(() => servers[name]({ faults }))
    const region = name === "ses" ? { region: sesRegion } : {}
    const settings = { endpoint: platform.url, from: "news@shop.example", from_name: "Shop, Ltd.", ...region, ...more }
    return { platform, connection: yield* connect(name, settings, secrets[name]) }
  },
)

const listed = { unsubscribe: { url: "https://t.example/u/token", isListed: true } }

describe("connections by API", () => {
  it.effect("Amazon SES gets the composed e-mail with tag and configuration set", () =>
    Effect.gen(function* () {
      const { connection, platform } = yield* opened("ses", [], { configuration_set: "main" })
      const { links, messageId } = yield* sendTo(connection, "accepted", message(listed))
      const { ConfigurationSetName, Content, Destination, EmailTags } = platform.requests[0]!.json
      assert.deepStrictEqual([ConfigurationSetName, Destination.ToAddresses], ["main", ["ada@example.com"]])
      assert.deepStrictEqual(EmailTags, [{ Name: "tracking_id", Value: message().id }])
      const { headers, parts } = read(Buffer.from(Content.Raw.Data, "base64").toString("latin1"))
      assert.deepStrictEqual([headers.get("subject"), headers.get("x-tracking-id")], ["Hello Ada", message().id])
      assert.include(headers.get("list-unsubscribe"), "<https://t.example/u/token>")
      assert.include(parts[1]!.text, "<p>Hello <b>Ada</b></p>")
      assert.deepStrictEqual(links, [{ source: "ses", messageKey: `["${messageId}","ada@example.com"]` }])
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("Resend gets parts, headers, tag and idempotency key", () =>
    Effect.gen(function* () {
      const { connection, platform } = yield* opened("resend", [], { reply_to: "help@shop.example" })
      const { links, messageId } = yield* sendTo(connection, "accepted", message(listed))
      const { headers, json } = platform.requests[0]!
      assert.strictEqual(headers["idempotency-key"], message().id)
      assert.deepStrictEqual(
        [json.from, json.to, json.reply_to, json.subject, json.tags],
        ['"Shop, Ltd." <news@shop.example>', ["ada@example.com"], "help@shop.example", "Hello Ada", [
          { name: "tracking_id", value: message().id },
        ]],
      )
      assert.match(json.html, /Only today<\/div><p>Hello <b>Ada<\/b><\/p>$/)
      assert.include(json.text, "Hello Ada")
      assert.strictEqual(json.headers["List-Unsubscribe"], "<https://t.example/u/token>")
      assert.strictEqual(json.headers["List-Unsubscribe-Post"], "List-Unsubscribe=One-Click")
      assert.strictEqual(json.headers["X-Tracking-ID"], message().id)
      assert.notProperty(json.headers, "From")
      assert.deepStrictEqual(links, [{ source: "resend", messageKey: `["${messageId}","ada@example.com"]` }])
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("Postmark gets parts, headers, metadata and stream", () =>
    Effect.gen(function* () {
      const { connection, platform } = yield* opened("postmark", [], { message_stream: "news" })
      const { links, messageId } = yield* sendTo(connection, "accepted", message(listed))
      const { Headers, HtmlBody, MessageStream, Metadata, Subject, TextBody, To } = platform.requests[0]!.json
      assert.deepStrictEqual([To, Subject, MessageStream], ["ada@example.com", "Hello Ada", "news"])
      assert.deepStrictEqual(Metadata, { tracking_id: message().id })
      assert.include(HtmlBody, "<p>Hello <b>Ada</b></p>")
      assert.include(TextBody, "Hello Ada")
      assert.deepInclude(Headers, { Name: "List-Unsubscribe", Value: "<https://t.example/u/token>" })
      assert.deepStrictEqual(links, [{ source: "postmark", messageKey: `["${messageId}","ada@example.com"]` }])
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("sends nothing for a message without a subject", () =>
    Effect.gen(function* () {
      for (const name of ["ses", "resend", "postmark"] as const) {
        const { connection, platform } = yield* opened(name, [])
        yield* sendTo(connection, "unfit", message({ vars: { body: "Hi" } }))
        assert.strictEqual(platform.requests.length, 0)
      }
    }).pipe(Effect.provide(layerLoopback)))

  const ses = (type: string, text: string, status = 400): Fault => ({
    status,
    headers: { "x-amzn-errortype": `${type}:http://internal.amazon.com/` },
    body: { message: text },
  })
  const resend = (status: number, name: string): Fault => ({ status, body: { statusCode: status, name, message: "m" } })
  const postmark = (code: number, text = "m"): Fault => ({ status: 422, body: { ErrorCode: code, Message: text } })
  const answers: ReadonlyArray<readonly [keyof typeof servers, string, Fault, string]> = [
    ["ses", "its rate is exceeded", ses("TooManyRequestsException", "Maximum sending rate exceeded", 429), "slow-down"],
    ["ses", "its daily quota is exceeded", ses("ThrottlingException", "Daily message quota exceeded"), "slow-down 600"],
    ["ses", "its account is suspended", ses("AccountSuspendedException", "m"), "broken"],
    ["ses", "its sending is paused", ses("SendingPausedException", "m"), "broken"],
    [
      "ses",
      "the sender is not verified",
      ses("MessageRejected", "Email address is not verified: News@shop.example"),
      "broken",
    ],
    [
      "ses",
      "the recipient is not verified",
      ses("MessageRejected", "Email address is not verified: ada@example.com"),
      "refused",
    ],
    ["ses", "the content is rejected", { status: 400, body: { __type: "a#MessageRejected", message: "m" } }, "refused"],
    ["ses", "the configuration set does not exist", ses("NotFoundException", "no such set", 404), "broken"],
    ["resend", "its rate is exceeded", resend(429, "rate_limit_exceeded"), "slow-down"],
    ["resend", "its daily quota is exceeded", resend(429, "daily_quota_exceeded"), "slow-down 3600"],
    ["resend", "the first attempt has not ended", resend(409, "concurrent_idempotent_requests"), "retry uncertain"],
    ["resend", "the key was used for another message", resend(409, "invalid_idempotent_request"), "refused"],
    ["resend", "the sender is invalid", resend(422, "invalid_from_address"), "broken"],
    ["resend", "the API key is invalid", {
      status: 400,
      body: { name: "validation_error", message: "API key is invalid" },
    }, "broken"],
    ["postmark", "the sender is unknown", postmark(400), "broken"],
    ["postmark", "the sender is invalid", postmark(300, "Invalid 'From' address"), "broken"],
    ["postmark", "the recipient is invalid", postmark(300, "Invalid 'To' address"), "refused"],
    ["postmark", "credits are used up", postmark(405), "broken"],
    ["postmark", "the stream does not exist", postmark(1235), "broken"],
    ["postmark", "it is under maintenance", { status: 503, body: { ErrorCode: 100 } }, "retry"],
    ["postmark", "a success has an error code", { status: 200, body: { ErrorCode: 999 } }, "retry uncertain"],
  ]
  for (const [name, title, fault, expected] of answers) {
    it.effect(`${name} reports ${expected} if ${title}`, () =>
      Effect.gen(function* () {
        const { connection } = yield* opened(name, [fault])
        const result = yield* connection.send(message())
        const said = result._tag === "slow-down" && result.wait !== undefined
          ? `slow-down ${Duration.toSeconds(result.wait)}`
          : result._tag === "retry" && result.uncertain
          ? "retry uncertain"
          : result._tag
        assert.strictEqual(said, expected, JSON.stringify(result))
      }).pipe(Effect.provide(layerLoopback)))
  }

  it.effect("the test of Amazon SES names the sandbox, and fails if sending is off", () =>
    Effect.gen(function* () {
      const details: Array<string> = []
      for (const body of [{ SendingEnabled: true, ProductionAccessEnabled: false }, { SendingEnabled: false }]) {
        const platform = yield* server(() => startSes({ account: body }))
        const settings = { endpoint: platform.url, region: sesRegion, from: "news@shop.example" }
        const { detail, ok } = yield* (yield* connect("ses", settings, sesKey)).test
        details.push(`${ok} ${detail}`)
      }
      assert.include(details[0], "true Amazon SES took the access key")
      assert.include(details[0], "sandbox")
      assert.match(details[1]!, /^false Amazon SES answered 200: .*SendingEnabled/)
    }).pipe(Effect.provide(layerLoopback)))
})

describe("signed", () => {
  it.effect("signs body, host, region and time by AWS Signature Version 4", () =>
    Effect.gen(function* () {
      const request = {
        method: "POST",
        url: new URL("https://email.eu-west-1.amazonaws.com/v2/email/outbound-emails"),
        headers: { "content-type": "application/json" },
        body: '{"a":"ö"}',
      } as const
      const { headers } = yield* signed("ses", sesRegion, sesKey, request, 1_778_486_400_000)
      assert.strictEqual(headers["x-amz-date"], "20260511T080000Z")
      const arrived = {
        method: "POST",
        path: request.url.pathname,
        headers: { ...headers, host: request.url.host },
        text: request.body,
      }
      assert.isTrue(isSigned(arrived))
      assert.isFalse(isSigned({ ...arrived, text: "{}" }))
      assert.isFalse(isSigned({ ...arrived, path: "/v2/email/identities" }))
      assert.isFalse(isSigned({ ...arrived, headers: { ...arrived.headers, host: "elsewhere.example" } }))
    }))
})
