import { Buffer } from "node:buffer"
import { createHash, createPublicKey, verify } from "node:crypto"

// Verifies DKIM signatures as a receiver does (RFC 6376, chapter 6), without any code of the signer.

const CR = 13
const LF = 10
const SP = 32
const HT = 9

const isWhite = (byte: number) => byte === SP || byte === HT

interface Field {
  readonly name: string
  readonly bytes: Buffer
}

/** Splits a message into its fields, with their line breaks, and its body. */
const split = (message: Buffer): { readonly fields: Array<Field>; readonly body: Buffer } => {
  const fields: Array<Field> = []
  let start = 0
  while (start < message.length) {
    if (message[start] === CR && message[start + 1] === LF) return { fields, body: message.subarray(start + 2) }
    let end = start
    do {
      end = message.indexOf("\r\n", end)
      end = end === -1 ? message.length : end + 2
    } while (end < message.length && isWhite(message[end]!))
    const bytes = message.subarray(start, end)
    fields.push({ name: bytes.subarray(0, bytes.indexOf(":")).toString("latin1").trim().toLowerCase(), bytes })
    start = end
  }
  return { fields, body: Buffer.alloc(0) }
}

/** Removes white space before a position, and reduces other runs of it to one space. */
const relaxLine = (line: Buffer): ReadonlyArray<number> => {
  const out: Array<number> = []
  for (const byte of line) {
    if (!isWhite(byte)) out.push(byte)
    else if (out.at(-1) !== SP) out.push(SP)
  }
  while (out.at(-1) === SP) out.pop()
  return out
}

const relaxedBody = (body: Buffer): Buffer => {
  const out: Array<number> = []
  let kept = 0
  for (let start = 0; start < body.length;) {
    const end = body.indexOf("\r\n", start)
    const line = relaxLine(body.subarray(start, end === -1 ? body.length : end))
    out.push(...line, CR, LF)
    if (line.length > 0) kept = out.length
    start = end === -1 ? body.length : end + 2
  }
  return Buffer.from(out.slice(0, kept))
}

const relaxedField = ({ bytes, name }: Field): Buffer => {
  const value: Array<number> = []
  for (const byte of bytes.subarray(bytes.indexOf(":") + 1)) if (byte !== CR && byte !== LF) value.push(byte)
  const relaxed = relaxLine(Buffer.from(value))
  return Buffer.from([...Buffer.from(`${name}:`), ...(relaxed[0] === SP ? relaxed.slice(1) : relaxed)])
}

const tagsOf = (text: string): ReadonlyMap<string, string> =>
  new Map(
    text.split(";").filter((tag) => tag.trim() !== "").map((tag): [string, string] => {
      const at = tag.indexOf("=")
      return [tag.slice(0, at).trim(), tag.slice(at + 1).replace(/[ \t\r\n]+/g, "")]
    }),
  )

/** The result for the first `DKIM-Signature` of a message. */
export interface Verified {
  readonly result: "pass" | "no signature" | "body hash" | "signature"
  readonly domain: string
  readonly selector: string
  /** Names in `h=`, including repetitions. */
  readonly names: ReadonlyArray<string>
}

/** Verifies a received message. `record` is the text of the TXT record with the key. */
export const verifyDkim = (message: Buffer, record: string): Verified => {
  const { body, fields } = split(message)
  const own = fields.find(({ name }) => name === "dkim-signature")
  if (own === undefined) return { result: "no signature", domain: "", selector: "", names: [] }
  const tags = tagsOf(own.bytes.toString("latin1").slice(own.bytes.indexOf(":") + 1))
  const names = tags.get("h")!.toLowerCase().split(":")
  const about = { domain: tags.get("d")!, selector: tags.get("s")!, names }
  if (createHash("sha256").update(relaxedBody(body)).digest("base64") !== tags.get("bh")) {
    return { result: "body hash", ...about }
  }
  const left = fields.filter((field) => field !== own)
  const input: Array<Buffer> = []
  for (const name of names) {
    // Selects the last unused field of the name. A name without an unused field adds nothing.
    const at = left.findLastIndex((field) => field.name === name)
    if (at !== -1) input.push(relaxedField(left.splice(at, 1)[0]!), Buffer.from("\r\n"))
  }
  const emptied = own.bytes.toString("latin1").replace(/(;\s*b=)[^;]*$/, "$1")
  input.push(relaxedField({ name: own.name, bytes: Buffer.from(emptied, "latin1") }))
  const der = Buffer.from(tagsOf(record).get("p")!, "base64")
  const key = createPublicKey({ key: der, format: "der", type: "spki" })
  const isValid = verify("sha256", Buffer.concat(input), key, Buffer.from(tags.get("b")!, "base64"))
  return { result: isValid ? "pass" : "signature", ...about }
}
