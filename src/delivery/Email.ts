import { Effect } from "effect"
import { htmlToText } from "html-to-text"
import MailComposer from "nodemailer/lib/mail-composer"
import { Buffer } from "node:buffer"
import { domainToASCII } from "node:url"

/** A mailbox with the name that mail programs show. */
export interface Mailbox {
  readonly email: string
  readonly name?: string | undefined
}

export interface Email {
  readonly from: Mailbox
  readonly to: string
  readonly replyTo?: string | undefined
  readonly subject: string
  /** One of both at least; a text is made from the html where there is none. */
  readonly html: string | undefined
  readonly text: string | undefined
  /** What mail programs show beside the subject: hidden at the beginning of the html. */
  readonly preheader?: string | undefined
  /** Without angle brackets. */
  readonly messageId: string
  /** `X-Tracking-Id`. */
  readonly trackingId: string
  readonly unsubscribe?: { readonly url?: string | undefined; readonly mailto?: string | undefined } | undefined
  readonly date: Date
}

/** An e-mail as it goes over the wire, and between whom. */
export interface Composed {
  readonly from: string
  readonly to: string
  /** RFC 5322, CRLF line breaks. */
  readonly bytes: Buffer
}

/** Most characters of a line, RFC 5322. */
const maxLine = 998
const maxAddress = 254

// What turns the reading direction of all that follows; the marks U+200E, U+200F and U+061C act on their place only.
const bidi = /[\u202a-\u202e\u2066-\u2069]/
// deno-lint-ignore no-control-regex
const controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/

/** Why a text cannot stand in a header where nothing may be changed about it, such as a name; undefined when it can. */
export const headerFault = (text: string): string | undefined =>
  !text.isWellFormed()
    ? "must be whole characters: it has half of a surrogate pair"
    : /[\r\n]/.test(text)
    ? "must not contain line breaks"
    : controls.test(text)
    ? "must not contain control characters"
    : bidi.test(text)
    ? "must not contain characters that turn the direction of text"
    : undefined

/**
 * A subject or a preheader as it is sent. They come from templates, where line breaks are a matter of layout: white space and
 * control characters become single spaces, and characters that turn the direction of text vanish.
 */
export const lineOf = (text: string): string =>
  text.toWellFormed()
    .replace(new RegExp(bidi, "g"), "")
    .replace(new RegExp(`(?:${controls.source}|\\s)+`, "g"), " ")
    .trim()

const isDomain = (domain: string): boolean => {
  if (!/^[a-z0-9.\u0080-\u{10ffff}-]+$/iu.test(domain)) return false
  const ascii = domainToASCII(domain)
  const labels = ascii.split(".")
  return ascii.length <= 253 && labels.length >= 2 && !/^\d+$/.test(labels.at(-1)!) &&
    labels.every((label) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i.test(label))
}

/**
 * Why a text is no address of one recipient, to stand after its name; undefined when it is. One bare address of 254
 * characters at most: no list, no display name, no comment, no quoted local part, no IP address for a domain.
 */
export const validateAddress = (email: string): string | undefined => {
  if (email === "") return "must not be empty"
  const fault = headerFault(email)
  if (fault !== undefined) return fault
  if (email.length > maxAddress) return `must be ${maxAddress} characters at most`
  if (/[,;]/.test(email)) return "must be one address, not a list"
  if (/[<>]/.test(email)) return "must be the bare address, without a name or angle brackets"
  if (/[\s\p{Cf}\p{Zs}]/u.test(email)) return "must not contain spaces or invisible characters"
  if (/["()\\[\]:]/.test(email)) return "must not contain quotes, brackets, colons or backslashes"
  const at = email.lastIndexOf("@")
  const local = email.slice(0, at)
  if (at < 1 || local.includes("@")) return "must be an address with one @, such as ada@example.com"
  if (new TextEncoder().encode(local).length > 64) return "must have 64 bytes at most before the @"
  if (local.startsWith(".") || local.endsWith(".") || local.includes("..")) {
    return "must not have full stops at the ends, or two in a row, before the @"
  }
  return isDomain(email.slice(at + 1)) ? undefined : "must have a domain after the @, such as example.com"
}

const escapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" }

const escapeHtml = (text: string): string => text.replace(/[&<>"]/g, (character) => escapes[character]!)

/** A plain text as html, for platforms that take nothing else: line breaks stay. */
export const htmlOf = (text: string): string =>
  `<div>${escapeHtml(text.toWellFormed()).replace(/\r\n|\r|\n/g, "<br>\n")}</div>`

/** The text of an html body: links with their addresses, no images, lines as long as they are. */
export const textOf = (html: string): string =>
  htmlToText(html, {
    wordwrap: false,
    limits: { maxInputLength: 2 ** 20, maxDepth: 200, maxChildNodes: 20_000 },
    selectors: [{ selector: "img", format: "skip" }, { selector: "a", options: { hideLinkHrefIfSameAsText: true } }],
  })

const hidden = (preheader: string): string =>
  '<div style="display:none;font-size:1px;line-height:1px;max-height:0;max-width:0;opacity:0;overflow:hidden;mso-hide:all">' +
  `${escapeHtml(preheader)}</div>`

const withPreheader = (html: string, preheader: string): string => {
  const body = /<body\b(?:[^>"']|"[^"]*"|'[^']*')*>/i.exec(html)
  const at = body === null ? 0 : body.index + body[0].length
  return html.slice(0, at) + hidden(preheader) + html.slice(at)
}

/** MIME's lines end in CRLF, and a bare CR is not allowed: what a reader gets back has the same lines. */
const crlf = (text: string): string => text.toWellFormed().replace(/\r\n|\r|\n/g, "\r\n")

const addressOf = ({ email, name }: Mailbox) => ({ address: email, name: name ?? "" })

/**
 * A subject that has the looks of RFC 2047's encoded words, which would be decoded on the other side although nobody encoded
 * it; undefined for all others, which are encoded where they must be.
 */
const encodedSubject = (subject: string): string | undefined => {
  if (!subject.includes("=?")) return undefined
  const words: Array<string> = []
  let word = ""
  // A word is 75 characters at most, and holds whole characters.
  for (const character of subject) {
    if (Buffer.byteLength(word + character) > 45) {
      words.push(word)
      word = ""
    }
    word += character
  }
  return [...words, word].map((text) => `=?UTF-8?B?${Buffer.from(text).toString("base64")}?=`).join("\r\n ")
}

const listHeaders = ({ mailto, url }: NonNullable<Email["unsubscribe"]>) => ({
  "List-Unsubscribe": {
    // As it stands: folding inside of a URL would break it.
    prepared: true,
    value: [url, mailto && `mailto:${mailto}`].flatMap((target) => target ? [`<${target}>`] : []).join(",\r\n "),
  },
  ...(url?.startsWith("https:") ? { "List-Unsubscribe-Post": "List-Unsubscribe=One-Click" } : {}),
})

/**
 * An e-mail as bytes. Fails with the reason, to stand after "the message", when an address, a name or the unsubscribe link
 * cannot stand in a header. The same e-mail has the same `Message-ID` each time.
 */
export const compose = (email: Email): Effect.Effect<Composed, string> =>
  Effect.suspend(() => {
    const { from, html, preheader, replyTo, subject, text, to, unsubscribe } = email
    const faults: ReadonlyArray<readonly [name: string, fault: string | undefined]> = [
      ["from", validateAddress(from.email)],
      ["from_name", from.name === undefined ? undefined : headerFault(from.name)],
      ["recipient", validateAddress(to)],
      ["reply_to", replyTo === undefined ? undefined : validateAddress(replyTo)],
      ["message id", headerFault(email.messageId)],
      ["tracking id", headerFault(email.trackingId)],
      ["unsubscribe link", linkFault(unsubscribe?.url)],
      ["unsubscribe address", unsubscribe?.mailto === undefined ? undefined : linkFault(unsubscribe.mailto)],
    ]
    const wrong = faults.find(([, fault]) => fault !== undefined)
    if (wrong !== undefined) return Effect.fail(`has a ${wrong[0]} that ${wrong[1]}`)

    const line = preheader === undefined ? "" : lineOf(preheader)
    const topic = lineOf(subject)
    const prepared = encodedSubject(topic)
    const plain = text ?? textOf(html ?? "")
    const node = new MailComposer({
      from: addressOf(from),
      to: { address: to, name: "" },
      ...(replyTo === undefined ? {} : { replyTo: { address: replyTo, name: "" } }),
      ...(prepared === undefined ? { subject: topic } : {}),
      messageId: `<${email.messageId}>`,
      date: email.date,
      headers: {
        ...(prepared === undefined ? {} : { Subject: { prepared: true, value: prepared } }),
        "X-Tracking-Id": email.trackingId,
        ...(unsubscribe === undefined ? {} : listHeaders(unsubscribe)),
      },
      text: crlf(plain),
      ...(html === undefined ? {} : { html: crlf(line === "" ? html : withPreheader(html, line)) }),
      newline: "win",
      disableFileAccess: true,
      disableUrlAccess: true,
    }).compile()
    const envelope = node.getEnvelope()
    return Effect.map(Effect.promise(() => node.build()), (bytes) => ({
      from: envelope.from || from.email,
      to: envelope.to[0] ?? to,
      bytes,
    }))
  })

/** Why a URL cannot stand between angle brackets in a header of one line; undefined when it can. */
const linkFault = (url: string | undefined): string | undefined =>
  url === undefined || /^[\x21-\x3b\x3d\x3f-\x7e]+$/.test(url) && url.length <= maxLine - 40
    ? undefined
    : `must be ASCII without spaces and angle brackets, ${maxLine - 40} characters at most`
