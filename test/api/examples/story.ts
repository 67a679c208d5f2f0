import { Buffer } from "node:buffer"
import { s3Key, s3Region, startS3 } from "../../support/s3Server.ts"
import { waitUntil } from "../../support/service.ts"
import { completion, drafts, startChatModel } from "../chatModel.ts"
import type { Json } from "../harness.ts"
import { accounts } from "./accounts.ts"
import { type Auth, org, root, type Stage, template } from "./stage.ts"

// One call of each operation, in the life of a shop that sends a cart reminder.

/** Calls until the answer is ready. */
const settled = async ({ call }: Stage, path: string, ready: (answer: Json) => boolean) => {
  let answer: Json
  await waitUntil(`${path} is ready`, async () => ready(answer = await call("GET", path, { unrecorded: true })))
  return answer
}

const organizationAndKeys = async ({ call }: Stage) => {
  await call("POST", `${root}/organizations`, {
    body: { slug: "acme", name: "Acme", time_zone: "Europe/Berlin" },
  })
  await call("GET", `${root}/organizations`)
  await call("GET", org)
  await call("PATCH", org, { body: { name: "Acme Shop", tracking: { opens: true, clicks: true } } })
  await call("PUT", `${org}/quota`, { body: { webhook_daily_bytes: 1_000_000_000 } })
  await call("GET", `${org}/usage`)
  const scopes = ["generate", "deliver", "events"]
  const { key } = await call("POST", `${org}/keys`, { body: { name: "Shop", scopes } })
  const other = await call("POST", `${org}/keys`, { body: { name: "Shop, old", scopes: ["generate"] } })
  await call("GET", `${org}/keys`)
  await call("PATCH", `${org}/keys/${other.id}`, { body: { rate_limit: { requests: 100, per: "minute" } } })
  await call("DELETE", `${org}/keys/${other.id}`)
  const test = await call("POST", `${org}/keys`, { body: { name: "Staging", kind: "test", scopes } })
  return { live: { "x-api-key": key as string }, test: { "x-api-key": test.key as string } }
}

const templates = async ({ call }: Stage) => {
  await call("POST", `${org}/templates`, { body: template })
  await call("GET", `${org}/templates`, { query: { limit: "100" } })
  await call("POST", `${org}/templates/import`, {
    body: { templates: [{ id: "welcome", name: "Welcome", variants: [{ id: "plain", vars: { subject: "Hello" } }] }] },
  })
  await call("POST", `${org}/templates/import-copy`, {
    query: { dry_run: "true" },
    body: { csv: "template,variant,subject\nwelcome,plain,Welcome aboard\n" },
  })
  await call("POST", `${org}/templates/convert`, {
    body: {
      from: "braze",
      vars: { subject: "{{${first_name} | default: 'Hello'}}, {{campaign.${name}}}" },
    },
  })
  await call("GET", `${org}/templates/cart`)
  await call("PATCH", `${org}/templates/cart`, { body: { name: "Cart reminder, autumn" } })
  const locale = { attribute: "language", default: "en" }
  await call("PATCH", `${org}/templates/cart`, { body: { locale }, unrecorded: true })
  const strings = `${org}/templates/cart/strings`
  const { text } = await call("GET", strings, { query: { locales: "de" } })
  await call("POST", strings, { query: { dry_run: "true" }, body: { text } })
  await call("PATCH", `${org}/templates/cart`, { body: { locale: null }, unrecorded: true })
  const variants = `${org}/templates/cart/variants`
  await call("POST", variants, {
    body: {
      id: "gold",
      vars: { subject: "Early access" },
      targeting: [{ attribute: "tier", op: "is", values: ["gold"] }],
    },
  })
  await call("GET", `${variants}/gold`)
  await call("PATCH", `${variants}/gold`, { body: { vars: { subject: "Early access for you" } } })
  const draft = `${org}/templates/cart/draft`
  await call("PUT", draft, { query: { variant: "gold" }, body: { change: { vars: { subject: "Doors open early" } } } })
  await call("GET", `${org}/templates/cart/drafts`)
  await call("GET", draft, { query: { variant: "gold" } })
  await call("POST", `${draft}/publish`, { query: { variant: "gold" } })
  await call("DELETE", draft, { query: { variant: "gold" } })
  const { versions } = await call("GET", `${variants}/gold/versions`)
  const { id: version } = versions.at(-1)
  await call("GET", `${variants}/gold/versions/${version}`)
  await call("POST", `${variants}/gold/versions/${version}/restore`)
  const people = `${org}/sample-people`
  await call("PUT", `${people}/silver`, {
    body: { name: "Silver customer", attrs: { tier: "silver" }, fields: { name: "Ann" } },
  })
  await call("GET", people)
  await call("GET", `${people}/silver`)
  await call("DELETE", `${people}/silver`)
  const snippets = `${org}/snippets`
  await call("PUT", `${snippets}/legal`, {
    body: { name: "Legal text", text: "© {{ year }} Example Shop", format: "text" },
  })
  await call("POST", `${variants}`, {
    body: { id: "legal", vars: { body: "Bye. {% render 'legal', year: 2026 %}" } },
    unrecorded: true,
  })
  const edited = { text: "© {{ year }} Example Shop Ltd" }
  await call("POST", `${snippets}/legal/check`, { body: edited })
  await call("PUT", `${snippets}/legal`, { body: edited, unrecorded: true })
  await call("GET", snippets)
  await call("GET", `${snippets}/legal`)
  const { versions: [{ id: snippetVersion }] } = await call("GET", `${snippets}/legal/versions`)
  await call("GET", `${snippets}/legal/versions/${snippetVersion}`)
  const pixel = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64")
  const { id: image, url } = await call("POST", `${org}/images`, {
    query: { name: "banner.gif" },
    body: pixel,
    shownBody: "The bytes of banner.gif",
    contentType: "application/octet-stream",
  })
  await call("GET", `${org}/images`)
  await call("GET", `${org}/images/${image}`)
  await call("GET", new URL(url).pathname, { auth: {} })
  await call("DELETE", `${org}/images/${image}`)
  await call("POST", `${org}/templates/cart/preview`, {
    body: { vars: { subject: "{{ name }}, you left {{ item }}!" }, fields: { name: "Ann" }, attrs: { tier: "silver" } },
  })
  await call("POST", `${org}/templates/cart/switch-variants`, { body: { deactivate: ["gold"] } })
  await call("DELETE", `${variants}/gold`)
  await call("POST", `${org}/templates/batch`, { body: { ids: ["cart", "welcome"], add_tags: ["onboarding"] } })
  await call("GET", `${org}/template-index`, { query: { search: "cart" } })
  await call("GET", `${org}/templates/cart/history`, { query: { limit: "20" } })
  await call("DELETE", `${org}/templates/welcome`)
}

const suggestions = async ({ call }: Stage) => {
  const model = startChatModel()
  const setup = `${org}/suggestion-setup`
  await call("PATCH", setup, {
    body: {
      endpoint: "own",
      url: model.url,
      model: "gpt-5-mini",
      tone: "Friendly and short",
      forbidden_words: ["cheap"],
      max_lengths: { subject: 60 },
    },
  })
  await call("GET", setup)
  const at = `${org}/templates/cart/suggestions`
  const input = { count: 2, variables: ["subject"], instructions: "Ask a question" }
  await call("POST", `${at}/preview`, { body: input })
  model.answers(() =>
    completion(drafts(["Question", { subject: "Did you forget something?" }], ["Help", { subject: "Can we help?" }]))
  )
  const { drafts: [first, second] } = await call("POST", at, { body: input })
  await call("GET", at)
  await call("POST", `${at}/${first.id}/keep`)
  await call("DELETE", `${at}/${second.id}`)
  await call("DELETE", `${org}/templates/cart/variants/${first.id}`, { unrecorded: true })
  await model.close()
}

const reviews = async ({ call }: Stage) => {
  const { key } = await call("POST", `${org}/keys`, {
    body: { name: "Pipeline", scopes: ["templates:write"] },
    unrecorded: true,
  })
  await call("PATCH", org, { body: { template_approval: "editor" }, unrecorded: true })
  const auth = { "x-api-key": key as string }
  const legal = `${org}/snippets/legal`
  await call("PUT", legal, { auth, body: { text: "© {{ year }} Example Group" }, unrecorded: true })
  await call("POST", `${legal}/approve`, { body: { version: 1 } })
  await call("PUT", legal, { auth, body: { text: "© {{ year }} Another" }, unrecorded: true })
  await call("DELETE", `${legal}/proposal`)
  await call("DELETE", `${org}/templates/cart/variants/legal`, { unrecorded: true })
  await call("DELETE", legal)
  const propose = async (subject: string) => {
    const { proposals: [{ id }] } = await call("PATCH", `${org}/templates/cart/variants/offer`, {
      auth,
      body: { vars: { ...template.variants[1]!.vars, subject } },
      unrecorded: true,
    })
    return `${org}/proposals/${id}`
  }
  const first = await propose("10% off, until Sunday")
  await call("GET", `${org}/proposals`, { query: { state: "requested", limit: "20" } })
  await call("GET", first)
  await call("PATCH", first, { auth, body: { note: "The offer ends on Sunday" } })
  await call("POST", `${first}/approve`, { body: { version: 1, comment: "Checked with legal" } })
  await call("POST", `${await propose("20% off")}/reject`, { body: { comment: "Too much" } })
  await call("POST", `${await propose("15% off")}/withdraw`, { auth })
  await call("PATCH", org, { body: { template_approval: "none" }, unrecorded: true })
  const comments = `${org}/templates/cart/comments`
  const { id } = await call("POST", comments, { body: { text: "Is the offer still valid?", variant_id: "offer" } })
  await call("GET", comments, { query: { state: "open" } })
  await call("PATCH", `${comments}/${id}`, { body: { resolved: true } })
  await call("DELETE", `${comments}/${id}`)
}

const decisionsAndEvents = async ({ call }: Stage, key: Auth) => {
  const generated = await call("POST", "/api/generate/acme", {
    auth: key,
    body: { template_id: "cart", user_id: "ann", fields: { name: "Ann" }, attrs: { tier: "silver" } },
  })
  await call("GET", "/api/generate/acme", {
    auth: key,
    query: { template_id: "cart", user_id: "ann", fields: '{"name":"Ann"}', attrs: '{"tier":"silver"}' },
  })
  await call("POST", "/api/batch-generate/acme", {
    auth: key,
    body: { user_id: "ann", fields: { name: "Ann" }, attrs: { tier: "silver" }, requests: [{ template_id: "cart" }] },
  })
  await call("GET", "/api/delay/acme", {
    auth: key,
    query: { delay_id: generated.copy.id, template_id: "cart", user_id: "ann" },
  })
  await call("POST", "/api/webhook/events/acme", {
    auth: key,
    body: [
      { event: "open", tracking_id: generated.tracking_id, event_id: "open-1" },
      { event: "click", tracking_id: generated.tracking_id, event_id: "click-1" },
    ],
  })
  return generated.tracking_id as string
}

const sources = async (stage: Stage, trackingId: string) => {
  const { call } = stage
  const secret = "0123456789abcdef0123456789abcdef"
  const auth = { authorization: `Bearer ${secret}`, "braze-currents-version": "1" }
  await call("PUT", `${org}/webhooks/provider_a`, { body: { secret } })
  await call("POST", "/api/webhook/provider_a/acme", {
    auth,
    body: {
      events: [{
        event_type: "users.messages.email.Open",
        id: "e-1",
        time: Math.floor(Date.now() / 1000),
        user: { external_user_id: "ann" },
        properties: { campaign_id: "c-1", message_extras: JSON.stringify({ tracking_id: trackingId }) },
      }],
    },
  })
  await call("POST", "/api/webhook/provider_a/acme", { auth, body: { events: [{ event_type: "unknown", id: "e-2" }] } })
  const inbox = `${org}/webhooks/provider_a/inbox`
  const { inbox: [faulty] } = await settled(stage, inbox, ({ inbox }) => inbox.length > 0)
  await call("GET", inbox, { query: { limit: "20" } })
  await call("POST", `${inbox}/${faulty.id}/replay`)
  await call("GET", `${org}/webhooks`)
  await settled(stage, `${org}/events`, ({ events }) => events.length > 2)
  await call("GET", `${org}/events`, { query: { limit: "100" } })
  await call("GET", `${org}/stories`, { query: { user_id: "ann" } })
  await call("GET", `${org}/webhooks/events/events`, { query: { limit: "50" } })
  await call("POST", `${org}/webhooks/events/dry-run`, {
    body: {
      mapping: {
        version: 1,
        items: "$.records[*]",
        event: { from: ["$.kind"], table: { MailRead: "open" }, default: "known" },
        tracking_id: { from: ["$.tid"] },
      },
      body: { records: [{ kind: "MailRead", tid: "0198c0de-7000-7000-8000-000000000001" }] },
    },
  })
  await call("DELETE", `${org}/webhooks/provider_a`)
}

const learning = async (stage: Stage) => {
  const { call } = stage
  const results = `${org}/templates/cart/results`
  await settled(stage, results, ({ variants }) => variants.some(({ outcomes }: Json) => outcomes.click > 0))
  await call("GET", results)
  await call("GET", `${results}/export`)
  await call("GET", `${org}/templates/cart/series`, { query: { lookback_days: "7", offset_days: "0" } })
  await call("GET", `${org}/templates/cart/send-times`)
  await call("GET", `${org}/templates/cart/segment-comparison`, {
    query: { variant: "offer", against: "question", attribute: "daypart" },
  })
  const shares = `${org}/templates/cart/result-shares`
  const { id } = await call("POST", shares, { body: { expires_in_days: 30 } })
  await call("GET", shares)
  await call("DELETE", `${shares}/${id}`)
  await call("GET", `${org}/templates/cart/decisions`, { query: { limit: "1000" } })
  await call("GET", `${org}/learning/stopped`)
  await call("POST", `${org}/templates/cart/resume-learning`)
  await call("POST", `${org}/rebuild`, { body: { template_id: "cart", check: true } })
}

const webhookEndpoints = async ({ call }: Stage) => {
  const endpoints = `${org}/webhook-endpoints`
  const { id } = await call("POST", endpoints, {
    body: { url: "https://shop.example.com/parlance", events: ["delivery.failed", "suppression.added"] },
  })
  await call("GET", endpoints)
  await call("GET", `${endpoints}/${id}`)
  // Disabled first, so that nothing is sent.
  await call("PATCH", `${endpoints}/${id}`, { body: { enabled: false } })
  const { event_id } = await call("POST", `${endpoints}/${id}/ping`)
  await call("GET", `${endpoints}/${id}/events`)
  await call("POST", `${endpoints}/${id}/replay`, { body: { event_id } })
  await call("POST", `${endpoints}/${id}/rotate`)
  await call("DELETE", `${endpoints}/${id}`)
}

/** Their answers are empty here: rows are exported two minutes after they were stored. */
const exports = async ({ call }: Stage) => {
  for (const kind of ["decisions", "events", "deliveries"]) {
    await call("GET", `${org}/exports/${kind}`, { query: { limit: "2" } })
  }
}

/** The connection that the example shows. */
const shownConnection = {
  platform: "smtp",
  settings: { host: "smtp.acme.example", port: 587, from: "news@acme.example", user: "acme" },
  secrets: { password: "EXAMPLE" },
}

const connections = async ({ call, world }: Stage) => {
  const { platform, settings } = world.connection("acme.example")
  const path = `${org}/connections/main`
  await call("PUT", path, {
    body: { platform, settings: { ...settings, bounce_domain: "bounces.acme.example" } },
    shownBody: shownConnection,
  })
  await call("PUT", `${org}/connections/shown`, { body: shownConnection, unrecorded: true })
  await call("DELETE", `${org}/connections/shown`, { unrecorded: true })
  await call("GET", `${org}/connections`)
  await call("POST", `${path}/test`)
  await call("POST", `${path}/resume`)
  await call("POST", `${path}/dkim`, { body: { selector: "s1" } })
  await call("GET", `${path}/dkim`)
  await call("PATCH", `${path}/dkim/s1`, { body: { signing: true, unchecked: true } })
  await call("POST", `${path}/test-message`, { body: { to: "ann@example.com" } })
  await call("DELETE", `${path}/dkim/s1`)
  const groups = `${org}/test-groups`
  await call("PUT", `${groups}/design-team`, {
    body: { name: "Design team", emails: ["ann@example.com", "ben@agency.example"] },
  })
  await call("GET", groups)
  await call("GET", `${groups}/design-team`)
  await call("POST", `${groups}/design-team/send`, {
    body: { template_id: "cart", copy_id: "question", fields: { name: "Ann" } },
  })
  await call("DELETE", `${groups}/design-team`)
}

const tomorrow = () => new Date(Date.now() + 86_400_000).toISOString()

const deliveries = async (stage: Stage, key: Auth) => {
  const { call, world } = stage
  const deliver = async (email: string, more: Json = {}): Promise<string> => {
    await call("POST", "/api/deliver/acme", {
      auth: key,
      headers: { "idempotency-key": `cart-${email}` },
      body: { template_id: "cart", email, fields: { name: "Ann" }, ...more },
    })
    const page = await call("GET", `${org}/deliveries`, { query: { email }, unrecorded: true })
    return page.deliveries[0].id
  }
  const sent = await deliver("ann@example.com")
  await settled(stage, `${org}/deliveries/${sent}`, ({ state }) => state === "sent")
  await call("GET", `/api/deliveries/${sent}/acme`, { auth: key })
  await call("GET", "/api/deliveries/acme", { auth: key, query: { state: "sent" } })
  const scheduled = await deliver("ben@example.com", { send_at: tomorrow() })
  await call("POST", `/api/deliveries/${scheduled}/cancel/acme`, { auth: key })
  await deliver("cleo@example.com", { send_at: tomorrow() })
  await call("POST", "/api/deliveries/cancel/acme", { auth: key, body: { template_id: "cart" } })
  const managed = await deliver("dan@example.com", { send_at: tomorrow() })
  await call("POST", `${org}/deliveries/${managed}/cancel`)

  world.mail.faults.push({ at: "data", reply: "554 5.6.0 Message refused" })
  const failed = await deliver("eve@example.com")
  await settled(stage, `${org}/deliveries/${failed}`, ({ state }) => state === "failed")
  await call("POST", `${org}/deliveries/${failed}/retry`)
  await settled(stage, `${org}/deliveries/${failed}`, ({ state }) => state === "sent")
  await call("GET", `${org}/deliveries`, { query: { state: "sent" } })
  await call("GET", `${org}/deliveries/${failed}`)
  await call("GET", `${org}/delivery-summary`)
  await call("GET", `${org}/delivery-series`)
  await call("POST", `${org}/deliveries/retry`, { body: { state: "failed", dry_run: true } })
  await deliver("fay@example.com", { send_at: tomorrow() })
  const { action } = await call("POST", `${org}/deliveries/cancel`, { body: { template_id: "cart" } })
  await settled(stage, `${org}/bulk-actions/${action.id}`, ({ state }) => state === "done")
  await call("GET", `${org}/bulk-actions`)
  await call("GET", `${org}/bulk-actions/${action.id}`)
}

const suppressions = async ({ call }: Stage) => {
  const path = `${org}/suppressions`
  await call("POST", path, { body: { email: "gus@example.com" } })
  await call("GET", path)
  await call("GET", `${path}/lookup`, { query: { email: "gus@example.com" } })
  await call("GET", `${path}/gus@example.com`)
  await call("GET", `${path}/export`)
  await call("POST", `${path}/import`, { body: "address\nhal@example.com\n", contentType: "text/csv" })
  await call("DELETE", path, { query: { email: "gus@example.com" } })
  await call("DELETE", `${path}/hal@example.com`)
}

const sandbox = async (stage: Stage, key: Auth) => {
  const { call } = stage
  await call("POST", "/api/deliver/acme", {
    auth: key,
    body: { template_id: "cart", email: "delivered+ann@sandbox.test", fields: { name: "Ann" } },
    unrecorded: true,
  })
  const path = `${org}/sandbox/messages`
  const { messages: [message] } = await settled(stage, path, ({ messages }) => messages.length > 0)
  await call("GET", path)
  const { headers, html } = await call("GET", `${path}/${message.id}`)
  await call("DELETE", path)
  return { headers, html } as { headers: ReadonlyArray<{ name: string; value: string }>; html: string }
}

const tracking = async ({ call }: Stage, { headers, html }: Awaited<ReturnType<typeof sandbox>>) => {
  const pathOf = (pattern: RegExp, text: string) => new URL(pattern.exec(text)![0]).pathname
  const unsubscribe = headers.find(({ name }) => name.toLowerCase() === "list-unsubscribe")!.value
  await call("GET", pathOf(/https?:\/\/[^"]*\/o\/[^"]*/, html), { auth: {} })
  await call("GET", pathOf(/https?:\/\/[^"]*\/c\/[^"]*/, html), { auth: {} })
  const page = pathOf(/https?:\/\/[^>]*\/u\/[^>]*/, unsubscribe)
  await call("GET", page, { auth: {} })
  await call("POST", page, {
    auth: {},
    body: "List-Unsubscribe=One-Click",
    contentType: "application/x-www-form-urlencoded",
  })
}

const people = async (stage: Stage) => {
  const { call } = stage
  const erasure = await call("POST", `${org}/erasures`, { body: { user_id: "ann" } })
  await settled(stage, `${org}/erasures/${erasure.id}`, ({ state }) => state === "done")
  await call("GET", `${org}/erasures/${erasure.id}`)
}

const operations = async ({ call }: Stage) => {
  for (
    const path of [
      "/healthz",
      "/readyz",
      "/metrics",
      "/openapi.json",
      "/schemas/template-file.json",
      "/docs",
      "/problems",
      "/problems/not-found",
    ]
  ) {
    await call("GET", path, { auth: {}, unshown: path.endsWith(".json") || path === "/metrics" })
  }
}

const bucket = async ({ call }: Stage) => {
  const s3 = await startS3()
  const at = `${org}/bucket`
  const place = { region: s3Region, name: "acme-data", folder: "parlance/acme" }
  await call("PUT", at, {
    body: { ...place, endpoint: s3.endpoint, ...s3Key },
    shownBody: { ...place, endpoint: "https://minio.example.com", ...s3Key, secret_access_key: "EXAMPLE" },
  })
  await call("POST", `${at}/check`)
  await call("POST", `${at}/run`)
  await call("GET", at)
  await call("DELETE", at)
  s3.close()
}

/** Calls every operation of the API. */
export const story = async (stage: Stage) => {
  const { call } = stage
  const keys = await organizationAndKeys(stage)
  await templates(stage)
  await suggestions(stage)
  await reviews(stage)
  await sources(stage, await decisionsAndEvents(stage, keys.live))
  await learning(stage)
  await connections(stage)
  await deliveries(stage, keys.live)
  await exports(stage)
  await bucket(stage)
  await webhookEndpoints(stage)
  await suppressions(stage)
  await tracking(stage, await sandbox(stage, keys.test))
  await people(stage)
  await accounts(stage)
  await call("DELETE", `${org}/connections/main`)
  await operations(stage)
}
