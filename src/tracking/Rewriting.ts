import { rewriteHtml } from "./HtmlLinks.ts"
import { rewriteText } from "./TextLinks.ts"
import { type LinkRef, targetKey } from "./Token.ts"

// Changes a message so that its opens and clicks can be measured. Pure.

/** Placeholder for the tracking id in targets that messages share. A URL cannot contain these characters. */
export const idPlace = "<tracking_id>"

/** Maximum number of tracked links of one message. Other links stay unchanged. */
export const maxTracked = 1_000

/** Links with longer URLs stay unchanged. Unit: characters. */
const maxTarget = 2_000

/** Maximum number of places in the sources of a variant that are compared with each link. */
const maxPlaces = 10_000

/** A message to be tracked. */
export interface Untracked {
  /** Id of the delivery, which is also the tracking id in its links. */
  readonly id: string
  readonly vars: Readonly<Record<string, string>>
  /** Variables whose links are tracked, as HTML and as plain text. */
  readonly html: ReadonlyArray<string>
  readonly text: ReadonlyArray<string>
  /** The variable that receives the pixel; undefined for a message without HTML. */
  readonly body: string | undefined
  /** The variant's sources. A link that occurs in a source is identical for all recipients. */
  readonly sources: ReadonlyArray<string>
  /** Links that stay unchanged, such as the unsubscribe link, by their start. */
  readonly kept: ReadonlyArray<string>
  readonly clicks: boolean
  readonly opens: boolean
  /** Return the URLs of the pixel and of a link. */
  readonly pixelUrl: () => string
  readonly clickUrl: (link: LinkRef) => string
}

/** A tracked message, with the targets of its links. */
export interface Tracked {
  readonly vars: Readonly<Record<string, string>>
  /** Targets that other messages may share, by key. */
  readonly shared: ReadonlyMap<string, string>
  /** Targets that belong only to this message, in the order of their numbers. */
  readonly own: ReadonlyArray<string>
}

/**
 * Returns the target of a link, in ASCII; undefined for links that cannot be redirected: `mailto:`, `tel:`, a fragment.
 */
export const targetOf = (url: string): string | undefined => {
  const text = url.trim()
  if (!/^https?:\/\//i.test(text) || text.length > maxTarget || !URL.canParse(text)) return undefined
  const { href } = new URL(text)
  return href.length > maxTarget ? undefined : href
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")

/**
 * Returns whether a link occurs in one of the sources. Compares it only where an address begins, because a search
 * through 500 kB for each of 500 links would take 150 ms.
 */
const occurrences = (sources: ReadonlyArray<string>): (link: string) => boolean => {
  const places: Array<{ readonly source: string; readonly index: number }> = []
  for (const source of sources) {
    for (const { index } of source.matchAll(/https?:/gi)) {
      if (places.length >= maxPlaces) break
      places.push({ source, index })
    }
  }
  return (link) => places.some(({ index, source }) => source.startsWith(link, index))
}

/** An invisible pixel. */
const pixel = (url: string) =>
  `<img src="${url}" width="1" height="1" alt="" style="display:block;width:1px;height:1px;border:0">`

/**
 * Redirects the links of a message through this service and adds the pixel. If a link occurs in the variant's source,
 * with or without the tracking id that Deliver appends, all messages of the variant share its target. Other targets may
 * contain personal data and are stored with the message.
 */
export const track = (message: Untracked): Tracked => {
  const { body, clicks, clickUrl, html, id, kept, opens, pixelUrl, sources, text, vars } = message
  const shared = new Map<string, string>()
  const own: Array<string> = []
  const known = new Map<string, string>()
  const appended = new RegExp(`(?:[?&]|&amp;)tracking_id=${escaped(id)}`)
  const occurs = occurrences(clicks ? sources : [])
  const isShared = (written: string) => occurs(written.trimStart().replace(appended, ""))
  const refOf = (target: string, written: string): LinkRef => {
    if (!isShared(written)) return own.push(target) - 1
    const key = targetKey(target)
    shared.set(key, target)
    return key
  }
  const rewrite = (url: string, written: string): string | undefined => {
    const target = targetOf(url)
    if (target === undefined || kept.some((start) => target.startsWith(start))) return undefined
    const general = target.replaceAll(id, idPlace)
    const before = known.get(general)
    if (before !== undefined) return before
    if (known.size >= maxTracked) return undefined
    const address = clickUrl(refOf(general, written))
    known.set(general, address)
    return address
  }
  const changed = new Map<string, string>()
  for (const name of html) {
    const end = opens && name === body ? pixel(pixelUrl()) : ""
    changed.set(name, rewriteHtml(vars[name]!, clicks ? rewrite : () => undefined, end))
  }
  if (clicks) { for (const name of text) changed.set(name, rewriteText(vars[name]!, rewrite)) }
  return {
    vars: Object.fromEntries(Object.entries(vars).map(([name, value]) => [name, changed.get(name) ?? value])),
    shared,
    own,
  }
}
