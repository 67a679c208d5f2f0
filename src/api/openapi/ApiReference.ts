import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApi, HttpApiScalar } from "effect/http-api"
import { Buffer } from "node:buffer"
import { hash } from "node:crypto"
import { promisify } from "node:util"
import { gzip } from "node:zlib"
import { acceptsGzip, entityTag, matchesTag, staticDocument } from "../http/StaticDocument.ts"

// The API reference at `/docs`: Scalar reads `/openapi.json` in the browser. Its script comes from the package of
// Effect and is served from this origin, so that the content security policy allows no other.

const scriptPath = "/docs/scalar.js"

const start = `Scalar.createApiReference("#reference", ${
  JSON.stringify({
    url: "/openapi.json",
    withDefaultFonts: false,
    hideClientButton: true,
    showDeveloperTools: "never",
    telemetry: false,
    agent: { disabled: true },
    mcp: { disabled: true },
    // The specific names of security schemes come first, as in the examples of the guide.
    authentication: { preferredSecurityScheme: "ApiKeyHeader" },
    defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
  })
})`

/** Scalar generates stylesheets in the page, so no digest can allow them. Its trial requests go to this origin only. */
const contentSecurityPolicy = `default-src 'none'; script-src 'self' 'sha256-${
  hash("sha256", start, "base64")
}'; style-src 'unsafe-inline'; img-src 'self' data:; font-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

/** The page in which Scalar shows the OpenAPI document. */
export const referencePage = staticDocument(
  `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Parlance API</title><link rel="icon" href="data:,"></head>
<body><noscript><h1>Parlance API</h1><p>This page needs JavaScript. The same reference without it is
<a href="/openapi.json">openapi.json</a>. <a href="/docs/guide/api">The guide to the API</a> is plain HTML.</p></noscript>
<div id="reference"></div><script src="${scriptPath}"></script><script>${start}</script></body></html>
`,
  "text/html; charset=utf-8",
  { "content-security-policy": contentSecurityPolicy, "cache-control": "no-cache" },
)

/** Reads the script of Scalar from the page that Effect's own layer creates. */
const readScript: Effect.Effect<Buffer> = Effect.promise(async () => {
  const { dispose, handler } = HttpRouter.toWebHandler(
    HttpApiScalar.layer(HttpApi.make("empty"), { path: "/docs" }).pipe(Layer.provide(Layer.empty)),
    { disableLogger: true },
  )
  const page = await (await handler(new Request("http://localhost/docs"))).text()
  await dispose()
  const from = page.indexOf("<script>") + "<script>".length
  return Buffer.from(page.slice(from, page.indexOf("</script>", from)))
})

/** Serves the script. The first request loads and compresses it, with the compression outside the main thread. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const served = yield* Effect.cached(Effect.gen(function* () {
    const plain = yield* readScript
    const compressed = yield* Effect.promise(() => promisify(gzip)(plain))
    const headers = { "cache-control": "public, max-age=86400", etag: entityTag(plain), vary: "accept-encoding" }
    const contentType = "text/javascript; charset=utf-8"
    return {
      plain: HttpServerResponse.uint8Array(plain, { contentType, headers }),
      compressed: HttpServerResponse.uint8Array(compressed, {
        contentType,
        headers: { ...headers, "content-encoding": "gzip" },
      }),
      unchanged: HttpServerResponse.empty({ status: 304, headers }),
      etag: headers.etag,
    }
  }))
  yield* router.add(
    "GET",
    scriptPath,
    ({ headers }) =>
      Effect.map(
        served,
        ({ compressed, etag, plain, unchanged }) =>
          matchesTag(headers["if-none-match"], etag)
            ? unchanged
            : acceptsGzip(headers["accept-encoding"])
            ? compressed
            : plain,
      ),
  )
}))
