import type { Rewrite } from "./HtmlLinks.ts"

/** Matches a URL in plain text, including punctuation that may follow it. */
const address = /\bhttps?:\/\/[^\s<>"]+/gi

/** Returns the length of a URL without the punctuation of its sentence, as mail programs find its end. */
const addressLength = (text: string): number => {
  let end = text.length
  const openedAt: Readonly<Record<string, number>> = {
    ")": text.indexOf("("),
    "]": text.indexOf("["),
    "}": text.indexOf("{"),
  }
  while (end > 0) {
    const last = text[end - 1]!
    // A closing bracket belongs to the URL if the URL contains the opening one.
    if (/[.,;:!?'*_~]/.test(last) || openedAt[last] === -1) end--
    else break
  }
  return end
}

/** Replaces the URLs in plain text. All other text stays unchanged. */
export const rewriteText = (text: string, rewrite: Rewrite): string =>
  text.replace(address, (found) => {
    const url = found.slice(0, addressLength(found))
    const target = rewrite(url, url)
    return target === undefined ? found : target + found.slice(url.length)
  })
