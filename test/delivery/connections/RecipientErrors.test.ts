import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { isAboutAddress } from "../../../src/delivery/RefusalClass.ts"
import type { PlatformName } from "../../../src/delivery/connections/Platforms.ts"
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
]

describe("Refusals of HTTP platforms because of one recipient", () => {
  for (const [title, { name, secrets, settings, start }, fault] of refusals) {
    it.effect(`${title}: ends this message, counts as about its address, and the next one is sent`, () =>
      Effect.gen(function* () {
        const platform = yield* server(() => start({ faults: name === "sfmc" ? [undefined, fault] : [fault] }))
        const connection = yield* connect(name, settings(platform.url), secrets)
        // Marketing Cloud gives a token for the first message.
        if (name === "sfmc") yield* sendTo(connection, "accepted", message({ id: "before" }))
        const { reason } = yield* sendTo(connection, "refused")
        assert.isTrue(isAboutAddress(reason), reason)
        yield* sendTo(connection, "accepted", message({ id: "after", email: "bob@example.com" }))
        assert.strictEqual(platform.arrivals.at(-1)?.id, "after")
      }).pipe(Effect.provide(layerLoopback)))
  }
})
