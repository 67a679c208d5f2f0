import { Buffer } from "node:buffer"
import { t } from "../languages/Language.ts"
import type { CheckedContent, ContentFinding } from "./ContentFinding.ts"
import { isShortened, placeholderFinding, subjectFinding, wordingFinding } from "./WordingFindings.ts"

// Finds problems in the content of a message that mailbox providers or readers would have, before it is sent. Pure.

/** Gmail cuts off HTML above this size. Unit: bytes. */
export const clippedAt = 102 * 1024

/** Size from which a warning is shown, because link tracking makes the HTML longer. Unit: bytes. */
const nearlyClipped = 0.9 * clippedAt

const kilobytes = (bytes: number) => `${Math.max(1, Math.round(bytes / 1024))} kB`

const sizeFinding = ({ html, text }: CheckedContent): ContentFinding => {
  const bytes = Buffer.byteLength(html ?? text)
  const size = html === undefined ? t`The text has ${kilobytes(bytes)}.` : t`The HTML has ${kilobytes(bytes)}.`
  if (bytes > clippedAt) {
    return {
      check: "size",
      status: "wrong",
      detail: t`${size} Gmail shows the first ${kilobytes(clippedAt)} and hides the rest. Shorten it.`,
    }
  }
  return bytes > nearlyClipped
    ? {
      check: "size",
      status: "warn",
      detail: t`${size} Gmail clips messages at ${kilobytes(clippedAt)}, and tracked links are longer.`,
    }
    : { check: "size", status: "ok", detail: t`${size} Gmail clips messages at ${kilobytes(clippedAt)}.` }
}

/** Maximum number of links that a finding names. Other links are only counted. */
const maxNamed = 3

const named = (hrefs: ReadonlyArray<string>) => {
  const some = hrefs.slice(0, maxNamed).map((href) => href.length > 80 ? `${href.slice(0, 80)}…` : href).join(", ")
  return hrefs.length > maxNamed ? t`${some} and ${hrefs.length - maxNamed} more` : some
}

const isEmpty = (href: string) => /^#?$/.test(href.trim())
const isPlainHttp = (href: string) => /^\s*http:/i.test(href)
const isComplete = (href: string) => /^\s*(?:https?:\/\/[^\s/?#]|mailto:|tel:|sms:|#)/i.test(href)

const linkFinding = ({ hrefs }: CheckedContent): ContentFinding => {
  const empty = hrefs.some(isEmpty)
  const incomplete = hrefs.filter((href) => !isEmpty(href) && !isComplete(href))
  const plain = hrefs.filter((href) => isPlainHttp(href) && isComplete(href))
  const faults = [
    ...(empty ? [t`A link leads nowhere: its href is empty or #.`] : []),
    ...(incomplete.length > 0 ? [t`Links without https:// lead nowhere in a mail: ${named(incomplete)}.`] : []),
  ]
  const shortened = hrefs.filter(isShortened)
  const warnings = [
    ...(plain.length > 0 ? [t`Links are not encrypted: use https:// for ${named(plain)}.`] : []),
    ...(shortened.length > 0
      ? [t`Spam filters distrust shortened links: write the address that ${named(shortened)} leads to.`]
      : []),
  ]
  const detail = [...faults, ...warnings].join(" ")
  if (detail !== "") return { check: "links", status: faults.length > 0 ? "wrong" : "warn", detail }
  return {
    check: "links",
    status: "ok",
    detail: hrefs.length === 0 ? t`There are no links.` : t`All links are complete and encrypted.`,
  }
}

/** Least text next to images. With less, spam filters and readers without images see nothing. Unit: characters. */
const leastText = 100

const imagesFinding = ({ images: { count, insecure, textLength, withoutAlt } }: CheckedContent): ContentFinding => {
  const warnings = [
    ...(withoutAlt > 0
      ? [
        t`Images without alt: ${withoutAlt} of ${count}. Readers whose program blocks images see nothing there: describe
          the image, as in alt="Red shoes", or write alt="" for a decoration.`,
      ]
      : []),
    ...(count > 0 && textLength < leastText
      ? [
        t`The message is almost only images: it has ${textLength} characters of text. Spam filters distrust that, and
          many programs block images. Write the message as text.`,
      ]
      : []),
    ...(insecure > 0
      ? [t`Images without encryption, which some programs hide: ${insecure} of ${count}. Use https:// in src.`]
      : []),
  ]
  return warnings.length > 0
    ? { check: "images", status: "warn", detail: warnings.join(" ") }
    : { check: "images", status: "ok", detail: count === 0 ? t`There are no images.` : t`All images have an alt.` }
}

const isUnsubscribing = (text: string) => /unsubscri|opt-?_?out/i.test(text)

const unsubscribeFinding = (
  { hrefs, html, isListed, isTransactional, text }: CheckedContent,
): ContentFinding => {
  if (isTransactional) {
    return { check: "unsubscribe", status: "ok", detail: t`Transactional messages need no unsubscribe link.` }
  }
  if (hrefs.some(isUnsubscribing) || (html === undefined && isUnsubscribing(text))) {
    return { check: "unsubscribe", status: "ok", detail: t`The message has an unsubscribe link.` }
  }
  return {
    check: "unsubscribe",
    status: "warn",
    detail: isListed
      ? t`No unsubscribe link was found; only the header has one. Insert a link to {{ unsubscribe_url }}.`
      : t`No unsubscribe link was found. Insert a link to {{ unsubscribe_url }}.`,
  }
}

const textFinding = ({ html, text }: CheckedContent): ContentFinding =>
  html === undefined || text.trim() !== ""
    ? { check: "plain-text", status: "ok", detail: t`The message has a plain-text part.` }
    : {
      check: "plain-text",
      status: "warn",
      detail: t`The plain-text part is empty, as with images alone. Add text to the HTML, or a variable named text.`,
    }

/** Makes all checks, in display order. */
export const contentFindings = (content: CheckedContent): ReadonlyArray<ContentFinding> => [
  subjectFinding(content),
  sizeFinding(content),
  linkFinding(content),
  imagesFinding(content),
  unsubscribeFinding(content),
  textFinding(content),
  wordingFinding(content),
  placeholderFinding(content),
]
