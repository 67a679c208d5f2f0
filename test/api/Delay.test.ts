import { assert, it } from "@effect/vitest"
import { Effect, Exit, Layer, Scope } from "effect"
import { HttpServer } from "effect/http"
import { Buffer } from "node:buffer"
import { request } from "node:http"
import { layerRoutes, layerServices } from "../../src/service/App.ts"
import * as Server from "../../src/api/http/Server.ts"
import { adminToken, makeOrganization, serviceAt } from "../support/service.ts"
import { layerSettings, temporaryEnvironment } from "../support/stores.ts"
import {
  type Answer,
  assertProblem,
  type Json,
  parallel,
  pointersOf,
  read,
  suiteOnService,
  variants,
} from "./harness.ts"

const hour = 3_600_000

suiteOnService("Delay", (bench) => {
  const asking = async (slug: string, options: { readonly scopes?: ReadonlyArray<string> } = {}) => {
    const org = await bench.organization(slug, options)
    const send = async (query: string, headers: Record<string, string> = { "x-api-key": org.key }) =>
      read(await bench.service.request(`/api/delay/${slug}?${query}`, { headers }))
    const settings = async (patch: Json) => {
      const { body, status } = await bench.service.manage("PATCH", `/organizations/${slug}`, patch)
      assert.strictEqual(status, 200, JSON.stringify(body))
      return body
    }
    return { ...org, send, settings }
  }

  it("answers the variant and a time in UTC, not in the past and within the horizon", async () => {
    const org = await asking("delay-answer")
    await org.template({ id: "t", variants: variants("a", "b") })
    const before = Date.now()
    const answer = await org.send("delay_id=a&user_id=u1&ignored=1")
    assert.strictEqual(answer.status, 200, answer.text)
    assert.match(answer.headers.get("content-type") ?? "", /^application\/json; charset=utf-8$/i)
    assert.strictEqual(answer.headers.get("cache-control"), "no-store")
    assert.deepStrictEqual(Object.keys(answer.json), ["service_words"])
    const { delay_id, delay_time, ...more } = answer.json.service_words
    assert.strictEqual(delay_id, "a")
    assert.deepStrictEqual(more, {})
    assert.match(delay_time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    const at = Date.parse(delay_time)
    assert.isTrue(at >= before && at < Date.now() + 24 * hour, delay_time)
  })

  it("returns the same answer directly and through the router", async () => {
    const org = await asking("delay-both-ways")
    await org.template({ id: "t", variants: variants("a") })
    const { origin } = new URL(bench.service.url)
    /** A GET that declares an empty body is answered by the router. */
    const routed = (query: string) =>
      new Promise<Answer>((resolve, reject) => {
        const headers = { "x-api-key": org.key, "content-length": "0" }
        request(`${origin}/api/delay/delay-both-ways?${query}`, { headers }, async (response) => {
          const names = Object.entries(response.headers).flatMap(([name, value]) =>
            typeof value === "string" ? [[name, value] as [string, string]] : []
          )
          const chunks: Array<Uint8Array> = []
          for await (const chunk of response) chunks.push(chunk)
          const text = Buffer.concat(chunks).toString()
          resolve({ status: response.statusCode!, headers: new Headers(names), text, json: JSON.parse(text) })
        }).on("error", reject).end()
      })
    const comparable = ({ headers, json, status }: Answer) => ({
      status,
      json: json.service_words === undefined ? json : Object.keys(json.service_words),
      headers: [...headers].filter(([name]) =>
        !["date", "x-request-id", "content-length", "connection", "vary"].includes(name)
      ),
    })
    const queries = [
      "delay_id=a",
      "delay_id=a&user_id=u1",
      "delay_id=a&email=ann%40example.com&trace=true&template_id=t",
      "delay_id=a&user_id=u1&unknown=1",
      "delay_id=a&delay_id=b",
      "delay_id=none",
      "delay_id=&user_id=u1",
      "delay_id=a&trace=maybe",
      "delay_id=a&amp;user_id=u1",
      "delay_id=a&email=ann%2Bx@example.com",
      "delay_id=a&email=ann+x@example.com",
      "",
    ]
    for (const query of queries) {
      assert.deepStrictEqual(comparable(await org.send(query)), comparable(await routed(query)), query)
    }
    const unescaped = await org.send("delay_id=a&email=ann+x@example.com")
    assertProblem(unescaped, 400, "invalid-request")
    assert.include(unescaped.json.errors[0].detail, "%2B")
    // Without data the time is the present second, which moves on between two requests.
    const timeOf = ({ json }: Answer) => Date.parse(json.service_words.delay_time)
    const before = timeOf(await org.send("delay_id=a&user_id=u2"))
    const between = timeOf(await routed("delay_id=a&user_id=u2"))
    const after = timeOf(await org.send("delay_id=a&user_id=u2"))
    assert.isTrue(before <= between && between <= after, `${before} <= ${between} <= ${after}`)
  })

  it("accepts the key in either header, and rejects a missing key, one of another organization and one without the scope", async () => {
    const org = await asking("delay-keys")
    await org.template({ id: "t", variants: variants("a") })
    const other = await asking("delay-other")
    const events = await asking("delay-events", { scopes: ["events"] })
    assert.strictEqual((await org.send("delay_id=a", { authorization: `Bearer ${org.key}` })).status, 200)
    assertProblem(await org.send("delay_id=a", {}), 401)
    assertProblem(await org.send("delay_id=a", { "x-api-key": other.key }), 403)
    assertProblem(await events.send("delay_id=a"), 403)
    const posted = await read(
      await bench.service.request("/api/delay/delay-keys?delay_id=a", {
        method: "POST",
        headers: { "x-api-key": org.key },
      }),
    )
    assertProblem(posted, 405)
  })

  it("reports every fault of a request at once", async () => {
    const org = await asking("delay-faults")
    const answer = await org.send(`user_id=${"x".repeat(201)}&email=&trace=yes&template_id=a&template_id=b`)
    assertProblem(answer, 400)
    assert.deepStrictEqual(pointersOf(answer), ["delay_id", "email", "template_id", "trace", "user_id"])
    const controls = await org.send("delay_id=a%00b")
    assertProblem(controls, 400)
    assert.deepStrictEqual(pointersOf(controls), ["delay_id"])
  })

  it("accepts only variants of the organization and of the named template", async () => {
    const org = await asking("delay-unknown")
    const other = await asking("delay-foreign")
    await org.template({ id: "t", variants: variants("a") })
    await other.template({ id: "t", variants: variants("foreign") })
    assertProblem(await org.send("delay_id=zzz"), 404, "variant-not-found")
    assertProblem(await org.send("delay_id=foreign"), 404, "variant-not-found")
    assertProblem(await org.send("delay_id=a&template_id=other"), 404, "variant-not-found")
    assert.strictEqual((await org.send("delay_id=a&template_id=t")).status, 200)
  })

  it("explains the answer with trace", async () => {
    const org = await asking("delay-trace")
    await org.template({ id: "t", variants: variants("a") })
    const { trace } = (await org.send("delay_id=a&email=ann%40example.com&trace=true")).json.service_words
    assert.strictEqual(trace.basis, "default")
    assert.strictEqual(trace.time_zone, "UTC")
    assert.strictEqual(trace.time_zone_of, "organization")
    assert.deepStrictEqual(trace.levels.map(({ level }: Json) => level), [
      "user",
      "variant",
      "template",
      "organization",
    ])
    assert.isAtLeast(trace.curve.length, 24)
    assert.isUndefined((await org.send("delay_id=a&trace=false")).json.service_words.trace)
  })

  it("respects the organization's quiet hours, days and horizon, which the management API sets and returns", async () => {
    const org = await asking("delay-limits")
    await org.template({ id: "t", variants: variants("a") })
    const path = "/organizations/delay-limits"
    const { body } = await bench.service.manage("GET", path)
    assert.deepInclude(body, { delay_horizon_hours: 24, quiet_hours: null, allowed_days: null })
    const later = new Date(Date.now() + 3 * hour).getUTCHours()
    const time = (of: number) => `${String(of % 24).padStart(2, "0")}:00`
    const changed = await org.settings({
      delay_horizon_hours: 48,
      quiet_hours: { from: time(later + 1), to: time(later) },
    })
    assert.deepInclude(changed, { delay_horizon_hours: 48, quiet_hours: { from: time(later + 1), to: time(later) } })
    const answers = await parallel(20, (n) => org.send(`delay_id=a&user_id=u${n}`))
    for (const { json, text } of answers) {
      assert.strictEqual(new Date(json.service_words.delay_time).getUTCHours(), later, text)
    }
    const days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
    const tomorrow = (new Date().getUTCDay() + 1) % 7
    await org.settings({ allowed_days: [days[tomorrow]], quiet_hours: null })
    const { delay_time } = (await org.send("delay_id=a")).json.service_words
    assert.strictEqual(new Date(delay_time).getUTCDay(), tomorrow)
    assert.deepInclude(await org.settings({ allowed_days: null }), { allowed_days: null, delay_horizon_hours: 48 })
  })

  it("rejects invalid limits with all faults at once", async () => {
    await asking("delay-limit-faults")
    const refused = async (patch: Json, ...pointers: ReadonlyArray<string>) => {
      const { body, status } = await bench.service.manage("PATCH", "/organizations/delay-limit-faults", patch)
      assert.strictEqual(status, 400, JSON.stringify(body))
      assert.deepStrictEqual(body.errors.map(({ pointer }: Json) => pointer).sort(), pointers)
    }
    await refused(
      { delay_horizon_hours: 0.5, quiet_hours: { from: "25:00", to: "8" }, allowed_days: [] },
      "/allowed_days/0",
      "/delay_horizon_hours",
      "/quiet_hours/from",
      "/quiet_hours/to",
    )
    await refused({ quiet_hours: { from: "08:00", to: "08:00" } }, "/quiet_hours/to")
    await refused(
      { delay_horizon_hours: 169, allowed_days: ["mon", "someday"] },
      "/allowed_days/1",
      "/delay_horizon_hours",
    )
  })
})

it("uses the configured name of the member in the answer", async () => {
  const scope = await Effect.runPromise(Scope.make())
  const starting = Effect.gen(function* () {
    const environment = yield* temporaryEnvironment
    const context = yield* Layer.build(
      Server.serve(layerRoutes).pipe(
        Layer.provideMerge(Server.layerServer),
        Layer.provideMerge(layerServices),
        Layer.provide(
          layerSettings({
            PORT: "0",
            ADMIN_TOKEN: adminToken,
            LOG_LEVEL: "None",
            SERVICE_WORDS: "acme_words",
            ...environment,
          }),
        ),
      ),
    )
    const { address } = yield* Effect.provideContext(HttpServer.HttpServer, context)
    if (address._tag === "UnixPathAddress") return yield* Effect.die("no port")
    return serviceAt(`http://127.0.0.1:${address.port}`)
  }).pipe(Effect.orDie)
  try {
    const service = await Effect.runPromise(Scope.provide(starting, scope))
    const key = await makeOrganization(service, "words")
    await service.manage("POST", "/organizations/words/templates", { id: "t", name: "T", variants: variants("a") })
    const { json } = await read(
      await service.request("/api/delay/words?delay_id=a", { headers: { "x-api-key": key } }),
    )
    assert.deepStrictEqual(Object.keys(json), ["acme_words"])
    assert.strictEqual(json.acme_words.delay_id, "a")
  } finally {
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }
})
