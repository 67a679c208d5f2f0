import { foldLines } from "nodemailer/lib/mime-funcs"
import MimeNode from "nodemailer/lib/mime-node"
import { Buffer } from "node:buffer"
import { randomBytes } from "node:crypto"
import type { Mailbox } from "../text/Email.ts"

// Messages in wire format (RFC 5322, RFC 2045 to 2049). Ordinary header values are written without changes; nodemailer
// encodes and folds other values. `MimeNode.build` could do all of this, but uses ten streams per message.

/** A header with a text value. A `prepared` value is already encoded and folded. */
export interface Header {
  readonly name: string
  readonly value: string
  readonly prepared?: boolean
}

/** Maximum length of a header line before it is folded. Unit: characters. */
const maxHeaderLine = 76

/** Maximum length of a body line that is not encoded, and of a line of an encoded body. Unit: characters. */
const maxBodyLine = 76

/** Matches values that need no encoding. Values with quotation marks are left to nodemailer, which encodes them. */
const isPrintable = /^[\x20\x21\x23-\x7e]*$/

/** Returns a header line, folded, without its final line break. Undefined for an empty value. */
const headerLine = (name: string, value: string): string | undefined => {
  const line = `${name}: ${value}`
  if (line.length <= maxHeaderLine && isPrintable.test(value) && !value.includes("=?")) {
    return value.trim() === "" ? undefined : line
  }
  const encoded = MimeNode.encodeHeaderValue(name, value)
  return encoded.trim() === "" ? undefined : foldLines(`${name}: ${encoded}`, maxHeaderLine)
}

/** Matches addresses that need no encoding. Other addresses may need an ASCII domain or angle brackets. */
const isPlainAddress = /^(?!.*xn--)[a-z0-9_+-]+(?:\.[a-z0-9_+-]+)*@[a-z0-9-]+(?:\.[a-z0-9-]+)+$/

const addressOf = ({ email, name }: Mailbox) => ({ address: email, name: name ?? "" })

const addressLine = (header: "From" | "To" | "Reply-To", mailbox: Mailbox): string =>
  (mailbox.name ?? "") === "" && isPlainAddress.test(mailbox.email)
    ? `${header}: ${mailbox.email}`
    : foldLines(`${header}: ${MimeNode.encodeHeaderValue(header, addressOf(mailbox))}`, maxHeaderLine)

/** The address of a mailbox in an SMTP envelope. International domains are converted to ASCII. */
export const envelopeAddress = ({ email }: Mailbox): string =>
  isPlainAddress.test(email)
    ? email
    : new MimeNode("text/plain").setHeader("To", addressOf({ email })).getEnvelope().to[0] ?? email

/** Matches ASCII without control characters except tab, CR and LF. */
const isPlainText = /^[\t\n\r\x20-\x7f]*$/
const hasLongLine = new RegExp(`^.{${maxBodyLine + 1}}`, "m")

/**
 * Whether a text has more letters than characters that quoted-printable writes as several characters. For such a text,
 * base64 would be longer and unreadable.
 */
const isMostlyLatin = (bytes: Uint8Array): boolean => {
  let letters = 0
  let others = 0
  for (const byte of bytes) {
    if ((byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a)) letters++
    // Counts only the first byte of each UTF-8 character.
    else if (byte >= 0xc0 || (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d)) others++
  }
  return others < letters
}

const hexDigits = Buffer.from("0123456789ABCDEF")

/** Number of bytes of the UTF-8 character that begins with this byte. */
const lengthOfCharacter = (byte: number): number => byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4

/**
 * Encodes text with CRLF line breaks as quoted-printable (RFC 2045, 6.7). Lines have at most 76 characters, and no
 * character is split between two lines.
 */
export const quotedPrintable = (bytes: Uint8Array): Buffer => {
  // Each byte becomes at most three characters, and each line holds at least twelve characters before a soft break of
  // three.
  const out = Buffer.allocUnsafe(bytes.length * 4 + 3)
  let length = 0
  let column = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (byte === 0x0d && bytes[at + 1] === 0x0a) {
      out[length++] = 0x0d
      out[length++] = 0x0a
      column = 0
      at++
      continue
    }
    const isSpace = byte === 0x20 || byte === 0x09
    const isLiteral = isSpace
      ? at + 1 < bytes.length && bytes[at + 1] !== 0x0d
      : byte > 0x20 && byte < 0x7f && byte !== 0x3d
    if (column + (isLiteral ? 1 : 3 * lengthOfCharacter(byte)) >= maxBodyLine) {
      out[length++] = 0x3d
      out[length++] = 0x0d
      out[length++] = 0x0a
      column = 0
    }
    if (isLiteral) {
      out[length++] = byte
      column++
    } else {
      out[length++] = 0x3d
      out[length++] = hexDigits[byte >> 4]!
      out[length++] = hexDigits[byte & 15]!
      column += 3
    }
  }
  return out.subarray(0, length)
}

interface Part {
  readonly encoding: "7bit" | "quoted-printable" | "base64"
  readonly bytes: Buffer
}

/** Encodes a text with CRLF line breaks for transfer. */
const encodePart = (text: string): Part => {
  if (isPlainText.test(text) && !hasLongLine.test(text)) return { encoding: "7bit", bytes: Buffer.from(text, "latin1") }
  const bytes = Buffer.from(text)
  if (isMostlyLatin(bytes)) return { encoding: "quoted-printable", bytes: quotedPrintable(bytes) }
  const lines = bytes.toString("base64").replace(/.{76}(?=.)/g, "$&\r\n")
  return { encoding: "base64", bytes: Buffer.from(lines, "latin1") }
}

const textType = "Content-Type: text/plain; charset=utf-8"
const htmlType = "Content-Type: text/html; charset=utf-8"
const encodingLine = ({ encoding }: Part) => `Content-Transfer-Encoding: ${encoding}`

/** A message with plain text, or with plain text and HTML as alternatives. */
interface MimeMessage {
  /** Headers that precede the addresses. */
  readonly headers: ReadonlyArray<Header>
  readonly from: Mailbox
  readonly to: string
  readonly replyTo: string | undefined
  /** The subject. It is already encoded if `prepared`. */
  readonly subject: Omit<Header, "name">
  /** Without angle brackets. */
  readonly messageId: string
  readonly date: Date
  /** With CRLF line breaks. */
  readonly text: string
  /** With CRLF line breaks. */
  readonly html: string | undefined
}

const headerLines = ({ date, from, headers, messageId, replyTo, subject, to }: MimeMessage): ReadonlyArray<string> => {
  const line = ({ name, prepared, value }: Header) => prepared === true ? `${name}: ${value}` : headerLine(name, value)
  return [
    ...headers.map(line),
    addressLine("From", from),
    addressLine("To", { email: to }),
    replyTo === undefined ? undefined : addressLine("Reply-To", { email: replyTo }),
    line({ name: "Subject", ...subject }),
    headerLine("Message-ID", `<${messageId}>`),
    `Date: ${date.toUTCString().replace("GMT", "+0000")}`,
  ].filter((text) => text !== undefined)
}

/** Returns the bytes of a message, which end with a line break. */
export const writeMessage = (message: MimeMessage): Buffer => {
  const { html, text } = message
  const lines = headerLines(message)
  const plain = encodePart(text)
  if (html === undefined) {
    const head = [...lines, encodingLine(plain), "MIME-Version: 1.0", textType, "", ""].join("\r\n")
    const isEnded = plain.bytes.length > 0 && plain.bytes.at(-1) === 0x0a
    return Buffer.concat([Buffer.from(head), plain.bytes, Buffer.from(isEnded ? "" : "\r\n")])
  }
  const rich = encodePart(html)
  // The text cannot contain the boundary, which is random and created after the text.
  const boundary = `=_${randomBytes(16).toString("hex")}`
  const type = `Content-Type: multipart/alternative;\r\n boundary="${boundary}"`
  const first = [`--${boundary}`, textType, encodingLine(plain), "", ""]
  const second = ["", `--${boundary}`, htmlType, encodingLine(rich), "", ""]
  return Buffer.concat([
    Buffer.from([...lines, "MIME-Version: 1.0", type, "", ...first].join("\r\n")),
    plain.bytes,
    Buffer.from(second.join("\r\n"), "latin1"),
    rich.bytes,
    Buffer.from(`\r\n--${boundary}--\r\n`, "latin1"),
  ])
}
