import { assert } from "@effect/vitest"
import { request } from "node:http"
import { Buffer } from "node:buffer"
import { gunzipSync } from "node:zlib"
import { it } from "vitest"
import { adminToken } from "../support/service.ts"
import { password } from "./furnished.ts"
import { base, describeShop } from "./shop.ts"

describeShop("Compression of pages and of the management API", (shop) => {
  /** The bytes of a response as they came, which `fetch` does not return. */
  const raw = (path: string, headers: Record<string, string>, { body, method = "GET" }: {
    readonly method?: string
    readonly body?: string
  } = {}) =>
    new Promise<{ status: number; headers: NodeJS.Dict<string | Array<string>>; bytes: Buffer }>((resolve, reject) => {
      const asked = request(new URL(path, shop.service.url), { method, headers }, (answer) => {
        const parts: Array<Buffer> = []
        answer.on("data", (part) => parts.push(part))
        answer.on(
          "end",
          () => resolve({ status: answer.statusCode!, headers: answer.headers, bytes: Buffer.concat(parts) }),
        )
      })
      asked.on("error", reject)
      asked.end(body)
    })

  const signIn = async () => {
    const body = new URLSearchParams({ email: "editor@example.com", password }).toString()
    const answer = await raw("/console/sign-in", {
      origin: shop.service.url,
      "content-type": "application/x-www-form-urlencoded",
    }, { method: "POST", body })
    return answer.headers["set-cookie"]![0]!.split(";")[0]!
  }

  const browser = { "accept-encoding": "gzip, deflate, br", "sec-fetch-site": "same-origin" }
  const tokenIn = (page: string) => /name="_csrf" value="([^"]+)"/.exec(page)![1]!

  it("applies to pages requested by the console, but not to requests from another site", async () => {
    const cookie = await signIn()
    const page = await raw(base, { cookie, ...browser })
    assert.deepInclude(page.headers, {
      "content-encoding": "gzip",
      vary: "accept-encoding",
      "content-length": String(page.bytes.length),
      "content-type": "text/html; charset=utf-8",
    })
    const text = gunzipSync(page.bytes).toString()
    assert.include(text, "</html>")
    assert.isBelow(page.bytes.length * 3, text.length)
    assert.strictEqual(
      (await raw(base, { cookie, ...browser, "sec-fetch-site": "none" })).headers["content-encoding"],
      "gzip",
    )

    const plain: ReadonlyArray<Record<string, string>> = [
      { "accept-encoding": "gzip", "sec-fetch-site": "cross-site" },
      { "accept-encoding": "gzip", "sec-fetch-site": "same-site" },
      // Plain HTTP, or a browser that does not say so.
      { "accept-encoding": "gzip" },
      { "sec-fetch-site": "same-origin" },
      { "accept-encoding": "gzip;q=0", "sec-fetch-site": "same-origin" },
    ]
    for (const headers of plain) {
      const answer = await raw(base, { cookie, ...headers })
      assert.isUndefined(answer.headers["content-encoding"], JSON.stringify(headers))
      assert.strictEqual(answer.headers["vary"], "accept-encoding")
      assert.include(answer.bytes.toString(), "</html>")
    }
  })

  it("masks the form token differently in each response, and accepts each mask", async () => {
    const cookie = await signIn()
    const pages = await Promise.all([1, 2].map(() => raw(base, { cookie, ...browser })))
    const [one, two] = pages.map(({ bytes }) => tokenIn(gunzipSync(bytes).toString()))
    assert.notStrictEqual(one, two)
    const post = (token: string) =>
      raw(`${base}/-/new`, {
        cookie,
        ...browser,
        origin: shop.service.url,
        "content-type": "application/x-www-form-urlencoded",
      }, { method: "POST", body: new URLSearchParams({ _csrf: token, name: "" }).toString() })
    for (const token of [one!, two!]) {
      const answer = await post(token)
      assert.strictEqual(answer.status, 400)
      assert.isUndefined(answer.headers["content-encoding"], "pages of other methods may show a new secret")
      assert.include(answer.bytes.toString(), "corrected")
    }
    const mixed = Buffer.concat([
      Buffer.from(one!, "base64url").subarray(0, 32),
      Buffer.from(two!, "base64url").subarray(32),
    ])
    const unmasked = Buffer.from(one!, "base64url").subarray(0, 32).map((byte, at) =>
      byte ^ Buffer.from(one!, "base64url")[32 + at]!
    )
    for (const wrong of ["", "x", `${one}x`, one!.slice(0, -2), mixed.toString("base64url")]) {
      assert.strictEqual((await post(wrong)).status, 403, wrong)
    }
    // As in a form that was opened before tokens were masked.
    assert.strictEqual((await post(Buffer.from(unmasked).toString("base64url"))).status, 400)
  })

  it("applies to JSON of the management API from 1,024 bytes", async () => {
    const authorization = `Bearer ${adminToken}`
    const body = Array.from({ length: 4000 }, (_, n) => `<p>Line ${n} 🎂 שלום</p>`).join("\n")
    const variants = ["a", "b", "c"].map((id) => ({ id, vars: { subject: id, body: body.slice(0, 60_000) } }))
    await shop.manage("POST", "/organizations/shop/templates", { id: "long", name: "Long", variants })
    const path = "/console/api/organizations/shop/templates/long"
    const plain = await raw(path, { authorization })
    const zipped = await raw(path, { authorization, "accept-encoding": "gzip" })
    assert.isAbove(plain.bytes.length, 3 * 60_000)
    assert.strictEqual(zipped.headers["content-encoding"], "gzip")
    assert.strictEqual(zipped.headers["content-length"], String(zipped.bytes.length))
    assert.isBelow(zipped.bytes.length * 5, plain.bytes.length)
    assert.isTrue(gunzipSync(zipped.bytes).equals(plain.bytes))
    assert.strictEqual(plain.headers["vary"], "accept-encoding")

    const short = await raw("/console/api/organizations/shop/keys", { authorization, "accept-encoding": "gzip" })
    assert.isUndefined(short.headers["content-encoding"])
    assert.isUndefined(short.headers["vary"])
    const cookie = await signIn()
    const isZipped = async (headers: Record<string, string>) =>
      (await raw(path, { cookie, "accept-encoding": "gzip", ...headers })).headers["content-encoding"] === "gzip"
    assert.isTrue(await isZipped({ "sec-fetch-site": "same-origin" }))
    assert.isFalse(await isZipped({ "sec-fetch-site": "cross-site" }))
    assert.isFalse(await isZipped({}))
  })

  it("does not apply to Generate", async () => {
    const { key } = await shop.manage("POST", "/organizations/shop/keys", { name: "Site" })
    const answer = await raw("/api/generate/shop", {
      "x-api-key": key,
      "content-type": "application/json",
      "accept-encoding": "gzip",
    }, { method: "POST", body: JSON.stringify({ template_id: "long", user_id: "u" }) })
    assert.strictEqual(answer.status, 200)
    assert.isUndefined(answer.headers["content-encoding"])
    assert.isAbove(answer.bytes.length, 50_000)
  })
})
