import { assert, it } from "@effect/vitest"
import fc from "fast-check"
import { adminToken, waitUntil } from "../support/service.ts"
import { hostile, odd, places } from "./hostile.ts"
import { type Answer, assertProblem, type Json, type Organization, read, suiteOnService, variants } from "./harness.ts"

// A failure prints the seed; `FUZZ_SEED` repeats it and `FUZZ_RUNS` asks for more than CI has time for.
const seed = Number(process.env.FUZZ_SEED ?? 20_261_121)
const runs = Number(process.env.FUZZ_RUNS ?? 2000)
/** An answer that takes longer is missing. A busy machine may take ten times as long as an idle one. */
const limitMillis = 60_000

const management = "/console/api/organizations"
/** Paths and the methods they take. */
const targets: ReadonlyArray<readonly [path: string, methods: ReadonlyArray<string>]> = [
  ["/api/generate/fuzz", ["POST", "GET"]],
  ["/api/generate/fuzz", ["POST"]],
  ["/api/generate/fuzz?template_id=t", ["GET"]],
  ["/api/batch-generate/fuzz", ["POST"]],
  ["/api/batch-generate/fuzz", ["POST"]],
  ["/api/webhook/events/fuzz", ["POST"]],
  ["/api/webhook/events/fuzz", ["POST"]],
  [management, ["POST", "GET"]],
  [`${management}/fuzz`, ["GET", "PATCH"]],
  [`${management}/fuzz/keys`, ["POST", "GET"]],
  [`${management}/fuzz/keys/0`, ["DELETE"]],
  [`${management}/fuzz/templates`, ["POST", "GET"]],
  [`${management}/fuzz/templates/import`, ["POST"]],
  [`${management}/fuzz/templates/scratch`, ["GET", "PATCH"]],
  [`${management}/fuzz/templates/scratch/variants`, ["POST"]],
  [`${management}/fuzz/templates/scratch/variants/a`, ["GET", "PATCH"]],
  [`${management}/fuzz/templates/scratch/preview`, ["POST"]],
  [`${management}/fuzz/templates/t/results`, ["GET"]],
  [`${management}/fuzz/templates/t/decisions`, ["GET"]],
  [`${management}/fuzz/webhooks/events/inbox`, ["GET"]],
  [`${management}/fuzz/webhooks/events/inbox/1/replay`, ["POST"]],
  [`${management}/fuzz/rebuild`, ["POST"]],
  ...["/healthz", "/readyz", "/metrics", "/openapi.json", "/docs", "/problems", "/problems/not-found"].map((path) =>
    [path, ["GET", "HEAD"]] as const
  ),
]

const text = fc.oneof(fc.constantFrom(...odd), fc.string({ unit: "binary", maxLength: 40 }))
const value = fc.oneof(
  { weight: 3, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  { weight: 2, arbitrary: text },
  { weight: 2, arbitrary: fc.constantFrom<Json>(null, true, 0, -1, 1.5, 1e300, "t", "a", [], {}, ["t"], [[]]) },
)
const members = [
  "template_id",
  "tracking_id",
  "user_id",
  "fields",
  "attrs",
  "requests",
  "copy_id",
  "epsilon",
  "lookback_days",
  "use_cache",
  "trace",
  "name",
  "slug",
  "vars",
  "variants",
  "targeting",
  "seasons",
  "components",
  "objective",
  "scopes",
  "expires_at",
  "templates",
  "event",
  "events",
  "event_id",
  "occurred_at",
  "url",
  "data",
  "check",
  "__proto__",
]
const jsonBody = fc.dictionary(
  fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...members) }, { weight: 1, arbitrary: text }),
  value,
  {
    maxKeys: 8,
  },
).map((some) => JSON.stringify({ template_id: "t", requests: [{ template_id: "t" }], ...some }))

/** A valid body with a few bytes changed, dropped, doubled or cut off. */
const mutated = fc.tuple(
  jsonBody,
  fc.array(fc.tuple(fc.nat(), fc.constantFrom("set", "drop", "cut", "twice"), fc.nat(255)), { maxLength: 4 }),
)
  .map(([body, changes]) => {
    let bytes = [...new TextEncoder().encode(body)]
    for (const [at, change, byte] of changes) {
      const index = bytes.length === 0 ? 0 : at % bytes.length
      if (change === "set") bytes[index] = byte
      else if (change === "drop") bytes.splice(index, 1)
      else if (change === "cut") bytes = bytes.slice(0, index)
      else bytes = [...bytes.slice(0, index), ...bytes]
    }
    return new Uint8Array(bytes)
  })

const headerText = fc.string({
  unit: fc.integer({ min: 0x20, max: 0xff }).filter((code) => code !== 0x7f).map((code) => String.fromCharCode(code)),
  maxLength: 30,
})
const mostly = <A, B>(usual: fc.Arbitrary<A>, rare: fc.Arbitrary<B>) =>
  fc.oneof({ weight: 6, arbitrary: usual }, { weight: 1, arbitrary: rare })

const request = fc.record({
  target: fc.constantFrom(...targets).chain(([path, methods]) =>
    fc.record({
      path: fc.constant(path),
      method: mostly(fc.constantFrom(...methods), fc.constantFrom("PUT", "OPTIONS", "HEAD", "PURGE", "POST", "DELETE")),
    })
  ),
  segment: mostly(fc.constant(undefined), text),
  query: fc.array(
    fc.tuple(
      fc.oneof(
        fc.constantFrom(
          "template_id",
          "attrs",
          "fields",
          "attrs[a]",
          "fields[a][]",
          "limit",
          "after",
          "attrs[",
          "user_id",
          "segment",
          "lookback_days",
          "before",
        ),
        text,
      ),
      text,
    ),
    {
      maxLength: 3,
    },
  ),
  auth: mostly(fc.constant("right"), fc.constantFrom("key", "admin", "none", "garbage")),
  contentType: mostly(
    fc.constant("application/json"),
    fc.oneof(fc.constantFrom("text/plain", "application/json; charset=x", ""), headerText),
  ),
  encoding: mostly(fc.constant(undefined), fc.constantFrom("gzip", "identity", "br", "")),
  garbage: headerText,
  body: fc.oneof(jsonBody, mutated, fc.uint8Array({ maxLength: 64 })),
})

/** A text in a URL, as raw as a client may write it. */
const encode = (one: string) => encodeURIComponent(one.toWellFormed()).replaceAll("%25", "%")

suiteOnService("Any request", (bench) => {
  let shared: Organization | undefined
  const organization = async () => {
    if (shared !== undefined) return shared
    shared = await bench.organization("fuzz", { scopes: ["generate", "events"] })
    await shared.template({
      id: "t",
      sticky_hours: 1,
      variants: [{ id: "a", vars: { s: "{{ name }} {{ fields }}" } }, ...variants("b")],
    })
    await shared.template({ id: "scratch", variants: variants("a") })
    return shared
  }

  const send = async (path: string, init: RequestInit): Promise<Answer> =>
    read(await bench.service.request(path, { ...init, signal: AbortSignal.timeout(limitMillis), redirect: "manual" }))

  const assertSound = (answer: Answer, what: string, method = "POST") => {
    assert.isBelow(answer.status, 500, `${what}: ${answer.text.slice(0, 500)}`)
    assert.isNotNull(answer.headers.get("x-request-id"), what)
    if (answer.status >= 400 && method !== "HEAD") assertProblem(answer, answer.status, undefined, what)
  }

  const answersStill = async (slug: string) => {
    const org = await bench.organization(slug)
    await org.template({ id: "t", variants: variants("a") })
    assert.deepStrictEqual((await org.post({ template_id: "t", tracking_id: "x" })).json, {
      tracking_id: "x",
      copy: { id: "a", vars: { subject: "a" } },
    })
    assert.strictEqual((await bench.service.request("/readyz").then(read)).status, 200)
  }

  for (const [route, templates] of Object.entries(places)) {
    const [method, path] = route.split(" ") as [string, string]
    it(`gets at worst a problem at ${route} with hostile values in every position`, async () => {
      const { key } = await organization()
      const faults: Array<string> = []
      for (const template of templates) {
        for (const [name, text] of Object.entries(hostile)) {
          const body = template.replaceAll("@", () => text)
          const answer = await send(path, {
            method,
            headers: {
              "x-api-key": key,
              authorization: path.startsWith("/console") ? `Bearer ${adminToken}` : "",
              "content-type": "application/json",
            },
            body,
          })
          if (answer.status >= 500) faults.push(`${template} with ${name}: ${answer.status}`)
          else assertSound(answer, `${template} with ${name}`)
          // A small body must not ask for an answer many times its size.
          const most = 2 * body.length + 50_000
          if (answer.status >= 400 && answer.text.length > most) {
            faults.push(`${template} with ${name}: ${answer.text.length} characters`)
          }
        }
      }
      assert.deepStrictEqual(faults, [])
    })
  }

  it("gets at worst a problem with odd texts in every path and parameter", async () => {
    const { key } = await organization()
    const headers = { "x-api-key": key }
    const admin = { authorization: `Bearer ${adminToken}`, "content-type": "application/json" }
    const faults: Array<string> = []
    for (const one of [...odd, "x".repeat(2500)]) {
      const id = encode(one)
      const requests: ReadonlyArray<readonly [method: string, path: string, headers: Record<string, string>]> = [
        ["GET", `/api/generate/${id}?template_id=t`, headers],
        ["GET", `/api/generate/fuzz?template_id=${id}`, headers],
        ["GET", `/api/generate/fuzz?template_id=t&tracking_id=${id}`, headers],
        ["GET", `/api/generate/fuzz?template_id=t&user_id=${id}`, headers],
        ["GET", `/api/generate/fuzz?template_id=t&attrs=${id}&fields=${id}`, headers],
        ["GET", `/api/generate/fuzz?template_id=t&attrs[${id}]=${id}&fields[${id}]=${id}`, headers],
        ["GET", `/api/generate/fuzz?template_id=t&${id}`, headers],
        ["GET", `/console/api/organizations/${id}`, admin],
        ["PATCH", `/console/api/organizations/${id}`, admin],
        ["GET", `/console/api/organizations/${id}/keys`, admin],
        ["POST", `/console/api/organizations/${id}/keys`, admin],
        ["DELETE", `/console/api/organizations/fuzz/keys/${id}`, admin],
        ["GET", `/console/api/organizations/${id}/templates`, admin],
        ["GET", `/console/api/organizations/fuzz/templates?after=${id}`, admin],
        ["GET", `/console/api/organizations/fuzz/templates?limit=${id}`, admin],
        ["GET", `/console/api/organizations/fuzz/templates/${id}`, admin],
        ["DELETE", `/console/api/organizations/fuzz/templates/${id}`, admin],
        ["PATCH", `/console/api/organizations/fuzz/templates/${id}`, admin],
        ["GET", `/console/api/organizations/fuzz/templates/t/variants/${id}`, admin],
        ["DELETE", `/console/api/organizations/fuzz/templates/t/variants/${id}`, admin],
        ["POST", `/api/webhook/events/${id}`, headers],
        ["POST", `/api/webhook/${id}/fuzz`, headers],
        ["GET", `/console/api/organizations/fuzz/templates/${id}/results`, admin],
        ["GET", `/console/api/organizations/fuzz/templates/t/results?segment=${id}&lookback_days=${id}`, admin],
        ["GET", `/console/api/organizations/fuzz/templates/${id}/decisions?after=${id}`, admin],
        ["GET", `/console/api/organizations/fuzz/webhooks/${id}/inbox?before=${id}&limit=${id}`, admin],
        ["POST", `/console/api/organizations/fuzz/webhooks/${id}/inbox/${id}/replay`, admin],
        ["POST", `/console/api/organizations/${id}/rebuild`, admin],
        ["GET", `/problems/${id}`, {}],
        ["GET", `/${id}`, {}],
      ]
      for (const [method, path, headers] of requests) {
        const body = method === "PATCH" ? { body: "{}" } : method === "POST" ? { body: `{"name":"k"}` } : {}
        const answer = await send(path, { method, headers, ...body })
        if (answer.status >= 500) faults.push(`${method} ${path.slice(0, 200)}: ${answer.status}`)
        else assertSound(answer, `${method} ${path}`, method)
      }
    }
    assert.deepStrictEqual(faults, [])
  })

  it(`gets at worst a problem in ${runs} runs`, async () => {
    const { key } = await organization()
    const authOf: Record<string, Record<string, string>> = {
      key: { "x-api-key": key },
      admin: { authorization: `Bearer ${adminToken}` },
      none: {},
    }
    await fc.assert(
      fc.asyncProperty(
        request,
        async ({ auth, body, contentType, encoding, garbage, query, segment, target: { method, path } }) => {
          const right = path.startsWith("/console") ? "admin" : "key"
          const base = segment === undefined ? path : path.replace(/[^/?]*(?=$|\?)/, () => encode(segment))
          const parameters = query.map(([name, value]) => `${encode(name)}=${encode(value)}`).join("&")
          const url = parameters === "" ? base : `${base}${base.includes("?") ? "&" : "?"}${parameters}`
          const answer = await send(url, {
            method,
            headers: {
              ...(authOf[auth === "right" ? right : auth] ??
                { "x-api-key": garbage, authorization: garbage, "x-request-id": garbage }),
              ...(contentType === "" ? {} : { "content-type": contentType }),
              ...(encoding === undefined ? {} : { "content-encoding": encoding }),
            },
            ...(method === "GET" || method === "HEAD" ? {} : { body: body as BodyInit }),
          })
          assertSound(answer, `${method} ${url}`, method)
        },
      ),
      { seed, numRuns: runs },
    )
  })

  it("is followed by a normal answer to a valid request", () => answersStill("after-requests"))

  /** Sends bytes as they are, says that no more will come, and reads until the service closes. */
  const raw = async (bytes: Uint8Array): Promise<string> => {
    const { hostname, port } = new URL(bench.service.url)
    const connection = await Deno.connect({ hostname, port: Number(port) })
    const timer = setTimeout(() => connection.close(), limitMillis)
    const chunks: Array<string> = []
    const decoder = new TextDecoder()
    try {
      await connection.write(bytes)
      await connection.closeWrite()
      const buffer = new Uint8Array(65_536)
      for (let count = await connection.read(buffer); count !== null; count = await connection.read(buffer)) {
        chunks.push(decoder.decode(buffer.subarray(0, count)))
      }
    } catch (error) {
      // Resetting a connection that does not speak HTTP is allowed, keeping it open is not.
      if (error instanceof Deno.errors.BadResource || error instanceof Deno.errors.Interrupted) throw error
    } finally {
      clearTimeout(timer)
      try {
        connection.close()
      } catch {
        // Closed by the timer.
      }
    }
    return chunks.join("")
  }
  const ascii = (text: string) => Uint8Array.from(text, (letter) => letter.charCodeAt(0) & 0xff)
  const head = "POST /api/generate/fuzz HTTP/1.1\r\nHost: x\r\n"
  const malformed: ReadonlyArray<string> = [
    "nonsense\r\n\r\n",
    "\u0000\u0001\u0002\u00ff\u00fe\r\n\r\n",
    "GET / HTTP/9.9\r\n\r\n",
    "GET  /  HTTP/1.1\r\n\r\n",
    `${head}Content-Length: x\r\n\r\n`,
    `${head}Content-Length: -1\r\n\r\n`,
    `${head}Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}`,
    `${head}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}`,
    `${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
    `${head}bad header\r\n\r\n`,
    `${head}X: ${"x".repeat(20_000)}\r\n\r\n`,
    `GET /${"x".repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
    `${head}a: b\u0000c\r\n\r\n`,
    "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  ]

  it("closes the connection on invalid HTTP, and answers only with rejections", async () => {
    await organization()
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.constantFrom(...malformed).map(ascii),
          fc.uint8Array({ minLength: 1, maxLength: 200 }),
          fc.uint8Array({ maxLength: 100 }).map((bytes) =>
            Uint8Array.from([...ascii(head), ...bytes, ...ascii("\r\n\r\n")])
          ),
        ),
        async (bytes) => {
          const status = /^HTTP\/1\.1 (\d{3})/.exec(await raw(bytes))?.[1]
          if (status !== undefined) assert.strictEqual(status[0], "4")
        },
      ),
      { seed, numRuns: Math.ceil(runs / 5), examples: malformed.map((one) => [ascii(one)]) },
    )
  })

  it("rejects invalid HTTP and too large headers with a problem", async () => {
    for (const one of ["nonsense\r\n\r\n", `${head}Content-Length: x\r\n\r\n`]) {
      assert.match(await raw(ascii(one)), /^HTTP\/1\.1 400 /, one)
    }
    const answer = await raw(ascii(`${head}X: ${"x".repeat(20_000)}\r\n\r\n`))
    assert.match(answer, /^HTTP\/1\.1 431 /)
    assert.match(answer, /^content-type: application\/problem\+json/im)
  })

  it("is followed by a normal answer after invalid HTTP", () => answersStill("after-garbage"))

  it("is processed or rejected, so that the inbox is empty", async () => {
    const { key } = await organization()
    const headers = { "x-api-key": key, "content-type": "application/json" }
    const body = JSON.stringify({ event: "click", tracking_id: "after all", event_id: "last" })
    assert.strictEqual((await send("/api/webhook/events/fuzz", { method: "POST", headers, body })).status, 200)
    const admin = { authorization: `Bearer ${adminToken}` }
    let json: Json
    await waitUntil("the inbox is empty", async () => {
      json = (await send(`${management}/fuzz/webhooks/events/inbox?all=true&limit=100`, { headers: admin })).json
      return json.inbox.every((entry: Json) => entry.status !== "pending")
    })
    const stuck = json.inbox.filter((entry: Json) => JSON.stringify(entry.faults).includes("could not be stored"))
    assert.deepStrictEqual(stuck, [])
  })
})
