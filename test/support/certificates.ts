import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto"
import { isIP } from "node:net"

/** A certificate with its key, both as PEM. */
export interface Certificate {
  readonly certificate: string
  readonly key: string
  readonly name: string
}

export interface CertificateOptions {
  readonly name: string
  /** Host names and addresses of the certificate. Absent for the certificate of an authority. */
  readonly hosts?: ReadonlyArray<string>
  /** The authority that signs the certificate. Default: the certificate signs itself. */
  readonly authority?: Certificate
  /** Start of validity. Default: yesterday. */
  readonly from?: Date
  /** End of validity. Default: tomorrow. */
  readonly until?: Date
}

/** One element of DER, the encoding of certificates. */
const der = (tag: number, ...parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const content = Buffer.concat(parts)
  const size = content.length < 128
    ? [content.length]
    : content.length < 256
    ? [0x81, content.length]
    : [0x82, content.length >> 8, content.length & 255]
  return Buffer.concat([Uint8Array.of(tag, ...size), content])
}

const sequence = (...parts: ReadonlyArray<Uint8Array>) => der(0x30, ...parts)
const text = (tag: number, value: string) => der(tag, Buffer.from(value))
const objectId = (...bytes: ReadonlyArray<number>) => der(0x06, Uint8Array.from(bytes))
const ecdsaWithSha256 = sequence(objectId(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02))

const nameOf = (name: string) => sequence(der(0x31, sequence(objectId(0x55, 0x04, 0x03), text(0x0c, name))))

const time = (at: Date) => text(0x18, `${at.toISOString().replace(/[-:T]|\.\d+Z/g, "")}Z`)

const addressBytes = (address: string) => Uint8Array.from(address.split(".").map(Number))

/**
 * Returns the extensions of a certificate: for an authority, the mark of an authority, and otherwise its hosts, with
 * IPv4 addresses as addresses.
 */
const extensions = (hosts: ReadonlyArray<string> | undefined): Uint8Array => {
  const content = hosts === undefined
    ? sequence(
      objectId(0x55, 0x1d, 0x13),
      der(0x01, Uint8Array.of(255)),
      der(0x04, sequence(der(0x01, Uint8Array.of(255)))),
    )
    : sequence(
      objectId(0x55, 0x1d, 0x11),
      der(0x04, sequence(...hosts.map((host) => isIP(host) === 4 ? der(0x87, addressBytes(host)) : text(0x82, host)))),
    )
  return der(0xa3, sequence(content))
}

const pemOf = (certificate: Uint8Array) =>
  `-----BEGIN CERTIFICATE-----\n${
    Buffer.from(certificate).toString("base64").replace(/.{64}(?=.)/g, "$&\n")
  }\n-----END CERTIFICATE-----\n`

const day = 86_400_000

/** Creates a certificate with a new key on the curve P-256. */
export const makeCertificate = (
  { authority, from = new Date(Date.now() - day), hosts, name, until = new Date(Date.now() + day) }: CertificateOptions,
): Certificate => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" })
  const signer: KeyObject = authority === undefined ? privateKey : createPrivateKey(authority.key)
  const content = sequence(
    der(0xa0, der(0x02, Uint8Array.of(2))),
    der(0x02, Uint8Array.of(1), randomBytes(8)),
    ecdsaWithSha256,
    nameOf(authority?.name ?? name),
    sequence(time(from), time(until)),
    nameOf(name),
    publicKey.export({ type: "spki", format: "der" }),
    extensions(hosts),
  )
  const signature = sign("sha256", content, signer)
  return {
    name,
    certificate: pemOf(sequence(content, ecdsaWithSha256, der(0x03, Uint8Array.of(0), signature))),
    key: String(privateKey.export({ type: "pkcs8", format: "pem" })),
  }
}
