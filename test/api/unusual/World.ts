import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Buffer } from "node:buffer"
import { hmacKey } from "../../../src/text/Hmac.ts"
import type { OrgSlug } from "../../../src/domain/Ids.ts"
import { signingKey } from "../../../src/store/SigningKey.ts"
import { Targets } from "../../../src/tracking/Targets.ts"
import { type TokenKind, writeToken } from "../../../src/tracking/Token.ts"
import { signingSecret } from "../../delivery/receiver.ts"
import { managed, password, signedIn } from "../../console/furnished.ts"
import { adminToken } from "../../support/service.ts"
import { startWith } from "../../support/servicesOf.ts"
import type { Names } from "./Requests.ts"

/** Id of the message that the tracked links belong to. */
const messageId = "6f9c1f0e-7f0c-4b53-9a52-3a0a3b7c1d11"
const org = "acme" as OrgSlug

/** Tokens of a message: the addresses `/o/`, `/c/` and `/u/`. */
const tokens = Effect.gen(function* () {
  const key = hmacKey(Buffer.from(yield* signingKey(yield* SqlClient.SqlClient, "tracking"), "hex"))
  const targets = yield* Targets
  yield* targets.remember([{ org, id: messageId, own: ["https://shop.example/sale"], shared: new Map() }])
  const token = (kind: TokenKind, link?: number) => writeToken(key, kind, { org, id: messageId, link })
  return { openToken: token("open"), clickToken: token("click", 0), leaveToken: token("unsubscribe") }
})

/** A running service with two organizations, and the values that requests name with `$`. */
export const startWorld = Effect.gen(function* () {
  const { run, service } = yield* startWith({ OUTBOUND_ALLOW: "127.0.0.1/32" })
  return yield* Effect.promise(async () => {
    const manage = managed(service)
    await manage("POST", "/organizations", { slug: "acme", name: "Acme" })
    await manage("POST", "/organizations", { slug: "other", name: "Other" })
    const key = async (slug: string, scopes: ReadonlyArray<string>, more: object = {}) =>
      await manage("POST", `/organizations/${slug}/keys`, { name: scopes.join(" "), scopes, ...more })
    const all = ["generate", "deliver", "events"]
    const revoked = await key("acme", all)
    const keys = {
      key: (await key("acme", all)).key,
      generatekey: (await key("acme", ["generate"])).key,
      readkey: (await key("acme", ["templates:read"])).key,
      eventskey: (await key("acme", ["events"])).key,
      otherkey: (await key("other", all)).key,
      testkey: (await key("acme", all, { kind: "test" })).key,
      revokedkey: revoked.key,
    }
    await manage("DELETE", `/organizations/acme/keys/${revoked.id}`)
    await manage("POST", "/organizations/acme/templates", {
      id: "t",
      name: "T",
      variants: [{ id: "a", vars: { subject: "Hi {{ name }} \u00fc", body: "B" } }],
    })
    await manage("POST", "/organizations/acme/templates", {
      id: "sticky",
      name: "Sticky",
      sticky_hours: 24,
      variants: [{ id: "s", vars: { subject: "S" } }],
    })
    await manage("PUT", "/organizations/acme/connections/main", {
      platform: "webhook",
      settings: { url: "http://127.0.0.1:9/sink" },
      secrets: { signing_secret: signingSecret },
    })
    await manage("PUT", "/organizations/acme/webhooks/provider_a", { secret: "braze-token-0123456789" })
    await manage("PUT", "/organizations/acme/webhooks/provider_c", { secret: "customerio-secret-0123456789" })
    const email = "viewer@example.com"
    await signedIn(service, email, ["acme", "viewer"])
    const answer = await service.request("/console/sign-in", {
      method: "POST",
      redirect: "manual",
      body: new URLSearchParams({ email, password }),
    })
    const session = answer.headers.get("set-cookie")!.split(";")[0]!
    const names: Names = { ...keys, ...await run(tokens), admin: adminToken, session }
    return { service, names }
  })
})
