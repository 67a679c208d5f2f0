import { securityText } from "../../src/api/documents/WellKnownRoutes.ts"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { type Service, startInProcess } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"

class Running extends Context.Service<Running, Service>()("test/Documents") {}

layer(Layer.effect(Running, startInProcess(temporaryEnvironment)), { excludeTestServices: true })("/docs/", (it) => {
  const get = (path: string) =>
    Effect.gen(function* () {
      const service = yield* Running
      const response = yield* Effect.promise(() => service.request(path))
      return { response, text: yield* Effect.promise(() => response.text()) }
    })

  it.effect("serves every document, with links that all lead somewhere", () =>
    Effect.gen(function* () {
      const { text: start } = yield* get("/docs/")
      const linksOf = (text: string) => [...text.matchAll(/href="(\/docs\/[^"]*)"/g)].map(([, href]) => href!)
      const pages = [...new Set(linksOf(start))]
      assert.isAbove(pages.length, 60)
      const texts = new Map<string, string>()
      for (const page of pages) {
        const { response, text } = yield* get(page)
        assert.strictEqual(response.status, 200, page)
        texts.set(page, text)
      }
      for (const [page, text] of texts) {
        for (const link of linksOf(text)) {
          const [path, anchor] = link.split("#")
          const linked = texts.get(path!)
          assert.isDefined(linked, `${page} links ${link}`)
          if (anchor !== undefined) assert.include(linked, `id="${anchor}"`, `${page} links ${link}`)
        }
      }
    }))

  it.effect("works without scripts and allows none", () =>
    Effect.gen(function* () {
      const { response, text } = yield* get("/docs/guide/api")
      assert.match(response.headers.get("content-security-policy")!, /^default-src 'none'; style-src 'sha256-/)
      assert.notMatch(text, /<script|<img|<link|style="|https?:\/\/[^"]*\.(css|js)"/)
      assert.match(text, /<h2 id="deliver">Deliver<\/h2>/)
    }))

  it.effect("finds sections by words", () =>
    Effect.gen(function* () {
      const { text } = yield* get("/docs/search?q=idempotency-key+deliver")
      assert.include(text, '<a href="/docs/guide/api#deliver">API: Deliver</a>')
      assert.include((yield* get("/docs/search?q=unicorns%22%3E%3Cscript%3E")).text, "No section contains all words")
      assert.include((yield* get("/docs/search")).text, "Enter one or more words")
    }))

  it.effect("has the API reference at /docs, whose scripts come from this origin only", () =>
    Effect.gen(function* () {
      const { response, text } = yield* get("/docs")
      assert.strictEqual(response.status, 200)
      assert.match(
        response.headers.get("content-security-policy")!,
        /^default-src 'none'; script-src 'self' 'sha256-[^']+';/,
      )
      assert.include(text, "<noscript><h1>Parlance API</h1>")
      const script = yield* get("/docs/scalar.js")
      assert.match(script.response.headers.get("content-type")!, /^text\/javascript/)
      assert.include(script.text, "createApiReference")
      const etag = script.response.headers.get("etag")!
      const service = yield* Running
      const again = yield* Effect.promise(() =>
        service.request("/docs/scalar.js", { headers: { "if-none-match": etag } })
      )
      assert.strictEqual(again.status, 304)
    }))

  it.effect("serves the Markdown of each document, and a list of them for language models", () =>
    Effect.gen(function* () {
      const { text } = yield* get("/llms.txt")
      const links = [...text.matchAll(/\]\((\/docs\/[^)]+\.md)\)/g)].map(([, path]) => path!)
      assert.isAbove(links.length, 60)
      assert.match(text, /^# Parlance\n\n> Parlance selects /)
      for (const link of links) {
        const { response, text } = yield* get(link)
        assert.match(response.headers.get("content-type")!, /^text\/markdown/, link)
        assert.match(text, /^# /, link)
      }
      for (const path of ["/openapi.json", "/problems"]) {
        assert.include(text, `](${path})`)
        assert.strictEqual((yield* get(path)).response.status, 200)
      }
    }))

  it.effect("serves all documents but the decisions as one text for language models", () =>
    Effect.gen(function* () {
      const { text: list } = yield* get("/llms.txt")
      const { text: all } = yield* get("/llms-full.txt")
      const links = [...list.matchAll(/\]\((\/docs\/[^)]+\.md)\)/g)].map(([, path]) => path!)
      const expected = links.filter((link) => !link.startsWith("/docs/decisions/"))
      assert.sameMembers([...all.matchAll(/^<!-- (\S+) -->$/gm)].map(([, path]) => path!), expected)
      assert.include(all, (yield* get("/docs/guide/api.md")).text.trim())
    }))

  it.effect("serves an icon and rules for crawlers, and no contact that nobody set", () =>
    Effect.gen(function* () {
      const icon = yield* get("/favicon.ico")
      assert.strictEqual(icon.response.headers.get("content-type"), "image/svg+xml")
      assert.strictEqual((yield* get("/robots.txt")).text, "User-agent: *\nDisallow: /\n")
      const contact = yield* get("/.well-known/security.txt")
      assert.strictEqual(contact.response.status, 404)
      assert.include(contact.text, "SECURITY_CONTACT")
      assert.strictEqual(
        securityText("mailto:security@example.com", Date.UTC(2026, 10, 29, 12)),
        "Contact: mailto:security@example.com\nExpires: 2027-02-27T12:00:00Z\n",
      )
    }))

  it.effect("leads from / to the console", () =>
    Effect.gen(function* () {
      const service = yield* Running
      const response = yield* Effect.promise(() => service.request("/", { redirect: "manual" }))
      assert.strictEqual(response.status, 302)
      assert.strictEqual(response.headers.get("location"), "/console")
    }))

  it.effect("answers a problem for a document that does not exist", () =>
    Effect.gen(function* () {
      for (const path of ["/docs/nope", "/docs/guide/..%2f..%2fpackage.json", "/docs/guide/%00"]) {
        const { response } = yield* get(path)
        assert.strictEqual(response.status, 404, path)
      }
    }))
})
