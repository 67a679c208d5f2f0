import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Environment } from "../support/settings.ts"
import { startWebhook, webhookSecret } from "../support/platformServers/PlatformServer.ts"
import { type Service, waitUntil } from "../support/service.ts"

// What tests of the console's pages about platforms, messages and people begin with.

export const password = "four unrelated words here"

/** Text that would run, were it not shown as text. */
export const script = `<script>document.title="owned"</script><img src=x onerror="document.title='owned'">`

/** Services that delivery needs in addition to a store: a key for secrets, the way to servers on this machine, failures that are final. */
export const deliveryEnvironment: Environment = {
  SECRET_KEY: "5e".repeat(32),
  OUTBOUND_ALLOW: "127.0.0.1/32",
  DELIVERY_ATTEMPTS: "1",
}

/** A receiver of messages that ends with the scope; it refuses every third. */
export const receiver = Effect.acquireRelease(
  Effect.promise(() => startWebhook({ fault: (n) => n % 3 === 2 ? { status: 422 } : undefined })),
  (server) => Effect.promise(() => server.close()),
)

// deno-lint-ignore no-explicit-any -- what a test reads of an answer it also asserts
type Json = any

/** A management request that succeeds. */
export const managed = (service: Service) => async (method: string, path: string, body?: unknown): Promise<Json> => {
  const answer = await service.manage(method, path, body)
  assert.isBelow(answer.status, 300, `${method} ${path} ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** An account that is signed in, in an organization with a role, and how it asks for pages. */
export const signedIn = async (service: Service, email: string, membership?: readonly [org: string, role: string]) => {
  const manage = managed(service)
  const { id } = await manage("POST", "/accounts", {
    email,
    name: "Ada Lovelace",
    password,
    administrator: membership === undefined,
  })
  if (membership !== undefined) {
    await manage("PUT", `/organizations/${membership[0]}/members/${id}`, { role: membership[1] })
  }
  const answer = await service.request("/console/sign-in", {
    method: "POST",
    redirect: "manual",
    body: new URLSearchParams({ email, password }),
  })
  assert.strictEqual(answer.status, 303, await answer.text())
  const cookie = answer.headers.get("set-cookie")!.split(";")[0]!
  const session = await (await service.request("/console/api/session", { headers: { cookie } })).json()
  const read = async (response: Response) => ({
    status: response.status,
    headers: response.headers,
    location: response.headers.get("location") ?? "",
    text: await response.text(),
  })
  return {
    /** `more` are cookies in addition to the session. */
    get: async (path: string, more = "") =>
      read(await service.request(path, { headers: { cookie: cookie + more }, redirect: "manual" })),
    post: async (path: string, fields: Record<string, string> = {}) =>
      read(
        await service.request(path, {
          method: "POST",
          headers: { cookie },
          redirect: "manual",
          body: new URLSearchParams({ _csrf: session.csrf_token, ...fields }),
        }),
      ),
  }
}

/** An organization with a template, keys, decisions, events, bodies that were not understood, and a profile. */
export const furnish = async (service: Service, slug: string, name = "Harbour Books") => {
  const manage = managed(service)
  await manage("POST", "/organizations", { slug, name, time_zone: "Europe/Berlin" })
  const { key } = await manage("POST", `/organizations/${slug}/keys`, {
    name: "Shop",
    scopes: ["generate", "deliver", "events"],
  })
  await manage("POST", `/organizations/${slug}/templates`, {
    id: "welcome",
    name: "Welcome",
    variants: [
      {
        id: "warm",
        vars: { subject: "Welcome aboard, {{ name }}", body: "<h1>Hello {{ name }}</h1><p>Good to have you.</p>" },
        formats: { body: "html" },
      },
      {
        id: "brief",
        vars: { subject: "Your account is ready", body: "<p>Hi {{ name }}, go ahead.</p>" },
        formats: { body: "html" },
      },
    ],
  })
  const post = async (path: string, body: unknown, expected = 200) => {
    const answer = await service.request(path, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: typeof body === "string" ? body : JSON.stringify(body),
    })
    const text = await answer.text()
    assert.strictEqual(answer.status, expected, text)
    return JSON.parse(text)
  }
  await post(`/api/generate/${slug}`, {
    template_id: "welcome",
    tracking_id: "order-1001",
    user_id: "u-1",
    fields: { name: "Ann" },
    attrs: { plan: "pro" },
  })
  const at = Date.now()
  const event = (event: string, seconds: number, more: object = {}) => ({
    event,
    tracking_id: "order-1001",
    event_id: `${event}-${seconds}`,
    occurred_at: new Date(at + seconds * 1000).toISOString(),
    ...more,
  })
  await post(`/api/webhook/events/${slug}`, [
    event("delivered", -60),
    event("click", -58, { link: "https://shop.example/offer" }),
    event("open", -30),
    event("open", -20),
    event("click", -10, { link: "https://shop.example/offer?with=a-rather-long-query&and=more" }),
    event("conversion", -9_999_999),
    { ...event("open", -5), tracking_id: "order-unknown", event_id: "stray" },
  ])
  // A body that cannot be read at all is refused, so one item is an event that has come before.
  await post(`/api/webhook/events/${slug}`, [{ kind: "MailRead", who: script }, event("delivered", -60)])
  await post(`/api/webhook/events/${slug}`, [{ event: "open", tracking_id: "order-1001", event_id: "later" }, {
    tracking_id: "order-1001",
  }])
  await manage("PUT", `/organizations/${slug}/webhooks/provider_d`, {
    secret: "segment-token",
    settings: { scheme: "token" },
  })
  const identified = await service.request(`/api/webhook/provider_d/${slug}`, {
    method: "POST",
    headers: { authorization: "Bearer segment-token", "content-type": "application/json" },
    body: JSON.stringify({
      type: "identify",
      userId: "u-1",
      messageId: "m-1",
      timestamp: new Date(at).toISOString(),
      traits: { email: "ann@example.com", plan: "pro", nickname: script },
    }),
  })
  assert.strictEqual(identified.status, 200, await identified.text())
  const bodies = 3
  await waitUntil("the bodies have been looked at", async () => {
    const { inbox } = await manage("GET", `/organizations/${slug}/webhooks/events/inbox?all=true&limit=100`)
    return inbox.length === bodies && inbox.every(({ status }: Json) => status !== "pending")
  })
  await waitUntil("the profile is known", async () => {
    const { profiles } = await manage("GET", `/organizations/${slug}/stories?user_id=u-1`)
    return profiles.length === 1
  })
  return { slug, key, post }
}

/** Connects an organization to a receiver, as `main`. */
export const connect = (service: Service, slug: string, url: string) =>
  managed(service)("PUT", `/organizations/${slug}/connections/main`, {
    platform: "webhook",
    settings: { url },
    secrets: { signing_secret: webhookSecret },
  })
