import { Effect } from "effect"
import { Buffer } from "node:buffer"
import { startInProcess } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"

/** The organization of `serviceForClients`. */
export const org = "acme"

const template = {
  id: "welcome",
  name: "Welcome",
  variants: [{
    id: "only",
    vars: { subject: "Hi {{ name }}", body: "<p>Hi</p>" },
    targeting: [{ attribute: "tier", op: "not_in", values: ["none"] }],
  }],
}

/** A template whose variant cannot be rendered without the field `code`. */
const coded = { id: "coded", name: "Coded", strict: true, variants: [{ id: "code", vars: { subject: "{{ code }}" } }] }

/** A service with two templates, a key for all calls, and a connection that is paused. */
export const serviceForClients = Effect.gen(function* () {
  const service = yield* startInProcess(temporaryEnvironment, {
    SECRET_KEY: "5e".repeat(32),
    OUTBOUND_ALLOW: "127.0.0.1/32",
  })
  const apiKey = yield* Effect.promise(async () => {
    await service.manage("POST", "/organizations", { slug: org, name: "Acme" })
    await service.manage("POST", `/organizations/${org}/templates`, template)
    await service.manage("POST", `/organizations/${org}/templates`, coded)
    await service.manage("PUT", `/organizations/${org}/connections/main`, {
      platform: "webhook",
      settings: { url: "http://127.0.0.1:9/never" },
      secrets: { signing_secret: `whsec_${Buffer.alloc(32, 7).toString("base64")}` },
      paused: true,
    })
    const scopes = ["generate", "events", "deliver"]
    return (await service.manage("POST", `/organizations/${org}/keys`, { name: "client", scopes })).body.key as string
  })
  return { service, apiKey }
})
