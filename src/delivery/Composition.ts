import { compile } from "html-to-text"
import { Parser } from "htmlparser2"
import { Buffer } from "node:buffer"
import { createPrivateKey, type KeyObject } from "node:crypto"
import { rewriteHtml } from "../tracking/HtmlLinks.ts"
import { rewriteText } from "../tracking/TextLinks.ts"
import type { DkimSigner } from "../text/Email.ts"
import { signMessage } from "./dkim/DkimSignature.ts"
import { envelopeAddress, type Header, writeMessage } from "./Mime.ts"
import {
  type Composed,
  type Email,
  type EmailParts,
  escapeHtml,
  headerFault,
  lineOf,
  noImages,
  type ShownImages,
  validateAddress,
} from "../text/Email.ts"

// Composition is untrusted work: its cost depends on HTML that a caller sends. Import this module in
// `compose.process.ts` only; the service composes through `Composer`.

/** The result of a composition. `reason` completes a sentence that begins with "The message". */
export type ComposeResult = { readonly _tag: "composed"; readonly mail: Composed } | {
  readonly _tag: "faulty"
  readonly reason: string
}

/** Longest line of a message, without its line break (RFC 5322, 2.1.1). Unit: characters. */
const maxLine = 998

/** Longest word of a header that stays unencoded. Longer words become encoded words, which can be folded. */
const maxWord = 900
const hasLongWord = new RegExp(`[^ ]{${maxWord}}`)

/** Maximum nesting of HTML elements that can be converted to plain text. The HTML parser is quadratic in the depth. */
const maxDepth = 500

/** Longest plain text that is made from HTML. Unit: characters. */
const maxText = 2 ** 21

/** Elements that prefix every line of their content, such as `> `, and the length of the prefix. */
const prefixes: ReadonlyMap<string, number> = new Map([["blockquote", 2], ["ul", 3], ["ol", 4]])

/** The advice that ends an error about HTML that cannot be converted to plain text. */
const remedy = "Simplify the HTML, or add a `text` variable"

/** Facts about an HTML text that the service needs before it changes the text. */
interface Outline {
  readonly isTooDeep: boolean
  /** Upper bound of the length of the plain text made from the HTML. Unit: characters. */
  readonly textBound: number
  /** The position after the start tag of `body`; 0 without a `body`. */
  readonly bodyStart: number
}

/**
 * Reads HTML with the parser that `html-to-text` uses, in linear time: it stops at elements nested more than `maxDepth`
 * deep. Tags in comments, such as conditional ones, do not count.
 */
export const outlineOf = (html: string): Outline => {
  let depth = 0
  let isTooDeep = false
  let bodyStart = 0
  /** Length of the prefixes of a line at this point. */
  let prefix = 0
  let textBound = html.length
  const parser: Parser = new Parser({
    onopentag(name) {
      if (++depth > maxDepth) {
        isTooDeep = true
        parser.pause()
      }
      prefix += prefixes.get(name) ?? 0
      // Any element may start a line.
      textBound += prefix
      if (name === "body" && bodyStart === 0) bodyStart = parser.endIndex + 1
    },
    onclosetag(name) {
      depth--
      prefix -= prefixes.get(name) ?? 0
    },
    ontext(text) {
      if (prefix === 0) return
      for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) textBound += prefix
    },
  })
  parser.end(html)
  return { isTooDeep, textBound, bodyStart }
}

const convert = compile({
  wordwrap: false,
  limits: { maxInputLength: 2 ** 20, maxDepth, maxChildNodes: 20_000 },
  // Mail programs show neither images as text nor the content of frames.
  selectors: [{ selector: "img", format: "skip" }, { selector: "iframe", format: "skip" }, {
    selector: "a",
    options: { hideLinkHrefIfSameAsText: true },
  }],
})

/** Converts HTML to plain text: links with their addresses, no images, no line wrapping. */
const textOf = (
  html: string,
  { isTooDeep, textBound }: Outline,
): { readonly text: string } | { readonly reason: string } => {
  if (isTooDeep) {
    return {
      reason: `has HTML elements nested more than ${maxDepth} deep, which cannot be turned into plain text. ${remedy}`,
    }
  }
  if (textBound > maxText) {
    return { reason: `has lists or quotations nested so deep that its plain text would be too long. ${remedy}` }
  }
  try {
    return { text: convert(html) }
  } catch (cause) {
    // For example, the library has no Roman numeral for `<ol type="i" start="10000">`.
    return { reason: `has HTML that cannot be turned into plain text: ${detailOf(cause)}. ${remedy}` }
  }
}

const detailOf = (cause: unknown): string => cause instanceof Error ? cause.message : String(cause)

const hidden = (preheader: string): string =>
  '<div style="display:none;font-size:1px;line-height:1px;max-height:0;max-width:0;opacity:0;overflow:hidden;mso-hide:all">' +
  `${escapeHtml(preheader)}</div>`

/** MIME lines end in CRLF, and a bare CR is not allowed. The lines that recipients read do not change. */
const crlf = (text: string): string => text.toWellFormed().replace(/\r\n|\r|\n/g, "\r\n")

/**
 * Returns a subject as RFC 2047 encoded words if it cannot be sent unencoded: it contains `=?`, which recipients would
 * decode, or it has a word that is too long to fold. Returns undefined for other subjects, which `writeMessage` encodes
 * if necessary.
 */
const encodedSubject = (subject: string): string | undefined => {
  if (!subject.includes("=?") && !hasLongWord.test(subject)) return undefined
  const words: Array<string> = []
  let word = ""
  let bytes = 0
  // An encoded word has at most 75 characters and must not split a character.
  for (const character of subject) {
    const size = Buffer.byteLength(character)
    if (bytes + size > 45) {
      words.push(word)
      word = ""
      bytes = 0
    }
    word += character
    bytes += size
  }
  return [...words, word].map((text) => `=?UTF-8?B?${Buffer.from(text).toString("base64")}?=`).join("\r\n ")
}

const listHeaders = ({ mailto, url }: NonNullable<Email["unsubscribe"]>): ReadonlyArray<Header> => [
  {
    name: "List-Unsubscribe",
    // Folded only between the targets, because a fold inside a URL would break it.
    prepared: true,
    value: [url, mailto && `mailto:${mailto}`].flatMap((target) => target ? [`<${target}>`] : []).join(",\r\n "),
  },
  ...(url?.startsWith("https:") ? [{ name: "List-Unsubscribe-Post", value: "List-Unsubscribe=One-Click" }] : []),
]

const headersOf = (
  { feedbackId, isAutomatic, senderHeaders = {}, trackingId, unsubscribe }: Email,
): ReadonlyArray<Header> => [
  { name: "X-Tracking-ID", value: trackingId },
  // Services read JSON in headers, which must not become encoded words.
  ...Object.entries(senderHeaders).map(([name, value]) => ({ name, value, prepared: true })),
  ...(unsubscribe === undefined ? [] : listHeaders(unsubscribe)),
  ...(feedbackId === undefined ? [] : [{ name: "Feedback-ID", value: feedbackId }]),
  ...(isAutomatic === true ? [{ name: "Auto-Submitted", value: "auto-generated" }] : []),
]

/** Returns why a URL cannot be enclosed in angle brackets in a header, or undefined if it can. */
const linkFault = (url: string | undefined): string | undefined =>
  url === undefined || /^[\x21-\x3b\x3d\x3f-\x7e]+$/.test(url)
    ? undefined
    : "must be ASCII without spaces and angle brackets"

/** Returns the first reason why an address, a name or a link cannot be written into a header. */
const inputFault = (
  { feedbackId, from, messageId, replyTo, to, trackingId, unsubscribe }: Email,
): string | undefined => {
  const faults: ReadonlyArray<readonly [name: string, fault: string | undefined]> = [
    ["from", validateAddress(from.email)],
    ["from_name", from.name === undefined ? undefined : headerFault(from.name)],
    ["recipient", validateAddress(to)],
    ["reply_to", replyTo === undefined ? undefined : validateAddress(replyTo)],
    ["message id", headerFault(messageId)],
    ["tracking id", headerFault(trackingId)],
    ["feedback id", feedbackId === undefined ? undefined : headerFault(feedbackId)],
    ["unsubscribe link", linkFault(unsubscribe?.url)],
    ["unsubscribe address", linkFault(unsubscribe?.mailto)],
  ]
  const wrong = faults.find(([, fault]) => fault !== undefined)
  return wrong === undefined ? undefined : `has a ${wrong[0]} that ${wrong[1]}`
}

/** Returns why the header section exceeds the limit of a line, or undefined if it does not. */
const headerLineFault = (bytes: Buffer): string | undefined => {
  let name = ""
  for (let start = 0;;) {
    const end = bytes.indexOf("\r\n", start)
    if (end === -1 || end === start) return undefined
    if (bytes[start] !== 0x20 && bytes[start] !== 0x09) {
      name = bytes.toString("latin1", start, bytes.indexOf(":", start))
    }
    if (end - start > maxLine) {
      return `has the header ${name} with a line of ${
        (end - start).toLocaleString("en")
      } characters, which cannot be ` +
        `folded. Lines have at most ${maxLine} characters: shorten its value`
    }
    start = end + 2
  }
}

/** Maximum number of parsed private keys in memory. */
const maxKeys = 100

const parsedKeys = new Map<string, KeyObject>()

/** Returns the parsed private key from a cache, because parsing takes longer than signing one message. */
const keyOf = (pem: string): KeyObject => {
  const known = parsedKeys.get(pem)
  if (known !== undefined) return known
  if (parsedKeys.size >= maxKeys) parsedKeys.clear()
  const key = createPrivateKey(pem)
  parsedKeys.set(pem, key)
  return key
}

const signed = (bytes: Buffer, dkim: DkimSigner | undefined): Buffer =>
  dkim === undefined ? bytes : signMessage(bytes, dkim, keyOf(dkim.privateKey))

/** The parts of the body: CRLF line breaks, the preheader in its place, and always a plain-text part. */
const partsOf = ({ html, preheader, text }: Email) => {
  const line = preheader === undefined ? "" : lineOf(preheader)
  if (html === undefined) return { text: crlf(text ?? ""), html: undefined }
  const needsText = text === undefined
  const outline = needsText || line !== "" ? outlineOf(html) : undefined
  const plain = needsText ? textOf(html, outline!) : { text }
  if ("reason" in plain) return plain
  const at = outline?.bodyStart ?? 0
  return { text: crlf(plain.text), html: crlf(line === "" ? html : html.slice(0, at) + hidden(line) + html.slice(at)) }
}

/** Elements whose text is not visible. */
const hiddenElements: ReadonlySet<string> = new Set(["script", "style", "title", "template"])

/** Counts the images and the visible characters of HTML. */
export const imagesOf = (html: string): ShownImages => {
  let [count, withoutAlt, insecure, textLength] = [0, 0, 0, 0]
  let hiddenDepth = 0
  const parser = new Parser({
    onopentag(name, { alt, height, src, width }) {
      if (hiddenElements.has(name)) hiddenDepth++
      if (name !== "img" || width === "1" || height === "1") return
      count++
      if (alt === undefined) withoutAlt++
      if (/^\s*http:/i.test(src ?? "")) insecure++
    },
    onclosetag(name) {
      if (hiddenElements.has(name)) hiddenDepth--
    },
    ontext(text) {
      if (hiddenDepth === 0) textLength += text.replace(/\s+/g, " ").trim().length
    },
  })
  parser.end(html)
  return { count, withoutAlt, insecure, textLength }
}

/** Maximum number of links of a message that are returned as written. */
const maxHrefs = 1_000

const shownOf = ({ html, subject, text }: Pick<EmailParts, "html" | "subject" | "text">): EmailParts => {
  const links = new Set<string>()
  const hrefs = new Set<string>()
  const collect = (url: string) => {
    if (/^https?:/i.test(url)) links.add(url)
    if (hrefs.size < maxHrefs) hrefs.add(url)
    return undefined
  }
  if (html === undefined) rewriteText(text, collect)
  else rewriteHtml(html, collect, "", () => hrefs.add(""))
  const images = html === undefined ? noImages : imagesOf(html)
  return { subject, text, html, links: [...links], hrefs: [...hrefs], images }
}

/**
 * Composes an e-mail. The result is `faulty` if an address, a name or a link cannot be written into a header, if a
 * header line has more than 998 characters, or if the HTML cannot be converted to plain text. The `Message-ID` of an
 * e-mail is the same each time. Needs linear time for all known HTML.
 */
export const compose = (email: Email): ComposeResult => {
  const fault = inputFault(email)
  if (fault !== undefined) return { _tag: "faulty", reason: fault }
  const parts = partsOf(email)
  if ("reason" in parts) return { _tag: "faulty", reason: parts.reason }
  const { date, from, messageId, replyTo, to } = email
  const subject = lineOf(email.subject)
  const prepared = encodedSubject(subject)
  const bytes = writeMessage({
    headers: headersOf(email),
    from,
    to,
    replyTo,
    subject: { value: prepared ?? subject, prepared: prepared !== undefined },
    messageId,
    date,
    text: parts.text,
    html: parts.html,
  })
  const tooLong = headerLineFault(bytes)
  if (tooLong !== undefined) return { _tag: "faulty", reason: tooLong }
  const mail = { from: envelopeAddress(from), to: envelopeAddress({ email: to }), bytes: signed(bytes, email.dkim) }
  return { _tag: "composed", mail: email.isShown === true ? { ...mail, shown: shownOf({ ...parts, subject }) } : mail }
}
