import { QuoteType, Tokenizer } from "htmlparser2"

/** Returns the new URL of a link; undefined leaves the link unchanged. In `url`, character references are resolved. */
export type Rewrite = (url: string, written: string) => string | undefined

/** A replacement of a part of a text. */
interface Change {
  readonly from: number
  readonly to: number
  readonly text: string
}

const isSpace = (code: number) => code === 0x20 || code === 9 || code === 10 || code === 12 || code === 13

/** Returns the start of an attribute's value after its quote. The attribute's name ends at `nameEnd`. */
const valueStart = (html: string, nameEnd: number): number => {
  let at = nameEnd
  while (isSpace(html.charCodeAt(at))) at++
  if (html[at] === "=") at++
  while (isSpace(html.charCodeAt(at))) at++
  return html[at] === '"' || html[at] === "'" ? at + 1 : at
}

const applied = (html: string, changes: ReadonlyArray<Change>): string => {
  if (changes.length === 0) return html
  const parts: Array<string> = []
  let copied = 0
  for (const { from, text, to } of changes) {
    parts.push(html.slice(copied, from), text)
    copied = to
  }
  parts.push(html.slice(copied))
  return parts.join("")
}

/**
 * Replaces the URLs of links in HTML: the first `href` of each `a` and `area`, with any quotes or none. Inserts `end`
 * before the last `</body>`, or at the end if there is none. All other text stays unchanged: comments (including
 * conditional ones), scripts, styles, and unclosed tags. Needs linear time. New URLs must not contain spaces, quotes,
 * `<`, `>` or `&`. Calls `noteEmpty` for each `href` without a value.
 */
export const rewriteHtml = (html: string, rewrite: Rewrite, end = "", noteEmpty = () => {}): string => {
  const changes: Array<Change> = []
  let isLink = false
  let isHrefSeen = false
  let nameEnd = 0
  /** The value of the `href` being read. */
  let url: string | undefined
  /** The link of the current tag. It counts only if the tag is closed, because an unclosed tag is text to readers. */
  let pending: (Omit<Change, "text"> & { readonly url: string }) | undefined
  let bodyEnd = -1
  const close = () => {
    if (pending !== undefined && pending.from === pending.to) noteEmpty()
    else if (pending !== undefined) {
      const { from, to, url } = pending
      const text = rewrite(url, html.slice(from, to))
      if (text !== undefined) changes.push({ from, to, text })
    }
    pending = undefined
    isLink = false
  }
  const tokenizer = new Tokenizer({ decodeEntities: true }, {
    onopentagname(start, stop) {
      const name = html.slice(start, stop).toLowerCase()
      isLink = name === "a" || name === "area"
      isHrefSeen = false
      pending = undefined
    },
    onattribname(start, stop) {
      url = undefined
      if (!isLink || isHrefSeen || stop - start !== 4 || html.slice(start, stop).toLowerCase() !== "href") return
      isHrefSeen = true
      nameEnd = stop
      url = ""
    },
    onattribdata(start, stop) {
      if (url !== undefined) url += html.slice(start, stop)
    },
    onattribentity(codepoint) {
      if (url !== undefined) url += String.fromCodePoint(codepoint)
    },
    onattribend(quote, stop) {
      if (url === undefined) return
      const from = valueStart(html, nameEnd)
      // Excludes the closing quote, if any.
      const to = quote === QuoteType.Single || quote === QuoteType.Double ? stop - 1 : stop
      pending = { from, to: Math.max(from, to), url }
      url = undefined
    },
    onopentagend: close,
    onselfclosingtag: close,
    onclosetag(start, stop) {
      if (stop - start === 4 && html.slice(start, stop).toLowerCase() === "body") bodyEnd = html.lastIndexOf("<", start)
    },
    oncdata() {},
    oncomment() {},
    ondeclaration() {},
    onend() {},
    onprocessinginstruction() {},
    ontext() {},
    ontextentity() {},
  })
  tokenizer.write(html)
  tokenizer.end()
  if (end !== "") {
    const at = bodyEnd === -1 ? html.length : bodyEnd
    const place = changes.findIndex(({ from }) => from >= at)
    changes.splice(place === -1 ? changes.length : place, 0, { from: at, to: at, text: end })
  }
  return applied(html, changes)
}
