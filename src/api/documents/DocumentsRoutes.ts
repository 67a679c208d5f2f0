import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { readLibrary, search } from "./Library.ts"
import { llmsFullText, llmsText } from "./Llms.ts"
import { contentSecurityPolicy, documentPage, searchPage, startPage } from "./Pages.ts"
import { PathNotFound } from "../Problems.ts"
import { query } from "../http/Requests.ts"
import { staticDocument } from "../http/StaticDocument.ts"

const contentType = "text/html; charset=utf-8"
const headers = { "content-security-policy": contentSecurityPolicy, "cache-control": "no-cache" }

/** Maximum length of a search query. Unit: characters. */
const longestQuery = 200

/**
 * Serves the documentation under `/docs/`: as pages, as Markdown if the path ends in `.md`, and for language
 * models as a list at `/llms.txt` or one text at `/llms-full.txt`. Redirects `/` to the console. The API reference at `/docs` has its own route.
 */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  // The first request renders the documents, so they do not delay the start of the service.
  const served = yield* Effect.cached(Effect.map(readLibrary, (library) => {
    const html = (text: string) => staticDocument(text, contentType, headers)
    return {
      library,
      start: html(startPage(library)),
      pages: new Map<string, ReturnType<typeof html>>(),
      llmsFull: staticDocument(llmsFullText(library), "text/plain; charset=utf-8", headers),
      llms: staticDocument(llmsText(library), "text/plain; charset=utf-8", headers),
      render: (path: string) => {
        const document = library.get(path.replace(/\.md$/, ""))
        if (document === undefined) return undefined
        return path.endsWith(".md")
          ? staticDocument(document.markdown, "text/markdown; charset=utf-8", headers)
          : html(documentPage(library, document))
      },
    }
  }))

  yield* router.add("GET", "/", HttpServerResponse.redirect("/console"))
  yield* router.add("GET", "/llms.txt", (request) => Effect.map(served, ({ llms }) => llms(request)))
  yield* router.add("GET", "/llms-full.txt", (request) => Effect.map(served, ({ llmsFull }) => llmsFull(request)))
  yield* router.add("GET", "/docs/", (request) => Effect.map(served, ({ start }) => start(request)))

  yield* router.add("GET", "/docs/search", (request) =>
    Effect.map(served, ({ library }) => {
      const words = (query(request).get("q") ?? "").slice(0, longestQuery)
      return HttpServerResponse.text(searchPage(library, words, search(library, words)), { contentType, headers })
    }))

  const answer = Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const path = request.url.replace(/[?#].*$/, "").replace(/^\/docs\//, "")
    const { pages, render } = yield* served
    const page = pages.get(path) ?? render(path)
    if (page === undefined) {
      return yield* new PathNotFound({ detail: "There is no such document. /docs/ lists all of them." })
    }
    pages.set(path, page)
    return page(request)
  })

  // The route `/docs/*` would also match `/docs`.
  yield* router.add("GET", "/docs/:name", answer)
  yield* router.add("GET", "/docs/:folder/:name", answer)
  yield* router.add("GET", "/docs/:folder/:subfolder/:name", answer)
}))
