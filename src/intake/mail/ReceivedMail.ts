import PostalMime, { decodeWords } from "postal-mime"

// Reads e-mails with `postal-mime`, as far as delivery reports need it. Bounded: a mail is hostile until it is judged.

/** Header fields by lowercase name, unfolded and decoded (RFC 2047). Of a field that is repeated, the first. */
export type MailHeaders = ReadonlyMap<string, string>

/** A received mail. Enclosed messages are not read into its text. */
export interface ReceivedMail {
  readonly headers: MailHeaders
  /** The text that a person reads. Empty without one. */
  readonly text: string
  /** The types of all parts but texts, in lowercase. */
  readonly types: ReadonlyArray<string>
  /** The groups of fields of a delivery report (RFC 3464); undefined without one. */
  readonly status: ReadonlyArray<MailHeaders> | undefined
  /** The fields of a feedback report (RFC 5965); undefined without one. */
  readonly feedback: MailHeaders | undefined
  /** The header sections of the messages that are enclosed. */
  readonly enclosed: ReadonlyArray<MailHeaders>
}

/** Deepest nesting of parts. Reports have 2, and 3 or 4 behind gateways that wrap them. A deeper mail is not read. */
const maxNestingDepth = 16

/** Lines that are read. The parser needs 10 µs for each, and a report has its parts at the start. */
const maxLines = 10_000

/** Groups of fields that are read of a delivery report. */
const maxGroups = 100

/** Enclosed messages that are looked at. */
const maxEnclosed = 20

/** Longest value of a field that is kept. Unit: characters. */
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
  // From the last, so that the first of a name stays.
  new Map(headers.map(({ key, value }) => [key, decodeWords(value.slice(0, maxValue))] as const).reverse())

/** Reads a header section, up to an empty line or the end of `text`. */
export const readHeaders = async (text: string): Promise<MailHeaders> => {
  const end = text.search(/^\r?\n|\n\r?\n/)
  return headersOf(await PostalMime.parse(end < 0 ? text : text.slice(0, end)))
}

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
    text: mail.text ?? mail.html ?? "",
    types: parts.map(({ type }) => type),
    status: status && await readGroups(status.content),
    feedback: feedback && ((await readGroups(feedback.content))[0] ?? new Map()),
    enclosed: await Promise.all(enclosed.map(({ content }) => readHeaders(content.trimStart()))),
  }
}
