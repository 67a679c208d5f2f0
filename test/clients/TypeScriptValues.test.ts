import { assert, describe, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import { Parlance, ParlanceInvalidValue } from "../../clients/typescript/src/index.ts"

const content = { tracking_id: "t", copy: { id: "a", vars: { s: "x" } } }

/** A client whose requests are recorded, and answered in the form that each call expects. */
const recording = () => {
  const requests: Array<{ readonly url: URL; readonly init: RequestInit }> = []
  const fetch: typeof globalThis.fetch = (url, init = {}) => {
    requests.push({ url: new URL(String(url)), init })
    const isBatch = String(url).includes("/batch-generate/")
    const other = { status: "ok", items: [], deliveries: [], id: "d", words: { delay_time: "x" } }
    return Promise.resolve(Response.json(isBatch ? { t: content } : { ...content, ...other }))
  }
  const client = new Parlance({ url: "http://127.0.0.1:1", org: "o", apiKey: "k", fetch })
  return { client, requests, body: () => JSON.parse(String(requests.at(-1)!.init.body)) }
}

class Product {
  readonly title = "Hat"
  readonly #secret = 1
  get price() {
    return this.#secret
  }
}

const date = new Date("2026-03-14T09:30:00Z")
const circular: Record<string, unknown> = {}
circular["again"] = [circular]
const deep = Array.from({ length: 200 }).reduce((inner) => [inner], 1 as unknown)

const failed = async (promise: Promise<unknown>): Promise<ParlanceInvalidValue> => {
  try {
    await promise
  } catch (error) {
    assert.instanceOf(error, ParlanceInvalidValue)
    return error
  }
  return assert.fail("should have failed")
}

describe("Values in requests of the TypeScript client", () => {
  it("are converted to JSON", async () => {
    const { body, client } = recording()
    const cases: ReadonlyArray<readonly [value: unknown, sent: unknown]> = [
      [date, "2026-03-14T09:30:00.000Z"],
      [14n, 14],
      [12345678901234567890n, "12345678901234567890"],
      [new URL("https://shop.example/a b"), "https://shop.example/a%20b"],
      [new Map<unknown, unknown>([["a", 1n], [2, new Set(["b"])]]), { a: 1, 2: ["b"] }],
      [new Set([1, date]), [1, "2026-03-14T09:30:00.000Z"]],
      [new Float64Array([1.5, 2]), [1.5, 2]],
      [new BigInt64Array([7n]), [7]],
      [new Product(), { title: "Hat" }],
      [{ toJSON: () => ({ amount: 5n }) }, { amount: 5 }],
      [{ left: undefined, kept: null, list: [undefined, 1] }, { kept: null, list: [null, 1] }],
      [Object.create(null), {}],
      [JSON.parse('{"__proto__": {"a": 1}}'), JSON.parse('{"__proto__": {"a": 1}}')],
      [new Number(5), 5],
      [{}, {}],
    ]
    for (const [value, sent] of cases) {
      await client.generate({ template_id: "t", fields: { v: value } })
      assert.deepStrictEqual(body().fields.v, sent)
    }
  })

  it("are refused by place before a request is sent if JSON has no form for them", async () => {
    const { client, requests } = recording()
    const cases: ReadonlyArray<readonly [value: unknown, path: string, words: string]> = [
      [NaN, "fields.v", "NaN"],
      [{ price: [1, -Infinity] }, "fields.v.price[1]", "-Infinity"],
      [new Date("nothing"), "fields.v", "invalid Date"],
      [Symbol("s"), "fields.v", "symbol"],
      [() => 1, "fields.v", "function"],
      [Promise.resolve(1), "fields.v", "await"],
      [/x/, "fields.v", "RegExp"],
      [new WeakMap(), "fields.v", "WeakMap"],
      [new Error("x"), "fields.v", "Error"],
      [Buffer.from("x"), "fields.v", "bytes"],
      [new ArrayBuffer(1), "fields.v", "bytes"],
      [new Float32Array([NaN]), "fields.v[0]", "NaN"],
      [new Map([[{}, 1]]), "fields.v", "key"],
      [new Map<unknown, number>([[1, 1], ["1", 2]]), "fields.v.1", "two keys"],
      [circular, "fields.v.again[0]", "itself"],
      [deep, `fields.v${"[0]".repeat(99)}`, "nested"],
      [
        {
          get price() {
            throw new Error("no price")
          },
        },
        "fields.v",
        "no price",
      ],
      [{ list: [{ toJSON: () => Object.keys(null!) }] }, "fields.v.list[0]", "cannot be read"],
      [Array.from({ length: 500_001 }), "fields.v", "500001 elements"],
    ]
    for (const [value, path, words] of cases) {
      const request = { template_id: "t", fields: { v: value } }
      const error = await failed(client.generate(request))
      assert.strictEqual(error.path, path)
      assert.include(error.message, words)
      const instead = await client.generate(request, { fallback: { s: "F" } })
      assert.deepInclude(instead, { vars: { s: "F" }, copy_id: undefined })
      assert.instanceOf(instead.fallback, ParlanceInvalidValue)
    }
    assert.strictEqual(requests.length, 0)
  })

  it("are converted in every call", async () => {
    const { body, client, requests } = recording()
    await client.generate({
      template_id: "t",
      user_id: 5n as never,
      attrs: { born: date, page: new URL("https://a.b/") },
    })
    assert.deepInclude(body(), { user_id: 5, attrs: { born: "2026-03-14T09:30:00.000Z", page: "https://a.b/" } })
    await client.generateBatch({ requests: [{ template_id: "t" }], fields: { n: 1n }, lookback_days: 7n as never })
    assert.deepInclude(body(), { fields: { n: 1 }, lookback_days: 7 })
    await client.deliver({ template_id: "t", email: "a@b.example", send_at: date }, { idempotencyKey: 17 as never })
    assert.strictEqual(body().send_at, "2026-03-14T09:30:00.000Z")
    assert.strictEqual(new Headers(requests.at(-1)!.init.headers).get("idempotency-key"), "17")
    await client.sendEvents([{ event: "conversion", occurred_at: date, value: 5n, user_id: undefined as never }])
    assert.deepInclude(body()[0], { occurred_at: "2026-03-14T09:30:00.000Z", value: 5 })
    assert.notProperty(body()[0], "user_id")
    await client.delay({ delay_id: "a", user_id: 7 as never, email: null as never })
    assert.deepStrictEqual(Object.fromEntries(requests.at(-1)!.url.searchParams), { delay_id: "a", user_id: "7" })
    await client.deliveries({ limit: 5 })
    assert.deepStrictEqual(Object.fromEntries(requests.at(-1)!.url.searchParams), { limit: "5" })
  })

  it("are refused in every call", async () => {
    const { client, requests } = recording()
    const bad = Symbol("bad") as never
    const cases: ReadonlyArray<readonly [path: string, call: () => Promise<unknown>]> = [
      ["attrs.tier", () => client.generate({ template_id: "t", attrs: { tier: bad } })],
      ["template_id", () => client.generate({ template_id: bad })],
      ["fields.n", () => client.generateBatch({ requests: [{ template_id: "t" }], fields: { n: NaN } })],
      [
        "requests[1].tracking_id",
        () => client.generateBatch({ requests: [{ template_id: "t" }, { template_id: "u", tracking_id: bad }] }),
      ],
      ["requests", () => client.generateBatch({ requests: undefined as never })],
      ["send_at", () => client.deliver({ template_id: "t", email: "a@b.example", send_at: new Date(NaN) })],
      [
        "idempotencyKey",
        () => client.deliver({ template_id: "t", email: "a@b.example" }, { idempotencyKey: "für Ann" }),
      ],
      ["events[0].value", () => client.sendEvents([{ event: "conversion", value: NaN }])],
      ["events[0]", () => client.sendEvents([null as never])],
      ["events", () => client.sendEvents(null as never)],
      ["user_id", () => client.delay({ delay_id: "a", user_id: {} as never })],
      ["limit", () => client.deliveries({ limit: NaN })],
      ["id", () => client.delivery(bad)],
      ["id", () => client.cancelDelivery(undefined as never)],
    ]
    for (const [path, call] of cases) assert.strictEqual((await failed(call())).path, path)
    assert.strictEqual(requests.length, 0)
  })
})
