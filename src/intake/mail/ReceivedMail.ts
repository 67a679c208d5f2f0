import { Buffer } from "node:buffer"
import PostalMime, { decodeWords } from "postal-mime"

// Reads the parts of e-mails that delivery reports use, with `postal-mime`. All sizes are limited, because a mail may
// be hostile.

/** Header fields by lowercase name, unfolded and decoded (RFC 2047). If a field is repeated, the first one. */
export type MailHeaders = ReadonlyMap<string, string>

/** A received mail. Its text does not include enclosed messages. */
export interface ReceivedMail {
  readonly headers: MailHeaders
  /** The readable text; empty if the mail has none. */
  readonly text: string
  /** The lowercase types of all parts except texts. */
  readonly types: ReadonlyArray<string>
  /** The groups of fields of a delivery report (RFC 3464); undefined without one. */
  readonly status: ReadonlyArray<MailHeaders> | undefined
  /** The fields of a feedback report (RFC 5965); undefined without one. */
  readonly feedback: MailHeaders | undefined
  /** The header sections of enclosed messages. */
  readonly enclosed: ReadonlyArray<MailHeaders>
}

/**
 * Maximum nesting of parts. Reports have 2 levels, or 3 or 4 behind gateways that wrap them. Deeper mails are not read.
 */
const maxNestingDepth = 16

/** Maximum number of lines that are read. The parser needs 10 µs for each, and a report has its parts at the start. */
const maxLines = 10_000

/** Maximum number of groups of fields that are read from a delivery report. */
const maxGroups = 100

/** Maximum number of enclosed messages that are read. */
const maxEnclosed = 20

/** Maximum length of a page in HTML that is read. Unit: characters. */
const maxPage = 100_000

/** Maximum length of a field's value. Unit: characters. */
const maxValue = 4_000

const limited = (body: Uint8Array): Uint8Array => {
  let end = 0
  for (let lines = 0; lines < maxLines; lines++) {
    end = body.indexOf(0x0a, end) + 1
    if (end === 0) return body
  }
  return body.subarray(0, end)
}

const headersOf = ({ headers }: { readonly headers: ReadonlyArray<{ key: string; value: string }> }): MailHeaders =>
  // Reversed, so that the first field of a name wins.
  new Map(headers.map(({ key, value }) => [key, decodeWords(value.slice(0, maxValue))] as const).reverse())

/** Reads a header section, up to an empty line or the end of `text`. */
export const readHeaders = async (text: string): Promise<MailHeaders> => {
  const end = text.search(/^\r?\n|\n\r?\n/)
  return headersOf(await PostalMime.parse(end < 0 ? text : text.slice(0, end)))
}

/** Decodes ISO-2022-JP, which some servers write into reports without an encoding. */
const decodedText = (text: string): string =>
  text.includes("\u001b$") ? new TextDecoder("iso-2022-jp").decode(Buffer.from(text, "latin1")) : text

/** Reads groups of fields that empty lines separate. */
const readGroups = async (text: string): Promise<ReadonlyArray<MailHeaders>> => {
  const groups: Array<MailHeaders> = []
  for (const group of text.split(/(?:\r?\n){2,}/, maxGroups)) {
    const headers = await readHeaders(group.replace(/^\s+/, ""))
    if (headers.size > 0) groups.push(headers)
  }
  return groups
}

const statusTypes: ReadonlySet<string> = new Set(["message/delivery-status", "message/global-delivery-status"])

const enclosedTypes: ReadonlySet<string> = new Set([
  "message/rfc822",
  "message/global",
  "text/rfc822-headers",
  "message/rfc822-headers",
  "message/global-headers",
])

/** The text after the header section, of a mail whose parts cannot be found. */
const bodyOf = (body: Uint8Array): string => {
  const text = Buffer.from(limited(body)).toString("utf8")
  const end = /\r?\n\r?\n/.exec(text)
  return end === null ? "" : text.slice(end.index + end[0].length)
}

const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', nbsp: " " }

/** The words of a page, as far as a report in HTML needs it: without tags, and with their breaks. */
const wordsIn = (html: string): string => {
  const [start = "", ...rest] = html.slice(0, maxPage).split(/<(?:style|script)(?=[\s>])/i)
  // Each of the others begins with a style sheet or a script.
  return [start, ...rest.map((part) => part.slice(part.search(/<\/(?:style|script)/i)))].join(" ")
    .replace(/<(?:br|\/p|\/div|\/tr|\/li|\/h\d)\b[^<>]{0,200}>/gi, "\n")
    .replace(/<\/?[a-z!][^<>]{0,2000}>/gi, "")
    .replace(/&(lt|gt|amp|quot|nbsp);/g, (_, name: string) => entities[name]!)
}

/** Reads a mail, or its beginning. Fails if its parts are nested too deeply. */
export const readMail = async (body: Uint8Array): Promise<ReceivedMail> => {
  const mail = await PostalMime.parse(limited(body), {
    attachmentEncoding: "utf8",
    forceRfc822Attachments: true,
    maxNestingDepth,
  })
  const parts = mail.attachments.map(({ content, mimeType }) => ({ type: mimeType, content: String(content) }))
  const status = parts.find(({ type }) => statusTypes.has(type))
  const feedback = parts.find(({ type }) => type === "message/feedback-report")
  const enclosed = parts.filter(({ type }) => enclosedTypes.has(type)).slice(0, maxEnclosed)
  return {
    headers: headersOf(mail),
    text: mail.text ?? (mail.html === undefined ? parts.length === 0 ? bodyOf(body) : "" : wordsIn(mail.html)),
    types: parts.map(({ type }) => type),
    status: status && await readGroups(decodedText(status.content)),
    feedback: feedback && ((await readGroups(feedback.content))[0] ?? new Map()),
    enclosed: await Promise.all(enclosed.map(({ content }) => readHeaders(content.trimStart()))),
  }
}
