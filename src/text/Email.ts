import { domainToASCII } from "node:url"
import { idFault } from "./Placeholders.ts"

/** A mailbox with the name that mail programs show. */
export interface Mailbox {
  readonly email: string
  readonly name?: string | undefined
}

/** The key that signs the e-mails of a connection, and the DNS name of its public key. */
export interface DkimSigner {
  /** The signing domain, in its ASCII form. */
  readonly domain: string
  readonly selector: string
  /** PEM, PKCS #8. */
  readonly privateKey: string
}

/** A message to one recipient, before it is written as MIME. */
export interface Email {
  readonly from: Mailbox
  readonly to: string
  readonly replyTo?: string | undefined
  readonly subject: string
  /** At least one of `html` and `text` is present. Without `text`, the plain text is generated from the HTML. */
  readonly html: string | undefined
  readonly text: string | undefined
  /** The line that mail programs show after the subject. It is inserted, hidden, at the start of the HTML body. */
  readonly preheader?: string | undefined
  /** Without angle brackets. */
  readonly messageId: string
  /** `X-Tracking-Id`. */
  readonly trackingId: string
  readonly unsubscribe?: { readonly url?: string | undefined; readonly mailto?: string | undefined } | undefined
  /** Headers for the e-mail service that sends the message, by name: ASCII without line breaks. */
  readonly senderHeaders?: Readonly<Record<string, string>> | undefined
  /** `Feedback-ID`, made by `feedbackIdOf`. */
  readonly feedbackId?: string | undefined
  /** Whether to add `Auto-Submitted: auto-generated`, so that programs do not reply. Default: false. */
  readonly isAutomatic?: boolean | undefined
  readonly date: Date
  /** Undefined: the message is not signed. */
  readonly dkim?: DkimSigner | undefined
  /** Whether the e-mail is a preview, so that the result also contains its parts. Default: false. */
  readonly isShown?: boolean
}

/** Facts about the images of an HTML part. Images of one pixel in width or height, such as for tracking, do not count. */
export interface ShownImages {
  readonly count: number
  /** Images without the attribute `alt`. */
  readonly withoutAlt: number
  /** Images with an address that begins with `http:`. */
  readonly insecure: number
  /** Length of the visible text of the HTML part. Unit: characters. */
  readonly textLength: number
}

/** Facts about a message without an HTML part. */
export const noImages: ShownImages = { count: 0, withoutAlt: 0, insecure: 0, textLength: 0 }

/** The parts of an e-mail, for a preview. */
export interface EmailParts {
  /** A single line. */
  readonly subject: string
  readonly text: string
  readonly html: string | undefined
  /** The distinct targets of its links, in order. */
  readonly links: ReadonlyArray<string>
  /** The first 1,000 distinct values of `href`, unchanged. An empty value is included. */
  readonly hrefs: ReadonlyArray<string>
  readonly images: ShownImages
}

/** An e-mail in wire format, with its envelope. */
export interface Composed {
  readonly from: string
  readonly to: string
  /** RFC 5322, CRLF line breaks. */
  readonly bytes: Uint8Array
  /** Present if `isShown`. */
  readonly shown?: EmailParts
}

const maxAddress = 254

// Characters that change the reading direction of the following text. The marks U+200E, U+200F and U+061C affect only
// their own position.
const bidi = /[\u202a-\u202e\u2066-\u2069]/
// deno-lint-ignore no-control-regex
const controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/

/** The reason why a text, such as a name, cannot be used in a header without a change. Undefined for a valid text. */
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
 * Prepares a subject or a preheader. Line breaks in templates are only layout, so white space and control characters
 * become single spaces. Characters that change the direction of text are removed.
 */
export const lineOf = (text: string): string =>
  isPlainLine.test(text) ? text : text.toWellFormed().replace(anyBidi, "").replace(anyGap, " ").trim()

const anyBidi = new RegExp(bidi, "g")
const anyGap = new RegExp(`(?:${controls.source}|\\s)+`, "g")
/** Words of ASCII with single spaces between them. */
const isPlainLine = /^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/

/** Matches an ASCII domain without `xn--`, which needs no conversion. */
const isPlainDomain = /^(?!.*xn--)[a-z0-9.-]+$/

const isDomain = (domain: string): boolean => {
  if (!/^[a-z0-9.\u0080-\u{10ffff}-]+$/iu.test(domain)) return false
  const ascii = isPlainDomain.test(domain) ? domain : domainToASCII(domain)
  const labels = ascii.split(".")
  return ascii.length <= 253 && labels.length >= 2 && !/^\d+$/.test(labels.at(-1)!) &&
    labels.every((label) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i.test(label))
}

const encoder = new TextEncoder()
const isWide = /[\u0080-\uffff]/

/**
 * The fault of the address of a recipient, worded to follow the name of the field. Undefined for a valid address: one
 * bare address of up to 254 characters, without a list, display name, comment, quoted local part, or IP address as its
 * domain.
 */
export const validateAddress = (email: string): string | undefined => {
  if (email === "") return "must not be empty"
  const fault = headerFault(email) ?? idFault(email)
  if (fault !== undefined) return fault
  if (email.length > maxAddress) return `must be ${maxAddress} characters at most`
  if (/[,;]/.test(email)) return "must be one address, not a list"
  if (/[<>]/.test(email)) return "must be the bare address, without a name or angle brackets"
  if (/[\s\p{Cf}\p{Zs}]/u.test(email)) return "must not contain spaces or invisible characters"
  if (/["\u201c\u201d\u201e\u00ab\u00bb()\\[\]:]/.test(email)) {
    return "must not contain quotes, brackets, colons or backslashes"
  }
  const at = email.lastIndexOf("@")
  const local = email.slice(0, at)
  if (at < 1 || local.includes("@")) return "must be an address with one @, such as ada@example.com"
  if (local.length > 64 || (isWide.test(local) && encoder.encode(local).length > 64)) {
    return "must have 64 bytes at most before the @"
  }
  if (local.startsWith(".") || local.endsWith(".") || local.includes("..")) {
    return "must not have full stops at the ends, or two in a row, before the @"
  }
  return isDomain(email.slice(at + 1)) ? undefined : "must have a domain after the @, such as example.com"
}

const escapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" }

/** Text as HTML content or as a quoted attribute value. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"]/g, (character) => escapes[character]!)

/**
 * A mailbox as in the header `From`. A name with other characters than letters, digits and spaces is quoted as in
 * RFC 5322.
 */
export const mailboxText = ({ email, name }: Mailbox): string =>
  name === undefined
    ? email
    : `${/^[\p{L}\p{N} ]+$/u.test(name) ? name : `"${name.replace(/[\\"]/g, "\\$&")}"`} <${email}>`

/** Plain text as HTML with its line breaks, for platforms that accept only HTML. */
export const htmlOf = (text: string): string =>
  `<div>${escapeHtml(text.toWellFormed()).replace(/\r\n|\r|\n/g, "<br>\n")}</div>`
