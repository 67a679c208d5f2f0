import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type FailureOwner, ownerOf } from "../../../src/delivery/FailureOwner.ts"
import { isAboutAddress } from "../../../src/domain/refusals/BounceEvent.ts"
import { classifyRefusal } from "../../../src/domain/refusals/Refusals.ts"
import type { PlatformName } from "../../../src/delivery/connections/Platforms.ts"
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
import { connect, layerLoopback, message, sendTo, server } from "./support.ts"

interface Platform {
  readonly name: PlatformName
  readonly start: (options?: Options) => Promise<PlatformServer>
  readonly settings: (url: string) => Readonly<Record<string, unknown>>
  readonly secrets: Readonly<Record<string, string>>
}

const braze: Platform = {
  name: "braze",
  start: startBraze,
  settings: (url) => ({ endpoint: url, app_id: "app-1", from: "news@shop.example" }),
  secrets: { api_key: brazeKey },
}
const transactional: Platform = {
  ...braze,
  settings: (url) => ({ endpoint: url, transactional_campaign_id: "cmp" }),
}
const customerIo: Platform = {
  name: "customerio",
  start: startCustomerIo,
  settings: (url) => ({ endpoint: url, from: "news@shop.example" }),
  secrets: { app_api_key: customerIoKey },
}
const iterable: Platform = {
  name: "iterable",
  start: startIterable,
  settings: (url) => ({ endpoint: url, campaign_id: 51 }),
  secrets: { api_key: iterableKey },
}
const sfmc: Platform = {
  name: "sfmc",
  start: startSfmc,
  settings: (url) => ({ auth_endpoint: url, rest_endpoint: url, definition_key: "managed" }),
  secrets: { client_id: sfmcClient.id, client_secret: sfmcClient.secret },
}

const webhook: Platform = {
  name: "webhook",
  start: startWebhook,
  settings: (url) => ({ url: `${url}/in` }),
  secrets: { signing_secret: webhookSecret },
}

const ses: Platform = {
  name: "ses",
  start: startSes,
  settings: (url) => ({ endpoint: url, region: sesRegion, from: "news@shop.example" }),
  secrets: sesKey,
}
const resend: Platform = {
  name: "resend",
  start: startResend,
  settings: (url) => ({ endpoint: url, from: "news@shop.example" }),
  secrets: { api_key: resendKey },
}
const postmark: Platform = {
  name: "postmark",
  start: startPostmark,
  settings: (url) => ({ endpoint: url, from: "news@shop.example" }),
  secrets: { server_token: postmarkToken },
}

/** The owners of failures, the same on all platforms. */
const owners: ReadonlyArray<readonly [FailureOwner, ReadonlyArray<Fault>]> = [
  ["message", [
    { status: 400, body: { message: "invalid email address" } },
    { status: 404, body: { message: "The user was not found" } },
    { status: 413, body: {} },
    { status: 422, body: { message: "invalid email address" } },
  ]],
  ["connection", [
    { status: 302, headers: { location: "https://elsewhere.example/" } },
    { status: 403, body: { message: "no" } },
    { status: 404, body: "<html>The user was not found</html>" },
    { status: 404, body: { message: "no such campaign" } },
    { status: 408 },
    { status: 410 },
    { status: 429, body: { message: "invalid email address" } },
    { status: 500, body: { message: "invalid email address" } },
    { status: 502 },
    { status: 503 },
    { status: 504 },
    { how: "lose" },
    { how: "refuse" },
  ]],
]

/** Refusals of a message because of its recipient. */
const refusals: ReadonlyArray<readonly [string, Platform, Fault]> = [
  ["Braze: no recipients", braze, {
    status: 400,
    body: { message: "Valid recipients are required: unknown recipient" },
  }],
  ["Braze's transactional campaigns: a user that is unknown", transactional, {
    status: 400,
    body: { message: "The user does not exist" },
  }],
  ["Customer.io: an address that is none", customerIo, {
    status: 400,
    body: { meta: { error: "'to' contains an invalid email address" } },
  }],
  ["Iterable: an address that is none", iterable, {
    status: 400,
    body: { code: "InvalidEmailAddressError", msg: "ada@example", params: {} },
  }],
  ["Iterable: a user that is unknown", iterable, { status: 400, body: { code: "UnknownEmailError", msg: "ada" } }],
  ["Iterable: a user that was forgotten", iterable, { status: 400, body: { code: "ForgottenUserError", msg: "ada" } }],
  ["Marketing Cloud: an address that is none", sfmc, {
    status: 400,
    body: { message: "The email address is invalid", errorcode: 10_006 },
  }],
  ["Marketing Cloud: an error in an accepted request", sfmc, {
    status: 202,
    body: {
      requestId: "r-1",
      errorcode: 0,
      responses: [{ messageKey: message().id, errorcode: 5, message: "Invalid email address" }],
    },
  }],
  ["Resend: an address that is none", resend, {
    status: 422,
    body: { statusCode: 422, name: "validation_error", message: "Invalid email address in `to`: ada@example" },
  }],
  ["Postmark: an address that is none", postmark, {
    status: 422,
    body: { ErrorCode: 300, Message: "Error parsing 'To': Illegal email address 'ada@example'." },
  }],
  ["Postmark: an address on its list of inactive recipients", postmark, {
    status: 422,
    body: { ErrorCode: 406, Message: "You tried to send to recipient(s) that have been marked as inactive." },
  }],
  ["Amazon SES: an address that is none", ses, {
    status: 400,
    headers: { "x-amzn-errortype": "BadRequestException" },
    body: { message: "Invalid email address<ada@example>." },
  }],
]

describe("refusals of one recipient by HTTP platforms", () => {
  for (const [title, { name, secrets, settings, start }, fault] of refusals) {
    it.effect(`${title}: fail this message as an address error, and do not affect the next`, () =>
      Effect.gen(function* () {
        const platform = yield* server(() => start({ faults: name === "sfmc" ? [undefined, fault] : [fault] }))
        const connection = yield* connect(name, settings(platform.url), secrets)
        // Marketing Cloud issues a token for the first message.
        if (name === "sfmc") yield* sendTo(connection, "accepted", message({ id: "before" }))
        const { reason } = yield* sendTo(connection, "refused")
        assert.isTrue(isAboutAddress(classifyRefusal({ said: reason }).class), reason)
        yield* sendTo(connection, "accepted", message({ id: "after", email: "bob@example.com" }))
        assert.strictEqual(platform.arrivals.at(-1)?.id, "after")
      }).pipe(Effect.provide(layerLoopback)))
  }
})

describe("owners of the failures of HTTP platforms", () => {
  for (
    const [title, { name, secrets, settings, start }] of [
      ["Braze", braze],
      ["Braze's transactional campaigns", transactional],
      ["Customer.io", customerIo],
      ["Iterable", iterable],
      ["Marketing Cloud", sfmc],
      ["A webhook", webhook],
      ["Amazon SES", ses],
      ["Resend", resend],
      ["Postmark", postmark],
    ] as const
  ) {
    it.effect(`${title}: are determined from the answer`, () =>
      Effect.gen(function* () {
        const platform = yield* server(() => start())
        const connection = yield* connect(name, settings(platform.url), secrets)
        // Marketing Cloud issues a token for the first message.
        yield* sendTo(connection, "accepted", message({ id: "before" }))
        for (const [owner, faults] of owners) {
          for (const fault of faults) {
            platform.faults.push(fault)
            const result = yield* connection.send(message())
            assert.strictEqual(ownerOf(result), owner, `${JSON.stringify(fault)}: ${JSON.stringify(result)}`)
          }
        }
        // Credentials are refused to all messages; Marketing Cloud gets another token once.
        platform.faults.push({ status: 401 }, { status: 401 })
        assert.strictEqual(ownerOf(yield* connection.send(message())), "connection")
      }).pipe(Effect.provide(layerLoopback)))
  }

  it.effect("Iterable: attribute an e-mail that could not be queued to the recipient", () =>
    Effect.gen(function* () {
      const fault = { status: 400, body: { code: "QueueEmailError", msg: "m", params: {} } }
      const platform = yield* server(() => startIterable({ faults: [fault] }))
      const connection = yield* connect("iterable", iterable.settings(platform.url), iterable.secrets)
      assert.strictEqual(ownerOf(yield* connection.send(message())), "recipient")
    }).pipe(Effect.provide(layerLoopback)))
})
