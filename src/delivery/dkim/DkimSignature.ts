import type { DkimSigner } from "../../text/Email.ts"
import { Buffer } from "node:buffer"
import { createHash, createSign, type KeyObject } from "node:crypto"

/** Header fields that are signed once more than they occur, so that adding one breaks the signature. */
const sealed: ReadonlySet<string> = new Set(["from", "to", "cc", "subject", "reply-to"])

/** Header fields that are signed in this way only if the message has them. */
const sealedIfPresent: ReadonlySet<string> = new Set([
  "date",
  "message-id",
  "mime-version",
  "content-type",
  "content-transfer-encoding",
  "list-unsubscribe",
  "list-unsubscribe-post",
])

/** Header fields that are signed if the message has them. Relays may add another field of this name. */
const signed: ReadonlySet<string> = new Set(["feedback-id", "auto-submitted"])

/** A field of a header section. Each character represents one byte. */
export interface HeaderField {
  /** In lowercase. */
  readonly name: string
  /** The field without its final line break. */
  readonly text: string
}

/** Splits a header section into fields. Each character represents one byte. */
export const fieldsOf = (section: string): ReadonlyArray<HeaderField> =>
  section.split(/\r\n(?![ \t])/).filter((text) => text !== "").map((text) => ({
    name: text.slice(0, text.indexOf(":")).trim().toLowerCase(),
    text,
  }))

/** Relaxed canonicalization of a header field (RFC 6376, 3.4.2), without its final line break. */
export const relaxedField = ({ name, text }: HeaderField): string => {
  const value = text.slice(text.indexOf(":") + 1).replaceAll("\r\n", "").replace(/[ \t]+/g, " ")
  return `${name}:${value.replace(/^ /, "").replace(/ $/, "")}`
}

/** Relaxed canonicalization of a body (RFC 6376, 3.4.4), in linear time. */
export const relaxedBody = (body: string): string => {
  const lines = body.replace(/[ \t]+/g, " ").replaceAll(" \r\n", "\r\n").replace(/ $/, "")
  let end = lines.length
  while (end >= 2 && lines.startsWith("\r\n", end - 2)) end -= 2
  return end === 0 ? "" : `${lines.slice(0, end)}\r\n`
}

/**
 * Selects the fields to sign, and their names for `h=`. If several fields have one name, the last field is signed
 * first. If `h=` lists a name once more than the message has such fields, an added field breaks the signature.
 */
const selectFields = (
  fields: ReadonlyArray<HeaderField>,
): { readonly selected: ReadonlyArray<HeaderField>; readonly names: ReadonlyArray<string> } => {
  const selected: Array<HeaderField> = []
  const names: Array<string> = []
  for (const name of [...sealed, ...sealedIfPresent, ...signed]) {
    const present = fields.filter((field) => field.name === name).reverse()
    selected.push(...present)
    const isSealed = sealed.has(name) || (present.length > 0 && sealedIfPresent.has(name))
    names.push(...present.map(() => name), ...(isSealed ? [name] : []))
  }
  return { selected, names }
}

/** Joins words with `separator` in lines of about 76 characters. */
const folded = (words: ReadonlyArray<string>, separator: string, start: string): string => {
  let text = start
  let length = start.length
  words.forEach((word, n) => {
    const next = n === words.length - 1 ? word : word + separator
    if (length + next.length > 76) {
      text += "\r\n "
      length = 1
    }
    text += next
    length += next.length
  })
  return text
}

/**
 * Signs an e-mail (RFC 6376, `rsa-sha256`, `relaxed/relaxed`). Returns the e-mail with the header field
 * `DKIM-Signature` in front. The message must have CRLF line breaks. Equal messages get equal signatures. `key` is the
 * private key for `domain` and `selector`.
 */
export const signMessage = (
  message: Uint8Array,
  { domain, selector }: Pick<DkimSigner, "domain" | "selector">,
  key: KeyObject,
): Buffer => {
  // Latin-1 maps every byte to one character.
  const text = Buffer.from(message.buffer, message.byteOffset, message.byteLength).toString("latin1")
  const end = text.indexOf("\r\n\r\n")
  const [section, body] = end === -1 ? [text, ""] : [text.slice(0, end), text.slice(end + 4)]
  const { names, selected } = selectFields(fieldsOf(section))
  const bodyHash = createHash("sha256").update(relaxedBody(body), "latin1").digest("base64")
  const field = [
    `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=${domain};`,
    ` s=${selector};`,
    `${folded(names, ":", " h=")};`,
    ` bh=${bodyHash};`,
    " b=",
  ].join("\r\n")
  const input = [...selected.map(relaxedField), relaxedField({ name: "dkim-signature", text: field })].join("\r\n")
  const signature = createSign("sha256").update(input, "latin1").sign(key, "base64")
  const lines = signature.match(/.{1,73}/g) ?? []
  return Buffer.concat([Buffer.from(`${field}${lines.join("\r\n ")}\r\n`, "latin1"), message])
}
