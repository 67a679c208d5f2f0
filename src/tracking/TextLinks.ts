import type { Rewrite } from "./HtmlLinks.ts"

/** A URL in plain text, including punctuation that may follow it. */
const address = /\bhttps?:\/\/[^\s<>"]+/gi

/** The length of an address without the punctuation of the sentence behind it, as mail programs find its end. */
const addressLength = (text: string): number => {
  let end = text.length
  const openedAt: Readonly<Record<string, number>> = {
    ")": text.indexOf("("),
    "]": text.indexOf("["),
    "}": text.indexOf("{"),
  }
  while (end > 0) {
    const last = text[end - 1]!
    // A bracket belongs to the address if it was opened there.
    if (/[.,;:!?'*_~]/.test(last) || openedAt[last] === -1) end--
    else break
  }
  return end
}

/** Gives the links of plain text new addresses; everything else stays as it is. */
export const rewriteText = (text: string, rewrite: Rewrite): string =>
  text.replace(address, (found) => {
    const url = found.slice(0, addressLength(found))
    const target = rewrite(url, url)
    return target === undefined ? found : target + found.slice(url.length)
  })
