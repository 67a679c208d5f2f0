import { Tokenizer } from "htmlparser2"
import { eachLink } from "../text/HtmlLinks.ts"

/** Returns the new URL of a link; undefined leaves the link unchanged. In `url`, character references are resolved. */
export type Rewrite = (url: string, written: string) => string | undefined

const ignore = () => {}

/** Returns the value of an attribute with its character references resolved. */
const resolved = (written: string): string => {
  if (!written.includes("&")) return written
  let url = ""
  const tokenizer = new Tokenizer({ decodeEntities: true }, {
    onattribdata: (start, stop) => url += quoted.slice(start, stop),
    onattribentity: (codepoint) => url += String.fromCodePoint(codepoint),
    onattribend: ignore,
    onattribname: ignore,
    oncdata: ignore,
    onclosetag: ignore,
    oncomment: ignore,
    ondeclaration: ignore,
    onend: ignore,
    onopentagend: ignore,
    onopentagname: ignore,
    onprocessinginstruction: ignore,
    onselfclosingtag: ignore,
    ontext: ignore,
    ontextentity: ignore,
  })
  const quoted = `<a b="${written.replaceAll('"', "&quot;")}">`
  tokenizer.write(quoted)
  tokenizer.end()
  return url
}

/**
 * Replaces the URLs of links in HTML, found by `eachLink`, except of links that opt out. Inserts `end` before the last `</body>`, or at the end of
 * HTML without one. All other text stays unchanged. Needs linear time. New URLs must not contain spaces, quotes, `<`, `>`
 * or `&`. Calls `noteEmpty` for each `href` without a value.
 */
export const rewriteHtml = (html: string, rewrite: Rewrite, end = "", noteEmpty = () => {}): string => {
  /** Texts that replace parts of the HTML, by their start and end, in order. */
  const changes: Array<readonly [from: number, to: number, text: string]> = []
  const bodyEnd = eachLink(html, (from, to, isLeft) => {
    if (isLeft) return true
    if (from === to) noteEmpty()
    else {
      const written = html.slice(from, to)
      const text = rewrite(resolved(written), written)
      if (text !== undefined) changes.push([from, to, text])
    }
    return true
  })
  if (end !== "") {
    const at = bodyEnd === -1 ? html.length : bodyEnd
    const place = changes.findIndex(([from]) => from >= at)
    changes.splice(place === -1 ? changes.length : place, 0, [at, at, end])
  }
  if (changes.length === 0) return html
  const parts: Array<string> = []
  let copied = 0
  for (const [from, to, text] of changes) {
    parts.push(html.slice(copied, from), text)
    copied = to
  }
  parts.push(html.slice(copied))
  return parts.join("")
}
