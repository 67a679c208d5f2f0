import { Buffer } from "node:buffer"
import { hash, timingSafeEqual } from "node:crypto"
import { hmac, type HmacKey } from "../domain/Hmac.ts"
import type { OrgSlug } from "../domain/Ids.ts"

// Tokens in the addresses of tracked messages. Pure.
//
//     organization (4 bytes) | delivery (16) | link (none, 3 or 12) | HMAC-SHA256, cut to 10 bytes     in base64url
//
// An organization stands by the start of a digest of its slug. A link is its number within the message, or the key of a
// target that messages share. Nothing in a token says where a click leads, so that no token can lead anywhere else.

/** The route or mailbox that a token is for. A token of one kind is not valid for another. */
export type TokenKind = "open" | "click" | "unsubscribe" | "bounce" | "complaint"

/** A link of a message: its number in the message, from 0, or the key of a shared target. */
export type LinkRef = number | string

/** The content of a token. */
export interface Token {
  readonly org: OrgSlug
  /** Id of the delivery, a UUID in lowercase. */
  readonly id: string
  /** The clicked link; undefined for the other kinds. */
  readonly link: LinkRef | undefined
}

const tagBytes = 4
const idBytes = 16
const numberBytes = 3
const keyBytes = 12
const macBytes = 10

/** The size of a token without a link. Every size is a multiple of 3, so that each token has one spelling in base64url. */
const plainBytes = tagBytes + idBytes + macBytes

const kindCodes: Readonly<Record<TokenKind, number>> = { open: 1, click: 2, unsubscribe: 3, bounce: 4, complaint: 5 }

/** The start of a token of this organization. Two organizations may share it; the signature tells them apart. */
export const orgTag = (org: OrgSlug): number => Number.parseInt(hash("sha256", org, "hex").slice(0, 2 * tagBytes), 16)

const macOf = (key: HmacKey, kind: TokenKind, org: OrgSlug, content: Uint8Array): Uint8Array => {
  const head = Buffer.from(`\0\0${org}`)
  head[0] = kindCodes[kind]
  head[1] = org.length
  return hmac(key, head, content).subarray(0, macBytes)
}

const linkBytes = (link: LinkRef | undefined): Buffer => {
  if (link === undefined) return Buffer.alloc(0)
  if (typeof link === "string") return Buffer.from(link, "base64url")
  const bytes = Buffer.alloc(numberBytes)
  bytes.writeUIntBE(link, 0, numberBytes)
  return bytes
}

/** Writes and signs a token: 40 characters, 44 with the number of a link, 56 with the key of one. */
export const writeToken = (key: HmacKey, kind: TokenKind, { id, link, org }: Token): string => {
  const content = Buffer.concat([Buffer.from(id.replaceAll("-", ""), "hex"), linkBytes(link)])
  const tag = Buffer.alloc(tagBytes)
  tag.writeUInt32BE(orgTag(org))
  return Buffer.concat([tag, content, macOf(key, kind, org, content)]).toString("base64url")
}

/** The key of a shared target: the start of a digest, 16 characters of base64url. */
export const targetKey = (target: string): string =>
  Buffer.from(hash("sha256", target, "hex").slice(0, 2 * keyBytes), "hex").toString("base64url")

const isSizeOf = (kind: TokenKind, size: number): boolean =>
  kind === "click" ? size === plainBytes + numberBytes || size === plainBytes + keyBytes : size === plainBytes

const uuidOf = (hex: string): string =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`

/**
 * The content of a token that was written for this route under this key; undefined for any other text. `orgsOf` answers the
 * organizations with a tag.
 */
export const readToken = (
  key: HmacKey,
  kind: TokenKind,
  text: string,
  orgsOf: (tag: number) => ReadonlyArray<OrgSlug>,
): Token | undefined => {
  if (text.length > 60 || !/^[A-Za-z0-9_-]+$/.test(text)) return undefined
  const bytes = Buffer.from(text, "base64url")
  if (text.length % 4 !== 0 || !isSizeOf(kind, bytes.length)) return undefined
  const content = bytes.subarray(tagBytes, bytes.length - macBytes)
  const mac = bytes.subarray(bytes.length - macBytes)
  const org = orgsOf(bytes.readUInt32BE()).find((one) => timingSafeEqual(macOf(key, kind, one, content), mac))
  if (org === undefined) return undefined
  const link = content.subarray(idBytes)
  return {
    org,
    id: uuidOf(content.toString("hex", 0, idBytes)),
    link: link.length === 0
      ? undefined
      : link.length === numberBytes
      ? link.readUIntBE(0, numberBytes)
      : link.toString("base64url"),
  }
}
