import { Effect, Result } from "effect"
import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from "node:crypto"

/** A private key that signs e-mails. */
export interface DkimKey {
  /** PEM, PKCS #8. */
  readonly privateKey: string
  /** The public key as published in DNS: Base64 of its DER form. */
  readonly publicKey: string
  /** Length of the RSA modulus. */
  readonly bits: number
}

/** Minimum and maximum key length that every receiver can check (RFC 8301, 3.2). Unit: bits. */
const shortest = 1024
const longest = 4096

/** Length of a generated key. Unit: bits. */
export const defaultBits = 2048

/** A DNS record to publish. */
export interface DnsRecord {
  readonly name: string
  readonly type: "TXT"
  readonly value: string
}

/** Returns the DNS record with the public key of a selector. */
export const keyRecordOf = (
  { domain, publicKey, selector }: { readonly domain: string; readonly selector: string; readonly publicKey: string },
): DnsRecord => ({ name: `${selector}._domainkey.${domain}`, type: "TXT", value: `v=DKIM1; k=rsa; p=${publicKey}` })

/**
 * Returns a record as a line of a zone file. A value of more than 255 characters becomes several strings, which
 * receivers join.
 */
export const zoneLineOf = ({ name, type, value }: DnsRecord): string =>
  `${name}. ${type} ${(value.match(/.{1,255}/g) ?? [""]).map((part) => `"${part}"`).join(" ")}`

/** Restores the line breaks of a PEM text, which a form may have removed or turned into spaces. */
const pemOf = (text: string): string | undefined => {
  const [, label, content] = /-----BEGIN ([A-Z ]+)-----([^-]+)-----END \1-----/.exec(text) ?? []
  if (label === undefined || content === undefined) return undefined
  const base64 = content.replace(/\s+/g, "")
  return `-----BEGIN ${label}-----\n${(base64.match(/.{1,64}/g) ?? []).join("\n")}\n-----END ${label}-----\n`
}

const keyObjectOf = (pem: string): KeyObject | undefined => {
  try {
    return createPrivateKey(pem)
  } catch {
    return undefined
  }
}

const dkimKeyOf = (key: KeyObject): DkimKey => ({
  privateKey: String(key.export({ type: "pkcs8", format: "pem" })),
  publicKey: createPublicKey(key as unknown as Parameters<typeof createPublicKey>[0])
    .export({ type: "spki", format: "der" }).toString("base64"),
  bits: key.asymmetricKeyDetails?.modulusLength ?? 0,
})

/**
 * Reads a private key in PEM form (PKCS #1 or PKCS #8). Fails with the end of a sentence that begins with the field's
 * name.
 */
export const readKey = (text: string): Result.Result<DkimKey, string> => {
  const pem = text.length > 16_384 ? undefined : pemOf(text)
  if (pem === undefined) {
    return Result.fail("must be a private key in PEM form, which begins with -----BEGIN PRIVATE KEY-----")
  }
  if (/BEGIN ENCRYPTED|BEGIN PUBLIC|BEGIN CERTIFICATE/.test(pem)) {
    return Result.fail(
      "must be a private key without a passphrase, not an encrypted key, a public key or a certificate",
    )
  }
  const key = keyObjectOf(pem)
  if (key === undefined) return Result.fail("cannot be read as a private key: it is cut off or damaged")
  if (key.asymmetricKeyType !== "rsa") {
    return Result.fail(
      `must be an RSA key, not ${key.asymmetricKeyType ?? "another"}: large mailbox providers do not check Ed25519 ` +
        "signatures, and would take the messages for unsigned",
    )
  }
  const dkimKey = dkimKeyOf(key)
  return dkimKey.bits < shortest || dkimKey.bits > longest
    ? Result.fail(
      `has ${dkimKey.bits} bits and must have from ${shortest} to ${longest}: receivers ignore signatures of other keys`,
    )
    : Result.succeed(dkimKey)
}

/** Generates a key pair. Needs about 0.1 seconds of processor time, outside of the event loop. */
export const makeKey = (bits: number = defaultBits): Effect.Effect<DkimKey> =>
  Effect.callback<DkimKey>((resume) => {
    generateKeyPair("rsa", { modulusLength: bits }, (error, _, privateKey) => {
      resume(error === null ? Effect.sync(() => dkimKeyOf(privateKey)) : Effect.die(error))
    })
  })
