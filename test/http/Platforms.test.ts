import { assert, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { createHmac, randomBytes } from "node:crypto"
import { afterAll, beforeAll } from "vitest"
import { type Running, settle, startServer } from "../learning/support.ts"
import { makeOrganization, waitUntil } from "../support/service.ts"
import { describeOnStores } from "../support/stores.ts"
import { type Answer, assertProblem, type Json, pointersOf, read } from "./harness.ts"

type Headers = Readonly<Record<string, string>>

/** One message of a platform: what the platform calls it, and what it stands for here. */
interface Message {
  readonly tracking: string
  readonly user: string
  readonly name: string
  /** Unix milliseconds. */
  readonly at: number
}

type Kind = "send" | "open" | "click" | "conversion" | "unsubscribe"

interface Platform {
  readonly segment: string
  readonly alias: string
  readonly secret: (letter: string) => string
  readonly sign: (secret: string, body: string, at?: number) => Headers
  /** Events as the platform sends them: only a send has our tracking id. Undefined where it has no such event. */
  readonly item: (kind: Kind, message: Message) => unknown
  /** Bodies in which it sends them. */
  readonly bodies: (items: ReadonlyArray<unknown>) => ReadonlyArray<unknown>
  /** Whether the signature is over the body. */
  readonly coversBody: boolean
}

const seconds = (at: number) => Math.floor(at / 1000)
const hmac = (algorithm: string, key: string | Uint8Array, text: string) => createHmac(algorithm, key).update(text)
const each = (items: ReadonlyArray<unknown>) => items

const braze: Platform = {
  segment: "provider_a",
  alias: "braze",
  coversBody: false,
  secret: (letter) => letter.repeat(32),
  sign: (secret) => ({ authorization: `Bearer ${secret}`, "braze-currents-version": "1" }),
  bodies: (items) => [{ events: items }],
  item: (kind, { at, name, tracking, user }) => {
    const type = {
      send: "users.messages.email.Send",
      open: "users.messages.email.Open",
      click: "users.messages.email.Click",
      conversion: "users.campaigns.Conversion",
      unsubscribe: "users.messages.email.Unsubscribe",
    }[kind]
    return {
      event_type: type,
      id: `${name}-${user}-${kind}`,
      time: seconds(at),
      user: { user_id: `bz-${user}`, external_user_id: user, timezone: "Europe/Berlin" },
      properties: {
        campaign_id: "c-1",
        dispatch_id: name,
        email_address: `${user}@example.com`,
        ...(kind === "send" ? { message_extras: JSON.stringify({ tracking_id: tracking }) } : {}),
        ...(kind === "click" ? { url: "https://shop.example/?utm_source=mail", is_suspected_bot_click: false } : {}),
      },
    }
  },
}

const iterable: Platform = {
  segment: "provider_b",
  alias: "iterable",
  coversBody: false,
  secret: (letter) => letter.repeat(32),
  sign: (secret) => ({ authorization: `OAuth2 ${secret}` }),
  bodies: each,
  item: (kind, { at, name, tracking, user }) => {
    const event = { send: "emailSend", open: "emailOpen", click: "emailClick", unsubscribe: "emailUnSubscribe" }
    if (kind === "conversion") return undefined
    return {
      email: `${user}@example.com`,
      ...(kind === "send" ? { userId: user } : {}),
      eventName: event[kind],
      dataFields: {
        createdAt: new Date(at).toISOString().slice(0, 19).replace("T", " ") + " +00:00",
        campaignId: 51,
        templateId: 71,
        messageId: name,
        workflowId: null,
        ...(kind === "send" ? { transactionalData: { tracking_id: tracking, subject: "Hi" } } : {}),
        ...(kind === "click" ? { url: "https://shop.example/", linkId: "9021" } : {}),
      },
    }
  },
}

const customerio: Platform = {
  segment: "provider_c",
  alias: "customerio",
  coversBody: true,
  secret: (letter) => letter.repeat(32),
  sign: (secret, body, at = Date.now()) => ({
    "x-cio-timestamp": String(seconds(at)),
    "x-cio-signature": hmac("sha256", secret, `v0:${seconds(at)}:${body}`).digest("hex"),
  }),
  bodies: each,
  item: (kind, { at, name, tracking, user }) => ({
    event_id: `01J-${name}-${kind}`,
    object_type: "email",
    metric: { send: "sent", open: "opened", click: "clicked", conversion: "converted", unsubscribe: "unsubscribed" }[
      kind
    ],
    timestamp: seconds(at),
    data: {
      identifiers: { id: user, email: `${user}@example.com`, cio_id: `cio-${user}` },
      customer_id: user,
      delivery_id: name,
      campaign_id: 5,
      recipient: `${user}@example.com`,
      subject: "Olá",
      ...(kind === "send" ? { content: "<p>…</p>", headers: { "X-Tracking-Id": [tracking] } } : {}),
      ...(kind === "click" ? { href: "https://shop.example/", link_id: 7, machine: false } : {}),
      ...(kind === "open" ? { prefetched: false, proxied: false } : {}),
    },
  }),
}

const segment: Platform = {
  segment: "provider_d",
  alias: "segment",
  coversBody: true,
  secret: (letter) => letter.repeat(32),
  sign: (secret, body) => ({ "x-signature": hmac("sha1", secret, body).digest("hex") }),
  bodies: each,
  item: (kind, { at, name, tracking, user }) => ({
    type: "track",
    event: {
      send: "Email Sent",
      open: "Email Opened",
      click: "Email Link Clicked",
      conversion: "Order Completed",
      unsubscribe: "Unsubscribed",
    }[kind],
    userId: user,
    messageId: `${name}-${kind}`,
    timestamp: new Date(at).toISOString(),
    context: { traits: { email: `${user}@example.com` } },
    properties: kind === "conversion" ? { order_id: "o-1", revenue: 12.5 } : {
      email_id: name,
      ...(kind === "send" ? { tracking_id: tracking } : {}),
      ...(kind === "click" ? { link_url: "https://shop.example" } : {}),
    },
  }),
}

const sfmc: Platform = {
  segment: "provider_e",
  alias: "sfmc",
  coversBody: true,
  secret: (letter) => letter.repeat(32),
  sign: (secret, body) => ({ "x-sfmc-ens-signature": hmac("sha256", secret, body).digest("base64") }),
  bodies: (items) => [items],
  item: (kind, { at, name, tracking, user }) => {
    if (kind === "conversion") return undefined
    const type = {
      send: "TransactionalSendEvents.EmailSent",
      open: "EngagementEvents.EmailOpen",
      click: "EngagementEvents.EmailClick",
      unsubscribe: "EngagementEvents.EmailUnsubscribe",
    }[kind]
    return {
      eventCategoryType: type,
      timestampUTC: at,
      composite: { jobId: "777", batchId: "41", listId: "44", subscriberId: name },
      definitionKey: kind === "send" ? "managed-send" : "NA",
      mid: 500,
      eid: 501,
      info: {
        send: { to: `${user}@example.com`, subscriberKey: user, messageKey: tracking, status: "Sent" },
        open: { ipAddress: "198.51.100.7", userAgent: "Mail" },
        click: { contentLink: "https://shop.example/", jobUrlId: "74", ipAddress: "198.51.100.7" },
        unsubscribe: { to: `${user}@example.com`, domain: "example.com", unsubscribeDate: at },
      }[kind],
    }
  },
}

const platforms = [braze, iterable, customerio, segment, sfmc]

const whsec = (letter: string) => `whsec_${btoa(letter.repeat(32))}`
const signStandard = (secret: string, body: string, id = "msg_1", at = Date.now()): Headers => {
  const key = Uint8Array.from(atob(secret.slice(6)), (char) => char.charCodeAt(0))
  const signature = hmac("sha256", key, `${id}.${seconds(at)}.${body}`).digest("base64")
  return { "webhook-id": id, "webhook-timestamp": String(seconds(at)), "webhook-signature": `v1,${signature}` }
}

const suite = (name: string, tests: (server: () => Running) => void) =>
  describeOnStores(name, (store, environment) => {
    let scope: Scope.Closeable
    let running: Running
    beforeAll(async () => {
      scope = await Effect.runPromise(Scope.make())
      // The embedded store makes a key of its own.
      const key = store === "postgres" ? { SECRET_KEY: randomBytes(32).toString("hex") } : {}
      const start = Effect.orDie(Effect.flatMap(environment, (env) => startServer({ ...env, ...key })))
      running = await Effect.runPromise(Scope.provide(start, scope))
    })
    afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
    tests(() => running)
  })

suite("Platforms", (server) => {
  /** An organization with a template of one variant. */
  const organization = async (slug: string) => {
    const { run, service } = server()
    const key = await makeOrganization(service, slug, ["generate", "events"])
    await service.manage("POST", `/organizations/${slug}/templates`, {
      id: "t",
      name: "T",
      variants: [{ id: "a", vars: { s: "a" } }],
    })
    const manage = (method: string, path: string, body?: unknown) =>
      service.manage(method, `/organizations/${slug}${path}`, body)
    const put = async (segment: string, input: unknown, status = 200) => {
      const answer = await manage("PUT", `/webhooks/${segment}`, input)
      assert.strictEqual(answer.status, status, JSON.stringify(answer.body))
      return answer.body
    }
    const decide = async (tracking: string, user: string) => {
      const answer = await service.generate(slug, key, { template_id: "t", tracking_id: tracking, user_id: user })
      assert.strictEqual(answer.status, 200)
    }
    const post = async (segment: string, body: string, headers: Headers = {}, method = "POST"): Promise<Answer> =>
      read(
        await service.request(`/api/webhook/${segment}/${slug}`, {
          method,
          headers: { "content-type": "application/json", ...headers },
          ...(method === "POST" ? { body } : {}),
        }),
      )
    /** Sends bodies as the platform does; each must be taken. */
    const send = async (platform: Platform, items: ReadonlyArray<unknown>, path = platform.segment, secret = "a") => {
      for (const one of platform.bodies(items)) {
        const text = JSON.stringify(one)
        const answer = await post(path, text, platform.sign(platform.secret(secret), text))
        assert.strictEqual(answer.status, 200, answer.text)
        const list = Array.isArray(one) ? one : (one as Json).events ?? [one]
        assert.deepStrictEqual(answer.json, { status: "ok", received: list.length })
      }
    }
    const taken = () => run(settle(slug))
    const events = async (query = ""): Promise<ReadonlyArray<Json>> =>
      (await manage("GET", `/events${query}`)).body.events
    const source = async (segment: string): Promise<Json> =>
      (await manage("GET", "/webhooks")).body.webhooks.find((one: Json) => one.segment === segment)
    const stored = () =>
      run(
        Effect.flatMap(SqlClient.SqlClient, (sql) =>
          sql<{ body: Uint8Array; source: string; status: string; headers: Headers; events: number; faults: Json }>`
          SELECT i.body, i.source, i.status, i.headers, i.events, i.faults FROM inbox i WHERE i.org_slug = ${slug}
          ORDER BY i.id`),
      )
    const outcomes = async () => (await manage("GET", "/templates/t/results")).body.variants[0].outcomes
    return { slug, key, manage, put, decide, post, send, taken, events, source, stored, outcomes }
  }

  const kinds: ReadonlyArray<Kind> = ["send", "open", "click", "conversion", "unsubscribe"]

  for (const platform of platforms) {
    const { alias, coversBody, item, secret, sign } = platform

    it(`counts what ${alias} reports for the decision it belongs to, in order and out of order`, async () => {
      for (const path of [platform.segment, alias]) {
        const org = await organization(`${alias}-${path === alias ? "alias" : "neutral"}`)
        await org.put(path, { secret: secret("a") })
        const at = Date.now()
        const message = (n: number): Message => ({ tracking: `trk-${n}`, user: `u-${n}`, name: `m-${n}`, at })
        for (let n = 1; n <= 3; n++) await org.decide(`trk-${n}`, `u-${n}`)
        const of = (n: number, order: ReadonlyArray<Kind>) =>
          order.flatMap((kind, i) => item(kind, { ...message(n), at: at + i * 1000 }) ?? [])
        // In order; backwards, each in a body of its own; the third is sent and nothing more.
        await org.send(platform, of(1, kinds), path)
        for (const one of of(2, kinds.toReversed())) {
          await org.send(platform, [one], path)
          await org.taken()
        }
        await org.send(platform, of(3, ["send"]), path)
        await org.send(platform, of(3, ["send"]), path)
        await org.taken()
        const hasConversions = item("conversion", message(1)) !== undefined
        const counts = await org.outcomes()
        assert.deepInclude(counts, { sent: 3, open: 2, click: 2, unsubscribe: 2, conversion: hasConversions ? 2 : 0 })
        const listed = await org.events("?limit=1000")
        assert.strictEqual(listed.length, hasConversions ? 11 : 9)
        const names = ["click", ...(hasConversions ? ["conversion"] : []), "open", "sent", "unsubscribe"]
        for (const n of [1, 2]) {
          const own = await org.events(`?tracking_id=trk-${n}`)
          assert.deepStrictEqual(own.map(({ event }) => event).toSorted(), names, JSON.stringify(own))
          for (const event of own) {
            assert.deepInclude(event, {
              source: platform.segment,
              status: "attributed",
              template_id: "t",
              copy_id: "a",
            })
            assert.isBelow(Math.abs(Date.parse(event.occurred_at) - at), 10_000)
          }
        }
        const shown = await org.source(platform.segment)
        assert.deepInclude(shown, {
          platform: alias,
          enabled: true,
          set_up: true,
          path: `/api/webhook/${platform.segment}/${org.slug}`,
          events: hasConversions ? 11 : 9,
          duplicates: 1,
          not_understood: 0,
          pending: 0,
          lag_seconds: 0,
        })
        assert.isTrue((await org.stored()).every(({ status }) => status === "done"))
      }
    }, 60_000)

    it(`takes a changed secret of ${alias} beside the one before, and no third`, async () => {
      const org = await organization(`${alias}-rotation`)
      const text = JSON.stringify(platform.bodies([item("send", { tracking: "x", user: "u", name: "m", at: 1e12 })])[0])
      const statuses = async () => {
        const all = []
        for (const letter of ["a", "b", "c"]) {
          all.push((await org.post(alias, text, sign(secret(letter), text))).status)
        }
        return all
      }
      const first = await org.put(alias, { secret: secret("a") })
      assert.deepStrictEqual(first.secrets, [{ accepted_until: null }])
      assert.deepStrictEqual(await statuses(), [200, 401, 401])
      const second = await org.put(alias, { secret: secret("b") })
      assert.strictEqual(second.secrets.length, 2)
      const hours = (Date.parse(second.secrets[1].accepted_until) - Date.now()) / 3_600_000
      assert.isTrue(hours > 23.9 && hours <= 24, String(hours))
      assert.deepStrictEqual(await statuses(), [200, 200, 401])
      await org.put(alias, { settings: {} })
      assert.deepStrictEqual(await statuses(), [200, 200, 401])
      await org.put(alias, { secret: secret("c") })
      assert.deepStrictEqual(await statuses(), [401, 200, 200])
    })

    it(`refuses requests that are not from ${alias}, and tells nothing by it`, async () => {
      const org = await organization(`${alias}-refuses`)
      const text = JSON.stringify(platform.bodies([item("send", { tracking: "x", user: "u", name: "m", at: 1e12 })])[0])
      const genuine = () => sign(secret("a"), text)
      const unset = await org.post(alias, text, genuine())
      const refusedAlike = (answer: Answer) => {
        assertProblem(answer, 401)
        const { instance: _, request_id: __, ...problem } = answer.json
        const { instance: ___, request_id: ____, ...expected } = unset.json
        assert.deepStrictEqual(problem, expected)
      }
      refusedAlike(unset)
      const { service } = server()
      refusedAlike(
        await read(
          await service.request(`/api/webhook/${alias}/no-such-organization`, {
            method: "POST",
            headers: { "content-type": "application/json", ...genuine() },
            body: text,
          }),
        ),
      )
      await org.put(alias, { secret: secret("a") })
      await org.put(alias, { enabled: false })
      refusedAlike(await org.post(alias, text, genuine()))
      assert.deepInclude(await org.source(platform.segment), { enabled: false, set_up: true })
      await org.put(alias, { enabled: true })
      assert.strictEqual((await org.post(alias, text, genuine())).status, 200)
      assertProblem(await org.post(alias, text), 401)
      assertProblem(await org.post(alias, text, { "x-api-key": org.key }), 401)
      assertProblem(await org.post(alias, text, sign(secret("b"), text)), 401)
      assertProblem(await org.post(alias, "", sign(secret("b"), "")), 401)
      if (coversBody) assertProblem(await org.post(alias, `${text} `, genuine()), 401)
      if (alias === "customerio") {
        assertProblem(await org.post(alias, text, sign(secret("a"), text, Date.now() - 301_000)), 401)
        await org.put(alias, { settings: { tolerance_seconds: null } })
        assert.strictEqual((await org.post(alias, text, sign(secret("a"), text, Date.now() - 301_000))).status, 200)
      }
      const before = (await org.stored()).length
      assert.strictEqual((await org.manage("DELETE", `/webhooks/${alias}`)).status, 204)
      refusedAlike(await org.post(alias, text, genuine()))
      assert.strictEqual((await org.manage("DELETE", `/webhooks/${alias}`)).status, 404)
      assert.strictEqual((await org.stored()).length, before)
    })

    it(`takes whatever is authentic from ${alias}, and keeps the good items of it`, async () => {
      const org = await organization(`${alias}-odd`)
      await org.put(alias, { secret: secret("a") })
      await org.decide("trk", "u")
      const good = item("send", { tracking: "trk", user: "u", name: "m", at: Date.now() })
      const signed = (body: string) => org.post(alias, body, sign(secret("a"), body))
      const bodies: ReadonlyArray<readonly [body: string, received: number]> = [
        ["", 0],
        ["{", 1],
        ["null", 1],
        ["5", 1],
        ["[]", 0],
        ["[[]]", 1],
        ["[null]", 1],
        ['{"events":[]}', 0],
        ['{"events":{}}', 1],
        ["\u0000", 1],
        ["{}", 1],
      ]
      for (const [body, received] of bodies) {
        const answer = await signed(body)
        assert.strictEqual(answer.status, 200, `${body}: ${answer.text}`)
        assert.strictEqual(answer.json.received, received, body)
      }
      await org.taken()
      assert.deepStrictEqual(await org.events(), [])
      // Segment's signature of a list is for one item only.
      if (alias === "segment") {
        await org.put(alias, { settings: { unsigned_items: true } })
      }
      const mixed = JSON.stringify(
        alias === "braze" ? { events: [null, good, "x", [], {}] } : [null, good, "x", [], {}],
      )
      const answer = await signed(mixed)
      assert.deepStrictEqual([answer.status, answer.json.received], [200, 5], answer.text)
      await org.taken()
      assert.strictEqual((await org.outcomes()).sent, 1)
      const last = (await org.stored()).at(-1)!
      assert.deepInclude(last, { status: "partial", events: 1 })
      assert.isAbove(last.faults.length, 2)
      assert.isAbove((await org.source(platform.segment)).not_understood, 1)
    })
  }

  it("takes 10,000 events in one body, 8 MiB, and no more bytes", async () => {
    const org = await organization("large")
    await org.put("braze", { secret: braze.secret("a") })
    await org.put("sfmc", { secret: sfmc.secret("a") })
    await org.decide("trk-7", "u-7")
    const at = Date.now()
    const items = (platform: Platform) =>
      Array.from(
        { length: 10_000 },
        (_, n) => platform.item("send", { tracking: `trk-${n}`, user: `u-${n}`, name: `m-${n}`, at }),
      )
    await org.send(braze, items(braze))
    await org.send(sfmc, items(sfmc))
    await org.taken()
    assert.strictEqual((await org.source("provider_a")).events, 10_000)
    assert.strictEqual((await org.source("provider_e")).events, 10_000)
    assert.strictEqual((await org.outcomes()).sent, 1)
    const padded = (bytes: number) => {
      const text = JSON.stringify([sfmc.item("open", { tracking: "", user: "", name: "m-7", at })])
      return text + " ".repeat(bytes - text.length)
    }
    const full = padded(8 * 1024 * 1024)
    assert.strictEqual((await org.post("sfmc", full, sfmc.sign(sfmc.secret("a"), full))).status, 200)
    const over = padded(8 * 1024 * 1024 + 1)
    assertProblem(await org.post("sfmc", over, sfmc.sign(sfmc.secret("a"), over)), 413)
    await org.taken()
    assert.strictEqual((await org.outcomes()).open, 1)
  }, 120_000)

  it("keeps a handshake of SFMC once a minute, before its key is known, and shows what came", async () => {
    const org = await organization("handshake")
    const handshake = JSON.stringify({ callbackId: "cb-1", verificationKey: "vk-1" })
    assertProblem(await org.post("sfmc", handshake), 401)
    const set = await org.put("sfmc", {})
    assert.deepStrictEqual(set.secrets, [])
    for (let n = 0; n < 3; n++) {
      const answer = await org.post("provider_e", handshake)
      assert.deepStrictEqual([answer.status, answer.json], [200, { status: "ok", received: 0 }])
    }
    assert.strictEqual((await org.stored()).length, 1)
    const { body } = await org.manage("GET", "/webhooks/provider_e/inbox?all=true")
    assert.include(body.inbox[0].body, "vk-1")
    assertProblem(await org.post("sfmc", "[]"), 401)
    await org.put("sfmc", { enabled: false })
    assertProblem(await org.post("sfmc", handshake), 401)
  })

  it("does not lose a handshake of SFMC that the store could not take", async () => {
    const { run } = server()
    const org = await organization("handshake-away")
    await org.put("braze", { secret: braze.secret("a") })
    await org.put("sfmc", {})
    const handshake = JSON.stringify({ callbackId: "cb-1", verificationKey: "vk-1" })
    const rename = (from: string, to: string) =>
      run(Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(`ALTER TABLE ${from} RENAME TO ${to}`)))
    await rename("inbox", "inbox_away")
    try {
      // The first body waits to be tried again, whatever was answered; there is no room for a second one.
      assertProblem(await org.post("braze", "[]", braze.sign(braze.secret("a"), "[]")), 503)
      assertProblem(await org.post("sfmc", handshake), 503)
    } finally {
      await rename("inbox_away", "inbox")
    }
    await waitUntil("it is kept", async () => {
      assert.include([200, 503], (await org.post("sfmc", handshake)).status)
      return (await org.stored()).some(({ source }) => source === "provider_e")
    }, 5)
  })

  it("keeps no token that a platform sends in a header of its customer's choice", async () => {
    const org = await organization("header")
    for (const alias of ["braze", "iterable"]) {
      for (const header of ["x-parlance", "x-api-key", "ce-pass"]) {
        await org.put(alias, { secret: "the-token-0123456789", settings: { header } })
        assert.strictEqual((await org.post(alias, "[]", { [header]: "the-token-0123456789" })).status, 200)
        assertProblem(await org.post(alias, "[]", { authorization: "Bearer the-token-0123456789" }), 401)
      }
    }
    const kept = (await org.stored()).map(({ headers }) => headers)
    assert.strictEqual(kept.length, 6)
    assert.notInclude(JSON.stringify(kept), "the-token")
  })

  it("shows no secret again, nor keeps one in clear", async () => {
    const { run, service } = server()
    const org = await organization("hidden")
    const secrets = platforms.map((platform, n) => [platform.alias, platform.secret(`Sekr${n}x`)] as const)
    const shown: Array<unknown> = []
    for (const [alias, secret] of [...secrets, ["events", whsec("Z")] as const]) {
      shown.push(await org.put(alias, { secret }))
      shown.push((await org.manage("PUT", `/webhooks/${alias}`, { secret, settings: { conversions: 5 } })).body)
      shown.push((await org.post(alias, "{}", { authorization: "Bearer x" })).text)
    }
    shown.push((await org.manage("GET", "/webhooks")).body, (await org.manage("GET", "/events")).body)
    shown.push(await (await service.request("/metrics")).text())
    const rows = await run(Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const tables = yield* sql<{ name: string }>`
        SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p')`
      const texts: Array<string> = []
      for (const { name } of tables) {
        for (const { row } of yield* sql<{ row: string }>`SELECT left(t::text, 100000) AS row FROM ${sql(name)} t`) {
          texts.push(row)
        }
      }
      return texts
    }))
    assert.isTrue(rows.some((row) => row.includes("provider_a") && row.includes("v1:")))
    const text = JSON.stringify(shown) + rows.join("\n")
    for (const [, secret] of secrets) {
      for (const form of [secret, btoa(secret), btoa(secret).replaceAll("=", "")]) assert.isFalse(text.includes(form))
    }
    assert.isFalse(text.includes(whsec("Z").slice(6, 30)) || text.includes("Z".repeat(32)))
  })

  it("takes custom events signed by Standard Webhooks, without an API key", async () => {
    const org = await organization("standard")
    await org.decide("trk", "u")
    const body = JSON.stringify({ type: "mail.click.v1", data: { tracking_id: "trk" } })
    assertProblem(await org.post("events", body, signStandard(whsec("a"), body)), 401)
    await org.put("events", { secret: whsec("a") })
    await org.put("events", { secret: whsec("b") })
    for (const letter of ["a", "b", "b"]) {
      const answer = await org.post("events", body, signStandard(whsec(letter), body, `msg_${letter}`))
      assert.deepStrictEqual([answer.status, answer.json], [200, { status: "ok", received: 1 }])
    }
    assertProblem(await org.post("events", body, signStandard(whsec("c"), body)), 401)
    assertProblem(await org.post("events", `${body} `, signStandard(whsec("a"), body)), 401)
    assertProblem(await org.post("events", body, signStandard(whsec("a"), body, "m", Date.now() - 400_000)), 401)
    // With a key the key decides, whatever is signed.
    assertProblem(
      await org.post("events", body, { ...signStandard(whsec("a"), body), "x-api-key": `${org.key}x` }),
      401,
    )
    assert.strictEqual(
      (await org.post("events", body, { ...signStandard(whsec("c"), body), "x-api-key": org.key })).status,
      200,
    )
    await org.put("events", { enabled: false })
    assertProblem(await org.post("events", body, signStandard(whsec("b"), body)), 401)
    await org.taken()
    assert.strictEqual((await org.outcomes()).click, 1)
    const listed = await org.events()
    assert.deepStrictEqual(listed.map(({ event_id }) => event_id).toSorted(), ["msg_1", "msg_a", "msg_b"])
  })

  it("takes CloudEvents: structured, in batches, binary, and asked beforehand", async () => {
    const org = await organization("cloud")
    for (let n = 1; n <= 4; n++) await org.decide(`trk-${n}`, `u-${n}`)
    const event = (n: number) => ({
      specversion: "1.0",
      id: `ce-${n}`,
      source: "/shop",
      type: "com.shop.mail.click",
      time: new Date().toISOString(),
      data: { tracking_id: `trk-${n}` },
    })
    const auth = { authorization: `Bearer ${org.key}` }
    const structured = { ...auth, "content-type": "application/cloudevents+json; charset=utf-8" }
    const post = async (body: unknown, headers: Headers, received: number) => {
      const answer = await org.post("events", JSON.stringify(body), headers)
      assert.deepStrictEqual([answer.status, answer.json], [200, { status: "ok", received }], answer.text)
    }
    await post(event(1), structured, 1)
    await post(event(1), structured, 1)
    await post([event(2), event(3)], { ...auth, "content-type": "application/cloudevents-batch+json" }, 2)
    const { data, ...attributes } = event(4)
    await post(
      data,
      { ...auth, ...Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`ce-${name}`, value])) },
      1,
    )
    await org.taken()
    assert.strictEqual((await org.outcomes()).click, 4)
    assert.deepInclude(await org.source("events"), { events: 4, duplicates: 1, not_understood: 0 })
    const { service } = server()
    const asked = await service.request("/api/webhook/events/cloud", {
      method: "OPTIONS",
      headers: { "webhook-request-origin": "eventemitter.example.com", "webhook-request-rate": "120" },
    })
    await asked.body?.cancel()
    assert.strictEqual(asked.status, 204)
    assert.strictEqual(asked.headers.get("webhook-allowed-origin"), "eventemitter.example.com")
    assert.strictEqual(asked.headers.get("webhook-allowed-rate"), "*")
  })

  it("reads custom events by the mapping that was set up, and tries one without keeping anything", async () => {
    const org = await organization("mapped")
    await org.decide("trk", "u")
    const mapping = {
      version: 1,
      items: "$.hits[*]",
      event: { from: ["$.kind"], table: { Read: "open", Gone: "unsubscribe" } },
      tracking_id: "$.ref",
      event_id: "$.uid",
      occurred_at: "$.at",
    }
    const at = new Date().toISOString()
    const sample = {
      hits: [{ kind: "Read", ref: "trk", uid: 1, at }, { kind: "Gone", ref: "trk", uid: 2, at }, { uid: 3, at }],
    }
    const tried = await org.manage("POST", "/webhooks/events/dry-run", { mapping, body: sample })
    assert.strictEqual(tried.status, 200, JSON.stringify(tried.body))
    assert.include(JSON.stringify(tried.body), "unsubscribe")
    const text = await org.manage("POST", "/webhooks/events/dry-run", { mapping, body: JSON.stringify(sample) })
    assert.deepStrictEqual(text, tried)
    const wrong = await org.manage("POST", "/webhooks/events/dry-run", {
      mapping: { items: 5, event: "x" },
      body: "{}",
    })
    assert.strictEqual(wrong.status, 400)
    assert.isTrue(
      wrong.body.errors.length >= 2 && wrong.body.errors.every(({ pointer }: Json) => pointer.startsWith("/mapping/")),
    )
    assert.deepStrictEqual(await org.stored(), [])
    const set = await org.put("events", { settings: { mapping } })
    assert.deepStrictEqual(set.settings.mapping, mapping)
    assert.strictEqual((await org.post("events", JSON.stringify(sample), { "x-api-key": org.key })).status, 200)
    await org.taken()
    assert.deepInclude(await org.outcomes(), { open: 1, unsubscribe: 1 })
    assert.deepStrictEqual((await org.events()).map(({ event_id }) => event_id), ["1", "2"])
    await org.put("events", { settings: {} })
    await org.post("events", JSON.stringify({ event: "click", tracking_id: "trk" }), { "x-api-key": org.key })
    await org.taken()
    assert.strictEqual((await org.outcomes()).click, 1)
  })

  it("counts business events as conversions by the names that were set up", async () => {
    const org = await organization("names")
    await org.decide("trk", "u")
    const track = (event: string, messageId: string) => ({
      type: "track",
      event,
      userId: "u",
      messageId,
      timestamp: new Date().toISOString(),
      properties: {},
    })
    const purchase = (name: string, id: string) => ({
      event_type: "users.behaviors.CustomEvent",
      id,
      time: seconds(Date.now()),
      user: { external_user_id: "u", user_id: "b" },
      properties: { name, custom_properties: {} },
    })
    for (const conversions of [[], ["Booked a Room"]]) {
      await org.put("segment", { secret: segment.secret("a"), settings: { conversions } })
      await org.put("braze", { secret: braze.secret("a"), settings: { conversions } })
      await org.put("events", { settings: { conversions } })
      const n = conversions.length
      await org.send(segment, [track("Booked a room", `s${n}`), track("Looked", `l${n}`)])
      await org.send(braze, [purchase("booked a ROOM", `b${n}`)])
      await org.post("events", JSON.stringify({ event: "booked a room", user_id: "u", event_id: `e${n}` }), {
        "x-api-key": org.key,
      })
      await org.taken()
      assert.strictEqual((await org.events()).length, n * 3, JSON.stringify(await org.events()))
    }
    assert.deepStrictEqual((await org.events()).map(({ event, tracking_id }) => [event, tracking_id]), [
      ["conversion", "trk"],
      ["conversion", "trk"],
      ["conversion", "trk"],
    ])
    assert.strictEqual((await org.outcomes()).conversion, 1)
  })

  it("lists every fault of what is set up, and changes nothing", async () => {
    const org = await organization("faults")
    const faults = async (segment: string, input: unknown, status = [400, 422]) => {
      const { body, status: is } = await org.manage("PUT", `/webhooks/${segment}`, input)
      assert.include(status, is, JSON.stringify(body))
      return body.errors.map(({ pointer }: Json) => pointer).sort()
    }
    assert.deepStrictEqual(await faults("braze", {}), ["/secret"])
    assert.deepStrictEqual(await faults("braze", { secret: 5, settings: "x", enabled: "y" }), [
      "/enabled",
      "/secret",
      "/settings",
    ])
    assert.deepStrictEqual(
      await faults("braze", {
        secret: "has space",
        settings: { header: "No Header", conversions: ["ok", "", 5], mapping: {} },
      }),
      ["/secret", "/settings/conversions/1", "/settings/conversions/2", "/settings/header", "/settings/mapping"],
    )
    assert.deepStrictEqual(await faults("customerio", { secret: " ", settings: { tolerance_seconds: -1 } }), [
      "/secret",
      "/settings/tolerance_seconds",
    ])
    assert.deepStrictEqual(await faults("segment", { secret: "x".repeat(1001), settings: { scheme: "none" } }), [
      "/secret",
      "/settings/scheme",
    ])
    assert.include(await faults("events", { secret: "short", settings: { mapping: { event: 5 } } }), "/secret")
    assert.isTrue(
      (await faults("events", { secret: "short", settings: { mapping: { event: 5 } } })).some((pointer: string) =>
        pointer.startsWith("/settings/mapping")
      ),
    )
    const none = await org.manage("PUT", "/webhooks/none", { secret: "x" })
    assert.strictEqual(none.status, 404)
    assert.strictEqual((await server().service.manage("PUT", "/organizations/none/webhooks/braze", {})).status, 404)
    assert.isTrue((await org.manage("GET", "/webhooks")).body.webhooks.every(({ set_up }: Json) => !set_up))
  })

  it("refuses options of signed custom events that are none, with or without a new secret", async () => {
    const org = await organization("tolerance")
    await org.put("events", { secret: whsec("a") })
    for (const tolerance_seconds of ["soon", -1, 1e9]) {
      const answer = await org.manage("PUT", "/webhooks/events", { settings: { tolerance_seconds } })
      assert.include([400, 422], answer.status, JSON.stringify(answer.body))
    }
  })

  it("lists sources that are set up or sent something", async () => {
    const org = await organization("sources")
    const listed = async () =>
      (await org.manage("GET", "/webhooks")).body.webhooks.map((
        { enabled, segment, set_up }: Json,
      ) => [segment, set_up, enabled])
    assert.deepStrictEqual(await listed(), [["events", false, true]])
    await org.put("iterable", { secret: iterable.secret("a") })
    assert.deepStrictEqual(await listed(), [["provider_b", true, true], ["events", false, true]])
    await org.send(iterable, [iterable.item("open", { tracking: "", user: "u", name: "m", at: Date.now() })])
    await org.taken()
    const shown = await org.source("provider_b")
    assert.deepInclude(shown, { bodies: 1, events: 1, pending: 0, lag_seconds: 0 })
    assert.isBelow(Date.now() - Date.parse(shown.last_received_at), 60_000)
    assert.deepInclude((await org.events())[0], {
      status: "waiting",
      tracking_id: null,
      template_id: null,
      copy_id: null,
    })
    await org.manage("DELETE", "/webhooks/iterable")
    assert.deepInclude(await org.source("provider_b"), { set_up: false, enabled: false, bodies: 1 })
  })

  it("pages through events, and refuses what is no page", async () => {
    const org = await organization("pages")
    for (let n = 0; n < 5; n++) await org.decide(`trk-${n}`, `u-${n}`)
    const events = Array.from({ length: 25 }, (_, n) => ({ event: "other-name click", name: "x", n })).map((_, n) => ({
      event: n % 2 === 0 ? "click" : "open",
      tracking_id: `trk-${n % 6}`,
      event_id: `é${String(n).padStart(2, "0")}`,
      user_id: `u-${n % 6}`,
    }))
    for (let from = 0; from < 25; from += 5) {
      await org.post("events", JSON.stringify(events.slice(from, from + 5)), { "x-api-key": org.key })
    }
    await org.taken()
    for (const limit of [1, 7, 25, 26]) {
      const seen: Array<string> = []
      let after = ""
      for (let pages = 0; pages < 40; pages++) {
        const { body } = await org.manage("GET", `/events?limit=${limit}${after}`)
        seen.push(...body.events.map((event: Json) => event.event_id))
        if (body.next === null) break
        assert.isAtMost(body.events.length, limit)
        after = `&after=${body.next}`
      }
      assert.deepStrictEqual(seen, events.map(({ event_id }) => event_id))
    }
    const own = await org.manage("GET", "/events?tracking_id=trk-1&limit=3")
    assert.strictEqual(own.body.events.length, 3)
    const rest = await org.manage("GET", `/events?tracking_id=trk-1&after=${own.body.next}`)
    assert.strictEqual(rest.body.events.length, 1)
    assert.isTrue([...own.body.events, ...rest.body.events].every(({ tracking_id }) => tracking_id === "trk-1"))
    const waiting = await org.events("?tracking_id=trk-5")
    assert.isTrue(waiting.length === 4 && waiting.every(({ status }) => status === "waiting"))
    const { service } = server()
    const bad = await read(
      await service.request("/console/api/organizations/pages/events?limit=0&after=!!&tracking_id=%00", {
        headers: { authorization: "Bearer test-admin-token-0123456789" },
      }),
    )
    assertProblem(bad, 400)
    assert.deepStrictEqual(pointersOf(bad), ["after", "limit", "tracking_id"])
    for (
      const query of [
        "limit=1001",
        "limit=x",
        "limit=",
        "limit=1.5",
        "after=",
        "after=W10",
        `after=${btoa('["1","a","b",5]')}`,
      ]
    ) {
      assert.strictEqual((await org.manage("GET", `/events?${query}`)).status, 400, query)
    }
    assert.strictEqual((await service.manage("GET", "/organizations/none/events")).status, 404)
  })

  it("answers 404 for sources that do not exist and 405 for other methods", async () => {
    const org = await organization("paths")
    for (const name of ["none", "Braze2", "provider_f", "__proto__", "constructor"]) {
      assertProblem(await org.post(name, "{}"), 404)
    }
    for (const name of ["provider_a", "segment", "events"]) {
      const answer = await org.post(name, "", {}, "GET")
      assertProblem(answer, 405)
      assert.include(answer.headers.get("allow") ?? "", "POST")
    }
  })

  it("wants the admin token for all of it", async () => {
    const { service } = server()
    await organization("guarded")
    for (const path of ["webhooks", "events"]) {
      const answer = await read(await service.request(`/console/api/organizations/guarded/${path}`))
      assertProblem(answer, 401)
    }
    for (
      const [method, path] of [["PUT", "webhooks/braze"], ["DELETE", "webhooks/braze"], [
        "POST",
        "webhooks/events/dry-run",
      ]] as const
    ) {
      const answer = await read(
        await service.request(`/console/api/organizations/guarded/${path}`, {
          method,
          headers: { "content-type": "application/json" },
          ...(method === "DELETE" ? {} : { body: "{}" }),
        }),
      )
      assertProblem(answer, 401)
    }
  })
})
