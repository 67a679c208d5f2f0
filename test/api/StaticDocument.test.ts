import { assert, describe, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import { gunzipSync } from "node:zlib"
import { HttpServerRequest } from "effect/http"
import { acceptsGzip, matchesTag, staticDocument } from "../../src/api/http/StaticDocument.ts"

const text = JSON.stringify(Array.from({ length: 1000 }, (_, i) => ({ i })))
const document = staticDocument(text, "application/json", { "cache-control": "no-cache" })

const ask = (headers: Record<string, string>) => {
  const response = document(HttpServerRequest.fromWeb(new Request("http://x/", { headers })))
  return { ...response, bytes: response.body._tag === "Uint8Array" ? response.body.body : undefined }
}

describe("a static document", () => {
  it("is sent from one buffer, compressed for clients that accept it", () => {
    const plain = ask({})
    assert.strictEqual(Buffer.from(plain.bytes!).toString(), text)
    assert.isUndefined(plain.headers["content-encoding"])
    const compressed = ask({ "accept-encoding": "br, gzip;q=0.5" })
    assert.strictEqual(compressed.headers["content-encoding"], "gzip")
    assert.strictEqual(gunzipSync(compressed.bytes!).toString(), text)
    for (const headers of [plain.headers, compressed.headers]) assert.strictEqual(headers["vary"], "accept-encoding")
    assert.strictEqual(ask({}).bytes, plain.bytes)
    assert.strictEqual(ask({ "accept-encoding": "gzip" }).bytes, compressed.bytes)
  })

  it("is not sent again to a client with the current tag", () => {
    const { etag } = ask({}).headers
    const again = ask({ "if-none-match": etag! })
    assert.strictEqual(again.status, 304)
    assert.strictEqual(again.body._tag, "Empty")
    assert.strictEqual(again.headers["etag"], etag)
    assert.strictEqual(ask({ "if-none-match": `"other"` }).status, 200)
  })

  it("compares tags weakly and in lists", () => {
    assert.isTrue(matchesTag(`"a", W/"b"`, `W/"b"`))
    assert.isTrue(matchesTag(`"b"`, `W/"b"`))
    assert.isTrue(matchesTag("*", `W/"b"`))
    assert.isFalse(matchesTag(`"bb"`, `W/"b"`))
    assert.isFalse(matchesTag(undefined, `W/"b"`))
  })

  it("is compressed only if the client accepts it", () => {
    const accepted = ["gzip", "GZIP", "br, gzip", "x-gzip", "*", "deflate, *;q=0.1", "gzip;q=1.0, identity;q=0"]
    const refused = [undefined, "", "br", "gzip;q=0", "gzip;q=0.000", "*;q=0", "*, gzip;q=0", "gzipped"]
    assert.deepStrictEqual(accepted.filter((header) => !acceptsGzip(header)), [])
    assert.deepStrictEqual(refused.filter((header) => acceptsGzip(header)), [])
  })
})
