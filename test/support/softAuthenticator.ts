import { Buffer } from "node:buffer"
import { generateKeyPairSync, hash, randomBytes, sign } from "node:crypto"

const utf8 = (text: string) => Buffer.from(text, "utf8")
const sha256 = (data: Buffer) => Buffer.from(hash("sha256", data, "hex"), "hex")

/** A byte string in CBOR, up to 65,535 bytes. */
const bytes = (data: Buffer) => Buffer.concat([Buffer.from([0x59, data.length >> 8, data.length & 255]), data])
/** A text in CBOR, up to 23 bytes. */
const text = (value: string) => Buffer.concat([Buffer.from([0x60 + value.length]), utf8(value)])

/** How a response deviates from a right one. */
interface Deviation {
  readonly origin?: string
  readonly rpId?: string
  /** Whether the authenticator has verified the person. Default: true. */
  readonly isVerified?: boolean
  /** The counter in the response. Default: one more than in the last response. */
  readonly counter?: number
  readonly userHandle?: string
}

/** The members of the service's options that an authenticator reads. */
interface Options {
  readonly challenge: string
  readonly rp?: { readonly id?: string }
  readonly rpId?: string
  readonly user?: { readonly id: string }
}

/** A browser with an authenticator that holds one passkey (ES256), for the site `origin`. */
export const softAuthenticator = (origin: string) => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const { x, y } = publicKey.export({ format: "jwk" })
  const id = randomBytes(32)
  let count = 0
  let owner = ""

  const clientData = (type: string, { challenge }: Options, deviation: Deviation) =>
    utf8(JSON.stringify({ type, challenge, origin: deviation.origin ?? origin, crossOrigin: false }))

  const authenticatorData = (rpId: string, extra: Buffer, { counter = ++count, isVerified = true }: Deviation) => {
    count = counter
    const head = Buffer.alloc(5)
    head[0] = 0x01 + (isVerified ? 0x04 : 0) + (extra.length > 0 ? 0x40 : 0)
    head.writeUInt32BE(counter, 1)
    return Buffer.concat([sha256(utf8(rpId)), head, extra])
  }

  const response = (inner: Readonly<Record<string, unknown>>) => ({
    id: id.toString("base64url"),
    rawId: id.toString("base64url"),
    type: "public-key",
    clientExtensionResults: {},
    response: inner,
  })

  return {
    /** The response to `navigator.credentials.create`. */
    create: (options: Options, deviation: Deviation = {}) => {
      owner = options.user!.id
      const key = Buffer.concat([
        Buffer.from("a5010203262001215820", "hex"),
        Buffer.from(x!, "base64url"),
        Buffer.from("225820", "hex"),
        Buffer.from(y!, "base64url"),
      ])
      const extra = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, key])
      const data = authenticatorData(deviation.rpId ?? options.rp!.id!, extra, deviation)
      const attestation = Buffer.concat([
        Buffer.from([0xa3]),
        text("fmt"),
        text("none"),
        text("attStmt"),
        Buffer.from([0xa0]),
        text("authData"),
        bytes(data),
      ])
      return response({
        clientDataJSON: clientData("webauthn.create", options, deviation).toString("base64url"),
        attestationObject: attestation.toString("base64url"),
        transports: ["internal"],
      })
    },
    /** The response to `navigator.credentials.get`. */
    get: (options: Options, deviation: Deviation = {}) => {
      const client = clientData("webauthn.get", options, deviation)
      const data = authenticatorData(deviation.rpId ?? options.rpId!, Buffer.alloc(0), deviation)
      return response({
        clientDataJSON: client.toString("base64url"),
        authenticatorData: data.toString("base64url"),
        signature: sign("sha256", Buffer.concat([data, sha256(client)]), privateKey).toString("base64url"),
        userHandle: deviation.userHandle ?? owner,
      })
    },
  }
}
