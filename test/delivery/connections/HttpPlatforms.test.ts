import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Result } from "effect"
import { TestClock } from "effect/testing"
import { Liquid } from "liquidjs"
import type { NormalizedEvent } from "../../../src/domain/Event.ts"
import type { SendResult } from "../../../src/delivery/Connection.ts"
import { literal } from "../../../src/delivery/connections/Liquid.ts"
import type { PlatformName } from "../../../src/delivery/connections/Platforms.ts"
import * as BrazeEvents from "../../../src/intake/platforms/Braze.ts"
import * as CustomerIoEvents from "../../../src/intake/platforms/CustomerIo.ts"
import * as IterableEvents from "../../../src/intake/platforms/Iterable.ts"
import * as SfmcEvents from "../../../src/intake/platforms/Sfmc.ts"
import * as StandardWebhooks from "../../../src/intake/signatures/StandardWebhooks.ts"
import type { Normalize } from "../../../src/intake/Normalize.ts"
import {
  postmarkToken,
  resendKey,
  sesKey,
  sesRegion,
  startPostmark,
  startResend,
  startSes,
} from "../../support/platformServers/EmailServers.ts"
import {
  brazeKey,
  customerIoKey,
  type Fault,
  iterableKey,
  type Options,
  type PlatformServer,
  sfmcClient,
  startBraze,
  startCustomerIo,
  startIterable,
  startSfmc,
  startWebhook,
  webhookSecret,
} from "../../support/platformServers/PlatformServer.ts"
import { connect, connectApart, layerLoopback, message, sendTo, server } from "./support.ts"

interface Case {
  readonly name: PlatformName
  readonly start: (options?: Options) => Promise<PlatformServer>
  readonly settings: (url: string) => Readonly<Record<string, unknown>>
  readonly secrets: Readonly<Record<string, string>>
  /** The settings with a wrong secret. */
  readonly wrong: Readonly<Record<string, string>>
}

const braze: Case = {
  name: "braze",
  start: startBraze,
  settings: (url) => ({ endpoint: url, app_id: "app-1", from: "news@shop.example", from_name: "Shop, Ltd." }),
  secrets: { api_key: brazeKey },
  wrong: { api_key: "wrong-key-1" },
}
const transactional: Case = {
  ...braze,
  settings: (url) => ({ endpoint: url, transactional_campaign_id: "cmp/1" }),
}
const iterable: Case = {
  name: "iterable",
  start: startIterable,
  settings: (url) => ({ endpoint: url, campaign_id: 51 }),
  secrets: { api_key: iterableKey },
  wrong: { api_key: "wrong-key-2" },
}
const customerIo: Case = {
  name: "customerio",
  start: startCustomerIo,
  settings: (url) => ({ endpoint: url, from: "news@shop.example", transactional_message_id: 12 }),
  secrets: { app_api_key: customerIoKey },
  wrong: { app_api_key: "wrong-key-3" },
}
const sfmc: Case = {
  name: "sfmc",
  start: startSfmc,
  settings: (url) => ({ auth_endpoint: url, rest_endpoint: `${url}/`, definition_key: "managed" }),
  secrets: { client_id: sfmcClient.id, client_secret: sfmcClient.secret },
  wrong: { client_id: sfmcClient.id, client_secret: "wrong-key-4" },
}
const webhook: Case = {
  name: "webhook",
  start: startWebhook,
  settings: (url) => ({ url: `${url}/in`, deduplicates: true }),
  secrets: { signing_secret: webhookSecret },
  wrong: { signing_secret: `whsec_${"d3Jvbmc".repeat(8)}` },
}

const ses: Case = {
  name: "ses",
  start: startSes,
  settings: (url) => ({ endpoint: url, region: sesRegion, from: "news@shop.example" }),
  secrets: sesKey,
  wrong: { ...sesKey, secret_access_key: "wrong-key-5" },
}
const resend: Case = {
  name: "resend",
  start: startResend,
  settings: (url) => ({ endpoint: url, from: "news@shop.example", from_name: "Shop, Ltd." }),
  secrets: { api_key: resendKey },
  wrong: { api_key: "wrong-key-6" },
}
const postmark: Case = {
  name: "postmark",
  start: startPostmark,
  settings: (url) => ({ endpoint: url, from: "news@shop.example", message_stream: "news" }),
  secrets: { server_token: postmarkToken },
  wrong: { server_token: "wrong-key-7" },
}

const all: ReadonlyArray<readonly [string, Case]> = [
  ["Braze", braze],
  ["Braze's transactional campaigns", transactional],
  ["Iterable", iterable],
  ["Customer.io", customerIo],
  ["Marketing Cloud", sfmc],
  ["A webhook", webhook],
  ["Amazon SES", ses],
  ["Resend", resend],
  ["Postmark", postmark],
]

const opened = Effect.fnUntraced(
  function* ({ name, secrets, settings, start }: Case, ...faults: Array<Fault | undefined>) {
    const platform = yield* server(() => start({ faults }))
    return { platform, connection: yield* connect(name, settings(platform.url), secrets) }
  },
)

const tagged = (result: SendResult) =>
  result._tag === "retry" ? `${result._tag}${result.uncertain ? " uncertain" : ""}` : result._tag

/** The only event that an adapter reads in a body. */
const eventOf = (normalize: Normalize, body: unknown): NormalizedEvent => {
  const result = normalize(new TextEncoder().encode(JSON.stringify(body)), {}, 1_778_486_400_000)
  if (!("events" in result)) return assert.fail(result.reason)
  assert.strictEqual(result.events.length, 1)
  return result.events[0]!
}

const common: ReadonlyArray<readonly [Fault, string]> = [
  [{ status: 400, body: { message: "bad" } }, "refused"],
  [{ status: 403, body: { message: "no" } }, "broken"],
  [{ status: 405, body: { message: "no" } }, "broken"],
  [{ status: 413, body: { message: "long" } }, "refused"],
  [{ status: 302, headers: { location: "http://169.254.169.254/" } }, "broken"],
  [{ status: 308, headers: { location: "https://elsewhere.example/" } }, "broken"],
  [{ status: 408 }, "retry"],
  [{ status: 425 }, "retry"],
  [{ status: 429 }, "slow-down"],
  [{ status: 500, body: "<html>oops</html>" }, "retry"],
  [{ status: 503 }, "retry"],
  [{ status: 503, headers: { "retry-after": "5" } }, "slow-down"],
  [{ status: 502 }, "retry uncertain"],
  [{ status: 504 }, "retry uncertain"],
  [{ how: "lose" }, "retry uncertain"],
  [{ how: "refuse" }, "retry uncertain"],
]

for (const [title, one] of all) {
  describe(title, () => {
    it.effect("accepts successive messages with the delivery id", () =>
      Effect.gen(function* () {
        const { connection, platform } = yield* opened(one)
        yield* sendTo(connection, "accepted", message({ id: "id-1" }))
        yield* sendTo(connection, "accepted", message({ id: "id-2" }))
        assert.deepStrictEqual(platform.arrivals.map(({ id }) => id), ["id-1", "id-2"])
        assert.isAtLeast(connection.concurrency, 1)
      }).pipe(Effect.provide(layerLoopback)))

    it.effect("maps each answer to a result, and sends the next message", () =>
      Effect.gen(function* () {
        const { connection, platform } = yield* opened(one)
        for (const [fault, outcome] of common) {
          platform.faults.push(fault)
          const result = yield* connection.send(message())
          assert.strictEqual(tagged(result), outcome, JSON.stringify([fault, result]))
          assert.isTrue("reason" in result && result.reason.length < 500)
        }
        yield* sendTo(connection, "accepted", message({ id: "after" }))
        assert.strictEqual(platform.arrivals.at(-1)?.id, "after")
      }).pipe(Effect.provide(layerLoopback)))

    it.effect("reports the requested wait of a rate limit, at most one hour", () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(1_778_486_400_000)
        const { connection, platform } = yield* opened(one)
        const waits: Array<number | undefined> = []
        for (
          const headers of [
            { "retry-after": "17" },
            { "retry-after": "Mon, 11 May 2026 08:01:00 GMT" },
            { "retry-after": "999999" },
            { "x-ratelimit-reset": String(1_778_486_400 + 90) },
            {},
          ] as ReadonlyArray<Record<string, string>>
        ) {
          platform.faults.push({ status: 429, headers })
          const { wait } = yield* sendTo(connection, "slow-down")
          waits.push(wait && Duration.toSeconds(wait))
        }
        assert.deepStrictEqual(waits, [17, 60, 3_600, 90, undefined])
      }).pipe(Effect.provide(layerLoopback)))

    it.effect("reports the requested wait of an error for one message, at most one day", () =>
      Effect.gen(function* () {
        const { connection, platform } = yield* opened(one)
        const waits: Array<number | undefined> = []
        for (const after of ["17", "7200", "999999", undefined]) {
          platform.faults.push({ status: 500, ...(after === undefined ? {} : { headers: { "retry-after": after } }) })
          const { deferred, wait } = yield* sendTo(connection, "retry")
          assert.isFalse(deferred)
          waits.push(wait && Duration.toSeconds(wait))
        }
        assert.deepStrictEqual(waits, [17, 7_200, 86_400, undefined])
      }).pipe(Effect.provide(layerLoopback)))

    it.effect("stops at wrong credentials without revealing them", () =>
      Effect.gen(function* () {
        const platform = yield* server(() => one.start())
        const connection = yield* connect(one.name, one.settings(platform.url), one.wrong)
        yield* sendTo(connection, "broken")
        assert.isFalse((yield* connection.test).ok)
        const right = yield* connect(one.name, one.settings(platform.url), one.secrets)
        const test = yield* right.test
        // Responses of a transactional campaign do not distinguish a missing recipient from a missing campaign. The
        // test of the connection still calls the campaign.
        assert.isTrue(test.ok, test.detail)
        assert.strictEqual(platform.arrivals.length, 0)
        const secret = Object.values(one.secrets).at(-1)!
        platform.faults.push({ status: 400, body: { echo: `Bearer ${secret}`, more: encodeURIComponent(secret) } })
        const { reason } = yield* sendTo(right, "refused")
        assert.notInclude(reason, secret)
        assert.notInclude(reason, encodeURIComponent(secret))
        assert.include(reason, "400")
      }).pipe(Effect.provide(layerLoopback)))

    it.effect("reports an unknown result after 30 seconds without an answer", () =>
      Effect.gen(function* () {
        const { connection, platform } = yield* opened(one, { how: "drip" })
        const fiber = yield* Effect.forkChild(connection.send(message()))
        yield* Effect.promise(() => platform.until(() => platform.arrivals.length === 1))
        yield* TestClock.adjust("30 seconds")
        assert.strictEqual(tagged(yield* Fiber.join(fiber)), "retry uncertain")
      }).pipe(Effect.provide(layerLoopback)))

    it.effect("stops an interrupted request, and closes its connections when its scope closes", () =>
      Effect.gen(function* () {
        const platform = yield* server(() => one.start({ faults: [undefined, { how: "hang" }] }))
        const { close, connection } = yield* connectApart(one.name, one.settings(platform.url), one.secrets)
        yield* sendTo(connection, "accepted", message({ id: "id-1" }))
        const before = platform.requests.length
        const fiber = yield* Effect.forkChild(connection.send(message()))
        yield* Effect.promise(() => platform.until(() => platform.requests.length > before))
        yield* Fiber.interrupt(fiber)
        yield* sendTo(connection, "accepted", message({ id: "id-2" }))
        yield* close
        yield* Effect.promise(() => platform.until(() => platform.connections() === 0))
      }).pipe(Effect.provide(layerLoopback)))

    if (one !== webhook) {
      it.effect("reports an unknown result for a success in another format", () =>
        Effect.gen(function* () {
          const { connection } = yield* opened(one, { how: "malformed" }, { how: "malformed", body: "{}" })
          assert.isTrue((yield* sendTo(connection, "retry")).uncertain)
          assert.isTrue((yield* sendTo(connection, "retry")).uncertain)
        }).pipe(Effect.provide(layerLoopback)))
    }
  })
}

for (const [title, one] of [all[1]!, all[4]!, all[5]!, all[7]!]) {
  it.effect(`${title}: a message repeated after a lost answer arrives once`, () =>
    Effect.gen(function* () {
      const { connection, platform } = yield* opened(one, { how: "lose" })
      assert.isTrue(connection.idempotent)
      yield* sendTo(connection, "retry")
      yield* sendTo(connection, "accepted")
      assert.strictEqual(new Set(platform.arrivals.map(({ id }) => id)).size, platform.arrivals.length)
    }).pipe(Effect.provide(layerLoopback)))
}

describe("links and tracking ids in the events of platforms", () => {
  it.effect("come from Braze's dispatch id and external_send_id for transactional campaigns", () =>
    Effect.gen(function* () {
      const { connection } = yield* opened(transactional)
      const { links, messageId } = yield* sendTo(connection, "accepted")
      const event = eventOf(BrazeEvents.normalize, {
        dispatch_id: messageId,
        status: "delivered",
        metadata: { external_send_id: message().id, delivered_at: "2026-05-11T09:00:00Z" },
      })
      assert.deepStrictEqual(links, [{ source: "provider_a", messageKey: event.messageKey! }])
      assert.strictEqual(event.trackingId, message().id)
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("come from Braze's message extras in the body, which render to nothing", () =>
    Effect.gen(function* () {
      const { connection, platform } = yield* opened(braze)
      const vars = { subject: "{{ 7 | times: 6 }}", body: "<p>{% if true %}{{name}}</p>" }
      yield* sendTo(connection, "accepted", message({ vars }))
      const { messages, recipient_subscription_state, user_aliases } = platform.requests[0]!.json
      assert.deepStrictEqual(user_aliases, [{ alias_name: "ada@example.com", alias_label: "email" }])
      assert.deepStrictEqual([recipient_subscription_state, messages.email.from], [
        "subscribed",
        '"Shop, Ltd." <news@shop.example>',
      ])
      const tag = `{% message_extras :key tracking_id :value ${message().id} %}`
      assert.isTrue(messages.email.body.endsWith(tag))
      const liquid = new Liquid()
      assert.strictEqual(liquid.parseAndRenderSync(messages.email.body.slice(0, -tag.length)), vars.body)
      assert.strictEqual(liquid.parseAndRenderSync(messages.email.subject), vars.subject)
      const event = eventOf(BrazeEvents.normalize, {
        events: [{
          event_type: "users.messages.email.Click",
          id: "e",
          time: 1_778_486_000,
          user: { user_id: "u" },
          properties: { dispatch_id: "d-1", message_extras: JSON.stringify({ tracking_id: message().id }) },
        }],
      })
      assert.strictEqual(event.trackingId, message().id)
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("come from the data fields of an Iterable campaign", () =>
    Effect.gen(function* () {
      const { connection, platform } = yield* opened(iterable)
      yield* sendTo(connection, "accepted")
      const { campaignId, dataFields, recipientEmail } = platform.requests[0]!.json
      assert.deepStrictEqual([campaignId, recipientEmail], [51, "ada@example.com"])
      assert.deepStrictEqual(dataFields, { ...message().vars, tracking_id: message().id })
      const event = eventOf(IterableEvents.normalize, {
        email: recipientEmail,
        eventName: "emailOpen",
        dataFields: {
          messageId: "m",
          campaignId,
          transactionalData: dataFields,
          createdAt: "2026-05-11 08:00:00 +00:00",
        },
      })
      assert.strictEqual(event.trackingId, message().id)
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("come from Customer.io's delivery id and the X-Tracking-Id header", () =>
    Effect.gen(function* () {
      const { connection, platform } = yield* opened(customerIo)
      const { links, messageId } = yield* sendTo(connection, "accepted")
      const event = eventOf(CustomerIoEvents.normalize, {
        event_id: "01E",
        object_type: "email",
        metric: "sent",
        timestamp: 1_778_486_000,
        data: { delivery_id: messageId, headers: platform.requests[0]!.json.headers, recipient: "ada@example.com" },
      })
      assert.deepStrictEqual(links, [{ source: "provider_c", messageKey: event.messageKey! }])
      assert.strictEqual(event.trackingId, message().id)
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("come from the message key of Marketing Cloud", () =>
    Effect.gen(function* () {
      const { connection, platform } = yield* opened(sfmc)
      const { links } = yield* sendTo(connection, "accepted")
      const sent = platform.requests.at(-1)!
      assert.deepStrictEqual(links, [])
      const event = eventOf(SfmcEvents.normalize, [{
        eventCategoryType: "TransactionalSendEvents.EmailSent",
        timestampUTC: 1_778_486_000_000,
        composite: { jobId: "1", batchId: "2", listId: "3", subscriberId: "4", emailId: "5" },
        mid: 7,
        info: { to: sent.json.recipient.to, messageKey: sent.path.split("/").at(-1) },
      }])
      assert.strictEqual(event.trackingId, message().id)
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("include the unsubscribe link in webhook messages that have one", () =>
    Effect.gen(function* () {
      const { connection, platform } = yield* opened(webhook)
      const url = "https://t.example/u/token"
      yield* sendTo(connection, "accepted", message({ unsubscribe: { url, isListed: false } }))
      yield* sendTo(connection, "accepted", message({ id: "id-2" }))
      assert.deepStrictEqual(platform.requests.map(({ json }) => json.data.unsubscribe_url), [url, undefined])
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("arrive in webhooks whose signature passes the check of Standard Webhooks", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_778_486_400_000)
      const { connection, platform } = yield* opened(webhook)
      const { messageId } = yield* sendTo(connection, "accepted")
      const { headers, json, text } = platform.requests[0]!
      const checked = StandardWebhooks.check(
        { secrets: [webhookSecret] },
        headers as Record<string, string>,
        new TextEncoder().encode(text),
        1_778_486_400_000,
      )
      assert.isTrue(checked.ok)
      assert.deepStrictEqual([headers["webhook-id"], headers["idempotency-key"]], [message().id, message().id])
      assert.deepStrictEqual([messageId, json.data.email], [`wm-${message().id}`, "ada@example.com"])
    }).pipe(Effect.provide(layerLoopback)))
})

describe("answers of single platforms", () => {
  for (
    const [code, status, outcome] of [
      ["RateLimitExceeded", 429, "slow-down"],
      ["QueueEmailError", 400, "retry"],
      ["GenericError", 400, "retry"],
      ["DatabaseError", 500, "retry"],
      ["BadApiKey", 401, "broken"],
      ["InvalidEmailAddressError", 400, "refused"],
      ["ForgottenUserError", 400, "refused"],
      ["UnknownEmailError", 404, "refused"],
    ] as const
  ) {
    it.effect(`Iterable's ${code} is reported as ${outcome}`, () =>
      Effect.gen(function* () {
        const { connection } = yield* opened(iterable, { status, body: { code, msg: "m", params: {} } })
        yield* sendTo(connection, outcome)
      }).pipe(Effect.provide(layerLoopback)))
  }

  it.effect("Marketing Cloud reuses one token for many messages and replaces it after expiry", () =>
    Effect.gen(function* () {
      const platform = yield* server(() => startSfmc())
      const connection = yield* connect("sfmc", sfmc.settings(platform.url), sfmc.secrets)
      const tokens = () => platform.requests.filter(({ path }) => path === "/v2/token").length
      const ids = Array.from({ length: 10 }, (_, i) => `id-${i}`)
      yield* Effect.forEach(ids, (id) => sendTo(connection, "accepted", message({ id })), { concurrency: 10 })
      assert.strictEqual(tokens(), 1)
      platform.expire()
      yield* Effect.forEach(ids, (id) => sendTo(connection, "accepted", message({ id: `${id}-b` })), {
        concurrency: 10,
      })
      assert.strictEqual(tokens(), 2)
      yield* TestClock.adjust("18 minutes")
      yield* sendTo(connection, "accepted", message({ id: "later" }))
      assert.deepStrictEqual([tokens(), platform.arrivals.length], [3, 21])
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("a webhook that answers 410 stops the connection", () =>
    Effect.gen(function* () {
      const { connection } = yield* opened(webhook, { status: 410 })
      yield* sendTo(connection, "broken")
    }).pipe(Effect.provide(layerLoopback)))

  it("renders text that looks like a template verbatim", () => {
    const liquid = new Liquid()
    for (
      const text of [
        "{{ a }}",
        "{% raw %}",
        "{{{x}}}",
        "{%- if",
        "a { b } {",
        "{{% x %}}",
        '{{"{{"}}',
        "{% endraw %}{{ x }}",
      ]
    ) {
      const result = Result.try(() => liquid.parseAndRenderSync(literal(text)))
      assert.deepStrictEqual(result, Result.succeed(text))
    }
  })
})
