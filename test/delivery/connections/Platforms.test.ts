import { assert, describe, it } from "@effect/vitest"
import type { ConnectionInput } from "../../../src/delivery/Connection.ts"
import { type PlatformName, platforms } from "../../../src/delivery/connections/Platforms.ts"
import { certificate } from "../../support/platformServers/Certificate.ts"
import { webhookSecret } from "../../support/platformServers/PlatformServer.ts"

const valid: Readonly<Record<PlatformName, ReadonlyArray<ConnectionInput>>> = {
  smtp: [
    { settings: { host: "smtp.example.com", from: "news@shop.example" }, secrets: {} },
    {
      settings: {
        host: "smtp.example.com",
        port: 465,
        tls: "tls",
        ca: certificate,
        user: "shop",
        from: "news@shop.example",
        from_name: "Zoë's Shop",
        reply_to: "help@shop.example",
        unsubscribe: { url: "https://shop.example/u?t={tracking_id}&e={email}", mailto: "stop@shop.example" },
        client_name: "mail.shop.example",
        sender: "postmark",
        message_stream: "broadcasts",
        connections: 20,
        variables: { subject: "title", body: "content" },
      },
      secrets: { password: "pässword" },
    },
  ],
  sink: [
    { settings: {}, secrets: {} },
    { settings: { from: "news@shop.example", unsubscribe: { one_click: true } }, secrets: {} },
  ],
  ses: [{
    settings: { region: "us-gov-west-1", from: "news@shop.example", configuration_set: "main" },
    secrets: { access_key_id: "i", secret_access_key: "s" },
  }],
  resend: [{ settings: { from: "news@shop.example", unsubscribe: { one_click: true } }, secrets: { api_key: "k" } }],
  postmark: [{ settings: { from: "news@shop.example", message_stream: "news" }, secrets: { server_token: "t" } }],
  braze: [
    {
      settings: { endpoint: "https://rest.iad-01.braze.com/", app_id: "app-1", from: "news@shop.example" },
      secrets: { api_key: "k" },
    },
    {
      settings: { endpoint: "https://rest.iad-01.braze.com", transactional_campaign_id: "c-1" },
      secrets: { api_key: "k" },
    },
  ],
  iterable: [{ settings: { campaign_id: 51, region: "eu" }, secrets: { api_key: "k" } }],
  customerio: [
    { settings: { from: "news@shop.example", transactional_message_id: 12 }, secrets: { app_api_key: "k" } },
    { settings: { from: "news@shop.example", transactional_message_id: "receipt" }, secrets: { app_api_key: "k" } },
  ],
  sfmc: [{
    settings: { subdomain: "mc1-x", definition_key: "managed" },
    secrets: { client_id: "i", client_secret: "s" },
  }],
  webhook: [{ settings: { url: "https://mail.shop.example/in?x=1" }, secrets: { signing_secret: webhookSecret } }],
}

const faulty: ReadonlyArray<readonly [PlatformName, ConnectionInput, ReadonlyArray<string>]> = [
  ["sfmc", { settings: {}, secrets: {} }, [
    "/settings/definition_key",
    "/secrets/client_id",
    "/secrets/client_secret",
    "/settings/subdomain",
  ]],
  ["ses", { settings: { region: "Ireland", unsubscribe: {} }, secrets: {} }, [
    "/settings/region",
    "/settings/from",
    "/secrets/access_key_id",
    "/secrets/secret_access_key",
    "/settings/unsubscribe",
  ]],
  ["resend", { settings: { endpoint: "x" }, secrets: {} }, [
    "/settings/from",
    "/settings/endpoint",
    "/secrets/api_key",
  ]],
  ["postmark", { settings: { message_stream: "a b" }, secrets: { token: "t" } }, [
    "/settings/from",
    "/settings/message_stream",
    "/secrets/server_token",
    "/secrets/token",
  ]],
  ["braze", { settings: {}, secrets: {} }, [
    "/settings/endpoint",
    "/secrets/api_key",
    "/settings/app_id",
    "/settings/from",
  ]],
  ["smtp", { settings: {}, secrets: {} }, ["/settings/host", "/settings/from"]],
  [
    "smtp",
    {
      settings: {
        host: "smtp.example.com:25",
        from: "Shop <news@shop.example>",
        from_name: "Shop\r\nBcc: eve@example.com",
        reply_to: "a@b.example,c@d.example",
        port: 0,
        tls: "maybe",
        connections: 21,
        unsubscribe: { url: "javascript:alert(1)", page: "x" },
        variables: { subject: "" },
        hots: "x",
      },
      secrets: { password: "", passwort: "x" },
    },
    [
      "/settings/host",
      "/settings/from",
      "/settings/from_name",
      "/settings/reply_to",
      "/settings/port",
      "/settings/tls",
      "/settings/connections",
      "/settings/unsubscribe/url",
      "/settings/unsubscribe/page",
      "/settings/variables/subject",
      "/settings/hots",
      "/secrets/password",
      "/secrets/passwort",
      "/settings/user",
    ],
  ],
  ["smtp", { settings: { host: "h.example", from: "a@b.example", user: "u" }, secrets: {} }, ["/secrets/password"]],
  [
    "smtp",
    {
      settings: {
        host: "smtp.sendgrid.net",
        from: "a@b.example",
        sender: "gmail",
        configuration_set: "main",
        message_stream: "a b",
      },
      secrets: {},
    },
    ["/settings/sender", "/settings/message_stream", "/settings/configuration_set"],
  ],
  ["smtp", { settings: { host: "h.example", from: "a@b.example" }, secrets: { password: "p" } }, ["/settings/user"]],
  [
    "smtp",
    { settings: { host: "h.example", from: "a@b.example", user: "u", tls: "none" }, secrets: { password: "p" } },
    ["/settings/tls"],
  ],
  ["braze", { settings: { endpoint: "https://b.example" }, secrets: { api_key: "k" } }, [
    "/settings/app_id",
    "/settings/from",
  ]],
  [
    "braze",
    {
      settings: { endpoint: "https://b.example", transactional_campaign_id: "c", from: "a@b.example" },
      secrets: { api_key: "k" },
    },
    ["/settings/from"],
  ],
  ["braze", { settings: { endpoint: "https://u:p@b.example" }, secrets: { api_key: "k\r\nx" } }, [
    "/settings/endpoint",
    "/secrets/api_key",
    "/settings/app_id",
    "/settings/from",
  ]],
  ["iterable", { settings: { campaign_id: "51" }, secrets: {} }, ["/settings/campaign_id", "/secrets/api_key"]],
  ["customerio", { settings: { region: "mars" }, secrets: {} }, [
    "/settings/from",
    "/settings/region",
    "/secrets/app_api_key",
  ]],
  ["sfmc", { settings: { definition_key: "d" }, secrets: { client_id: "i", client_secret: "s" } }, [
    "/settings/subdomain",
  ]],
  [
    "sfmc",
    {
      settings: { definition_key: "d", auth_endpoint: "https://a.example" },
      secrets: { client_id: "i", client_secret: "s" },
    },
    ["/settings/rest_endpoint"],
  ],
  ["webhook", { settings: { url: "file:///etc/passwd" }, secrets: { signing_secret: "whsec_short" } }, [
    "/settings/url",
    "/secrets/signing_secret",
  ]],
]

describe("platforms", () => {
  for (const [name, inputs] of Object.entries(valid) as ReadonlyArray<[PlatformName, ReadonlyArray<ConnectionInput>]>) {
    it(`accepts valid settings of ${name}`, () => {
      for (const input of inputs) assert.deepStrictEqual(platforms[name].faults(input), [])
    })
  }

  for (const [name, input, pointers] of faulty) {
    it(`reports every fault of ${name}: ${pointers.join(" ")}`, () => {
      const faults = platforms[name].faults(input)
      assert.deepStrictEqual(faults.map(({ pointer }) => pointer).sort(), [...pointers].sort(), JSON.stringify(faults))
    })
  }

  it("never includes a secret in a fault", () => {
    const secret = "hunter2 with a space at its end "
    const names = ["password", "api_key", "app_api_key", "client_id", "client_secret", "signing_secret"]
    for (const { faults } of Object.values(platforms)) {
      const found = faults({ settings: {}, secrets: Object.fromEntries(names.map((name) => [name, secret])) })
      assert.isNotEmpty(found)
      assert.notInclude(JSON.stringify(found), "hunter2")
    }
  })
})
