import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { hash } from "node:crypto"
import { readFileSync } from "node:fs"
import { staticDocument } from "../api/http/StaticDocument.ts"
import { languages } from "../languages/Language.ts"

// The stylesheet, the scripts and the icon, read once, under names that hold a hash of their content: a browser keeps them for good.

const types = { css: "text/css; charset=utf-8", js: "text/javascript; charset=utf-8", svg: "image/svg+xml" }

/** Files of one type, served as one. Scripts are written by scripts/writeScripts.ts. */
const load = (type: keyof typeof types, ...names: readonly [string, ...Array<string>]) => {
  const text = names.map((name) => readFileSync(new URL(`./assets/${name}.${type}`, import.meta.url), "utf8")).join(
    "\n",
  )
  return {
    path: `/console/assets/${names[0]}.${hash("sha256", text, "hex").slice(0, 16)}.${type}` as const,
    text,
    type,
  }
}

const stylesheet = load("css", "console", "templates", "editor", "operations", "results", "history", "team", "print")
const script = load("js", "console")
const templates = load("js", "templates")
const editor = load("js", "editor")
const drafts = load("js", "drafts")
const comments = load("js", "comments")
const live = load("js", "live")
const charts = load("js", "charts")
const passkeys = load("js", "passkeys")
const icon = load("svg", "icon")
/** Texts of the scripts by language. English texts are in the scripts themselves. */
const texts = new Map(languages.slice(1).map(({ tag }) => [tag, load("js", `texts.${tag}`)] as const))

/** Where the stylesheet, the scripts and the icon are. */
export const assets = {
  stylesheet: stylesheet.path,
  script: script.path,
  templates: templates.path,
  editor: editor.path,
  drafts: drafts.path,
  comments: comments.path,
  live: live.path,
  charts: charts.path,
  passkeys: passkeys.path,
  icon: icon.path,
}

/** Where the texts of the scripts are in a language. Undefined for English. */
export const textsPath = (tag: string): string | undefined => texts.get(tag)?.path

/** Serves them, and leads browsers that ask for `/favicon.ico` to the icon. */
export const layer = Layer.merge(
  HttpRouter.addAll(
    [stylesheet, script, templates, editor, drafts, comments, live, charts, passkeys, icon, ...texts.values()].map(
      ({ path, text, type }) => {
        const respond = staticDocument(text, types[type], { "cache-control": "public, max-age=31536000, immutable" })
        return HttpRouter.route("GET", path, Effect.map(HttpServerRequest.HttpServerRequest, respond))
      },
    ),
  ),
  HttpRouter.add("GET", "/favicon.ico", HttpServerResponse.redirect(icon.path)),
)
