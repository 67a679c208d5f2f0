import { assert, it } from "@effect/vitest"
import { signingSecret, startReceiver } from "../delivery/receiver.ts"
import { adminToken } from "../support/service.ts"
import { suiteOnSending } from "./deliverySuite.ts"
import { assertProblem, type Json, pointersOf } from "./harness.ts"

const message = (email: string, more: Json = {}) => ({ template_id: "t", email, fields: { name: email }, ...more })

suiteOnSending("Connections and deliveries", (bench) => {
  it("creates a connection, returns all of it except its secrets, and deletes it", async () => {
    const org = await bench.sender("crud", { connection: null })
    assert.deepStrictEqual((await org.manage("GET", "/connections")).json, { connections: [] })
    const entered = {
      platform: "webhook",
      settings: { url: bench.server.url },
      secrets: { signing_secret: signingSecret },
    }
    const made = await org.manage("PUT", "/connections/main", entered)
    assert.strictEqual(made.status, 200, made.text)
    assert.deepInclude(made.json, {
      name: "main",
      platform: "webhook",
      settings: entered.settings,
      secrets: ["signing_secret"],
      enabled: true,
      paused: false,
      default: true,
      in_use: true,
      trouble: null,
    })
    const second = await org.manage("PUT", "/connections/second", entered)
    assert.deepInclude(second.json, { default: false, in_use: false })
    const paused = await org.manage("PUT", "/connections/main", { paused: true })
    assert.deepInclude(paused.json, { paused: true, settings: entered.settings, secrets: ["signing_secret"] })
    const inUse = async () =>
      (await org.manage("GET", "/connections")).json.connections.filter((one: Json) => one.in_use).map((one: Json) =>
        one.name
      )
    await org.manage("PUT", "/connections/second", { default: true })
    assert.deepStrictEqual(await inUse(), ["second"])
    await org.manage("PUT", "/connections/second", { enabled: false })
    assert.deepStrictEqual(await inUse(), ["main"], "while the default one is off, the other carries")
    const gone = await org.manage("DELETE", "/connections/main")
    assert.strictEqual(gone.status, 204)
    assert.deepStrictEqual(await inUse(), [])
    assertProblem(await org.manage("DELETE", "/connections/main"), 404, "connection-not-found")
    assertProblem(await org.manage("POST", "/connections/main/test"), 404, "connection-not-found")
    const rows = await bench.run(bench.sql`SELECT c::text AS row FROM connections c WHERE c.org_slug = 'crud'`)
    assert.notInclude(JSON.stringify(rows), signingSecret.slice(6), "stored under a key")
  })

  it("rejects invalid settings with every fault, and never returns a secret", async () => {
    const org = await bench.sender("entry", { connection: null })
    const secret = "not-a-signing-secret-0123456789"
    const cases: ReadonlyArray<readonly [name: string, body: Json, pointers: ReadonlyArray<string>]> = [
      ["main", {}, ["/platform"]],
      ["main", { platform: "fax" }, ["/platform"]],
      ["Not A Name", { platform: "webhook", settings: { url: "x" }, secrets: { signing_secret: secret } }, [
        "/secrets/signing_secret",
        "/settings/url",
        "name",
      ]],
      ["main", {
        platform: "webhook",
        settings: { url: "ftp://example.com", more: 1 },
        secrets: { signing_secret: secret },
      }, [
        "/secrets/signing_secret",
        "/settings/more",
        "/settings/url",
      ]],
      ["main", { platform: "webhook", enabled: "yes", secrets: { signing_secret: 5 } }, [
        "/enabled",
        "/secrets/signing_secret",
      ]],
      ["main", { platform: "smtp", settings: {} }, ["/settings/from", "/settings/host"]],
    ]
    for (const [name, body, pointers] of cases) {
      const answer = await org.manage("PUT", `/connections/${encodeURIComponent(name)}`, body)
      assertProblem(answer, 400, "invalid-request", JSON.stringify(body))
      assert.deepStrictEqual(pointersOf(answer), pointers, answer.text)
      assert.notInclude(answer.text, secret)
    }
    assert.deepStrictEqual((await org.manage("GET", "/connections")).json, { connections: [] })
    await org.manage("PUT", "/connections/main", {
      platform: "webhook",
      settings: { url: bench.server.url },
      secrets: { signing_secret: signingSecret },
    })
    const other = await org.manage("PUT", "/connections/main", { platform: "smtp" })
    assert.include(pointersOf(other), "/platform", "a platform stays")
    const away = await org.manage("PUT", "/connections/main", { secrets: { signing_secret: null } })
    assert.deepStrictEqual(pointersOf(away), ["/secrets/signing_secret"])
  })

  it("tests a connection without sending, and reports problems without its secrets", async () => {
    const org = await bench.sender("tried")
    const before = bench.server.arrivals.length
    const good = await org.manage("POST", "/connections/main/test")
    assert.deepInclude(good.json, { ok: true })
    const wrong = `whsec_${btoa("another secret of thirty-two byte")}`
    await org.manage("PUT", "/connections/main", { secrets: { signing_secret: wrong } })
    const bad = await org.manage("POST", "/connections/main/test")
    assert.deepInclude(bad.json, { ok: false })
    assert.include(bad.json.detail, "401")
    assert.notInclude(bad.text, wrong.slice(6))
    const settings = JSON.stringify({ url: "http://169.254.169.254/latest" })
    await bench.run(bench.sql`UPDATE connections SET settings = ${settings}::text::json WHERE org_slug = 'tried'`)
    const guarded = await org.manage("POST", "/connections/main/test")
    assert.deepInclude(guarded.json, { ok: false })
    assert.match(guarded.json.detail, /169\.254\.169\.254/)
    assert.strictEqual(bench.server.arrivals.length, before)
  })

  it("rejects settings with a forbidden address, and still changes everything else of such a connection", async () => {
    const org = await bench.sender("forbidden", { connection: null })
    const from = "news@example.com"
    const api_key = "k"
    const cases: ReadonlyArray<readonly [platform: string, settings: Json, secrets: Json, ...pointers: Array<string>]> =
      [
        ["webhook", { url: "https://0xa9fea9fe/latest" }, { signing_secret: signingSecret }, "/settings/url"],
        ["smtp", { host: "10.0.0.25", from }, {}, "/settings/host"],
        ["smtp", { host: "2130706433", from }, {}, "/settings/host"],
        ["smtp", { host: "8.8.8.8", from, tls: "none" }, {}, "/settings/host"],
        ["ses", { region: "eu-west-1", from, endpoint: "https://[::ffff:a00:1]/" }, {
          access_key_id: "i",
          secret_access_key: "s",
        }, "/settings/endpoint"],
        ["resend", { from, endpoint: "https://192.168.1.1" }, { api_key }, "/settings/endpoint"],
        ["postmark", { from, endpoint: "https://172.16.0.1" }, { server_token: "t" }, "/settings/endpoint"],
        ["braze", { endpoint: "https://169.254.169.254", app_id: "a", from }, { api_key }, "/settings/endpoint"],
        ["iterable", { campaign_id: 1, endpoint: "https://10.1" }, { api_key }, "/settings/endpoint"],
        ["customerio", { from, endpoint: "https://[fd00::1]" }, { app_api_key: "k" }, "/settings/endpoint"],
        [
          "sfmc",
          { definition_key: "d", auth_endpoint: "https://10.0.0.1", rest_endpoint: "https://10.0.0.2" },
          { client_id: "i", client_secret: "s" },
          "/settings/auth_endpoint",
          "/settings/rest_endpoint",
        ],
      ]
    for (const [platform, settings, secrets, ...pointers] of cases) {
      const answer = await org.manage("PUT", `/connections/${platform}`, { platform, settings, secrets })
      assertProblem(answer, 400, "invalid-request")
      assert.deepStrictEqual(pointersOf(answer), pointers, answer.text)
      for (const { detail } of answer.json.errors) assert.match(detail, /^must be an allowed address: /)
    }
    const settings = { host: "smtp.example.com", from }
    await org.manage("PUT", "/connections/mail", { platform: "smtp", settings })
    const stored = { ...settings, host: "10.0.0.25" }
    await bench.run(
      bench.sql`UPDATE connections SET settings = ${JSON.stringify(stored)}::text::json WHERE org_slug = 'forbidden'`,
    )
    const change = { settings: stored, paused: true }
    assert.deepInclude((await org.manage("PUT", "/connections/mail", change)).json, { paused: true })
    const moved = await org.manage("PUT", "/connections/mail", { settings: { ...stored, port: 25 } })
    assert.deepStrictEqual(pointersOf(moved), ["/settings/host"])
    const local = await org.manage("PUT", "/connections/local", {
      platform: "smtp",
      settings: { host: "localhost", tls: "none", from },
    })
    assert.strictEqual(local.status, 200, local.text)
  })

  it("lists in a connection test the variants that cannot be sent through it", async () => {
    const org = await bench.sender("warned")
    const test = async () => (await org.manage("POST", "/connections/main/test")).json
    assert.deepStrictEqual((await test()).warnings, [], "a webhook takes variables of any name")
    const settings = { host: "127.0.0.1", port: 9, tls: "none", from: "news@example.com" }
    await org.manage("PUT", "/connections/mail", { platform: "smtp", settings })
    const mail = async () => (await org.manage("POST", "/connections/mail/test")).json
    const [warning, ...others] = (await mail()).warnings
    assert.match(warning, /^Deliver cannot send the variant t \/ a: it has no body\. /)
    assert.deepStrictEqual(others, [])
    const body_html = { vars: { subject: "Hi", body_html: "<p>Hi</p>" }, formats: { body_html: "html" } }
    assert.strictEqual((await org.manage("PATCH", "/templates/t/variants/a", body_html)).status, 200)
    assert.deepStrictEqual((await mail()).warnings, [])
  })

  it("shows the trouble of a connection until it works again", async () => {
    const server = await startReceiver({ fault: () => ({ status: 403, body: { error: "account closed" } }) })
    const org = await bench.sender("trouble", { connection: { settings: { url: server.url }, paused: false } })
    assert.strictEqual((await org.deliver(message("a@example.com"))).status, 200)
    const trouble = async () => (await org.manage("GET", "/connections")).json.connections[0].trouble
    await bench.service.untilStored("it is noticed", ["connections"], async () => (await trouble()) !== null)
    assert.deepInclude(await trouble(), { state: "broken" })
    assert.include((await trouble()).reason, "account closed")
    assert.isAbove(Date.parse((await trouble()).until), Date.parse((await trouble()).since))
    await org.manage("PUT", "/connections/main", { settings: { url: bench.server.url } })
    assert.isNull(await trouble())
    await org.untilCounted("sent", 1)
    await server.close()
  })

  it("shows a connection that refuses messages, and resumes it", async () => {
    let isBlocked = true
    const server = await startReceiver({
      fault: () => isBlocked ? { status: 400, body: "account suspended" } : undefined,
    })
    const org = await bench.sender("refusing", { connection: { settings: { url: server.url }, paused: true } })
    for (let n = 0; n < 30; n++) await org.deliver(message(`p${n}@example.com`))
    const resumed = await org.manage("POST", "/connections/main/resume")
    assert.deepInclude(resumed.json, { name: "main", paused: false, trouble: null })
    const connection = async () => (await org.manage("GET", "/connections")).json.connections[0]
    await bench.service.untilStored(
      "it refuses",
      ["connections"],
      async () => (await connection()).trouble?.state === "refusing",
    )
    const { paused, trouble } = await connection()
    assert.deepStrictEqual([paused, trouble.until], [false, null])
    assert.match(trouble.reason, /^20 messages in a row .*account suspended/)
    assert.isBelow(Date.parse(trouble.since), Date.now() + 60_000)
    const metrics = await (await bench.service.request("/metrics")).text()
    assert.match(metrics, /^parlance_connections_refusing(?:{[^}]*})? [1-9]/m)
    await org.untilCounted("sending", 0)
    assert.strictEqual((await org.deliveries("?state=failed")).length, 20)
    isBlocked = false
    assert.isNull((await org.manage("POST", "/connections/main/resume")).json.trouble)
    await org.untilCounted("sent", 10)
    const { json } = await org.manage("GET", "/audit?limit=200")
    const resumes = json.entries.filter(({ action }: Json) => action === "connection resumed")
    assert.lengthOf(resumes, 2, JSON.stringify(json.entries))
    assertProblem(await org.manage("POST", "/connections/other/resume"), 404, "connection-not-found")
    await server.close()
  })

  it("lists deliveries newest first, page by page, by state and by address", async () => {
    const org = await bench.sender("listed")
    for (let i = 0; i < 7; i++) await org.deliver(message(`p${i % 3}@example.com`))
    const all = await org.deliveries()
    const ids = all.map(({ id }) => id)
    assert.strictEqual(ids.length, 7)
    assert.deepStrictEqual(ids, [...ids].sort().reverse())
    const paged: Array<string> = []
    let query = "?limit=3"
    for (let next: string | null = ""; next !== null; query = `?limit=3&cursor=${next}`) {
      const { json } = await org.manage("GET", `/deliveries${query}`)
      paged.push(...json.deliveries.map(({ id }: Json) => id))
      next = json.next
    }
    assert.deepStrictEqual(paged, ids)
    assert.deepStrictEqual((await org.deliveries("?email=p1%40example.com")).map(({ email }) => email), [
      "p1@example.com",
      "p1@example.com",
    ])
    assert.deepStrictEqual(await org.deliveries("?state=sent"), [])
    assert.strictEqual((await org.deliveries("?state=queued&email=p0@example.com")).length, 3)
    const wrong = await org.manage("GET", "/deliveries?state=lost&limit=0&email=%00&cursor=%00")
    assertProblem(wrong, 400, "invalid-request")
    assert.deepStrictEqual(pointersOf(wrong), ["cursor", "email", "limit", "state"])
    assert.deepStrictEqual(await (await bench.sender("listed-other")).deliveries(), [])
  })

  it("returns one delivery with its text, cancels it once, and counts it", async () => {
    const org = await bench.sender("one")
    await org.deliver(message("ada@example.com"))
    await org.deliver(message("later@example.com", { send_at: new Date(Date.now() + 3_600_000).toISOString() }))
    const [later, now] = await org.deliveries()
    const shown = await org.manage("GET", `/deliveries/${now.id}`)
    assert.deepStrictEqual(shown.json, {
      ...now,
      vars: { subject: "Hi ada@example.com" },
      formats: {},
    })
    const summary = async () => (await org.manage("GET", "/delivery-summary")).json
    assert.deepInclude(await summary(), { queued: 1, scheduled: 1, sending: 0, sent: 0, failed: 0, cancelled: 0 })
    assert.isAbove((await summary()).oldest_due_seconds, 0)
    const cancelled = await org.manage("POST", `/deliveries/${later.id}/cancel`)
    assert.deepInclude(cancelled.json, { id: later.id, state: "cancelled" })
    assert.deepStrictEqual((await org.manage("POST", `/deliveries/${later.id}/cancel`)).json, cancelled.json)
    assert.deepInclude(await summary(), { queued: 1, scheduled: 0, cancelled: 1 })
    assertProblem(await org.manage("POST", `/deliveries/${later.id}/retry`), 409, "delivery-fixed")
    assertProblem(await org.manage("POST", `/deliveries/${now.id}/retry`), 409, "delivery-fixed")
    await org.manage("PUT", "/connections/main", { paused: false })
    await org.untilCounted("sent", 1)
    assertProblem(await org.manage("POST", `/deliveries/${now.id}/cancel`), 409, "delivery-fixed")
    assert.notInclude(bench.server.arrivals.map(({ id }) => id), later.id)
    assert.deepInclude(await summary(), { queued: 0, scheduled: 0, sent: 1, cancelled: 1, oldest_due_seconds: 0 })
    for (const [method, path] of [["GET", ""], ["POST", "/cancel"], ["POST", "/retry"]] as const) {
      for (const id of ["none", "00000000-0000-7000-8000-000000000000", "%00"]) {
        assertProblem(
          await org.manage(method, `/deliveries/${id}${path}`),
          404,
          "delivery-not-found",
          `${method} ${id}`,
        )
      }
    }
  })

  it("sends a failed message again on request", async () => {
    let works = false
    const server = await startReceiver({
      fault: () => works ? undefined : { status: 422, body: { error: "no such person" } },
    })
    const org = await bench.sender("retried", { connection: { settings: { url: server.url }, paused: false } })
    await org.deliver(message("a@example.com"))
    await org.untilCounted("failed", 1)
    const [failed] = await org.deliveries()
    assert.include(failed.reason, "no such person")
    works = true
    const again = await org.manage("POST", `/deliveries/${failed.id}/retry`)
    assert.deepInclude(again.json, { id: failed.id, state: "queued", attempts: 0 })
    await org.untilCounted("sent", 1)
    assert.deepStrictEqual(server.arrivals.map(({ id }) => id), [failed.id])
    const { json } = await org.manage("GET", "/delivery-summary")
    assert.deepInclude(json, { sent: 1, failed: 0 })
    const over = await org.manage("GET", "/delivery-series?hours=24")
    assert.deepInclude(over.json, { hours: 24, step_minutes: 15 })
    const total = (of: string) => over.json.points.reduce((sum: number, point: Json) => sum + point[of], 0)
    assert.deepStrictEqual([total("sent"), total("failed")], [1, 1], "what failed then stays a failure of then")
    assert.strictEqual((await org.manage("GET", "/delivery-series")).json.step_minutes, 1)
    for (const hours of ["0", "841", "1.5", "-1", "", "many"]) {
      const refused = await org.manage("GET", `/delivery-series?hours=${hours}`)
      assertProblem(refused, 400)
      assert.deepStrictEqual(pointersOf(refused), ["hours"])
    }
    await server.close()
  })

  it("returns connections and deliveries only to their own organization", async () => {
    const org = await bench.sender("kept-apart")
    const other = await bench.sender("kept-apart-other", { connection: null })
    await org.deliver(message("secret-person@example.com"))
    const [delivery] = await org.deliveries()
    assertProblem(await other.manage("GET", `/deliveries/${delivery.id}`), 404, "delivery-not-found")
    assertProblem(await other.manage("POST", `/deliveries/${delivery.id}/cancel`), 404, "delivery-not-found")
    assertProblem(await other.manage("POST", "/connections/main/test"), 404, "connection-not-found")
    assertProblem(await other.manage("DELETE", "/connections/main"), 404, "connection-not-found")
    for (const path of ["/connections", "/deliveries", `/deliveries?cursor=${delivery.id}`]) {
      assert.notInclude((await other.manage("GET", path)).text, "main")
    }
    assert.deepInclude((await org.deliveries())[0], { state: "queued" })
  })

  it("shows no secret in answers, metrics or descriptions", async () => {
    const org = await bench.sender("hidden", { connection: { paused: false } })
    await org.deliver(message("a@example.com"))
    await org.untilCounted("sent", 1)
    const [{ id }] = await org.deliveries() as [Json]
    const pages = ["/connections", "/deliveries", `/deliveries/${id}`, "/delivery-summary"].map(async (path) =>
      (await org.manage("GET", path)).text
    )
    for (const path of ["/metrics", "/readyz", "/openapi.json"]) {
      pages.push(
        bench.service.request(path, { headers: { authorization: `Bearer ${adminToken}` } }).then((one) => one.text()),
      )
    }
    for (const text of await Promise.all(pages)) assert.notInclude(text, signingSecret.slice(6, 30))
    const metrics = await (await bench.service.request("/metrics")).text()
    assert.match(metrics, /parlance_deliveries_queued_total\S* \d+/)
    assert.match(metrics, /parlance_deliveries_sent_total\S* \d+/)
  })
})
