import { Buffer } from "node:buffer"
import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto"
import { tagsOf } from "../receivers/KeyRecord.ts"
import { fieldsOf, type HeaderField, relaxedBody, relaxedField } from "./DkimSignature.ts"

// Verifies DKIM signatures of received mail (RFC 6376, RFC 8463). Pure: the caller queries DNS for the key.

/** A signature whose body hash matches. It is valid if `verifies` accepts the record of its key. */
interface ReceivedSignature {
  /** The signing domain, in lowercase. */
  readonly domain: string
  /** DNS name of the record with the public key. */
  readonly keyName: string
  /** Whether the TXT record at `keyName` holds the key that made the signature. */
  readonly verifies: (record: string) => boolean
}

/** A received mail with the signatures that cover its sender and its structure. */
interface SignedMail {
  /** Value of the field From. Undefined if the mail has none or several, or if programs read its fields differently. */
  readonly from: string | undefined
  /** Reads the signatures of the accepted signing domains. Each signature that is read costs processor time. */
  readonly signaturesOf: (isAccepted: (domain: string) => boolean) => ReadonlyArray<ReceivedSignature>
}

/** Maximum number of signatures of a mail that are read. Each needs a hash of the body, and a query of DNS. */
const maxSignatures = 5

/** Maximum number of header fields of a mail whose signatures are read. */
const maxFields = 1_000

/** Maximum number of names in `h=` of a signature. */
const maxNames = 100

/** Fields that decide how programs read the body. A signature covers each of them that the mail has. */
const structural: ReadonlyArray<string> = ["content-type", "mime-version"]

/** A line break that some programs read as the end of a line, and others do not. */
const bareBreak = /(?<!\r)\n|\r(?!\n)/

/** A header field whose name all programs read alike (RFC 5322, 2.2). */
const plainField = /^[!-9;-~]+[ \t]*:/

/** Shortest accepted RSA key (RFC 8301). Unit: bits. */
const minRsaBits = 1_024

/** DER of an Ed25519 public key, up to its 32 bytes. */
const ed25519Prefix = Buffer.from("302a300506032b6570032100", "hex")

const isName = (text: string | undefined): text is string => /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/i.test(text ?? "")

/** Returns the value of a field as received, after its colon. */
const valueOf = ({ text }: HeaderField): string => text.slice(text.indexOf(":") + 1)

/** Simple canonicalization of a body (RFC 6376, 3.4.3). */
const simpleBody = (body: string): string => {
  let end = body.length
  while (end >= 2 && body.startsWith("\r\n", end - 2)) end -= 2
  return `${body.slice(0, end)}\r\n`
}

/** Returns the fields that `h=` names. If several fields have one name, the last field is signed first. */
const signedFields = (fields: ReadonlyArray<HeaderField>, names: ReadonlyArray<string>): ReadonlyArray<HeaderField> => {
  const left = Map.groupBy(fields, ({ name }) => name)
  return names.flatMap((name) => left.get(name)?.pop() ?? [])
}

/** Whether `h=` names the sender, and each structural field as often as the mail has it. */
const coversStructure = (fields: ReadonlyArray<HeaderField>, names: ReadonlyArray<string>): boolean =>
  names.includes("from") &&
  structural.every((name) =>
    names.filter((one) => one === name).length >= fields.filter((one) => one.name === name).length
  )

/** Returns a function that computes the hash of a body, once per canonicalization. */
const bodyHashOf = (body: string): (isRelaxed: boolean) => string => {
  const hashes = new Map<boolean, string>()
  return (isRelaxed) => {
    const known = hashes.get(isRelaxed)
    if (known !== undefined) return known
    const canonical = isRelaxed ? relaxedBody(body) : simpleBody(body)
    const hash = createHash("sha256").update(canonical, "latin1").digest("base64")
    hashes.set(isRelaxed, hash)
    return hash
  }
}

const derOf = (bytes: Buffer, isRsa: boolean): KeyObject => {
  if (!isRsa) return createPublicKey({ key: Buffer.concat([ed25519Prefix, bytes]), format: "der", type: "spki" })
  try {
    return createPublicKey({ key: bytes, format: "der", type: "spki" })
  } catch {
    return createPublicKey({ key: bytes, format: "der", type: "pkcs1" })
  }
}

/** Returns the key of a record; undefined if the record is revoked, faulty, or for another kind of signature. */
const keyOf = (record: string, isRsa: boolean): KeyObject | undefined => {
  const tags = tagsOf(record)
  const allows = (tag: string, value: string) =>
    (tags.get(tag) ?? value).split(":").some((one) => one === value || one === "*")
  if ((tags.get("v") ?? "DKIM1") !== "DKIM1" || (tags.get("k") ?? "rsa") !== (isRsa ? "rsa" : "ed25519")) {
    return undefined
  }
  if (!allows("h", "sha256") || !allows("s", "email") || (tags.get("p") ?? "") === "") return undefined
  try {
    const key = derOf(Buffer.from(tags.get("p")!, "base64"), isRsa)
    return isRsa && (key.asymmetricKeyDetails?.modulusLength ?? 0) < minRsaBits ? undefined : key
  } catch {
    return undefined
  }
}

/** Reads a signature. Undefined if it does not cover the sender, the structure and the whole body, or has expired. */
const readSignature = (
  field: HeaderField,
  fields: ReadonlyArray<HeaderField>,
  bodyHash: (isRelaxed: boolean) => string,
  now: number,
  isAccepted: (domain: string) => boolean,
): ReceivedSignature | undefined => {
  const tags = tagsOf(valueOf(field))
  const { algorithm, domain, expires, selector } = {
    algorithm: tags.get("a")?.toLowerCase(),
    domain: tags.get("d")?.toLowerCase(),
    expires: tags.get("x"),
    selector: tags.get("s"),
  }
  const names = (tags.get("h") ?? "").toLowerCase().split(":")
  const [ofHeader = "simple", ofBody = "simple"] = (tags.get("c") ?? "").toLowerCase().split("/").map((one) =>
    one || "simple"
  )
  const isRsa = algorithm === "rsa-sha256"
  if (!isRsa && algorithm !== "ed25519-sha256" || !isName(domain) || !isName(selector)) return undefined
  if (!isAccepted(domain) || names.length > maxNames || !coversStructure(fields, names)) return undefined
  // With `l=`, anyone may append to the body.
  if (tags.has("l") || expires !== undefined && !(Number(expires) * 1_000 > now)) {
    return undefined
  }
  if (bodyHash(ofBody === "relaxed") !== tags.get("bh")) return undefined
  const write = (one: HeaderField) => ofHeader === "relaxed" ? relaxedField(one) : one.text
  const start = field.text.indexOf(":") + 1
  const unsigned = field.text.slice(0, start) + valueOf(field).replace(/((?:^|;)\s*b\s*=)[^;]*/, "$1")
  const others = fields.filter((one) => one !== field)
  const input = [...signedFields(others, names).map(write), write({ name: field.name, text: unsigned })].join("\r\n")
  const bytes = Buffer.from(input, "latin1")
  const signature = Buffer.from(tags.get("b") ?? "", "base64")
  return {
    domain,
    keyName: `${selector}._domainkey.${domain}`,
    verifies: (record) => {
      const key = keyOf(record, isRsa)
      if (key === undefined) return false
      // Ed25519 signs the digest of the text (RFC 8463).
      return isRsa
        ? verify("sha256", bytes, key, signature)
        : verify(null, createHash("sha256").update(bytes).digest(), key, signature)
    },
  }
}

const unsignedMail: SignedMail = { from: undefined, signaturesOf: () => [] }

/** Reads the sender and the signatures of a whole mail. `now`: Unix milliseconds. */
export const readSignedMail = (message: Uint8Array, now: number): SignedMail => {
  // Latin-1 maps every byte to one character.
  const text = Buffer.from(message.buffer, message.byteOffset, message.byteLength).toString("latin1")
  // Otherwise another program could end the header earlier, or read other fields, than the signature covers.
  if (bareBreak.test(text) || text.startsWith("\r\n")) return unsignedMail
  const end = text.indexOf("\r\n\r\n")
  const fields = fieldsOf(end < 0 ? text : text.slice(0, end))
  if (fields.length > maxFields || !fields.every((field) => plainField.test(field.text))) return unsignedMail
  const bodyHash = bodyHashOf(end < 0 ? "" : text.slice(end + 4))
  const senders = fields.filter(({ name }) => name === "from")
  const signatures = fields.filter(({ name }) => name === "dkim-signature").slice(0, maxSignatures)
  return {
    from: senders.length === 1 ? valueOf(senders[0]!) : undefined,
    signaturesOf: (isAccepted) =>
      signatures.flatMap((field) => readSignature(field, fields, bodyHash, now, isAccepted) ?? []),
  }
}
