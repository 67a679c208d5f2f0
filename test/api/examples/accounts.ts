import { Secret, TOTP } from "otpauth"
import { softAuthenticator } from "../../support/softAuthenticator.ts"
import type { Json } from "../harness.ts"
import { type Auth, org, password, root, type Stage, template } from "./stage.ts"

/** Signs in as the console does, and answers the headers of the session. */
const session = async ({ call, world }: Stage, email: string): Promise<Auth> => {
  const answer = await world.service.request("/console/sign-in", {
    method: "POST",
    redirect: "manual",
    body: new URLSearchParams({ email, password }),
  })
  const cookie = answer.headers.getSetCookie().map((text) => text.split(";", 1)[0]).join("; ")
  const { csrf_token } = await call("GET", `${root}/session`, { auth: { cookie } })
  return { cookie, "x-csrf-token": csrf_token }
}

/** Calls the operations of passkeys. */
const passkeys = async ({ call }: Stage, auth: Auth) => {
  const path = `${root}/account/passkeys`
  const { options } = await call("POST", `${path}/options`, { auth, body: { current_password: password } })
  const response = softAuthenticator("https://parlance.example").create(options)
  const { id } = await call("POST", path, { auth, body: { name: "Laptop", response } })
  await call("GET", path, { auth })
  await call("PATCH", `${path}/${id}`, { auth, body: { name: "Work laptop" } })
  await call("POST", `${path}/${id}/remove`, { auth, body: { current_password: password } })
}

/** Calls the operations of accounts, members, sessions and second factors. */
export const accounts = async (stage: Stage) => {
  const { call } = stage
  const ben = await call("POST", `${root}/accounts`, { body: { email: "ben@acme.example", name: "Ben" } })
  const ann = await call("POST", `${root}/accounts`, {
    body: { email: "ann@acme.example", name: "Ann", password },
    unrecorded: true,
  })
  await call("GET", `${root}/accounts`)
  await call("POST", `${root}/accounts/${ben.id}/reset`)
  await call("PUT", `${org}/members/${ben.id}`, { body: { role: "editor" } })
  const member = "ben@acme.example"
  // The notification of the example: a change that waits for Ben's review.
  const { key } = await call("POST", `${org}/keys`, {
    body: { name: "Pipeline", scopes: ["templates:write"] },
    unrecorded: true,
  })
  await call("PATCH", org, { body: { template_approval: "editor" }, unrecorded: true })
  await call("PATCH", `${org}/templates/cart/variants/offer`, {
    auth: { "x-api-key": key as string },
    body: { vars: { ...template.variants[1]!.vars, subject: "10% off, today only" } },
    unrecorded: true,
  })
  await call("PATCH", org, { body: { template_approval: "none" }, unrecorded: true })
  await call("GET", `${org}/notifications`, { query: { member, unread: "true", limit: "20" } })
  await call("POST", `${org}/notifications/read`, { body: { member } })
  const preferences = `${org}/notification-preferences`
  await call("PATCH", preferences, { body: { member, mail: { "winner.found": "digest", "comment.added": "off" } } })
  await call("GET", preferences, { query: { member } })
  const view = { list: "templates", name: "Summer", query: "tag=summer", shared: true }
  await call("PUT", `${org}/views/summer`, { body: view })
  await call("PUT", `${org}/start-views/templates`, { body: { member, view: "summer" } })
  await call("GET", `${org}/views`, { query: { member } })
  await call("DELETE", `${org}/views/summer`)
  const report = `${org}/templates/cart/reports/mail`
  await call("PUT", report, { body: { member } })
  await call("GET", `${org}/reports`, { query: { member } })
  await call("POST", `${report}/send`, { body: { member } })
  await call("DELETE", report, { query: { member } })
  const { id: groupRole } = await call("PUT", `${org}/group-roles`, { body: { group: "crm-editors", role: "editor" } })
  await call("GET", `${org}/group-roles`)
  await call("DELETE", `${org}/group-roles/${groupRole}`)
  await call("GET", `${org}/members`)
  await call("DELETE", `${org}/members/${ben.id}`)
  const invited = await call("POST", `${org}/invitations`, { body: { email: "cleo@acme.example", role: "viewer" } })
  await call("GET", `${org}/invitations`)
  await call("DELETE", `${org}/invitations/${invited.id}`)

  const auth = await session(stage, "ann@acme.example")
  await call("PATCH", `${root}/account`, { auth, body: { name: "Ann Lee" } })
  await session(stage, "ann@acme.example")
  const { sessions } = await call("GET", `${root}/sessions`, { auth })
  await call("DELETE", `${root}/sessions/${sessions.find(({ current }: Json) => !current).id}`, { auth })
  const factor = `${root}/account/second-factor`
  await call("GET", factor, { auth })
  const { secret } = await call("POST", factor, { auth, body: { current_password: password } })
  const code = (step: number) =>
    new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + step * 30_000 })
  const { recovery_codes: codes } = await call("PUT", factor, { auth, body: { code: code(0) } })
  const renewed = await call("POST", `${factor}/recovery-codes`, {
    auth,
    body: { current_password: password, code: codes[0] },
  })
  await call("POST", `${factor}/disable`, {
    auth,
    body: { current_password: password, code: renewed.recovery_codes[0] },
  })
  await passkeys(stage, auth)
  await call("POST", factor, { auth, body: { current_password: password }, unrecorded: true })
  await call("DELETE", `${root}/accounts/${ann.id}/second-factor`)
  await call("GET", `${root}/audit`, { query: { limit: "50" } })
  await call("GET", `${org}/audit`, { query: { limit: "50" } })
  await call("POST", `${root}/secret-keys/reencrypt`)
  await call("GET", `${root}/secret-keys`)
  await call("POST", `${root}/tracking-keys`)
  await call("GET", `${root}/tracking-keys`)
  // The key would sign five minutes later.
  await stage.world.run("UPDATE signing_keys SET created_at = created_at - interval '5 minutes'")
  await call("DELETE", `${root}/tracking-keys/first`)
  for (const log of [root, org]) {
    await call("GET", `${log}/audit/chains`)
    await call("GET", `${log}/audit/export`, { query: { limit: "2" } })
  }
  await call("DELETE", `${root}/accounts/${ben.id}`)
}
