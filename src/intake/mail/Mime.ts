import { Buffer } from "node:buffer"

// Splits e-mails into parts, as far as delivery reports need it. Pure, bounded, and linear in the size of any message.
// Texts have one character per byte (latin1) until they are decoded.

/** Header fields by lowercase name, unfolded. Of a field that is repeated, the first. */
export type MailHeaders = ReadonlyMap<string, string>

/** A part of a message that has no parts of its own. An enclosed message is one part. */
export interface Leaf {
  /** Media type in lowercase, such as `message/delivery-status`. */
  readonly type: string
  readonly headers: MailHeaders
  /** The content as it stands in the message. */
  readonly content: string
}

/** Deepest nesting of multiparts. Reports have 2, and 3 or 4 behind gateways that wrap them. */
const maxDepth = 6

/** Leaves that are looked at. */
const maxLeaves = 60

/** Longest header section that is read. Unit: bytes. */
const maxHeaderBytes = 128 * 1024

/** Fields that are read of one header section. */
const maxFields = 500

/** Longest value that is kept. Unit: characters. */
const maxValue = 4_000

/** A header section, and where the text behind it begins. */
export interface Section {
  readonly headers: MailHeaders
  readonly end: number
}

/** Reads the header section that begins at `start`, up to an empty line or the end. Lines that are no fields are left out. */
export const readHeaders = (text: string, start = 0): Section => {
  const headers = new Map<string, string>()
  const limit = Math.min(text.length, start + maxHeaderBytes)
  let at = start
  let name: string | undefined
  let fields = 0
  while (at < limit) {
    const newline = text.indexOf("\n", at)
    const next = newline < 0 ? text.length : newline + 1
    const end = newline < 0 ? text.length : newline > at && text[newline - 1] === "\r" ? newline - 1 : newline
    if (end === at) return { headers, end: next }
    const isFolded = text[at] === " " || text[at] === "\t"
    if (isFolded) {
      const value = name === undefined ? undefined : headers.get(name)
      if (value !== undefined && value.length < maxValue) {
        headers.set(name!, `${value} ${text.slice(at, Math.min(end, at + maxValue)).trim()}`)
      }
    } else {
      const colon = text.slice(at, Math.min(end, at + 200)).indexOf(":")
      const field = colon > 0 ? text.slice(at, at + colon).trimEnd().toLowerCase() : undefined
      name = field !== undefined && /^[\x21-\x7e]+$/.test(field) && !headers.has(field) ? field : undefined
      if (name !== undefined && ++fields <= maxFields) {
        headers.set(name, text.slice(at + colon + 1, Math.min(end, at + colon + 1 + maxValue)).trim())
      }
    }
    at = next
  }
  return { headers, end: at }
}

/** Groups of fields that empty lines separate, as in `message/delivery-status`. At most 100. */
export const readGroups = (text: string): ReadonlyArray<MailHeaders> => {
  const groups: Array<MailHeaders> = []
  let at = 0
  while (at < text.length && groups.length < 100) {
    const { end, headers } = readHeaders(text, at)
    if (headers.size > 0) groups.push(headers)
    at = Math.max(end, at + 1)
  }
  return groups
}

/** The media type of a part, in lowercase. */
export const typeOf = (headers: MailHeaders): string =>
  /^\s*([a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+)/i.exec(headers.get("content-type") ?? "")?.[1]?.toLowerCase() ??
    "text/plain"

/** A parameter of the media type, such as `boundary`. */
export const parameterOf = (headers: MailHeaders, name: string): string | undefined => {
  const pattern = new RegExp(`;\\s*${name}\\s*=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s;"]+))`, "i")
  const [, quoted, token] = pattern.exec(headers.get("content-type") ?? "") ?? []
  return quoted?.replace(/\\(.)/g, "$1") ?? token
}

/** The contents between the boundaries of a multipart, at most `most`. The last one may be cut off. */
const splitParts = (content: string, boundary: string, most: number): ReadonlyArray<string> => {
  const delimiter = `--${boundary}`
  const parts: Array<string> = []
  let start: number | undefined
  for (let at = content.indexOf(delimiter); at >= 0; at = content.indexOf(delimiter, at + delimiter.length)) {
    if (at > 0 && content[at - 1] !== "\n") continue
    const behind = at + delimiter.length
    const isLast = content.startsWith("--", behind)
    // Otherwise a longer boundary that begins with this one.
    if (!isLast && !/^[ \t]*\r?(\n|$)/.test(content.slice(behind, behind + 80))) continue
    if (start !== undefined) {
      const end = content[at - 2] === "\r" ? at - 2 : at - 1
      parts.push(content.slice(start, Math.max(start, end)))
    }
    const newline = content.indexOf("\n", behind)
    start = isLast || newline < 0 ? undefined : newline + 1
    if (isLast || start === undefined || parts.length >= most) return parts
  }
  if (start !== undefined) parts.push(content.slice(start))
  return parts
}

/** The leaves of a message or part, in their order, at most 60. */
export const leavesOf = (text: string): ReadonlyArray<Leaf> => {
  const leaves: Array<Leaf> = []
  const walk = (part: string, depth: number): void => {
    if (leaves.length >= maxLeaves) return
    const { end, headers } = readHeaders(part)
    const type = typeOf(headers)
    const content = part.slice(end)
    const boundary = type.startsWith("multipart/") ? parameterOf(headers, "boundary") : undefined
    if (boundary === undefined || boundary === "" || boundary.length > 200 || depth >= maxDepth) {
      leaves.push({ type, headers, content })
      return
    }
    for (const inner of splitParts(content, boundary, maxLeaves)) walk(inner, depth + 1)
  }
  walk(text, 0)
  return leaves
}

const quotedPrintable = (content: string): string =>
  content
    .replace(/=[ \t]{0,80}\r?\n/g, "")
    .replace(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

/** The content of a leaf without its transfer encoding. */
export const decodedContent = ({ content, headers }: Leaf): string => {
  switch ((headers.get("content-transfer-encoding") ?? "").trim().toLowerCase()) {
    case "base64":
      return Buffer.from(content, "base64").toString("latin1")
    case "quoted-printable":
      return quotedPrintable(content)
    default:
      return content
  }
}
